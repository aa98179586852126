//! Kernels that releases carry compiled.

use crate::device::Program;
use crate::device::machine_code::Key;
use crate::device::machine_code::archive::{Archive, Target, write};
use crate::dry_run::{DryRun, Workload};
use crate::programs;
use crate::tests::support::device::compiler;
use splatcore_core::Pipeline;
use splatcore_core::backend::RenderOptions;
use splatcore_reference::conformance::step::plan;
use std::collections::HashSet;

fn missing(carried: &HashSet<Key>, run: &DryRun) -> Vec<String> {
    let programs = run.programs().unwrap();
    let is_missing = |program: &&Program| !carried.contains(&Key::of(program).unwrap());
    let missing = programs.iter().filter(is_missing);
    missing
        .map(|program| format!("{} {:?}", program.name(), program.constants))
        .collect()
}

/// Frames and steps of the default pipeline find all their programs among those that are carried,
/// whatever the scene, the image and the options.
#[test]
fn the_default_pipeline_is_carried() {
    let programs = programs::built_in_programs();
    let carried: HashSet<Key> = programs.iter().map(|p| Key::of(p).unwrap()).collect();
    assert_eq!(carried.len(), programs.len());
    let (mut runs, mut all) = (0, Vec::new());
    for sh_degree in 0..=3 {
        for (size, gaussians) in [
            ([64, 64], 10),
            ([640, 480], 5_000),
            ([1920, 1080], 50_000),
            ([3840, 2160], 100_000),
        ] {
            for bits in 0..8 {
                let options = RenderOptions {
                    sh_degree,
                    antialias: bits & 1 != 0,
                    inverse_depth: bits & 2 != 0,
                    interpolate: bits & 4 != 0,
                    ..RenderOptions::default()
                };
                let frame = DryRun::new(Workload::Frame(options), size, gaussians);
                all.extend(missing(&carried, &frame));
                runs += 1;
            }
        }
        for antialias in [false, sh_degree == 3] {
            let mut step = plan(Pipeline::AUTO, 1, 0);
            step.render.sh_degree = sh_degree;
            step.render.antialias = antialias;
            let run = DryRun::new(Workload::Step(step), [320, 240], 500);
            all.extend(missing(&carried, &run));
            runs += 1;
        }
    }
    assert_eq!(runs, 4 * (4 * 8 + 2));
    all.sort();
    all.dedup();
    assert!(all.is_empty(), "{}", all.join("\n"));
    let published = DryRun::new(
        Workload::Frame(RenderOptions {
            pipeline: Pipeline::VANILLA,
            ..RenderOptions::default()
        }),
        [64, 64],
        10,
    );
    assert!(!missing(&carried, &published).is_empty());
}

/// What comes out of an archive is what NVRTC made.
#[test]
fn carried_code_is_what_nvrtc_makes() {
    let Some(nvrtc) = compiler() else { return };
    let mut programs = programs::built_in_programs();
    programs.retain(|program| ["clear", "densify"].contains(&program.name()));
    assert_eq!(programs.len(), 2);
    let compile = |program: &Program| {
        let key = Key::of(program).unwrap();
        (key, nvrtc.compile(program, 90).unwrap())
    };
    let codes: Vec<_> = programs.iter().map(compile).collect();
    let file = write([12, 9], &[(Target::MachineCode(90), codes.clone())]).unwrap();
    let unpacked = Archive::read(&file).unwrap().blocks[0].unpack().unwrap();
    assert_eq!(unpacked, codes.into_iter().collect());
}
