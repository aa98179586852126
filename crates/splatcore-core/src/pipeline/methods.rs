//! The table of blend methods: an entry each, every field given. What an entry leaves out does not
//! compile, and nothing else decides by a method's name what this table could say. The kernels that
//! run on a card are in a table of the same kind there (`ops/blend/methods.rs` of splatcore-cuda).

use super::backward::Backward;
use super::blend::Blend;
use crate::precision::{EQUAL_QUALITY, HALF, Half, Precision};
use crate::precision::{SPLATCORE, TC_GS, TC_GS_HALF_PSNR, TC_GS_RELEASED};
use crate::precision::{tensor_gs, tensor_gs_half};

/// What there is to know of a blend method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Method {
    /// On the command line, in files, and in the literature where it has a name there.
    pub name: &'static str,
    /// Who published it, and where.
    pub source: &'static str,
    /// How exact its images are on matrix units.
    pub precision: Precision,
    /// Which fragments of a list a pixel blends, in which order.
    pub fragments: Fragments,
    /// Tiles along a side of the square that has one list: 1, or those of a macro-tile.
    pub list_side: u32,
    /// Whether it sums inverse depth beside the three colours.
    pub inverse_depth: bool,
    /// The backward method that a pipeline has where none is named.
    pub backward: Backward,
    /// Behind which backward methods a training runs it.
    pub training: Training,
}

/// Which fragments of a list a pixel blends, in which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fragments {
    /// Those of alpha >= 1/255 at the pixel, by the depth of their Gaussians' means.
    Listed,
    /// Those of alpha >= 1/255 at the centre of the pixel's group of so many columns and rows.
    OfGroup([usize; 2]),
    /// Those listed of the Gaussians whose 3-sigma box along the ellipse's axes touches the pixel's
    /// sub-tile of so many pixels a side.
    OfSubTile(usize),
    /// Those listed, by depth along the pixel's own ray.
    AlongRay,
}

/// Behind which backward methods a training runs a blend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Training {
    /// All but [`Backward::Splatcore`], which repeats another blend's weights, and
    /// [`Backward::GaussianParallel`], which needs checkpoints.
    Plain,
    /// All but [`Backward::Splatcore`].
    Checkpointed,
    /// Its own, [`Method::backward`], alone.
    ItsOwn,
    /// None, for this reason, a clause.
    Never(&'static str),
}

const KERBL: &str = "3D Gaussian Splatting, Kerbl et al. 2023";
const OURS: &str = "splatcore";
const EARLY_CULL: &str = "TC-GS, Liao et al. 2025, section 4.1";
const GEMM_GS: &str = "GEMM-GS, Li et al. 2026, section 4.3";
const TENSOR_GS: &str = "TensorGS, sections 4.2 to 4.4 and 5.4";

