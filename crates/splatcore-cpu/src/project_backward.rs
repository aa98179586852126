//! `project_backward`: from the splats' sums to the gradients of the Gaussians' parameters, through
//! the inverse of `project`'s steps. A Gaussian a lane. Twin:
//! `splatcore_reference::twin::project_backward`.

use crate::antialias::{Compensation, Pull};
use crate::blend_backward::{SUMS, SumRow};
use crate::camera::KernelCamera;
use crate::columns::{grow, grown, grown_backward};
use crate::ewa_backward;
use crate::geometry::{Geometry, geometry, load_geometry};
use crate::harmonics::{direction, sh_backward, sh_basis};
use crate::place::PlaceGradient;
use crate::project::Splat;
use crate::scene::Scene;
use crate::simd::{Lanes, Rows, dispatch, load_all, load_columns, store_columns};
use crate::unscented;
use splatcore_core::backend::Statistic;
use splatcore_core::{Gaussians, sh};
use std::f32::consts::{LN_2, LOG2_E};

/// Where gradients of one chunk of Gaussians go: rows are Gaussian minus `first`. Rows of Gaussians
/// without a splat are left alone.
pub struct GradientRows<'a> {
    /// Gaussian of row 0.
    pub first: usize,
    /// `[rows][3]`
    pub means: &'a mut [f32],
    /// `[rows][3]`
    pub log_scales: &'a mut [f32],
    /// `[rows][4]`
    pub rotations: &'a mut [f32],
    /// `[rows]`
    pub opacity_logits: &'a mut [f32],
    /// `[rows][scene.sh_stride]`; only the coefficients in use are written.
    pub sh: &'a mut [f32],
    /// `[rows]`: norm of dL/d(mean) in NDC units, the densification statistic.
    pub ndc_norm: &'a mut [f32],
    /// Which norm that is.
    pub statistic: Statistic,
}

impl<'a> GradientRows<'a> {
    /// The first `rows` rows of scratch arrays, for Gaussians from `first` on.
    pub(crate) fn of(
        first: usize,
        rows: usize,
        gradients: &'a mut Gaussians,
        ndc_norm: &'a mut [f32],
        statistic: Statistic,
    ) -> Self {
        let stride = 3 * gradients.coefficients();
        Self {
            first,
            means: &mut gradients.means.as_flattened_mut()[..3 * rows],
            log_scales: &mut gradients.log_scales.as_flattened_mut()[..3 * rows],
            rotations: &mut gradients.rotations.as_flattened_mut()[..4 * rows],
            opacity_logits: &mut gradients.opacity_logits[..rows],
            sh: &mut gradients.sh.as_flattened_mut()[..stride * rows],
            ndc_norm: &mut ndc_norm[..rows],
            statistic,
        }
    }
}

dispatch! {
    /// Gradients of one chunk of Gaussians: `scene` holds the chunk's rows only, `splats` its
    /// splats, `slots[i]` the first slot of `splats[i]` and their number.
    pub fn project_backward / kernel (
        scene: Scene<'_>, camera: &KernelCamera, splats: &[Splat], slots: &[[u32; 2]],
        pairs_of_splats: &[u32], sums: &[SumRow], out: &mut GradientRows<'_>
    )
}

#[inline(always)]
fn kernel<L: Lanes>(
    scene: Scene<'_>,
    camera: &KernelCamera,
    splats: &[Splat],
    slots: &[[u32; 2]],
    pairs_of_splats: &[u32],
    sums: &[SumRow],
    out: &mut GradientRows<'_>,
) {
    let mut start = 0;
    while start < splats.len() {
        let lanes = (splats.len() - start).min(L::WIDTH);
        backward_lanes::<L>(
            &scene,
            camera,
            &splats[start..start + lanes],
            &slots[start..start + lanes],
            pairs_of_splats,
            sums,
            out,
        );
        start += L::WIDTH;
    }
}

