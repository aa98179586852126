//! The literal blend: the image and the counts of `scalar`, and the contributors of each pixel.

use crate::CudaBackend;
use crate::device::Buffer;
use crate::device::queue::Queue;
use crate::ops::blend::{BLEND_BLOCK, BlendParams, blend, launch};
use crate::ops::camera::KernelCamera;
use crate::ops::counters::Counters;
use crate::tests::support::device::device;
use bytemuck::Zeroable;
use splatcore_core::backend::{Backend, RenderOptions};
use splatcore_core::metrics::psnr_between;
use splatcore_core::pipeline::Blend;
use splatcore_reference::conformance::scenes::{plain_camera, random_scene};

#[test]
fn the_literal_blend_is_scalar() {
    let Some(device) = device() else { return };
    let backend = CudaBackend::on(device, true);
    let (scene, camera) = (random_scene(11, 400, 1), plain_camera(70, 50));
    let mut renderer = backend.renderer(&scene).unwrap();
    let mut of = |name: &str| {
        let options = RenderOptions {
            pipeline: name.parse().unwrap(),
            background: [0.3, 0.6, 0.1],
            ..RenderOptions::default()
        };
        let image = renderer.render(&camera, &options).unwrap().image;
        (image, renderer.counts(&camera, &options).unwrap())
    };
    let ((scalar, by_scalar), (literal, by_literal)) = (of("aabb+scalar"), of("aabb+literal"));
    let psnr = psnr_between(&scalar, &literal);
    assert!(psnr > 90.0, "{psnr} dB");
    assert_eq!(by_literal.pairs, by_scalar.pairs);
    for (ours, theirs) in [
        (
            by_literal.fragments_evaluated,
            by_scalar.fragments_evaluated,
        ),
        (by_literal.fragments_blended, by_scalar.fragments_blended),
    ] {
        let (ours, theirs) = (ours.unwrap(), theirs.unwrap());
        assert!(theirs > 10_000, "{theirs}");
        // Roundings at a threshold.
        assert!(ours.abs_diff(theirs) <= theirs / 1000, "{ours}, {theirs}");
    }
}

/// A splat as kernels read it: a disc about a pixel's centre, without a seen edge.
fn splat(x: f32, y: f32, opacity: f32) -> [f32; 12] {
    let reach = -0.002;
    [
        x,
        y,
        opacity.log2(),
        0.0,
        reach,
        0.0,
        reach,
        9.0,
        1.0,
        0.5,
        0.25,
        0.0,
    ]
}

#[test]
fn a_pixel_tells_its_last_contributor() {
    let Some(device) = device() else { return };
    let camera = plain_camera(16, 16);
    let put = |name, words: &[u32]| Buffer::from_slice(&device, name, words).unwrap();
    // The second is too faint to be blended. Of four opaque ones the second leaves 1e-4 and is
    // blended or not by its rounding; the third is not.
    let splats = [
        splat(8.5, 8.5, 0.5),
        splat(8.5, 8.5, 0.003),
        splat(8.5, 8.5, 0.9),
    ];
    let stopping = [splat(8.5, 8.5, 0.99); 4];
    for (splats, expected) in [
        (&splats[..], 3..=3),
        (&splats[..2], 1..=1),
        (&stopping[..], 1..=2),
    ] {
        let rows = Buffer::from_slice(&device, "splats", splats.as_flattened()).unwrap();
        let count = splats.len() as u32;
        let pairs = put("pairs", &(0..count).collect::<Vec<u32>>());
        let ranges = put("ranges", &[!0, count]);
        let counters = Buffer::from_slice(&device, "counters", &[Counters::zeroed()]).unwrap();
        let image = put("image", &[0; 3 * 256]);
        let (transmittances, stops) = (put("transmittances", &[0; 256]), put("stops", &[7; 256]));
        let params = BlendParams {
            splats: rows.address(),
            pairs: pairs.address(),
            ranges: ranges.address(),
            camera: KernelCamera::new(&camera, &RenderOptions::default()),
            counters: counters.address(),
            image: image.address(),
            transmittances: transmittances.address(),
            stops: stops.address(),
            ..BlendParams::zeroed()
        };
        let kernel = device.load(&blend(Blend::Literal, false, false)).unwrap()[0];
        launch(&Queue::new(device.clone()), kernel, 1, &params).unwrap();
        let stops: Vec<u32> = stops.to_vec(BLEND_BLOCK as usize).unwrap();
        assert!(
            expected.contains(&stops[8 * 16 + 8]),
            "{expected:?}: {stops:?}"
        );
    }
}
