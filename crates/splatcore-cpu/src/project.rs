//! `project`: Gaussians to splats. EWA splatting (Zwicker et al. 2001) as INRIA's rasterizer does
//! it, colour from spherical harmonics for survivors only. Twin:
//! `splatcore_reference::twin::project`.

use crate::antialias::Compensation;
use crate::camera::KernelCamera;
use crate::ellipse::{Ellipse, LOG2_255};
use crate::simd::{Lanes, Rows, constant as c, dispatch, dot3, load_columns};
use crate::smoothing::smooth;
use splatcore_core::Gaussians;
use splatcore_core::semantics::{LOW_PASS, TILE};
use splatcore_core::sh;
use std::f32::consts::LOG2_E;

/// A projected Gaussian: all that blending needs, one cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C, align(64))]
pub struct Splat {
    /// Centre in pixels.
    pub mean: [f32; 2],
    /// a, b, c of log2 alpha = log2_opacity + a dx² + b dx dy + c dy².
    pub power: [f32; 3],
    /// log2 of the opacity.
    pub log2_opacity: f32,
    /// Colour, clamped below at 0.
    pub colour: [f32; 3],
    /// View-space z.
    pub depth: f32,
    /// Half width and height in pixels of the ellipse alpha = 1/255.
    pub extent: [f32; 2],
    /// INRIA's radius in pixels: 3 sigma along the longer axis, rounded up.
    pub radius: f32,
    /// Row of the Gaussian.
    pub gaussian: u32,
    /// Bit c is set where colour channel c was clamped.
    pub clamped: u32,
}

/// Views of the scene's arrays as flat f32.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// `[n][3]`
    pub means: &'a [f32],
    /// `[n][3]`
    pub log_scales: &'a [f32],
    /// `[n][4]`
    pub rotations: &'a [f32],
    /// `[n]`
    pub opacity_logits: &'a [f32],
    /// `[n][stride]`
    pub sh: &'a [f32],
    /// Floats of spherical harmonics a Gaussian.
    pub sh_stride: usize,
    /// Degree in use, at most the stored one.
    pub sh_degree: u8,
    /// `[n]`, log standard deviations of the 3D filter; empty without one.
    pub smoothing: &'a [f32],
}

impl<'a> Scene<'a> {
    /// Borrows Gaussians, using harmonics up to `sh_degree`.
    pub fn new(gaussians: &'a Gaussians, sh_degree: u8) -> Self {
        Self::with_smoothing(gaussians, &[], sh_degree)
    }

    /// As [`Scene::new`], with a 3D filter for each Gaussian, or none.
    pub fn with_smoothing(gaussians: &'a Gaussians, smoothing: &'a [f32], sh_degree: u8) -> Self {
        Self {
            smoothing,
            means: gaussians.means.as_flattened(),
            log_scales: gaussians.log_scales.as_flattened(),
            rotations: gaussians.rotations.as_flattened(),
            opacity_logits: &gaussians.opacity_logits,
            sh: gaussians.sh.as_flattened(),
            sh_stride: 3 * gaussians.coefficients(),
            sh_degree: sh_degree.min(gaussians.sh_degree),
        }
    }
}

/// Projects Gaussians `first..first + in_view.len()`. Writes the splats that can change a pixel to
/// the front of `splats`, in order, and their number to `count`; `in_view[i]` becomes 1 where
/// INRIA's rasterizer would count the Gaussian as visible (its 3-sigma square touches the grid of
/// tiles), which densification needs.
pub struct Output<'a> {
    /// At least `in_view.len()` long.
    pub splats: &'a mut [Splat],
    /// One flag a Gaussian.
    pub in_view: &'a mut [u8],
    /// Splats written.
    pub count: usize,
}

dispatch! {
    /// See [`Output`].
    pub fn project / kernel (
        scene: Scene<'_>, camera: &KernelCamera, first: usize, output: &mut Output<'_>
    )
}

