//! Blend method `gemm-gs`: every batch size, lists of several batches, and what halves could break.

use crate::CudaBackend;
use crate::tests::support::device::emulator;
use splatcore_core::backend::{Backend, FrameCounts, RenderOptions, Rendered};
use splatcore_core::metrics::psnr_between;
use splatcore_core::pipeline::{Backward, Blend, Intersect};
use splatcore_core::precision::{EQUAL_QUALITY, Precision};
use splatcore_core::random::Rng;
use splatcore_core::{Camera, Gaussians, Pipeline};
use splatcore_reference::conformance::bounds::{Expected, Reference};
use splatcore_reference::conformance::scenes;

const EVERY_BATCH: [Blend; 5] = [
    Blend::GemmGs32,
    Blend::GemmGs64,
    Blend::GemmGs128,
    Blend::GemmGs,
    Blend::GemmGs512,
];
const BACKGROUND: [f32; 3] = [0.3, 0.6, 0.1];

fn options(intersect: Intersect, blend: Blend) -> RenderOptions {
    RenderOptions {
        pipeline: Pipeline {
            intersect,
            blend,
            backward: Backward::Subtile,
        },
        background: BACKGROUND,
        ..RenderOptions::default()
    }
}

/// On the emulator, its threads from the first to the last or the other way round; `None` where
/// there is none.
fn render(
    scene: &Gaussians,
    camera: &Camera,
    options: &RenderOptions,
    reversed: bool,
) -> Option<(Rendered, FrameCounts)> {
    let device = emulator()?;
    device.set_backward(reversed);
    let mut renderer = CudaBackend::on(device, true).renderer(scene).unwrap();
    let rendered = renderer.render(camera, options).unwrap();
    Some((rendered, renderer.counts(camera, options).unwrap()))
}

/// Gaussians of this size and opacity about the middle, at all depths: the tile there has all of
/// them.
fn crowd(count: usize, log_scale: f32, opacity_logit: f32) -> Gaussians {
    let mut rng = Rng::new(11, 95);
    let mut scene = scenes::random_scene(11, count, 0);
    for i in 0..count {
        scene.means[i] = [
            0.05 * rng.normal(),
            0.05 * rng.normal(),
            rng.normal().clamp(-2.0, 2.0),
        ];
        scene.log_scales[i] = [0; 3].map(|_| log_scale + 0.3 * rng.normal());
        scene.opacity_logits[i] = opacity_logit + rng.normal();
    }
    scene
}

/// Largest distance from the twin as a share of what it may be, and the number of pixels where it
/// is more.
fn against_the_bound(
    rendered: &Rendered,
    scene: &Gaussians,
    camera: &Camera,
    options: &RenderOptions,
    precision: Precision,
) -> (f64, usize) {
    let [width, height] = [camera.width, camera.height].map(|side| side as usize);
    let pixels = (0..width * height)
        .map(|i| [i % width, i / width])
        .collect();
    let expected = Reference::new(scene, camera, options)
        .pixels(precision, pixels)
        .pixels;
    let bound = |expected: &Expected, k: usize| expected.rounding[k] + expected.cut_offs[k] + 1e-6;
    let (mut largest, mut beyond) = (0.0f64, 0);
    assert_eq!(rendered.image.data.len(), expected.len());
    for (i, (pixel, (_, expected))) in rendered.image.data.iter().zip(expected).enumerate() {
        let colours = pixel.iter().zip(expected.colour);
        let errors = colours.map(|(got, want)| (*got as f64 - want).abs() / bound(&expected, 0));
        let error =
            (rendered.transmittance[i] as f64 - expected.transmittance).abs() / bound(&expected, 1);
        let shares: Vec<f64> = errors.chain([error]).collect();
        // Not-a-number is beyond every bound, and a bound that is none forgives nothing.
        beyond += usize::from(!shares.iter().all(|&share| share <= 1.0));
        largest = shares.into_iter().fold(largest, f64::max);
    }
    (largest, beyond)
}