/// Gradients of as many Gaussians as there are splats, a Gaussian a lane.
#[inline(always)]
fn backward_lanes<L: Lanes>(
    scene: &Scene<'_>,
    camera: &KernelCamera,
    splats: &[Splat],
    slots: &[[u32; 2]],
    pairs_of_splats: &[u32],
    sums: &[SumRow],
    out: &mut GradientRows<'_>,
) {
    let lanes = splats.len();
    let gaussians = (out.first, out.statistic);
    let totals = add_up_pairs::<L>(splats, slots, pairs_of_splats, sums, gaussians);
    let local = &totals.rows;
    let d_mean = mean_gradient(&totals);
    store_norm(&totals, &d_mean, camera, lanes, out);

    let mut columns = load_geometry::<L>(scene, local);
    let growth = grown(scene, local, &mut columns);
    let g = geometry(&columns, camera);
    let PlaceGradient {
        world: mut d_world,
        rotation: d_rotation,
        log_scales: mut d_log_scales,
    } = match &camera.lens {
        None => pinhole_backward(&d_mean, &totals, &g, camera),
        Some(lens) => {
            let d_projected = projected_gradient(&totals, None);
            unscented::backward(&columns, lens, camera, &d_mean, &d_projected, totals.alpha)
        }
    };
    if grow(scene) {
        grown_backward(&growth, totals.alpha, &mut d_log_scales);
    }
    store_columns(&mut d_log_scales, out.log_scales, 3, local, lanes);
    let mut d_quaternion = quaternion_gradient(&d_rotation, &g);
    store_columns(&mut d_quaternion, out.rotations, 4, local, lanes);
    let mut d_logit = [logit_gradient(totals.alpha, scene, local)];
    store_columns(&mut d_logit, out.opacity_logits, 1, local, lanes);

    let mean = [columns[0], columns[1], columns[2]];
    colour_backward(mean, &totals, scene, camera, lanes, &mut d_world, out);
    store_columns(&mut d_world, out.means, 3, local, lanes);
}

/// Back through EWA.
#[inline(always)]
fn pinhole_backward<L: Lanes>(
    d_mean: &[L; 2],
    totals: &Totals<L>,
    g: &Geometry<L>,
    camera: &KernelCamera,
) -> PlaceGradient<L> {
    let pull = if camera.antialias {
        Some(Compensation::new(g, camera).backward(totals.alpha, g, camera))
    } else {
        None
    };
    let d_projected = projected_gradient(totals, pull.as_ref());
    ewa_backward::backward(d_mean, &d_projected, g, camera, pull.as_ref())
}

/// What the rows of the splats' pairs add up to, a splat a lane. d is a pixel less the splat's
/// mean.
pub(crate) struct Totals<L> {
    /// Rows of the splats' Gaussians in the chunk.
    pub rows: Rows,
    /// a, b, c of log2 alpha.
    power: [L; 3],
    /// Sum of dL/d(ln alpha), which is dL/d(ln opacity).
    pub alpha: L,
    /// Sums of dL/d(log2 alpha) times dx, dy.
    first: [L; 2],
    /// Sums of dL/d(log2 alpha) times dx², dx dy, dy².
    second: [L; 3],
    /// dL/d(colour), 0 where the channel was clamped.
    colour: [L; 3],
    /// Sums over tiles of |dL/d(mean)|; 0 unless the statistic asks for them.
    absolute: [L; 2],
}

