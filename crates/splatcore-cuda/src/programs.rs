//! Every compilation unit of a frame and a step, by what it depends on, and the kernels that came of them.

use crate::Moments;
use crate::device::program::files;
use crate::device::{Device, DeviceError, Kernel, Program};
use splatcore_core::pipeline::{Backward, Blend, Intersect};
use splatcore_core::sh;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

fn harmonics(in_use: u8, stored: u8) -> Vec<(&'static str, String)> {
    vec![
        ("SH_DEGREE", in_use.to_string()),
        ("SH_ROW", (3 * sh::coefficients(stored)).to_string()),
    ]
}

/// `INTERSECT` of kernels/footprint.cuh.
fn footprint(intersect: Intersect) -> (&'static str, String) {
    let number = match intersect {
        Intersect::Aabb => 0,
        Intersect::Exact => 6,
    };
    ("INTERSECT", number.to_string())
}

/// `project`.
pub fn project(in_use: u8, stored: u8, intersect: Intersect) -> Program {
    let mut constants = harmonics(in_use, stored);
    constants.push(footprint(intersect));
    Program {
        op: "project",
        files: files!["footprint.cuh", "project.cu"],
        constants,
        kernels: &["project"],
    }
}

/// `count_digits` and `sort_digit`, `items` keys a thread.
pub fn sort(items: usize) -> Program {
    Program {
        op: "sort",
        files: files!["sort.cu"],
        constants: vec![("ITEMS", items.to_string())],
        kernels: &["count_digits", "sort_digit"],
    }
}

/// `expand`, `expand_long` and `ranges`.
pub fn intersect(intersect: Intersect) -> Program {
    Program {
        op: "intersect",
        files: files!["footprint.cuh", "intersect.cu"],
        constants: vec![footprint(intersect)],
        kernels: &["expand", "expand_long", "ranges"],
    }
}

/// `blend`; counts fragments in place of making an image if `count`, leaves behind what
/// [`Backward::GaussianParallel`] needs if `checkpoints`.
pub fn blend(blend: Blend, count: bool, checkpoints: bool) -> Program {
    let (op, files) = match blend {
        Blend::Scalar => ("blend", files!["blend.cu"]),
        Blend::Subtile | Blend::Splatcore => ("blend_subtile", files!["subtile.cuh", "blend_subtile.cu"]),
    };
    Program {
        op,
        files,
        constants: vec![
            ("COUNT", (count as u8).to_string()),
            ("CHECKPOINTS", (checkpoints as u8).to_string()),
        ],
        kernels: &["blend"],
    }
}

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
        Backward::Splatcore => Program {
            op: "blend_backward_splatcore",
            files: files!["subtile.cuh", "blend_backward_splatcore.cu"],
            constants: vec![],
            kernels: &["blend_backward"],
        },
    }
}

/// Whether a method writes a row of sums a pair, and with that is the same in every run.
pub fn has_pair_rows(backward: Backward) -> bool {
    matches!(backward, Backward::GaussianParallel | Backward::Splatcore)
}

/// `sum_pairs` and `sum_long_pairs`.
pub fn sum_pairs() -> Program {
    Program {
        op: "sum_pairs",
        files: files!["sum_pairs.cu"],
        constants: vec![],
        kernels: &["sum_pairs", "sum_long_pairs"],
    }
}

/// `project_backward`.
pub fn project_backward(in_use: u8, stored: u8) -> Program {
    Program {
        op: "project_backward",
        files: files!["project_backward.cu"],
        constants: harmonics(in_use, stored),
        kernels: &["project_backward"],
    }
}

/// `adam`, `adam_sh` and `write_gradients`.
pub fn adam(in_use: u8, stored: u8, moments: Moments) -> Program {
    let mut constants = harmonics(in_use, stored);
    constants.push(("COMPACT", ((moments == Moments::Compact) as u8).to_string()));
    Program {
        op: "adam",
        files: files!["random.cuh", "moments.cuh", "adam.cu"],
        constants,
        kernels: &["adam", "adam_sh", "write_gradients"],
    }
}

/// Every program in every variant, for the check that all of them compile.
pub fn all() -> Vec<Program> {
    let mut all = vec![sort(crate::sort::SMALL), sort(crate::sort::LARGE), sum_pairs()];
    for &method in Intersect::ALL {
        all.push(intersect(method));
        for degree in 0..=sh::MAX_DEGREE {
            all.push(project(degree, sh::MAX_DEGREE, method));
        }
    }
    for &method in Blend::ALL {
        all.extend([
            blend(method, false, false),
            blend(method, true, false),
            blend(method, false, true),
        ]);
    }
    all.extend(Backward::ALL.iter().map(|&method| blend_backward(method)));
    for degree in 0..=sh::MAX_DEGREE {
        all.push(project_backward(degree, sh::MAX_DEGREE));
        all.extend([Moments::Full, Moments::Compact].map(|moments| adam(degree, sh::MAX_DEGREE, moments)));
    }
    all.extend([false, true].map(crate::loss::program));
    all.push(crate::densify::program());
    all
}

/// Loaded kernels, shared by all renderers and learners of a backend.
pub struct Kernels {
    device: Arc<dyn Device>,
    loaded: Mutex<HashMap<String, Vec<Kernel>>>,
}

fn name_of(program: &Program) -> String {
    let constants = program
        .constants
        .iter()
        .map(|(name, value)| format!(" {name}={value}"));
    format!("{}{}", program.op, constants.collect::<String>())
}

impl Kernels {
    /// Nothing loaded yet.
    pub fn new(device: Arc<dyn Device>) -> Self {
        Self {
            device,
            loaded: Mutex::default(),
        }
    }

    /// The kernels of a program, compiled if this is the first time.
    ///
    /// # Errors
    /// If there is no compiler or it refuses.
    pub fn get(&self, program: &Program) -> Result<Vec<Kernel>, DeviceError> {
        let name = name_of(program);
        let lock = || self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kernels) = lock().get(&name) {
            return Ok(kernels.clone());
        }
        let kernels = self.device.load(program)?;
        lock().insert(name, kernels.clone());
        Ok(kernels)
    }

    /// Compiles several programs at once.
    ///
    /// # Errors
    /// As [`Kernels::get`].
    pub fn prepare(&self, programs: &[Program]) -> Result<(), DeviceError> {
        use rayon::prelude::*;
        programs
            .par_iter()
            .try_for_each(|program| self.get(program).map(drop))
    }
}
