//! Every compilation unit of a frame and a step, by what it depends on, and the kernels that came of them.

use crate::Moments;
use crate::device::program::files;
use crate::device::{Device, DeviceError, Kernel, Program};
use crate::sort::{self, Plan};
use crate::{dealt, lists, samples};
use splatcore_core::floaters::HIDDEN;
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
        Intersect::AdaptiveRadius => 1,
        Intersect::Snugbox => 2,
        Intersect::Accutile => 3,
        Intersect::Obb => 4,
        Intersect::TileCull => 5,
        Intersect::Exact => 6,
    };
    ("INTERSECT", number.to_string())
}

/// `project`, which counts pairs with groups of `side` x `side` tiles, as pictures have them, or with tiles if there is no `side`.
pub fn project(in_use: u8, stored: u8, intersect: Intersect, side: Option<u32>) -> Program {
    let mut constants = harmonics(in_use, stored);
    constants.push(footprint(intersect));
    constants.push(("GROUPED", (side.is_some() as u8).to_string()));
    constants.extend(side.map(|side| ("GROUP", side.to_string())));
    constants.push(("HALF_SH", "0".to_string()));
    let depth_bits = match side {
        Some(_) => sort::PICTURE_DEPTH_BITS,
        None => sort::DEPTH_BITS,
    };
    constants.push(("DEPTH_BITS", depth_bits.to_string()));
    constants.extend(NO_FILTER.map(|name| (name, "0".to_string())));
    Program {
        op: "project",
        files: files![
            "matrix.cuh",
            "footprint.cuh",
            "group_rows.cuh",
            "smoothing.cuh",
            "antialias.cuh",
            "project.cu"
        ],
        constants,
        kernels: &["project"],
    }
}

/// `project` that deals pairs to groups.
pub fn project_dealt(in_use: u8, stored: u8, intersect: Intersect, groups: dealt::Groups) -> Program {
    let mut program = project(in_use, stored, intersect, Some(groups.side));
    program.files.insert(3, files!["deal.cuh"][0]);
    program.constants.extend(groups.constants());
    program.constants.extend([
        ("TOUCHED", dealt::TOUCHED_NEAR.to_string()),
        ("FAR_ROWS", dealt::FAR_ROWS.to_string()),
    ]);
    program
}

/// What `deal_far` and `sort_lists` are made of.
fn dealt_lists(op: &'static str, intersect: Intersect, groups: dealt::Groups) -> Program {
    let mut constants = groups.constants();
    constants.extend([
        footprint(intersect),
        ("GROUP", groups.side.to_string()),
        ("TOUCHED", groups.most.to_string()),
        ("ROOM", dealt::ROOM.to_string()),
        ("SHARE", dealt::SHARE.to_string()),
    ]);
    Program {
        op,
        files: files!["footprint.cuh", "group_rows.cuh", "deal.cuh", "block.cuh"],
        constants,
        kernels: &[],
    }
}

/// `deal_far`.
pub fn deal_far(intersect: Intersect, groups: dealt::Groups) -> Program {
    let mut program = dealt_lists("deal_far", intersect, groups);
    program.files.extend(files!["deal_far.cu"]);
    program.constants.push(("FAR_ROWS", dealt::FAR_ROWS.to_string()));
    program.kernels = &["deal_far"];
    program
}

/// `sort_lists`, to which shapes make no difference.
pub fn sort_lists(groups: dealt::Groups) -> Program {
    let mut program = dealt_lists("sort_lists", Intersect::Exact, groups);
    program.files.extend(files!["sort_lists.cu"]);
    program.kernels = &["sort_lists"];
    program
}

/// `clear`.
pub fn clear() -> Program {
    Program {
        op: "clear",
        files: files!["clear.cu"],
        constants: vec![],
        kernels: &["clear"],
    }
}

/// The constants of Mip-Splatting's filters, 0 if there is none: kernels/antialias.cuh and smoothing.cuh.
const NO_FILTER: [&str; 2] = ["ANTIALIAS", "SMOOTHING"];

/// The program with another value of a constant that it has.
fn with(mut program: Program, constant: &str, value: impl ToString) -> Program {
    for (name, old) in &mut program.constants {
        if *name == constant {
            *old = value.to_string();
        }
    }
    program
}

/// `project`, `project_backward` or `adam` with Mip-Splatting's 2D filter if `antialias`, with the 3D filter if `smoothing`.
pub fn filtered(program: Program, antialias: bool, smoothing: bool) -> Program {
    let program = with(program, "ANTIALIAS", antialias as u8);
    with(program, "SMOOTHING", smoothing as u8)
}

/// `project`, of a scene whose harmonics are stored as halves; see [`crate::half`].
pub fn of_half_scene(project: Program, stored: u8) -> Program {
    let project = with(project, "SH_ROW", crate::half::row(stored));
    with(project, "HALF_SH", 1)
}

