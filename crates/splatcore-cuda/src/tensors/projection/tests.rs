//! Splats and gradients against the functions of splatcore-tensors in f64.

use super::{
    CameraModel, Culling, GaussianGradients, Model, RadiusRule, Scene, Shapes, SplatGradients,
    Splats, backward, forward,
};
use crate::tensors::tests::{Fixture, Numbers, Tensor, assert_close, fixture};
use crate::tests::support::device::emulator_with;
use splatcore_tensors::projection as plain;
use splatcore_tensors::quat_scale::Shapes as PlainShapes;
use std::sync::Arc;

mod lenses;

const EPS2D: f64 = 0.3;
const WIDTH: u32 = 60;
const HEIGHT: u32 = 40;
const MODELS: [(CameraModel, plain::CameraModel); 3] = [
    (CameraModel::Pinhole, plain::CameraModel::Pinhole),
    (CameraModel::Ortho, plain::CameraModel::Ortho),
    (CameraModel::Fisheye, plain::CameraModel::Fisheye),
];

/// Whether shapes are covariances, for each radius rule.
const FORMS: [bool; 2] = [false, true];

/// Gaussians in front of, beside and behind cameras.
struct World {
    batches: usize,
    cameras: usize,
    gaussians: usize,
    means: Vec<f64>,
    covars: Vec<f64>,
    quats: Vec<f64>,
    scales: Vec<f64>,
    opacities: Vec<f64>,
    viewmats: Vec<f64>,
    ks: Vec<f64>,
}

impl World {
    fn new(gaussians: usize) -> Self {
        let (batches, cameras) = (2, 3);
        let mut numbers = Numbers::new(19);
        let rows = batches * gaussians;
        let mut means = numbers.many(3 * rows, -1.5, 1.5);
        means.iter_mut().skip(2).step_by(3).for_each(|z| *z += 2.0);
        let quats = numbers.many(4 * rows, -1.0, 1.0);
        let scales = numbers.many(3 * rows, 0.02, 0.3);
        let mut covars = vec![0.0; 6 * rows];
        let shapes = splatcore_tensors::quat_scale::QuatScale {
            quats: &quats,
            scales: &scales,
            triu: true,
        };
        splatcore_tensors::quat_scale::forward(&shapes, Some(&mut covars), None).unwrap();
        let covars = covars.into_iter().map(|v| f64::from(v as f32)).collect();
        let (mut viewmats, mut ks) = (vec![], vec![]);
        for _ in 0..batches * cameras {
            let angle = numbers.between(-0.3, 0.3);
            let [s, c] = [angle.sin(), angle.cos()].map(|v| f64::from(v as f32));
            let [x, y, z] = [0, 1, 2].map(|_| numbers.between(-0.2, 0.2));
            let view = [c, 0., s, x, 0., 1., 0., y, -s, 0., c, z, 0., 0., 0., 1.];
            viewmats.extend(view);
            let [fx, fy] = [0, 1].map(|_| numbers.between(30.0, 45.0));
            ks.extend([fx, 0.0, 28.0, 0.0, fy, 21.0, 0.0, 0.0, 1.0]);
        }
        Self {
            batches,
            cameras,
            gaussians,
            means,
            covars,
            quats,
            scales,
            opacities: numbers.many(rows, 0.0, 0.3),
            viewmats,
            ks,
        }
    }

    fn splats(&self) -> usize {
        self.batches * self.cameras * self.gaussians
    }

    fn plain<'a>(&'a self, model: plain::Model<'a>, is_covars: bool) -> plain::Scene<'a, f64> {
        plain::Scene {
            batches: self.batches,
            cameras: self.cameras,
            gaussians: self.gaussians,
            means: &self.means,
            shapes: match is_covars {
                true => PlainShapes::Covars(&self.covars),
                false => PlainShapes::QuatScale(&self.quats, &self.scales),
            },
            viewmats: &self.viewmats,
            ks: &self.ks,
            width: WIDTH,
            height: HEIGHT,
            eps2d: EPS2D,
            model,
        }
    }
}

/// On the device and in f64.
type Models<'a> = (Model<'a>, plain::Model<'a>);

fn ewa((model, plain): (CameraModel, plain::CameraModel)) -> Models<'static> {
    (Model::Ewa(model), plain::Model::Ewa(plain))
}

/// A world on the device.
struct Uploaded<'a> {
    scene: Scene<'a>,
    opacities: Tensor<f32>,
    _tensors: [Tensor<f32>; 6],
}

