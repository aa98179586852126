//! `intersect`: which (tile, Gaussian) pairs exist.
//!
//! Every method is a question about one tile and one splat:
//!
//! * `aabb` (INRIA): does the square around the 3-sigma circle touch the tile?
//! * `adaptive-radius` (AdR-Gaussian): does the ellipse's box touch it too?
//! * `snugbox` (Speedy-Splat): does the box of the ellipse alpha = 1/255 touch the tile?
//! * `accutile` (Speedy-Splat): does that ellipse touch it?
//! * `obb` (GSCore): do the square and the 3-sigma box along the ellipse's axes touch the tile?
//! * `exact` (FlashGS) and `tile-cull` (StopThePop): does the largest alpha over the rectangle of
//!   the tile's pixel centres reach 1/255?
//!
//! The square and the 3-sigma box cut faint fragments; the ellipse loses nothing.

use super::cut_offs::{ALPHA_WINDOW, CutOffs};
use super::project::Splat;
use splatcore_core::Camera;
use splatcore_core::pipeline::Intersect;
use splatcore_core::semantics::{ALPHA_MIN, TILE};

/// Relative rounding error granted to centre and radius of an f32 backend.
const SQUARE_WINDOW: f64 = 1e-5;

/// The list of every tile, in blending order.
#[derive(Clone, Debug, PartialEq)]
pub struct TileLists {
    /// Width and height of the image.
    pub size: [usize; 2],
    /// Tiles a row.
    pub columns: usize,
    /// Rows of tiles.
    pub rows: usize,
    /// Indices into the sorted splats, `[rows * columns]`.
    pub lists: Vec<Vec<usize>>,
    /// Splats that roundings could put into or out of the tile so that pixels change, `[rows *
    /// columns]`.
    pub doubtful: Vec<Vec<usize>>,
    /// Brightest colour of the list, of any channel, `[rows * columns]`.
    pub brightest: Vec<f64>,
}

/// Lists of `splats` (sorted). Without cut-offs every splat is in every tile.
pub fn intersect(
    splats: &[Splat],
    camera: &Camera,
    method: Intersect,
    cut_offs: CutOffs,
) -> TileLists {
    let columns = (camera.width as usize).div_ceil(TILE);
    let rows = (camera.height as usize).div_ceil(TILE);
    let mut tiles = TileLists {
        size: [camera.width as usize, camera.height as usize],
        columns,
        rows,
        lists: vec![Vec::new(); rows * columns],
        doubtful: vec![Vec::new(); rows * columns],
        brightest: Vec::new(),
    };
    for (k, splat) in splats.iter().enumerate() {
        for row in 0..rows {
            for column in 0..columns {
                let found = match (cut_offs, method) {
                    (CutOffs::None, _) => Found::Sure,
                    (_, Intersect::Aabb) => aabb(splat, column, row, columns, rows),
                    (_, Intersect::AdaptiveRadius) => {
                        let square = aabb(splat, column, row, columns, rows);
                        square.min(snugbox(splat, column, row))
                    }
                    (_, Intersect::Snugbox) => snugbox(splat, column, row),
                    (_, Intersect::Accutile) => reaches(splat, edges(column), edges(row)),
                    (_, Intersect::Obb) => {
                        let square = aabb(splat, column, row, columns, rows);
                        square.min(oriented_box(splat, [column, row], TILE))
                    }
                    (_, Intersect::TileCull | Intersect::Exact) => reaches(
                        splat,
                        centres(column, camera.width),
                        centres(row, camera.height),
                    ),
                };
                let tile = row * columns + column;
                if found.inside() {
                    tiles.lists[tile].push(k);
                }
                if found.doubtful() {
                    tiles.doubtful[tile].push(k);
                }
            }
        }
    }
    let brightest = |list: &Vec<usize>| {
        list.iter()
            .flat_map(|&k| splats[k].colour)
            .fold(0.0, f64::max)
    };
    tiles.brightest = tiles.lists.iter().map(brightest).collect();
    tiles
}

