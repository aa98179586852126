//! The camera models: where a mean in camera space is seen, and the Jacobian with which its
//! covariance is projected (EWA splatting, Zwicker et al. 2001), with their gradients.

use crate::Real;
use crate::linear::{Mat23, Vec3, zeros};
use splatcore_core::semantics::FRUSTUM_CLAMP;

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
    fx: F,
    fy: F,
    cx: F,
    cy: F,
    width: F,
    height: F,
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
            fx: k[0],
            fy: k[4],
            cx: k[2],
            cy: k[5],
            width: F::of(width.into()),
            height: F::of(height.into()),
        }
    }

    pub fn project(&self, model: CameraModel, mean: &Vec3<F>) -> Seen<F> {
        match model {
            CameraModel::Pinhole => self.pinhole(mean),
            CameraModel::Ortho => self.ortho(mean),
            CameraModel::Fisheye => self.fisheye(mean),
        }
    }

    /// The gradients from those of pixel and Jacobian.
    pub fn backward(
        &self,
        model: CameraModel,
        mean: &Vec3<F>,
        v_mean2d: [F; 2],
        v_jacobian: &Mat23<F>,
    ) -> Gradients<F> {
        match model {
            CameraModel::Pinhole => self.pinhole_backward(mean, v_mean2d, v_jacobian),
            CameraModel::Ortho => self.ortho_backward(mean, v_mean2d, v_jacobian),
            CameraModel::Fisheye => self.fisheye_backward(mean, v_mean2d, v_jacobian),
        }
    }

    /// The tangents between which the Jacobian is evaluated, in x and y: the image's edges, and
    /// beyond them 0.3 times half of the image's side.
    fn limits(&self) -> [[F; 2]; 2] {
        let beyond = F::of((FRUSTUM_CLAMP - 1.0) * 0.5);
        let axis = |centre: F, focal: F, side: F| {
            let margin = beyond * side / focal;
            [-(centre / focal + margin), (side - centre) / focal + margin]
        };
        [
            axis(self.cx, self.fx, self.width),
            axis(self.cy, self.fy, self.height),
        ]
    }

    fn pinhole(&self, mean: &Vec3<F>) -> Seen<F> {
        let [x, y, z] = *mean;
        let inverse = z.recip();
        let [limit_x, limit_y] = self.limits();
        let clamp = |tangent: F, [low, high]: [F; 2]| high.min(low.max(tangent));
        let (tx, ty) = (clamp(x * inverse, limit_x), clamp(y * inverse, limit_y));
        let (fx, fy) = (self.fx * inverse, self.fy * inverse);
        Seen {
            mean2d: [fx * x + self.cx, fy * y + self.cy],
            jacobian: [[fx, F::zero(), -fx * tx], [F::zero(), fy, -fy * ty]],
        }
    }

    fn pinhole_backward(&self, mean: &Vec3<F>, v_mean2d: [F; 2], v_j: &Mat23<F>) -> Gradients<F> {
        let z = mean[2];
        let inverse = z.recip();
        let mut out = Gradients {
            mean: [F::zero(); 3],
            intrinsics: [F::zero(); 4],
        };
        let (focals, limits) = ([self.fx, self.fy], self.limits());
        for axis in 0..2 {
            let (focal, [low, high]) = (focals[axis] * inverse, limits[axis]);
            let tangent = mean[axis] * inverse;
            let (v_pixel, v_focal, v_shear) = (v_mean2d[axis], v_j[axis][axis], v_j[axis][2]);
            out.mean[axis] += focal * v_pixel;
            out.mean[2] -= focal * (tangent * v_pixel + v_focal * inverse);
            out.intrinsics[axis] += tangent * v_pixel + v_focal * inverse;
            out.intrinsics[2 + axis] += v_pixel;
            // The shear is -focal tangent / z. At a limit, focal times the tangent is a distance
            // in the image from the principal point, so the focal length has no part in it.
            if (low..=high).contains(&tangent) {
                out.mean[axis] -= focal * inverse * v_shear;
                out.mean[2] += F::of(2.0) * focal * tangent * inverse * v_shear;
                out.intrinsics[axis] -= tangent * inverse * v_shear;
            } else {
                let limit = high.min(low.max(tangent));
                out.mean[2] += focal * limit * inverse * v_shear;
                out.intrinsics[2 + axis] += inverse * v_shear;
            }
        }
        out
    }

    fn ortho(&self, mean: &Vec3<F>) -> Seen<F> {
        let mut jacobian = zeros();
        (jacobian[0][0], jacobian[1][1]) = (self.fx, self.fy);
        Seen {
            mean2d: [self.fx * mean[0] + self.cx, self.fy * mean[1] + self.cy],
            jacobian,
        }
    }

    fn ortho_backward(&self, mean: &Vec3<F>, v_mean2d: [F; 2], v_j: &Mat23<F>) -> Gradients<F> {
        let [x, y] = v_mean2d;
        Gradients {
            mean: [self.fx * x, self.fy * y, F::zero()],
            intrinsics: [mean[0] * x + v_j[0][0], mean[1] * y + v_j[1][1], x, y],
        }
    }

    /// The Jacobian for focal lengths of 1.
    fn fisheye_unscaled(mean: &Vec3<F>, ring: &Ring<F>) -> Mat23<F> {
        let [x, y, _] = *mean;
        let across = x * y * ring.bend;
        [
            [ring.stretch + x * x * ring.bend, across, -x * ring.inverse],
            [across, ring.stretch + y * y * ring.bend, -y * ring.inverse],
        ]
    }

    fn fisheye(&self, mean: &Vec3<F>) -> Seen<F> {
        let ring = Ring::of(mean);
        let [row_x, row_y] = Self::fisheye_unscaled(mean, &ring);
        Seen {
            mean2d: [
                self.fx * mean[0] * ring.stretch + self.cx,
                self.fy * mean[1] * ring.stretch + self.cy,
            ],
            jacobian: [row_x.map(|v| self.fx * v), row_y.map(|v| self.fy * v)],
        }
    }

    fn fisheye_backward(&self, mean: &Vec3<F>, v_mean2d: [F; 2], v_j: &Mat23<F>) -> Gradients<F> {
        let [x, y, z] = *mean;
        let ring = Ring::of(mean);
        let unscaled = Self::fisheye_unscaled(mean, &ring);
        let mut out = Gradients {
            mean: [F::zero(); 3],
            intrinsics: [F::zero(); 4],
        };
        let focals = [self.fx, self.fy];
        for axis in 0..2 {
            let v = v_mean2d[axis];
            out.intrinsics[2 + axis] += v;
            out.intrinsics[axis] += v * mean[axis] * ring.stretch;
            for k in 0..3 {
                out.mean[k] += focals[axis] * v * unscaled[axis][k];
                out.intrinsics[axis] += v_j[axis][k] * unscaled[axis][k];
            }
        }
        // Gradients of what `fisheye_unscaled` is made of.
        let g: Mat23<F> = std::array::from_fn(|i| v_j[i].map(|v| focals[i] * v));
        let v_across = g[0][1] + g[1][0];
        let v_stretch = g[0][0] + g[1][1];
        let v_bend = x * x * g[0][0] + y * y * g[1][1] + x * y * v_across;
        let v_inverse = -(x * g[0][2] + y * g[1][2]);
        let two = F::of(2.0);
        out.mean[0] += ring.bend * (two * x * g[0][0] + y * v_across) - ring.inverse * g[0][2];
        out.mean[1] += ring.bend * (two * y * g[1][1] + x * v_across) - ring.inverse * g[1][2];
        let square = ring.inverse * ring.inverse;
        let v_rho = v_stretch * ring.bend / two + v_bend * ring.bend_rho - v_inverse * square;
        out.mean[0] += two * x * v_rho;
        out.mean[1] += two * y * v_rho;
        out.mean[2] += two * (v_bend - z * v_inverse) * square - v_stretch * ring.inverse;
        out
    }
}

