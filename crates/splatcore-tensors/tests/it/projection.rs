use crate::scene::{BATCHES, CAMERAS, Projected, World};
use crate::support::{Numbers, check_gradient, dot};
use splatcore_tensors::projection::{Backward, CameraModel, Gradients, RadiusRule, backward};
use splatcore_tensors::quat_scale::{QuatScale, forward as covariances};

const MODELS: [CameraModel; 3] = [
    CameraModel::Pinhole,
    CameraModel::Ortho,
    CameraModel::Fisheye,
];

/// Weights of everything that a projection writes.
struct Weights {
    means2d: Vec<f64>,
    depths: Vec<f64>,
    conics: Vec<f64>,
    compensations: Vec<f64>,
}

impl Weights {
    fn new(count: usize) -> Self {
        let mut numbers = Numbers::new(9);
        Self {
            means2d: numbers.within(2 * count, -1.0, 1.0),
            depths: numbers.within(count, -1.0, 1.0),
            conics: numbers.within(3 * count, -50.0, 50.0),
            compensations: numbers.within(count, -50.0, 50.0),
        }
    }

    fn loss(&self, splats: &Projected<f64>) -> f64 {
        assert!(
            splats.radii.iter().all(|&radius| radius > 0),
            "a splat is culled"
        );
        dot(&splats.means2d, &self.means2d)
            + dot(&splats.depths, &self.depths)
            + dot(&splats.conics, &self.conics)
            + dot(&splats.compensations, &self.compensations)
    }
}

/// All gradients: means, covars, quats, scales, viewmats, Ks.
fn gradients(world: &World, weights: &Weights) -> [Vec<f64>; 6] {
    let splats = world.splats();
    let (gaussians, cameras) = (BATCHES * world.n, BATCHES * CAMERAS);
    let widths = [3, 6, 4, 3].map(|width| width * gaussians);
    let [means, covars, quats, scales] = widths.map(|len| vec![f64::NAN; len]);
    let mut out = [
        means,
        covars,
        quats,
        scales,
        vec![f64::NAN; 16 * cameras],
        vec![f64::NAN; 9 * cameras],
    ];
    let [means, covars, quats, scales, viewmats, ks] = &mut out;
    let input = Backward {
        radii: &splats.radii,
        conics: &splats.conics,
        compensations: Some(&splats.compensations),
        v_means2d: &weights.means2d,
        v_depths: Some(&weights.depths),
        v_conics: &weights.conics,
        v_compensations: Some(&weights.compensations),
    };
    let gradients = Gradients {
        v_means: Some(means),
        v_covars: Some(covars),
        v_quats: Some(quats),
        v_scales: Some(scales),
        v_viewmats: Some(viewmats),
        v_ks: Some(ks),
    };
    backward(&world.scene(), &input, gradients).unwrap();
    out
}

/// Compares all gradients. The tolerance has room for the term that keeps the gradient of a
/// compensation finite, 1e-6 of it.
fn check(world: &World) {
    let weights = Weights::new(BATCHES * CAMERAS * world.n);
    let [means, covars, quats, scales, viewmats, ks] = gradients(world, &weights);
    let check = |name: &str, at: &[f64], gradient: &[f64], set: fn(&mut World, &[f64])| {
        let name = format!("{name} of {:?}", world.model);
        check_gradient(&name, at, gradient, 1e-5, |at| {
            let mut moved = world.clone();
            set(&mut moved, at);
            weights.loss(&moved.splats())
        });
    };
    check("means", &world.means, &means, |world, v| {
        world.means = v.to_vec()
    });
    match &world.covars {
        Some(at) => {
            check("covars", at, &covars, |world, v| {
                world.covars = Some(v.to_vec())
            });
            assert!(quats.iter().chain(&scales).all(|&v| v == 0.0));
        }
        None => {
            check("quats", &world.quats, &quats, |world, v| {
                world.quats = v.to_vec()
            });
            check("scales", &world.scales, &scales, |world, v| {
                world.scales = v.to_vec()
            });
            assert!(covars.iter().all(|&v| v == 0.0));
        }
    }
    check("viewmats", &world.viewmats, &viewmats, |world, v| {
        world.viewmats = v.to_vec()
    });
    check("Ks", &world.ks, &ks, |world, v| {
        // Skew and the last row have no effect.
        world.ks = v.to_vec();
    });
}

#[test]
fn gradients_are_those_of_finite_differences() {
    for model in MODELS {
        check(&World::new(3, 6, model));
    }
}

#[test]
fn gradients_of_covariances_are_those_of_finite_differences() {
    let mut world = World::new(4, 6, CameraModel::Pinhole);
    let mut covars = vec![0.0; 6 * BATCHES * world.n];
    let input = QuatScale {
        quats: &world.quats,
        scales: &world.scales,
        triu: true,
    };
    covariances(&input, Some(&mut covars), None).unwrap();
    world.covars = Some(covars);
    check(&world);
}

#[test]
fn gradients_beyond_the_frustum_are_those_of_finite_differences() {
    for sign in [-1.0, 1.0] {
        let mut world = World::new(5, 4, CameraModel::Pinhole);
        for mean in world.means.chunks_exact_mut(3) {
            mean[0] = sign * (5.0 + 0.1 * mean[0]);
            mean[1] = sign * (5.0 + 0.1 * mean[1]);
        }
        // Large enough to be seen in the image.
        world.scales.iter_mut().for_each(|v| *v *= 14.0);
        check(&world);
    }
}

