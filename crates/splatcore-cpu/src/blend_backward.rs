//! `blend_backward`, method `splatcore`: gradients of a tile's splats, given the gradient of its
//! pixels.
//!
//! Front to back, like the forward pass and with its exact arithmetic, so every fragment takes the
//! same decisions. With G = dL/dpixel, w = alpha T and R = what is still to come of G · image
//! behind this fragment, dL/dalpha = T (colour · G) - R / (1 - alpha); R starts as G · (rendered
//! pixel, background included).
//!
//! Sums over a block's pixels are products with the pixel basis
//! (docs/methods/backward-splatcore.md): for as many splats as there are lanes, v = dL/d(ln alpha)
//! and w are kept as rows, transposed once, and each pixel then adds v * (1, x, y, x², xy, y²) and
//! w * G with a splat a lane. No horizontal sum is ever taken.
//!
//! Each pair's nine sums go to the pair's own row; `project_backward` adds a splat's rows in a
//! fixed order. So the result does not depend on the number of threads.

use crate::blend::{
    CHUNK, MAX_BLOCKS, PIXELS, Scratch, Tile, centres, cull, for_rows, power, start_pixels,
};
use crate::intersect::Pair;
use crate::project::Splat;
use crate::shared::Disjoint;
use crate::simd::{Lanes, Mask, dispatch};
use splatcore_core::semantics::{ALPHA_MIN, TRANSMITTANCE_MIN};

/// Sums of a pair: v, v dx, v dy, v dx², v dx dy, v dy² (v = dL/d ln alpha, d from the splat's mean
/// in pixels), and dL/dcolour r, g, b.
pub const SUMS: usize = 9;
/// A row of sums as written.
pub type SumRow = [f32; SUMS];

/// What one thread needs besides [`Scratch`].
pub struct BackwardScratch {
    /// Forward state.
    pub scratch: Scratch,
    /// dL/dpixel, block by block, a plane a channel; 0 outside the image.
    pub gradient: [[f32; PIXELS]; 3],
    /// R of the header.
    pub behind: [f32; PIXELS],
    /// Sums of the chunk's splats, padded to a full vector.
    pub sums: Vec<[f32; 16]>,
}

impl Default for BackwardScratch {
    fn default() -> Self {
        Self {
            scratch: Scratch::default(),
            gradient: [[0.0; PIXELS]; 3],
            behind: [0.0; PIXELS],
            sums: vec![[0.0; 16]; CHUNK],
        }
    }
}