/// Adds up each splat's rows in the order of its pairs.
#[inline(always)]
pub(crate) fn add_up_pairs<L: Lanes>(
    splats: &[Splat],
    slots: &[[u32; 2]],
    pairs_of_splats: &[u32],
    sums: &[SumRow],
    (first_gaussian, statistic): (usize, Statistic),
) -> Totals<L> {
    let mut totals = [[0.0f32; 16]; SUMS];
    let mut power = [[0.0f32; 16]; 3];
    let mut open = [[0.0f32; 16]; 3];
    let mut rows: Rows = [splats[0].gaussian; 16];
    let mut absolute = [[0.0f32; 16]; 2];
    for (lane, (splat, &[first, count])) in splats.iter().zip(slots).enumerate() {
        let mut total = [0.0f32; SUMS];
        for &pair in &pairs_of_splats[first as usize..(first + count) as usize] {
            let row = &sums[pair as usize];
            for k in 0..SUMS {
                total[k] += row[k];
            }
            if statistic == Statistic::Absolute {
                let [a, b, c] = splat.power;
                absolute[0][lane] += (2.0 * a * row[1] + b * row[2]).abs();
                absolute[1][lane] += (2.0 * c * row[2] + b * row[1]).abs();
            }
        }
        for k in 0..SUMS {
            totals[k][lane] = total[k];
        }
        for k in 0..3 {
            power[k][lane] = splat.power[k];
            open[k][lane] = if splat.clamped >> k & 1 == 0 {
                1.0
            } else {
                0.0
            };
        }
        rows[lane] = splat.gaussian;
    }
    let [alpha, x, y, xx, xy, yy, red, green, blue] = load_all::<L, SUMS>(&totals);
    let [open_red, open_green, open_blue] = load_all::<L, 3>(&open);
    let [along_x, along_y] = load_all::<L, 2>(&absolute);
    // The sums hold dL/d(ln alpha) = log2 e * dL/d(log2 alpha).
    let ln2 = L::splat(LN_2);
    Totals {
        rows: rows.map(|r| r - first_gaussian as u32),
        power: load_all::<L, 3>(&power),
        alpha,
        first: [x * ln2, y * ln2],
        second: [xx * ln2, xy * ln2, yy * ln2],
        colour: [red * open_red, green * open_green, blue * open_blue],
        absolute: [along_x * ln2, along_y * ln2],
    }
}

/// dL/d(mean) in pixels: log2 alpha = l + a dx² + b dx dy + c dy², d = pixel - mean.
#[inline(always)]
pub(crate) fn mean_gradient<L: Lanes>(totals: &Totals<L>) -> [L; 2] {
    let ([a, b, c], [sx, sy]) = (totals.power, totals.first);
    let two = L::splat(2.0);
    [-(two * a * sx + b * sy), -(two * c * sy + b * sx)]
}

/// Writes the norm that densification looks at.
#[inline(always)]
fn store_norm<L: Lanes>(
    totals: &Totals<L>,
    d_mean: &[L; 2],
    camera: &KernelCamera,
    lanes: usize,
    out: &mut GradientRows<'_>,
) {
    let judged = match out.statistic {
        Statistic::Mean => *d_mean,
        Statistic::Absolute => totals.absolute,
    };
    let ndc = [
        judged[0] * L::splat(camera.size[0] as f32 * 0.5),
        judged[1] * L::splat(camera.size[1] as f32 * 0.5),
    ];
    let mut norm = [ndc[0].mul_add(ndc[0], ndc[1] * ndc[1]).sqrt()];
    store_columns(&mut norm, out.ndc_norm, 1, &totals.rows, lanes);
}

/// dL/d(projected covariance): xx xy yy, the off-diagonal entry as one of two.
#[inline(always)]
pub(crate) fn projected_gradient<L: Lanes>(totals: &Totals<L>, pull: Option<&Pull<L>>) -> [L; 3] {
    let ([a, b, c], [sxx, sxy, syy]) = (totals.power, totals.second);
    // a = -log2e/2 conic_xx, b = -log2e conic_xy, c = -log2e/2 conic_yy; as a symmetric matrix of
    // gradients, the off-diagonal entry is half the gradient of conic_xy.
    let half = L::splat(-0.5 * LOG2_E);
    let d_conic = [half * sxx, half * sxy, half * syy];
    // d covariance = -M dM M with M the conic.
    let k = L::splat(-2.0 / LOG2_E);
    let m = [k * a, L::splat(-1.0 / LOG2_E) * b, k * c];
    let left = [
        [
            m[0] * d_conic[0] + m[1] * d_conic[1],
            m[0] * d_conic[1] + m[1] * d_conic[2],
        ],
        [
            m[1] * d_conic[0] + m[2] * d_conic[1],
            m[1] * d_conic[1] + m[2] * d_conic[2],
        ],
    ];
    let mut d_projected = [
        -(left[0][0] * m[0] + left[0][1] * m[1]),
        -(left[0][0] * m[1] + left[0][1] * m[2]),
        -(left[1][0] * m[1] + left[1][1] * m[2]),
    ];
    if let Some(pull) = pull {
        for j in 0..3 {
            d_projected[j] = pull.inverse.mul_add(m[j], d_projected[j]);
        }
    }
    d_projected
}

