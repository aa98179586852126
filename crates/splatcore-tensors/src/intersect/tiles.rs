//! How images are cut into tiles, and the tiles that a box touches.

use crate::error::wrong;
use crate::{Real, Result};
use std::ops::Range;

/// How images are cut into tiles.
#[derive(Clone, Copy, Debug)]
pub struct Tiles {
    /// I: images.
    pub images: usize,
    /// A tile's side in pixels.
    pub size: u32,
    /// Tiles side by side.
    pub width: u32,
    /// Tiles above each other.
    pub height: u32,
}

impl Tiles {
    /// Bits of an id that are needed for the tile's number.
    pub(super) fn tile_bits(&self) -> Result<u32> {
        if self.size == 0 {
            return wrong("tile_size", "1 or more", 0);
        }
        let tiles = u64::from(self.width) * u64::from(self.height);
        let bits = |count: u64| u64::BITS - count.leading_zeros();
        let (of_tiles, of_images) = (bits(tiles), bits(self.images as u64));
        match of_tiles + of_images <= 32 {
            true => Ok(of_tiles),
            false => wrong(
                "tile_width",
                "such that images and tiles are counted in 32 bits together",
                format_args!(
                    "{} images of {} x {} tiles",
                    self.images, self.width, self.height
                ),
            ),
        }
    }

    /// Columns and rows of tiles that a splat touches.
    pub(super) fn touched<F: Real>(&self, mean: &[F], radii: &[i32]) -> [Range<u32>; 2] {
        if radii[0] <= 0 || radii[1] <= 0 {
            return [0..0, 0..0];
        }
        let size = F::of(self.size.into());
        let axis = |mean: F, radius: i32, count: u32| {
            let (centre, reach) = (mean / size, F::of(radius.into()) / size);
            let clamp = |at: F| at.max(F::zero()).min(F::of(count.into()));
            // An f32 may round the count up.
            let edge = |at: F| clamp(at).to_u32().unwrap_or(0).min(count);
            edge((centre - reach).floor())..edge((centre + reach).ceil())
        };
        let of = [
            axis(mean[0], radii[0], self.width),
            axis(mean[1], radii[1], self.height),
        ];
        match mean.iter().all(|v| v.is_finite()) {
            true => of,
            false => [0..0, 0..0],
        }
    }
}
