//! TC-GS's blends: `early-cull`, `frag2mat`, `tc-gs`, `tc-gs-half` and the two without local
//! coordinates, against the CPU's image in f32.
//!
//! What bounds a pixel's error is in `bounds`.

mod bounds;
mod released;

use crate::CudaBackend;
use crate::tests::support::device::device;
use crate::tests::support::half::through_half;
use bounds::{ROUNDED, bounds};
use splatcore_core::backend::{Backend, FrameCounts, RenderOptions};
use splatcore_core::gaussians::logit;
use splatcore_core::metrics::psnr_between;
use splatcore_core::pipeline::{Backward, Blend, Intersect};
use splatcore_core::random::Rng;
use splatcore_core::semantics::ALPHA_MIN;
use splatcore_core::{Camera, Gaussians, Image, Pipeline, sh};
use splatcore_cpu::CpuBackend;
use splatcore_reference::conformance::scenes::{odd_camera, plain_camera, random_scene};

fn backend() -> Option<CudaBackend> {
    Some(CudaBackend::on(device()?, true))
}

fn options(intersect: Intersect, blend: Blend) -> RenderOptions {
    RenderOptions {
        pipeline: Pipeline {
            intersect,
            blend,
            backward: Backward::Subtile,
        },
        background: [0.3, 0.6, 0.1],
        ..RenderOptions::default()
    }
}

fn render(
    backend: &dyn Backend,
    scene: &Gaussians,
    camera: &Camera,
    options: &RenderOptions,
) -> Image {
    let mut renderer = backend.renderer(scene).unwrap();
    renderer.render(camera, options).unwrap().image
}

fn counts(backend: &CudaBackend, scene: &Gaussians, camera: &Camera, blend: Blend) -> FrameCounts {
    let mut renderer = backend.renderer(scene).unwrap();
    renderer
        .counts(camera, &options(Intersect::Exact, blend))
        .unwrap()
}

/// Methods in local coordinates, with the relative error of a transmittance as they keep it, and
/// with the PSNR that they keep where Gaussians are of all shapes and where halves are bad at them.
/// Roundings of T alone leave 50 dB, as `splatcore_core::precision` derives: with 60 and 45 dB of
/// the others that makes 49.5 and 43.8.
const LOCAL: [(Blend, f64, [f64; 2]); 3] = [
    (Blend::TcGs, 0.0, [60.0, 45.0]),
    (Blend::Frag2Mat, 0.0, [60.0, 45.0]),
    (Blend::TcGsHalf, ROUNDED, [49.5, 43.5]),
];

/// Largest difference of a channel, pixel by pixel; infinite where one is not a number.
fn differences(a: &Image, b: &Image) -> Vec<f64> {
    let of = |a: f32, b: f32| match (a - b).abs() as f64 {
        off if off.is_nan() => f64::INFINITY,
        off => off,
    };
    let pixels = a.data.iter().zip(&b.data);
    pixels
        .map(|(a, b)| (0..3).map(|c| of(a[c], b[c])).fold(0.0, f64::max))
        .collect()
}