/// The entry of a method.
fn of(blend: Blend) -> Method {
    use {Backward as B, Training as T};
    match blend {
        Blend::Scalar => in_f32("scalar", KERBL, true, B::Atomic, T::Checkpointed),
        Blend::Subtile => in_f32("subtile", OURS, true, B::Subtile, T::Checkpointed),
        Blend::EarlyCull => in_f32("early-cull", EARLY_CULL, false, B::Subtile, T::Plain),
        Blend::Literal => {
            let reason = "its kernel makes images alone, and `scalar` computes the same";
            in_f32("literal", KERBL, false, B::Atomic, T::Never(reason))
        }
        Blend::Frag2Mat => tc_gs("frag2mat", Precision::Half(TC_GS), T::Plain),
        Blend::TcGs => tc_gs("tc-gs", Precision::Half(TC_GS), T::Plain),
        Blend::TcGsHalf => {
            let half = Half {
                psnr: Some(TC_GS_HALF_PSNR),
                transmittance: HALF,
                ..TC_GS
            };
            let reason = "the colour behind a fragment is wrong by the rounding of its \
                          transmittance, which gradients of trained scenes do not bear";
            tc_gs("tc-gs-half", Precision::Half(half), T::Never(reason))
        }
        Blend::TcGsGlobalFp16 => tc_gs("tc-gs-global-fp16", in_the_image(), T::Plain),
        Blend::TcGsGlobalTf32 => tc_gs("tc-gs-global-tf32", in_the_image(), T::Plain),
        Blend::TcGsReleased => released("tc-gs-released", TC_GS_RELEASED),
        Blend::TcGsReleasedExpF32 => released("tc-gs-released-exp-f32", with_exp_in_f32()),
        Blend::TcGsReleasedBlendF32 => released("tc-gs-released-blend-f32", with_sums_in_f32()),
        Blend::TcGsReleasedStopEach => released("tc-gs-released-stop-each", with_own_stops()),
        Blend::TcGsReleasedVote => released("tc-gs-released-vote", TC_GS_RELEASED),
        Blend::GemmGs => gemm_gs("gemm-gs"),
        Blend::GemmGs32 => gemm_gs("gemm-gs-32"),
        Blend::GemmGs64 => gemm_gs("gemm-gs-64"),
        Blend::GemmGs128 => gemm_gs("gemm-gs-128"),
        Blend::GemmGs512 => gemm_gs("gemm-gs-512"),
        Blend::TensorGs1x1 => tensors("tensor-gs-1x1", 1, tensor_gs(1)),
        Blend::TensorGs2x2 => tensors("tensor-gs-2x2", 2, tensor_gs(2)),
        Blend::TensorGs4x4 => tensors("tensor-gs-4x4", 4, tensor_gs(4)),
        Blend::TensorGs1x1Half => tensors("tensor-gs-1x1-half", 1, tensor_gs_half(1)),
        Blend::TensorGs2x2Half => tensors("tensor-gs-2x2-half", 2, tensor_gs_half(2)),
        Blend::TensorGs4x4Half => tensors("tensor-gs-4x4-half", 4, tensor_gs_half(4)),
        Blend::Seele => other_fragments(
            "seele",
            "Seele, Huang et al. 2025, section 4",
            Fragments::OfGroup([4, 2]),
            "gradients would take in what a group leaves out",
        ),
        Blend::GsCore => other_fragments(
            "gscore",
            "GSCore, Lee et al. 2024, subtile skipping",
            Fragments::OfSubTile(8),
            "gradients would take in what a sub-tile leaves out",
        ),
        Blend::StopThePop => other_fragments(
            "stop-the-pop",
            "StopThePop, Radl et al. 2024",
            Fragments::AlongRay,
            "backward passes go through a list by the depth of means",
        ),
        Blend::Splatcore => Method {
            name: "splatcore",
            source: OURS,
            precision: Precision::Half(SPLATCORE),
            fragments: Fragments::Listed,
            list_side: 1,
            inverse_depth: true,
            backward: B::Splatcore,
            training: T::ItsOwn,
        },
    }
}

/// In f32, of the fragments that are listed.
fn in_f32(
    name: &'static str,
    source: &'static str,
    inverse_depth: bool,
    backward: Backward,
    training: Training,
) -> Method {
    Method {
        name,
        source,
        precision: Precision::Single,
        fragments: Fragments::Listed,
        list_side: 1,
        inverse_depth,
        backward,
        training,
    }
}

/// In f32, of other fragments or in another order, and for this reason not trained.
fn other_fragments(
    name: &'static str,
    source: &'static str,
    fragments: Fragments,
    reason: &'static str,
) -> Method {
    Method {
        name,
        source,
        precision: Precision::Single,
        fragments,
        list_side: 1,
        inverse_depth: false,
        backward: Backward::Splatcore,
        training: Training::Never(reason),
    }
}

/// A variant of TC-GS.
fn tc_gs(name: &'static str, precision: Precision, training: Training) -> Method {
    Method {
        name,
        source: "TC-GS, Liao et al. 2025, section 4, tables 5 and 6",
        precision,
        fragments: Fragments::Listed,
        list_side: 1,
        inverse_depth: false,
        backward: Backward::Subtile,
        training,
    }
}

