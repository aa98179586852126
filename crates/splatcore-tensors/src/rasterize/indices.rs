//! Which splats contribute to which pixel, for part of each tile's list: what gsplat's
//! `rasterize_to_indices_in_range` gives.

use super::splat::{Splat, behind};
use super::{Block, Lists};
use crate::error::{check_len, wrong};
use crate::parallel::{Work, first_error};
use crate::{Real, Result};
use rayon::prelude::*;
use std::ops::Range;

/// The part of the lists that is looked at.
#[derive(Clone, Copy, Debug)]
pub struct Steps<'a, F> {
    /// The first step. A step is a tile's next `tile_size`² splats.
    pub start: usize,
    /// The step before which to end.
    pub end: usize,
    /// Of each pixel before the first step, `[I, H, W]`.
    pub transmittances: &'a [F],
}

impl<F: Real> Steps<'_, F> {
    fn check(&self, lists: &Lists<'_, F>) -> Result {
        lists.check()?;
        let sides = [lists.images, lists.height, lists.width];
        check_len("transmittances", self.transmittances, &sides)
    }

    /// The part of a tile's list.
    fn part(&self, lists: &Lists<'_, F>, tile: usize) -> Range<usize> {
        let list = lists.list(tile);
        let step = lists.tile_size.saturating_mul(lists.tile_size);
        let at = |steps: usize| list.start.saturating_add(steps.saturating_mul(step));
        at(self.start).min(list.end)..at(self.end).min(list.end)
    }
}

/// Writes how many fragments each pixel has, `[I, H, W]`.
///
/// # Errors
/// As [`super::forward`].
pub fn count_indices<F: Real>(
    lists: &Lists<'_, F>,
    steps: &Steps<'_, F>,
    counts: &mut [i32],
) -> Result {
    steps.check(lists)?;
    let sides = [lists.images, lists.height, lists.width];
    check_len("counts", counts, &sides)?;
    if lists.is_empty() {
        return Ok(());
    }
    let bands = lists.cut(counts, 1).into_par_iter().with_max_len(1);
    bands.enumerate().each(|(band, counts)| {
        counts.fill(0);
        walk(lists, steps, band, |pixel, _| counts[pixel] += 1);
    });
    Ok(())
}

/// Writes the fragments, pixel by pixel and front to back: the Gaussian, a splat's number in its
/// image (`gaussians` in each), and the pixel, counted through all images. A pixel's begin at
/// `starts` `[I, H, W]`, the exclusive sum of what [`count_indices`] wrote.
///
/// # Errors
/// As [`super::forward`], or starts that are not those sums.
pub fn fill_indices<F: Real>(
    lists: &Lists<'_, F>,
    steps: &Steps<'_, F>,
    gaussians: usize,
    starts: &[i64],
    gaussian_ids: &mut [i64],
    pixel_ids: &mut [i64],
) -> Result {
    steps.check(lists)?;
    check_len("starts", starts, &[lists.images, lists.height, lists.width])?;
    check_len("pixel_ids", pixel_ids, &[gaussian_ids.len()])?;
    if lists.is_empty() {
        return match gaussian_ids.len() {
            0 => Ok(()),
            found => wrong("gaussian_ids", "empty without pixels", found),
        };
    }
    let work = cut_outputs(lists, starts, gaussian_ids, pixel_ids)?;
    let bands = work.into_par_iter().with_max_len(1).enumerate();
    first_error(bands.made(|(band, mut out)| {
        let mut fits = true;
        walk(lists, steps, band, |pixel, id| {
            fits &= out.push(pixel, (id % gaussians.max(1)) as i64);
        });
        match fits && out.is_full() {
            true => Ok(()),
            false => no_sums(),
        }
    }))
}

fn no_sums<T>() -> Result<T> {
    wrong(
        "starts",
        "the exclusive sum of what rasterize_to_indices_count wrote for these splats",
        "other numbers",
    )
}

/// The outputs of one row of tiles.
struct Outputs<'a> {
    /// The first pixel, counted through all images.
    first: usize,
    /// Where the next fragment of each pixel goes.
    next: Vec<usize>,
    /// Where the fragments of each pixel end.
    ends: Vec<usize>,
    gaussians: &'a mut [i64],
    pixels: &'a mut [i64],
}

