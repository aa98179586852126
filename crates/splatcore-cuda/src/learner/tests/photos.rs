//! Photos that do not fit on the device come through the ring, and change nothing.

use crate::device::Device;
use crate::learner::Photos;
use crate::tests::support::device::emulator;
use crate::tests::support::watched::{Watched, view};
use splatcore_core::backend::Backend;
use splatcore_core::{Pipeline, View};
use splatcore_reference::conformance::determinism::state_bits;
use splatcore_reference::conformance::photos_elsewhere::elsewhere;
use splatcore_reference::conformance::scenes::{odd_camera, random_scene};
use splatcore_reference::conformance::step::plan;
use std::sync::Arc;

/// Views of different sizes, every third one with a mask, every fifth with alpha; more than the
/// ring has places.
fn views(count: usize, masks: bool) -> Arc<Vec<View>> {
    let size = |i: usize| [[48, 36], [17, 53], [64, 40], [1, 9]][i % 4];
    let all = (0..count).map(|i| {
        let [width, height] = size(i);
        let mut view = view(
            odd_camera(width, height, 0.3 * i as f64),
            masks && i % 3 == 1,
        );
        let alpha = || {
            (0..width * height)
                .map(|pixel| (pixel * 3 + i as u32) as u8)
                .collect()
        };
        view.photo.alpha = (masks && i % 5 == 4).then(alpha);
        view
    });
    Arc::new(all.collect())
}

#[test]
fn the_ring_holds_what_resident_photos_hold() {
    let Some(watched) = Watched::new() else {
        return;
    };
    let device: Arc<dyn Device> = watched.clone();
    let views = views(7, true);
    let mut ring = Photos::new(&device, views.clone(), 0.0).unwrap();
    let mut resident = Photos::new(&device, views.clone(), 1.0).unwrap();
    assert!(resident.resident() && !ring.resident());
    let all: usize = views.iter().map(|view| view.photo.rgb.len()).sum();
    assert!(resident.bytes() >= all as u64 && ring.bytes() < resident.bytes());
    let read = |address: u64, bytes: usize| {
        let mut data = vec![0u8; bytes];
        // SAFETY: the photos own what they gave.
        unsafe { device.download(&mut data, address) }.unwrap();
        data
    };
    for index in [0, 1, 2, 3, 4, 4, 4, 6, 0, 5, 1, 4] {
        let photo = &views[index].photo;
        for photos in [&mut ring, &mut resident] {
            let there = photos.bring(index).unwrap();
            assert_eq!(read(there.rgb, photo.rgb.len()), photo.rgb, "photo {index}");
            assert_eq!(there.counted, photo.counted_pixels() as u64);
            match &photo.mask {
                Some(mask) => assert_eq!(read(there.mask, mask.len()), *mask, "mask {index}"),
                None => assert_eq!(there.mask, 0),
            }
            match &photo.alpha {
                Some(alpha) => assert_eq!(read(there.alpha, alpha.len()), *alpha, "alpha {index}"),
                None => assert_eq!(there.alpha, 0),
            }
            photos.used().unwrap();
        }
    }
    drop((ring, resident));
    let watch = watched.watch();
    assert_eq!(
        (watch.bytes, watch.events),
        (0, 0),
        "something was not given back"
    );
}

#[test]
fn training_through_the_ring_gives_the_same_bits() {
    for masks in [false, true] {
        let Some(emulated) = emulator() else { return };
        let watched = Watched::on(emulated.clone());
        let views = views(160, masks);
        let scene = random_scene(31, 60, 1);
        let train = |views: &Arc<Vec<View>>| {
            let mut learner = watched.backend().learner(&scene, views.clone()).unwrap();
            // Some twice in a row, and once around.
            for step in 1..=14 {
                let view = step as usize * step as usize / 2 % views.len();
                let mut plan = plan(Pipeline::AUTO, step, view);
                plan.scale = [1, 2, 4][step as usize % 3];
                plan.render.background = [0.2, 0.4, 0.6];
                learner.step(&plan).unwrap();
            }
            let loss = learner.last_loss().unwrap();
            (state_bits(&learner.snapshot().unwrap()), loss.to_bits())
        };
        let resident = train(&views);
        // The learner's view of the counters and of the refinements' numbers.
        let before = watched.watch().pinned;
        assert_eq!(before, 2);
        // Photos may take 0.4 of what is free.
        let photos: usize = views.iter().map(|view| view.photo.bytes()).sum();
        emulated.set_memory_limit((photos as f64 / 0.45) as u64);
        let streamed = train(&views);
        assert!(
            watched.watch().pinned > 2 * before,
            "the photos were not streamed"
        );
        assert!(resident == streamed, "masks {masks}");
        let elsewhere = Arc::new(elsewhere(&views).0);
        let as_needed = train(&elsewhere);
        assert!(resident == as_needed, "read as needed, masks {masks}");
        emulated.set_memory_limit(1 << 36);
        assert!(resident == train(&elsewhere), "read once, masks {masks}");
    }
}