/// Whether a splat counts as seen by this camera: INRIA's rasterizer says so when the 3-sigma
/// square touches the grid of tiles, whatever the opacity. Densification counts by it under every
/// `intersect`. `None` when roundings decide.
pub fn in_view(splat: &Splat, camera: &Camera) -> Option<bool> {
    let columns = (camera.width as usize).div_ceil(TILE);
    let rows = (camera.height as usize).div_ceil(TILE);
    let found: Vec<Found> = (0..rows * columns)
        .map(|tile| aabb(splat, tile % columns, tile / columns, columns, rows))
        .collect();
    if found.contains(&Found::Sure) {
        Some(true)
    } else if found.iter().any(|f| f.doubtful()) {
        None
    } else {
        Some(false)
    }
}

/// Whether a shape touches a rectangle. In ascending order, so that the lesser of two is what both
/// conditions together give.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Found {
    /// It does not.
    Not,
    /// It does not, but roundings could tip it.
    BarelyNot,
    /// It does, but roundings could tip it.
    Barely,
    /// It does.
    Sure,
}

impl Found {
    fn new(inside: bool, inside_if_smaller: bool, inside_if_larger: bool) -> Self {
        match (inside, inside_if_smaller, inside_if_larger) {
            (true, true, _) => Found::Sure,
            (true, false, _) => Found::Barely,
            (false, _, true) => Found::BarelyNot,
            (false, _, false) => Found::Not,
        }
    }

    /// Whether it does.
    pub fn inside(self) -> bool {
        matches!(self, Found::Sure | Found::Barely)
    }

    /// Whether roundings could tip it.
    pub fn doubtful(self) -> bool {
        matches!(self, Found::Barely | Found::BarelyNot)
    }
}

fn aabb(splat: &Splat, column: usize, row: usize, columns: usize, rows: usize) -> Found {
    // INRIA's getRect: tiles floor((p - r) / 16) up to, not including, floor((p + r + 15) / 16).
    // There p counts from the centre of the first pixel, half a pixel less than here.
    let inside = |radius: f64, slack: f64| {
        let covers = |centre: f64, tile: usize, count: usize| {
            let side = TILE as f64;
            let centre = centre - 0.5;
            let slack = slack * (centre.abs() + radius + 1.0);
            let from = ((centre - radius - slack) / side).trunc();
            let to = ((centre + radius + slack + side - 1.0) / side).trunc();
            let (from, to) = (from.clamp(0.0, count as f64), to.clamp(0.0, count as f64));
            (from..to).contains(&(tile as f64))
        };
        covers(splat.mean[0], column, columns) && covers(splat.mean[1], row, rows)
    };
    let r = splat.three_sigma;
    Found::new(
        inside(r.ceil(), 0.0),
        inside((r * (1.0 - SQUARE_WINDOW)).ceil(), -SQUARE_WINDOW),
        inside((r * (1.0 + SQUARE_WINDOW)).ceil(), SQUARE_WINDOW),
    )
}

/// A tile's rectangle along one axis.
fn edges(tile: usize) -> [f64; 2] {
    [tile * TILE, (tile + 1) * TILE].map(|v| v as f64)
}

/// That of its pixel centres.
fn centres(tile: usize, size: u32) -> [f64; 2] {
    let to = ((tile + 1) * TILE).min(size as usize);
    [(tile * TILE) as f64 + 0.5, to as f64 - 0.5]
}

