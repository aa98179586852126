//! `blend`, method `splatcore`: sub-tile culling, then one vector of pixels at a time.
//!
//! A tile of 16x16 pixels is cut into blocks of 4 columns and as many rows as fill a vector (4x4
//! with 16 lanes, 4x2 with 8). A chunk of the tile's list is tested against all blocks at once, a
//! Gaussian a lane: per row of blocks the ellipse alpha = 1/255 covers one interval
//! ([`crate::ellipse`]). Each block then walks only its own short list, its transmittance and
//! colour in registers, and stops when its own pixels are opaque.
//!
//! What bounds it: about 27 vector instructions a (Gaussian, block), and one product of latency
//! between neighbours. Reference semantics: section 3.

use crate::intersect::Pair;
use crate::project::Splat;
use crate::simd::{Lanes, Mask, dispatch, load_all};
use splatcore_core::semantics::{ALPHA_MIN, TILE, TRANSMITTANCE_MIN};

use crate::ellipse::Ellipse;
use crate::shared::Disjoint;

/// Splats of a tile's list that are culled and blended together. Small enough for the first-level
/// cache.
pub const CHUNK: usize = 256;
/// Pixels of a tile.
pub const PIXELS: usize = TILE * TILE;
/// Columns of a block.
pub const COLUMNS: usize = 4;
/// Most blocks a tile can have (one row of 4 pixels each).
pub const MAX_BLOCKS: usize = PIXELS / COLUMNS;

/// Where a tile lies and what its pixels need.
#[derive(Clone, Copy)]
pub struct Tile {
    /// Left and top pixel.
    pub origin: [usize; 2],
    /// Image size in pixels.
    pub size: [usize; 2],
    /// Behind the scene.
    pub background: [f32; 3],
    /// See `Semantics::alpha_max`.
    pub alpha_max: f32,
}

/// What one thread needs, reused from tile to tile.
pub struct Scratch {
    /// The chunk's splats, side by side.
    pub local: Box<[Splat; CHUNK]>,
    /// For block `b`, the chunk's splats that touch it: `lists[b][..lengths[b]]`, with room for one
    /// vector more.
    pub lists: Vec<[u32; CHUNK + 16]>,
    /// See `lists`.
    pub lengths: [usize; MAX_BLOCKS],
    /// Block by block, lane by lane: live transmittance (0 once the pixel has stopped).
    pub live: [f32; PIXELS],
    /// Transmittance behind the last fragment.
    pub transmittance: [f32; PIXELS],
    /// Colour, a plane a channel.
    pub colour: [[f32; PIXELS]; 3],
    /// Sums of 1/z, where they are asked for.
    pub inverse_depth: [f32; PIXELS],
}

impl Default for Scratch {
    fn default() -> Self {
        Self {
            local: Box::new([Splat::default(); CHUNK]),
            lists: vec![[0; CHUNK + 16]; MAX_BLOCKS],
            lengths: [0; MAX_BLOCKS],
            live: [0.0; PIXELS],
            transmittance: [0.0; PIXELS],
            colour: [[0.0; PIXELS]; 3],
            inverse_depth: [0.0; PIXELS],
        }
    }
}

/// The image that tiles are written to, a plane a channel.
pub struct Target<'a> {
    /// `[height * width]` each.
    pub colour: [Disjoint<'a, f32>; 3],
    /// `[height * width]`.
    pub transmittance: Disjoint<'a, f32>,
    /// `[height * width]`, if asked for.
    pub inverse_depth: Option<Disjoint<'a, f32>>,
}

/// What was counted while blending, when asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    /// Fragments whose alpha was computed.
    pub evaluated: u64,
    /// Fragments that changed their pixel.
    pub blended: u64,
}

dispatch! {
    /// Blends one tile and writes its pixels.
    pub fn blend / kernel (
        splats: &[Splat], pairs: &[Pair], tile: &Tile, scratch: &mut Scratch, target: &Target<'_>
    )
}

dispatch! {
    /// Blends one tile and counts; writes nothing.
    pub fn blend_counted / counting_kernel (
        splats: &[Splat], pairs: &[Pair], tile: &Tile, scratch: &mut Scratch, counted: &mut Counted
    )
}

#[inline(always)]
fn kernel<L: Lanes>(
    splats: &[Splat],
    pairs: &[Pair],
    tile: &Tile,
    scratch: &mut Scratch,
    target: &Target<'_>,
) {
    match target.inverse_depth {
        None => {
            blend_tile::<L, false, false>(splats, pairs, tile, scratch, &mut Counted::default())
        }
        Some(_) => {
            blend_tile::<L, false, true>(splats, pairs, tile, scratch, &mut Counted::default())
        }
    }
    for at in (0..PIXELS).step_by(L::WIDTH) {
        let t = L::load(&scratch.transmittance[at..]);
        for c in 0..3 {
            let plane = &mut scratch.colour[c][at..at + L::WIDTH];
            t.mul_add(L::splat(tile.background[c]), L::load(plane))
                .store(plane);
        }
    }
    for_rows::<L>(tile, |from, to, len| {
        // SAFETY: a pixel belongs to one tile, and a tile to one thread.
        unsafe {
            target
                .transmittance
                .get(to, len)
                .copy_from_slice(&scratch.transmittance[from..from + len]);
            for c in 0..3 {
                target.colour[c]
                    .get(to, len)
                    .copy_from_slice(&scratch.colour[c][from..from + len]);
            }
            if let Some(plane) = &target.inverse_depth {
                plane
                    .get(to, len)
                    .copy_from_slice(&scratch.inverse_depth[from..from + len]);
            }
        }
    });
}

