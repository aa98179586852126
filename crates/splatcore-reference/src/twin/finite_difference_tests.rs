//! Every gradient of the twin against central differences, with and without the rasterizer's
//! cut-offs.
//!
//! The tolerance: a central difference with step h errs by h² f'''/6 + 1e-16 |L| / h. With h = 1e-5
//! and numbers of order 1 that is about 1e-10 beside gradients of order 1e-2 to 1e1, so a relative
//! L2 of 1e-7 holds with room, while any wrong term shows up as 1e-2 or more.

use super::*;
use splatcore_core::backend::RenderOptions;
use splatcore_core::pipeline::{Intersect, Pipeline};
use splatcore_core::random::Rng;
use splatcore_core::{Camera, Gaussians, pose_gradient};

const STEP: f64 = 1e-5;
pub(super) const TOLERANCE: f64 = 1e-7;

pub(super) fn random_scene(rng: &mut Rng, count: usize, sh_degree: u8) -> Scene {
    let mut scene = Scene::zeros(count, sh_degree);
    let mut normal = || rng.normal() as f64;
    for i in 0..count {
        // Some far off axis, so that the clamp of x/z is at work.
        let spread = if i % 4 == 3 { 2.5 } else { 0.7 };
        scene.means[i] = [spread * normal(), spread * normal(), 0.5 * normal()];
        scene.log_scales[i] = [0; 3].map(|_| -1.3 + 0.5 * normal());
        scene.rotations[i] = [0; 4].map(|_| 1.5 * normal());
        scene.opacity_logits[i] = 1.5 * normal();
    }
    for c in scene.sh.iter_mut().flatten() {
        // Some channels end up below 0 and are clamped.
        *c = 0.6 * normal();
    }
    scene
}

pub(super) fn camera() -> Camera {
    let camera = Camera::look_at(
        [0.4, -0.3, -3.0],
        [0.1, 0.0, 0.2],
        [0.1, -1.0, 0.0],
        0.9,
        22,
        18,
    );
    // Different focal lengths and an off-centre principal point, so that no x and y are mixed up.
    Camera {
        fx: camera.fx * 1.15,
        cx: 10.2,
        cy: 9.7,
        ..camera
    }
}

pub(super) fn options(intersect: Intersect) -> RenderOptions {
    RenderOptions {
        pipeline: Pipeline {
            intersect,
            ..Pipeline::AUTO
        },
        background: [0.2, 0.7, 0.4],
        ..RenderOptions::default()
    }
}

fn scalar(scene: &Scene, options: &RenderOptions, cut_offs: CutOffs, weights: &[[f64; 3]]) -> f64 {
    let frame = render_scene(scene, &camera(), options, cut_offs);
    let pixels = frame.image.as_flattened().iter();
    pixels.zip(weights.as_flattened()).map(|(p, w)| p * w).sum()
}

/// Relative L2 between gradient and central differences, for each group.
fn check(scene: &Scene, options: &RenderOptions, cut_offs: CutOffs, weights: &[[f64; 3]]) {
    let exact = gradients_scene(scene, &camera(), options, cut_offs, weights).scene;
    let what = format!("{cut_offs:?} {}", options.pipeline);
    slopes_are(scene, &exact, &what, |scene| {
        scalar(scene, options, cut_offs, weights)
    });
}

/// Fourth order: the second-order error of sharp splats would be 1e-8.
pub(super) fn slope(at: impl Fn(f64) -> f64) -> f64 {
    (8.0 * (at(STEP) - at(-STEP)) - (at(2.0 * STEP) - at(-2.0 * STEP))) / (12.0 * STEP)
}

pub(super) fn slopes_are(scene: &Scene, exact: &Scene, what: &str, scalar: impl Fn(&Scene) -> f64) {
    for group in Group::ALL {
        let gradient = exact.group(group);
        let slopes: Vec<f64> = (0..gradient.len())
            .map(|k| {
                slope(|d| {
                    let mut moved = scene.clone();
                    *moved.group_mut(group)[k] += d;
                    scalar(&moved)
                })
            })
            .collect();
        let norm = |v: &mut dyn Iterator<Item = f64>| v.map(|v| v * v).sum::<f64>().sqrt();
        let size = norm(&mut slopes.iter().copied());
        let error = norm(&mut slopes.iter().zip(&gradient).map(|(a, b)| a - b));
        assert!(
            error <= TOLERANCE * size,
            "{group:?} {what}: error {error:e} beside {size:e}"
        );
        let nothing = gradient.iter().all(|&g| g == 0.0) && size == 0.0;
        assert!(size > 1e-6 || nothing, "{group:?} tests nothing");
    }
}

