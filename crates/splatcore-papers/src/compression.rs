//! Ways to compress a model: some rows of the papers are measured on models made so.

use serde::Deserialize;
use std::str::FromStr;

/// A published way to compress a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Compression {
    /// The masks of Compact-3DGS, which Gaussians learn in training; not its quantisation.
    C3dgs,
    /// LightGaussian: Gaussians are removed by a score, and harmonics above degree 2.
    LightGaussian,
}

impl Compression {
    /// Every one, in the order of the papers' rows.
    pub const ALL: [Compression; 2] = [Compression::C3dgs, Compression::LightGaussian];

    /// Its name, as typed.
    pub fn name(self) -> &'static str {
        match self {
            Compression::C3dgs => "c3dgs",
            Compression::LightGaussian => "lightgaussian",
        }
    }

    /// Its name in the papers' tables.
    pub fn label(self) -> &'static str {
        match self {
            Compression::C3dgs => "c3dgs, masks only",
            Compression::LightGaussian => "LightGaussian",
        }
    }
}

impl FromStr for Compression {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let found = Compression::ALL.into_iter().find(|one| one.name() == name);
        found.ok_or_else(|| {
            let known = Compression::ALL.map(Compression::name).join(", ");
            format!("unknown compression `{name}`; there are {known}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressions_are_found_by_name() {
        for compression in Compression::ALL {
            assert_eq!(compression.name().parse(), Ok(compression));
        }
        let error = "zip".parse::<Compression>().unwrap_err();
        assert_eq!(
            error,
            "unknown compression `zip`; there are c3dgs, lightgaussian"
        );
    }
}
