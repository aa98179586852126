//! The settings that are a choice among names.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How the set of Gaussians changes while training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Strategy {
    /// Adaptive density control: clone, split, prune, reset opacity (Kerbl et al. 2023, section 5).
    #[default]
    Adc,
    /// Relocation and noise, up to a fixed number (Kheradmand et al. 2024).
    Mcmc,
}

/// Where the arithmetic happens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum BackendChoice {
    /// The fastest that this machine has.
    #[default]
    Auto,
    /// Processor: SIMD and threads.
    Cpu,
    /// NVIDIA GPU.
    Cuda,
}

/// How the optimiser's two moments are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Moments {
    /// As 32-bit floats.
    #[default]
    Full,
    /// In 16 and 8 bits, rounded by chance so that the expectation is right.
    Compact,
}

/// The colour behind the scene: `black`, `white` or `r,g,b` with values from 0 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub enum Background {
    /// 0, 0, 0.
    #[default]
    Black,
    /// 1, 1, 1.
    White,
    /// Any other colour.
    Colour([f32; 3]),
}

impl Background {
    /// Red, green, blue from 0 to 1.
    pub fn colour(self) -> [f32; 3] {
        match self {
            Self::Black => [0.0; 3],
            Self::White => [1.0; 3],
            Self::Colour(colour) => colour,
        }
    }
}

impl fmt::Display for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Black => f.write_str("black"),
            Self::White => f.write_str("white"),
            Self::Colour([r, g, b]) => write!(f, "{r},{g},{b}"),
        }
    }
}

impl FromStr for Background {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "black" => return Ok(Self::Black),
            "white" => return Ok(Self::White),
            _ => {}
        }
        let values: Vec<f32> = s.split(',').filter_map(|v| v.trim().parse().ok()).collect();
        match values.as_slice() {
            &[r, g, b] if s.split(',').count() == 3 && values.iter().all(|v| (0.0..=1.0).contains(v)) => {
                Ok(match [r, g, b] {
                    [0.0, 0.0, 0.0] => Self::Black,
                    [1.0, 1.0, 1.0] => Self::White,
                    colour => Self::Colour(colour),
                })
            }
            _ => Err(format!(
                "'{s}' is not a colour; write black, white, or r,g,b with values from 0 to 1, for example 0.5,0.5,0.5"
            )),
        }
    }
}

impl From<Background> for String {
    fn from(background: Background) -> String {
        background.to_string()
    }
}

impl TryFrom<String> for Background {
    type Error = String;
    fn try_from(s: String) -> Result<Self, String> {
        s.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backgrounds_survive_their_names() {
        for background in [
            Background::Black,
            Background::White,
            Background::Colour([0.1, 0.25, 1.0]),
        ] {
            assert_eq!(background.to_string().parse(), Ok(background));
        }
        assert_eq!("0, 0.5,1".parse(), Ok(Background::Colour([0.0, 0.5, 1.0])));
        assert_eq!("1,1,1".parse(), Ok(Background::White));
        for wrong in ["grey", "1,1", "1,1,1,x", "0,0,2", "nan,0,0", ""] {
            assert!(
                wrong.parse::<Background>().unwrap_err().contains("r,g,b"),
                "{wrong}"
            );
        }
    }
}
