//! Wall time as it is typed: `10s`, `1.5m`, `1h`.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Units, the largest first, and their seconds.
const UNITS: [(char, f64); 3] = [('h', 3600.0), ('m', 60.0), ('s', 1.0)];

/// A wall time above 0: a number and its unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct WallTime(f64);

impl WallTime {
    /// Of so many seconds; `None` unless they are finite and above 0.
    pub fn from_seconds(seconds: f64) -> Option<Self> {
        (seconds.is_finite() && seconds > 0.0).then_some(Self(seconds))
    }

    /// In seconds.
    pub fn seconds(self) -> f64 {
        self.0
    }
}

impl fmt::Display for WallTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = |unit: &&(char, f64)| self.0 >= unit.1 && self.0 % unit.1 == 0.0;
        match UNITS.iter().find(whole) {
            Some((unit, seconds)) => write!(f, "{}{unit}", self.0 / seconds),
            None => write!(f, "{}s", self.0),
        }
    }
}

impl FromStr for WallTime {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let unit = UNITS.iter().find(|(unit, _)| text.ends_with(*unit));
        if unit.is_none() && text.parse::<f64>().is_ok() {
            return Err(format!(
                "'{text}' has no unit; write {text}s, {text}m or {text}h (a number of steps is \
                 set by iterations)"
            ));
        }
        let time = unit.and_then(|(_, seconds)| {
            let number = text[..text.len() - 1].parse::<f64>().ok()?;
            Self::from_seconds(number * seconds)
        });
        time.ok_or_else(|| {
            format!("'{text}' is not a time above 0; write for example 10s, 90s, 1.5m or 1h")
        })
    }
}

splatcore_core::kept_as_text!(WallTime, String);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        for (text, seconds, shown) in [
            ("10s", 10.0, "10s"),
            ("90s", 90.0, "90s"),
            ("1m", 60.0, "1m"),
            ("1.5m", 90.0, "90s"),
            ("120m", 7200.0, "2h"),
            ("0.25s", 0.25, "0.25s"),
        ] {
            let time: WallTime = text.parse().unwrap();
            assert_eq!(time.seconds(), seconds);
            assert_eq!(time.to_string(), shown);
            assert_eq!(shown.parse(), Ok(time));
        }
        assert!("7000".parse::<WallTime>().unwrap_err().contains("7000s"));
        for wrong in [
            "", "s", "0s", "-1m", "ten", "1d", "infs", "NaNs", "1 0s", "ä",
        ] {
            let error = wrong.parse::<WallTime>().unwrap_err();
            assert!(error.contains("for example 10s"), "{wrong}: {error}");
        }
    }
}