/// A pixel's fragments come in the same order with the same exponents, whatever the batch.
#[test]
fn batches_of_all_sizes_make_the_same_image() {
    let long = crowd(1300, -2.0, -4.5);
    let stopping = crowd(700, -1.5, -3.0);
    let camera = scenes::plain_camera(70, 50);
    for (scene, name) in [(&long, "long lists"), (&stopping, "pixels that stop")] {
        for intersect in [Intersect::Aabb, Intersect::Exact] {
            let run =
                |blend, reversed| render(scene, &camera, &options(intersect, blend), reversed);
            let Some(first) = run(Blend::GemmGs, false) else {
                return;
            };
            for blend in EVERY_BATCH {
                let other = run(blend, true).unwrap();
                assert!(first == other, "{name}, {intersect}+{blend}");
            }
            let background = |pixel: &&[f32; 3]| **pixel == BACKGROUND;
            assert!(
                first.0.image.data.iter().filter(background).count() > 256,
                "{name}: no empty tile"
            );
        }
    }
    // That is what the scenes are called.
    let tile = Camera {
        width: 16,
        height: 16,
        cx: 8.0,
        cy: 8.0,
        ..camera
    };
    let share = |scene| {
        let counts = render(
            scene,
            &tile,
            &options(Intersect::Exact, Blend::GemmGs),
            false,
        )
        .unwrap()
        .1;
        assert!(counts.pairs > 2 * 256, "{counts:?}");
        counts.fragments_evaluated.unwrap() as f64 / (256 * counts.pairs) as f64
    };
    let (long, stopping) = (share(&long), share(&stopping));
    assert!(long > 0.9, "{long} of the fragments evaluated");
    assert!(
        (0.2..0.8).contains(&stopping),
        "{stopping} of the fragments evaluated"
    );
}

#[test]
fn images_are_as_close_as_halves_allow() {
    let cases = [
        (
            "long lists",
            crowd(1300, -2.0, -4.5),
            scenes::plain_camera(37, 29),
        ),
        (
            "pixels that stop",
            crowd(700, -1.5, -3.0),
            scenes::plain_camera(37, 29),
        ),
        (
            "random",
            scenes::random_scene(5, 900, 1),
            scenes::odd_camera(61, 45, 0.4),
        ),
    ];
    for (name, scene, camera) in &cases {
        for intersect in [Intersect::Aabb, Intersect::Exact] {
            let ours = options(intersect, Blend::GemmGs);
            let Some((rendered, counts)) = render(scene, camera, &ours, false) else {
                return;
            };
            let judge = |precision| against_the_bound(&rendered, scene, camera, &ours, precision);
            let (largest, beyond) = judge(Blend::GemmGs.precision());
            let (scalar, scalar_counts) =
                render(scene, camera, &options(intersect, Blend::Scalar), false).unwrap();
            let psnr = psnr_between(&rendered.image, &scalar.image);
            eprintln!("{name}, {intersect}: {largest:.2} of the bound, {psnr:.1} dB");
            assert_eq!(beyond, 0, "{name}, {intersect}: {largest} of the bound");
            assert!(psnr >= EQUAL_QUALITY, "{name}, {intersect}: {psnr} dB");
            // The bound is of halves: it does not forgive everything, and f32's does not forgive
            // this.
            assert!(
                largest > 0.02,
                "{name}, {intersect}: only {largest} of the bound"
            );
            assert!(
                judge(Precision::Single).1 > 0,
                "{name}, {intersect}: no half was rounded"
            );
            // Only what is at a cut-off is counted otherwise.
            let apart = |a: u64, b: u64| a.abs_diff(b) as f64 / b as f64;
            assert_eq!(counts.pairs, scalar_counts.pairs);
            let evaluated = apart(
                counts.fragments_evaluated.unwrap(),
                scalar_counts.fragments_evaluated.unwrap(),
            );
            let blended = apart(
                counts.fragments_blended.unwrap(),
                scalar_counts.fragments_blended.unwrap(),
            );
            assert!(
                evaluated < 1e-3 && blended < 1e-3,
                "{counts:?}, scalar {scalar_counts:?}"
            );
        }
    }
}