/// Whether the ellipse's box touches a tile: its half sides are those of the ellipse alpha = 1/255,
/// which is as many standard deviations large as the opacity makes it.
fn snugbox(splat: &Splat, column: usize, row: usize) -> Found {
    let inside = |window: f64| {
        let square = 2.0 * (splat.opacity / ALPHA_MIN * (1.0 + window)).ln();
        let touches = |k: usize, tile: usize| {
            let half = (square * splat.covariance[2 * k]).sqrt();
            let [low, high] = edges(tile);
            low <= splat.mean[k] + half && splat.mean[k] - half <= high
        };
        square >= 0.0 && touches(0, column) && touches(1, row)
    };
    Found::new(inside(0.0), inside(-ALPHA_WINDOW), inside(ALPHA_WINDOW))
}

/// Whether the largest alpha over a rectangle reaches 1/255.
fn reaches(splat: &Splat, x: [f64; 2], y: [f64; 2]) -> Found {
    let largest = splat.opacity * (-0.5 * smallest_distance(splat, x, y)).exp();
    Found::new(
        largest >= ALPHA_MIN,
        largest >= ALPHA_MIN * (1.0 + ALPHA_WINDOW),
        largest >= ALPHA_MIN * (1.0 - ALPHA_WINDOW),
    )
}

/// Whether the 3-sigma box along the ellipse's axes touches the square of this column and row in a
/// grid of squares with so many pixels a side: no line along a side of either keeps them apart.
pub fn oriented_box(splat: &Splat, [column, row]: [usize; 2], side: usize) -> Found {
    let [xx, xy, yy] = splat.covariance;
    let determinant = xx * yy - xy * xy;
    let (middle, difference) = (0.5 * (xx + yy), 0.5 * (xx - yy));
    let spread = difference.hypot(xy);
    let longest = middle + spread;
    let [p, q] = [longest, determinant / longest].map(|variance| 3.0 * variance.sqrt());
    let angle = 0.5 * xy.atan2(difference);
    let (u, v) = ([angle.cos(), angle.sin()], [-angle.sin(), angle.cos()]);
    let half = 0.5 * side as f64;
    let d = [(column, 0), (row, 1)].map(|(at, k)| (at * side) as f64 + half - splat.mean[k]);
    let dot = |a: [f64; 2], b: [f64; 2]| a[0] * b[0] + a[1] * b[1];
    let inside = |[p, q]: [f64; 2]| {
        let square = half * (u[0].abs() + u[1].abs());
        p >= 0.0
            && q >= 0.0
            && (0..2).all(|k| d[k].abs() <= half + p * u[k].abs() + q * v[k].abs())
            && dot(d, u).abs() <= p + square
            && dot(d, v).abs() <= q + square
    };
    // f32 leaves a thin ellipse fewer digits of its inverse covariance, and a nearly round one
    // fewer of its angle; a turn by `turn` moves a corner by that times the other half side.
    // Whatever the angle, a box holds the square of diagonal 2 q.
    let window = SQUARE_WINDOW + 4.0 * f32::EPSILON as f64 * xx * yy / determinant;
    let turn = (SQUARE_WINDOW * middle / spread).min(1.0);
    let slack = SQUARE_WINDOW * (splat.mean[0].abs() + splat.mean[1].abs() + p + 1.0);
    let larger = [p, q].map(|side| side * (1.0 + window) + slack);
    let smaller = [p, q].map(|side| side * (1.0 - window) - slack);
    let turned = [smaller[0] - q * turn, smaller[1] - p * turn];
    let held = smaller[1] * std::f64::consts::FRAC_1_SQRT_2;
    Found::new(
        inside([p, q]),
        inside(if turned[1] > held { turned } else { [held; 2] }),
        inside([larger[0] + q * turn, larger[1] + p * turn]),
    )
}

/// The smallest squared Mahalanobis distance dᵀ Q d from the splat's centre to a rectangle.
pub fn smallest_distance(splat: &Splat, x: [f64; 2], y: [f64; 2]) -> f64 {
    closest_point(splat, x, y).1
}

