//! Covariances and precisions from quaternions and scales ("3D Gaussian Splatting", equation 6):
//! R S Sᵀ Rᵀ and R S⁻¹ S⁻ᵀ Rᵀ. Quaternions are (w, x, y, z) of any length.

use crate::error::{check_len, check_maybe, wrong};
use crate::linear::{
    Mat3, Vec3, covariance, covariance_backward, factor_backward, from_triangle, rotation,
    triangle_gradient,
};
use crate::parallel::{ROWS, Work, pieces, row_of};
use crate::{Real, Result};
use rayon::prelude::*;

/// Gaussians' shapes.
#[derive(Clone, Copy, Debug)]
pub struct QuatScale<'a, F> {
    /// `[n, 4]`.
    pub quats: &'a [F],
    /// `[n, 3]`.
    pub scales: &'a [F],
    /// Whether a matrix is its upper triangle (00, 01, 02, 11, 12, 22), else all nine values.
    pub triu: bool,
}

impl<F: Real> QuatScale<'_, F> {
    fn check(&self) -> Result<(usize, usize)> {
        let n = self.scales.len() / 3;
        check_len("scales", self.scales, &[n, 3])?;
        check_len("quats", self.quats, &[n, 4])?;
        Ok((n, if self.triu { 6 } else { 9 }))
    }

    fn row(&self, i: usize) -> (&[F], Vec3<F>) {
        let scale = [0, 1, 2].map(|k| self.scales[3 * i + k]);
        (&self.quats[4 * i..][..4], scale)
    }
}

fn write<F: Real>(out: Option<&mut [F]>, m: impl FnOnce() -> Mat3<F>) {
    match out {
        Some(out) if out.len() == 6 => {
            let m = m();
            out.copy_from_slice(&[m[0][0], m[0][1], m[0][2], m[1][1], m[1][2], m[2][2]]);
        }
        Some(out) => out.copy_from_slice(m().as_flattened()),
        None => {}
    }
}

/// The covariances and precisions that are asked for, `[n, 3, 3]` or `[n, 6]`.
///
/// # Errors
/// A length that does not fit.
pub fn forward<F: Real>(
    input: &QuatScale<'_, F>,
    covars: Option<&mut [F]>,
    precis: Option<&mut [F]>,
) -> Result {
    let (n, width) = input.check()?;
    check_maybe("covars", covars.as_deref(), &[n, width])?;
    check_maybe("precis", precis.as_deref(), &[n, width])?;
    let count = n.div_ceil(ROWS);
    let covars = pieces(covars, width, ROWS, count);
    let precis = pieces(precis, width, ROWS, count);
    let outputs = covars.into_par_iter().zip(precis).enumerate();
    outputs.each(|(piece, (mut covars, mut precis))| {
        let first = piece * ROWS;
        for i in first..n.min(first + ROWS) {
            let (quat, scale) = input.row(i);
            write(row_of(&mut covars, i - first, width), || {
                covariance(quat, &scale)
            });
            write(row_of(&mut precis, i - first, width), || {
                covariance(quat, &scale.map(F::recip))
            });
        }
    });
    Ok(())
}

/// The gradient of a matrix from that of what [`forward`] writes. Both halves of an off-diagonal
/// value of a triangle get half of its gradient.
fn gradient<F: Real>(values: &[F], width: usize, i: usize) -> Mat3<F> {
    let row = &values[width * i..][..width];
    match width {
        6 => {
            let half = F::of(0.5);
            let mut halved: [F; 6] = std::array::from_fn(|k| row[k]);
            [1, 2, 4].iter().for_each(|&k| halved[k] *= half);
            from_triangle(&halved)
        }
        _ => std::array::from_fn(|r| std::array::from_fn(|c| row[3 * r + c])),
    }
}