/// `count_digits` and `sort_digit`.
pub fn sort(plan: Plan) -> Program {
    Program {
        op: "sort",
        files: files!["matrix.cuh", "sort.cu"],
        constants: vec![
            ("BITS", plan.bits.to_string()),
            ("PASSES", plan.passes.to_string()),
            ("ITEMS", plan.items.to_string()),
            ("WINDOW", plan.window.to_string()),
            ("SHIFT", plan.shift.to_string()),
        ],
        kernels: &["count_digits", "sort_digit"],
    }
}

/// `expand` and `expand_long`.
pub fn intersect(intersect: Intersect) -> Program {
    Program {
        op: "intersect",
        files: files!["footprint.cuh", "block.cuh", "intersect.cu"],
        constants: vec![footprint(intersect)],
        kernels: &["expand", "expand_long"],
    }
}

/// `count_lists`, `expand_lists`, `split_lists` and, of large groups, `split_long_lists`, for groups of `side` x `side` tiles.
pub fn lists(intersect: Intersect, side: u32) -> Program {
    let mut files = files!["footprint.cuh", "group_rows.cuh", "block.cuh", "lists.cu"];
    let mut constants = vec![
        footprint(intersect),
        ("GROUP", side.to_string()),
        ("COUNTED_BLOCKS", lists::COUNTED_BLOCKS.to_string()),
    ];
    let kernels: &[&str] = if lists::has_entries(side) {
        files.extend(files!["split_lists.cu"]);
        constants.push(("SECTION", lists::SECTION.to_string()));
        &["count_lists", "expand_lists", "split_lists"]
    } else {
        files.extend(files!["split_large_lists.cu"]);
        &["count_lists", "expand_lists", "split_lists", "split_long_lists"]
    };
    Program {
        op: "lists",
        files,
        constants,
        kernels,
    }
}

/// `expand_groups` and `expand_groups_long`, for groups of `side` x `side` tiles.
pub fn intersect_groups(intersect: Intersect, side: u32) -> Program {
    Program {
        op: "intersect_groups",
        files: files!["footprint.cuh", "block.cuh", "intersect_groups.cu"],
        constants: vec![footprint(intersect), ("GROUP", side.to_string())],
        kernels: &["expand_groups", "expand_groups_long"],
    }
}

/// Constants of blends; kernels/blend.cu says what they are.
const COUNT: &str = "COUNT";
const CHECKPOINTS: &str = "CHECKPOINTS";
const DEPTH: &str = "DEPTH";

const TILE_PIXELS: u32 = 256;
/// Threads of a block of [`blend`].
pub const BLEND_BLOCK: u32 = TILE_PIXELS;

/// `blend`; counts fragments in place of making an image if `count`, leaves behind what
/// [`Backward::GaussianParallel`] needs if `checkpoints`.
pub fn blend(blend: Blend, count: bool, checkpoints: bool) -> Program {
    let (op, files, constants): (_, _, &[_]) = match blend {
        Blend::Scalar => ("blend", files!["blend.cu"], &[COUNT, CHECKPOINTS, DEPTH]),
        Blend::EarlyCull => ("blend_early_cull", files!["blend_early_cull.cu"], &[COUNT]),
        Blend::Frag2Mat | Blend::TcGs | Blend::TcGsGlobalFp16 | Blend::TcGsGlobalTf32 => {
            ("blend_tc_gs", files!["matrix.cuh", "blend_tc_gs.cu"], &[COUNT])
        }
        Blend::GemmGs | Blend::GemmGs32 | Blend::GemmGs64 | Blend::GemmGs128 | Blend::GemmGs512 => (
            "blend_gemm_gs",
            files!["matrix.cuh", "blend_gemm_gs.cu"],
            &[COUNT],
        ),
        Blend::TensorGs1x1 | Blend::TensorGs2x2 | Blend::TensorGs4x4 => (
            "blend_tensor_gs",
            files!["matrix.cuh", "blend_tensor_gs.cu"],
            &[COUNT],
        ),
        // Counts are of f32's fragments: batches of 16 hide which of them a pixel still wanted.
        Blend::Splatcore | Blend::Samples if !count => (
            "blend_splatcore",
            files![
                "matrix.cuh",
                "subtile.cuh",
                "rows.cuh",
                "weights.cuh",
                "blend_splatcore.cu"
            ],
            &[],
        ),
        Blend::Subtile | Blend::Splatcore | Blend::Samples => (
            "blend_subtile",
            files!["subtile.cuh", "blend_subtile.cu"],
            &[COUNT, CHECKPOINTS, DEPTH],
        ),
    };
    let value_of = |&name: &&'static str| {
        let set = name == COUNT && count || name == CHECKPOINTS && checkpoints;
        (name, (set as u8).to_string())
    };
    let mut constants: Vec<_> = constants.iter().map(value_of).collect();
    let batch = match blend {
        Blend::GemmGs32 => Some(32),
        Blend::GemmGs64 => Some(64),
        Blend::GemmGs128 => Some(128),
        Blend::GemmGs => Some(256),
        Blend::GemmGs512 => Some(512),
        _ => None,
    };
    constants.extend(batch.map(|batch: u32| ("BATCH", batch.to_string())));
    if op == "blend_tc_gs" {
        let flags = [
            ("EARLY_CULL", blend != Blend::Frag2Mat),
            ("LOCAL", matches!(blend, Blend::Frag2Mat | Blend::TcGs)),
            ("TF32", blend == Blend::TcGsGlobalTf32),
        ];
        constants.extend(flags.map(|(name, set)| (name, (set as u8).to_string())));
    }
    if op == "blend_tensor_gs" {
        let side = crate::groups::side(blend).unwrap_or(1);
        constants.push(("GROUP", side.to_string()));
    }
    Program {
        op,
        files,
        constants,
        kernels: &["blend"],
    }
}