impl Outputs<'_> {
    /// Whether there was room.
    fn push(&mut self, pixel: usize, gaussian: i64) -> bool {
        let at = self.next[pixel];
        if at >= self.ends[pixel] {
            return false;
        }
        self.gaussians[at] = gaussian;
        self.pixels[at] = (self.first + pixel) as i64;
        self.next[pixel] += 1;
        true
    }

    fn is_full(&self) -> bool {
        self.next == self.ends
    }
}

/// Cuts the outputs into rows of tiles.
fn cut_outputs<'a, F: Real>(
    lists: &Lists<'_, F>,
    starts: &[i64],
    mut gaussians: &'a mut [i64],
    mut pixels: &'a mut [i64],
) -> Result<Vec<Outputs<'a>>> {
    let total = gaussians.len();
    let sum = |i: usize| {
        starts
            .get(i)
            .map_or(Some(total), |&v| usize::try_from(v).ok())
    };
    let mut work = Vec::new();
    let mut first = 0;
    for band in 0..lists.images * lists.bands() {
        let count = lists.block(band % lists.bands(), 0).y.len() * lists.width;
        let (Some(begin), Some(end)) = (sum(first), sum(first + count)) else {
            return no_sums();
        };
        let place = |i: usize| {
            sum(i)
                .filter(|v| (begin..=end).contains(v))
                .map(|v| v - begin)
        };
        let places: Option<Vec<usize>> = (first..=first + count).map(place).collect();
        let ascending = |all: &Vec<usize>| all.is_sorted() && (first > 0 || begin == 0);
        let Some(mut next) = places.filter(ascending) else {
            return no_sums();
        };
        let ends = next[1..].to_vec();
        next.pop();
        let (Some(gaussians), Some(pixels)) = (
            gaussians.split_off_mut(..end - begin),
            pixels.split_off_mut(..end - begin),
        ) else {
            return no_sums();
        };
        work.push(Outputs {
            first,
            next,
            ends,
            gaussians,
            pixels,
        });
        first += count;
    }
    Ok(work)
}

/// Calls `see` with the pixel, counted in the row of tiles, and the splat of each fragment. The
/// fragments of a pixel come front to back.
fn walk<F: Real>(
    lists: &Lists<'_, F>,
    steps: &Steps<'_, F>,
    band: usize,
    mut see: impl FnMut(usize, usize),
) {
    let (image, row) = (band / lists.bands(), band % lists.bands());
    for column in 0..lists.width.div_ceil(lists.tile_size) {
        let tile = (image * lists.tile_height + row) * lists.tile_width + column;
        let block = lists.block(row, column);
        walk_tile(
            lists,
            steps,
            image,
            &block,
            steps.part(lists, tile),
            &mut see,
        );
    }
}

fn walk_tile<F: Real>(
    lists: &Lists<'_, F>,
    steps: &Steps<'_, F>,
    image: usize,
    block: &Block,
    list: Range<usize>,
    see: &mut impl FnMut(usize, usize),
) {
    // A transmittance; `None` once a pixel has ended.
    let mut light: Vec<Option<F>> = Vec::with_capacity(block.area());
    for y in block.y.clone() {
        let row = (image * lists.height + y) * lists.width;
        let pixels = block.x.clone().map(|x| Some(steps.transmittances[row + x]));
        light.extend(pixels);
    }
    let mut live = light.len();
    for at in list {
        if live == 0 {
            return;
        }
        let id = lists.flatten_ids[at] as usize;
        let Some(splat) = Splat::new(lists, id) else {
            continue;
        };
        let window = splat.window(block);
        for y in window.rows() {
            let row = splat.row(y);
            for x in window.columns(y) {
                let pixel = &mut light[block.index(x, y)];
                let Some(before) = *pixel else { continue };
                let Some(fragment) = row.fragment(x, lists.alpha_max) else {
                    continue;
                };
                *pixel = behind(before, fragment.alpha);
                match pixel {
                    Some(_) => see((y - block.y.start) * lists.width + x, id),
                    None => live -= 1,
                }
            }
        }
    }
}
