//! `project`: Gaussians to splats. EWA splatting (Zwicker et al. 2001) as INRIA's rasterizer does
//! it, colour from spherical harmonics for survivors only. Twin:
//! `splatcore_reference::twin::project`.

use crate::antialias::Compensation;
use crate::camera::KernelCamera;
use crate::ellipse::{Ellipse, LOG2_255};
use crate::geometry::{geometry, load_geometry};
use crate::harmonics::{direction, sh_basis};
pub use crate::scene::Scene;
use crate::simd::{Lanes, Rows, ceil, dispatch, load_columns, log2_one_plus_exp2};
use crate::smoothing::smooth;
use splatcore_core::semantics::TILE;
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
