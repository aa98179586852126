//! `project`: Gaussians to splats. EWA splatting (Zwicker et al. 2001) as INRIA's rasterizer does
//! it, or through a lens the unscented transform (`unscented.rs`); colour from spherical harmonics
//! for survivors only. Twin: `splatcore_reference::twin::project`.

use crate::antialias::Compensation;
use crate::camera::KernelCamera;
use crate::columns::{grow, grown};
use crate::ellipse::{Ellipse, LOG2_255};
use crate::geometry::{Geometry, geometry, load_geometry};
use crate::harmonics::{direction, sh_basis};
use crate::place::Place;
pub use crate::scene::Scene;
use crate::simd::{Lanes, Mask, Rows, ceil, dispatch, load_columns, log2_one_plus_exp2};
use crate::unscented;
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
    /// View-space z; through a fisheye the distance from the camera.
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
        project_lanes::<L>(&scene, camera, &rows, lanes, start, output);
        start += L::WIDTH;
    }
}

/// Projects `lanes` Gaussians, a Gaussian a lane.
#[inline(always)]
fn project_lanes<L: Lanes>(
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
    let growth = grown(scene, rows, &mut columns);
    let g = geometry(&columns, camera);
    let place = match &camera.lens {
        None => pinhole(&g, camera),
        Some(lens) => unscented::project(&columns, lens, camera),
    };
    let in_front = in_front(&place, camera);
    if in_front.bits() & valid == 0 {
        return;
    }

    let outline = outline(&place);
    let in_view = square_in_view(&outline, in_front, camera) & valid;
    for lane in 0..lanes {
        output.in_view[start + lane] = (in_view >> lane & 1) as u8;
    }
    let factor = match (camera.antialias, &camera.lens) {
        (false, _) => None,
        (true, None) => Some(Compensation::new(&g, camera).log2_factor()),
        (true, Some(_)) => Some(place.log2_factor),
    };
    let log2_opacity = log2_opacity(scene, rows, &growth, factor);
    let visible = in_front & log2_opacity.ge(L::splat(-LOG2_255));
    let extent = extent(&outline, log2_opacity);
    // Comparisons with NaN are false, so a mean that overflowed drops out here.
    let touches = touches_image(&outline, &extent, camera);
    let survivors = (visible & touches).bits() & valid;
    if survivors == 0 {
        return;
    }

    let mut fields = [[0.0f32; 16]; FIELDS];
    let colour = colours([columns[0], columns[1], columns[2]], scene, rows, camera);
    for channel in 0..3 {
        colour[channel].store(&mut fields[channel]);
    }
    outline.power[0].store(&mut fields[3]);
    outline.power[1].store(&mut fields[4]);
    outline.power[2].store(&mut fields[5]);
    place.depth.store(&mut fields[6]);
    extent[0].store(&mut fields[7]);
    extent[1].store(&mut fields[8]);
    outline.mean[0].store(&mut fields[9]);
    outline.mean[1].store(&mut fields[10]);
    log2_opacity.store(&mut fields[11]);
    outline.radius.store(&mut fields[12]);
    write_splats(&fields, survivors, rows, output);
}

/// Whether a Gaussian is beyond the near plane and its projected covariance can be inverted.
#[inline(always)]
fn in_front<L: Lanes>(place: &Place<L>, camera: &KernelCamera) -> L::Mask {
    let tiny = L::splat(f32::MIN_POSITIVE);
    let in_front = place.depth.ge(L::splat(camera.near)) & place.determinant.ge(tiny);
    // z > near, not >=: one more comparison for the lanes that sit exactly on the plane.
    in_front.and_not(L::splat(camera.near).ge(place.depth))
}

/// Without a lens.
#[inline(always)]
fn pinhole<L: Lanes>(g: &Geometry<L>, camera: &KernelCamera) -> Place<L> {
    let u =
        (g.view[0] * g.inverse_z).mul_add(L::splat(camera.focal[0]), L::splat(camera.centre[0]));
    let v =
        (g.view[1] * g.inverse_z).mul_add(L::splat(camera.focal[1]), L::splat(camera.centre[1]));
    Place {
        mean: [u, v],
        projected: g.projected,
        determinant: g.determinant,
        depth: g.view[2],
        log2_factor: L::splat(0.0),
    }
}

