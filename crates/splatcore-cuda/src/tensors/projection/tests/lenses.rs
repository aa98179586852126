//! Lenses and rolling shutters: the CPU's splats against the f64 twin of the engine, and splats and
//! gradients of the device against the CPU's.

use super::{Culling, Model, RadiusRule, Splats, forward, plain};
use super::{HEIGHT, Models, WIDTH, World, check_gradients, check_splats, plain_splats, upload};
use crate::tensors::tests::fixture;
use splatcore_core::shutter::{Readout, Shutter};
use splatcore_core::{Camera, Lens};
use splatcore_reference::twin;

/// With forward and inverse planes of angles, each kind of term, parallel rays, and no lens.
fn lenses() -> [Lens; 6] {
    let mut k = [0.0; 12];
    k[..3].copy_from_slice(&[-0.02, 0.05, -0.08]);
    [
        Lens::Pinhole,
        Lens::OpenCv {
            k: [-0.12, 0.03, 0.01, 0.05, -0.02, 0.004],
            p: [0.02, -0.03],
            s: [0.01, -0.005, 0.02, 0.007],
        },
        Lens::Fisheye {
            k: [0.02, -0.01, 0.004, -0.001],
            p: [0.0; 2],
            s: [0.0; 2],
        },
        Lens::FTheta {
            k,
            skew: [0.02, -0.03],
            max_angle: Some(1.4),
        },
        Lens::Orthographic,
        Lens::Equirectangular,
    ]
}

/// The cameras of a world through a lens, as they move or not.
fn cameras(world: &World, lens: Lens, shutter: Option<Shutter>) -> Vec<Camera> {
    let views = world.viewmats.chunks(16).zip(world.ks.chunks(9));
    let of = |(view, k): (&[f64], &[f64])| Camera {
        fx: k[0],
        fy: k[4],
        cx: k[2],
        cy: k[5],
        lens,
        shutter,
        rotation: [0, 1, 2].map(|i| [view[4 * i], view[4 * i + 1], view[4 * i + 2]]),
        translation: [view[3], view[7], view[11]],
        ..Camera::pinhole(WIDTH, HEIGHT, 1.0)
    };
    views.map(of).collect()
}

fn motion() -> Shutter {
    Shutter {
        readout: Readout::TopToBottom,
        turn: [0.02, -0.03, 0.01],
        shift: [0.05, 0.02, -0.04],
    }
}

/// Every lens still, and two of them in motion.
fn all(world: &World) -> Vec<Vec<Camera>> {
    let still = lenses().map(|lens| cameras(world, lens, None));
    let moving = [lenses()[0], lenses()[1]].map(|lens| cameras(world, lens, Some(motion())));
    still.into_iter().chain(moving).collect()
}

fn models(cameras: &[Camera]) -> Models<'_> {
    (Model::Unscented(cameras), plain::Model::Unscented(cameras))
}

/// A Gaussian's splat has the mean, the depth and the conic that the twin gives it, from which the
/// engine's images and gradients are checked.
#[test]
fn splats_of_the_cpu_are_those_of_the_twin() {
    let world = World::new(60);
    for cameras in all(&world) {
        // The twin's pinholes are those of EWA splatting.
        if cameras[0].is_pinhole() {
            continue;
        }
        let scene = world.plain(plain::Model::Unscented(&cameras), false);
        let (radii, [means, depths, conics, _]) =
            plain_splats(&world, &scene, plain::RadiusRule::ThreeSigma);
        let mut seen = 0;
        for (image, camera) in cameras.iter().enumerate() {
            for i in 0..world.gaussians {
                let (row, splat) = (
                    image / world.cameras * world.gaussians + i,
                    image * world.gaussians + i,
                );
                if radii[2 * splat] == 0 {
                    continue;
                }
                let expected = twin::project::project(&gaussian(&world, row), 0, camera, 0.2, 0)
                    .expect("the twin sees what is drawn");
                let (mean, conic) = (&means[2 * splat..][..2], &conics[3 * splat..][..3]);
                let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (1.0 + b.abs());
                assert!(close(depths[splat], expected.depth), "{camera:?}");
                assert!(mean.iter().zip(expected.mean).all(|(&a, b)| close(a, b)));
                assert!(conic.iter().zip(expected.conic).all(|(&a, b)| close(a, b)));
                seen += 1;
            }
        }
        assert!(seen > 20, "{seen} splats through {:?}", cameras[0].lens);
    }
}

fn gaussian(world: &World, row: usize) -> twin::Scene {
    let three = |of: &[f64]| std::array::from_fn(|k| of[3 * row + k]);
    twin::Scene {
        means: vec![three(&world.means)],
        log_scales: vec![three(&world.scales).map(f64::ln)],
        rotations: vec![std::array::from_fn(|k| world.quats[4 * row + k])],
        ..twin::Scene::zeros(1, 0)
    }
}

#[test]
fn splats_are_those_of_the_cpu() {
    let Some(on) = fixture() else { return };
    let world = World::new(137);
    for cameras in all(&world) {
        check_splats(&on, &world, models(&cameras), &[false; 2]);
    }
    let none = World::new(0);
    let cameras = cameras(&none, lenses()[1], None);
    check_splats(&on, &none, models(&cameras), &[false; 2]);
}

#[test]
fn gradients_are_those_of_the_cpu() {
    let Some(on) = fixture() else { return };
    let world = World::new(140);
    for cameras in all(&world) {
        check_gradients(&on, &world, models(&cameras), false);
    }
}

/// What a Gaussian that is not a number gets.
#[test]
fn a_gaussian_that_is_no_number_is_culled() {
    let Some(on) = fixture() else { return };
    let mut world = World::new(30);
    world.means[0] = f64::NAN;
    world.scales[3] = f64::INFINITY;
    world.quats[8] = f64::NAN;
    for cameras in all(&world) {
        check_splats(&on, &world, models(&cameras), &[false; 2]);
    }
}

#[test]
fn what_has_no_projection_is_told() {
    let Some(on) = fixture() else { return };
    let world = World::new(1);
    let told = |cameras: &[Camera], is_covars: bool| {
        let uploaded = upload(&on, &world, Model::Unscented(cameras), is_covars);
        let (ints, floats) = (on.out::<i32>(12), [2, 1, 3].map(|width| on.out(6 * width)));
        let [means2d, depths, conics] = floats.each_ref().map(|of| of.slice());
        let culling = Culling {
            near_plane: 0.2,
            far_plane: 9.0,
            radius_clip: 0.0,
            radius_rule: RadiusRule::Gsplat15,
            opacities: None,
        };
        let out = Splats {
            radii: ints.slice(),
            means2d,
            depths,
            conics,
            compensations: None,
        };
        let error = forward(&on.stream(), &uploaded.scene, &culling, &out).unwrap_err();
        error.to_string()
    };
    let all = cameras(&world, lenses()[1], None);
    assert!(told(&all[..1], false).contains("there are 1 cameras, but must be 6"));
    assert!(told(&all, true).contains("not covariances"));
    let fov = cameras(&world, Lens::Fov { omega: 0.5 }, None);
    assert!(told(&fov, false).contains("fov is no polynomial lens"));
}
