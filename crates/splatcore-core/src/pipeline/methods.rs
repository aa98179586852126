//! The table of blend methods: an entry each, every field given. What an entry leaves out does not
//! compile, and nothing else decides by a method's name what this table could say. The kernels that
//! run on a card are in a table of the same kind there (`ops/blend/methods.rs` of splatcore-cuda).

use super::{Backward, Blend};
use crate::precision::{EQUAL_QUALITY, HALF, Half, Precision};
use crate::precision::{SPLATCORE, TC_GS, TC_GS_HALF_PSNR, tensor_gs, tensor_gs_half};

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
const GEMM_GS: &str = "GEMM-GS, Li et al. 2026, section 4.3";
const TENSOR_GS: &str = "TensorGS, sections 4.2 to 4.4 and 5.4";

/// The entry of a method.
pub(super) fn of(blend: Blend) -> Method {
    match blend {
        Blend::Scalar => Method {
            name: "scalar",
            source: KERBL,
            precision: Precision::Single,
            fragments: Fragments::Listed,
            list_side: 1,
            inverse_depth: true,
            backward: Backward::Atomic,
            training: Training::Checkpointed,
        },
        Blend::Literal => Method {
            name: "literal",
            source: KERBL,
            precision: Precision::Single,
            fragments: Fragments::Listed,
            list_side: 1,
            inverse_depth: false,
            backward: Backward::Atomic,
            training: Training::Never(
                "its kernel makes images alone, and `scalar` computes the same",
            ),
        },
        Blend::EarlyCull => Method {
            name: "early-cull",
            source: "TC-GS, Liao et al. 2025, section 4.1",
            precision: Precision::Single,
            fragments: Fragments::Listed,
            list_side: 1,
            inverse_depth: false,
            backward: Backward::Subtile,
            training: Training::Plain,
        },
        Blend::Frag2Mat => tc_gs("frag2mat", Precision::Half(TC_GS)),
        Blend::TcGs => tc_gs("tc-gs", Precision::Half(TC_GS)),
        Blend::TcGsHalf => Method {
            training: Training::Never(
                "the colour behind a fragment is wrong by the rounding of its transmittance, which \
                 gradients of trained scenes do not bear",
            ),
            ..tc_gs(
                "tc-gs-half",
                Precision::Half(Half {
                    psnr: Some(TC_GS_HALF_PSNR),
                    transmittance: HALF,
                    ..TC_GS
                }),
            )
        },
        Blend::TcGsGlobalFp16 => tc_gs("tc-gs-global-fp16", in_the_image()),
        Blend::TcGsGlobalTf32 => tc_gs("tc-gs-global-tf32", in_the_image()),
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
        Blend::Subtile => Method {
            name: "subtile",
            source: "splatcore",
            precision: Precision::Single,
            fragments: Fragments::Listed,
            list_side: 1,
            inverse_depth: true,
            backward: Backward::Subtile,
            training: Training::Checkpointed,
        },
        Blend::Seele => Method {
            name: "seele",
            source: "Seele, Huang et al. 2025, section 4",
            precision: Precision::Single,
            fragments: Fragments::OfGroup([4, 2]),
            list_side: 1,
            inverse_depth: false,
            backward: Backward::Splatcore,
            training: Training::Never("gradients would take in what a group leaves out"),
        },
        Blend::GsCore => Method {
            name: "gscore",
            source: "GSCore, Lee et al. 2024, subtile skipping",
            precision: Precision::Single,
            fragments: Fragments::OfSubTile(8),
            list_side: 1,
            inverse_depth: false,
            backward: Backward::Splatcore,
            training: Training::Never("gradients would take in what a sub-tile leaves out"),
        },
        Blend::StopThePop => Method {
            name: "stop-the-pop",
            source: "StopThePop, Radl et al. 2024",
            precision: Precision::Single,
            fragments: Fragments::AlongRay,
            list_side: 1,
            inverse_depth: false,
            backward: Backward::Splatcore,
            training: Training::Never("backward passes go through a list by the depth of means"),
        },
        Blend::Splatcore => Method {
            name: "splatcore",
            source: "splatcore",
            precision: Precision::Half(SPLATCORE),
            fragments: Fragments::Listed,
            list_side: 1,
            inverse_depth: true,
            backward: Backward::Splatcore,
            training: Training::ItsOwn,
        },
    }
}

/// A variant of TC-GS.
fn tc_gs(name: &'static str, precision: Precision) -> Method {
    Method {
        name,
        source: "TC-GS, Liao et al. 2025, section 4, tables 5 and 6",
        precision,
        fragments: Fragments::Listed,
        list_side: 1,
        inverse_depth: false,
        backward: Backward::Subtile,
        training: Training::Plain,
    }
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
