//! The gradients of the projection.

use super::camera::CameraModel;
use super::eyes::Eyes;
use super::scene::{Of, Scene, Upstream, View};
use crate::error::{check_len, check_maybe, wrong};
use crate::linear::{Mat2, Vec3, add, apply, mul, sandwich_backward, transposed, zeros};
use crate::parallel::{ROWS, Work, pieces};
use crate::quat_scale::Shapes;
use crate::rows::is_drawn;
use crate::{Real, Result};
use rayon::prelude::*;

/// Keeps the gradient of a compensation finite where it vanishes; gsplat's value.
const MIN_COMPENSATION: f64 = 1e-6;

/// What the forward pass wrote, and the gradients of that.
#[derive(Clone, Copy, Debug)]
pub struct Backward<'a, F> {
    /// `[B, C, N, 2]`; a splat with a radius of 0 has no gradient.
    pub radii: &'a [i32],
    /// `[B, C, N, 3]`.
    pub conics: &'a [F],
    /// `[B, C, N]`, if `v_compensations` are given.
    pub compensations: Option<&'a [F]>,
    /// `[B, C, N, 2]`.
    pub v_means2d: &'a [F],
    /// `[B, C, N]`.
    pub v_depths: Option<&'a [F]>,
    /// `[B, C, N, 3]`.
    pub v_conics: &'a [F],
    /// `[B, C, N]`.
    pub v_compensations: Option<&'a [F]>,
}

/// The gradients that are asked for.
#[derive(Debug, Default)]
pub struct Gradients<'a, F> {
    /// `[B, N, 3]`.
    pub v_means: Option<&'a mut [F]>,
    /// `[B, N, 6]`; zero if the shapes are quaternions and scales.
    pub v_covars: Option<&'a mut [F]>,
    /// `[B, N, 4]`; zero if the shapes are covariances.
    pub v_quats: Option<&'a mut [F]>,
    /// `[B, N, 3]`; zero if the shapes are covariances.
    pub v_scales: Option<&'a mut [F]>,
    /// `[B, C, 4, 4]`; the last row is zero.
    pub v_viewmats: Option<&'a mut [F]>,
    /// `[B, C, 3, 3]`; zero but for focal lengths and principal point.
    pub v_ks: Option<&'a mut [F]>,
}

impl<F: Real> Backward<'_, F> {
    fn check(&self, [b, c, n]: [usize; 3]) -> Result {
        check_len("radii", self.radii, &[b, c, n, 2])?;
        check_len("conics", self.conics, &[b, c, n, 3])?;
        check_maybe("compensations", self.compensations, &[b, c, n])?;
        check_len("v_means2d", self.v_means2d, &[b, c, n, 2])?;
        check_maybe("v_depths", self.v_depths, &[b, c, n])?;
        check_len("v_conics", self.v_conics, &[b, c, n, 3])?;
        check_maybe("v_compensations", self.v_compensations, &[b, c, n])?;
        match self.v_compensations.is_some() && self.compensations.is_none() {
            true => wrong("compensations", "given with v_compensations", "None"),
            false => Ok(()),
        }
    }
}

impl<F: Real> Gradients<'_, F> {
    fn check(&self, [b, c, n]: [usize; 3]) -> Result {
        check_maybe("v_means", self.v_means.as_deref(), &[b, n, 3])?;
        check_maybe("v_covars", self.v_covars.as_deref(), &[b, n, 6])?;
        check_maybe("v_quats", self.v_quats.as_deref(), &[b, n, 4])?;
        check_maybe("v_scales", self.v_scales.as_deref(), &[b, n, 3])?;
        check_maybe("v_viewmats", self.v_viewmats.as_deref(), &[b, c, 4, 4])?;
        check_maybe("v_Ks", self.v_ks.as_deref(), &[b, c, 3, 3])
    }

    fn clear(self) {
        let gaussians = [self.v_means, self.v_covars, self.v_quats, self.v_scales];
        let cameras = [self.v_viewmats, self.v_ks];
        let all = gaussians.into_iter().chain(cameras).flatten();
        all.for_each(|out| out.fill(F::zero()));
    }
}

/// A camera's gradients, added up in double precision: rotation, translation, intrinsics.
type CameraSum = [f64; 16];

/// The outputs of one piece of Gaussians of a batch.
struct Piece<'a, F> {
    batch: usize,
    first: usize,
    means: Option<&'a mut [F]>,
    covars: Option<&'a mut [F]>,
    quats: Option<&'a mut [F]>,
    scales: Option<&'a mut [F]>,
}