/// A scalar of inverse depth and transmittance.
pub(super) fn depth_scalar(
    scene: &Scene,
    camera: &Camera,
    options: &RenderOptions,
    weights: &[[f64; 3]],
) -> f64 {
    let frame = render_scene(scene, camera, options, CutOffs::None);
    let pixels = frame.inverse_depth.iter().zip(&frame.transmittance);
    pixels
        .zip(weights)
        .map(|((depth, left), w)| w[0] * depth + w[1] * left)
        .sum()
}

#[test]
fn gradients_of_depth_and_transmittance_match_finite_differences() {
    for antialias in [false, true] {
        let mut rng = Rng::new(14, antialias as u64);
        let scene = random_scene(&mut rng, 9, 2);
        let weights = random_weights(&mut rng);
        let options = RenderOptions {
            antialias,
            ..options(Intersect::Exact)
        };
        let lists = Lists::new(&scene, &camera(), &options, CutOffs::None);
        let exact = lists.depth_gradients(&scene, &mut |pixel, _| {
            [weights[pixel][0], weights[pixel][1]]
        });
        assert!(exact.sh.iter().flatten().all(|&g| g == 0.0));
        slopes_are(&scene, &exact, "of depth", |scene| {
            depth_scalar(scene, &camera(), &options, &weights)
        });
    }
}

/// A camera whose transform is followed by a small rotation and translation in view space.
pub(super) fn moved(camera: &Camera, rotation: [f64; 3], translation: [f64; 3]) -> Camera {
    let angle = rotation.iter().map(|v| v * v).sum::<f64>().sqrt();
    let turn = |p: [f64; 3]| -> [f64; 3] {
        if angle == 0.0 {
            return p;
        }
        let axis = rotation.map(|v| v / angle);
        let cross = [
            axis[1] * p[2] - axis[2] * p[1],
            axis[2] * p[0] - axis[0] * p[2],
            axis[0] * p[1] - axis[1] * p[0],
        ];
        let along: f64 = (0..3).map(|k| axis[k] * p[k]).sum();
        std::array::from_fn(|k| {
            p[k] * angle.cos() + cross[k] * angle.sin() + axis[k] * along * (1.0 - angle.cos())
        })
    };
    let columns: [[f64; 3]; 3] =
        std::array::from_fn(|c| turn(std::array::from_fn(|r| camera.rotation[r][c])));
    let moved = turn(camera.translation);
    Camera {
        rotation: std::array::from_fn(|r| std::array::from_fn(|c| columns[c][r])),
        translation: std::array::from_fn(|k| moved[k] + translation[k]),
        ..camera.clone()
    }
}

/// Of a loss of image, depth and transmittance; degrees with and without harmonics, filters on. The
/// gradients that the pose's is made of are f32: 1e-7 of the largest.
#[test]
fn gradients_of_the_pose_match_finite_differences() {
    for sh_degree in [0, 3] {
        let mut rng = Rng::new(15, sh_degree as u64);
        let mut scene = random_scene(&mut rng, 12, sh_degree);
        for group in Group::ALL {
            // What f32 holds.
            for number in scene.group_mut(group) {
                *number = f64::from(*number as f32);
            }
        }
        let weights = random_weights(&mut rng);
        let options = RenderOptions {
            antialias: true,
            ..options(Intersect::Exact)
        };
        let scalar = |camera: &Camera| {
            let frame = render_scene(&scene, camera, &options, CutOffs::None);
            let pixels = frame.image.as_flattened().iter();
            let colours: f64 = pixels.zip(weights.as_flattened()).map(|(p, w)| p * w).sum();
            colours + depth_scalar(&scene, camera, &options, &weights)
        };
        let lists = Lists::new(&scene, &camera(), &options, CutOffs::None);
        let mut gradients = lists
            .gradients(&scene, &mut |pixel, _| weights[pixel])
            .scene;
        let of_depth = lists.depth_gradients(&scene, &mut |pixel, _| {
            [weights[pixel][0], weights[pixel][1]]
        });
        for group in Group::ALL {
            let more = of_depth.group(group);
            for (gradient, more) in gradients.group_mut(group).into_iter().zip(more) {
                *gradient += more;
            }
        }
        let found = pose_gradient(
            &Gaussians::from(&scene),
            &Gaussians::from(&gradients),
            &camera(),
            sh_degree,
        );
        for axis in 0..3 {
            let along = |d: f64| std::array::from_fn(|k| if k == axis { d } else { 0.0 });
            let turned = slope(|d| scalar(&moved(&camera(), along(d), [0.0; 3])));
            let shifted = slope(|d| scalar(&moved(&camera(), [0.0; 3], along(d))));
            for (want, got) in [(turned, found.rotation), (shifted, found.translation)] {
                let got = got[axis];
                let allowed = 1e-5 * want.abs().max(1.0);
                assert!(
                    (want - got).abs() <= allowed,
                    "degree {sh_degree}, axis {axis}: {got} for {want}"
                );
            }
        }
    }
}

