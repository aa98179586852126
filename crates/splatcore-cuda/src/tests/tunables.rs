//! Numbers that kernel text declares: every program's can be read, other values compile, and give
//! the same bits where they only divide the work in another way.

use crate::CudaBackend;
use crate::device::nvrtc::{compile, nvrtc};
use crate::device::{Program, Replacements, cubin};
use crate::ops::adam::moments::Moments;
use crate::ops::sort::Plan;
use crate::ops::{SOURCES, adam, bin, blend_backward, project, sort};
use crate::programs;
use crate::tests::support::device::{compiler, device};
use splatcore_core::backend::{Backend, RenderOptions};
use splatcore_core::pipeline::{Backward, Intersect};
use splatcore_core::{Gaussians, Pipeline};
use splatcore_reference::conformance::scenes::{plain_camera, random_scene, views};
use splatcore_reference::conformance::step::plan;
use std::sync::Arc;

#[test]
fn every_program_has_tunables_that_hold() {
    let mut found = 0;
    for program in programs::all_programs() {
        match program.tunables() {
            Ok(tunables) => found += tunables.len(),
            Err(error) => panic!("{}: {error}", program.name()),
        }
    }
    assert!(found > 500, "{found}");
}

fn small_bins() -> bin::MacroTiles {
    bin::MacroTiles::new(2, 100).unwrap()
}

fn adam() -> Program {
    adam::program(1, 1, Moments::Full, false, false)
}

/// Programs with values that none has unless a text says so.
fn changed() -> Vec<(Program, Vec<(&'static str, u32)>)> {
    let sorting = vec![
        ("BLOCK", 128),
        ("ITEMS_SMALL", 4),
        ("COUNT_BLOCK", 256),
        ("COUNT_ITEMS", 2),
    ];
    let large = bin::large_program(Intersect::Exact, small_bins());
    vec![
        (
            project::project(1, 1, Intersect::Exact),
            vec![("BLOCK", 64)],
        ),
        (large, vec![("BLOCK", 128), ("AT_ONCE", 2)]),
        (
            bin::sort_program(small_bins()),
            vec![("BLOCK", 512), ("BLOCKS", 3)],
        ),
        (sort::program(Plan::new(sort::DEPTH_BITS, 1000)), sorting),
        (blend_backward::sum_pairs(false), vec![("BLOCK", 128)]),
        (adam(), vec![("BLOCK", 96), ("BLOCKS", 8)]),
    ]
}

/// The texts of all of them.
fn replacements() -> Replacements {
    let programs: Vec<Program> = changed()
        .into_iter()
        .map(|(program, values)| program.with_tunables(&values).unwrap())
        .collect();
    let texts = programs
        .iter()
        .flat_map(|program| program.replacements.iter());
    let texts = texts.map(|(name, text)| (name.to_owned(), text.to_owned()));
    Replacements::new(texts, SOURCES).unwrap()
}

/// An image, and the scene after a step.
fn computed(backend: &CudaBackend, pipeline: Pipeline) -> (Vec<[f32; 3]>, Gaussians) {
    let scene = random_scene(5, 300, 1);
    let mut renderer = backend.renderer(&scene).unwrap();
    let options = RenderOptions {
        pipeline,
        ..RenderOptions::default()
    };
    let image = renderer
        .render(&plain_camera(60, 50), &options)
        .unwrap()
        .image
        .data;
    let mut learner = backend.learner(&scene, Arc::new(views())).unwrap();
    learner.step(&plan(pipeline, 1, 0)).unwrap();
    (image, learner.snapshot().unwrap().gaussians)
}

#[test]
fn blocks_of_other_sizes_compute_the_same() {
    let Some(device) = device() else { return };
    let built_in = CudaBackend::on(device, true).with_replacements(Replacements::default());
    let expected = computed(&built_in, Pipeline::AUTO);
    let other = built_in.with_replacements(replacements());
    assert!(computed(&other, Pipeline::AUTO) == expected);
    let texts = other.loaded_programs();
    assert!(
        texts
            .iter()
            .any(|program| program.tunable("ITEMS_SMALL") == Ok(4))
    );
}

/// Another number of lanes adds up in another order.
#[test]
fn other_batches_and_lanes_compute_nearly_the_same() {
    let Some(device) = device() else { return };
    let built_in = CudaBackend::on(device, true).with_replacements(Replacements::default());
    let (_, expected) = computed(&built_in, Pipeline::MEASURED);
    let batches = blend_backward::blend_backward(Backward::Subtile).with_tunables(&[("BATCH", 32)]);
    let lanes = blend_backward::sum_pairs(false).with_tunables(&[("LANES", 16), ("BLOCK", 64)]);
    let programs = [batches.unwrap(), lanes.unwrap()];
    let texts = programs
        .iter()
        .flat_map(|program| program.replacements.iter());
    let texts = texts.map(|(name, text)| (name.to_owned(), text.to_owned()));
    let other = built_in.with_replacements(Replacements::new(texts, SOURCES).unwrap());
    let (_, got) = computed(&other, Pipeline::MEASURED);
    let pairs = got
        .means
        .as_flattened()
        .iter()
        .zip(expected.means.as_flattened());
    let most = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    // A step moves a mean by 1.6e-4.
    assert!(most < 1e-6, "{most}");
    assert!(
        got.sh
            .iter()
            .zip(&expected.sh)
            .all(|(a, b)| (a[0] - b[0]).abs() < 1e-4)
    );
}

#[test]
fn other_values_compile() {
    if compiler().is_none() {
        return;
    }
    for (program, values) in changed() {
        let texts = program.with_tunables(&values).unwrap().replacements;
        let compiled = compile(&program, &texts, 90);
        assert!(
            compiled.is_ok(),
            "{}: {}",
            program.name(),
            compiled.unwrap_err()
        );
    }
}

/// NVRTC caps the registers of kernels without launch bounds alone.
#[test]
fn an_option_of_the_text_reaches_the_compiler() {
    if nvrtc().is_err() {
        return;
    }
    let registers = |line: &str| {
        let (name, text) = adam().root;
        let text = text.replace("__launch_bounds__(BLOCK, BLOCKS)", "");
        let texts = [(name.to_owned(), format!("{line}\n{text}"))];
        let texts = Replacements::new(texts, SOURCES).unwrap();
        let cubin = compile(&adam(), &texts, 90).unwrap().cubin;
        cubin::inspect(&cubin).unwrap()[0].registers
    };
    let (most, capped) = (registers(""), registers("// nvrtc: --maxrregcount=40"));
    assert!(capped <= 40 && most > 40, "{most}, then {capped}");
}

#[test]
fn a_text_without_what_launches_need_is_refused() {
    let Some(device) = device() else { return };
    let (name, text) = project::project(0, 0, Intersect::Exact).root;
    let text = text.replace("  // tune: 32 64 96 128", "");
    let texts = Replacements::new([(name.to_owned(), text)], SOURCES).unwrap();
    let backend = CudaBackend::on(device, true).with_replacements(texts);
    let mut renderer = backend.renderer(&random_scene(5, 20, 0)).unwrap();
    let drawn = renderer.render(&plain_camera(20, 20), &RenderOptions::default());
    assert_contains!(drawn.err().unwrap(), "project.cu declares no tunable BLOCK");
}
