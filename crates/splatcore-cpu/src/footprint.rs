//! Which tiles a splat touches, for every `intersect` method: the rows of tiles, and in each row
//! one interval, since every method's shape is convex. On a card: kernels/footprint.cuh, whose
//! header says what the methods are, what each of them loses and what holds between them.

use crate::ellipse::Ellipse;
use crate::project::{Splat, square_tiles};
use crate::simd::{Lanes, dispatch, load_all};
use splatcore_core::pipeline::Intersect;
use splatcore_core::semantics::TILE;
use std::f32::consts::LOG2_E;

/// log2 alpha falls by this much from the centre to 3 sigma.
const THREE_SIGMA: f32 = 4.5 * LOG2_E;
/// Sines below this count as 0: the box is then upright to a thousandth of a pixel.
const UPRIGHT: f32 = 1e-6;

/// First and one past the last.
type Span = [usize; 2];

/// A tile's rectangle along one axis, from the tile's first edge.
#[derive(Clone, Copy)]
struct Side {
    low: f32,
    high: f32,
}

/// The centres of its pixels.
const CENTRES: Side = Side {
    low: 0.5,
    high: TILE as f32 - 0.5,
};
/// All of it.
const EDGES: Side = Side {
    low: 0.0,
    high: TILE as f32,
};

dispatch! {
    /// Appends the numbers of the tiles that each splat of `order` touches to `out`, and how many
    /// there are to `counts`.
    pub fn touched / kernel (
        method: Intersect, splats: &[Splat], order: &[u32], tiles: [usize; 2],
        out: &mut Vec<u32>, counts: &mut Vec<u32>
    )
}

#[inline(always)]
fn kernel<L: Lanes>(
    method: Intersect,
    splats: &[Splat],
    order: &[u32],
    tiles: [usize; 2],
    out: &mut Vec<u32>,
    counts: &mut Vec<u32>,
) {
    for group in order.chunks(L::WIDTH) {
        let ellipses = match method {
            Intersect::Accutile | Intersect::TileCull | Intersect::Exact => {
                ellipses::<L>(splats, group)
            }
            _ => [[0.0; 16]; 5],
        };
        for (lane, &position) in group.iter().enumerate() {
            let splat = &splats[position as usize];
            let before = out.len();
            let ellipse = [0, 1, 2, 3, 4].map(|k: usize| ellipses[k][lane]);
            match method {
                Intersect::Aabb => rectangle(square(splat, tiles), tiles, out),
                Intersect::AdaptiveRadius => {
                    let (square, snug) = (square(splat, tiles), snug(splat, EDGES, tiles));
                    rectangle([0, 1].map(|k| common(square[k], snug[k])), tiles, out);
                }
                Intersect::Snugbox => rectangle(snug(splat, EDGES, tiles), tiles, out),
                Intersect::Accutile => walk::<L>(splat, ellipse, EDGES, tiles, out),
                Intersect::Obb => oriented_box(splat, tiles, out),
                Intersect::TileCull => tile_cull(splat, ellipse, tiles, out),
                Intersect::Exact => walk::<L>(splat, ellipse, CENTRES, tiles, out),
            }
            counts.push((out.len() - before) as u32);
        }
    }
}

/// The ellipses of up to `WIDTH` splats, one a lane, as arrays of their fields.
#[inline(always)]
fn ellipses<L: Lanes>(splats: &[Splat], group: &[u32]) -> [[f32; 16]; 5] {
    let mut power = [[-1.0f32; 16]; 4];
    for (lane, &position) in group.iter().enumerate() {
        let splat = &splats[position as usize];
        power[0][lane] = splat.power[0];
        power[1][lane] = splat.power[1];
        power[2][lane] = splat.power[2];
        power[3][lane] = splat.log2_opacity;
    }
    let [a, b, c, l] = load_all::<L, 4>(&power);
    let fields = Ellipse::new(a, b, c, l).fields();
    let mut out = [[0.0f32; 16]; 5];
    for k in 0..5 {
        fields[k].store(&mut out[k]);
    }
    out
}