fn upload<'a>(on: &Fixture, world: &World, model: Model<'a>, is_covars: bool) -> Uploaded<'a> {
    let all = [
        &world.means,
        &world.covars,
        &world.quats,
        &world.scales,
        &world.viewmats,
        &world.ks,
    ];
    let tensors = all.map(|values| on.floats(values));
    let [means, covars, quats, scales, viewmats, ks] = tensors.each_ref().map(Tensor::slice);
    let scene = Scene {
        batches: world.batches,
        cameras: world.cameras,
        gaussians: world.gaussians,
        means,
        shapes: match is_covars {
            true => Shapes::Covars(covars),
            false => Shapes::QuatScale(quats, scales),
        },
        viewmats,
        ks,
        width: WIDTH as usize,
        height: HEIGHT as usize,
        eps2d: EPS2D as f32,
        model,
    };
    Uploaded {
        scene,
        opacities: on.floats(&world.opacities),
        _tensors: tensors,
    }
}

/// Splats in f64: radii, then means, depths, conics, compensations.
type PlainSplats = (Vec<i32>, [Vec<f64>; 4]);

fn plain_splats(
    world: &World,
    scene: &plain::Scene<'_, f64>,
    rule: plain::RadiusRule,
) -> PlainSplats {
    let count = world.splats();
    let mut radii = vec![-1; 2 * count];
    let mut values = [2, 1, 3, 1].map(|width| vec![f64::NAN; width * count]);
    let [means2d, depths, conics, compensations] = &mut values;
    let culling = plain::Culling {
        near_plane: 0.2,
        far_plane: 3.2,
        radius_clip: 1.0,
        rule,
    };
    let out = plain::Splats {
        radii: &mut radii,
        means2d,
        depths,
        conics,
        compensations: Some(compensations),
    };
    plain::forward(scene, Some(&world.opacities), &culling, out).unwrap();
    (radii, values)
}

fn check_splats(on: &Fixture, world: &World, models: Models<'_>, forms: &[bool]) {
    let rules = [
        (RadiusRule::Gsplat15, plain::RadiusRule::Gsplat15),
        (RadiusRule::ThreeSigma, plain::RadiusRule::ThreeSigma),
    ];
    for ((rule, plain_rule), &is_covars) in rules.into_iter().zip(forms) {
        let (expected_radii, expected) =
            plain_splats(world, &world.plain(models.1, is_covars), plain_rule);
        let uploaded = upload(on, world, models.0, is_covars);
        let count = world.splats();
        let radii = on.out::<i32>(2 * count);
        let outs = [2, 1, 3, 1].map(|width| on.out::<f32>(width * count));
        let [means2d, depths, conics, compensations] = outs.each_ref().map(Tensor::slice);
        let culling = Culling {
            near_plane: 0.2,
            far_plane: 3.2,
            radius_clip: 1.0,
            radius_rule: rule,
            opacities: Some(uploaded.opacities.slice()),
        };
        let out = Splats {
            radii: radii.slice(),
            means2d,
            depths,
            conics,
            compensations: Some(compensations),
        };
        forward(&on.stream(), &uploaded.scene, &culling, &out).unwrap();
        let radii = radii.read();
        let pairs = || radii.iter().zip(&expected_radii);
        // A radius is rounded up: f32 may be beyond a whole number where f64 is not.
        assert!(
            pairs().all(|(got, expected)| (got - expected).abs() <= 1),
            "{radii:?}"
        );
        let other = pairs().filter(|(got, expected)| got != expected).count();
        assert!(other * 100 <= radii.len(), "{other} radii differ");
        let names = ["means2d", "depths", "conics", "compensations"];
        for ((name, out), expected) in names.iter().zip(&outs).zip(&expected) {
            assert_close(name, &out.written(), expected, 1e-4);
        }
        let culled = expected_radii.iter().filter(|&&radius| radius == 0).count();
        let is_mixed = culled > 0 && culled < expected_radii.len();
        assert!(is_mixed || radii.is_empty(), "{culled} culled");
    }
}

#[test]
fn splats_are_those_of_the_cpu() {
    let Some(on) = fixture() else { return };
    for models in MODELS {
        check_splats(&on, &World::new(137), ewa(models), &FORMS);
    }
    check_splats(&on, &World::new(0), ewa(MODELS[0]), &FORMS);
}

/// What a Gaussian that is not a number gets.
#[test]
fn a_gaussian_that_is_no_number_is_culled() {
    let Some(on) = fixture() else { return };
    let mut world = World::new(4);
    world.means[0] = f64::NAN;
    world.scales[3] = f64::INFINITY;
    world.quats[8] = f64::NAN;
    for models in MODELS {
        check_splats(&on, &world, ewa(models), &FORMS);
    }
}

