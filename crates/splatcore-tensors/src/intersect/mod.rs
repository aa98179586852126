//! Which tiles a splat touches: those of the rectangle of its radii, as gsplat finds it, or only
//! those of them where it may count at some pixel. A pair of tile and splat has an id of 64 bits,
//! by which pairs are sorted: image, tile, and in the lower 32 bits the depth as the bits of an
//! f32.

mod reach;
mod tiles;

pub use reach::Reach;
pub use tiles::Tiles;

use crate::error::{check_len, check_maybe, product, wrong};
use crate::parallel::{Work, alone, first_error, position};
use crate::{Real, Result};
use rayon::prelude::*;
use reach::Ellipse;

/// Splats that one task works on.
const ROWS: usize = 4096;

/// Splats and their boxes.
#[derive(Clone, Copy, Debug)]
pub struct Boxes<'a, F> {
    /// `[M, 2]`, in pixels.
    pub means2d: &'a [F],
    /// `[M, 2]`, in pixels: half the sides of a splat's box. With a radius of 0 or less a splat
    /// touches no tile.
    pub radii: &'a [i32],
    /// Without it a splat touches all tiles of its box.
    pub reach: Option<Reach<'a, F>>,
}

impl<F: Real> Boxes<'_, F> {
    fn check(&self, m: usize) -> Result {
        check_len("means2d", self.means2d, &[m, 2])?;
        check_len("radii", self.radii, &[m, 2])?;
        self.reach.map_or(Ok(()), |reach| reach.check(m))
    }

    /// Calls `found` with column and row of each tile that a splat touches, row by row.
    fn each_tile(
        &self,
        tiles: &Tiles,
        splat: usize,
        per_image: usize,
        mut found: impl FnMut(u32, u32),
    ) {
        let mean = &self.means2d[2 * splat..][..2];
        let [columns, rows] = tiles.touched(mean, &self.radii[2 * splat..][..2]);
        if columns.is_empty() || rows.is_empty() {
            return;
        }
        let reach = self.reach.as_ref();
        let ellipse: Option<Ellipse<F>> = reach.map(|reach| reach.of(splat, mean, per_image));
        for row in rows {
            for column in columns.clone() {
                let touches = |ellipse: &Ellipse<F>| ellipse.may_count(tiles, column, row);
                if ellipse.as_ref().is_none_or(touches) {
                    found(column, row);
                }
            }
        }
    }
}

/// Splats of an image, of which there are as many for each, if they are not packed.
fn per_image(tiles: &Tiles, splats: usize) -> usize {
    (splats / tiles.images.max(1)).max(1)
}

/// Writes how many tiles each splat touches, `[M]`.
///
/// # Errors
/// A length that does not fit, or more tiles than ids can number.
pub fn count<F: Real>(tiles: &Tiles, boxes: &Boxes<'_, F>, tiles_per_gauss: &mut [i32]) -> Result {
    let m = tiles_per_gauss.len();
    boxes.check(m)?;
    tiles.tile_bits()?;
    let per_image = per_image(tiles, m);
    let rows = tiles_per_gauss.par_iter_mut().enumerate();
    rows.with_min_len(ROWS).each(|(row, out)| {
        let mut found = 0;
        boxes.each_tile(tiles, row, per_image, |_, _| found += 1);
        *out = found;
    });
    Ok(())
}

