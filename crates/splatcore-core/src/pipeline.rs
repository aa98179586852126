//! Which kernels a backend runs: plain data, named as the literature names the methods.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Which (tile, Gaussian) pairs exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Intersect {
    /// Square around the projected 3-sigma circle (INRIA's 3DGS).
    Aabb,
    /// The ellipse alpha = 1/255 against each tile's rectangle (FlashGS; exact, nothing lost).
    Exact,
}

/// How a tile's list is blended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Blend {
    /// Every pixel walks the tile's whole list (INRIA's 3DGS).
    Scalar,
    /// Sub-tile culling in f32: each small block of pixels walks only the Gaussians whose ellipse touches it.
    Subtile,
    /// The backend's fastest of equal quality. On CUDA sub-tile culling with scores and colours as products on the matrix
    /// units; on the CPU the same as [`Blend::Subtile`].
    Splatcore,
}

/// How gradients come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backward {
    /// Every pixel adds into the Gaussian's sums (INRIA's 3DGS; Atomic Aggregation, fig. 3).
    Atomic,
    /// The lanes of a warp add up by shuffles, then one of them adds into the Gaussian's sums (Atomic Aggregation,
    /// fig. 7).
    WarpReduce,
    /// As [`Backward::WarpReduce`], but a warp of which no lane has anything to add goes on at once (Atomic
    /// Aggregation, fig. 8).
    WarpReduceSkip,
    /// A lane for each Gaussian of a bucket of 32, to which the tile's pixels are passed from lane to lane
    /// (Taming 3DGS, Mallick et al. 2024, section 5).
    GaussianParallel,
    /// Sums over a block of pixels as a product with the pixel basis, then one ordered sum a Gaussian.
    Splatcore,
}

/// One choice for each op that has variants. Written `intersect+blend+backward`, for example
/// `exact+splatcore+splatcore`; the last part may be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Pipeline {
    /// See [`Intersect`].
    pub intersect: Intersect,
    /// See [`Blend`].
    pub blend: Blend,
    /// See [`Backward`].
    pub backward: Backward,
}

impl Pipeline {
    /// The fastest that meets the equal-quality contract; what `auto` means.
    pub const AUTO: Pipeline = Pipeline {
        intersect: Intersect::Exact,
        blend: Blend::Splatcore,
        backward: Backward::Splatcore,
    };
    /// INRIA's 3DGS as published.
    pub const VANILLA: Pipeline = Pipeline {
        intersect: Intersect::Aabb,
        blend: Blend::Scalar,
        backward: Backward::Atomic,
    };
    /// Every combination of an intersect and a blend that every backend has, each with the backward of its blend's
    /// kind.
    pub fn all() -> Vec<Pipeline> {
        Self::combinations(Blend::COMMON)
    }
    /// Every intersect with each of these blends. A backend may lack some.
    pub fn combinations(blends: &[Blend]) -> Vec<Pipeline> {
        let with = |&intersect| {
            let one = move |&blend: &Blend| Pipeline {
                intersect,
                blend,
                backward: blend.backward(),
            };
            blends.iter().map(one)
        };
        Intersect::ALL.iter().flat_map(with).collect()
    }
    /// Every way to bring gradients together, behind the same forward pass (exact + scalar), to compare them. A
    /// backend may lack some.
    pub fn backward_variants() -> Vec<Pipeline> {
        let with = |&backward| Pipeline {
            intersect: Intersect::Exact,
            blend: Blend::Scalar,
            backward,
        };
        Backward::ALL.iter().map(with).collect()
    }
}

impl Default for Pipeline {
    fn default() -> Self {
        Self::AUTO
    }
}