/// Geometry shared by `project` and `project_backward`, a Gaussian a lane.
pub(crate) struct Geometry<L> {
    /// View-space position.
    pub view: [L; 3],
    /// x and y as the Jacobian uses them, after the clamp.
    pub clamped: [L; 2],
    /// Whether x or y was inside the clamp.
    pub free: [L; 2],
    /// 1 / z.
    pub inverse_z: L,
    /// Normalised quaternion.
    pub quaternion: [L; 4],
    /// 1 / length of the stored quaternion.
    pub inverse_norm: L,
    /// Rotation matrix of the Gaussian, row-major.
    pub rotation: [[L; 3]; 3],
    /// Standard deviations.
    pub scales: [L; 3],
    /// World-space covariance: xx xy xz yy yz zz.
    pub covariance: [L; 6],
    /// J W, 2x3.
    pub transform: [[L; 3]; 2],
    /// Projected covariance with the low pass: xx xy yy.
    pub projected: [L; 3],
    /// Its determinant.
    pub determinant: L,
}

/// Rows `columns[..]` hold means 0..3, log scales 3..6, quaternion 6..10.
#[inline(always)]
pub(crate) fn geometry<L: Lanes>(columns: &[L; 10], camera: &KernelCamera) -> Geometry<L> {
    let [x, y, z] = [columns[0], columns[1], columns[2]];
    let w = &camera.rotation;
    let mut view = [L::splat(0.0); 3];
    for i in 0..3 {
        let sum = z.mul_add(L::splat(w[i][2]), L::splat(camera.translation[i]));
        view[i] = x.mul_add(L::splat(w[i][0]), y.mul_add(L::splat(w[i][1]), sum));
    }
    let inverse_z = L::splat(1.0).div(view[2]);
    let mut clamped = [L::splat(0.0); 2];
    let mut free = [L::splat(0.0); 2];
    for i in 0..2 {
        let limit = L::splat(camera.clamp[i]);
        let ratio = view[i] * inverse_z;
        clamped[i] = ratio.max(-limit).min(limit) * view[2];
        free[i] = L::splat(1.0).where_set(L::and(limit.ge(ratio), ratio.ge(-limit)));
    }

    let q = [columns[6], columns[7], columns[8], columns[9]];
    let norm = q[0].mul_add(q[0], q[1].mul_add(q[1], q[2].mul_add(q[2], q[3] * q[3])));
    let inverse_norm = L::splat(1.0).div(norm.max(L::splat(1e-30)).sqrt());
    let quaternion = [
        q[0] * inverse_norm,
        q[1] * inverse_norm,
        q[2] * inverse_norm,
        q[3] * inverse_norm,
    ];
    let [qw, qx, qy, qz] = quaternion;
    let (one, two) = (L::splat(1.0), L::splat(2.0));
    let rotation = [
        [
            one - two * qy.mul_add(qy, qz * qz),
            two * qx.mul_add(qy, -(qw * qz)),
            two * qx.mul_add(qz, qw * qy),
        ],
        [
            two * qx.mul_add(qy, qw * qz),
            one - two * qx.mul_add(qx, qz * qz),
            two * qy.mul_add(qz, -(qw * qx)),
        ],
        [
            two * qx.mul_add(qz, -(qw * qy)),
            two * qy.mul_add(qz, qw * qx),
            one - two * qx.mul_add(qx, qy * qy),
        ],
    ];
    let log2e = L::splat(LOG2_E);
    let scales = [
        (columns[3] * log2e).exp2(),
        (columns[4] * log2e).exp2(),
        (columns[5] * log2e).exp2(),
    ];
    let mut m = [[L::splat(0.0); 3]; 3];
    for i in 0..3 {
        for j in 0..3 {
            m[i][j] = rotation[i][j] * scales[j];
        }
    }
    let covariance = [
        dot3(&m[0], &m[0]),
        dot3(&m[0], &m[1]),
        dot3(&m[0], &m[2]),
        dot3(&m[1], &m[1]),
        dot3(&m[1], &m[2]),
        dot3(&m[2], &m[2]),
    ];

    let mut transform = [[L::splat(0.0); 3]; 2];
    for i in 0..2 {
        let diagonal = L::splat(camera.focal[i]) * inverse_z;
        let off = -(diagonal * clamped[i] * inverse_z);
        for j in 0..3 {
            transform[i][j] = diagonal.mul_add(L::splat(w[i][j]), off * L::splat(w[2][j]));
        }
    }
    let [u, v] = transform;
    let cu = symmetric_times(&covariance, &u);
    let cv = symmetric_times(&covariance, &v);
    let low_pass = L::splat(LOW_PASS as f32);
    let projected = [
        dot3(&u, &cu) + low_pass,
        dot3(&u, &cv),
        dot3(&v, &cv) + low_pass,
    ];
    let product = projected[1] * projected[1];
    let error = projected[1].mul_add(projected[1], -product);
    let determinant = projected[0].mul_add(projected[2], -product) - error;
    Geometry {
        view,
        clamped,
        free,
        inverse_z,
        quaternion,
        inverse_norm,
        rotation,
        scales,
        covariance,
        transform,
        projected,
        determinant,
    }
}

