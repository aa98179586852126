//! Which kernels a backend runs: plain data, named as the literature names the methods.

mod blend;
mod methods;

pub use blend::Blend;
pub use methods::{Fragments, Method, Training};

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// Which (tile, Gaussian) pairs exist. Losing nothing means that every pair with a fragment of
/// alpha >= 1/255 exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Intersect {
    /// Square around the projected 3-sigma circle (INRIA's 3DGS). Cuts what lies beyond.
    Aabb,
    /// Box of the ellipse alpha = 1/255, nowhere beyond the 3-sigma square (AdR-Gaussian, Wang et
    /// al. 2024, equation 10). Cuts what `aabb` cuts.
    AdaptiveRadius,
    /// Box of the ellipse alpha = 1/255 (Speedy-Splat, Hanson et al. 2024). Loses nothing.
    Snugbox,
    /// The tiles that the ellipse alpha = 1/255 touches (Speedy-Splat). Loses nothing.
    Accutile,
    /// Of the 3-sigma square the tiles that the 3-sigma box along the ellipse's axes touches
    /// (GSCore, Lee et al. 2024). Cuts what lies beyond either.
    Obb,
    /// Tiles at whose pixels the largest alpha reaches 1/255, tested tile by tile (StopThePop, Radl
    /// et al. 2024). Loses nothing.
    TileCull,
    /// The ellipse alpha = 1/255 against each tile's rectangle of pixel centres (FlashGS, Feng et
    /// al. 2024). Loses nothing.
    Exact,
}

impl Intersect {
    /// Whether no fragment that a pixel would keep is lost.
    pub fn loses_nothing(self) -> bool {
        match self {
            Intersect::Aabb | Intersect::AdaptiveRadius | Intersect::Obb => false,
            Intersect::Snugbox | Intersect::Accutile | Intersect::TileCull | Intersect::Exact => {
                true
            }
        }
    }
}

/// How gradients come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backward {
    /// Every pixel adds into the Gaussian's sums (INRIA's 3DGS; Atomic Aggregation, fig. 3).
    Atomic,
    /// The lanes of a warp add up by shuffles, then one of them adds into the Gaussian's sums
    /// (Atomic Aggregation, fig. 7).
    WarpReduce,
    /// As [`Backward::WarpReduce`], but a warp of which no lane has anything to add goes on at once
    /// (Atomic Aggregation, fig. 8).
    WarpReduceSkip,
    /// A lane for each Gaussian of a bucket of 32, to which the tile's pixels are passed from lane
    /// to lane (Taming 3DGS, Mallick et al. 2024, section 5).
    GaussianParallel,
    /// Sums over a block of pixels against the pixel basis in f32, then one ordered sum a Gaussian.
    Subtile,
    /// The backend's fastest. On CUDA gradients as products on the matrix units, behind
    /// [`Blend::Splatcore`], whose weights it repeats bit for bit; on the CPU the same as
    /// [`Backward::Subtile`].
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
    /// The plainest pipeline with the same image but for roundings: each blend is `scalar` unless
    /// it blends other fragments or in another order by design.
    pub fn plain(self) -> Pipeline {
        Pipeline {
            intersect: self.intersect,
            blend: match self.blend.blends_as_scalar() {
                true => Blend::Scalar,
                false => self.blend,
            },
            backward: Backward::Atomic,
        }
    }
    /// What quality is measured with: on every backend in f32, with the reference's cut-offs (no
    /// early end but at a transmittance of 1e-4).
    pub const MEASURED: Pipeline = Pipeline {
        intersect: Intersect::Exact,
        blend: Blend::Subtile,
        backward: Backward::Subtile,
    };
    /// The fastest that blends every pixel and meets the equal-quality contract; what `auto` means.
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
    /// Every combination of an intersect and a blend that every backend has, each with the backward
    /// of its blend's kind.
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
    /// Every way to bring gradients together, to compare them: behind the same forward pass (exact +
    /// scalar), but for [`Backward::Splatcore`], which has its own. A backend may lack some.
    pub fn backward_variants() -> Vec<Pipeline> {
        let with = |&backward| Pipeline {
            intersect: Intersect::Exact,
            blend: match backward {
                Backward::Splatcore => Blend::Splatcore,
                _ => Blend::Scalar,
            },
            backward,
        };
        Backward::ALL.iter().map(with).collect()
    }

    /// Whether gradients and steps run these methods as they are named.
    ///
    /// # Errors
    /// Why not, in one line, with pipelines that do.
    pub fn check_training(self) -> Result<(), String> {
        let (blend, backward) = (self.blend, self.backward);
        let with = |blend: Blend, backward| Pipeline {
            blend,
            backward,
            ..self
        };
        let because = match (blend.method().training, backward) {
            (Training::Never(reason), _) => {
                let instead = with(Blend::Subtile, Backward::Subtile);
                let training = format!("train with {instead}, and render with {blend}");
                return Err(format!(
                    "blend '{blend}' is not trained: {reason}; {training}"
                ));
            }
            (Training::ItsOwn, _) if backward != blend.backward() => {
                format!("blend '{blend}' is trained with its own backward method alone")
            }
            (Training::ItsOwn, _) => return Ok(()),
            (_, Backward::Splatcore) => {
                "it repeats the weights of blend 'splatcore', bit for bit".into()
            }
            (Training::Plain, Backward::GaussianParallel) => {
                format!("it needs checkpoints, which blend '{blend}' does not leave")
            }
            (Training::Plain | Training::Checkpointed, _) => return Ok(()),
        };
        let own = match backward {
            Backward::Splatcore => Blend::Splatcore,
            _ => Blend::Subtile,
        };
        let (first, second) = (with(blend, blend.backward()), with(own, backward));
        Err(format!(
            "backward method '{backward}' is not for blend '{blend}': {because}; write {first} or \
             {second}"
        ))
    }
}