/// The tiles whose rectangles reach into `[low, high]`.
fn span(low: f32, high: f32, side: Side, tiles: usize) -> Span {
    let first = ((low - side.high) / TILE as f32).ceil().max(0.0) as usize;
    let last = ((high - side.low) / TILE as f32).floor();
    let end = if last < 0.0 {
        0
    } else {
        (last as usize).saturating_add(1).min(tiles)
    };
    [first.min(end), end]
}

/// The tiles of both spans.
fn common(a: Span, b: Span) -> Span {
    let begin = a[0].max(b[0]);
    [begin, a[1].min(b[1]).max(begin)]
}

/// Columns and rows of INRIA's 3-sigma square.
fn square(splat: &Splat, tiles: [usize; 2]) -> [Span; 2] {
    let [x0, y0, x1, y1] = square_tiles(splat.mean, splat.radius, tiles);
    [[x0, x1], [y0, y1]]
}

/// Columns and rows of the box of the ellipse alpha = 1/255.
fn snug(splat: &Splat, side: Side, tiles: [usize; 2]) -> [Span; 2] {
    [0, 1].map(|k| {
        let (mean, half) = (splat.mean[k], splat.extent[k]);
        span(mean - half, mean + half, side, tiles[k])
    })
}

fn rectangle([columns, rows]: [Span; 2], tiles: [usize; 2], out: &mut Vec<u32>) {
    for y in rows[0]..rows[1] {
        row_of_tiles(y, columns, tiles, out);
    }
}

fn row_of_tiles(row: usize, columns: Span, tiles: [usize; 2], out: &mut Vec<u32>) {
    out.extend((columns[0]..columns[1]).map(|x| (row * tiles[0] + x) as u32));
}

/// The ellipse against the tiles' rectangles; rows of tiles are lanes.
#[inline(always)]
fn walk<L: Lanes>(
    splat: &Splat,
    ellipse: [f32; 5],
    side: Side,
    tiles: [usize; 2],
    out: &mut Vec<u32>,
) {
    let [columns, rows] = snug(splat, side, tiles);
    let ([x0, x1], [y0, y1]) = (columns, rows);
    if x1 <= x0 || y1 <= y0 {
        return;
    }
    // An ellipse inside one column or one row touches every tile between its ends.
    let inside = |k: usize, tile: usize| {
        let low = (tile * TILE) as f32 + side.low;
        splat.mean[k] - splat.extent[k] >= low
            && splat.mean[k] + splat.extent[k] <= low + (side.high - side.low)
    };
    if inside(0, x0) || inside(1, y0) {
        rectangle([columns, rows], tiles, out);
        return;
    }
    let mut fields = [L::splat(0.0); 5];
    for k in 0..5 {
        fields[k] = L::splat(ellipse[k]);
    }
    let ellipse = Ellipse::from_fields(fields);
    let offsets: [f32; 16] = std::array::from_fn(|lane| (lane * TILE) as f32);
    let mut y = y0;
    while y < y1 {
        let low = L::load(&offsets) + L::splat((y * TILE) as f32 + side.low - splat.mean[1]);
        let (left, right) = ellipse.interval(low, low + L::splat(side.high - side.low));
        let mut ends = [[0.0f32; 16]; 2];
        left.store(&mut ends[0]);
        right.store(&mut ends[1]);
        for lane in 0..(y1 - y).min(L::WIDTH) {
            if ends[0][lane] <= ends[1][lane] {
                let [left, right] = [0, 1].map(|k: usize| splat.mean[0] + ends[k][lane]);
                let row = span(left, right, side, tiles[0]);
                row_of_tiles(y + lane, common(row, columns), tiles, out);
            }
        }
        y += L::WIDTH;
    }
}

/// The 3-sigma box along the ellipse's axes, by its right end as a function of dy: largest at the
/// rightmost corner, from where it falls by `above` a pixel towards larger dy and by `below`
/// towards smaller. The left end mirrors it.
struct OrientedBox {
    rightmost: [f32; 2],
    half_height: f32,
    above: f32,
    below: f32,
}