/// Needles in an image's diagonals and a wide image's columns, in tiles that only the square of
/// three sigma reaches: there the constant coefficient is beyond what a half can hold, in the wide
/// image the linear ones as well, and minus infinity and infinity make not-a-number. None of it may
/// show.
#[test]
fn overflowing_coefficients_are_nothing() {
    let diagonals = |i: usize| {
        let turn = if i.is_multiple_of(2) { 0.25f32 } else { -0.25 } * std::f32::consts::PI
            + 0.02 * i as f32;
        (
            turn,
            0.5,
            [0.1 * i as f32, -0.05 * i as f32, 0.1 * i as f32],
        )
    };
    let columns = |i: usize| {
        (
            0.5 * std::f32::consts::PI,
            0.8,
            [0.3 * i as f32 - 1.9, 0.0, 0.0],
        )
    };
    let cases: [(_, _, &dyn Fn(usize) -> _, _); 2] = [
        ("diagonals", [330, 330], &diagonals, [65520.0, 0.0]),
        ("columns", [30_000, 16], &columns, [65520.0, 65520.0]),
    ];
    for (name, [width, height], needle, least) in cases {
        let camera = scenes::plain_camera(width, height);
        let mut scene = scenes::random_scene(6, 8, 0);
        for i in 0..scene.len() {
            let (turn, log_scale, mean) = needle(i);
            scene.means[i] = mean;
            scene.log_scales[i] = [log_scale, -14.0, -14.0];
            scene.rotations[i] = [(0.5 * turn).cos(), 0.0, 0.0, (0.5 * turn).sin()];
            scene.opacity_logits[i] = [2.0, 9.0][i / 4];
        }
        let ours = options(Intersect::Aabb, Blend::GemmGs);
        let largest = largest_coefficients(&scene, &camera, &ours);
        assert!(
            (0..2).all(|k| largest[k] > least[k]),
            "{name}: {largest:?} fit in a half"
        );
        let Some((rendered, counts)) = render(&scene, &camera, &ours, false) else {
            return;
        };
        let tiles = (width.div_ceil(16) * height.div_ceil(16)) as u64;
        assert!(counts.pairs > 4 * tiles, "{name}: {counts:?}");
        let precision = Blend::GemmGs.precision();
        let (share, beyond) = against_the_bound(&rendered, &scene, &camera, &ours, precision);
        eprintln!("{name}: {share:.2} of the bound, coefficients up to {largest:.0?}");
        assert_eq!(beyond, 0, "{name}: {share} of the bound");
        let drawn = rendered
            .image
            .data
            .iter()
            .filter(|pixel| **pixel != BACKGROUND);
        assert!(drawn.count() > 200, "{name}: nothing to see");
    }
}

/// The largest constant and linear coefficients about the centres of the image's four corner tiles.
fn largest_coefficients(scene: &Gaussians, camera: &Camera, options: &RenderOptions) -> [f64; 2] {
    let mut largest = [0.0f64; 2];
    for splat in splatcore_reference::twin::visible_splats(&scene.into(), camera, options) {
        let [a, b, c] = splat.conic.map(|v| v * std::f64::consts::LOG2_E);
        for x in [8.0, camera.width as f64 - 8.0] {
            for y in [8.0, camera.height as f64 - 8.0] {
                let [dx, dy] = [splat.mean[0] - x, splat.mean[1] - y];
                largest[0] = largest[0].max(0.5 * a * dx * dx + b * dx * dy + 0.5 * c * dy * dy);
                largest[1] = largest[1].max((a * dx + b * dy).abs());
            }
        }
    }
    largest
}

#[test]
fn nothing_leaves_the_background() {
    let camera = scenes::odd_camera(33, 17, 0.2);
    let empty = Gaussians::empty(0);
    let Some((rendered, counts)) = render(
        &empty,
        &camera,
        &options(Intersect::Aabb, Blend::GemmGs),
        false,
    ) else {
        return;
    };
    assert!(rendered.image.data.iter().all(|pixel| *pixel == BACKGROUND));
    assert!(rendered.transmittance.iter().all(|&t| t == 1.0));
    assert_eq!(
        (
            counts.pairs,
            counts.fragments_evaluated.unwrap(),
            counts.fragments_blended.unwrap()
        ),
        (0, 0, 0)
    );
}