#[test]
fn fisheye_gradients_far_off_and_near_the_axis_are_those_of_finite_differences() {
    for spread in [0.01, 0.3, 3.0] {
        let mut world = World::new(6, 4, CameraModel::Fisheye);
        for mean in world.means.chunks_exact_mut(3) {
            mean[..2].iter_mut().for_each(|v| *v *= spread);
        }
        // A focal length with which all of them are in the image.
        let focal = 45.0 / spread.max(1.0);
        for k in world.ks.chunks_exact_mut(9) {
            (k[0], k[4]) = (focal, 1.1 * focal);
        }
        check(&world);
    }
}

#[test]
fn a_fisheye_is_smooth_where_its_series_begins() {
    // Series and closed form meet at rho = 0.05 z²: a step over it changes what a step beside it
    // changes.
    let seen = |s: f64| {
        let mean = [0.8 * s, 0.6 * s, 1.0];
        let splat = seen_by(
            CameraModel::Fisheye,
            mean,
            1.0,
            None,
            RadiusRule::ThreeSigma,
        );
        assert!(splat.radii[0] > 0);
        [splat.means2d, splat.conics].concat()
    };
    let (edge, step) = (0.05f64.sqrt(), 1e-6);
    let [before, at, after] = [-step, 0.0, step].map(|by| seen(edge + by));
    for k in 0..5 {
        assert!((before[k] + after[k] - 2.0 * at[k]).abs() < 1e-10 * at[k].abs());
    }
    // And the distance from the centre is the focal length times the angle.
    for s in [0.1, 1.0] {
        assert!((seen(s)[0] - 25.0 - 80.0 * s.atan()).abs() < 1e-12);
    }
}

/// A camera at the origin that looks along z, with a focal length of 100 pixels.
fn seen_by(
    model: CameraModel,
    mean: [f64; 3],
    scale: f64,
    opacity: Option<f64>,
    rule: RadiusRule,
) -> Projected<f64> {
    let mut world = World::new(0, 1, model);
    world.means = mean.to_vec();
    world.quats = vec![1.0, 0.0, 0.0, 0.0];
    world.scales = vec![scale; 3];
    let mut scene = world.scene();
    (scene.batches, scene.cameras) = (1, 1);
    let mut view = [0.0; 16];
    [0, 5, 10, 15].iter().for_each(|&i| view[i] = 1.0);
    scene.viewmats = &view;
    scene.ks = &[100.0, 0.0, 25.0, 0.0, 100.0, 20.0, 0.0, 0.0, 1.0];
    let opacities = opacity.map(|opacity| vec![opacity]);
    Projected::of(&scene, opacities.as_deref(), rule).unwrap()
}

fn one(mean: [f64; 3], scale: f64, opacity: Option<f64>, rule: RadiusRule) -> Projected<f64> {
    seen_by(CameraModel::Pinhole, mean, scale, opacity, rule)
}

#[test]
fn a_splat_in_the_middle_is_what_the_formulas_say() {
    let splat = one([0.0, 0.0, 2.0], 0.1, None, RadiusRule::Gsplat15);
    // Variance (100 * 0.1 / 2)² = 25, with the blur 25.3.
    assert_eq!(splat.means2d, [25.0, 20.0]);
    assert_eq!(splat.depths, [2.0]);
    assert!((splat.conics[0] - 1.0 / 25.3).abs() < 1e-12 && splat.conics[1] == 0.0);
    assert!((splat.compensations[0] - 25.0 / 25.3).abs() < 1e-12);
    assert_eq!(splat.radii, [(3.33 * 25.3f64.sqrt()).ceil() as i32; 2]);
    let faint = one([0.0, 0.0, 2.0], 0.1, Some(0.01), RadiusRule::Gsplat15);
    let reach = (2.0 * (0.01 * 255.0 * 25.0 / 25.3f64).ln()).sqrt();
    assert_eq!(faint.radii, [(reach * 25.3f64.sqrt()).ceil() as i32; 2]);
    let inria = one([0.0, 0.0, 2.0], 0.1, Some(0.01), RadiusRule::ThreeSigma);
    // The squared half difference of equal eigenvalues is taken as 0.1.
    let larger = 25.3 + 0.1f64.sqrt();
    assert_eq!(inria.radii, [(3.0 * larger.sqrt()).ceil() as i32; 2]);
}

#[test]
fn what_cannot_be_seen_is_culled() {
    let rule = RadiusRule::Gsplat15;
    let culled = [
        one([0.0, 0.0, 0.005], 0.1, None, rule),
        one([0.0, 0.0, 1e11], 0.1, None, rule),
        one([9.0, 0.0, 2.0], 0.1, None, rule),
        one([0.0, -9.0, 2.0], 0.1, None, rule),
        one([0.0, 0.0, 2.0], 0.1, Some(0.003), rule),
        one([f64::NAN, 0.0, 2.0], 0.1, None, rule),
        one([0.0, 0.0, 2.0], f64::INFINITY, None, rule),
        one([0.0, 0.0, 2.0], 0.1, Some(f64::NAN), rule),
    ];
    for splat in culled {
        assert_eq!(splat.radii, [0, 0]);
        assert_eq!(splat.means2d, [0.0, 0.0]);
        assert_eq!(splat.conics, [0.0, 0.0, 0.0]);
        assert_eq!((splat.depths[0], splat.compensations[0]), (0.0, 0.0));
    }
}