/// A symmetric 3x3 matrix (xx xy xz yy yz zz) times a vector.
#[inline(always)]
pub(crate) fn symmetric_times<L: Lanes>(s: &[L; 6], v: &[L; 3]) -> [L; 3] {
    [
        s[0].mul_add(v[0], s[1].mul_add(v[1], s[2] * v[2])),
        s[1].mul_add(v[0], s[3].mul_add(v[1], s[4] * v[2])),
        s[2].mul_add(v[0], s[4].mul_add(v[1], s[5] * v[2])),
    ]
}

/// Unit vector from the camera to the mean, and 1 / distance.
#[inline(always)]
pub(crate) fn direction<L: Lanes>(mean: &[L; 3], camera: &KernelCamera) -> ([L; 3], L) {
    let d = [
        mean[0] - L::splat(camera.position[0]),
        mean[1] - L::splat(camera.position[1]),
        mean[2] - L::splat(camera.position[2]),
    ];
    let square = d[0].mul_add(d[0], d[1].mul_add(d[1], d[2] * d[2]));
    let inverse = L::splat(1.0).div(square.max(L::splat(1e-30)).sqrt());
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

/// Loads the ten geometry columns of `WIDTH` Gaussians.
#[inline(always)]
pub(crate) fn load_geometry<L: Lanes>(scene: &Scene<'_>, rows: &Rows) -> [L; 10] {
    let mut columns = [L::splat(0.0); 10];
    load_columns(scene.means, 3, rows, 3, &mut columns[0..3]);
    load_columns(scene.log_scales, 3, rows, 3, &mut columns[3..6]);
    load_columns(scene.rotations, 4, rows, 4, &mut columns[6..10]);
    columns
}

#[inline(always)]
fn kernel<L: Lanes>(
    scene: Scene<'_>,
    camera: &KernelCamera,
    first: usize,
    output: &mut Output<'_>,
) {
    let total = output.in_view.len();
    output.count = 0;
    let mut start = 0;
    while start < total {
        let lanes = (total - start).min(L::WIDTH);
        let rows: Rows = std::array::from_fn(|lane| (first + start + lane.min(lanes - 1)) as u32);
        group::<L>(&scene, camera, &rows, lanes, start, output);
        start += L::WIDTH;
    }
}

/// Projects `lanes` Gaussians.
#[inline(always)]
fn group<L: Lanes>(
    scene: &Scene<'_>,
    camera: &KernelCamera,
    rows: &Rows,
    lanes: usize,
    start: usize,
    output: &mut Output<'_>,
) {
    for flag in &mut output.in_view[start..start + lanes] {
        *flag = 0;
    }
    let valid = if lanes == 32 {
        u32::MAX
    } else {
        (1 << lanes) - 1
    };
    let mut columns = load_geometry::<L>(scene, rows);
    let growth = smooth(scene, rows, &mut columns);
    let g = geometry(&columns, camera);
    let tiny = L::splat(f32::MIN_POSITIVE);
    let in_front = L::and(g.view[2].ge(L::splat(camera.near)), g.determinant.ge(tiny));
    // z > near, not >=: one more comparison for the lanes that sit exactly on the plane.
    let in_front = L::and_not(in_front, L::splat(camera.near).ge(g.view[2]));
    if L::bits(in_front) & valid == 0 {
        return;
    }

    let u =
        (g.view[0] * g.inverse_z).mul_add(L::splat(camera.focal[0]), L::splat(camera.centre[0]));
    let v =
        (g.view[1] * g.inverse_z).mul_add(L::splat(camera.focal[1]), L::splat(camera.centre[1]));
    let inverse_determinant = L::splat(1.0).div(g.determinant);
    let half = L::splat(-0.5 * LOG2_E) * inverse_determinant;
    let a = half * g.projected[2];
    let b = L::splat(LOG2_E) * inverse_determinant * g.projected[1];
    let power_c = half * g.projected[0];
    let middle = L::splat(0.5) * (g.projected[0] + g.projected[2]);
    let spread = middle
        .mul_add(middle, -g.determinant)
        .max(L::splat(0.1))
        .sqrt();
    let sigma3 = L::splat(3.0) * (middle + spread).sqrt();

    // The square of `square_tiles` holds a tile exactly when it reaches past the first pixel and
    // starts before the end of the last tile, since it is at least two pixels wide.
    let radius = ceil(sigma3);
    let in_view = {
        let one_half = L::splat(1.5);
        let [end_x, end_y] = camera.tiles.map(|t| (t * TILE) as f32 + 0.5 - 1e-3);
        let x = L::and((u + radius).ge(one_half), L::splat(end_x).ge(u - radius));
        let y = L::and((v + radius).ge(one_half), L::splat(end_y).ge(v - radius));
        L::bits(L::and(in_front, L::and(x, y))) & valid
    };
    for lane in 0..lanes {
        output.in_view[start + lane] = (in_view >> lane & 1) as u8;
    }
    let mut logits = [L::splat(0.0)];
    load_columns(scene.opacity_logits, 1, rows, 1, &mut logits);
    let mut log2_opacity = -log2_one_plus_exp2(logits[0] * L::splat(-LOG2_E));
    if !scene.smoothing.is_empty() {
        log2_opacity = log2_opacity - (growth[0] + growth[1] + growth[2]);
    }
    if camera.antialias {
        log2_opacity = log2_opacity + Compensation::new(&g, camera).log2_factor();
    }
    let visible = L::and(in_front, log2_opacity.ge(L::splat(-LOG2_255)));
    let ellipse = Ellipse::new(a, b, power_c, log2_opacity);
    let transposed = Ellipse::new(power_c, b, a, log2_opacity);
    let (half_width, half_height) = (transposed.half_height, ellipse.half_height);
    // Pixel centres run from 0.5 to side - 0.5.
    let [edge_x, edge_y] = camera.size.map(|v| v as f32 - 0.5);
    let touches = L::and(
        L::and(
            (u + half_width).ge(L::splat(0.5)),
            L::splat(edge_x).ge(u - half_width),
        ),
        L::and(
            (v + half_height).ge(L::splat(0.5)),
            L::splat(edge_y).ge(v - half_height),
        ),
    );
    // Comparisons with NaN are false, so a mean that overflowed drops out here.
    let mut survivors = L::bits(L::and(visible, touches)) & valid;
    if survivors == 0 {
        return;
    }

    let degree = scene.sh_degree;
    let (unit, _) = direction(&[columns[0], columns[1], columns[2]], camera);
    let basis = sh_basis(degree, unit);
    let coefficients = sh::coefficients(degree);
    let mut harmonics = [L::splat(0.0); 48];
    load_columns(
        scene.sh,
        scene.sh_stride,
        rows,
        3 * coefficients,
        &mut harmonics,
    );
    let mut fields = [[0.0f32; 16]; 13];
    for channel in 0..3 {
        let mut sum = L::splat(0.5);
        for k in 0..coefficients {
            sum = basis[k].mul_add(harmonics[3 * k + channel], sum);
        }
        sum.store(&mut fields[channel]);
    }
    a.store(&mut fields[3]);
    b.store(&mut fields[4]);
    power_c.store(&mut fields[5]);
    g.view[2].store(&mut fields[6]);
    half_width.store(&mut fields[7]);
    half_height.store(&mut fields[8]);
    u.store(&mut fields[9]);
    v.store(&mut fields[10]);
    log2_opacity.store(&mut fields[11]);
    radius.store(&mut fields[12]);
    while survivors != 0 {
        let lane = survivors.trailing_zeros() as usize;
        survivors &= survivors - 1;
        let colour = [fields[0][lane], fields[1][lane], fields[2][lane]];
        output.splats[output.count] = Splat {
            mean: [fields[9][lane], fields[10][lane]],
            power: [fields[3][lane], fields[4][lane], fields[5][lane]],
            log2_opacity: fields[11][lane],
            colour: colour.map(|v| v.max(0.0)),
            depth: fields[6][lane],
            extent: [fields[7][lane], fields[8][lane]],
            radius: fields[12][lane],
            gaussian: rows[lane],
            clamped: (0..3).map(|c| ((colour[c] < 0.0) as u32) << c).sum(),
        };
        output.count += 1;
    }
}

/// log2(1 + 2^s) within a few units in the last place of 1 (absolute): a guess within 0.09, then
/// two of Halley's steps, each of which cubes the error.
#[inline(always)]
pub(crate) fn log2_one_plus_exp2<L: Lanes>(s: L) -> L {
    let s = s.min(L::splat(100.0)).max(L::splat(-100.0));
    let z = L::splat(1.0) + s.exp2();
    let mut y = s.max(L::splat(0.0)) + s.min(-s).exp2();
    for _ in 0..2 {
        let e = y.exp2();
        y = (L::splat(2.0 * LOG2_E) * (z - e)).div(z + e) + y;
    }
    y
}

/// The next whole number at or above x, for 0 <= x; 4 million and more stay as they are.
#[inline(always)]
fn ceil<L: Lanes>(x: L) -> L {
    // Adding and taking away 1.5 * 2^23 rounds to the nearest whole number.
    let magic = L::splat(12_582_912.0);
    let rounded = (x + magic) - magic;
    let up = L::splat(1.0).where_set(L::and_not(x.ge(rounded), rounded.ge(x)));
    L::select(x.ge(L::splat(4e6)), x, rounded + up)
}

/// INRIA's `getRect`: the tiles `[x0, y0, x1, y1)` that the square of half side `radius` around a
/// mean touches. INRIA's pixel coordinates are ours minus a half.
pub fn square_tiles(mean: [f32; 2], radius: f32, tiles: [usize; 2]) -> [usize; 4] {
    let side = TILE as f32;
    let low = |v: f32, limit: usize| (((v - 0.5 - radius) / side).max(0.0) as usize).min(limit);
    let high = |v: f32, limit: usize| {
        (((v - 0.5 + radius + side - 1.0) / side).max(0.0) as usize).min(limit)
    };
    [
        low(mean[0], tiles[0]),
        low(mean[1], tiles[1]),
        high(mean[0], tiles[0]),
        high(mean[1], tiles[1]),
    ]
}
