//! Tests of a scene on the device.

use super::*;
use crate::device::emulated::Emulated;
use crate::device::queue::Queue;
use crate::device::{Allocations, Kernels};
use crate::ops::counters::Counters;
use crate::tests::support::device::{emulated, emulator};
use splatcore_core::metrics::psnr_between;
use splatcore_core::{Backend, Image, Pipeline};
use splatcore_cpu::CpuBackend;
use splatcore_reference::conformance::scenes::{plain_camera, random_scene};
use std::sync::Arc;

/// Vanilla has a pair for every tile of a square; what an image's sorts are launched for grew
/// with them.
#[test]
fn images_make_no_room_for_the_pairs_of_another_pipeline() {
    let Some(device) = emulated() else {
        return;
    };
    let kernels = Arc::new(Kernels::new(device.clone()));
    let passes = Passes::new(Queue::new(device), kernels, false).unwrap();
    let mut renderer = CudaRenderer::new(&random_scene(17, 200, 0), passes, false, false).unwrap();
    let (camera, image) = (plain_camera(90, 70), RenderOptions::default());
    let vanilla = RenderOptions {
        pipeline: Pipeline::VANILLA,
        ..image.clone()
    };
    let mut wanted = 0;
    for options in [&image, &vanilla, &image] {
        renderer.render_only(&camera, options).unwrap();
        renderer.finish().unwrap();
        if options.pipeline == vanilla.pipeline {
            let counters = renderer.passes.counters().unwrap();
            assert!(
                counters.needed as usize > 2 * wanted,
                "{} pairs",
                counters.needed
            );
        } else {
            wanted = wanted.max(renderer.passes.inference.binned.most_pairs);
            assert_eq!(renderer.passes.counters().unwrap().pairs as usize, wanted);
        }
    }
    assert!(wanted > 200);
}

/// Random Gaussians, one in ten of which is large.
fn some_large(count: usize) -> Gaussians {
    let mut scene = random_scene(23, count, 1);
    for scales in scene.log_scales.iter_mut().step_by(10) {
        *scales = scales.map(|scale| scale + 1.5);
    }
    scene
}

/// A renderer of random Gaussians on an emulator of its own, and that emulator.
fn random_renderer(count: usize) -> Option<(CudaRenderer, Arc<Emulated>)> {
    let device = emulator()?;
    let kernels = Arc::new(Kernels::new(device.clone()));
    let passes = Passes::new(Queue::new(device.clone()), kernels, false).unwrap();
    let scene = some_large(count);
    Some((
        CudaRenderer::new(&scene, passes, false, false).unwrap(),
        device,
    ))
}

/// The sizes of an image with small macro-tiles of tiles and of one with large ones, and from
/// how many pixels on those are used.
const IMAGES: [([u32; 2], usize); 2] = [([200, 150], usize::MAX), ([400, 300], 0)];

#[test]
fn pairs_that_are_binned_give_the_image_of_those_that_are_sorted() {
    // The last one has so many macro-tiles that fewer blocks fit a multiprocessor.
    for ([width, height], large) in IMAGES.into_iter().chain([([77_000, 20], usize::MAX)]) {
        let Some((mut renderer, _)) = random_renderer(3000) else {
            return;
        };
        let camera = plain_camera(width, height);
        // Only lists that were binned are interpolated.
        let options = RenderOptions {
            pipeline: "exact+splatcore".parse().unwrap(),
            ..RenderOptions::default()
        };
        renderer.passes.inference.large_image = large;
        let binned = renderer.render(&camera, &options).unwrap();
        assert!(renderer.passes.inference.binned.last.is_some());
        renderer.passes.inference.binned.cannot_bin = true;
        let sorted = renderer.render(&camera, &options).unwrap();
        assert!(renderer.passes.inference.binned.last.is_none());
        assert_eq!(binned, sorted);
    }
}

#[test]
fn lists_and_the_queue_grow() {
    for ([width, height], large) in IMAGES {
        let Some((mut renderer, _)) = random_renderer(3000) else {
            return;
        };
        let (camera, options) = (plain_camera(width, height), RenderOptions::default());
        renderer.passes.inference.large_image = large;
        let wanted = renderer.render(&camera, &options).unwrap();
        let counters = renderer.passes.counters().unwrap();
        assert!(counters.longest > 40 && counters.large > 40, "{counters:?}");
        for [list_room, large_room] in [[1, 3000], [4096, 1], [17, 40]] {
            (
                renderer.passes.inference.binned.room,
                renderer.passes.inference.binned.large_room,
            ) = (list_room, large_room);
            // What is not waited for is checked in the end.
            for _ in 0..3 {
                renderer.render_only(&camera, &options).unwrap();
            }
            // The queue has room for an entry a Gaussian at least.
            let fits = list_room >= counters.longest as usize;
            assert_eq!(renderer.finish().unwrap(), fits, "{list_room}");
            renderer.render_only(&camera, &options).unwrap();
            assert!(renderer.finish().unwrap(), "there is room now");
            let room = [
                renderer.passes.inference.binned.room,
                renderer.passes.inference.binned.large_room,
            ];
            assert!(room[0] >= counters.longest as usize && room[1] >= counters.large as usize);
            assert_eq!(
                renderer.render(&camera, &options).unwrap().image,
                wanted.image
            );
        }
    }
}