/// Bytes of a splat's row of halves in kernels/blend_picture.cu, without and with depth. Eight rows side by side lie in different
/// banks.
const PICTURE_ROW_BYTES: [u32; 2] = [80, 112];

/// Pixels from which on a picture is large: its splats are too, and a warp does better with more pixels. On an H200 the blend of
/// 3840x2160 takes 8 % less for it (fox_220k; 1 % with a million smaller Gaussians), that of 1080x1920 1 % less and 10 % more.
/// Its lists come from larger groups of tiles too (`lists::SIDES`).
pub const LARGE_PICTURE: usize = 1 << 22;

/// Rows of pixels, 8 in each, that a warp of kernels/blend_picture.cu has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureRows {
    /// Of most pictures.
    Four,
    /// Of large ones.
    Eight,
}

impl PictureRows {
    /// As a number.
    pub fn count(self) -> u32 {
        match self {
            Self::Four => 4,
            Self::Eight => 8,
        }
    }
}

/// `blend` of a picture that nothing is learned from, or what takes its place (`blend_samples` and `blend_rough`).
pub fn blend_picture(method: Blend, rows: PictureRows) -> Program {
    match method {
        _ if samples::is_sampled(method, rows) => return blend_samples(),
        Blend::Splatcore | Blend::Samples => {}
        _ => return blend(method, false, false),
    }
    Program {
        op: "blend_picture",
        files: files![
            "matrix.cuh",
            "subtile.cuh",
            "rows.cuh",
            "picture.cuh",
            "blend_picture.cu"
        ],
        constants: vec![
            (DEPTH, "0".to_string()),
            ("RECTANGLE_Y", rows.count().to_string()),
            ("ROW_BYTES", PICTURE_ROW_BYTES[0].to_string()),
        ],
        kernels: &["blend"],
    }
}

/// `blend_samples` and `blend_rough`, of large pictures of [`Blend::Samples`].
fn blend_samples() -> Program {
    Program {
        op: "blend_samples",
        files: files![
            "matrix.cuh",
            "subtile.cuh",
            "rows.cuh",
            "picture.cuh",
            "blend_samples.cu",
            "blend_rough.cu"
        ],
        constants: vec![
            (DEPTH, "0".to_string()),
            ("RECTANGLE_Y", PictureRows::Eight.count().to_string()),
            ("ROW_BYTES", PICTURE_ROW_BYTES[0].to_string()),
        ],
        kernels: &["blend_samples", "blend_rough"],
    }
}

/// Threads of a block of [`blend_picture`]: a lane has a column of its warp's pixels, four lanes have the same.
pub fn picture_block(method: Blend, rows: PictureRows) -> u32 {
    match method {
        Blend::Splatcore | Blend::Samples => 4 * TILE_PIXELS / rows.count(),
        _ => BLEND_BLOCK,
    }
}

/// The same with depth; of the methods that [`Blend::with_inverse_depth`] leaves as they are.
pub fn blend_with_inverse_depth(method: Blend, rows: PictureRows) -> Program {
    let with_depth = with(blend_picture(method, rows), DEPTH, 1);
    with(with_depth, "ROW_BYTES", PICTURE_ROW_BYTES[1])
}