/// The point of a rectangle with the smallest squared Mahalanobis distance dᵀ Q d from the splat's
/// centre, and that distance. A convex function: zero if the centre is inside, else the least of
/// the four edges' minima.
pub fn closest_point(splat: &Splat, x: [f64; 2], y: [f64; 2]) -> ([f64; 2], f64) {
    let [a, b, c] = splat.conic;
    let [left, right] = x.map(|v| v - splat.mean[0]);
    let [top, bottom] = y.map(|v| v - splat.mean[1]);
    if left <= 0.0 && right >= 0.0 && top <= 0.0 && bottom >= 0.0 {
        return (splat.mean, 0.0);
    }
    let vertical = |dx: f64| [dx, (-b * dx / c).clamp(top, bottom)];
    let horizontal = |dy: f64| [(-b * dy / a).clamp(left, right), dy];
    let edges = [
        vertical(left),
        vertical(right),
        horizontal(top),
        horizontal(bottom),
    ];
    let mut best = (splat.mean, f64::INFINITY);
    for [dx, dy] in edges {
        let distance = a * dx * dx + 2.0 * b * dx * dy + c * dy * dy;
        if distance < best.1 {
            best = ([splat.mean[0] + dx, splat.mean[1] + dy], distance);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::super::along_ray::AlongRay;
    use super::*;

    fn splat(mean: [f64; 2], covariance: [f64; 3]) -> Splat {
        let [a, b, c] = covariance;
        let d = a * c - b * b;
        Splat {
            index: 0,
            depth: 1.0,
            mean,
            covariance,
            conic: [c / d, -b / d, a / d],
            three_sigma: 3.0,
            opacity: 0.5,
            compensation: 1.0,
            colour: [0.0; 3],
            colour_clamped: [false; 3],
            sh_degree: 0,
            along_ray: AlongRay::default(),
        }
    }

    /// Against a search over a fine grid.
    #[test]
    fn smallest_distance_is_the_minimum_over_the_rectangle() {
        for (mean, covariance) in [
            ([3.0, 4.0], [2.0, 1.5, 3.0]),
            ([-5.0, 20.0], [9.0, -4.0, 3.0]),
            ([30.0, 7.0], [40.0, 12.0, 5.0]),
            ([8.0, -3.0], [1.0, 0.9, 1.0]),
        ] {
            let splat = splat(mean, covariance);
            let found = smallest_distance(&splat, [0.5, 15.5], [0.5, 15.5]);
            let mut searched = f64::INFINITY;
            for i in 0..=600 {
                for j in 0..=600 {
                    let d = [
                        0.5 + i as f64 * 0.025 - mean[0],
                        0.5 + j as f64 * 0.025 - mean[1],
                    ];
                    let [a, b, c] = splat.conic;
                    searched =
                        searched.min(a * d[0] * d[0] + 2.0 * b * d[0] * d[1] + c * d[1] * d[1]);
                }
            }
            assert!(
                found <= searched + 1e-9 && found >= searched - 0.02 * (1.0 + searched),
                "{found} {searched}"
            );
        }
    }

    /// A radius of 5 around x = 21 (21.5 here) reaches from 16 to 26: the second tile only, as in
    /// INRIA's getRect.
    #[test]
    fn the_square_takes_inrias_tiles() {
        let camera = Camera::look_at([0.0; 3], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0], 1.0, 64, 16);
        let tiles_of = |x: f64, radius: f64| -> Vec<usize> {
            let splat = Splat {
                three_sigma: radius,
                ..splat([x, 8.0], [1.0, 0.0, 1.0])
            };
            let tiles = intersect(&[splat], &camera, Intersect::Aabb, CutOffs::Reference);
            (0..4).filter(|&t| !tiles.lists[t].is_empty()).collect()
        };
        assert_eq!(tiles_of(21.6, 4.2), [1]);
        assert_eq!(tiles_of(21.4, 4.2), [0, 1]);
        assert_eq!(tiles_of(-30.0, 4.0), [0usize; 0]);
        assert_eq!(tiles_of(32.0, 500.0), [0, 1, 2, 3]);
    }
}