/// Gradients in f64 of Gaussians (means, covars or quats, scales) and cameras (viewmats, Ks).
fn plain_gradients(
    world: &World,
    scene: &plain::Scene<'_, f64>,
    (radii, [_, _, conics, compensations]): &PlainSplats,
    v: &[Vec<f64>; 4],
) -> [Vec<f64>; 6] {
    let (rows, cameras) = (
        world.batches * world.gaussians,
        world.batches * world.cameras,
    );
    let input = plain::Backward {
        radii,
        conics,
        compensations: Some(compensations),
        v_means2d: &v[0],
        v_depths: Some(&v[1]),
        v_conics: &v[2],
        v_compensations: Some(&v[3]),
    };
    let sizes = [
        3 * rows,
        6 * rows,
        4 * rows,
        3 * rows,
        16 * cameras,
        9 * cameras,
    ];
    let mut out = sizes.map(|size| vec![f64::NAN; size]);
    let [v_means, v_covars, v_quats, v_scales, v_viewmats, v_ks] = &mut out;
    let gradients = plain::Gradients {
        v_means: Some(v_means),
        v_covars: Some(v_covars),
        v_quats: Some(v_quats),
        v_scales: Some(v_scales),
        v_viewmats: Some(v_viewmats),
        v_ks: Some(v_ks),
    };
    plain::backward(scene, &input, gradients).unwrap();
    out
}

fn check_gradients(on: &Fixture, world: &World, models: Models<'_>, is_covars: bool) {
    let scene = world.plain(models.1, is_covars);
    let splats = plain_splats(world, &scene, plain::RadiusRule::Gsplat15);
    let mut numbers = Numbers::new(23);
    let count = world.splats();
    let v = [2, 1, 3, 1].map(|width| numbers.many(width * count, -1.0, 1.0));
    let expected = plain_gradients(world, &scene, &splats, &v);

    let uploaded = upload(on, world, models.0, is_covars);
    let radii = on.tensor(&splats.0);
    let [conics, compensations] = [2, 3].map(|i| on.floats(&splats.1[i]));
    let v = v.map(|values| on.floats(&values));
    let [v_means2d, v_depths, v_conics, v_compensations] = v.each_ref().map(Tensor::slice);
    let of_splats = SplatGradients {
        radii: radii.slice(),
        conics: conics.slice(),
        compensations: Some(compensations.slice()),
        v_means2d,
        v_depths: Some(v_depths),
        v_conics,
        v_compensations: Some(v_compensations),
    };
    let outs = expected
        .each_ref()
        .map(|values| on.out::<f32>(values.len()));
    let [v_means, v_covars, v_quats, v_scales, v_viewmats, v_ks] =
        outs.each_ref().map(|out| Some(out.slice()));
    let out = GaussianGradients {
        v_means,
        v_covars,
        v_quats,
        v_scales,
        v_viewmats,
        v_ks,
    };
    backward(&on.stream(), &uploaded.scene, &of_splats, &out).unwrap();
    let names = [
        "v_means",
        "v_covars",
        "v_quats",
        "v_scales",
        "v_viewmats",
        "v_Ks",
    ];
    for ((name, out), expected) in names.iter().zip(&outs).zip(&expected) {
        let name = format!("{name} of {:?}", models.0);
        assert_close(&name, &out.written(), expected, 1e-3);
    }
}

#[test]
fn gradients_are_those_of_the_cpu() {
    let Some(on) = fixture() else { return };
    for models in MODELS {
        let world = World::new(150);
        check_gradients(&on, &world, ewa(models), false);
        check_gradients(&on, &world, ewa(models), true);
    }
    check_gradients(&on, &World::new(0), ewa(MODELS[0]), false);
}

#[test]
fn accesses_are_right() {
    let Some(device) = emulator_with(true) else {
        return;
    };
    let on = Fixture::on(Arc::new(device));
    check_gradients(&on, &World::new(140), ewa(MODELS[0]), false);
}

#[test]
fn missing_compensations_are_told() {
    let Some(on) = fixture() else { return };
    let world = World::new(1);
    let uploaded = upload(&on, &world, Model::Ewa(CameraModel::Pinhole), true);
    let (ints, floats) = (on.out::<i32>(12), on.out::<f32>(18));
    let splats = SplatGradients {
        radii: ints.slice(),
        conics: floats.slice(),
        compensations: None,
        v_means2d: floats.slice(),
        v_depths: Some(floats.slice()),
        v_conics: floats.slice(),
        v_compensations: Some(floats.slice()),
    };
    let out = GaussianGradients::default();
    let error = backward(&on.stream(), &uploaded.scene, &splats, &out).unwrap_err();
    assert!(
        error.to_string().contains("compensations is not"),
        "{error}"
    );
}
