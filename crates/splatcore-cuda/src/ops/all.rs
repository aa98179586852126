//! Every program of the backend in every variant, and those that releases carry compiled.

use super::adam::moments::Moments;
use super::blend::{InferenceRows, blend, blend_inference, blend_with_inverse_depth, interpolated};
use super::blend_backward::{blend_backward, gather_sums, sum_pairs};
use super::camera_gradients::CameraKind;
use super::columns::kernels::learning;
use super::intersect::{self, macro_tiles};
use super::lens::LensKind;
use super::project::{
    by_depth, filtered, of_shard, project, project_binned, through_lens, with_halves, with_rays,
};
use super::project_backward::{project_backward, write_gradients};
use super::{
    accumulate, adam, bin, clear, colour, columns, densify, depth_loss, depth_sums, floaters,
    gather_splats, intrinsics_gradient, limit_scales, loss, photo, pose_gradient,
};
use super::{sky, sort, strips, visibility};
use crate::device::Program;
use splatcore_core::colour::ColourModel;
use splatcore_core::depth::DepthLoss;
use splatcore_core::pipeline::{Backward, Blend, Intersect, Pipeline, Training};
use splatcore_core::sh;

/// What [`filtered`] is asked for, but for no filter at all.
const FILTERS: [[bool; 2]; 3] = [[true, false], [true, true], [false, true]];

/// `project` in every variant but for filters and halves.
fn project_variants(in_use: u8, stored: u8, intersect: Intersect) -> Vec<Program> {
    let plain = project(in_use, stored, intersect);
    let mut all = vec![with_rays(plain.clone()), plain];
    let binned = bin::MacroTiles::all().into_iter();
    all.extend(binned.map(|macro_tiles| project_binned(in_use, stored, intersect, macro_tiles)));
    all
}

/// `project_backward` and `adam` of dense steps for degrees in use and stored, with each of some
/// filters and without.
fn step_variants(in_use: u8, stored: u8, filters: &[[bool; 2]]) -> Vec<Program> {
    let mut plain = Vec::new();
    for absolute in [false, true] {
        plain.push(project_backward(in_use, stored, absolute));
        for moments in [Moments::Full, Moments::Compact] {
            plain.push(adam::program(in_use, stored, moments, false, absolute));
        }
    }
    with_filters(plain, filters)
}

/// The programs, and each of them with each of the filters.
fn with_filters(plain: Vec<Program>, filters: &[[bool; 2]]) -> Vec<Program> {
    let filter = |&[antialias, shaped]: &[bool; 2]| {
        let of = move |program: &Program| filtered(program.clone(), antialias, shaped);
        plain.iter().map(of).collect::<Vec<_>>()
    };
    let mut all: Vec<Program> = filters.iter().flat_map(filter).collect();
    all.extend(plain);
    all
}

