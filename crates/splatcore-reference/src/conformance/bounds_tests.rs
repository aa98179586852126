//! The bounds hold for arithmetic of the class that they are for, and not for coarser.

use super::bounds::Reference;
use super::scenes::{odd_camera, plain_camera, random_scene};
use super::{compare, hostile};
use crate::twin::blend::alpha;
use splatcore_core::backend::{RenderOptions, Rendered};
use splatcore_core::pipeline::{Blend, Intersect, Pipeline};
use splatcore_core::precision::{HALF, Half, Precision, TWO_HALVES};
use splatcore_core::random::Rng;
use splatcore_core::semantics::{ALPHA_MIN, TILE, TRANSMITTANCE_MIN};
use splatcore_core::{Camera, Gaussians, Image, sh};
use std::f64::consts::LOG2_E;

const OPTIONS: RenderOptions = RenderOptions {
    pipeline: Pipeline {
        intersect: Intersect::Exact,
        blend: Blend::Scalar,
        backward: splatcore_core::pipeline::Backward::Atomic,
    },
    sh_degree: 0,
    background: [0.1, 0.2, 0.3],
    sky: None,
    semantics: splatcore_core::semantics::Semantics {
        near_plane: 0.2,
        alpha_max: 0.99,
    },
    inverse_depth: false,
    antialias: false,
    interpolate: false,
};

/// The nearest number with an 11-bit fraction (no subnormals: coefficients that small add nothing
/// here).
fn to_half(value: f64) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let unit = (value.abs().log2().floor() - 10.0).exp2();
    (value / unit).round() * unit
}

fn to_two_halves(value: f64) -> f64 {
    let high = to_half(value);
    high + to_half(value - high)
}

/// What is rounded of an image that is in f64 otherwise.
#[derive(Clone, Copy)]
struct Arithmetic {
    /// The local origin: as [`Half::tiles`] and [`Half::off_middle`].
    tiles: usize,
    off_middle: f64,
    /// Of each coefficient, which is multiplied by the monomial beside it.
    round: fn(f64, f64) -> f64,
    /// Added to every exponent.
    bias: f64,
    /// Of the transmittance behind each fragment.
    keep: fn(f64) -> f64,
}

const EXACT: Arithmetic = Arithmetic {
    tiles: 1,
    off_middle: 0.0,
    round: |v, _| v,
    bias: 0.0,
    keep: |v| v,
};
const HALVES: Arithmetic = Arithmetic {
    round: |v, _| to_half(v),
    ..EXACT
};
const TWO: Arithmetic = Arithmetic {
    round: |v, _| to_two_halves(v),
    ..EXACT
};
const TWO_AND_HALF_TRANSMITTANCE: Arithmetic = Arithmetic {
    keep: to_half,
    ..TWO
};

fn render(reference: &Reference, camera: &Camera, arithmetic: Arithmetic) -> Rendered {
    let Arithmetic {
        round, bias, keep, ..
    } = arithmetic;
    let side = TILE * arithmetic.tiles;
    let origin = 0.5 * side as f64 + arithmetic.off_middle;
    let (width, height) = (camera.width as usize, camera.height as usize);
    let mut out = Rendered {
        image: Image::filled(camera.width, camera.height, [0.0; 3]),
        transmittance: vec![0.0; width * height],
        inverse_depth: None,
    };
    for i in 0..width * height {
        let (x, y) = (i % width, i / width);
        let centre = [x as f64 + 0.5, y as f64 + 0.5];
        let [u, v] = [x, y].map(|p| (p % side) as f64 + 0.5 - origin);
        let (mut colour, mut transmittance) = ([0.0; 3], 1.0);
        for splat in reference.of_pixel(x, y) {
            let (d, _) = alpha(splat, centre);
            let [a, b, c] = splat.conic;
            let [a, b, c] = [-0.5 * LOG2_E * a, -LOG2_E * b, -0.5 * LOG2_E * c];
            let o = [d[0] - u, d[1] - v];
            let constant =
                splat.opacity.log2() + a * o[0] * o[0] + b * o[0] * o[1] + c * o[1] * o[1];
            let terms = [
                (constant, 1.0),
                (2.0 * a * o[0] + b * o[1], u),
                (2.0 * c * o[1] + b * o[0], v),
                (a, u * u),
                (b, u * v),
                (c, v * v),
            ];
            let score: f64 = terms.iter().map(|&(k, u)| round(k, u) * u).sum();
            let found = (score + bias).exp2();
            if found < ALPHA_MIN {
                continue;
            }
            let found = found.min(0.99);
            if keep(transmittance * (1.0 - found)) < TRANSMITTANCE_MIN {
                break;
            }
            for (sum, c) in colour.iter_mut().zip(splat.colour) {
                *sum += transmittance * found * c;
            }
            transmittance = keep(transmittance * (1.0 - found));
        }
        for k in 0..3 {
            out.image.data[i][k] =
                (colour[k] + transmittance * OPTIONS.background[k] as f64) as f32;
        }
        out.transmittance[i] = transmittance as f32;
    }
    out
}

