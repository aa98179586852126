//! Scenes made to break half precision: large coordinates that cancel, ranges that overflow, values
//! at the cut-offs. f32 loses digits on most of them too, so they are held to [`super::bounds`].

use super::case::{Case, gather, plain_camera, random_colour, single};
use super::selection::Weight;
use splatcore_core::Gaussians;
use splatcore_core::random::Rng;
use splatcore_core::semantics::ALPHA_MIN;

/// Distance of the plain camera to the plane z = 0.
const DEPTH: f32 = 4.0;

fn case(name: &str, scene: Gaussians, size: [u32; 2]) -> Case {
    let mut case = Case::new(name, scene, plain_camera(size[0], size[1]));
    case.background = [0.2, 0.5, 0.8];
    case.bounded = true;
    case.weight = Weight::Blends;
    case
}

/// A Gaussian in the plane z = 0 at `mean` pixels from the image's centre, with standard deviations
/// in pixels along an axis at `angle` and across it.
fn flat(
    mean: [f32; 2],
    sigma: [f32; 2],
    angle: f32,
    opacity: f32,
    rng: &mut Rng,
    size: [u32; 2],
) -> Gaussians {
    let pixel = DEPTH / (0.9 * size[0].max(size[1]) as f32);
    let mut one = single(
        [mean[0] * pixel, mean[1] * pixel, 0.0],
        [(sigma[0] * pixel).ln(), (sigma[1] * pixel).ln(), -12.0],
        opacity,
        random_colour(rng),
    );
    one.rotations[0] = [(0.5 * angle).cos(), 0.0, 0.0, (0.5 * angle).sin()];
    one
}

/// Every case. With `large` images cover 8k, of which few pixels are compared.
pub fn cases(large: bool) -> Vec<Case> {
    let mut cases = vec![
        far_means(),
        needles(),
        covering([176, 112]),
        cut_offs(),
        ties(),
        layers(),
    ];
    cases[2].weight = Weight::Methods;
    if large {
        let mut case = covering([7680, 4320]);
        case.name = "covering 7680x4320".into();
        // Prime, so that every column and row of a tile comes up.
        case.every = 1009;
        cases.push(case);
    }
    cases
}

/// Means 1e3 to 1e5 pixels away, from where the ellipse still covers the image. Those far away are
/// round: f32 itself has no digits left of others.
fn far_means() -> Case {
    let (mut rng, size) = (Rng::new(201, 94), [64, 48]);
    let parts: Vec<_> = (0..48)
        .map(|i| {
            let far = [1e3f32, 3e3, 1e4, 1e5][i % 4];
            let angle = rng.uniform() * std::f32::consts::TAU;
            let along = far * (0.4 + 0.6 * rng.uniform());
            let across = if i % 4 < 2 { 0.05 * far } else { 0.3 * far };
            let mean = [far * angle.cos(), far * angle.sin()];
            flat(
                mean,
                [along, across],
                angle,
                0.3 + 0.6 * rng.uniform(),
                &mut rng,
                size,
            )
        })
        .collect();
    case("means 1e3 to 1e5 pixels away", gather(parts), size)
}

/// One side below a pixel, the other up to two thousand; in all directions up to two hundred.
fn needles() -> Case {
    let (mut rng, size) = (Rng::new(202, 94), [80, 64]);
    let parts: Vec<_> = (0..40)
        .map(|i| {
            let mean = [30.0 * rng.normal(), 20.0 * rng.normal()];
            let (along, angle) = match i % 4 {
                0 => (2000.0, 0.0),
                1 => (1500.0, std::f32::consts::FRAC_PI_2),
                _ => (
                    60.0 + 140.0 * rng.uniform(),
                    rng.uniform() * std::f32::consts::TAU,
                ),
            };
            flat(mean, [along, 1e-3 * along], angle, 0.9, &mut rng, size)
        })
        .collect();
    case("needles of an aspect of a thousand", gather(parts), size)
}

/// Each as large as the image or larger.
fn covering(size: [u32; 2]) -> Case {
    let mut rng = Rng::new(203, 94);
    let side = size[0] as f32;
    let parts: Vec<_> = (0..10)
        .map(|_| {
            let mean = [0.3 * side * rng.normal(), 0.3 * side * rng.normal()];
            let sigma = [side * (0.3 + rng.uniform()), side * (0.3 + rng.uniform())];
            flat(
                mean,
                sigma,
                6.0 * rng.uniform(),
                0.1 + 0.5 * rng.uniform(),
                &mut rng,
                size,
            )
        })
        .collect();
    case("covering the whole image", gather(parts), size)
}

/// Opacities within roundings of 1/255, of f32 and of halves, and about the cap of 0.99.
fn cut_offs() -> Case {
    let (mut rng, size) = (Rng::new(204, 94), [64, 48]);
    let parts: Vec<_> = (0..48)
        .map(|i| {
            let least = ALPHA_MIN as f32;
            let opacity = [
                least,
                least.next_up(),
                least.next_down(),
                least * 1.0005,
                least * 0.9995,
                least * 1.01,
                least * 0.99,
                0.989,
                0.99,
                0.9905,
                0.999_999,
                0.5,
            ][i % 12];
            let sigma = if opacity > 0.1 {
                3.0
            } else {
                4.0 + 30.0 * rng.uniform()
            };
            let mean = [22.0 * rng.normal(), 16.0 * rng.normal()];
            flat(
                mean,
                [sigma, 0.8 * sigma],
                6.0 * rng.uniform(),
                opacity,
                &mut rng,
                size,
            )
        })
        .collect();
    case("opacities at 1/255 and 0.99", gather(parts), size)
}

/// All at one depth: the index says who is in front.
fn ties() -> Case {
    let (mut rng, size) = (Rng::new(205, 94), [64, 48]);
    let parts: Vec<_> = (0..200)
        .map(|_| {
            let mean = [8.0 * rng.normal(), 8.0 * rng.normal()];
            let sigma = [2.0 + 10.0 * rng.uniform(), 2.0 + 10.0 * rng.uniform()];
            flat(mean, sigma, 6.0 * rng.uniform(), 0.4, &mut rng, size)
        })
        .collect();
    case("two hundred at one depth", gather(parts), size)
}

/// Hundreds of layers: a few opaque ones stop a pixel, many faint ones nearly do.
fn layers() -> Case {
    let (mut rng, size) = (Rng::new(206, 94), [48, 32]);
    let parts: Vec<_> = (0..600)
        .map(|i| {
            // The left half stops after three, the right one after hundreds.
            let opaque = i % 2 == 0;
            let mean = [
                if opaque { -20.0 } else { 14.0 } + 2.0 * rng.normal(),
                3.0 * rng.normal(),
            ];
            let opacity = if opaque { 0.95 } else { 0.02 };
            let mut layer = flat(mean, [9.0, 40.0], 0.0, opacity, &mut rng, size);
            layer.means[0][2] = 0.001 * i as f32;
            layer
        })
        .collect();
    case("hundreds of layers", gather(parts), size)
}
