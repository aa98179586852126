//! Verdicts in words.

use splatcore_lab::Verdict;
use splatcore_lab::gates::Ratio;

/// A verdict in words.
pub fn said(verdict: &Verdict) -> String {
    let times = |word: &str, ratio: &Ratio| {
        format!(
            "{word}, {:.4} of the baseline's time ({:.4} to {:.4})",
            ratio.ratio, ratio.low, ratio.high
        )
    };
    match verdict {
        Verdict::Rejected(rejection) => format!("rejected by {rejection}"),
        Verdict::Faster(ratio) => times("faster", ratio),
        Verdict::Slower(ratio) => times("slower", ratio),
        Verdict::Unclear(ratio) => times("unclear", ratio),
        Verdict::Untimed => "passed, not timed".into(),
    }
}