/// Pixels beyond their bound.
fn beyond(differences: &[f64], bounds: &[f64]) -> usize {
    let pairs = differences.iter().zip(bounds);
    pairs
        .filter(|(difference, bound)| difference > bound)
        .count()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Wider bounds would prove nothing. Roundings of T alone make `kept` times the sum of T over a
/// pixel's fragments, which is below 16 on average in these scenes.
fn assert_narrow(bounds: &[f64], kept: f64) {
    let mean = mean(bounds);
    assert!(mean < 0.01 + 16.0 * kept, "{mean}");
}

fn largest(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

/// Some hundred Gaussians of all shapes on 9 x 5 tiles.
fn random_case(seed: u64) -> (Gaussians, Camera) {
    (
        random_scene(seed, 400, 1),
        odd_camera(130, 70, 0.4 * seed as f64),
    )
}

/// Gaussians that halves are bad at, among others that they hide or shine through.
fn breakers() -> Vec<(&'static str, Gaussians, Camera)> {
    let mut rng = Rng::new(12, 97);
    let camera = plain_camera(200, 120);
    let mut with = |name, count: usize, change: &dyn Fn(&mut Gaussians, usize, &mut Rng)| {
        let mut scene = random_scene(31, 150, 0);
        for i in 0..count {
            change(&mut scene, i, &mut rng);
        }
        (name, scene, camera.clone())
    };
    vec![
        with("far outside the tile", 20, &|scene, i, rng| {
            // Centres up to a thousand pixels beside the image, tails inside.
            scene.means[i] = [6.0 + 10.0 * rng.uniform(), 4.0 * rng.normal(), 1.0];
            scene.log_scales[i] = [1.2; 3];
            scene.opacity_logits[i] = logit(0.9);
        }),
        with("needles", 20, &|scene, i, rng| {
            // Hundreds of pixels long, thinner than the low pass, at every angle.
            let angle = 0.157 * i as f32;
            scene.means[i] = [0.5 * rng.normal(), 0.5 * rng.normal(), 0.1 * i as f32];
            scene.log_scales[i] = [1.0, -8.0, -8.0];
            scene.rotations[i] = [angle.cos(), 0.0, 0.0, angle.sin()];
            scene.opacity_logits[i] = logit(0.8);
        }),
        with("whole image", 20, &|scene, i, rng| {
            scene.means[i] = [rng.normal(), rng.normal(), 0.2 * i as f32];
            scene.log_scales[i] = [2.0 + 0.1 * i as f32; 3];
            scene.opacity_logits[i] = logit(0.15);
        }),
        with("opacity 1/255", 150, &|scene, i, _| {
            scene.opacity_logits[i] = logit((1.0 + 0.01 * (i % 3) as f32) / 255.0);
            scene.log_scales[i] = [-1.0; 3];
        }),
        with("opacity 0.99", 150, &|scene, i, _| {
            scene.opacity_logits[i] = logit(0.985 + 0.005 * (i % 3) as f32);
        }),
        with("depth ties", 150, &|scene, i, rng| {
            scene.means[i][2] = 0.5 * (i % 2) as f32;
            scene.sh[i] = [0; 3].map(|_| sh::from_colour(rng.uniform()));
        }),
    ]
}

/// Holds a scene's images by each of [`LOCAL`] to their bounds, and to one of its PSNRs.
fn keeps_the_image(name: &str, (scene, camera): &(Gaussians, Camera), which: usize) {
    let Some(ours) = backend() else { return };
    let cpu = CpuBackend::new(None);
    for intersect in [Intersect::Exact, Intersect::Aabb] {
        let scalar = options(intersect, Blend::Scalar);
        let reference = render(&cpu, scene, camera, &scalar);
        let [exact, rounded] = [0.0, ROUNDED].map(|kept| {
            let bounds = bounds(scene, camera, &scalar, true, kept);
            assert_narrow(&bounds, kept);
            bounds
        });
        for (blend, kept, least) in LOCAL {
            let bounds = if kept == 0.0 { &exact } else { &rounded };
            let image = render(&ours, scene, camera, &options(intersect, blend));
            let psnr = psnr_between(&reference, &image);
            let off = differences(&reference, &image);
            eprintln!(
                "{name} {intersect}+{blend}: {psnr:.1} dB, off by {:.1e} at most, {:.1e} on \
                 average; allowed {:.1e}, {:.1e}",
                largest(&off),
                mean(&off),
                largest(bounds),
                mean(bounds)
            );
            assert_eq!(beyond(&off, bounds), 0, "{name}, {intersect}+{blend}");
            assert!(
                psnr > least[which],
                "{name}, {intersect}+{blend}: {psnr} dB"
            );
        }
    }
}

/// Random roundings of beta by 2^-12 or so of terms about 10 are errors of alpha of 1e-3 or so, of
/// which a pixel's fragments average out most: 70 dB. The authors' code reaches 47 to 60 on models
/// of a million Gaussians, which are thinner.
#[test]
fn halves_in_local_coordinates_keep_the_image() {
    for seed in [1, 2, 3] {
        keeps_the_image(&format!("scene {seed}"), &random_case(seed), 0);
    }
}

#[test]
fn what_breaks_halves_stays_within_its_bounds() {
    for (name, scene, camera) in breakers() {
        keeps_the_image(name, &(scene, camera), 1);
    }
}

/// The paper's table 6: without local coordinates the same kernel loses the image, in half
/// precision all but the corner in which the squares of coordinates can be halves.
#[test]
fn global_coordinates_lose_the_image() {
    let Some(ours) = backend() else { return };
    let cpu = CpuBackend::new(None);
    let scene = random_scene(5, 400, 1);
    let camera = odd_camera(600, 48, 0.4);
    let scalar = options(Intersect::Exact, Blend::Scalar);
    let reference = render(&cpu, &scene, &camera, &scalar);
    let psnr = |blend| {
        let image = render(&ours, &scene, &camera, &options(Intersect::Exact, blend));
        assert!(
            image.data.iter().flatten().all(|v| v.is_finite()),
            "{blend}"
        );
        let found = psnr_between(&reference, &image);
        let beyond = beyond(
            &differences(&reference, &image),
            &bounds(&scene, &camera, &scalar, true, 0.0),
        );
        eprintln!("{blend}: {found:.1} dB, {beyond} pixels beyond what local coordinates allow");
        (found, beyond)
    };
    let (half, tf32) = (psnr(Blend::TcGsGlobalFp16), psnr(Blend::TcGsGlobalTf32));
    assert!(half.0 < 30.0 && tf32.0 < 30.0, "{half:?}, {tf32:?}");
    assert!(half.1 > 1000 && tf32.1 > 1000, "{half:?}, {tf32:?}");
    assert!(psnr(Blend::TcGs).0 > 60.0);
    // From column 256 on a square overflows to infinity: nothing is blended.
    let image = render(
        &ours,
        &scene,
        &camera,
        &options(Intersect::Exact, Blend::TcGsGlobalFp16),
    );
    let right = |(i, _): &(usize, &[f32; 3])| i % 600 >= 256;
    assert!(
        image
            .data
            .iter()
            .enumerate()
            .filter(right)
            .all(|(_, p)| *p == scalar.background)
    );
}

/// That the two lose it for want of digits alone: they keep their own bounds, which are narrow
/// where coordinates are small.
#[test]
fn global_coordinates_keep_the_bounds_of_their_digits() {
    let Some(ours) = backend() else { return };
    let cpu = CpuBackend::new(None);
    for (width, height, blends) in [
        (16, 16, &[Blend::TcGsGlobalFp16, Blend::TcGsGlobalTf32][..]),
        (130, 70, &[Blend::TcGsGlobalTf32]),
    ] {
        let scene = random_scene(8, 200, 0);
        let camera = odd_camera(width, height, 0.9);
        let scalar = options(Intersect::Exact, Blend::Scalar);
        let reference = render(&cpu, &scene, &camera, &scalar);
        let bounds = bounds(&scene, &camera, &scalar, false, 0.0);
        for &blend in blends {
            let image = render(&ours, &scene, &camera, &options(Intersect::Exact, blend));
            let off = differences(&reference, &image);
            let psnr = psnr_between(&reference, &image);
            eprintln!(
                "{width}x{height} {blend}: {psnr:.1} dB, off by {:.1e} at most, allowed {:.1e}, \
                 {:.1e} on average",
                largest(&off),
                largest(&bounds),
                mean(&bounds)
            );
            assert_eq!(beyond(&off, &bounds), 0, "{width}x{height}, {blend}");
            assert!(width > 16 || psnr > 40.0, "{blend}: {psnr} dB");
        }
    }
}

/// What a pixel keeps is a half with `tc-gs-half`, and with `tc-gs` hardly ever is one.
#[test]
fn a_transmittance_is_kept_as_a_half() {
    let Some(ours) = backend() else { return };
    let (scene, camera) = random_case(7);
    let mut renderer = ours.renderer(&scene).unwrap();
    let mut halves = |blend| {
        let options = options(Intersect::Exact, blend);
        let found = renderer.render(&camera, &options).unwrap().transmittance;
        let seen: Vec<f32> = found.into_iter().filter(|&t| t < 1.0).collect();
        assert!(seen.len() > 5000, "{} pixels", seen.len());
        let is_half = |t: &&f32| through_half(f64::from(**t)) == f64::from(**t);
        seen.iter().filter(is_half).count() as f64 / seen.len() as f64
    };
    assert_eq!(halves(Blend::TcGsHalf), 1.0);
    let others = halves(Blend::TcGs);
    assert!(others < 0.05, "{others}");
}

/// The two differ where an alpha is 1/255 but for the rounding of exp.
#[test]
fn early_cull_is_scalar() {
    let Some(ours) = backend() else { return };
    let (scene, camera) = random_case(4);
    for intersect in [Intersect::Exact, Intersect::Aabb] {
        let [scalar, early] = [Blend::Scalar, Blend::EarlyCull]
            .map(|blend| render(&ours, &scene, &camera, &options(intersect, blend)));
        let off = differences(&scalar, &early);
        let different = off.iter().filter(|&&off| off != 0.0).count();
        eprintln!(
            "{intersect}: {different} pixels differ, by {:.1e} at most",
            largest(&off)
        );
        assert!(
            different <= off.len() / 1000,
            "{different} of {}",
            off.len()
        );
        // A fragment of this alpha, of the brightest colour.
        assert!(largest(&off) <= 4.0 * ALPHA_MIN);
    }
    // Not an empty image.
    let counted = counts(&ours, &scene, &camera, Blend::EarlyCull);
    assert!(counted.fragments_blended.unwrap() > 10_000, "{counted:?}");
}

/// TC-GS, figure 3: fragments blended and culled are the same with every method of the same image.
#[test]
fn counts_are_the_scalar_ones() {
    let Some(ours) = backend() else { return };
    let (scene, camera) = random_case(6);
    let of = |blend| counts(&ours, &scene, &camera, blend);
    let scalar = of(Blend::Scalar);
    for blend in [
        Blend::EarlyCull,
        Blend::Frag2Mat,
        Blend::TcGs,
        Blend::TcGsHalf,
    ] {
        let found = of(blend);
        eprintln!("{blend}: {found:?}");
        assert_eq!(found.pairs, scalar.pairs);
        for (found, scalar) in [
            (
                found.fragments_evaluated.unwrap(),
                scalar.fragments_evaluated.unwrap(),
            ),
            (
                found.fragments_blended.unwrap(),
                scalar.fragments_blended.unwrap(),
            ),
        ] {
            // Halves move a fragment in a thousand across a threshold.
            assert!(
                found.abs_diff(scalar) <= scalar / 200,
                "{blend}: {found}, {scalar}"
            );
        }
    }
    let overflowing = of(Blend::TcGsGlobalFp16);
    assert!(
        overflowing.fragments_blended.unwrap() < scalar.fragments_blended.unwrap(),
        "{overflowing:?}, {scalar:?}"
    );
}

/// A training pass has the method's own image, whose error the gradients show.
#[test]
fn a_training_pass_is_its_own() {
    let Some(ours) = backend() else { return };
    let scene = random_scene(9, 60, 1);
    let camera = odd_camera(40, 30, 0.2);
    let gradient = Image::filled(40, 30, [0.5, -0.2, 0.1]);
    let of = |blend| {
        let mut renderer = ours.renderer(&scene).unwrap();
        let options = options(Intersect::Exact, blend);
        renderer
            .gradients(&camera, &options, &gradient.clone().into())
            .unwrap()
            .opacity_logits
    };
    let size = |values: &[f32]| values.iter().map(|v| (v * v) as f64).sum::<f64>().sqrt();
    let expected = of(Blend::Subtile);
    assert!(size(&expected) > 0.0);
    let error = |blend| {
        let found = of(blend);
        let difference: Vec<f32> = found.iter().zip(&expected).map(|(a, b)| a - b).collect();
        size(&difference) / size(&expected)
    };
    let (single, half) = (error(Blend::EarlyCull), error(Blend::TcGs));
    assert!(single <= 1e-5, "{single:.1e}");
    assert!(half > 1e-5 && half <= 2e-2, "{half:.1e}");
    // A processor has neither.
    let error = CpuBackend::new(None)
        .renderer(&scene)
        .unwrap()
        .render(&camera, &options(Intersect::Exact, Blend::TcGs))
        .unwrap_err();
    assert!(
        error.to_string().contains("use scalar or splatcore"),
        "{error}"
    );
}
