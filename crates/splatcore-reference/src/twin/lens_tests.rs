//! Every gradient of the twin through lenses against central differences.

use super::finite_difference_tests::{
    depth_scalar, moved, options, random_scene, random_weights, slope, slopes_are,
};
use super::*;
use splatcore_core::backend::RenderOptions;
use splatcore_core::pipeline::Intersect;
use splatcore_core::random::Rng;
use splatcore_core::shutter::{Readout, Shutter};
use splatcore_core::{Camera, Gaussians, Lens, pose_gradient};

/// A camera of each kind of lens; two stand among the Gaussians and see what is behind them. Two
/// move while they read their photos.
pub(super) fn cameras() -> [Camera; 10] {
    let camera = |lens, focal: f64| Camera {
        fx: focal * 1.15,
        fy: focal,
        cx: 10.2,
        cy: 9.7,
        lens,
        ..Camera::look_at(
            [0.4, -0.3, -3.0],
            [0.1, 0.0, 0.2],
            [0.1, -1.0, 0.0],
            0.9,
            22,
            18,
        )
    };
    let fisheye = Lens::Fisheye {
        k: [0.02, -0.01, 0.004, -0.001],
        p: [0.002, -0.003],
        s: [0.003, -0.002],
    };
    [
        camera(
            Lens::OpenCv {
                k: [-0.12, 0.03, 0.01, 0.05, -0.02, 0.004],
                p: [0.02, -0.03],
                s: [0.01, -0.005, 0.02, 0.007],
            },
            18.6,
        ),
        camera(
            Lens::Brown {
                k: [-0.1, 0.02, -0.003, 0.001],
                p: [0.01, -0.02, 0.1, -0.05],
                skew: 0.02,
                fisheye: false,
            },
            18.6,
        ),
        camera(
            Lens::RadTanThinPrism {
                k: [0.02, -0.01, 0.004, -0.001, 0.0005, -0.0001],
                p: [0.002, -0.003],
                s: [0.003, -0.002, 0.001, 0.0015],
            },
            14.0,
        ),
        camera(fisheye, 14.0),
        Camera {
            // Among the Gaussians.
            translation: [0.1, 0.2, 0.9],
            ..camera(fisheye, 5.5)
        },
        // All around.
        Camera {
            translation: [0.1, 0.2, 0.9],
            fx: 22.0 / std::f64::consts::TAU,
            fy: 18.0 / std::f64::consts::PI,
            ..camera(Lens::Equirectangular, 1.0)
        },
        camera(Lens::Orthographic, 6.0),
        camera(f_theta(), 14.0),
        rolling(camera(Lens::Pinhole, 18.6), Readout::TopToBottom),
        rolling(camera(fisheye, 14.0), Readout::RightToLeft),
    ]
}

fn f_theta() -> Lens {
    let mut k = [0.0; 12];
    k[..6].copy_from_slice(&[-0.02, 0.05, -0.08, 0.03, 0.01, -0.004]);
    Lens::FTheta {
        k,
        skew: [0.02, -0.03],
        max_angle: None,
    }
}

fn rolling(camera: Camera, readout: Readout) -> Camera {
    let shutter = Shutter {
        readout,
        turn: [0.01, -0.015, 0.02],
        shift: [0.025, -0.015, 0.01],
    };
    Camera {
        shutter: Some(shutter),
        ..camera
    }
}

pub(super) fn image_scalar(
    scene: &Scene,
    camera: &Camera,
    options: &RenderOptions,
    weights: &[[f64; 3]],
) -> f64 {
    let frame = render_scene(scene, camera, options, CutOffs::None);
    let pixels = frame.image.as_flattened().iter();
    pixels.zip(weights.as_flattened()).map(|(p, w)| p * w).sum()
}