impl OrientedBox {
    fn new(splat: &Splat) -> Self {
        // Eigenvalues and axes of the quadratic form -(a, b/2; b/2, c): the longer axis belongs to
        // the smaller eigenvalue.
        let [a, b, c] = splat.power;
        let (middle, difference, half) = (-0.5 * (a + c), 0.5 * (a - c), 0.5 * b);
        let spread = (difference * difference + half * half).sqrt();
        let largest = middle + spread;
        // In f64, or needles would lose their sign.
        let determinant = (a as f64 * c as f64 - half as f64 * half as f64) as f32;
        let across = (THREE_SIGMA / largest).sqrt();
        // A needle whose determinant rounds to nothing or less is as long as INRIA's square allows;
        // so `min` says of NaN.
        let along = (THREE_SIGMA * largest / determinant)
            .sqrt()
            .min(splat.radius);
        // Sine and cosine of the longer axis from those of twice its angle, the larger one first:
        // the other would cancel. A round splat has no axis; its box is upright.
        let (cosine2, sine2) = match spread > 0.0 {
            true => (difference / spread, (half / spread).abs()),
            false => (1.0, 0.0),
        };
        let larger = (0.5 * cosine2.abs() + 0.5).sqrt();
        let smaller = 0.5 * sine2 / larger;
        let (cosine, sine) = match cosine2 >= 0.0 {
            true => (larger, smaller),
            false => (smaller, larger),
        };
        let along_fall = if cosine > UPRIGHT { sine / cosine } else { 0.0 };
        let across_fall = if sine > UPRIGHT { cosine / sine } else { 0.0 };
        let corner = [
            along * cosine + across * sine,
            along * sine - across * cosine,
        ];
        let half_height = along * sine + across * cosine;
        match b >= 0.0 {
            true => Self {
                rightmost: corner,
                half_height,
                above: along_fall,
                below: across_fall,
            },
            false => Self {
                rightmost: [corner[0], -corner[1]],
                half_height,
                above: across_fall,
                below: along_fall,
            },
        }
    }

    fn right(&self, dy: f32) -> f32 {
        let from_corner = dy - self.rightmost[1];
        let fall = if from_corner > 0.0 {
            self.above
        } else {
            self.below
        };
        self.rightmost[0] - from_corner.abs() * fall
    }
}

/// Of the square's tiles those that the box touches.
fn oriented_box(splat: &Splat, tiles: [usize; 2], out: &mut Vec<u32>) {
    let shape = OrientedBox::new(splat);
    let [columns, rows] = square(splat, tiles);
    let [x, y] = splat.mean;
    let reach = span(
        y - shape.half_height,
        y + shape.half_height,
        EDGES,
        tiles[1],
    );
    let rows = common(reach, rows);
    for row in rows[0]..rows[1] {
        let low = (row * TILE) as f32 - y;
        let (bottom, top) = (
            low.max(-shape.half_height),
            (low + TILE as f32).min(shape.half_height),
        );
        if bottom <= top {
            let right = shape.right(shape.rightmost[1].max(bottom).min(top));
            let left = -shape.right(-(-shape.rightmost[1]).max(bottom).min(top));
            let reach = span(x + left, x + right, EDGES, tiles[0]);
            row_of_tiles(row, common(reach, columns), tiles, out);
        }
    }
}