/// From the rotation matrix to the stored quaternion.
#[inline(always)]
fn quaternion_gradient<L: Lanes>(r: &[[L; 3]; 3], g: &Geometry<L>) -> [L; 4] {
    let two = L::splat(2.0);
    let [qw, qx, qy, qz] = g.quaternion;
    let d_unit = [
        two * (qx * (r[2][1] - r[1][2]) + qy * (r[0][2] - r[2][0]) + qz * (r[1][0] - r[0][1])),
        two * (qy * (r[0][1] + r[1][0]) + qz * (r[0][2] + r[2][0]) + qw * (r[2][1] - r[1][2]))
            - L::splat(4.0) * qx * (r[1][1] + r[2][2]),
        two * (qx * (r[0][1] + r[1][0]) + qz * (r[1][2] + r[2][1]) + qw * (r[0][2] - r[2][0]))
            - L::splat(4.0) * qy * (r[0][0] + r[2][2]),
        two * (qx * (r[0][2] + r[2][0]) + qy * (r[1][2] + r[2][1]) + qw * (r[1][0] - r[0][1]))
            - L::splat(4.0) * qz * (r[0][0] + r[1][1]),
    ];
    // Through the normalisation: only what is across the quaternion counts.
    let radial = d_unit[0] * qw + d_unit[1] * qx + d_unit[2] * qy + d_unit[3] * qz;
    let mut d_quaternion = [L::splat(0.0); 4];
    for i in 0..4 {
        d_quaternion[i] = (d_unit[i] - radial * g.quaternion[i]) * g.inverse_norm;
    }
    d_quaternion
}

/// d ln(sigmoid)/d logit = 1 - opacity.
#[inline(always)]
fn logit_gradient<L: Lanes>(alpha: L, scene: &Scene<'_>, local: &Rows) -> L {
    let mut logits = [L::splat(0.0)];
    load_columns(scene.opacity_logits, 1, local, 1, &mut logits);
    let odds = (logits[0] * L::splat(LOG2_E)).min(L::splat(126.0)).exp2();
    let transparency = L::splat(1.0) / (L::splat(1.0) + odds);
    alpha * transparency
}

/// Writes the gradients of the harmonics, and adds to `d_world` what the mean's direction does to
/// the colour.
#[inline(always)]
fn colour_backward<L: Lanes>(
    mean: [L; 3],
    totals: &Totals<L>,
    scene: &Scene<'_>,
    camera: &KernelCamera,
    lanes: usize,
    d_world: &mut [L; 3],
    out: &mut GradientRows<'_>,
) {
    let (local, d_colour) = (&totals.rows, &totals.colour);
    let degree = scene.sh_degree;
    let coefficients = sh::coefficients(degree);
    let (unit, inverse_distance) = direction(&mean, camera);
    let basis = sh_basis(degree, unit);
    if degree > 0 {
        let mut harmonics = [L::splat(0.0); 48];
        load_columns(
            scene.sh,
            scene.sh_stride,
            local,
            3 * coefficients,
            &mut harmonics,
        );
        // Gradient of the colour along each basis function.
        let mut weight = [L::splat(0.0); 16];
        for k in 1..coefficients {
            weight[k] = harmonics[3 * k].mul_add(
                d_colour[0],
                harmonics[3 * k + 1].mul_add(d_colour[1], harmonics[3 * k + 2] * d_colour[2]),
            );
        }
        let d_direction = sh_backward(degree, unit, &weight);
        let radial = d_direction[0].mul_add(
            unit[0],
            d_direction[1].mul_add(unit[1], d_direction[2] * unit[2]),
        );
        for j in 0..3 {
            d_world[j] = d_world[j] + (d_direction[j] - radial * unit[j]) * inverse_distance;
        }
    }
    let mut d_harmonics = [L::splat(0.0); 48];
    for k in 0..coefficients {
        for channel in 0..3 {
            d_harmonics[3 * k + channel] = basis[k] * d_colour[channel];
        }
    }
    store_columns(
        &mut d_harmonics[..3 * coefficients],
        out.sh,
        scene.sh_stride,
        local,
        lanes,
    );
}