/// The rendered image and its gradient, a plane a channel, `[height * width]` each.
#[derive(Clone, Copy)]
pub struct Pixels<'a> {
    /// As rendered, background included.
    pub colour: [&'a [f32]; 3],
    /// dL/d(colour).
    pub gradient: [&'a [f32]; 3],
}

dispatch! {
    /// Writes the sums of every pair of one tile into its row of `all_sums`; `first_pair` is the
    /// number of the tile's first pair.
    pub fn blend_backward / kernel (
        splats: &[Splat], pairs: &[Pair], tile: &Tile, pixels: &Pixels<'_>,
        scratch: &mut BackwardScratch, first_pair: usize, all_sums: &Disjoint<'_, SumRow>
    )
}

#[inline(always)]
fn kernel<L: Lanes>(
    splats: &[Splat],
    pairs: &[Pair],
    tile: &Tile,
    pixels: &Pixels<'_>,
    scratch: &mut BackwardScratch,
    mut first_pair: usize,
    all_sums: &Disjoint<'_, SumRow>,
) {
    let mut alive = start_pixels::<L>(tile, &mut scratch.scratch);
    load_pixels::<L>(tile, pixels, scratch);
    let zero = L::splat(0.0);
    let mut batch = Batch {
        v: [zero; 16],
        w: [zero; 16],
        splat: [0; 16],
        len: 0,
    };
    for chunk in pairs.chunks(CHUNK) {
        for sums in &mut scratch.sums[..chunk.len()] {
            *sums = [0.0; 16];
        }
        if alive != 0 {
            cull::<L>(splats, chunk, tile, alive, &mut scratch.scratch);
            for block in 0..PIXELS / L::WIDTH {
                if alive >> block & 1 == 0 || scratch.scratch.lengths[block] == 0 {
                    continue;
                }
                if block_backward::<L>(tile, block, scratch, &mut batch) {
                    alive &= !(1 << block);
                }
            }
        }
        // SAFETY: a pair belongs to one tile, and a tile to one thread.
        let rows = unsafe { all_sums.get(first_pair, chunk.len()) };
        for (row, sums) in rows.iter_mut().zip(&scratch.sums) {
            row.copy_from_slice(&sums[..SUMS]);
        }
        first_pair += chunk.len();
    }
}

#[inline(always)]
fn load_pixels<L: Lanes>(tile: &Tile, pixels: &Pixels<'_>, scratch: &mut BackwardScratch) {
    // The forward pass's colour planes are free: they take the rendered pixels.
    for plane in scratch
        .gradient
        .iter_mut()
        .chain(&mut scratch.scratch.colour)
    {
        plane.fill(0.0);
    }
    for_rows::<L>(tile, |to, from, len| {
        for c in 0..3 {
            scratch.gradient[c][to..to + len]
                .copy_from_slice(&pixels.gradient[c][from..from + len]);
            scratch.scratch.colour[c][to..to + len]
                .copy_from_slice(&pixels.colour[c][from..from + len]);
        }
    });
    for at in (0..PIXELS).step_by(L::WIDTH) {
        let mut behind = L::splat(0.0);
        for c in 0..3 {
            let colour = L::load(&scratch.scratch.colour[c][at..]);
            behind = L::load(&scratch.gradient[c][at..]).mul_add(colour, behind);
        }
        behind.store(&mut scratch.behind[at..]);
    }
}

/// As many fragments of one block as there are lanes: rows of v and w of the header, a pixel a
/// lane.
struct Batch<L> {
    v: [L; 16],
    w: [L; 16],
    splat: [u32; 16],
    len: usize,
}

/// What is the same for all fragments of a block's list.
struct BlockPixels<L> {
    /// Centres of the pixels: x and y.
    centres: [L; 2],
    /// dL/dpixel.
    gradient: [L; 3],
    alpha_max: L,
    /// A splat whose log2 opacity is below this has no fragment above the cap.
    cap: f32,
}

/// A block's pixels on the way front to back.
struct Walk<L: Lanes> {
    /// Transmittance.
    live: L,
    /// R of the header.
    behind: L,
    /// Pixels that have not stopped.
    running: L::Mask,
}

impl<L: Lanes> Walk<L> {
    /// Passes one splat, exactly as the forward pass does; returns v and w.
    #[inline(always)]
    fn pass(&mut self, splat: &Splat, pixels: &BlockPixels<L>) -> (L, L) {
        let alpha_min = L::splat(ALPHA_MIN as f32);
        let t_min = L::splat(TRANSMITTANCE_MIN as f32);
        let one = L::splat(1.0);
        let (_, power) = power(splat, &pixels.centres);
        let raw = power.exp2();
        let alpha = raw.min(pixels.alpha_max);
        let mut alpha = alpha.where_set(alpha.ge(alpha_min));
        let mut transparency = one - alpha;
        let mut next = self.live * transparency;
        let stop = self.running.and_not(next.ge(t_min));
        if stop.any() {
            self.running = self.running.and_not(stop);
            alpha = alpha.where_set(self.running);
            next = next.where_set(self.running);
            transparency = one - alpha;
        }
        let weight = alpha * self.live;
        let toward = pixels.gradient[0].mul_add(
            L::splat(splat.colour[0]),
            pixels.gradient[1].mul_add(
                L::splat(splat.colour[1]),
                pixels.gradient[2] * L::splat(splat.colour[2]),
            ),
        );
        self.behind = weight.neg_mul_add(toward, self.behind);
        let d_alpha = self
            .behind
            .neg_mul_add(transparency.reciprocal(), self.live * toward);
        let mut v = d_alpha * alpha;
        if splat.log2_opacity >= pixels.cap {
            // Nothing flows through the cap: d min(alpha, cap) = 0 above it.
            v = v.where_set(self.running.and_not(raw.ge(pixels.alpha_max)));
        }
        self.live = next;
        (v, weight)
    }
}

/// Walks a block's list of the chunk; true when all its pixels have stopped.
#[inline(always)]
fn block_backward<L: Lanes>(
    tile: &Tile,
    block: usize,
    scratch: &mut BackwardScratch,
    batch: &mut Batch<L>,
) -> bool {
    let at = block * L::WIDTH;
    let live = L::load(&scratch.scratch.live[at..]);
    let mut walk = Walk {
        live,
        behind: L::load(&scratch.behind[at..]),
        running: live.ge(L::splat(TRANSMITTANCE_MIN as f32)),
    };
    let length = scratch.scratch.lengths[block];
    let pixels = BlockPixels {
        centres: centres::<L>(tile, block),
        gradient: [
            L::load(&scratch.gradient[0][at..]),
            L::load(&scratch.gradient[1][at..]),
            L::load(&scratch.gradient[2][at..]),
        ],
        alpha_max: L::splat(tile.alpha_max),
        cap: tile.alpha_max.log2() - 1e-6,
    };
    let mut stopped = false;
    for position in 0..length {
        let index = scratch.scratch.lists[block][position % CHUNK];
        let splat = &scratch.scratch.local[index as usize % CHUNK];
        let (v, weight) = walk.pass(splat, &pixels);
        batch.v[batch.len % 16] = v;
        batch.w[batch.len % 16] = weight;
        batch.splat[batch.len % 16] = index;
        batch.len += 1;
        if batch.len == L::WIDTH {
            flush(batch, at, &pixels.centres, scratch);
        }
        if !walk.running.any() {
            stopped = true;
            break;
        }
    }
    if batch.len > 0 {
        flush(batch, at, &pixels.centres, scratch);
    }
    walk.live.store(&mut scratch.scratch.live[at..]);
    walk.behind.store(&mut scratch.behind[at..]);
    stopped
}

/// Sums of four values, and of them times -3 -1 1 3 and times the squares of these.
#[inline(always)]
fn moments<L: Lanes>(a: L, b: L, c: L, d: L) -> (L, L, L) {
    let (outer, inner) = (a + d, b + c);
    (
        outer + inner,
        L::splat(3.0).mul_add(d - a, c - b),
        L::splat(9.0).mul_add(outer, inner),
    )
}

/// Sums a batch over its block's pixels, a splat a lane, and adds to the splats' sums.
#[inline(always)]
fn flush<L: Lanes>(
    batch: &mut Batch<L>,
    at: usize,
    centres: &[L; 2],
    scratch: &mut BackwardScratch,
) {
    let zero = L::splat(0.0);
    for row in batch.len..L::WIDTH {
        batch.v[row] = zero;
        batch.w[row] = zero;
    }
    L::transpose(&mut batch.v[..L::WIDTH]);
    L::transpose(&mut batch.w[..L::WIDTH]);

    let about_middle = moments_of_pixels(&batch.v);
    let colour = colour_sums(&batch.w, &scratch.gradient, at);
    let offset = offsets(batch, centres, &scratch.scratch.local);
    let mut columns = sums_about_means(&about_middle, &colour, &offset);
    add_to_sums(&mut columns, batch, &mut scratch.sums);
    batch.len = 0;
}

/// Sums of v times 1, x, y, x², xy, y² over the block's pixels, x and y from the block's middle in
/// pixels.
#[inline(always)]
fn moments_of_pixels<L: Lanes>(v: &[L; 16]) -> [L; 6] {
    let zero = L::splat(0.0);
    // Pixel coordinates relative to the block's middle, in half pixels: columns -3 -1 1 3, rows
    // likewise. The moments are separable: three sums along each row, then along the column of
    // rows.
    let rows = L::WIDTH / 4;
    let mut along = [(zero, zero, zero); 4];
    for row in 0..rows {
        let v = &v[4 * row..4 * row + 4];
        along[row] = moments(v[0], v[1], v[2], v[3]);
    }
    let [p, q, r, s] = along;
    let (v0, v1, v2, x0, x1, xx) = match rows {
        4 => {
            let (v0, v1, v2) = moments(p.0, q.0, r.0, s.0);
            (
                v0,
                v1,
                v2,
                (p.1 + s.1) + (q.1 + r.1),
                L::splat(3.0).mul_add(s.1 - p.1, r.1 - q.1),
                (p.2 + s.2) + (q.2 + r.2),
            )
        }
        2 => (
            p.0 + q.0,
            q.0 - p.0,
            p.0 + q.0,
            p.1 + q.1,
            q.1 - p.1,
            p.2 + q.2,
        ),
        _ => (p.0, zero, zero, p.1, zero, p.2),
    };
    let (half, quarter) = (L::splat(0.5), L::splat(0.25));
    [
        v0,
        half * x0,
        half * v1,
        quarter * xx,
        quarter * x1,
        quarter * v2,
    ]
}

/// Sums of w times dL/dpixel over the block's pixels: dL/dcolour.
#[inline(always)]
fn colour_sums<L: Lanes>(w: &[L; 16], gradient: &[[f32; PIXELS]; 3], at: usize) -> [L; 3] {
    let mut sums = [L::splat(0.0); 3];
    let pixels = gradient.each_ref().map(|plane| &plane[at..at + L::WIDTH]);
    for p in 0..L::WIDTH {
        for c in 0..3 {
            sums[c] = w[p].mul_add(L::splat(pixels[c][p]), sums[c]);
        }
    }
    sums
}

/// From each splat's mean to the block's middle, x and y in pixels.
#[inline(always)]
fn offsets<L: Lanes>(batch: &Batch<L>, centres: &[L; 2], local: &[Splat; CHUNK]) -> [L; 2] {
    let rows = L::WIDTH / 4;
    let (mut first_x, mut first_y) = ([0.0f32; 16], [0.0f32; 16]);
    centres[0].store(&mut first_x);
    centres[1].store(&mut first_y);
    let middle = [first_x[0] + 1.5, first_y[0] + (rows as f32 - 1.0) / 2.0];
    let (mut ox, mut oy) = ([0.0f32; 16], [0.0f32; 16]);
    for lane in 0..batch.len.min(16) {
        let mean = local[batch.splat[lane] as usize % CHUNK].mean;
        ox[lane] = middle[0] - mean[0];
        oy[lane] = middle[1] - mean[1];
    }
    [L::load(&ox), L::load(&oy)]
}

/// A pair's sums about the splat's mean, padded to whole vectors: d = position from the middle +
/// offset.
#[inline(always)]
fn sums_about_means<L: Lanes>(s: &[L; 6], colour: &[L; 3], &[ox, oy]: &[L; 2]) -> [L; 16] {
    let mut columns = [L::splat(0.0); 16];
    columns[0] = s[0];
    columns[1] = ox.mul_add(s[0], s[1]);
    columns[2] = oy.mul_add(s[0], s[2]);
    columns[3] = ox.mul_add(s[1] + columns[1], s[3]);
    columns[4] = oy.mul_add(s[1], ox.mul_add(columns[2], s[4]));
    columns[5] = oy.mul_add(s[2] + columns[2], s[5]);
    columns[6..9].copy_from_slice(colour);
    columns
}

/// Adds a batch's columns to the rows of its splats.
#[inline(always)]
fn add_to_sums<L: Lanes>(columns: &mut [L; 16], batch: &Batch<L>, sums: &mut [[f32; 16]]) {
    let mut c = 0;
    while c < SUMS {
        L::transpose(&mut columns[c..c + L::WIDTH]);
        for lane in 0..batch.len.min(L::WIDTH) {
            let row = &mut sums[batch.splat[lane] as usize % CHUNK][c..c + L::WIDTH];
            (L::load(row) + columns[c + lane]).store(row);
        }
        c += L::WIDTH;
    }
}

const _: () = assert!(MAX_BLOCKS <= 64, "blocks are bits of a u64");
