//! Which kernels a backend runs: plain data, named as the literature names the methods.

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

/// How a tile's list is blended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Blend {
    /// Every pixel walks the tile's whole list (INRIA's 3DGS).
    Scalar,
    /// As [`Blend::Scalar`], as INRIA's 3DGS publishes it and without what later work gained: an
    /// exact exponential, colours from global memory, a counter of contributors. Where searches for
    /// faster kernels begin.
    Literal,
    /// As [`Blend::Scalar`], but the exponent is compared with log2(1/255) before it is raised
    /// (TC-GS, Liao et al. 2025, section 4.1).
    EarlyCull,
    /// Exponents of 16 pixels and 8 Gaussians as one product in half precision, in coordinates of
    /// the tile, every one of them raised (TC-GS, sections 4.2 and 4.3 without 4.1: the ablation of
    /// its table 5).
    #[serde(rename = "frag2mat")]
    Frag2Mat,
    /// [`Blend::EarlyCull`] and [`Blend::Frag2Mat`] together (TC-GS, section 4).
    TcGs,
    /// As [`Blend::TcGs`], but a pixel's transmittance is a half, as in the authors' code.
    TcGsHalf,
    /// As [`Blend::TcGs`], but in coordinates of the image: half precision overflows (the ablation
    /// of its table 6).
    TcGsGlobalFp16,
    /// As [`Blend::TcGsGlobalFp16`] in TF32: no overflow, but as few digits (likewise).
    TcGsGlobalTf32,
    /// Exponents of a tile as one product on the matrix units, 256 Gaussians a batch, 16 a
    /// mini-batch, in a three-stage pipeline with two buffers (GEMM-GS, Li et al. 2026, section 3).
    GemmGs,
    /// As [`Blend::GemmGs`] with batches of 32 (its section 4.3, figure 7).
    #[serde(rename = "gemm-gs-32")]
    GemmGs32,
    /// As [`Blend::GemmGs`] with batches of 64 (likewise).
    #[serde(rename = "gemm-gs-64")]
    GemmGs64,
    /// As [`Blend::GemmGs`] with batches of 128 (likewise).
    #[serde(rename = "gemm-gs-128")]
    GemmGs128,
    /// As [`Blend::GemmGs`] with batches of 512 (likewise).
    #[serde(rename = "gemm-gs-512")]
    GemmGs512,
    /// Exponents of 16 Gaussians and 16 pixels as one product on the matrix units, tile by tile:
    /// TensorGS's naive tensorization (sections 4.2 and 4.3). Each coefficient is the sum of two
    /// halves, the second of which holds what the first leaves.
    #[serde(rename = "tensor-gs-1x1")]
    TensorGs1x1,
    /// As [`Blend::TensorGs1x1`], but macro-tiles of 2x2 tiles share one list, each Gaussian with a
    /// mask of the tiles that it touches (TensorGS, section 4.4; its default).
    #[serde(rename = "tensor-gs-2x2")]
    TensorGs2x2,
    /// As [`Blend::TensorGs2x2`] with macro-tiles of 4x4 tiles (its section 5.4, table 6).
    #[serde(rename = "tensor-gs-4x4")]
    TensorGs4x4,
    /// As [`Blend::TensorGs1x1`], but a coefficient is one half, as in the paper (section 4.2.3).
    #[serde(rename = "tensor-gs-1x1-half")]
    TensorGs1x1Half,
    /// As [`Blend::TensorGs2x2`] with coefficients of one half (likewise).
    #[serde(rename = "tensor-gs-2x2-half")]
    TensorGs2x2Half,
    /// As [`Blend::TensorGs4x4`] with coefficients of one half (likewise).
    #[serde(rename = "tensor-gs-4x4-half")]
    TensorGs4x4Half,
    /// Sub-tile culling in f32: each small block of pixels walks only the Gaussians whose ellipse
    /// touches it.
    Subtile,
    /// A group of 4x2 pixels blends the Gaussians whose alpha at the group's centre is 1/255 or
    /// more, and no others (Seele, Huang et al. 2025, section 4).
    Seele,
    /// The pixels of a sub-tile, 8x8 of a tile, blend the Gaussians whose 3-sigma box along the
    /// ellipse's axes touches it (GSCore, Lee et al. 2024, subtile skipping). Its lists are those
    /// of [`Intersect::Obb`].
    #[serde(rename = "gscore")]
    GsCore,
    /// Pixels blend by depth along their own ray, which windows of a tile, of 4x4, of 2x2 and of
    /// one pixel put in order one after the other (StopThePop, Radl et al. 2024).
    StopThePop,
    /// The backend's fastest that blends every pixel. On CUDA sub-tile culling with scores and
    /// colours as products on the matrix units; on the CPU the same as [`Blend::Subtile`].
    Splatcore,
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
    /// Every way to bring gradients together, behind the same forward pass (exact + scalar), to
    /// compare them. A backend may lack some.
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
    Blend,
    "blend",
    Scalar = "scalar",
    Literal = "literal",
    EarlyCull = "early-cull",
    Frag2Mat = "frag2mat",
    TcGs = "tc-gs",
    TcGsHalf = "tc-gs-half",
    TcGsGlobalFp16 = "tc-gs-global-fp16",
    TcGsGlobalTf32 = "tc-gs-global-tf32",
    GemmGs = "gemm-gs",
    GemmGs32 = "gemm-gs-32",
    GemmGs64 = "gemm-gs-64",
    GemmGs128 = "gemm-gs-128",
    GemmGs512 = "gemm-gs-512",
    TensorGs1x1 = "tensor-gs-1x1",
    TensorGs2x2 = "tensor-gs-2x2",
    TensorGs4x4 = "tensor-gs-4x4",
    TensorGs1x1Half = "tensor-gs-1x1-half",
    TensorGs2x2Half = "tensor-gs-2x2-half",
    TensorGs4x4Half = "tensor-gs-4x4-half",
    Subtile = "subtile",
    Seele = "seele",
    GsCore = "gscore",
    StopThePop = "stop-the-pop",
    Splatcore = "splatcore"
);