/// Fills the gradients of Gaussians, summed over cameras, and of cameras, summed over Gaussians, in
/// an order that does not depend on the number of threads.
///
/// # Errors
/// A length that does not fit.
pub fn backward<F: Real>(
    scene: &Scene<'_, F>,
    input: &Backward<'_, F>,
    out: Gradients<'_, F>,
) -> Result {
    let eyes = Eyes::of(scene)?;
    let (b, c, n) = (scene.batches, scene.cameras, scene.gaussians);
    input.check([b, c, n])?;
    out.check([b, c, n])?;
    if b == 0 || c == 0 || n == 0 {
        out.clear();
        return Ok(());
    }
    let with_cameras = out.v_viewmats.is_some() || out.v_ks.is_some();
    let each = n.div_ceil(ROWS);
    let mut means = batches(out.v_means, 3, b, n);
    let mut covars = batches(out.v_covars, 6, b, n);
    let mut quats = batches(out.v_quats, 4, b, n);
    let mut scales = batches(out.v_scales, 3, b, n);
    let work: Vec<Piece<'_, F>> = (0..b * each)
        .map(|i| Piece {
            batch: i / each,
            first: i % each * ROWS,
            means: means.next().flatten(),
            covars: covars.next().flatten(),
            quats: quats.next().flatten(),
            scales: scales.next().flatten(),
        })
        .collect();
    let sums: Vec<Vec<CameraSum>> = work
        .into_par_iter()
        .made(|piece| of_piece(scene, &eyes, input, piece, with_cameras));
    if with_cameras {
        write_cameras(scene, &sums, each, out.v_viewmats, out.v_ks);
    }
    Ok(())
}

/// An output cut into the pieces of Gaussians of each batch.
fn batches<F>(
    out: Option<&mut [F]>,
    width: usize,
    b: usize,
    n: usize,
) -> impl Iterator<Item = Option<&mut [F]>> {
    let each = n.div_ceil(ROWS);
    pieces(out, width, n.max(1), b)
        .into_iter()
        .flat_map(move |batch| pieces(batch, width, ROWS, each))
}

/// Fills a piece's outputs and returns its part of each camera's gradients.
fn of_piece<F: Real>(
    scene: &Scene<'_, F>,
    eyes: &Eyes,
    input: &Backward<'_, F>,
    mut piece: Piece<'_, F>,
    with_cameras: bool,
) -> Vec<CameraSum> {
    let (c, n) = (scene.cameras, scene.gaussians);
    let views: Vec<View<F>> = (0..c).map(|i| scene.view(piece.batch * c + i)).collect();
    let mut sums = vec![[0.0; 16]; if with_cameras { c } else { 0 }];
    for i in piece.first..n.min(piece.first + ROWS) {
        let gaussian = piece.batch * n + i;
        let (mut v_mean, mut v_shape) = ([F::zero(); 3], zeros());
        let mut visible = false;
        for (camera, view) in views.iter().enumerate() {
            let image = piece.batch * c + camera;
            let row = image * n + i;
            if !is_drawn(&input.radii[2 * row..][..2]) {
                continue;
            }
            visible = true;
            let upstream = input.of_splat(scene.eps2d, row);
            let of = match eyes {
                Eyes::Ewa(model) => view.of_splat(*model, scene, gaussian, &upstream),
                Eyes::Unscented(lenses) => lenses[image].of_splat(scene, gaussian, &upstream),
            };
            (0..3).for_each(|k| v_mean[k] += of.mean[k]);
            v_shape = add(&v_shape, &of.shape);
            if let Some(sum) = sums.get_mut(camera) {
                let values = of.rotation.as_flattened().iter().chain(&of.translation);
                let values = values.chain(&of.intrinsics);
                sum.iter_mut().zip(values).for_each(|(s, v)| *s += v.wide());
            }
        }
        let of_shape = match visible {
            true => eyes.shape(&scene.shapes, gaussian, &v_shape),
            false => [F::zero(); 7],
        };
        piece.write(i - piece.first, &v_mean, &scene.shapes, &of_shape);
    }
    sums
}

impl<F: Real> Piece<'_, F> {
    fn write(&mut self, row: usize, v_mean: &Vec3<F>, shapes: &Shapes<'_, F>, of_shape: &[F; 7]) {
        let zero = [F::zero(); 7];
        let (covar, quat, scale) = match shapes {
            Shapes::Covars(_) => (&of_shape[..6], &zero[..4], &zero[..3]),
            Shapes::QuatScale(..) => (&zero[..6], &of_shape[..4], &of_shape[4..]),
        };
        put(&mut self.means, row, v_mean);
        put(&mut self.covars, row, covar);
        put(&mut self.quats, row, quat);
        put(&mut self.scales, row, scale);
    }
}