/// A splat's place and shape in the image, a Gaussian a lane.
struct Outline<L> {
    /// Centre in pixels.
    mean: [L; 2],
    /// a, b, c of log2 alpha, see [`Splat::power`].
    power: [L; 3],
    /// See [`Splat::radius`].
    radius: L,
}

/// The splat of a Gaussian that is in front of the camera.
#[inline(always)]
fn outline<L: Lanes>(g: &Place<L>) -> Outline<L> {
    let inverse_determinant = L::splat(1.0) / g.determinant;
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
    Outline {
        mean: g.mean,
        power: [a, b, power_c],
        radius: ceil(sigma3),
    }
}

/// Bits of the Gaussians whose 3-sigma square touches the grid of tiles.
///
/// The square of `square_tiles` holds a tile exactly when it reaches past the first pixel and
/// starts before the end of the last tile, since it is at least two pixels wide.
#[inline(always)]
fn square_in_view<L: Lanes>(o: &Outline<L>, in_front: L::Mask, camera: &KernelCamera) -> u32 {
    let ([u, v], radius) = (o.mean, o.radius);
    let one_half = L::splat(1.5);
    let [end_x, end_y] = camera.tiles.map(|t| (t * TILE) as f32 + 0.5 - 1e-3);
    let x = (u + radius).ge(one_half) & L::splat(end_x).ge(u - radius);
    let y = (v + radius).ge(one_half) & L::splat(end_y).ge(v - radius);
    (in_front & (x & y)).bits()
}

/// log2 of the opacity, lowered by the 3D filter's growth and by the 2D filter's factor.
#[inline(always)]
fn log2_opacity<L: Lanes>(scene: &Scene<'_>, rows: &Rows, growth: &[L; 3], factor: Option<L>) -> L {
    let mut logits = [L::splat(0.0)];
    load_columns(scene.opacity_logits, 1, rows, 1, &mut logits);
    let mut log2_opacity = -log2_one_plus_exp2(logits[0] * L::splat(-LOG2_E));
    if grow(scene) {
        log2_opacity = log2_opacity - (growth[0] + growth[1] + growth[2]);
    }
    if let Some(factor) = factor {
        log2_opacity = log2_opacity + factor;
    }
    log2_opacity
}

/// Half width and height of the ellipse alpha = 1/255.
#[inline(always)]
fn extent<L: Lanes>(o: &Outline<L>, log2_opacity: L) -> [L; 2] {
    let [a, b, c] = o.power;
    let ellipse = Ellipse::new(a, b, c, log2_opacity);
    let transposed = Ellipse::new(c, b, a, log2_opacity);
    [transposed.half_height, ellipse.half_height]
}

/// Whether the box around that ellipse holds the centre of a pixel.
#[inline(always)]
fn touches_image<L: Lanes>(o: &Outline<L>, extent: &[L; 2], camera: &KernelCamera) -> L::Mask {
    let ([u, v], [half_width, half_height]) = (o.mean, *extent);
    // Pixel centres run from 0.5 to side - 0.5.
    let [edge_x, edge_y] = camera.size.map(|v| v as f32 - 0.5);
    let x = (u + half_width).ge(L::splat(0.5)) & L::splat(edge_x).ge(u - half_width);
    let y = (v + half_height).ge(L::splat(0.5)) & L::splat(edge_y).ge(v - half_height);
    x & y
}

/// Colours from spherical harmonics, not clamped yet.
#[inline(always)]
fn colours<L: Lanes>(
    mean: [L; 3],
    scene: &Scene<'_>,
    rows: &Rows,
    camera: &KernelCamera,
) -> [L; 3] {
    let degree = scene.sh_degree;
    let (unit, _) = direction(&mean, camera);
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
    let mut colour = [L::splat(0.5); 3];
    for channel in 0..3 {
        for k in 0..coefficients {
            colour[channel] = basis[k].mul_add(harmonics[3 * k + channel], colour[channel]);
        }
    }
    colour
}

/// Arrays that [`write_splats`] takes: colour 0 to 2, power 3 to 5, depth 6, extent 7 and 8, mean 9
/// and 10, log2 of the opacity 11, radius 12.
const FIELDS: usize = 13;

/// Appends the splats of the lanes whose bit is set.
#[inline(always)]
fn write_splats(
    fields: &[[f32; 16]; FIELDS],
    mut survivors: u32,
    rows: &Rows,
    output: &mut Output<'_>,
) {
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