/// Visits the rows of all blocks, as far as they lie in the image: place in the block-by-block
/// order, place in the image, pixels.
#[inline(always)]
pub(crate) fn for_rows<L: Lanes>(tile: &Tile, mut visit: impl FnMut(usize, usize, usize)) {
    for from in (0..PIXELS).step_by(COLUMNS) {
        let [x, y] = pixel::<L>(tile, from / L::WIDTH, from % L::WIDTH);
        if x < tile.size[0] && y < tile.size[1] {
            visit(from, y * tile.size[0] + x, COLUMNS.min(tile.size[0] - x));
        }
    }
}

#[inline(always)]
fn counting_kernel<L: Lanes>(
    splats: &[Splat],
    pairs: &[Pair],
    tile: &Tile,
    scratch: &mut Scratch,
    counted: &mut Counted,
) {
    blend_tile::<L, true, false>(splats, pairs, tile, scratch, counted);
}

/// Pixel of a lane of a block.
#[inline(always)]
pub(crate) fn pixel<L: Lanes>(tile: &Tile, block: usize, lane: usize) -> [usize; 2] {
    let across = TILE / COLUMNS;
    [
        tile.origin[0] + block % across * COLUMNS + lane % COLUMNS,
        tile.origin[1] + block / across * (L::WIDTH / COLUMNS) + lane / COLUMNS,
    ]
}

/// Centres of a block's pixels: x and y.
#[inline(always)]
pub(crate) fn centres<L: Lanes>(tile: &Tile, block: usize) -> [L; 2] {
    let (mut x, mut y) = ([0.0f32; 16], [0.0f32; 16]);
    for lane in 0..L::WIDTH {
        let p = pixel::<L>(tile, block, lane);
        x[lane] = p[0] as f32 + 0.5;
        y[lane] = p[1] as f32 + 0.5;
    }
    [L::load(&x), L::load(&y)]
}

/// Sets every pixel inside the image to transmittance 1 and colour 0; the others to a stopped
/// pixel's state. Returns a bit for each block that has a pixel inside.
#[inline(always)]
pub(crate) fn start_pixels<L: Lanes>(tile: &Tile, scratch: &mut Scratch) -> u64 {
    let mut alive = 0;
    for block in 0..PIXELS / L::WIDTH {
        for lane in 0..L::WIDTH {
            let [x, y] = pixel::<L>(tile, block, lane);
            let inside = x < tile.size[0] && y < tile.size[1];
            scratch.live[block * L::WIDTH + lane] = inside as u8 as f32;
            alive |= (inside as u64) << block;
        }
    }
    scratch.transmittance.fill(1.0);
    for plane in &mut scratch.colour {
        plane.fill(0.0);
    }
    alive
}

/// Copies a chunk's splats side by side and fills the lists of the blocks in `alive`.
#[inline(always)]
pub(crate) fn cull<L: Lanes>(
    splats: &[Splat],
    pairs: &[Pair],
    tile: &Tile,
    alive: u64,
    scratch: &mut Scratch,
) {
    for (local, &splat) in scratch.local.iter_mut().zip(pairs) {
        *local = splats[splat as usize];
    }
    scratch.lengths = [0; MAX_BLOCKS];
    let rows = L::WIDTH / COLUMNS;
    let across = TILE / COLUMNS;
    let mut start = 0;
    while start < pairs.len() {
        let lanes = (pairs.len() - start).min(L::WIDTH);
        let mut fields = [[0.0f32; 16]; 6];
        for lane in 0..lanes {
            let s = &scratch.local[start + lane];
            fields[0][lane] = s.mean[0];
            fields[1][lane] = s.mean[1];
            fields[2][lane] = s.power[0];
            fields[3][lane] = s.power[1];
            fields[4][lane] = s.power[2];
            fields[5][lane] = s.log2_opacity;
        }
        for lane in lanes..L::WIDTH {
            // A small ellipse far away: touches nothing, divides by nothing that is 0.
            fields[0][lane] = -1e6;
            fields[2][lane] = -1.0;
            fields[4][lane] = -1.0;
        }
        let [mean_x, mean_y, a, b, c, l] = load_all(&fields);
        let ellipse = Ellipse::new(a, b, c, l);
        for row in 0..TILE / rows {
            let row_alive = alive >> (row * across) & ((1 << across) - 1);
            if row_alive == 0 {
                continue;
            }
            let low = L::splat((tile.origin[1] + row * rows) as f32 + 0.5) - mean_y;
            let (left, right) = ellipse.interval(low, low + L::splat((rows - 1) as f32));
            let (left, right) = (left + mean_x, right + mean_x);
            for column in 0..across {
                if row_alive >> column & 1 == 0 {
                    continue;
                }
                let x = (tile.origin[0] + column * COLUMNS) as f32 + 0.5;
                let touch = right.ge(L::splat(x)) & L::splat(x + (COLUMNS - 1) as f32).ge(left);
                let block = row * across + column;
                let length = scratch.lengths[block].min(CHUNK);
                let added = touch.write_set(start as u32, &mut scratch.lists[block][length..]);
                scratch.lengths[block] = length + added;
            }
        }
        start += L::WIDTH;
    }
}

