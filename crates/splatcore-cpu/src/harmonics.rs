//! Spherical harmonics and their gradient, a Gaussian a lane.

use crate::camera::KernelCamera;
use crate::simd::{Lanes, constant as c};
use splatcore_core::sh;

/// Unit vector from the camera to the mean, and 1 / distance.
#[inline(always)]
pub(crate) fn direction<L: Lanes>(mean: &[L; 3], camera: &KernelCamera) -> ([L; 3], L) {
    let d = [
        mean[0] - L::splat(camera.position[0]),
        mean[1] - L::splat(camera.position[1]),
        mean[2] - L::splat(camera.position[2]),
    ];
    let square = d[0].mul_add(d[0], d[1].mul_add(d[1], d[2] * d[2]));
    let inverse = L::splat(1.0) / square.max(L::splat(1e-30)).sqrt();
    ([d[0] * inverse, d[1] * inverse, d[2] * inverse], inverse)
}

/// The basis of [`splatcore_core::sh::basis`] up to `degree`; the rest of the array is 0.
#[inline(always)]
pub(crate) fn sh_basis<L: Lanes>(degree: u8, [x, y, z]: [L; 3]) -> [L; 16] {
    let mut b = [L::splat(0.0); 16];
    b[0] = c::<L>(sh::C0);
    if degree >= 1 {
        b[1] = c::<L>(-sh::C1) * y;
        b[2] = c::<L>(sh::C1) * z;
        b[3] = c::<L>(-sh::C1) * x;
    }
    let (xx, yy, zz) = (x * x, y * y, z * z);
    if degree >= 2 {
        b[4] = c::<L>(sh::C2[0]) * x * y;
        b[5] = c::<L>(sh::C2[1]) * y * z;
        b[6] = c::<L>(sh::C2[2]) * (zz + zz - xx - yy);
        b[7] = c::<L>(sh::C2[3]) * x * z;
        b[8] = c::<L>(sh::C2[4]) * (xx - yy);
    }
    if degree >= 3 {
        let five = zz.mul_add(L::splat(4.0), -(xx + yy));
        b[9] = c::<L>(sh::C3[0]) * y * (c::<L>(3.0) * xx - yy);
        b[10] = c::<L>(sh::C3[1]) * x * y * z;
        b[11] = c::<L>(sh::C3[2]) * y * five;
        b[12] = c::<L>(sh::C3[3]) * z * (zz + zz - c::<L>(3.0) * (xx + yy));
        b[13] = c::<L>(sh::C3[4]) * x * five;
        b[14] = c::<L>(sh::C3[5]) * z * (xx - yy);
        b[15] = c::<L>(sh::C3[6]) * x * (xx - c::<L>(3.0) * yy);
    }
    b
}

/// Gradient with respect to the direction, given the gradient `w[k]` with respect to each basis
/// function.
#[inline(always)]
pub(crate) fn sh_backward<L: Lanes>(degree: u8, [x, y, z]: [L; 3], w: &[L; 16]) -> [L; 3] {
    let mut d = [
        c::<L>(-sh::C1) * w[3],
        c::<L>(-sh::C1) * w[1],
        c::<L>(sh::C1) * w[2],
    ];
    let two = c::<L>(2.0);
    if degree >= 2 {
        let (a, b, e, f, g) = (
            c::<L>(sh::C2[0]) * w[4],
            c::<L>(sh::C2[1]) * w[5],
            c::<L>(sh::C2[2]) * w[6],
            c::<L>(sh::C2[3]) * w[7],
            c::<L>(sh::C2[4]) * w[8],
        );
        d[0] = d[0] + a * y - two * e * x + f * z + two * g * x;
        d[1] = d[1] + a * x + b * z - two * e * y - two * g * y;
        d[2] = d[2] + b * y + c::<L>(4.0) * e * z + f * x;
    }
    if degree >= 3 {
        let (xx, yy, zz) = (x * x, y * y, z * z);
        let mut t = [L::splat(0.0); 7];
        for k in 0..7 {
            t[k] = c::<L>(sh::C3[k]) * w[9 + k];
        }
        let (three, four, six, eight) = (c::<L>(3.0), c::<L>(4.0), c::<L>(6.0), c::<L>(8.0));
        d[0] = d[0] + six * t[0] * x * y + t[1] * y * z - two * t[2] * x * y - six * t[3] * x * z
            + t[4] * (four * zz - three * xx - yy)
            + two * t[5] * x * z
            + three * t[6] * (xx - yy);
        d[1] =
            d[1] + three * t[0] * (xx - yy) + t[1] * x * z + t[2] * (four * zz - xx - three * yy)
                - six * t[3] * y * z
                - two * t[4] * x * y
                - two * t[5] * y * z
                - six * t[6] * x * y;
        d[2] = d[2]
            + t[1] * x * y
            + eight * t[2] * y * z
            + t[3] * (six * zz - three * xx - three * yy)
            + eight * t[4] * x * z
            + t[5] * (xx - yy);
    }
    d
}
