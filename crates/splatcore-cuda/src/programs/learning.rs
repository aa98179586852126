//! The backward pass, and what is done with gradients and scenes.

use super::{NO_FILTER, harmonics};
use crate::Moments;
use crate::device::Program;
use crate::device::program::files;
use splatcore_core::floaters::HIDDEN;
use splatcore_core::pipeline::Backward;

/// `blend_backward`.
pub fn blend_backward(backward: Backward) -> Program {
    let atomic = |aggregate: u8| Program {
        op: "blend_backward",
        files: files!["blend_backward.cu"],
        constants: vec![("AGGREGATE", aggregate.to_string())],
        kernels: &["blend_backward"],
    };
    match backward {
        Backward::Atomic => atomic(0),
        Backward::WarpReduce => atomic(1),
        Backward::WarpReduceSkip => atomic(2),
        Backward::GaussianParallel => Program {
            op: "blend_backward_gaussian_parallel",
            files: files!["blend_backward_gaussian_parallel.cu"],
            constants: vec![],
            kernels: &["blend_backward"],
        },
        Backward::Subtile => Program {
            op: "blend_backward_subtile",
            files: files!["subtile.cuh", "blend_backward_subtile.cu"],
            constants: vec![],
            kernels: &["blend_backward"],
        },
        Backward::Splatcore => Program {
            op: "blend_backward_splatcore",
            files: files![
                "matrix.cuh",
                "subtile.cuh",
                "rows.cuh",
                "weights.cuh",
                "blend_backward_splatcore.cu"
            ],
            constants: vec![],
            kernels: &["blend_backward"],
        },
    }
}

/// Whether a method writes a row of sums a pair, and with that is the same in every run.
pub fn has_pair_rows(backward: Backward) -> bool {
    matches!(
        backward,
        Backward::GaussianParallel | Backward::Subtile | Backward::Splatcore
    )
}

/// `sum_pairs` and `sum_long_pairs`; also of the pairs' absolute values if `absolute`.
pub fn sum_pairs(absolute: bool) -> Program {
    Program {
        op: "sum_pairs",
        files: files!["sum_pairs.cu"],
        constants: vec![("ABSOLUTE", (absolute as u8).to_string())],
        kernels: &["sum_pairs", "sum_long_pairs"],
    }
}

/// `project_backward`, which takes the statistic of densification from the pairs' absolute values
/// if `absolute`.
pub fn project_backward(in_use: u8, stored: u8, absolute: bool) -> Program {
    let mut constants = harmonics(in_use, stored);
    constants.push(("ABSOLUTE", (absolute as u8).to_string()));
    constants.extend(NO_FILTER.map(|name| (name, "0".to_string())));
    Program {
        op: "project_backward",
        files: files![
            "smoothing.cuh",
            "antialias.cuh",
            "project_backward.cuh",
            "project_backward.cu"
        ],
        constants,
        kernels: &["project_backward"],
    }
}

/// `adam`, with the backward pass of projecting in it; `absolute` as for [`project_backward`].
pub fn adam(in_use: u8, stored: u8, moments: Moments, sparse: bool, absolute: bool) -> Program {
    let mut constants = harmonics(in_use, stored);
    constants.push(("COMPACT", ((moments == Moments::Compact) as u8).to_string()));
    constants.push(("SPARSE", (sparse as u8).to_string()));
    constants.push(("ABSOLUTE", (absolute as u8).to_string()));
    constants.extend(NO_FILTER.map(|name| (name, "0".to_string())));
    Program {
        op: "adam",
        files: files![
            "matrix.cuh",
            "random.cuh",
            "moments.cuh",
            "smoothing.cuh",
            "antialias.cuh",
            "project_backward.cuh",
            "adam.cu"
        ],
        constants,
        kernels: &["adam"],
    }
}

/// `write_gradients`.
pub fn write_gradients(in_use: u8, stored: u8) -> Program {
    Program {
        op: "write_gradients",
        files: files!["write_gradients.cu"],
        constants: harmonics(in_use, stored),
        kernels: &["write_gradients"],
    }
}

/// `error_range`, `error_mask` and `add_scores`.
pub fn scores() -> Program {
    Program {
        op: "scores",
        files: files!["scores.cu"],
        constants: vec![],
        kernels: &["error_range", "error_mask", "add_scores"],
    }
}

/// `floaters`.
pub fn floaters() -> Program {
    Program {
        op: "floaters",
        files: files!["floaters.cu"],
        constants: vec![("HIDDEN", format!("{HIDDEN:?}f"))],
        kernels: &["floaters"],
    }
}