/// The functions of rho = x² + y² and z that make a fisheye's projection. With s = sqrt(rho), the
/// angle from the axis theta = atan2(s, z) and r² = rho + z²: the pixel is x g, y g, and the
/// Jacobian is made of g, x² c, x y c, y² c, x / r², y / r².
///
/// Their derivatives: dg/drho = c / 2, dg/dz = -1 / r², dc/dz = 2 / r⁴.
struct Ring<F> {
    /// g = theta / s.
    stretch: F,
    /// c = (z s / r² - theta) / s³.
    bend: F,
    /// dc/drho.
    bend_rho: F,
    /// 1 / r².
    inverse: F,
}

impl<F: Real> Ring<F> {
    fn of(mean: &Vec3<F>) -> Self {
        let [x, y, z] = *mean;
        let rho = x * x + y * y;
        let inverse = (rho + z * z).recip();
        let square = rho / (z * z);
        if z > F::zero() && square < F::of(0.05) {
            return Self::near_axis(z, square, inverse);
        }
        let s = rho.sqrt();
        let theta = s.atan2(z);
        let cube = rho * s;
        let bend = (z * s * inverse - theta) / cube;
        // d(z s / r² - theta)/drho = -s z / r⁴.
        let bend_rho = -(z * inverse * inverse + F::of(1.5) * bend) / rho;
        Self {
            stretch: theta / s,
            bend,
            bend_rho,
            inverse,
        }
    }

    /// Power series in t² = rho / z², where the differences above would cancel. With
    /// a_k = (-1)^k 2k / (2k + 1): c = sum of a_k t^(2k - 2) / z³, its derivative is the sum of
    /// (k - 1) a_k t^(2k - 4) / z⁵, and g is the sum of (-1)^k t^(2k) / (2k + 1) / z.
    fn near_axis(z: F, square: F, inverse: F) -> Self {
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
        Self {
            stretch: (stretch * square + F::one()) / z,
            bend: bend / cube,
            bend_rho: bend_rho / (cube * z * z),
            inverse,
        }
    }
}