/// log2 alpha of a splat at a block's pixel centres, before the cap.
#[inline(always)]
pub(crate) fn power<L: Lanes>(splat: &Splat, centres: &[L; 2]) -> ([L; 2], L) {
    let dx = centres[0] - L::splat(splat.mean[0]);
    let dy = centres[1] - L::splat(splat.mean[1]);
    let along_y = (L::splat(splat.power[2]) * dy).mul_add(dy, L::splat(splat.log2_opacity));
    let along_x = L::splat(splat.power[0]).mul_add(dx, L::splat(splat.power[1]) * dy);
    ([dx, dy], along_x.mul_add(dx, along_y))
}

#[inline(always)]
fn blend_tile<L: Lanes, const COUNT: bool, const DEPTH: bool>(
    splats: &[Splat],
    pairs: &[Pair],
    tile: &Tile,
    scratch: &mut Scratch,
    counted: &mut Counted,
) {
    let mut alive = start_pixels::<L>(tile, scratch);
    if DEPTH {
        scratch.inverse_depth.fill(0.0);
    }
    for chunk in pairs.chunks(CHUNK) {
        cull::<L>(splats, chunk, tile, alive, scratch);
        for block in 0..PIXELS / L::WIDTH {
            if alive >> block & 1 == 0 || scratch.lengths[block] == 0 {
                continue;
            }
            if blend_block::<L, COUNT, DEPTH>(tile, block, scratch, counted) {
                alive &= !(1 << block);
            }
        }
        if alive == 0 {
            break;
        }
    }
    // Pixels that never stopped keep their live transmittance.
    for (t, &live) in scratch.transmittance.iter_mut().zip(&scratch.live) {
        if live > 0.0 {
            *t = live;
        }
    }
}

/// Blends a block's list of the chunk; true when all its pixels have stopped.
#[inline(always)]
fn blend_block<L: Lanes, const COUNT: bool, const DEPTH: bool>(
    tile: &Tile,
    block: usize,
    scratch: &mut Scratch,
    counted: &mut Counted,
) -> bool {
    let at = block * L::WIDTH;
    let centres = centres::<L>(tile, block);
    let mut live = L::load(&scratch.live[at..]);
    let mut r = L::load(&scratch.colour[0][at..]);
    let mut g = L::load(&scratch.colour[1][at..]);
    let mut b = L::load(&scratch.colour[2][at..]);
    let mut inverse_depth = match DEPTH {
        true => L::load(&scratch.inverse_depth[at..]),
        false => L::splat(0.0),
    };
    let alpha_min = L::splat(ALPHA_MIN as f32);
    let alpha_max = L::splat(tile.alpha_max);
    let t_min = L::splat(TRANSMITTANCE_MIN as f32);
    let one = L::splat(1.0);
    let mut running = live.ge(t_min);
    let mut stopped = false;
    for &index in &scratch.lists[block][..scratch.lengths[block]] {
        let splat = &scratch.local[index as usize % CHUNK];
        let (_, power) = power(splat, &centres);
        let alpha = power.exp2().min(alpha_max);
        // A fragment below the threshold becomes one of alpha 0: it changes nothing, and the only
        // thing that the next iteration waits for is one product.
        let mut alpha = alpha.where_set(alpha.ge(alpha_min));
        let mut next = live * (one - alpha);
        let stop = running.and_not(next.ge(t_min));
        if stop.any() {
            // At most once a pixel.
            let out = L::select(stop, live, L::load(&scratch.transmittance[at..]));
            out.store(&mut scratch.transmittance[at..]);
            running = running.and_not(stop);
            alpha = alpha.where_set(running);
            next = next.where_set(running);
        }
        if COUNT {
            counted.evaluated += L::WIDTH as u64;
            counted.blended += (running & alpha.ge(alpha_min)).bits().count_ones() as u64;
        }
        let weight = alpha * live;
        r = weight.mul_add(L::splat(splat.colour[0]), r);
        g = weight.mul_add(L::splat(splat.colour[1]), g);
        b = weight.mul_add(L::splat(splat.colour[2]), b);
        if DEPTH {
            inverse_depth = weight.mul_add(L::splat(1.0 / splat.depth), inverse_depth);
        }
        live = next;
        if !running.any() {
            stopped = true;
            break;
        }
    }
    live.store(&mut scratch.live[at..]);
    r.store(&mut scratch.colour[0][at..]);
    g.store(&mut scratch.colour[1][at..]);
    b.store(&mut scratch.colour[2][at..]);
    if DEPTH {
        inverse_depth.store(&mut scratch.inverse_depth[at..]);
    }
    stopped
}
