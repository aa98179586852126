//! `antialias`: Mip-Splatting's 2D filter (Yu et al. 2024, section 4.2, eq. 10), a part of
//! `project` and of `project_backward`: opacity times sqrt(det C / det (C + 0.3 I)). Twin:
//! `splatcore_reference::twin::antialias`.
//!
//! det C comes from the Gaussian and not from the entries of C, of which f32 leaves nothing for a
//! needle. With Sigma = R S² Rᵀ, T = J W and n the cross product of T's two rows, det(T Sigma Tᵀ) =
//! |det(S) S^-1 Rᵀ n|²: three squares.

use crate::camera::KernelCamera;
use crate::geometry::Geometry;
use crate::simd::{Lanes, Mask, constant as c};
use splatcore_core::semantics::COMPENSATION_MIN;

/// The filter's factor on the opacity, a Gaussian a lane.
pub(crate) struct Compensation<L: Lanes> {
    /// The square of the factor, from its floor to 1.
    ratio: L,
    /// Whether it is above the floor.
    free: L::Mask,
    /// det C.
    determinant: L,
    /// Product of the two other scales, for each axis of the Gaussian.
    areas: [L; 3],
    /// n along each axis of the Gaussian.
    along: [L; 3],
    /// n, world axes.
    normal: [L; 3],
    /// d n / d(x/z) = d n / d(y/z), view axes.
    slope: L,
}

/// What the factor adds to the gradients.
pub(crate) struct Pull<L> {
    /// With respect to the projected covariance, as much of its inverse.
    pub inverse: L,
    /// With respect to the log scales.
    pub log_scales: [L; 3],
    /// With respect to the rotation matrix.
    pub rotation: [[L; 3]; 3],
    /// With respect to the view-space position.
    pub view: [L; 3],
    /// With respect to x/z and y/z as the Jacobian uses them.
    pub ratios: [L; 2],
}

impl<L: Lanes> Compensation<L> {
    /// Of the Gaussians of `g`.
    #[inline(always)]
    pub fn new(g: &Geometry<L>, camera: &KernelCamera) -> Self {
        let w = &camera.rotation;
        let [x, y] = [g.clamped[0] * g.inverse_z, g.clamped[1] * g.inverse_z];
        let slope =
            c::<L>(camera.focal[0] as f64 * camera.focal[1] as f64) * g.inverse_z * g.inverse_z;
        let mut normal = [L::splat(0.0); 3];
        for i in 0..3 {
            let along = x.mul_add(
                L::splat(w[0][i]),
                y.mul_add(L::splat(w[1][i]), L::splat(w[2][i])),
            );
            normal[i] = slope * along;
        }
        let [a, b, d] = g.scales;
        let areas = [b * d, a * d, a * b];
        let (mut along, mut parts) = ([L::splat(0.0); 3], [L::splat(0.0); 3]);
        for k in 0..3 {
            let r = &g.rotation;
            along[k] = r[0][k].mul_add(normal[0], r[1][k].mul_add(normal[1], r[2][k] * normal[2]));
            parts[k] = areas[k] * along[k];
        }
        let determinant =
            parts[0].mul_add(parts[0], parts[1].mul_add(parts[1], parts[2] * parts[2]));
        let ratio = determinant / g.determinant;
        let floor = c::<L>(COMPENSATION_MIN);
        let free = ratio.ge(floor);
        // Both determinants of a splat that is larger than numbers go may be infinite: it loses
        // nothing.
        let lost = floor
            .ge(floor)
            .and_not(L::splat(f32::MAX).ge(g.determinant));
        Self {
            ratio: L::select(lost, L::splat(1.0), ratio.max(floor).min(L::splat(1.0))),
            free: free.and_not(lost),
            determinant,
            areas,
            along,
            normal,
            slope,
        }
    }

    /// log2 of the factor.
    #[inline(always)]
    pub fn log2_factor(&self) -> L {
        let mut lanes = [1.0f32; 16];
        self.ratio.store(&mut lanes);
        for lane in &mut lanes[..L::WIDTH] {
            *lane = 0.5 * lane.log2();
        }
        L::load(&lanes)
    }

    /// Gradients, given the one with respect to ln opacity.
    #[inline(always)]
    pub fn backward(&self, gradient: L, g: &Geometry<L>, camera: &KernelCamera) -> Pull<L> {
        let w = &camera.rotation;
        let gradient = gradient.where_set(self.free);
        let inverse = (L::splat(1.0) / self.determinant).where_set(self.free) * gradient;
        let mut log_scales = [gradient; 3];
        let mut rotation = [[L::splat(0.0); 3]; 3];
        let mut d_normal = [L::splat(0.0); 3];
        for k in 0..3 {
            let square = (self.areas[k] * inverse * self.areas[k]).where_set(self.free);
            let own = self.along[k].where_set(self.free);
            let along = square * own;
            // Each scale is in two of the three squares.
            log_scales[k] = gradient - along * own;
            for i in 0..3 {
                // In this order, so that what a sphere gets is symmetric to the last bit: it has no
                // rotation to change.
                rotation[i][k] = square * (own * self.normal[i].where_set(self.free));
                d_normal[i] = along.mul_add(g.rotation[i][k], d_normal[i]);
            }
        }
        // n = fx fy / z² Wᵀ (x/z, y/z, 1), and ln det C = 2 ln |n| + what its direction does.
        let mut view = [L::splat(0.0); 3];
        view[2] = -(gradient + gradient) * g.inverse_z;
        let mut ratios = [L::splat(0.0); 2];
        for i in 0..2 {
            let along = L::splat(w[i][0]) * d_normal[0]
                + L::splat(w[i][1]) * d_normal[1]
                + L::splat(w[i][2]) * d_normal[2];
            ratios[i] = along * self.slope;
            let d_ratio = ratios[i] * g.free[i] * g.inverse_z;
            view[i] = d_ratio;
            view[2] = view[2] - d_ratio * g.view[i] * g.inverse_z;
        }
        Pull {
            inverse: L::splat(-0.5) * gradient,
            log_scales,
            rotation,
            view,
            ratios,
        }
    }
}