/// Every program in every variant, for the check that all of them compile.
pub fn all_programs() -> Vec<Program> {
    let mut all = programs_of(Intersect::ALL, Blend::ALL, Backward::ALL);
    all.extend([gather_splats::program(), strips::program()]);
    for &method in Intersect::ALL {
        // With fewer degrees the shapes are the same: see below.
        all.extend(project_variants(sh::MAX_DEGREE, sh::MAX_DEGREE, method));
    }
    // With all that steps which learn columns may have besides.
    for [sparse, absolute] in [[false, true], [true, false]] {
        let degree = sh::MAX_DEGREE;
        let dense = adam::program(degree, degree, Moments::Compact, sparse, absolute);
        all.push(filtered(learning(dense, true), true, true));
    }
    let sparse = adam::program(0, 0, Moments::Full, true, false);
    let sparse = filtered(learning(sparse, true), true, true);
    all.push(adam::of_batch(sparse));
    all.extend(lens_variants());
    all.extend(depth_variants());
    for lens in LensKind::ALL {
        for [antialias, shaped] in [[false, false], [true, true]] {
            let kind = CameraKind {
                in_use: 0,
                stored: 0,
                half: false,
                antialias,
                shaped,
                lens,
                depth: lens != LensKind::Pinhole,
            };
            all.push(intrinsics_gradient::program(kind));
        }
    }
    for degree in 0..=sh::MAX_DEGREE {
        let dense = adam::program(degree, sh::MAX_DEGREE, Moments::Compact, false, false);
        all.push(adam::of_batch(dense));
        all.extend(step_variants(degree, sh::MAX_DEGREE, &FILTERS));
        for plain in project_variants(degree, sh::MAX_DEGREE, Intersect::Exact) {
            let halves = with_halves(plain.clone(), sh::MAX_DEGREE, true);
            all.extend([halves.clone(), filtered(halves, true, false)]);
            all.extend(
                FILTERS.map(|[antialias, shaped]| filtered(plain.clone(), antialias, shaped)),
            );
            if degree < sh::MAX_DEGREE {
                all.push(plain);
            }
        }
        for moments in [Moments::Full, Moments::Compact, Moments::Second] {
            all.push(adam::program(degree, sh::MAX_DEGREE, moments, true, false));
            all.push(adam::program(degree, degree, moments, false, false));
            let dense = adam::program(degree, sh::MAX_DEGREE, moments, false, false);
            if moments == Moments::Second {
                all.push(dense.clone());
            }
            all.push(learning(dense, true));
        }
        all.push(write_gradients(degree, sh::MAX_DEGREE));
        all.push(accumulate::program(degree, sh::MAX_DEGREE));
        let with = |[antialias, shaped]: [bool; 2], lens| CameraKind {
            in_use: degree,
            stored: sh::MAX_DEGREE,
            half: false,
            antialias,
            shaped,
            lens,
            depth: antialias,
        };
        let kinds = [
            with([false; 2], LensKind::Pinhole),
            with([true; 2], LensKind::Pinhole),
            with([true; 2], LensKind::Lens),
            with([true; 2], LensKind::Rolling),
        ];
        all.extend(kinds.map(pose_gradient::program));
        all.extend(of_halves(degree, &kinds));
        all.extend(shard_programs(degree));
    }
    all
}

/// What steps need of Gaussians that learn with harmonics of degree 3 as halves, beside `project`,
/// which is that of scenes that are only rendered.
fn of_halves(in_use: u8, kinds: &[CameraKind]) -> Vec<Program> {
    let stored = sh::MAX_DEGREE;
    let backward = project_backward(in_use, stored, false);
    let mut all = vec![with_halves(backward, stored, true)];
    for sparse in [false, true] {
        let adam = adam::program(in_use, stored, Moments::Small, sparse, false);
        all.extend([adam::of_batch(adam.clone()), of_shard(adam.clone()), adam]);
    }
    all.extend(
        kinds
            .iter()
            .map(|&kind| pose_gradient::program(CameraKind { half: true, ..kind })),
    );
    all
}

/// What cameras with a lens need, at the highest degree and without harmonics, with and without
/// filters.
fn lens_variants() -> Vec<Program> {
    let mut all = Vec::new();
    for in_use in [0, sh::MAX_DEGREE] {
        let (stored, intersect) = (sh::MAX_DEGREE, Intersect::Exact);
        let mut plain = vec![project(in_use, stored, intersect)];
        let binned = bin::MacroTiles::all().into_iter();
        plain.extend(binned.map(|tiles| project_binned(in_use, stored, intersect, tiles)));
        plain.push(with_halves(plain[0].clone(), stored, true));
        plain.extend(step_variants(in_use, stored, &[]));
        all.extend(with_filters(plain, &FILTERS));
    }
    let kinds = [LensKind::Lens, LensKind::Rolling];
    let through = |program: Program| kinds.map(|kind| through_lens(program.clone(), kind));
    all.into_iter().flat_map(through).collect()
}

/// What steps whose loss depends on depth need, at the highest degree and without harmonics,
/// of each kind of camera.
fn depth_variants() -> Vec<Program> {
    let plain = [0, sh::MAX_DEGREE].map(|in_use| step_variants(in_use, sh::MAX_DEGREE, &[]));
    let by_depth = |program: Program| {
        LensKind::ALL.map(|lens| by_depth(through_lens(program.clone(), lens), true))
    };
    plain.into_iter().flatten().flat_map(by_depth).collect()
}