/// The blend of a training pass. [`Backward::Splatcore`] repeats the weights of [`Blend::Splatcore`] bit for bit and wants
/// no other image. A method in f32 wants one in f32, or what it takes for the colour behind a fragment is off where little
/// light is left; the published methods keep the image that is theirs all the same. Only methods in f32 leave checkpoints.
pub fn blend_in_training(blend: Blend, backward: Backward) -> Blend {
    match (blend, backward) {
        (_, Backward::Splatcore) => Blend::Splatcore,
        (Blend::Scalar, _) => Blend::Scalar,
        (Blend::Subtile | Blend::Splatcore | Blend::Samples, _) | (_, Backward::GaussianParallel) => {
            Blend::Subtile
        }
        // Its lists are of groups of tiles, sums are of tiles.
        (Blend::TensorGs1x1 | Blend::TensorGs2x2 | Blend::TensorGs4x4, _) => Blend::Subtile,
        _ => blend,
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

/// `project_backward`, which takes the statistic of densification from the pairs' absolute values if `absolute`.
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

/// What [`filtered`] is asked for, but for no filter at all.
const FILTERS: [[bool; 2]; 3] = [[true, false], [true, true], [false, true]];

/// `project` in every variant but for filters and halves.
fn projects(in_use: u8, intersect: Intersect) -> Vec<Program> {
    let stored = sh::MAX_DEGREE;
    let counted = [None, Some(lists::SIDES[0]), Some(lists::SIDES[1])];
    let mut all: Vec<Program> = counted
        .map(|side| project(in_use, stored, intersect, side))
        .into();
    let dealt = dealt::Groups::all().into_iter();
    all.extend(dealt.map(|groups| project_dealt(in_use, stored, intersect, groups)));
    all
}

/// Every program in every variant, for the check that all of them compile.
pub fn all() -> Vec<Program> {
    let mut all: Vec<Program> = Plan::all().into_iter().map(sort).collect();
    all.extend([false, true].map(sum_pairs));
    for &method in Intersect::ALL {
        all.push(intersect(method));
        for side in lists::SIDES {
            all.extend([intersect_groups(method, side), self::lists(method, side)]);
        }
        all.extend(
            dealt::Groups::all()
                .into_iter()
                .map(|groups| deal_far(method, groups)),
        );
        // With fewer degrees the shapes are the same: see below.
        all.extend(projects(sh::MAX_DEGREE, method));
    }
    for &method in Blend::ALL {
        all.extend([false, true].map(|count| blend(method, count, false)));
        if blend_in_training(method, Backward::GaussianParallel) == method {
            all.push(blend(method, false, true));
        }
        let mut pictures = Vec::new();
        for rows in [PictureRows::Four, PictureRows::Eight] {
            pictures.push(blend_picture(method, rows));
            if method.with_inverse_depth() == method {
                pictures.push(blend_with_inverse_depth(method, rows));
            }
        }
        for picture in pictures {
            if !all.contains(&picture) {
                all.push(picture);
            }
        }
    }
    all.extend(Backward::ALL.iter().map(|&method| blend_backward(method)));
    for degree in 0..=sh::MAX_DEGREE {
        for absolute in [false, true] {
            let plain = project_backward(degree, sh::MAX_DEGREE, absolute);
            all.extend(FILTERS.map(|[antialias, smoothing]| filtered(plain.clone(), antialias, smoothing)));
            all.push(plain);
        }
        for plain in projects(degree, Intersect::Exact) {
            let halves = of_half_scene(plain.clone(), sh::MAX_DEGREE);
            all.extend([halves.clone(), filtered(halves, true, false)]);
            all.extend(FILTERS.map(|[antialias, smoothing]| filtered(plain.clone(), antialias, smoothing)));
            if degree < sh::MAX_DEGREE {
                all.push(plain);
            }
        }
        for moments in [Moments::Full, Moments::Compact] {
            all.extend([false, true].map(|sparse| adam(degree, sh::MAX_DEGREE, moments, sparse, false)));
            all.push(adam(degree, degree, moments, false, false));
        }
        let absolute = adam(degree, sh::MAX_DEGREE, Moments::Compact, false, true);
        all.extend(FILTERS.map(|[antialias, smoothing]| filtered(absolute.clone(), antialias, smoothing)));
        all.push(absolute);
        all.push(write_gradients(degree, sh::MAX_DEGREE));
    }
    all.extend([false, true].map(crate::loss::program));
    all.push(clear());
    all.extend(dealt::Groups::all().into_iter().map(sort_lists));
    all.push(crate::densify::program());
    all.push(crate::smoothing::program());
    all.push(crate::limit_scales::program());
    all.push(crate::photo::program());
    all.push(crate::exposure::program());
    all.push(scores());
    all.push(floaters());
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

    /// Compiles several programs at once, each of them once.
    ///
    /// # Errors
    /// As [`Kernels::get`].
    pub fn prepare(&self, programs: &[Program]) -> Result<(), DeviceError> {
        use rayon::prelude::*;
        let unique: HashMap<String, &Program> = programs
            .iter()
            .map(|program| (name_of(program), program))
            .collect();
        unique
            .into_par_iter()
            .try_for_each(|(_, program)| self.get(program).map(drop))
    }
}
