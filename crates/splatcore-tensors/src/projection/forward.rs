//! What a camera sees of each Gaussian, and which it does not see.

use super::camera::CameraModel;
use super::eyes::Eyes;
use super::scene::{Culling, Flat, RadiusRule, Scene, View, flatten};
use crate::error::{check_len, check_maybe};
use crate::linear::Mat2;
use crate::parallel::{ROWS, Work, pieces};
use crate::{Real, Result};
use rayon::prelude::*;
use splatcore_core::semantics::ALPHA_MIN;

/// Standard deviations beyond which a fragment of an opaque splat is not drawn: just over
/// sqrt(2 ln 255).
const MAX_DEVIATIONS: f64 = 3.33;
/// INRIA's lower bound of the squared half difference of a covariance's eigenvalues.
const MIN_SPREAD: f64 = 0.1;

/// Splats, one for each camera and Gaussian.
#[derive(Debug)]
pub struct Splats<'a, F> {
    /// In pixels, `[B, C, N, 2]`; 0 for a splat that is culled, whose other values are 0 as well.
    pub radii: &'a mut [i32],
    /// In pixels, `[B, C, N, 2]`; the middle of the first pixel is (0.5, 0.5).
    pub means2d: &'a mut [F],
    /// z in camera space, or as [`Model`](super::Model) says, `[B, C, N]`.
    pub depths: &'a mut [F],
    /// Inverse covariances with the blur (00, 01, 11), `[B, C, N, 3]`.
    pub conics: &'a mut [F],
    /// sqrt(det C / det (C + eps2d I)) (Mip-Splatting), `[B, C, N]`.
    pub compensations: Option<&'a mut [F]>,
}

/// A splat.
struct Splat<F> {
    radii: [i32; 2],
    mean2d: [F; 2],
    depth: F,
    conic: [F; 3],
    compensation: F,
}

/// Projects every Gaussian into every camera of its batch. `opacities` `[B, N]` narrow the radii
/// and cull with [`RadiusRule::Gsplat15`]; they are multiplied by the compensations if those are
/// asked for. A Gaussian that is not a number anywhere is culled.
///
/// # Errors
/// A length that does not fit.
pub fn forward<F: Real>(
    scene: &Scene<'_, F>,
    opacities: Option<&[F]>,
    culling: &Culling<F>,
    out: Splats<'_, F>,
) -> Result {
    let eyes = Eyes::of(scene)?;
    let (b, c, n) = (scene.batches, scene.cameras, scene.gaussians);
    check_maybe("opacities", opacities, &[b, n])?;
    check_len("radii", out.radii, &[b, c, n, 2])?;
    check_len("means2d", out.means2d, &[b, c, n, 2])?;
    check_len("depths", out.depths, &[b, c, n])?;
    check_len("conics", out.conics, &[b, c, n, 3])?;
    check_maybe("compensations", out.compensations.as_deref(), &[b, c, n])?;
    let compensated = out.compensations.is_some();
    let count = out.depths.len().div_ceil(ROWS);
    let compensations = pieces(out.compensations, 1, ROWS, count);
    let rows = out.radii.par_chunks_mut(2 * ROWS).enumerate();
    let rows = rows.zip(out.means2d.par_chunks_mut(2 * ROWS));
    let rows = rows.zip(out.depths.par_chunks_mut(ROWS));
    let rows = rows.zip(out.conics.par_chunks_mut(3 * ROWS));
    rows.zip(compensations).each(
        |(((((piece, radii), means2d), depths), conics), mut compensations)| {
            for (i, depth) in depths.iter_mut().enumerate() {
                let row = piece * ROWS + i;
                let (camera, gaussian) = (row / n, row / (c * n) * n + row % n);
                let opacity = opacities.map(|all| all[gaussian]);
                let flat = match &eyes {
                    Eyes::Ewa(model) => scene.view(camera).flat(*model, scene, gaussian, culling),
                    Eyes::Unscented(lenses) => lenses[camera].flat(scene, gaussian, culling),
                };
                let splat = flat.and_then(|flat| seen(scene, flat, opacity, compensated, culling));
                let splat = splat.unwrap_or_else(Splat::culled);
                radii[2 * i..][..2].copy_from_slice(&splat.radii);
                means2d[2 * i..][..2].copy_from_slice(&splat.mean2d);
                conics[3 * i..][..3].copy_from_slice(&splat.conic);
                *depth = splat.depth;
                if let Some(compensations) = &mut compensations {
                    compensations[i] = splat.compensation;
                }
            }
        },
    );
    Ok(())
}

