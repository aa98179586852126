//! How many Gaussians stay, and which.

use std::fmt;
use std::str::FromStr;

/// How many Gaussians stay.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Keep {
    /// This share of them, above 0 and at most 1.
    Share(f64),
    /// So many, at least 1; all if there are fewer.
    Count(usize),
}

/// A text that is neither a share nor a number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "'{0}' is neither a share nor a number of Gaussians; write 40% (above 0, at most 100) or \
     250000"
)]
pub struct KeepError(String);

impl Keep {
    /// How many of `count` stay; at least one, if there is one.
    pub fn of(self, count: usize) -> usize {
        match self {
            Self::Share(share) => ((share * count as f64).round() as usize).max(1),
            Self::Count(most) => most,
        }
        .min(count)
    }
}

impl FromStr for Keep {
    type Err = KeepError;

    fn from_str(text: &str) -> Result<Self, KeepError> {
        let error = || KeepError(text.to_owned());
        match text.strip_suffix('%') {
            Some(percent) => match percent.trim().parse::<f64>() {
                Ok(percent) if percent > 0.0 && percent <= 100.0 => {
                    Ok(Self::Share(percent / 100.0))
                }
                _ => Err(error()),
            },
            None => match text.parse::<usize>() {
                Ok(count) if count > 0 => Ok(Self::Count(count)),
                _ => Err(error()),
            },
        }
    }
}

impl fmt::Display for Keep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Share(share) => write!(f, "{} %", 100.0 * share),
            Self::Count(count) => count.fmt(f),
        }
    }
}

/// Which Gaussians have the `count` highest scores, `[n]`; of equal ones those that come first.
pub fn best(scores: &[f64], count: usize) -> Vec<bool> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_unstable_by(|&a, &b| scores[b].total_cmp(&scores[a]).then(a.cmp(&b)));
    let mut kept = vec![false; scores.len()];
    for &i in order.iter().take(count) {
        kept[i] = true;
    }
    kept
}
