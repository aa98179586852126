//! Which photos are trained on and which are held out.

use std::fmt;
use std::str::FromStr;

/// A choice of a dataset's photos.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Split {
    /// Those to learn from.
    Train,
    /// Those held out.
    Test,
    /// All of them.
    All,
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Split::Train => "train",
            Split::Test => "test",
            Split::All => "all",
        })
    }
}

impl FromStr for Split {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "train" => Ok(Split::Train),
            "test" => Ok(Split::Test),
            "all" => Ok(Split::All),
            _ => Err(format!("unknown split '{s}'; known: train, test, all")),
        }
    }
}
