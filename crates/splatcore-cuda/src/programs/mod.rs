//! Every compilation unit of a frame and a step, by what it depends on, and the kernels that came
//! of them.

mod blends;
mod kernels;
mod learning;
mod tile_lists;

pub use blends::*;
pub use kernels::Kernels;
pub use learning::*;
pub use tile_lists::*;

use crate::Moments;
use crate::dealt;
use crate::device::Program;
use crate::sort::Plan;
use splatcore_core::pipeline::{Backward, Blend, Intersect};
use splatcore_core::sh;

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

/// The constants of Mip-Splatting's filters, 0 if there is none: kernels/antialias.cuh and
/// smoothing.cuh.
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

/// `project`, `project_backward` or `adam` with Mip-Splatting's 2D filter if `antialias`, with the
/// 3D filter if `smoothing`.
pub fn filtered(program: Program, antialias: bool, smoothing: bool) -> Program {
    let program = with(program, "ANTIALIAS", antialias as u8);
    with(program, "SMOOTHING", smoothing as u8)
}

/// `project`, of a scene whose harmonics are stored as halves; see [`crate::half`].
pub fn of_half_scene(project: Program, stored: u8) -> Program {
    let project = with(project, "SH_ROW", crate::half::row(stored));
    with(project, "HALF_SH", 1)
}

/// What [`filtered`] is asked for, but for no filter at all.
const FILTERS: [[bool; 2]; 3] = [[true, false], [true, true], [false, true]];

/// `project` in every variant but for filters and halves.
fn projects(in_use: u8, intersect: Intersect) -> Vec<Program> {
    let stored = sh::MAX_DEGREE;
    let mut all = vec![project(in_use, stored, intersect)];
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
        all.extend(dealt::SIDES.map(|side| intersect_groups(method, side)));
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
            all.extend(
                FILTERS.map(|[antialias, smoothing]| filtered(plain.clone(), antialias, smoothing)),
            );
            all.push(plain);
        }
        for plain in projects(degree, Intersect::Exact) {
            let halves = of_half_scene(plain.clone(), sh::MAX_DEGREE);
            all.extend([halves.clone(), filtered(halves, true, false)]);
            all.extend(
                FILTERS.map(|[antialias, smoothing]| filtered(plain.clone(), antialias, smoothing)),
            );
            if degree < sh::MAX_DEGREE {
                all.push(plain);
            }
        }
        for moments in [Moments::Full, Moments::Compact] {
            all.extend(
                [false, true].map(|sparse| adam(degree, sh::MAX_DEGREE, moments, sparse, false)),
            );
            all.push(adam(degree, degree, moments, false, false));
        }
        let absolute = adam(degree, sh::MAX_DEGREE, Moments::Compact, false, true);
        all.extend(
            FILTERS.map(|[antialias, smoothing]| filtered(absolute.clone(), antialias, smoothing)),
        );
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