impl Default for Pipeline {
    fn default() -> Self {
        Self::AUTO
    }
}

/// Printed and read by `ALL` and `name()`.
macro_rules! read_and_shown_by_name {
    ($kind:ident, $what:literal) => {
        impl std::fmt::Display for $kind {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }
        impl std::str::FromStr for $kind {
            type Err = String;
            fn from_str(s: &str) -> Result<Self, String> {
                $kind::ALL
                    .iter()
                    .copied()
                    .find(|v| v.name() == s)
                    .ok_or_else(|| {
                        let known: Vec<_> = $kind::ALL.iter().map(|v| v.name()).collect();
                        format!(
                            "unknown {} method '{s}'; known: {}",
                            $what,
                            known.join(", ")
                        )
                    })
            }
        }
    };
}
use read_and_shown_by_name;

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
        read_and_shown_by_name!($kind, $what);
    };
}

names!(
    Intersect,
    "intersect",
    Aabb = "aabb",
    AdaptiveRadius = "adaptive-radius",
    Snugbox = "snugbox",
    Accutile = "accutile",
    Obb = "obb",
    TileCull = "tile-cull",
    Exact = "exact"
);
names!(
    Backward,
    "backward",
    Atomic = "atomic",
    WarpReduce = "warp-reduce",
    WarpReduceSkip = "warp-reduce-skip",
    GaussianParallel = "gaussian-parallel",
    Subtile = "subtile",
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
                "'{s}' is not a pipeline; write auto, vanilla or intersect+blend[+backward], for \
                 example exact+splatcore"
            )),
        }
    }
}

impl From<Pipeline> for String {
    fn from(p: Pipeline) -> String {
        p.to_string()
    }
}

/// From a file. Runs of before [`crate::backend::RenderOptions::interpolate`] was an option name a
/// blend `samples`, which trained as `splatcore` does.
impl TryFrom<String> for Pipeline {
    type Error = String;
    fn try_from(s: String) -> Result<Self, String> {
        s.replace("+samples", "+splatcore").parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pipeline_survives_its_name() {
        for p in Pipeline::all()
            .into_iter()
            .chain(Pipeline::backward_variants())
        {
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
        for p in variants {
            let own = p.backward == Backward::Splatcore;
            let blend = if own { Blend::Splatcore } else { Blend::Scalar };
            assert_eq!((p.intersect, p.blend), (Intersect::Exact, blend));
            assert_eq!(p.check_training(), Ok(()));
        }
        // What every backend must have is known by these names alone.
        let common = [Backward::Atomic, Backward::Splatcore];
        assert!(Pipeline::all().iter().all(|p| common.contains(&p.backward)));
    }

    #[test]
    fn the_blend_of_old_runs_is_read_from_files_alone() {
        let old = "exact+samples+splatcore".to_string();
        assert_eq!(Pipeline::try_from(old.clone()), Ok(Pipeline::AUTO));
        assert!(old.parse::<Pipeline>().is_err());
    }

    #[test]
    fn what_is_not_trained_as_named_is_refused_with_what_is() {
        let refused = |pipeline: &str| {
            let pipeline: Pipeline = pipeline.parse().unwrap();
            pipeline.check_training().unwrap_err()
        };
        for blend in Blend::ALL {
            for backward in Backward::ALL {
                let pipeline = Pipeline {
                    blend: *blend,
                    backward: *backward,
                    ..Pipeline::AUTO
                };
                let Err(error) = pipeline.check_training() else {
                    continue;
                };
                assert!(!error.contains('\n'), "{error}");
                // Whatever is proposed is accepted.
                let proposed = error.split([' ', ',']).filter(|word| word.contains('+'));
                let proposed: Vec<Pipeline> = proposed.map(|word| word.parse().unwrap()).collect();
                assert!(!proposed.is_empty(), "{error}");
                for pipeline in proposed {
                    assert_eq!(pipeline.check_training(), Ok(()), "{error}");
                }
            }
        }
        assert!(refused("exact+tensor-gs-2x2").contains("per macro-tile"));
        assert!(refused("exact+scalar+splatcore").contains("repeats the weights"));
        assert!(refused("exact+splatcore+atomic").contains("its own backward method"));
        assert!(refused("exact+tc-gs+gaussian-parallel").contains("checkpoints"));
        for trains in [
            "auto",
            "vanilla",
            "exact+tc-gs",
            "aabb+gemm-gs",
            "exact+subtile",
        ] {
            assert_eq!(trains.parse::<Pipeline>().unwrap().check_training(), Ok(()));
        }
    }

    #[test]
    fn unknown_names_are_answered_with_the_known_ones() {
        let error = "exact+fancy".parse::<Pipeline>().unwrap_err();
        assert!(
            error.contains("fancy") && error.contains("splatcore"),
            "{error}"
        );
    }
}