impl Blend {
    /// What every backend has.
    pub const COMMON: &'static [Blend] = &[Blend::Scalar, Blend::Splatcore];

    /// Whether the image is that of [`Blend::Scalar`] but for roundings: the fragments of a tile's
    /// list of alpha >= 1/255, by the depth of their Gaussians' means. The image of a method that
    /// blends others, or in another order, is compared with a twin's that does the same.
    pub fn blends_as_scalar(self) -> bool {
        !matches!(self, Blend::Seele | Blend::GsCore | Blend::StopThePop)
    }

    /// The method of an image with depth: this one if it can sum a fourth channel, else
    /// [`Blend::Subtile`].
    pub fn with_inverse_depth(self) -> Blend {
        match self {
            Blend::Scalar | Blend::Subtile | Blend::Splatcore => self,
            _ => Blend::Subtile,
        }
    }

    /// The backward method that goes with it where none is named.
    pub fn backward(self) -> Backward {
        match self {
            Blend::Scalar | Blend::Literal => Backward::Atomic,
            // Behind the others the gradients would take in what Seele leaves out.
            Blend::Splatcore | Blend::Seele => Backward::Splatcore,
            // Nor in what GSCore leaves out or in StopThePop's order.
            Blend::GsCore | Blend::StopThePop => Backward::Splatcore,
            _ => Backward::Subtile,
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
    fn the_blend_of_old_runs_is_read_from_files_alone() {
        let old = "exact+samples+splatcore".to_string();
        assert_eq!(Pipeline::try_from(old.clone()), Ok(Pipeline::AUTO));
        assert!(old.parse::<Pipeline>().is_err());
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