/// The gradients `[n, 4]` and `[n, 3]` from those of covariances and precisions, each as
/// [`forward`] writes them.
///
/// # Errors
/// A length that does not fit.
pub fn backward<F: Real>(
    input: &QuatScale<'_, F>,
    v_covars: Option<&[F]>,
    v_precis: Option<&[F]>,
    v_quats: &mut [F],
    v_scales: &mut [F],
) -> Result {
    let (n, width) = input.check()?;
    check_maybe("v_covars", v_covars, &[n, width])?;
    check_maybe("v_precis", v_precis, &[n, width])?;
    check_len("v_quats", v_quats, &[n, 4])?;
    check_len("v_scales", v_scales, &[n, 3])?;
    let (quats, _) = v_quats.as_chunks_mut::<4>();
    let (scales, _) = v_scales.as_chunks_mut::<3>();
    let rows = quats.par_iter_mut().zip(scales).enumerate();
    rows.with_min_len(ROWS).each(|(i, (v_quat, v_scale))| {
        let (quat, scale) = input.row(i);
        (*v_quat, *v_scale) = ([F::zero(); 4], [F::zero(); 3]);
        if let Some(v_covars) = v_covars {
            (*v_quat, *v_scale) = covariance_backward(quat, &scale, &gradient(v_covars, width, i));
        }
        if let Some(v_precis) = v_precis {
            let inverse = scale.map(F::recip);
            let (of_quat, of_inverse) =
                covariance_backward(quat, &inverse, &gradient(v_precis, width, i));
            (0..4).for_each(|k| v_quat[k] += of_quat[k]);
            (0..3).for_each(|k| v_scale[k] -= of_inverse[k] * inverse[k] * inverse[k]);
        }
    });
    Ok(())
}

/// The covariances that a projection is given: matrices, or what they are made of.
#[derive(Clone, Copy, Debug)]
pub enum Shapes<'a, F> {
    /// Upper triangles, `[B, N, 6]`.
    Covars(&'a [F]),
    /// Quaternions `[B, N, 4]` and scales `[B, N, 3]`.
    QuatScale(&'a [F], &'a [F]),
}

impl<'a, F: Real> Shapes<'a, F> {
    /// What is given of the three.
    ///
    /// # Errors
    /// Not either covariances, or quaternions and scales.
    pub fn given(
        covars: Option<&'a [F]>,
        quats: Option<&'a [F]>,
        scales: Option<&'a [F]>,
    ) -> Result<Self> {
        match (covars, quats, scales) {
            (Some(covars), None, None) => Ok(Self::Covars(covars)),
            (None, Some(quats), Some(scales)) => Ok(Self::QuatScale(quats, scales)),
            _ => {
                let told = |given| if given { "given" } else { "None" };
                wrong(
                    "covars",
                    "given without quats and scales, or None with both of them",
                    format_args!(
                        "covars {}, quats {}, scales {}",
                        told(covars.is_some()),
                        told(quats.is_some()),
                        told(scales.is_some())
                    ),
                )
            }
        }
    }

    pub(crate) fn check(&self, b: usize, n: usize) -> Result {
        match self {
            Self::Covars(covars) => check_len("covars", covars, &[b, n, 6]),
            Self::QuatScale(quats, scales) => {
                check_len("quats", quats, &[b, n, 4])?;
                check_len("scales", scales, &[b, n, 3])
            }
        }
    }

    pub(crate) fn covariance(&self, i: usize) -> Mat3<F> {
        match self {
            Self::Covars(covars) => from_triangle(&covars[6 * i..][..6]),
            Self::QuatScale(quats, scales) => {
                covariance(&quats[4 * i..][..4], &[0, 1, 2].map(|k| scales[3 * i + k]))
            }
        }
    }

    /// The gradient of what is given of Gaussian `i`, from that of its covariance: a triangle's six
    /// values, or four of a quaternion and three of scales.
    pub(crate) fn backward(&self, i: usize, g: &Mat3<F>) -> [F; 7] {
        let mut out = [F::zero(); 7];
        match self {
            Self::Covars(_) => out[..6].copy_from_slice(&triangle_gradient(g)),
            Self::QuatScale(quats, scales) => {
                let scale = [0, 1, 2].map(|k| scales[3 * i + k]);
                let (quat, scale) = covariance_backward(&quats[4 * i..][..4], &scale, g);
                out[..4].copy_from_slice(&quat);
                out[4..].copy_from_slice(&scale);
            }
        }
        out
    }

    /// The same from that of the covariance's factor, the axes times the scales; 0 of covariances,
    /// whose factor is not given.
    pub(crate) fn factor_backward(&self, i: usize, g: &Mat3<F>) -> [F; 7] {
        let mut out = [F::zero(); 7];
        if let Self::QuatScale(quats, scales) = self {
            let scale = [0, 1, 2].map(|k| scales[3 * i + k]);
            let (quat, scale) = factor_backward(&quats[4 * i..][..4], &scale, g);
            out[..4].copy_from_slice(&quat);
            out[4..].copy_from_slice(&scale);
        }
        out
    }

    /// Rotation and scales; `None` of covariances.
    pub(crate) fn axes(&self, i: usize) -> Option<(Mat3<F>, Vec3<F>)> {
        match self {
            Self::Covars(_) => None,
            Self::QuatScale(quats, scales) => Some((
                rotation(&quats[4 * i..][..4]),
                [0, 1, 2].map(|k| scales[3 * i + k]),
            )),
        }
    }
}