#[test]
fn without_memory_for_it_nothing_is_dealt() {
    let Some((mut renderer, device)) = random_renderer(3000) else {
        return;
    };
    let (camera, options) = (plain_camera(200, 150), RenderOptions::default());
    renderer.passes.inference.binned.cannot_bin = true;
    let wanted = renderer.render(&camera, &options).unwrap();
    renderer.passes.inference.binned.cannot_bin = false;
    let (free, total) = device.memory();
    device.set_memory_limit(total - free + 1000);
    assert_eq!(
        renderer.render(&camera, &options).unwrap().image,
        wanted.image
    );
    assert!(
        renderer.passes.inference.binned.cannot_bin
            && renderer.passes.inference.binned.last.is_none()
    );
}

/// Lists that are too long to be binned are sorted.
#[test]
fn lists_may_be_too_long_to_be_binned() {
    let Some((mut renderer, _)) = random_renderer(300) else {
        return;
    };
    let (camera, options) = (plain_camera(90, 70), RenderOptions::default());
    let wanted = renderer.render(&camera, &options).unwrap();
    let overflowed_by = |longest| Counters {
        overflowed: 1,
        longest,
        ..Counters::default()
    };
    renderer.passes.make_room(&overflowed_by(60_000)).unwrap();
    assert_eq!(
        renderer.render(&camera, &options).unwrap().image,
        wanted.image
    );
    assert!(renderer.passes.inference.binned.last.is_some());
    renderer.passes.make_room(&overflowed_by(70_000)).unwrap();
    let sorted = renderer.render(&camera, &options).unwrap();
    assert!(renderer.passes.inference.binned.last.is_none());
    assert!(psnr_between(&wanted.image, &sorted.image) > 70.0);
}

/// Gaussians in no order are rendered in another; gradients are those of the scene all the
/// same.
#[test]
fn a_scene_in_no_order_is_rendered_and_learned_from_as_any_other() {
    let Some((mut renderer, _)) = random_renderer(20_000) else {
        return;
    };
    assert!(renderer.order.is_some());
    let scene = some_large(20_000);
    let (camera, options) = (plain_camera(60, 40), RenderOptions::default());
    let mut on_cpu = CpuBackend::new(None).renderer(&scene).unwrap();
    let [here, there] = [
        renderer.render(&camera, &options).unwrap(),
        on_cpu.render(&camera, &options).unwrap(),
    ];
    let psnr = psnr_between(&here.image, &there.image);
    assert!(psnr > 60.0, "{psnr} dB");
    let gradient = Image::filled(60, 40, [1.0, 0.5, 0.25]);
    let [here, there] = [
        renderer
            .gradients(&camera, &options, &gradient.clone().into())
            .unwrap(),
        on_cpu
            .gradients(&camera, &options, &gradient.clone().into())
            .unwrap(),
    ];
    let norm = |values: &[f32]| {
        values
            .iter()
            .map(|v| f64::from(*v).powi(2))
            .sum::<f64>()
            .sqrt()
    };
    for (here, there) in state::flat(&here).into_iter().zip(state::flat(&there)) {
        let difference: Vec<f32> = here.iter().zip(there).map(|(a, b)| a - b).collect();
        let (off, all) = (norm(&difference), norm(there));
        assert!(all > 0.0 && off < 1e-2 * all, "off by {off} of {all}");
    }
}

/// Also after an image of another size, whose memory is used again.
#[test]
fn bytes_are_those_of_the_image() {
    let Some((mut renderer, _)) = random_renderer(200) else {
        return;
    };
    let options = RenderOptions {
        background: [0.2, 1.0, -0.1],
        ..RenderOptions::default()
    };
    for (width, height) in [(90, 70), (33, 21), (300, 100)] {
        let camera = plain_camera(width, height);
        let bytes = renderer.render_bytes(&camera, &options).unwrap();
        let image = renderer.render(&camera, &options).unwrap().image;
        assert!(bytes == image.to_bytes(), "{width}x{height}");
    }
}
