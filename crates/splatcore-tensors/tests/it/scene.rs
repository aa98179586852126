//! Gaussians and cameras for tests.

use crate::support::Numbers;
use splatcore_tensors::projection::{
    CameraModel, Culling, Model, RadiusRule, Scene, Splats, forward,
};
use splatcore_tensors::quat_scale::Shapes;
use splatcore_tensors::{Real, Result};

/// An image's size.
pub const WIDTH: u32 = 50;
/// See [`WIDTH`].
pub const HEIGHT: u32 = 40;

/// Two batches of two cameras and some Gaussians, all of which are seen.
#[derive(Clone)]
pub struct World {
    pub n: usize,
    pub means: Vec<f64>,
    pub quats: Vec<f64>,
    pub scales: Vec<f64>,
    pub covars: Option<Vec<f64>>,
    pub viewmats: Vec<f64>,
    pub ks: Vec<f64>,
    pub model: CameraModel,
}

pub const BATCHES: usize = 2;
pub const CAMERAS: usize = 2;

impl World {
    pub fn new(seed: u64, n: usize, model: CameraModel) -> Self {
        let mut numbers = Numbers::new(seed);
        let mut viewmats = Vec::new();
        let mut ks = Vec::new();
        for _ in 0..BATCHES * CAMERAS {
            // Not quite a rotation: the gradient is for any matrix.
            let t = numbers.within(12, -0.1, 0.1);
            #[rustfmt::skip]
            viewmats.extend([
                1.0 + t[0], t[1], t[2], t[3],
                t[4], 1.0 + t[5], t[6], t[7],
                t[8], t[9], 1.0 + t[10], 4.0 + t[11],
                0.0, 0.0, 0.0, 1.0,
            ]);
            let k = numbers.within(4, -2.0, 2.0);
            let focal = if model == CameraModel::Ortho {
                12.0
            } else {
                45.0
            };
            #[rustfmt::skip]
            ks.extend([
                focal + k[0], 0.0, 25.0 + k[1],
                0.0, focal + k[2], 20.0 + k[3],
                0.0, 0.0, 1.0,
            ]);
        }
        Self {
            n,
            means: numbers.within(BATCHES * n * 3, -1.0, 1.0),
            quats: numbers.within(BATCHES * n * 4, -1.0, 1.0),
            scales: numbers.within(BATCHES * n * 3, 0.1, 0.4),
            covars: None,
            viewmats,
            ks,
            model,
        }
    }

    pub fn scene(&self) -> Scene<'_, f64> {
        Scene {
            batches: BATCHES,
            cameras: CAMERAS,
            gaussians: self.n,
            means: &self.means,
            shapes: match &self.covars {
                Some(covars) => Shapes::Covars(covars),
                None => Shapes::QuatScale(&self.quats, &self.scales),
            },
            viewmats: &self.viewmats,
            ks: &self.ks,
            width: WIDTH,
            height: HEIGHT,
            eps2d: 0.3,
            model: Model::Ewa(self.model),
        }
    }

    pub fn splats(&self) -> Projected<f64> {
        Projected::of(&self.scene(), None, RadiusRule::Gsplat15).expect("a world that fits")
    }
}

/// What a forward projection writes.
#[derive(Debug, PartialEq)]
pub struct Projected<F> {
    pub radii: Vec<i32>,
    pub means2d: Vec<F>,
    pub depths: Vec<F>,
    pub conics: Vec<F>,
    pub compensations: Vec<F>,
}

impl<F: Real> Projected<F> {
    pub fn of(scene: &Scene<'_, F>, opacities: Option<&[F]>, rule: RadiusRule) -> Result<Self> {
        let count = scene.batches * scene.cameras * scene.gaussians;
        let mut out = Self {
            radii: vec![-1; 2 * count],
            means2d: vec![F::nan(); 2 * count],
            depths: vec![F::nan(); count],
            conics: vec![F::nan(); 3 * count],
            compensations: vec![F::nan(); count],
        };
        let culling = Culling {
            near_plane: F::of(0.01),
            far_plane: F::of(1e10),
            radius_clip: F::zero(),
            rule,
        };
        let splats = Splats {
            radii: &mut out.radii,
            means2d: &mut out.means2d,
            depths: &mut out.depths,
            conics: &mut out.conics,
            compensations: Some(&mut out.compensations),
        };
        forward(scene, opacities, &culling, splats)?;
        Ok(out)
    }
}
