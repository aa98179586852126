//! Which kernel blends by a method: an entry each, every field given. What there is to know of a
//! method besides is in the table of splatcore-core (`pipeline/methods.rs`).

use super::super::constants::{flag, part};
use splatcore_core::pipeline::Blend;

/// The kernel of a method.
pub(super) struct Method {
    /// The file of the kernel `blend`.
    pub file: &'static str,
    /// What tells methods apart that share a file.
    pub constants: Vec<(&'static str, String)>,
    /// Whether it reads `BlendParams::rays`, which `project` then writes.
    pub reads_rays: bool,
    /// Whether it writes `BlendParams::stops` of an image: for each pixel the number of splats up
    /// to the last that it blended.
    pub counts_contributors: bool,
    /// Whether it has the constants `CHECKPOINTS` and `DEPTH` of `blend_scalar.cu`.
    pub has_switches: bool,
    /// The method whose kernel counts the fragments of a frame.
    pub counted_by: Blend,
    /// Whether images that nothing is learned from have a kernel of their own,
    /// `blend_splatcore_inference.cu`.
    pub own_inference: bool,
}

/// The entry of a method.
pub(super) fn of(blend: Blend) -> Method {
    match blend {
        Blend::Scalar => Method {
            file: "blend_scalar.cu",
            constants: vec![],
            reads_rays: false,
            counts_contributors: false,
            has_switches: true,
            counted_by: blend,
            own_inference: false,
        },
        Blend::Literal => Method {
            counts_contributors: true,
            ..published(blend, "blend_literal.cu", vec![])
        },
        Blend::EarlyCull => published(blend, "blend_early_cull.cu", vec![]),
        Blend::Seele => published(blend, "blend_seele.cu", vec![]),
        Blend::GsCore => published(blend, "blend_gscore.cu", vec![]),
        Blend::StopThePop => Method {
            reads_rays: true,
            ..published(blend, "blend_stop_the_pop.cu", vec![])
        },
        Blend::Frag2Mat => tc_gs(blend, [false, true, false, false]),
        Blend::TcGs => tc_gs(blend, [true, true, false, false]),
        Blend::TcGsHalf => tc_gs(blend, [true, true, false, true]),
        Blend::TcGsGlobalFp16 => tc_gs(blend, [true, false, false, false]),
        Blend::TcGsGlobalTf32 => tc_gs(blend, [true, false, true, false]),
        Blend::TcGsReleased => tc_gs_released(blend, [true, true, false, false]),
        Blend::TcGsReleasedExpF32 => tc_gs_released(blend, [false, true, false, false]),
        Blend::TcGsReleasedBlendF32 => tc_gs_released(blend, [true, false, false, false]),
        Blend::TcGsReleasedStopEach => tc_gs_released(blend, [true, true, true, false]),
        Blend::TcGsReleasedVote => tc_gs_released(blend, [true, true, false, true]),
        Blend::GemmGs => gemm_gs(blend, 256),
        Blend::GemmGs32 => gemm_gs(blend, 32),
        Blend::GemmGs64 => gemm_gs(blend, 64),
        Blend::GemmGs128 => gemm_gs(blend, 128),
        Blend::GemmGs512 => gemm_gs(blend, 512),
        Blend::TensorGs1x1 | Blend::TensorGs2x2 | Blend::TensorGs4x4 => tensor_gs(blend, true),
        Blend::TensorGs1x1Half | Blend::TensorGs2x2Half | Blend::TensorGs4x4Half => {
            tensor_gs(blend, false)
        }
        Blend::Subtile => Method {
            file: "blend_subtile.cu",
            constants: vec![],
            reads_rays: false,
            counts_contributors: false,
            has_switches: true,
            counted_by: blend,
            own_inference: false,
        },
        Blend::Splatcore => Method {
            file: "blend_splatcore_training.cu",
            constants: vec![part()],
            reads_rays: false,
            counts_contributors: false,
            has_switches: false,
            // Counts are of f32's fragments: batches of 16 hide which of them a pixel still wanted.
            counted_by: Blend::Subtile,
            own_inference: true,
        },
    }
}

/// A published method that has nothing but its kernel, which counts too.
fn published(blend: Blend, file: &'static str, constants: Vec<(&'static str, String)>) -> Method {
    Method {
        file,
        constants,
        reads_rays: false,
        counts_contributors: false,
        has_switches: false,
        counted_by: blend,
        own_inference: false,
    }
}

/// With early culling, in coordinates of the tile, in TF32, with a transmittance in halves.
fn tc_gs(blend: Blend, [early, local, tf32, half]: [bool; 4]) -> Method {
    let constants = vec![
        flag("EARLY_CULL", early),
        flag("LOCAL", local),
        flag("TF32", tf32),
        flag("HALF_TRANSMITTANCE", half),
    ];
    published(blend, "blend_tc_gs.cu", constants)
}

/// With an exponential in halves, the sums in halves, a stop in front of each fragment, votes.
fn tc_gs_released(blend: Blend, [half_exp, half_blend, stop_each, vote]: [bool; 4]) -> Method {
    let constants = vec![
        flag("HALF_EXP", half_exp),
        flag("HALF_BLEND", half_blend),
        flag("STOP_EACH", stop_each),
        flag("VOTE", vote),
    ];
    Method {
        counted_by: Blend::TcGs,
        ..published(blend, "blend_tc_gs_released.cu", constants)
    }
}

fn gemm_gs(blend: Blend, batch: u32) -> Method {
    published(
        blend,
        "blend_gemm_gs.cu",
        vec![("BATCH", batch.to_string())],
    )
}

fn tensor_gs(blend: Blend, two_halves: bool) -> Method {
    let side = blend.method().list_side.to_string();
    let constants = vec![("MACRO_TILE_SIDE", side), flag("TWO_HALVES", two_halves)];
    published(blend, "blend_tensor_gs.cu", constants)
}