/// The released arithmetic with the exponential in f32.
fn with_exp_in_f32() -> Half {
    Half {
        alpha: HALF,
        ..TC_GS_RELEASED
    }
}

/// With transmittance, weights and sums in f32. The cap of alpha is still a half, which is an error
/// of the weight.
fn with_sums_in_f32() -> Half {
    let Half {
        alpha,
        min_transmittance,
        ..
    } = TC_GS_RELEASED;
    Half {
        alpha,
        min_transmittance,
        weight: HALF,
        ..TC_GS
    }
}

/// With a look at the transmittance in front of each fragment.
fn with_own_stops() -> Half {
    Half {
        min_transmittance: 0.0,
        ..TC_GS_RELEASED
    }
}

/// As TC-GS's authors released it.
fn released(name: &'static str, half: Half) -> Method {
    let reason = "the colour behind a fragment is wrong by the roundings of halves";
    tc_gs(name, Precision::Half(half), Training::Never(reason))
}

/// In coordinates of the image, which fail: nothing is promised.
fn in_the_image() -> Precision {
    Precision::Half(Half {
        psnr: None,
        ..Half::scores(HALF, 0.0)
    })
}

/// GEMM-GS with some batch.
fn gemm_gs(name: &'static str) -> Method {
    Method {
        name,
        source: GEMM_GS,
        // The authors' code: 61 to 65 dB.
        precision: Precision::Half(Half::scores(HALF, EQUAL_QUALITY)),
        fragments: Fragments::Listed,
        list_side: 1,
        inverse_depth: false,
        backward: Backward::Subtile,
        training: Training::Plain,
    }
}

/// TensorGS with macro-tiles of so many tiles a side.
fn tensors(name: &'static str, list_side: u32, precision: Precision) -> Method {
    Method {
        name,
        source: TENSOR_GS,
        precision,
        fragments: Fragments::Listed,
        list_side,
        inverse_depth: false,
        backward: Backward::Subtile,
        training: Training::Never("its lists are per macro-tile, the sums of gradients per tile"),
    }
}

impl Blend {
    /// What every backend has.
    pub const COMMON: &'static [Blend] = &[Blend::Scalar, Blend::Splatcore];

    /// The name in the literature and on the command line.
    pub fn name(self) -> &'static str {
        self.method().name
    }

    /// Its entry in the table.
    pub fn method(self) -> Method {
        of(self)
    }

    /// How exact the method is on matrix units. A backend may be more exact
    /// ([`crate::Backend::precision`]).
    pub fn precision(self) -> Precision {
        self.method().precision
    }

    /// Whether the image is that of [`Blend::Scalar`] but for roundings. The image of a method that
    /// blends other fragments, or in another order, is compared with a twin's that does the same.
    pub fn blends_as_scalar(self) -> bool {
        self.method().fragments == Fragments::Listed
    }

    /// The method of an image with depth: this one if it can sum a fourth channel, else
    /// [`Blend::Subtile`].
    pub fn with_inverse_depth(self) -> Blend {
        match self.method().inverse_depth {
            true => self,
            false => Blend::Subtile,
        }
    }

    /// The backward method that goes with it where none is named.
    pub fn backward(self) -> Backward {
        self.method().backward
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_methods_share_a_name_and_each_is_found_by_its_own() {
        for blend in Blend::ALL {
            assert_eq!(blend.name().parse::<Blend>(), Ok(*blend));
            assert_eq!(Blend::try_from(String::from(*blend)), Ok(*blend));
        }
    }

    #[test]
    fn what_blends_other_fragments_is_never_trained() {
        for blend in Blend::ALL {
            let method = blend.method();
            let trains = !matches!(method.training, Training::Never(_));
            let as_listed = method.fragments == Fragments::Listed && method.list_side == 1;
            assert!(as_listed || !trains, "{blend}");
            assert!(!method.source.is_empty());
        }
    }
}
