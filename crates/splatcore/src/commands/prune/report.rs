//! What the command prints.

use crate::output::counted;
use serde::Serialize;
use splatcore_train::memory::Bytes;
use std::path::Path;

/// How good and how large a scene is.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Measured {
    pub(super) psnr: f64,
    pub(super) ssim: f64,
    pub(super) gaussians: usize,
    pub(super) sh_degree: u8,
    /// Of the file; none for a scene in memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<u64>,
}

/// What the command prints.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) split: &'static str,
    pub(super) before: Measured,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pruned: Option<Measured>,
    pub(super) after: Measured,
}

/// The report for people.
pub(super) fn table(report: &Report, output: &Path) -> String {
    let line = |name: &str, m: &Measured| {
        let size = m.bytes.map(|bytes| format!(", {}", Bytes(bytes)));
        format!(
            "{name:<7} {:>6.2} dB  SSIM {:.4}  {} of SH degree {}{}",
            m.psnr,
            m.ssim,
            counted(m.gaussians, "Gaussian"),
            m.sh_degree,
            size.unwrap_or_default()
        )
    };
    let mut lines = vec![line("before", &report.before)];
    lines.extend(report.pruned.as_ref().map(|m| line("pruned", m)));
    lines.push(line("after", &report.after));
    lines.push(format!("scene   {}", output.display()));
    lines.join("\n")
}