pub(super) fn random_weights(rng: &mut Rng) -> Vec<[f64; 3]> {
    (0..22 * 18)
        .map(|_| [0; 3].map(|_| rng.normal() as f64))
        .collect()
}

#[test]
fn gradients_match_finite_differences_without_cut_offs() {
    for sh_degree in 0..=3 {
        let mut rng = Rng::new(11, sh_degree as u64);
        let scene = random_scene(&mut rng, 9, sh_degree);
        let weights = random_weights(&mut rng);
        check(&scene, &options(Intersect::Exact), CutOffs::None, &weights);
    }
}

/// The filter's factor depends on scales, rotations and means; of small splats most, of tiny ones
/// it is at its floor.
#[test]
fn antialiased_gradients_match_finite_differences() {
    for sh_degree in [0, 2] {
        let mut rng = Rng::new(13, sh_degree as u64);
        let mut scene = random_scene(&mut rng, 12, sh_degree);
        for (i, scales) in scene.log_scales.iter_mut().enumerate() {
            let shrink = [0.0, 1.0, 2.0, 5.5][i % 4];
            *scales = scales.map(|s| s - shrink);
        }
        let weights = random_weights(&mut rng);
        let options = RenderOptions {
            antialias: true,
            ..options(Intersect::Exact)
        };
        let splats = visible_splats(&scene, &camera(), &options);
        let floors = splats.iter().filter(|s| s.compensation < 0.00501).count();
        let small = splats.iter().filter(|s| s.compensation < 0.5).count();
        assert!(
            floors > 0 && small > floors + 2,
            "{floors} {small}: tests too little"
        );
        check(&scene, &options, CutOffs::None, &weights);
    }
}

#[test]
fn smoothed_gradients_match_finite_differences() {
    let mut rng = Rng::new(14, 1);
    let scene = random_scene(&mut rng, 8, 1);
    // Much finer than the Gaussians, as fine, and much coarser.
    let filters: Vec<f64> = (0..8).map(|i| [-4.0, -1.3, -0.2][i % 3]).collect();
    let weights = random_weights(&mut rng);
    let options = options(Intersect::Exact);
    let smooth = |scene: &Scene| smoothing::smooth(scene, &filters);
    let mut exact = gradients_scene(
        &smooth(&scene),
        &camera(),
        &options,
        CutOffs::None,
        &weights,
    )
    .scene;
    smoothing::smooth_backward(&scene, &filters, &mut exact);
    for group in [Group::Means, Group::LogScales, Group::OpacityLogits] {
        let gradient = exact.group(group);
        let slopes: Vec<f64> = (0..gradient.len())
            .map(|k| {
                let at = |d: f64| {
                    let mut moved = scene.clone();
                    *moved.group_mut(group)[k] += d;
                    scalar(&smooth(&moved), &options, CutOffs::None, &weights)
                };
                (8.0 * (at(STEP) - at(-STEP)) - (at(2.0 * STEP) - at(-2.0 * STEP))) / (12.0 * STEP)
            })
            .collect();
        let size = slopes.iter().map(|v| v * v).sum::<f64>().sqrt();
        let errors = slopes.iter().zip(&gradient).map(|(a, b)| (a - b).powi(2));
        let error = errors.sum::<f64>().sqrt();
        assert!(
            error <= TOLERANCE * size && size > 1e-6,
            "{group:?}: error {error:e} beside {size:e}"
        );
    }
}