/// Writes splats in the order of their depths `[M]`, as the bits of an f32, and the inclusive sums
/// of the numbers of their tiles `[M]` in that order. Splats without tiles are last, those of equal
/// depths as they are.
///
/// # Errors
/// A length that does not fit.
pub fn order<F: Real>(
    depths: &[F],
    tiles_per_gauss: &[i32],
    order: &mut [i32],
    sums: &mut [i32],
) -> Result {
    let m = depths.len();
    check_len("tiles_per_gauss", tiles_per_gauss, &[m])?;
    check_len("order", order, &[m])?;
    check_len("sums", sums, &[m])?;
    let keys = depths.iter().zip(tiles_per_gauss);
    let keys: Vec<u32> = keys
        .map(|(depth, &count)| match count > 0 {
            // The last two are kept for splats without tiles and for no splat.
            true => (depth.wide() as f32).to_bits().min(u32::MAX - 1),
            false => u32::MAX - 1,
        })
        .collect();
    for (splat, out) in (0..).zip(order.iter_mut()) {
        *out = splat;
    }
    order.sort_by_key(|&splat| keys[splat as usize]);
    let mut sum = 0_i32;
    for (&splat, out) in order.iter().zip(sums) {
        sum = sum.wrapping_add(tiles_per_gauss[splat as usize].max(0));
        *out = sum;
    }
    Ok(())
}

/// Splats whose pairs are listed.
#[derive(Clone, Copy, Debug)]
pub struct Splats<'a, F> {
    /// As [`count`] had them.
    pub boxes: Boxes<'a, F>,
    /// `[M]`.
    pub depths: &'a [F],
    /// `[M]`: the image of each; without it, each image has M / I splats one after the other.
    pub image_ids: Option<&'a [i64]>,
    /// `[M]`: the inclusive cumulative sum of what [`count`] wrote.
    pub ends: &'a [i64],
}

/// Writes the pairs' ids and splats, each `[total]`: by splat, then by row and column of tiles; or
/// sorted by id, those of equal ids by splat.
///
/// # Errors
/// A length that does not fit, an image that does not exist, ends that are not those of [`count`].
pub fn fill<F: Real>(
    tiles: &Tiles,
    splats: &Splats<'_, F>,
    sort: bool,
    isect_ids: &mut [i64],
    flatten_ids: &mut [i32],
) -> Result {
    let tile_bits = tiles.tile_bits()?;
    check_splats(tiles, splats)?;
    let total = splats.ends.last().map_or(0, |&end| end.max(0) as usize);
    check_len("isect_ids", isect_ids, &[total])?;
    check_len("flatten_ids", flatten_ids, &[total])?;
    let pieces = cut(splats.ends, isect_ids, flatten_ids)?;
    let results = pieces
        .into_par_iter()
        .made(|(first, ids, flat)| fill_piece(tiles, tile_bits, splats, first, ids, flat));
    first_error(results)?;
    if sort {
        sort_pairs(isect_ids, flatten_ids);
    }
    Ok(())
}

fn check_splats<F: Real>(tiles: &Tiles, splats: &Splats<'_, F>) -> Result {
    let m = splats.depths.len();
    splats.boxes.check(m)?;
    check_len("ends", splats.ends, &[m])?;
    check_maybe("image_ids", splats.image_ids, &[m])?;
    if i32::try_from(m).is_err() {
        return wrong("depths", "of fewer than 2^31 splats", m);
    }
    match splats.image_ids {
        Some(ids) => {
            let exists = |id: i64| usize::try_from(id).is_ok_and(|id| id < tiles.images);
            match position(ids, |&id| !exists(id)) {
                None => Ok(()),
                Some(row) => wrong(
                    "image_ids",
                    format_args!("0 or more and below {}", tiles.images),
                    format_args!("{} in row {row}", ids[row]),
                ),
            }
        }
        None => match m.checked_rem(tiles.images).unwrap_or(m) {
            0 => Ok(()),
            _ => wrong(
                "depths",
                format_args!("of as many splats for each of {} images", tiles.images),
                m,
            ),
        },
    }
}

/// The outputs of [`ROWS`] splats: the first splat's number, ids, splats.
type Piece<'a> = (usize, &'a mut [i64], &'a mut [i32]);

