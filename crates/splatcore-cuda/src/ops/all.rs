//! Every program of the backend in every variant.

use super::adam::moments::Moments;
use super::blend::{
    InferenceRows, blend, blend_in_training, blend_inference, blend_with_inverse_depth,
    interpolated,
};
use super::blend_backward::{blend_backward, gather_sums, sum_pairs};
use super::intersect::{self, macro_tiles};
use super::project::{filtered, of_half_scene, project, project_binned, with_rays};
use super::project_backward::{project_backward, write_gradients};
use super::{adam, bin, clear, densify, exposure, floaters, limit_scales, loss, photo};
use super::{score, smoothing, sort};
use crate::device::Program;
use splatcore_core::pipeline::{Backward, Blend, Intersect};
use splatcore_core::sh;

/// What [`filtered`] is asked for, but for no filter at all.
const FILTERS: [[bool; 2]; 3] = [[true, false], [true, true], [false, true]];

/// `project` in every variant but for filters and halves.
fn project_variants(in_use: u8, intersect: Intersect) -> Vec<Program> {
    let stored = sh::MAX_DEGREE;
    let plain = project(in_use, stored, intersect);
    let mut all = vec![with_rays(plain.clone()), plain];
    let binned = bin::MacroTiles::all().into_iter();
    all.extend(binned.map(|macro_tiles| project_binned(in_use, stored, intersect, macro_tiles)));
    all
}

/// Every program in every variant, for the check that all of them compile.
pub fn all_programs() -> Vec<Program> {
    let mut all: Vec<Program> = sort::Plan::all().into_iter().map(sort::program).collect();
    all.extend([false, true].map(sum_pairs));
    all.push(gather_sums());
    for &method in Intersect::ALL {
        all.push(intersect::program(method));
        all.extend(bin::SIDES.map(|side| macro_tiles::program(method, side)));
        all.extend(
            bin::MacroTiles::all()
                .into_iter()
                .map(|macro_tiles| bin::large_program(method, macro_tiles)),
        );
        // With fewer degrees the shapes are the same: see below.
        all.extend(project_variants(sh::MAX_DEGREE, method));
    }
    for &method in Blend::ALL {
        all.extend([false, true].map(|count| blend(method, count, false)));
        if blend_in_training(method, Backward::GaussianParallel) == method {
            all.push(blend(method, false, true));
        }
        let mut images = Vec::new();
        for rows in [InferenceRows::Four, InferenceRows::Eight] {
            images.push(blend_inference(method, rows));
            if method.with_inverse_depth() == method {
                images.push(blend_with_inverse_depth(method, rows));
            }
        }
        for image in images {
            if !all.contains(&image) {
                all.push(image);
            }
        }
    }
    all.push(interpolated::program());
    all.extend(Backward::ALL.iter().map(|&method| blend_backward(method)));
    for degree in 0..=sh::MAX_DEGREE {
        for absolute in [false, true] {
            let plain = project_backward(degree, sh::MAX_DEGREE, absolute);
            all.extend(
                FILTERS.map(|[antialias, smoothing]| filtered(plain.clone(), antialias, smoothing)),
            );
            all.push(plain);
        }
        for plain in project_variants(degree, Intersect::Exact) {
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
                [false, true]
                    .map(|sparse| adam::program(degree, sh::MAX_DEGREE, moments, sparse, false)),
            );
            all.push(adam::program(degree, degree, moments, false, false));
        }
        let absolute = adam::program(degree, sh::MAX_DEGREE, Moments::Compact, false, true);
        all.extend(
            FILTERS.map(|[antialias, smoothing]| filtered(absolute.clone(), antialias, smoothing)),
        );
        all.push(absolute);
        all.push(write_gradients(degree, sh::MAX_DEGREE));
    }
    all.extend([false, true].map(loss::program));
    all.push(clear::program());
    all.extend(bin::MacroTiles::all().into_iter().map(bin::sort_program));
    all.push(densify::program());
    all.push(smoothing::program());
    all.push(limit_scales::program());
    all.push(photo::program());
    all.push(exposure::program());
    all.push(score::program());
    all.push(score::visibility::program());
    all.push(floaters::program());
    all
}