#[test]
fn gradients_of_the_image_match_finite_differences() {
    for (i, camera) in cameras().iter().enumerate() {
        for antialias in [false, true] {
            let mut rng = Rng::new(21, i as u64);
            let scene = random_scene(&mut rng, 12, 2);
            let weights = random_weights(&mut rng);
            let options = RenderOptions {
                antialias,
                ..options(Intersect::Exact)
            };
            let seen = visible_splats(&scene, camera, &options).len();
            assert!(seen > 6, "{seen} of 12 Gaussians are seen by camera {i}");
            let exact = gradients_scene(&scene, camera, &options, CutOffs::None, &weights).scene;
            slopes_are(&scene, &exact, &format!("{:?}", camera.lens), |scene| {
                image_scalar(scene, camera, &options, &weights)
            });
        }
    }
}

#[test]
fn gradients_of_depth_match_finite_differences() {
    for (i, camera) in cameras().iter().enumerate() {
        let mut rng = Rng::new(22, i as u64);
        let scene = random_scene(&mut rng, 9, 0);
        let weights = random_weights(&mut rng);
        let options = options(Intersect::Exact);
        let lists = Lists::new(&scene, camera, &options, CutOffs::None);
        let exact = lists.depth_gradients(&scene, &mut |pixel, _| {
            [weights[pixel][0], weights[pixel][1]]
        });
        slopes_are(&scene, &exact, &format!("{:?}", camera.lens), |scene| {
            depth_scalar(scene, camera, &options, &weights)
        });
    }
}

/// The pose's gradient needs nothing of the projection: that of a lens comes with those of the
/// Gaussians.
#[test]
fn gradients_of_the_pose_match_finite_differences() {
    for camera in cameras() {
        let mut rng = Rng::new(23, 0);
        let mut scene = random_scene(&mut rng, 12, 1);
        for group in Group::ALL {
            for number in scene.group_mut(group) {
                *number = f64::from(*number as f32);
            }
        }
        let (weights, options) = (random_weights(&mut rng), options(Intersect::Exact));
        let scalar = |camera: &Camera| image_scalar(&scene, camera, &options, &weights);
        let exact = gradients_scene(&scene, &camera, &options, CutOffs::None, &weights).scene;
        let found = pose_gradient(
            &Gaussians::from(&scene),
            &Gaussians::from(&exact),
            &camera,
            1,
        );
        for axis in 0..3 {
            let along = |d: f64| std::array::from_fn(|k| if k == axis { d } else { 0.0 });
            let turned = slope(|d| scalar(&moved(&camera, along(d), [0.0; 3])));
            let shifted = slope(|d| scalar(&moved(&camera, [0.0; 3], along(d))));
            for (want, got) in [
                (turned, found.rotation[axis]),
                (shifted, found.translation[axis]),
            ] {
                let off = (want - got).abs();
                assert!(off <= 1e-5 * want.abs().max(1.0), "{:?}", camera.lens);
            }
        }
    }
}

/// A lens whose coefficients do next to nothing is the pinhole, but for what the unscented
/// transform adds: nothing where Gaussians are small beside their distance.
#[test]
fn a_lens_that_does_nothing_shows_what_the_pinhole_shows() {
    let mut rng = Rng::new(24, 0);
    let mut scene = random_scene(&mut rng, 40, 1);
    for scales in &mut scene.log_scales {
        *scales = scales.map(|s| s - 2.5);
    }
    let [with_lens, ..] = cameras();
    let idle = Camera {
        lens: Lens::OpenCv {
            k: [1e-12, 0.0, 0.0, 0.0, 0.0, 0.0],
            p: [0.0; 2],
            s: [0.0; 4],
        },
        ..with_lens
    };
    let options = options(Intersect::Exact);
    let image = |camera: &Camera| render_scene(&scene, camera, &options, CutOffs::None).image;
    let (lens, pinhole) = (image(&idle), image(&idle.without_lens()));
    let off = lens.as_flattened().iter().zip(pinhole.as_flattened());
    let worst = off.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(worst < 0.02, "{worst}");
}
