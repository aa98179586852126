//! Which kernels a backend runs: plain data, named as the literature names the methods.

#[macro_use]
mod names;
mod backward;
mod blend;
mod intersect;
mod methods;

pub use backward::Backward;
pub use blend::Blend;
pub use intersect::Intersect;
pub use methods::{Fragments, Method, Training};

use crate::precision::{
    GRADIENT_BEHIND_PUBLISHED, GRADIENT_IN_HALF, GRADIENT_IN_SINGLE, Precision,
};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

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
    /// Every right way to bring gradients together, to compare them: behind the same forward pass,
    /// exact and scalar, but for [`Backward::Splatcore`], which has its own. A backend may lack
    /// some.
    pub fn backward_variants() -> Vec<Pipeline> {
        let with = |&backward| Pipeline {
            intersect: Intersect::Exact,
            blend: match backward {
                Backward::Splatcore => Blend::Splatcore,
                _ => Blend::Scalar,
            },
            backward,
        };
        let right = Backward::ALL.iter().filter(|backward| backward.is_right());
        right.map(with).collect()
    }

    /// Relative L2 error that gradients may have, each parameter group for itself, on a backend
    /// that has matrix units, if they are computed at all ([`Pipeline::check_gradients`]). Of a
    /// forward pass in halves they inherit what is wrong with its image.
    pub fn gradient_tolerance(self) -> f64 {
        match (self.blend.precision(), self.backward) {
            (_, Backward::Splatcore) => GRADIENT_IN_HALF,
            (Precision::Single, _) => GRADIENT_IN_SINGLE,
            _ => GRADIENT_BEHIND_PUBLISHED,
        }
    }

    /// Whether steps run these methods as they are named, and learn from right gradients.
    ///
    /// # Errors
    /// Why not, in one line, with pipelines that do.
    pub fn check_training(self) -> Result<(), String> {
        if !self.backward.is_right() {
            let instead = Pipeline {
                backward: self.blend.backward(),
                ..self
            };
            return Err(format!(
                "backward method '{}' loses additions, to show what atomic ones cost; time it with \
                 `bench --backward`, and train with {}",
                self.backward,
                instead
                    .check_gradients()
                    .map_or(Pipeline::AUTO, |()| instead)
            ));
        }
        self.check_gradients()
    }

    /// Whether gradients are computed by these methods as they are named.
    ///
    /// # Errors
    /// Why not, in one line, with pipelines that do.
    pub fn check_gradients(self) -> Result<(), String> {
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
        let right = Backward::ALL
            .iter()
            .copied()
            .filter(|method| method.is_right());
        assert_eq!(methods, right.collect::<Vec<_>>());
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
        assert!(refused("exact+scalar+plain-add").contains("train with exact+scalar+"));
        let timed: Pipeline = "exact+scalar+plain-add".parse().unwrap();
        assert_eq!(timed.check_gradients(), Ok(()));
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
