//! Splats through lenses and rolling shutters: gradients against finite differences. That splats
//! are those of the engine's twin, a test of the CUDA crate compares, which knows both.

use crate::scene::{BATCHES, CAMERAS, HEIGHT, Projected, WIDTH, World};
use crate::support::{Numbers, check_gradient, dot};
use splatcore_core::shutter::{Readout, Shutter};
use splatcore_core::{Camera, Lens};
use splatcore_tensors::projection::{
    Backward, CameraModel, Gradients, Model, RadiusRule, Scene, backward,
};
use splatcore_tensors::quat_scale::Shapes;

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
            p: [0.002, -0.003],
            s: [0.003, -0.002],
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

/// A world, and the cameras in front of it.
#[derive(Clone)]
struct Seen {
    world: World,
    cameras: Vec<Camera>,
}

impl Seen {
    fn new(lens: Lens, shutter: Option<Shutter>) -> Self {
        let model = match lens {
            Lens::Orthographic => CameraModel::Ortho,
            _ => CameraModel::Pinhole,
        };
        let world = World::new(11, 5, model);
        let mut numbers = Numbers::new(12);
        let cameras = world.ks.chunks(9).map(|k| {
            let eye: [f64; 3] = numbers.within(3, -0.3, 0.3).try_into().unwrap();
            let up = [0.1, -1.0, 0.05];
            let camera = Camera::look_at(
                [eye[0], eye[1], eye[2] - 4.0],
                [0.0; 3],
                up,
                0.8,
                WIDTH,
                HEIGHT,
            );
            Camera {
                fx: k[0],
                fy: k[4],
                cx: k[2],
                cy: k[5],
                lens,
                shutter,
                ..camera
            }
        });
        let cameras = cameras.collect();
        Self { world, cameras }
    }

    fn scene(&self) -> Scene<'_, f64> {
        Scene {
            model: Model::Unscented(&self.cameras),
            ..self.world.scene()
        }
    }

    fn splats(&self) -> Projected<f64> {
        Projected::of(&self.scene(), None, RadiusRule::Gsplat15).expect("a world that fits")
    }

    /// The numbers of the cameras' poses, as matrices of 4 x 4.
    fn viewmats(&self) -> Vec<f64> {
        let of = |camera: &Camera| -> [f64; 16] {
            std::array::from_fn(|i| match (i / 4, i % 4) {
                (3, _) => f64::from(i == 15),
                (row, 3) => camera.translation[row],
                (row, column) => camera.rotation[row][column],
            })
        };
        self.cameras.iter().flat_map(of).collect()
    }

    fn ks(&self) -> Vec<f64> {
        let of = |c: &Camera| [c.fx, 0.0, c.cx, 0.0, c.fy, c.cy, 0.0, 0.0, 1.0];
        self.cameras.iter().flat_map(of).collect()
    }

    fn set_viewmats(&mut self, to: &[f64]) {
        for (camera, m) in self.cameras.iter_mut().zip(to.chunks(16)) {
            camera.rotation = [0, 1, 2].map(|i| [m[4 * i], m[4 * i + 1], m[4 * i + 2]]);
            camera.translation = [m[3], m[7], m[11]];
        }
    }

    fn set_ks(&mut self, to: &[f64]) {
        for (camera, k) in self.cameras.iter_mut().zip(to.chunks(9)) {
            (camera.fx, camera.fy, camera.cx, camera.cy) = (k[0], k[4], k[2], k[5]);
        }
    }
}

