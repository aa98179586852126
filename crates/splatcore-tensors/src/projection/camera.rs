//! The camera models: where a mean in camera space is seen, and the Jacobian with which its
//! covariance is projected (EWA splatting, Zwicker et al. 2001), with their gradients.

use crate::Real;
use crate::linear::{Mat23, Vec3};
use splatcore_core::semantics::FRUSTUM_CLAMP;
use std::array::from_fn;

/// How a camera projects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CameraModel {
    /// Perspective. The Jacobian is evaluated inside 1.3 times the half field of view.
    Pinhole,
    /// Orthographic: focal lengths are pixels for each unit of length.
    Ortho,
    /// Equidistant fisheye: the distance from the centre is the focal length times the angle.
    Fisheye,
}

/// A camera's focal lengths and principal point in pixels. A skew is ignored, as gsplat does.
#[derive(Clone, Copy)]
pub(super) struct Intrinsics<F> {
    focal: [F; 2],
    centre: [F; 2],
    side: [F; 2],
}

/// What a camera sees of a mean: pixel and Jacobian.
pub(super) struct Seen<F> {
    pub mean2d: [F; 2],
    pub jacobian: Mat23<F>,
}

/// Gradients of a mean in camera space and of (fx, fy, cx, cy).
pub(super) struct Gradients<F> {
    pub mean: Vec3<F>,
    pub intrinsics: [F; 4],
}

impl<F: Real> Intrinsics<F> {
    /// Of a 3x3 matrix, row by row.
    pub fn new(k: &[F], width: u32, height: u32) -> Self {
        Self {
            focal: [k[0], k[4]],
            centre: [k[2], k[5]],
            side: [width, height].map(|side| F::of(side.into())),
        }
    }

    pub fn project(&self, model: CameraModel, mean: &Vec3<F>) -> Seen<F> {
        let radial = Radial::of(model, mean);
        let unscaled = radial.jacobian(self.jacobian_at(model, mean).0);
        Seen {
            mean2d: from_fn(|i| self.focal[i] * mean[i] * radial.stretch + self.centre[i]),
            jacobian: from_fn(|i| unscaled[i].map(|v| self.focal[i] * v)),
        }
    }

    /// Where (x, y) the Jacobian is evaluated, and the tangents at which it is held: a pinhole's,
    /// at the image's edges and beyond them 0.3 times half of the image's side.
    fn jacobian_at(&self, model: CameraModel, mean: &Vec3<F>) -> ([F; 2], [Option<F>; 2]) {
        let margin = F::of((FRUSTUM_CLAMP - 1.0) * 0.5);
        let held: [Option<F>; 2] = from_fn(|i| {
            let (focal, centre, side) = (self.focal[i], self.centre[i], self.side[i]);
            let beyond = margin * side / focal;
            let (low, high) = (-(centre / focal + beyond), (side - centre) / focal + beyond);
            let tangent = mean[i] / mean[2];
            let is_inside = model != CameraModel::Pinhole || (low..=high).contains(&tangent);
            (!is_inside).then(|| high.min(low.max(tangent)))
        });
        (
            from_fn(|i| held[i].map_or(mean[i], |limit| limit * mean[2])),
            held,
        )
    }

    /// The gradients from those of pixel and Jacobian.
    pub fn backward(
        &self,
        model: CameraModel,
        mean: &Vec3<F>,
        v_mean2d: [F; 2],
        v_jacobian: &Mat23<F>,
    ) -> Gradients<F> {
        let radial = Radial::of(model, mean);
        let (at, held) = self.jacobian_at(model, mean);
        let (of_pixel, unscaled) = (radial.jacobian([mean[0], mean[1]]), radial.jacobian(at));
        let mut out = Gradients {
            mean: [F::zero(); 3],
            intrinsics: [F::zero(); 4],
        };
        for i in 0..2 {
            let v = v_mean2d[i];
            out.intrinsics[2 + i] = v;
            out.intrinsics[i] = v * mean[i] * radial.stretch;
            for k in 0..3 {
                out.mean[k] += self.focal[i] * v * of_pixel[i][k];
                out.intrinsics[i] += v_jacobian[i][k] * unscaled[i][k];
            }
        }
        let scaled = from_fn(|i| v_jacobian[i].map(|v| self.focal[i] * v));
        let (v_at, [v_rho, v_z]) = radial.backward(at, &scaled);
        out.mean[2] += v_z;
        for i in 0..2 {
            out.mean[i] += F::of(2.0) * mean[i] * v_rho;
            // A limit is a number of pixels from the principal point, over the focal length.
            match held[i] {
                None => out.mean[i] += v_at[i],
                Some(limit) => {
                    let v_limit = v_at[i] * mean[2];
                    out.mean[2] += v_at[i] * limit;
                    out.intrinsics[i] -= v_limit * limit / self.focal[i];
                    out.intrinsics[2 + i] -= v_limit / self.focal[i];
                }
            }
        }
        out
    }
}