fn put<F: Real>(out: &mut Option<&mut [F]>, row: usize, values: &[F]) {
    if let Some(out) = out {
        out[row * values.len()..][..values.len()].copy_from_slice(values);
    }
}

impl<F: Real> View<F> {
    /// The gradients of one splat by EWA splatting.
    fn of_splat(
        &self,
        model: CameraModel,
        scene: &Scene<'_, F>,
        gaussian: usize,
        upstream: &Upstream<F>,
    ) -> Of<F> {
        let (mean, covariance) = (scene.mean(gaussian), scene.shapes.covariance(gaussian));
        let placed = self.place(&mean);
        let turned = self.turn(&covariance);
        let jacobian = self.intrinsics.project(model, &placed).jacobian;
        let (v_jacobian, v_turned) = sandwich_backward(&jacobian, &turned, &upstream.covariance);
        let camera = self
            .intrinsics
            .backward(model, &placed, upstream.mean2d, &v_jacobian);
        let mut v_placed = camera.mean;
        v_placed[2] += upstream.depth;
        let (mut v_rotation, v_covariance) =
            sandwich_backward(&self.rotation, &covariance, &v_turned);
        for i in 0..3 {
            for j in 0..3 {
                v_rotation[i][j] += v_placed[i] * mean[j];
            }
        }
        Of {
            mean: apply(&transposed(&self.rotation), &v_placed),
            shape: v_covariance,
            rotation: v_rotation,
            translation: v_placed,
            intrinsics: camera.intrinsics,
        }
    }
}

impl<F: Real> Backward<'_, F> {
    /// The gradients of one splat. That of the projected covariance without blur: -P G P for the
    /// gradient G of its inverse P, and that of the compensation. With k = compensation²,
    /// dk/dC = (1 - k) P - eps2d det(P) I.
    fn of_splat(&self, eps2d: F, row: usize) -> Upstream<F> {
        let half = F::of(0.5);
        let conic = &self.conics[3 * row..][..3];
        let conic = [[conic[0], conic[1]], [conic[1], conic[2]]];
        let g = &self.v_conics[3 * row..][..3];
        let g = [[g[0], g[1] * half], [g[1] * half, g[2]]];
        let mut out: Mat2<F> = mul(&mul(&conic, &g), &conic).map(|row| row.map(|v| -v));
        if let (Some(all), Some(v_all)) = (self.compensations, self.v_compensations) {
            let compensation = all[row];
            let v_square = half * v_all[row] / (compensation + F::of(MIN_COMPENSATION));
            let rest = F::one() - compensation * compensation;
            let determinant = conic[0][0] * conic[1][1] - conic[0][1] * conic[0][1];
            for i in 0..2 {
                for j in 0..2 {
                    out[i][j] += v_square * rest * conic[i][j];
                }
                out[i][i] -= v_square * eps2d * determinant;
            }
        }
        Upstream {
            mean2d: [self.v_means2d[2 * row], self.v_means2d[2 * row + 1]],
            depth: self.v_depths.map_or(F::zero(), |v| v[row]),
            covariance: out,
        }
    }
}

/// Adds up the pieces of each camera in their order.
fn write_cameras<F: Real>(
    scene: &Scene<'_, F>,
    sums: &[Vec<CameraSum>],
    each: usize,
    v_viewmats: Option<&mut [F]>,
    v_ks: Option<&mut [F]>,
) {
    let c = scene.cameras;
    let count = scene.batches * c;
    let mut v_viewmats = pieces(v_viewmats, 16, 1, count);
    let mut v_ks = pieces(v_ks, 9, 1, count);
    for camera in 0..count {
        let mut total = [0.0; 16];
        for piece in &sums[camera / c * each..][..each] {
            (0..16).for_each(|k| total[k] += piece[camera % c][k]);
        }
        let total = total.map(F::of);
        if let Some(viewmat) = &mut v_viewmats[camera] {
            viewmat.fill(F::zero());
            for i in 0..3 {
                viewmat[4 * i..][..3].copy_from_slice(&total[3 * i..][..3]);
                viewmat[4 * i + 3] = total[9 + i];
            }
        }
        if let Some(k) = &mut v_ks[camera] {
            k.fill(F::zero());
            (k[0], k[4], k[2], k[5]) = (total[12], total[13], total[14], total[15]);
        }
    }
}