/// Of the ellipse's box the tiles where the largest alpha over the pixel centres' rectangle reaches
/// 1/255; they are neighbours, so each row is tested from both ends until one is in.
fn tile_cull(splat: &Splat, ellipse: [f32; 5], tiles: [usize; 2], out: &mut Vec<u32>) {
    let [slope, square, curve, _, _] = ellipse;
    let turn = slope / (slope * slope + curve);
    // How far log2 alpha has fallen at d, over -a.
    let fall = |dx: f32, dy: f32| {
        let along = dx - slope * dy;
        along * along + curve * dy * dy
    };
    let extent = |tile: usize, mean: f32| {
        let low = (tile * TILE) as f32 + CENTRES.low - mean;
        (low, low + (CENTRES.high - CENTRES.low))
    };
    // Alpha is largest at the mean or, seen from there, on the nearer vertical or the nearer
    // horizontal edge; what is compared is the largest on the lines nearest to the mean.
    let contributes = |column: usize, row: usize| {
        let ((left, right), (top, bottom)) =
            (extent(column, splat.mean[0]), extent(row, splat.mean[1]));
        let (x, y) = (0.0f32.max(left).min(right), 0.0f32.max(top).min(bottom));
        let vertical = fall(x, (turn * x).max(top).min(bottom));
        let horizontal = fall((slope * y).max(left).min(right), y);
        vertical.min(horizontal) <= square
    };
    let [columns, rows] = snug(splat, CENTRES, tiles);
    for row in rows[0]..rows[1] {
        let [mut first, mut end] = columns;
        while first < end && !contributes(first, row) {
            first += 1;
        }
        while first < end && !contributes(end - 1, row) {
            end -= 1;
        }
        row_of_tiles(row, [first, end], tiles, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn span_counts_pixel_centres() {
        let span = |low, high| super::span(low, high, CENTRES, 4);
        assert_eq!(span(0.0, 15.6), [0, 1]);
        assert_eq!(
            span(15.4, 16.4),
            [0, 1],
            "the centre at 15.5 is in tile 0, that at 16.5 is not reached"
        );
        assert_eq!(span(15.4, 16.5), [0, 2]);
        assert_eq!(span(15.6, 16.4), [1, 1], "no centre between");
        assert_eq!(span(-100.0, 1e9), [0, 4]);
        assert_eq!(span(-100.0, -5.0), [0, 0]);
        assert_eq!(span(100.0, 105.0)[0], span(100.0, 105.0)[1]);
    }

    #[test]
    fn span_counts_edges() {
        let span = |low, high| super::span(low, high, EDGES, 4);
        assert_eq!(span(15.6, 16.4), [0, 2]);
        assert_eq!(span(16.1, 31.9), [1, 2]);
        assert_eq!(span(-3.0, -0.1), [0, 0]);
        assert_eq!(span(64.1, 70.0)[0], span(64.1, 70.0)[1]);
    }

    /// A box of 30 by 3 pixels at 30 degrees, and its mirror image: corners as trigonometry has
    /// them.
    #[test]
    fn the_oriented_box_has_the_corners_of_its_axes() {
        let (sigma1, sigma2, angle) = (10.0f64, 1.0f64, 30f64.to_radians());
        for sign in [1.0, -1.0] {
            let (cos, sin) = (angle.cos(), sign * angle.sin());
            let (p, q) = (sigma1.powi(-2), sigma2.powi(-2));
            let form = [
                p * cos * cos + q * sin * sin,
                2.0 * (p - q) * cos * sin,
                p * sin * sin + q * cos * cos,
            ];
            let splat = Splat {
                power: form.map(|v| (-0.5 * std::f64::consts::LOG2_E * v) as f32),
                radius: 30.0,
                ..Splat::default()
            };
            let found = OrientedBox::new(&splat);
            let right = [
                30.0 * cos + 3.0 * sin.abs(),
                sign * (30.0 * sin.abs() - 3.0 * cos),
            ];
            let top = [
                sign * (30.0 * cos - 3.0 * sin.abs()),
                30.0 * sin.abs() + 3.0 * cos,
            ];
            let close = |a: f32, b: f64| (a as f64 - b).abs() < 1e-3;
            assert!(close(found.rightmost[0], right[0]) && close(found.rightmost[1], right[1]));
            assert!(close(found.half_height, top[1]));
            // Down both edges from the rightmost corner.
            assert!(
                close(found.right(top[1] as f32), top[0]),
                "{}",
                found.right(top[1] as f32)
            );
            assert!(close(found.right(-top[1] as f32), -top[0]));
        }
    }
}