/// Everything that a projection writes has a weight.
fn check(seen: &Seen) {
    let count = BATCHES * CAMERAS * seen.world.n;
    let mut numbers = Numbers::new(9);
    let weights = [(2, 1.0), (1, 1.0), (3, 50.0), (1, 50.0)];
    let weights = weights.map(|(width, size)| numbers.within(width * count, -size, size));
    let loss = |seen: &Seen| {
        let splats = seen.splats();
        assert!(splats.radii.iter().all(|&r| r > 0), "a splat is culled");
        let all = [
            splats.means2d,
            splats.depths,
            splats.conics,
            splats.compensations,
        ];
        all.iter()
            .zip(&weights)
            .map(|(a, b)| dot(a, b))
            .sum::<f64>()
    };
    let splats = seen.splats();
    let (gaussians, cameras) = (BATCHES * seen.world.n, BATCHES * CAMERAS);
    let mut out = [
        3 * gaussians,
        4 * gaussians,
        3 * gaussians,
        16 * cameras,
        9 * cameras,
    ]
    .map(|len| vec![f64::NAN; len]);
    let [v_means, v_quats, v_scales, v_viewmats, v_ks] = &mut out;
    let input = Backward {
        radii: &splats.radii,
        conics: &splats.conics,
        compensations: Some(&splats.compensations),
        v_means2d: &weights[0],
        v_depths: Some(&weights[1]),
        v_conics: &weights[2],
        v_compensations: Some(&weights[3]),
    };
    let gradients = Gradients {
        v_means: Some(v_means),
        v_covars: None,
        v_quats: Some(v_quats),
        v_scales: Some(v_scales),
        v_viewmats: Some(v_viewmats),
        v_ks: Some(v_ks),
    };
    backward(&seen.scene(), &input, gradients).unwrap();
    let [v_means, v_quats, v_scales, v_viewmats, v_ks] = &out;
    let check = |name: &str, at: &[f64], gradient: &[f64], set: fn(&mut Seen, &[f64])| {
        let name = format!("{name} through {:?}", seen.cameras[0].lens);
        check_gradient(&name, at, gradient, 2e-5, |at| {
            let mut moved = seen.clone();
            set(&mut moved, at);
            loss(&moved)
        });
    };
    let world = &seen.world;
    check("means", &world.means, v_means, |s, v| {
        s.world.means = v.to_vec()
    });
    check("quats", &world.quats, v_quats, |s, v| {
        s.world.quats = v.to_vec()
    });
    check("scales", &world.scales, v_scales, |s, v| {
        s.world.scales = v.to_vec()
    });
    check("viewmats", &seen.viewmats(), v_viewmats, |s, v| {
        s.set_viewmats(v)
    });
    check("Ks", &seen.ks(), v_ks, |s, v| s.set_ks(v));
}

#[test]
fn gradients_are_those_of_finite_differences() {
    for lens in lenses() {
        check(&Seen::new(lens, None));
    }
}

/// The pose is that in the middle of the read-out, and all poses move with it as one.
#[test]
fn gradients_of_a_rolling_shutter_are_those_of_finite_differences() {
    let motion = Shutter {
        readout: Readout::LeftToRight,
        turn: [0.002, -0.003, 0.001],
        shift: [0.005, 0.002, -0.004],
    };
    for lens in [Lens::Pinhole, lenses()[1]] {
        check(&Seen::new(lens, Some(motion)));
    }
}

#[test]
fn what_does_not_fit_is_told() {
    let seen = Seen::new(lenses()[1], None);
    let told = |scene: &Scene<'_, f64>| {
        let found = Projected::of(scene, None, RadiusRule::Gsplat15);
        found.unwrap_err().to_string()
    };
    let few = Scene {
        model: Model::Unscented(&seen.cameras[1..]),
        ..seen.scene()
    };
    assert!(told(&few).starts_with("cameras must be of shape [2, 2]"));
    let covars = vec![0.0; 6 * BATCHES * seen.world.n];
    let flat = Scene {
        shapes: Shapes::Covars(&covars),
        ..seen.scene()
    };
    assert!(told(&flat).contains("None with the unscented transform"));
    let fov = Seen::new(Lens::Fov { omega: 0.5 }, None);
    assert!(told(&fov.scene()).contains("polynomial lenses, found fov"));
}