/// Cuts the outputs into pieces.
fn cut<'a>(
    ends: &[i64],
    mut ids: &'a mut [i64],
    mut flat: &'a mut [i32],
) -> Result<Vec<Piece<'a>>> {
    let mut pieces = Vec::with_capacity(ends.len().div_ceil(ROWS));
    let mut start = 0;
    for (piece, ends) in ends.chunks(ROWS).enumerate() {
        let end = ends[ends.len() - 1];
        let count = end.checked_sub(start).map(usize::try_from);
        let (Some(Ok(count)), true) = (count, ids.len() == flat.len()) else {
            return no_ends();
        };
        let (Some(these), Some(those)) = (ids.split_off_mut(..count), flat.split_off_mut(..count))
        else {
            return no_ends();
        };
        pieces.push((piece * ROWS, these, those));
        start = end;
    }
    Ok(pieces)
}

fn no_ends<T>() -> Result<T> {
    wrong(
        "ends",
        "the cumulative sum of what intersect_count wrote for these splats",
        "other numbers",
    )
}

fn fill_piece<F: Real>(
    tiles: &Tiles,
    tile_bits: u32,
    splats: &Splats<'_, F>,
    first: usize,
    ids: &mut [i64],
    flat: &mut [i32],
) -> Result {
    let per_image = per_image(tiles, splats.depths.len());
    let mut at = 0;
    let before = if first == 0 {
        0
    } else {
        splats.ends[first - 1]
    };
    for row in first..splats.ends.len().min(first + ROWS) {
        let image = match splats.image_ids {
            Some(all) => all[row] as u64,
            None => (row / per_image) as u64,
        };
        let depth = u64::from((splats.depths[row].wide() as f32).to_bits());
        splats.boxes.each_tile(tiles, row, per_image, |x, y| {
            let tile = u64::from(y) * u64::from(tiles.width) + u64::from(x);
            // Beyond the end only if `ends` are wrong.
            if let (Some(id), Some(splat)) = (ids.get_mut(at), flat.get_mut(at)) {
                *id = (image << (32 + tile_bits) | tile << 32 | depth) as i64;
                *splat = row as i32;
            }
            at += 1;
        });
        let told = splats.ends[row].checked_sub(before);
        if told != Some(at as i64) || at > ids.len() {
            return no_ends();
        }
    }
    Ok(())
}

/// Sorts pairs by id and then by splat.
fn sort_pairs(isect_ids: &mut [i64], flatten_ids: &mut [i32]) {
    let pairs = isect_ids.par_iter().zip(flatten_ids.par_iter());
    let mut pairs: Vec<(u64, i32)> = pairs.made(|(&id, &splat)| (id as u64, splat));
    match alone() {
        true => pairs.sort_unstable(),
        false => pairs.par_sort_unstable(),
    }
    let outputs = isect_ids.par_iter_mut().zip(flatten_ids).zip(pairs);
    outputs.each(|((id, splat), pair)| (*id, *splat) = (pair.0 as i64, pair.1));
}

/// Writes where each tile's pairs begin in sorted ids, `[I, height, width]`; they end where the
/// next tile's begin.
///
/// # Errors
/// A length that does not fit, or more pairs than an i32 counts.
pub fn offsets(tiles: &Tiles, isect_ids: &[i64], offsets: &mut [i32]) -> Result {
    let tile_bits = tiles.tile_bits()?;
    let sides = [tiles.height as usize, tiles.width as usize];
    check_len("offsets", offsets, &[tiles.images, sides[0], sides[1]])?;
    if i32::try_from(isect_ids.len()).is_err() {
        return wrong("isect_ids", "fewer than 2^31", isect_ids.len());
    }
    let each = product(&sides).unwrap_or(0);
    let outputs = offsets.par_iter_mut().enumerate().with_min_len(ROWS);
    outputs.each(|(i, out)| {
        let (image, tile) = ((i / each) as u64, (i % each) as u64);
        let id = image << tile_bits | tile;
        *out = isect_ids.partition_point(|&other| (other as u64) >> 32 < id) as i32;
    });
    Ok(())
}