macro_rules! names {
    ($kind:ident, $what:literal, $($variant:ident = $name:literal),+) => {
        impl $kind {
            /// Every variant.
            pub const ALL: &'static [$kind] = &[$($kind::$variant),+];
            /// The name in the literature and on the command line.
            pub fn name(self) -> &'static str {
                match self { $($kind::$variant => $name),+ }
            }
        }
        impl fmt::Display for $kind {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.name())
            }
        }
        impl FromStr for $kind {
            type Err = String;
            fn from_str(s: &str) -> Result<Self, String> {
                $kind::ALL.iter().copied().find(|v| v.name() == s).ok_or_else(|| {
                    let known: Vec<_> = $kind::ALL.iter().map(|v| v.name()).collect();
                    format!("unknown {} method '{s}'; known: {}", $what, known.join(", "))
                })
            }
        }
    };
}

names!(Intersect, "intersect", Aabb = "aabb", Exact = "exact");
names!(
    Blend,
    "blend",
    Scalar = "scalar",
    Subtile = "subtile",
    Splatcore = "splatcore"
);

impl Blend {
    /// What every backend has.
    pub const COMMON: &'static [Blend] = &[Blend::Scalar, Blend::Splatcore];

    /// The backward method that goes with it where none is named.
    pub fn backward(self) -> Backward {
        match self {
            Blend::Scalar => Backward::Atomic,
            _ => Backward::Splatcore,
        }
    }
}
names!(
    Backward,
    "backward",
    Atomic = "atomic",
    WarpReduce = "warp-reduce",
    WarpReduceSkip = "warp-reduce-skip",
    GaussianParallel = "gaussian-parallel",
    Splatcore = "splatcore"
);

impl fmt::Display for Pipeline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}+{}+{}", self.intersect, self.blend, self.backward)
    }
}

impl FromStr for Pipeline {
    type Err = String;
    fn from_str(s: &str) -> Result<Self, String> {
        match s {
            "auto" => return Ok(Self::AUTO),
            "vanilla" => return Ok(Self::VANILLA),
            _ => {}
        }
        let parts: Vec<&str> = s.split('+').collect();
        match parts.as_slice() {
            [intersect, blend] => {
                let blend: Blend = blend.parse()?;
                Ok(Self {
                    intersect: intersect.parse()?,
                    blend,
                    backward: blend.backward(),
                })
            }
            [intersect, blend, backward] => Ok(Self {
                intersect: intersect.parse()?,
                blend: blend.parse()?,
                backward: backward.parse()?,
            }),
            _ => Err(format!(
                "'{s}' is not a pipeline; write auto, vanilla or intersect+blend[+backward], for example exact+splatcore"
            )),
        }
    }
}

impl From<Pipeline> for String {
    fn from(p: Pipeline) -> String {
        p.to_string()
    }
}

impl TryFrom<String> for Pipeline {
    type Error = String;
    fn try_from(s: String) -> Result<Self, String> {
        s.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pipeline_survives_its_name() {
        for p in Pipeline::all().into_iter().chain(Pipeline::backward_variants()) {
            assert_eq!(p.to_string().parse::<Pipeline>(), Ok(p));
        }
        assert_eq!("auto".parse::<Pipeline>(), Ok(Pipeline::AUTO));
        assert_eq!("aabb+scalar".parse::<Pipeline>(), Ok(Pipeline::VANILLA));
    }

    #[test]
    fn the_backward_variants_differ_in_nothing_else() {
        let variants = Pipeline::backward_variants();
        let methods: Vec<Backward> = variants.iter().map(|p| p.backward).collect();
        assert_eq!(methods, Backward::ALL);
        assert!(
            variants
                .iter()
                .all(|p| (p.intersect, p.blend) == (Intersect::Exact, Blend::Scalar))
        );
        // What every backend must have is known by these names alone.
        let common = [Backward::Atomic, Backward::Splatcore];
        assert!(Pipeline::all().iter().all(|p| common.contains(&p.backward)));
    }

    #[test]
    fn unknown_names_are_answered_with_the_known_ones() {
        let error = "exact+fancy".parse::<Pipeline>().unwrap_err();
        assert!(error.contains("fancy") && error.contains("splatcore"), "{error}");
    }
}
