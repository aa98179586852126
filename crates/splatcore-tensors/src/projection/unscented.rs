//! Splats through lenses and rolling shutters, by the transform that the engine has
//! ([`splatcore_core::lens::Unscented`]), in double precision whatever the tensors are.

use super::scene::{Culling, Flat, Of, Scene, Upstream};
use crate::error::wrong;
use crate::linear::{Mat3, Vec3};
use crate::{Real, Result};
use splatcore_core::Camera;
use splatcore_core::lens::{Projection, Unscented};
use std::array::from_fn;

/// A camera.
pub(super) struct Through {
    projection: Projection,
    rotation: Mat3<f64>,
    translation: Vec3<f64>,
}

impl Through {
    /// # Errors
    /// A camera that cannot be, or a lens that is no polynomial.
    pub fn new(camera: &Camera) -> Result<Self> {
        if let Some(defect) = camera.defect() {
            return wrong("cameras", "possible", defect);
        }
        let Some(projection) = Projection::new(camera) else {
            return wrong("cameras", "those of polynomial lenses", camera.lens.name());
        };
        Ok(Self {
            projection,
            rotation: camera.rotation,
            translation: camera.translation,
        })
    }

    /// A Gaussian in the image; `None` if the lens does not see it, or it is not between the
    /// planes.
    pub fn flat<F: Real>(
        &self,
        scene: &Scene<'_, F>,
        gaussian: usize,
        culling: &Culling<F>,
    ) -> Option<Flat<F>> {
        let (view, rotation, scales) = self.view(scene, gaussian)?;
        let depth = F::of(self.projection.depth(view));
        if !culling.keeps(depth) {
            return None;
        }
        let splat = Unscented::new(&self.projection, &self.rotation, view, &rotation, scales)?;
        let [xx, xy, yy] = splat.covariance.map(F::of);
        Some(Flat {
            depth,
            mean2d: splat.mean.map(F::of),
            covariance: [[xx, xy], [xy, yy]],
        })
    }

    /// The gradients of one splat; zeros if there is none.
    pub fn of_splat<F: Real>(
        &self,
        scene: &Scene<'_, F>,
        gaussian: usize,
        upstream: &Upstream<F>,
    ) -> Of<F> {
        self.of_seen(scene, gaussian, upstream).unwrap_or(Of {
            mean: [F::zero(); 3],
            shape: [[F::zero(); 3]; 3],
            rotation: [[F::zero(); 3]; 3],
            translation: [F::zero(); 3],
            intrinsics: [F::zero(); 4],
        })
    }

    fn of_seen<F: Real>(
        &self,
        scene: &Scene<'_, F>,
        gaussian: usize,
        upstream: &Upstream<F>,
    ) -> Option<Of<F>> {
        let (view, rotation, scales) = self.view(scene, gaussian)?;
        let splat = Unscented::new(&self.projection, &self.rotation, view, &rotation, scales)?;
        let d_mean = upstream.mean2d.map(F::wide);
        let [[xx, xy], [_, yy]] = upstream.covariance.map(|row| row.map(F::wide));
        let mut by_view = splat.backward(&self.projection, d_mean, [xx, xy, yy]);
        let by_depth = self.projection.depth_gradient(view);
        for (mean, slope) in by_view.mean.iter_mut().zip(by_depth) {
            *mean += upstream.depth.wide() * slope;
        }
        let numbers = splat.intrinsics(&self.projection, d_mean, [xx, xy, yy]);
        let [fx, fy] = self.projection.focal;
        let intrinsics = [numbers[0] / fx, numbers[1] / fy, numbers[2], numbers[3]];
        // view = R mean + t; axis k of the Gaussian is R times its scaled axis in the world.
        let mean = scene.mean(gaussian).map(F::wide);
        let turn = |i: usize, j: usize| -> f64 {
            let axes = (0..3).map(|k| by_view.axes[k][i] * rotation[j][k] * scales[k]);
            by_view.mean[i] * mean[j] + axes.sum::<f64>()
        };
        let by_world = by_view.in_world(&self.rotation);
        Some(Of {
            mean: by_world.mean.map(F::of),
            shape: from_fn(|i| from_fn(|k| F::of(by_world.axes[k][i]))),
            rotation: from_fn(|i| from_fn(|j| F::of(turn(i, j)))),
            translation: by_view.mean.map(F::of),
            intrinsics: intrinsics.map(F::of),
        })
    }

    /// A Gaussian's mean in camera axes, its rotation and its scales.
    fn view<F: Real>(
        &self,
        scene: &Scene<'_, F>,
        gaussian: usize,
    ) -> Option<(Vec3<f64>, Mat3<f64>, Vec3<f64>)> {
        let (rotation, scales) = scene.shapes.axes(gaussian)?;
        let mean = scene.mean(gaussian).map(F::wide);
        let (w, t) = (&self.rotation, self.translation);
        let view = from_fn(|i| w[i][0] * mean[0] + w[i][1] * mean[1] + w[i][2] * mean[2] + t[i]);
        Some((
            view,
            rotation.map(|row| row.map(F::wide)),
            scales.map(F::wide),
        ))
    }
}