/// Straight through: at M = 1 the derivative with respect to M, times that of sigmoid; the rest is
/// that of the regulariser. Filtered or not, it is the Gaussians before the filter that are masked.
#[test]
fn mask_gradients_match_finite_differences() {
    let mut rng = Rng::new(15, 1);
    let scene = random_scene(&mut rng, 8, 1);
    let (weights, options) = (random_weights(&mut rng), options(Intersect::Exact));
    let logits: Vec<f64> = (0..8).map(|i| 1.0 - 0.6 * i as f64).collect();
    let some: Vec<f64> = (0..8).map(|i| [-4.0, -1.3, -0.2][i % 3]).collect();
    for filters in [Vec::new(), some] {
        let loss = |scene: &Scene| {
            let smooth = smoothing::smooth(scene, &filters);
            scalar(&smooth, &options, CutOffs::None, &weights)
        };
        let smooth = smoothing::smooth(&scene, &filters);
        let mut image =
            gradients_scene(&smooth, &camera(), &options, CutOffs::None, &weights).scene;
        smoothing::smooth_backward(&scene, &filters, &mut image);
        let got = learned_masks::gradients(&scene, &image, &logits, 3.0);
        let (mut error, mut size) = (0.0f64, 0.0f64);
        for (i, got) in got.iter().enumerate() {
            let factor = |d: f64| {
                let mut factors = vec![1.0; 8];
                factors[i] += d;
                loss(&learned_masks::masked(&scene, &factors))
            };
            let on = |d: f64| project::sigmoid(logits[i] + d);
            let regulariser = |d: f64| {
                let mut moved = logits.clone();
                moved[i] += d;
                learned_masks::regulariser(&moved, 3.0)
            };
            let slope = |at: &dyn Fn(f64) -> f64| {
                (8.0 * (at(STEP) - at(-STEP)) - (at(2.0 * STEP) - at(-2.0 * STEP))) / (12.0 * STEP)
            };
            let want = slope(&factor) * slope(&on) + slope(&regulariser);
            error += (got - want).powi(2);
            size += want * want;
        }
        let (error, size) = (error.sqrt(), size.sqrt());
        assert!(
            error <= TOLERANCE * size && size > 1e-3,
            "error {error:e} beside {size:e}"
        );
    }
}

#[test]
fn gradients_match_finite_differences_away_from_cut_offs() {
    for (seed, intersect) in [
        (1, Intersect::Exact),
        (2, Intersect::Aabb),
        (3, Intersect::Exact),
    ] {
        let mut rng = Rng::new(seed, 7);
        let mut scene = random_scene(&mut rng, 12, 2);
        // Nearly opaque ones: the cap and the early stop are at work.
        for i in [0, 4, 5, 6, 8] {
            scene.opacity_logits[i] = 7.0;
            scene.means[i] = [0.2 * i as f64 - 1.0, 0.1, 0.05 * i as f64];
            scene.log_scales[i] = [-0.5, -0.7, -0.9];
        }
        let mut weights = random_weights(&mut rng);
        let options = options(intersect);
        let frame = render_scene(&scene, &camera(), &options, CutOffs::Reference);
        let mut sure = 0;
        for (weight, doubt) in weights.iter_mut().zip(&frame.doubts) {
            if doubt.any {
                *weight = [0.0; 3];
            } else {
                sure += 1;
            }
        }
        assert!(
            sure > 300,
            "only {sure} of 396 pixels are away from cut-offs"
        );
        assert!(
            frame.transmittance.iter().any(|&t| t < 1e-2),
            "no pixel is opaque"
        );
        check(&scene, &options, CutOffs::Reference, &weights);
    }
}

/// `exact` loses nothing: the image equals that of every splat tried at every pixel.
#[test]
fn exact_lists_lose_no_fragment() {
    let mut rng = Rng::new(5, 5);
    let scene = random_scene(&mut rng, 60, 0);
    let (camera, options) = (camera(), options(Intersect::Exact));
    let frame = render_scene(&scene, &camera, &options, CutOffs::Reference);
    let splats = visible_splats(&scene, &camera, &options);
    let tiles = intersect::intersect(&splats, &camera, Intersect::Exact, CutOffs::None);
    let all = blend::blend(&splats, &tiles, &camera, &options, CutOffs::Reference);
    assert_eq!(frame.image, all.image);
    assert!(frame.pairs < splats.len() as u64 * tiles.lists.len() as u64);
}