/// What a rank runs that has a part of the Gaussians.
fn shard_programs(in_use: u8) -> Vec<Program> {
    let stored = sh::MAX_DEGREE;
    let dense = adam::program(in_use, stored, Moments::Compact, false, false);
    let project = project(in_use, stored, Intersect::Exact);
    let all = [
        with_halves(project.clone(), stored, true),
        project,
        adam::of_batch(dense.clone()),
        dense,
    ];
    all.map(of_shard).into()
}

/// The programs that releases carry compiled: what the default pipeline and the reference of `eval`
/// and `bench` need to render scenes of every degree, in floats or halves, with and without
/// Mip-Splatting's 2D filter, and to train. Its 3D filter, visible Gaussians alone
/// ([`adam::program`]'s `sparse`), learned columns, and the 2D filter at lower degrees are left to
/// NVRTC.
pub fn built_in_programs() -> Vec<Program> {
    let Pipeline {
        intersect,
        blend,
        backward,
    } = Pipeline::AUTO;
    let antialias = [[true, false]];
    let mut all = programs_of(&[intersect], &[blend, Blend::Subtile], &[backward]);
    for stored in 0..=sh::MAX_DEGREE {
        for in_use in 0..=stored {
            let mut plain = vec![project(in_use, stored, intersect)];
            for macro_tiles in bin::MacroTiles::all() {
                plain.push(project_binned(in_use, stored, intersect, macro_tiles));
            }
            let halves = plain.iter().map(|p| with_halves(p.clone(), stored, true));
            let halves = with_filters(halves.collect(), &antialias);
            all.extend(with_filters(plain, &antialias));
            all.extend(halves);
            let is_whole = stored == sh::MAX_DEGREE;
            let filters: &[[bool; 2]] = if is_whole { &antialias } else { &[] };
            all.extend(step_variants(in_use, stored, filters));
            all.push(write_gradients(in_use, stored));
        }
    }
    let mut unique: Vec<Program> = Vec::with_capacity(all.len());
    for program in all {
        if !unique.contains(&program) {
            unique.push(program);
        }
    }
    unique
}

/// The programs of these methods that no degree changes.
fn programs_of(intersects: &[Intersect], blends: &[Blend], backwards: &[Backward]) -> Vec<Program> {
    let mut all: Vec<Program> = sort::Plan::all().into_iter().map(sort::program).collect();
    all.extend([false, true].map(sum_pairs));
    all.push(gather_sums());
    all.push(depth_sums::program());
    for &method in intersects {
        all.push(intersect::program(method));
        all.extend(bin::SIDES.map(|side| macro_tiles::program(method, side)));
        all.extend(
            bin::MacroTiles::all()
                .into_iter()
                .map(|macro_tiles| bin::large_program(method, macro_tiles)),
        );
    }
    for &method in blends {
        all.extend([false, true].map(|count| blend(method, count, false)));
        if method.method().training == Training::Checkpointed {
            all.push(blend(method, false, true));
        }
        let mut images = Vec::new();
        for rows in [InferenceRows::Four, InferenceRows::Eight] {
            images.push(blend_inference(method, rows));
            if method.method().inverse_depth {
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
    all.extend(backwards.iter().map(|&method| blend_backward(method)));
    all.extend([false, true].map(loss::program));
    all.push(clear::program());
    all.extend(bin::MacroTiles::all().into_iter().map(bin::sort_program));
    all.push(densify::program());
    all.extend(columns::programs());
    all.push(limit_scales::program());
    all.push(photo::program());
    all.extend(ColourModel::ALL.map(colour::program));
    all.push(sky::program());
    all.extend(DepthLoss::ALL.map(depth_loss::program));
    all.push(visibility::program());
    all.extend(LensKind::ALL.map(floaters::program));
    all
}