fn judged(
    scene: &Gaussians,
    camera: &Camera,
    arithmetic: Arithmetic,
    class: Half,
) -> super::Outcome {
    let reference = Reference::new(scene, camera, &OPTIONS);
    let exact = render(&reference, camera, EXACT);
    let found = render(&reference, camera, arithmetic);
    let (width, height) = (camera.width as usize, camera.height as usize);
    let pixels = (0..width * height)
        .map(|i| [i % width, i / width])
        .collect();
    let expected = reference.pixels(Precision::Half(class), pixels);
    compare::bounded("it", &expected, [&found, &exact], class.psnr, 1e-6)
}

fn scenes() -> Vec<(Gaussians, Camera)> {
    let mut all = vec![
        (random_scene(61, 300, 0), odd_camera(61, 37, 0.3)),
        (random_scene(62, 900, 0), odd_camera(80, 60, 1.1)),
    ];
    all.extend(
        hostile::cases(false)
            .into_iter()
            .map(|case| (case.scene, case.camera)),
    );
    all
}

#[test]
fn arithmetic_of_a_class_stays_within_its_bounds() {
    for (scene, camera) in scenes() {
        judged(&scene, &camera, HALVES, Half::scores(HALF, 30.0)).unwrap();
        judged(&scene, &camera, TWO, Half::scores(TWO_HALVES, 80.0)).unwrap();
        let class = Half {
            transmittance: HALF,
            ..Half::scores(TWO_HALVES, 49.5)
        };
        judged(&scene, &camera, TWO_AND_HALF_TRANSMITTANCE, class).unwrap();
    }
}

#[test]
fn coarser_arithmetic_does_not() {
    for (scene, camera) in scenes().into_iter().take(2) {
        let class = Half::scores(TWO_HALVES, 0.0);
        // One per cent of alpha.
        let biased = Arithmetic {
            bias: 0.0144,
            ..TWO
        };
        for arithmetic in [HALVES, biased, TWO_AND_HALF_TRANSMITTANCE] {
            judged(&scene, &camera, arithmetic, class).unwrap_err();
        }
        let promise = judged(&scene, &camera, HALVES, Half::scores(HALF, 75.0)).unwrap_err();
        assert!(promise.contains("promised"), "{promise}");
    }
}

/// White points near the corners of every square of 8 pixels, and so near every local origin.
fn points(camera: &Camera) -> Gaussians {
    let mut rng = Rng::new(21, 93);
    let across = camera.width as usize / 8;
    let mut points = Gaussians::zeros(across * camera.height as usize / 8, 0);
    let pixel = 4.0 / camera.fx;
    for i in 0..points.len() {
        let mut mean = |k: usize, principal: f64| {
            let at = 8.0 * k as f64 + 2.0 * rng.uniform() as f64 - 1.5;
            ((at - principal) * pixel) as f32
        };
        let (x, y) = (mean(i % across, camera.cx), mean(i / across, camera.cy));
        points.means[i] = [x, y, 0.0];
        points.log_scales[i] = [-30.0; 3];
        points.rotations[i] = [1.0, 0.0, 0.0, 0.0];
        points.sh[i] = [sh::from_colour(1.0); 3];
    }
    points
}

/// Every coefficient off by as much as `share` of a half's rounding, and all in one direction.
fn one_way(share: f64, coefficient: f64, monomial: f64) -> f64 {
    coefficient + share * HALF * coefficient.abs() * monomial.signum()
}

/// Errors of coefficients are multiplied by coordinates about the origin that the backend has.
/// Of a point near the origin, half a pixel of them is a large part of the bound. White points on a
/// background of a tenth can be off by nine tenths of the bound about the right origin, so that
/// half as much again is beyond it.
#[test]
fn a_bound_is_about_the_origin_of_its_class() {
    let camera = plain_camera(144, 80);
    let points = points(&camera);
    let judged = |arithmetic, class| judged(&points, &camera, arithmetic, class);
    for tiles in [1, 2, 4] {
        for off_middle in [0.0, 0.5] {
            let about = |round| Arithmetic {
                tiles,
                off_middle,
                round,
                ..EXACT
            };
            let class = |off_middle, coefficient| Half {
                tiles,
                off_middle,
                ..Half::scores(coefficient, 0.0)
            };
            let right = class(off_middle, HALF);
            judged(about(|v, _| to_half(v)), right).unwrap();
            judged(
                about(|v, _| to_two_halves(v)),
                class(off_middle, TWO_HALVES),
            )
            .unwrap();
            judged(about(|v, u| one_way(1.0, v, u)), right).unwrap();
            judged(about(|v, u| one_way(1.5, v, u)), right).unwrap_err();
            let other = class(0.5 - off_middle, HALF);
            judged(about(|v, u| one_way(1.0, v, u)), other).unwrap_err();
        }
    }
}

/// Another pixel than the first is looked at, and numbers that are none are found.
#[test]
fn nothing_passes_for_not_being_a_number() {
    let (scene, camera) = scenes().swap_remove(0);
    let reference = Reference::new(&scene, &camera, &OPTIONS);
    let exact = render(&reference, &camera, EXACT);
    let mut broken = exact.clone();
    broken.image.data[700][1] = f32::NAN;
    let expected = reference.pixels(Precision::Half(Half::scores(HALF, 0.0)), vec![[0, 0]]);
    let judge = |found| compare::bounded("it", &expected, [found, &exact], None, 1e-6);
    judge(&exact).unwrap();
    judge(&broken).unwrap_err();
}