/// How a model projects about its axis: the pixel of (x, y, z) is (x, y) g for focal lengths of 1,
/// with g a function of rho = x² + y² and z, and with c = 2 dg/drho the Jacobian has the rows (g +
/// x² c, x y c, x dg/dz) and (x y c, g + y² c, y dg/dz).
///
/// Of a fisheye, with s = sqrt(rho), the angle from the axis theta = atan2(s, z) and r² = rho + z²,
/// g = theta / s.
struct Radial<F> {
    /// g.
    stretch: F,
    /// dg/dz.
    stretch_z: F,
    /// d²g/dz².
    stretch_zz: F,
    /// c.
    bend: F,
    /// dc/drho.
    bend_rho: F,
    /// dc/dz.
    bend_z: F,
}

impl<F: Real> Radial<F> {
    fn of(model: CameraModel, mean: &Vec3<F>) -> Self {
        let zero = F::zero();
        let straight = |stretch, stretch_z, stretch_zz| Self {
            stretch,
            stretch_z,
            stretch_zz,
            bend: zero,
            bend_rho: zero,
            bend_z: zero,
        };
        match model {
            CameraModel::Ortho => straight(F::one(), zero, zero),
            CameraModel::Fisheye => Self::fisheye(mean),
            CameraModel::Pinhole => {
                let inverse = mean[2].recip();
                let square = inverse * inverse;
                straight(inverse, -square, F::of(2.0) * inverse * square)
            }
        }
    }

    fn fisheye(mean: &Vec3<F>) -> Self {
        let [x, y, z] = *mean;
        let rho = x * x + y * y;
        let inverse = (rho + z * z).recip();
        let square = rho / (z * z);
        let (stretch, bend, bend_rho) = if z > F::zero() && square < F::of(0.05) {
            near_axis(z, square)
        } else {
            let s = rho.sqrt();
            let theta = s.atan2(z);
            let bend = (z * s * inverse - theta) / (rho * s);
            // d(z s / r² - theta)/drho = -s z / r⁴.
            let bend_rho = -(z * inverse * inverse + F::of(1.5) * bend) / rho;
            (theta / s, bend, bend_rho)
        };
        let bend_z = F::of(2.0) * inverse * inverse;
        Self {
            stretch,
            stretch_z: -inverse,
            stretch_zz: z * bend_z,
            bend,
            bend_rho,
            bend_z,
        }
    }

    /// The Jacobian at (x, y) for focal lengths of 1.
    fn jacobian(&self, [x, y]: [F; 2]) -> Mat23<F> {
        let across = x * y * self.bend;
        [
            [self.stretch + x * x * self.bend, across, x * self.stretch_z],
            [across, self.stretch + y * y * self.bend, y * self.stretch_z],
        ]
    }

    /// From the gradient g of the Jacobian at (x, y), those of (x, y) and of (rho, z).
    fn backward(&self, [x, y]: [F; 2], g: &Mat23<F>) -> ([F; 2], [F; 2]) {
        let two = F::of(2.0);
        let v_across = g[0][1] + g[1][0];
        let v_stretch = g[0][0] + g[1][1];
        let v_bend = x * x * g[0][0] + y * y * g[1][1] + x * y * v_across;
        let v_stretch_z = x * g[0][2] + y * g[1][2];
        let v_rho =
            v_bend * self.bend_rho + (v_stretch * self.bend + v_stretch_z * self.bend_z) / two;
        let v_z = v_stretch * self.stretch_z + v_bend * self.bend_z + v_stretch_z * self.stretch_zz;
        let v_at = [
            self.bend * (two * x * g[0][0] + y * v_across) + self.stretch_z * g[0][2],
            self.bend * (two * y * g[1][1] + x * v_across) + self.stretch_z * g[1][2],
        ];
        (v_at, [v_rho, v_z])
    }
}

/// A fisheye's g, c and dc/drho by power series in t² = rho / z², where differences would cancel.
/// With a_k = (-1)^k 2k / (2k + 1): c = sum of a_k t^(2k - 2) / z³, its derivative is the sum of (k
/// - 1) a_k t^(2k - 4) / z⁵, and g is the sum of (-1)^k t^(2k) / (2k + 1) / z.
fn near_axis<F: Real>(z: F, square: F) -> (F, F, F) {
    let (mut stretch, mut bend, mut bend_rho) = (F::zero(), F::zero(), F::zero());
    for k in (1..=13).rev() {
        let sign = if k % 2 == 0 { 1.0 } else { -1.0 };
        let k = f64::from(k);
        let a = sign * 2.0 * k / (2.0 * k + 1.0);
        stretch = stretch * square + F::of(sign / (2.0 * k + 1.0));
        bend = bend * square + F::of(a);
        if k > 1.0 {
            bend_rho = bend_rho * square + F::of((k - 1.0) * a);
        }
    }
    let cube = z * z * z;
    (
        (stretch * square + F::one()) / z,
        bend / cube,
        bend_rho / (cube * z * z),
    )
}
