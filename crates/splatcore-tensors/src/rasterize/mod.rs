//! Splats to pixels: for each tile its list of splats, blended front to back ("3D Gaussian
//! Splatting", section 6), with any number of channels.
//!
//! A fragment's alpha is the splat's opacity times exp(-sigma), sigma half the squared Mahalanobis
//! distance of the pixel's middle, and at most `alpha_max`. Fragments with an alpha below 1/255 are
//! skipped, and a pixel ends before the fragment that would take its transmittance to 1e-4 or
//! below. A fragment that is not a number is skipped.

mod backward;
mod forward;
mod indices;
mod splat;

pub use backward::{Backward, Gradients, backward};
pub use forward::{Pixels, forward};
pub use indices::{Steps, count_indices, fill_indices};

use crate::error::{check_len, check_maybe, wrong};
use crate::parallel::position;
use crate::{Real, Result};
use std::ops::Range;

/// Splats, and the tiles' lists of them.
#[derive(Clone, Copy, Debug)]
pub struct Lists<'a, F> {
    /// I: images.
    pub images: usize,
    /// W: of an image, in pixels.
    pub width: usize,
    /// H: of an image, in pixels.
    pub height: usize,
    /// A tile's side in pixels.
    pub tile_size: usize,
    /// Tiles side by side, enough for the image.
    pub tile_width: usize,
    /// Tiles above each other, enough for the image.
    pub tile_height: usize,
    /// `[M, 2]`, in pixels.
    pub means2d: &'a [F],
    /// Inverse covariances (00, 01, 11), `[M, 3]`.
    pub conics: &'a [F],
    /// `[M]`.
    pub opacities: &'a [F],
    /// Where each tile's list begins, `[I, tile_height, tile_width]`. It ends where the next one
    /// begins.
    pub tile_offsets: &'a [i32],
    /// The splats of the lists, front to back.
    pub flatten_ids: &'a [i32],
    /// An alpha is at most this: 0.999 in gsplat, 0.99 in INRIA's rasterizer.
    pub alpha_max: F,
}

/// What is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Drawn<'a, F> {
    /// The splats and where they are.
    pub lists: Lists<'a, F>,
    /// D: channels.
    pub channels: usize,
    /// `[M, D]`.
    pub colors: &'a [F],
    /// `[I, D]`.
    pub backgrounds: Option<&'a [F]>,
    /// `[I, tile_height, tile_width]`: tiles that are 0 show the background alone.
    pub masks: Option<&'a [u8]>,
}

impl<F: Real> Lists<'_, F> {
    fn check(&self) -> Result {
        let m = self.opacities.len();
        check_len("means2d", self.means2d, &[m, 2])?;
        check_len("conics", self.conics, &[m, 3])?;
        if self.tile_size == 0 {
            return wrong("tile_size", "1 or more", 0);
        }
        let tiles = [self.tile_width, self.tile_height];
        let needed = [self.width, self.height].map(|side| side.div_ceil(self.tile_size));
        let sides = [self.images, self.tile_height, self.tile_width];
        check_len("tile_offsets", self.tile_offsets, &sides)?;
        if tiles[0] < needed[0] || tiles[1] < needed[1] {
            return wrong(
                "tile_offsets",
                format_args!("for {} x {} tiles or more", needed[0], needed[1]),
                format_args!("{} x {}", tiles[0], tiles[1]),
            );
        }
        if !(self.alpha_max > F::zero() && self.alpha_max <= F::one()) {
            let found = self.alpha_max.wide();
            return wrong("alpha_max", "above 0 and at most 1", found);
        }
        self.check_lists()
    }

    fn check_lists(&self) -> Result {
        let (m, total) = (self.opacities.len(), self.flatten_ids.len());
        let exists = |id: i32| usize::try_from(id).is_ok_and(|id| id < m);
        if let Some(at) = position(self.flatten_ids, |&id| !exists(id)) {
            let found = format!("{} at {at}", self.flatten_ids[at]);
            return wrong(
                "flatten_ids",
                format_args!("0 or more and below {m}"),
                found,
            );
        }
        let mut last = 0;
        for (tile, &offset) in self.tile_offsets.iter().enumerate() {
            if offset < last || offset as usize > total {
                return wrong(
                    "tile_offsets",
                    format_args!("ascending from 0 to {total}, the length of flatten_ids"),
                    format_args!("{offset} after {last} at tile {tile}"),
                );
            }
            last = offset;
        }
        Ok(())
    }

    /// Where in `flatten_ids` a tile's list lies.
    fn list(&self, tile: usize) -> Range<usize> {
        let next = self.tile_offsets.get(tile + 1);
        let end = next.map_or(self.flatten_ids.len(), |&end| end as usize);
        self.tile_offsets[tile] as usize..end
    }

    /// The pixels of a tile in the image, by its row and column.
    fn block(&self, row: usize, column: usize) -> Block {
        let side = |tile: usize, count: usize| {
            let first = tile.saturating_mul(self.tile_size).min(count);
            first..first.saturating_add(self.tile_size).min(count)
        };
        Block {
            x: side(column, self.width),
            y: side(row, self.height),
        }
    }

    /// Rows of tiles that show something of an image.
    fn bands(&self) -> usize {
        self.height.div_ceil(self.tile_size)
    }

    /// An output with `each` values a pixel cut into the rows of tiles of all images.
    fn cut<'b, T>(&self, out: &'b mut [T], each: usize) -> Vec<&'b mut [T]> {
        let row = self.width * each;
        let band = self.tile_size.min(self.height) * row;
        out.chunks_exact_mut((self.height * row).max(1))
            .flat_map(|image| image.chunks_mut(band.max(1)))
            .collect()
    }

    /// Whether there is no pixel.
    fn is_empty(&self) -> bool {
        self.images == 0 || self.width == 0 || self.height == 0
    }
}

impl<F: Real> Drawn<'_, F> {
    fn check(&self) -> Result {
        self.lists.check()?;
        let lists = &self.lists;
        if self.channels == 0 {
            return wrong("colors", "of 1 or more channels", 0);
        }
        check_len(
            "colors",
            self.colors,
            &[lists.opacities.len(), self.channels],
        )?;
        check_maybe(
            "backgrounds",
            self.backgrounds,
            &[lists.images, self.channels],
        )?;
        check_maybe("masks", self.masks, &[lists.tile_offsets.len()])
    }

    fn masked(&self, tile: usize) -> bool {
        self.masks.is_some_and(|masks| masks[tile] == 0)
    }

    fn background(&self, image: usize) -> Option<&[F]> {
        let all = self.backgrounds?;
        Some(&all[image * self.channels..][..self.channels])
    }

    fn color(&self, splat: usize) -> &[F] {
        &self.colors[splat * self.channels..][..self.channels]
    }
}

/// A rectangle of pixels.
#[derive(Clone, Debug)]
struct Block {
    x: Range<usize>,
    y: Range<usize>,
}

impl Block {
    fn area(&self) -> usize {
        self.x.len() * self.y.len()
    }

    /// The number of a pixel in the block.
    #[inline]
    fn index(&self, x: usize, y: usize) -> usize {
        (y - self.y.start) * self.x.len() + x - self.x.start
    }

    /// Blocks of whole rows with about so many pixels.
    fn parts(&self, pixels: usize) -> impl Iterator<Item = Self> {
        let rows = (pixels / self.x.len().max(1)).max(1);
        let (x, end) = (self.x.clone(), self.y.end);
        self.y.clone().step_by(rows).map(move |first| Self {
            x: x.clone(),
            y: first..end.min(first + rows),
        })
    }
}
