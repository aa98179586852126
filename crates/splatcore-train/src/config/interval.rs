//! How often something happens: every so many steps (`500`), or epochs (`10e`).

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// So many steps, or so many epochs: rounds in which every photo is seen once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "Written", try_from = "Written")]
pub enum Interval {
    /// Steps.
    Steps(u32),
    /// Epochs.
    Epochs(u32),
}

/// In a file: a number of steps, or a text.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Steps(u32),
    Text(String),
}

impl Interval {
    /// In steps, where an epoch has so many; 0 is never.
    pub fn steps(self, epoch: u32) -> u32 {
        match self {
            Self::Steps(steps) => steps,
            Self::Epochs(epochs) => epochs.saturating_mul(epoch.max(1)),
        }
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steps(steps) => write!(f, "{steps}"),
            Self::Epochs(epochs) => write!(f, "{epochs}e"),
        }
    }
}

impl FromStr for Interval {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let found = match text.strip_suffix('e') {
            Some(epochs) => epochs.parse().map(Self::Epochs),
            None => text.parse().map(Self::Steps),
        };
        found.map_err(|_| format!("'{text}' is no interval; write 500 for steps or 10e for epochs"))
    }
}

impl From<Interval> for Written {
    fn from(interval: Interval) -> Self {
        match interval {
            Interval::Steps(steps) => Self::Steps(steps),
            epochs => Self::Text(epochs.to_string()),
        }
    }
}

impl TryFrom<Written> for Interval {
    type Error = String;
    fn try_from(written: Written) -> Result<Self, String> {
        match written {
            Written::Steps(steps) => Ok(Self::Steps(steps)),
            Written::Text(text) => text.parse(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_and_epochs_survive_their_text() {
        for (text, steps) in [("500", 500), ("0", 0), ("10e", 1930), ("0e", 0)] {
            let interval: Interval = text.parse().unwrap();
            assert_eq!((interval.steps(193), &*interval.to_string()), (steps, text));
        }
        for wrong in ["", "e", "-1", "1.5e", "10 e", "5x"] {
            assert!(
                wrong.parse::<Interval>().unwrap_err().contains("10e"),
                "{wrong}"
            );
        }
    }
}