impl<F: Real> Splat<F> {
    fn culled() -> Self {
        Self {
            radii: [0; 2],
            mean2d: [F::zero(); 2],
            depth: F::zero(),
            conic: [F::zero(); 3],
            compensation: F::zero(),
        }
    }
}

impl<F: Real> View<F> {
    /// A Gaussian by EWA splatting; `None` if it is not between the planes.
    fn flat(
        &self,
        model: CameraModel,
        scene: &Scene<'_, F>,
        gaussian: usize,
        culling: &Culling<F>,
    ) -> Option<Flat<F>> {
        let mean = self.place(&scene.mean(gaussian));
        if !culling.keeps(mean[2]) {
            return None;
        }
        let covariance = self.turn(&scene.shapes.covariance(gaussian));
        let seen = self.intrinsics.project(model, &mean);
        Some(Flat {
            depth: mean[2],
            mean2d: seen.mean2d,
            covariance: flatten(&seen.jacobian, &covariance),
        })
    }
}

/// The splat of a Gaussian; `None` if it is culled.
fn seen<F: Real>(
    scene: &Scene<'_, F>,
    flat: Flat<F>,
    opacity: Option<F>,
    compensated: bool,
    culling: &Culling<F>,
) -> Option<Splat<F>> {
    let sharp = flat.covariance;
    let blurred = [
        [sharp[0][0] + scene.eps2d, sharp[0][1]],
        [sharp[1][0], sharp[1][1] + scene.eps2d],
    ];
    let determinant = determinant(&blurred);
    // Also false for what is not a number.
    if !(determinant > F::zero() && determinant.is_finite()) {
        return None;
    }
    let compensation = (self::determinant(&sharp) / determinant)
        .max(F::zero())
        .sqrt();
    let opacity = opacity.map(|opacity| match compensated {
        true => opacity * compensation,
        false => opacity,
    });
    let radii = match culling.rule {
        RadiusRule::Gsplat15 => tight(&blurred, opacity)?,
        RadiusRule::ThreeSigma => [three_sigma(&blurred, determinant); 2],
    };
    let clipped = radii.iter().all(|&radius| radius <= culling.radius_clip);
    let [x, y] = flat.mean2d;
    let sides = [scene.width, scene.height].map(|side| F::of(side.into()));
    let inside = |at: F, radius: F, side: F| at + radius > F::zero() && at - radius < side;
    if clipped || !(inside(x, radii[0], sides[0]) && inside(y, radii[1], sides[1])) {
        return None;
    }
    Some(Splat {
        // A radius beyond i32 becomes its largest value.
        radii: radii.map(|radius| radius.to_i32().unwrap_or(i32::MAX)),
        mean2d: flat.mean2d,
        depth: flat.depth,
        conic: [
            blurred[1][1] / determinant,
            -blurred[0][1] / determinant,
            blurred[0][0] / determinant,
        ],
        compensation,
    })
}

fn determinant<F: Real>(m: &Mat2<F>) -> F {
    m[0][0] * m[1][1] - m[0][1] * m[1][0]
}

/// The radii of [`RadiusRule::Gsplat15`]; `None` if alpha is below 1/255 everywhere.
fn tight<F: Real>(covariance: &Mat2<F>, opacity: Option<F>) -> Option<[F; 2]> {
    let mut deviations = F::of(MAX_DEVIATIONS);
    if let Some(opacity) = opacity {
        let over = opacity / F::of(ALPHA_MIN);
        if over.is_nan() || over < F::one() {
            return None;
        }
        deviations = deviations.min((F::of(2.0) * over.ln()).sqrt());
    }
    Some([0, 1].map(|axis| (deviations * covariance[axis][axis].sqrt()).ceil()))
}

/// The radius of [`RadiusRule::ThreeSigma`].
fn three_sigma<F: Real>(covariance: &Mat2<F>, determinant: F) -> F {
    let middle = F::of(0.5) * (covariance[0][0] + covariance[1][1]);
    let spread = (middle * middle - determinant).max(F::of(MIN_SPREAD));
    (F::of(3.0) * (middle + spread.sqrt()).sqrt()).ceil()
}
