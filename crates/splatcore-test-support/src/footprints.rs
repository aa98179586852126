//! The splats of the conformance suite's field of footprints, and their tiles, by the portable
//! backend.

use splatcore_core::backend::RenderOptions;
use splatcore_core::pipeline::Intersect;
use splatcore_cpu::camera::KernelCamera;
use splatcore_cpu::footprint::touched;
use splatcore_cpu::project::{Output, Scene, Splat, project};
use splatcore_cpu::simd::Level;
use splatcore_reference::conformance::footprints::{self, Field, Tiles};

/// The field's Gaussians that can change a pixel, in order.
pub fn project_field(field: &Field) -> Vec<Splat> {
    let count = field.gaussians.len();
    let mut splats = vec![Splat::default(); count];
    let mut output = Output {
        splats: &mut splats,
        in_view: &mut vec![0; count],
        count: 0,
    };
    let camera = KernelCamera::new(&field.camera, &RenderOptions::default());
    let scene = Scene::new(&field.gaussians, 0);
    project(Level::Portable, scene, &camera, 0, &mut output);
    let count = output.count;
    splats.truncate(count);
    splats
}

/// As the suite takes them.
pub fn as_stored(splats: &[Splat]) -> Vec<footprints::Splat> {
    let stored = splats.iter().map(|splat| footprints::Splat {
        gaussian: splat.gaussian,
        mean: splat.mean,
        power: splat.power,
        log2_opacity: splat.log2_opacity,
        radius: splat.radius,
    });
    stored.collect()
}

/// The tiles of each splat.
pub fn tiles_of(field: &Field, splats: &[Splat], level: Level, method: Intersect) -> Tiles {
    let order: Vec<u32> = (0..splats.len() as u32).collect();
    let (mut tiles, mut counts) = (Vec::new(), Vec::new());
    touched(
        level,
        method,
        splats,
        &order,
        field.tiles,
        &mut tiles,
        &mut counts,
    );
    let mut rest = tiles.as_slice();
    let lists = counts.iter().map(|&count| {
        let (own, others) = rest.split_at(count as usize);
        rest = others;
        own.to_vec()
    });
    lists.collect()
}
