//! The numbers of Gaussians in the tiles of a view as colours.

use crate::protocol::HeatScale;
use splatcore_core::backend::TileCounts;
use splatcore_core::semantics::TILE;
use splatcore_core::{Camera, Image};

/// A tile of so many Gaussians, or more, has the last colour.
const MAX: u32 = 4095;
/// From no Gaussian to [`MAX`], dark to bright, at equal distances of log(1 + count).
const COLOURS: [[u8; 3]; 7] = [
    [0, 0, 0],
    [38, 16, 92],
    [122, 24, 124],
    [200, 50, 80],
    [240, 116, 30],
    [250, 198, 50],
    [255, 255, 224],
];

/// What the colours mean, for a legend.
pub fn scale() -> HeatScale {
    HeatScale {
        most: MAX,
        tile: TILE as u32,
        colours: COLOURS.to_vec(),
    }
}

/// The counts of a camera's view, a flat square a tile.
pub(super) fn image(counts: &TileCounts, camera: &Camera) -> Image {
    let colours: Vec<[f32; 3]> = counts.counts.iter().map(|&count| colour(count)).collect();
    let columns = counts.tiles[0];
    let (width, height) = (camera.width as usize, camera.height as usize);
    let tile = |i: usize| (i / width / TILE) * columns + i % width / TILE;
    let pixels = 0..width * height;
    Image {
        width: camera.width,
        height: camera.height,
        data: pixels
            .map(|i| colours.get(tile(i)).copied().unwrap_or_default())
            .collect(),
    }
}

fn colour(count: u32) -> [f32; 3] {
    let last = COLOURS.len() - 1;
    let share = f64::from(count).ln_1p() / f64::from(MAX).ln_1p();
    let at = share.min(1.0) * last as f64;
    let below = (at as usize).min(last - 1);
    let part = (at - below as f64) as f32;
    std::array::from_fn(|c| {
        let [from, to] = [COLOURS[below][c], COLOURS[below + 1][c]].map(f32::from);
        (from + part * (to - from)) / 255.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_is_brighter_up_to_the_end_of_the_scale() {
        let light = |count| {
            let [r, g, b] = colour(count);
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        assert_eq!(colour(0), [0.0; 3]);
        let counts = [0, 1, 2, 3, 7, 20, 63, 64, 300, 1023, 2000, 4095];
        assert!(
            counts
                .windows(2)
                .all(|pair| light(pair[0]) < light(pair[1]))
        );
        assert_eq!(colour(4095), colour(u32::MAX));
        // 1 + 63 is the square root of 1 + 4095: the middle colour.
        let middle = colour(63).map(|v| (255.0 * v).round() as u8);
        assert_eq!(middle, COLOURS[3]);
    }

    #[test]
    fn every_pixel_has_its_tiles_colour() {
        let counts = TileCounts {
            tiles: [3, 2],
            counts: vec![1, 2, 3, 4, 5, 6],
        };
        let camera = Camera::look_at([0.0; 3], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0], 1.0, 40, 20);
        let image = image(&counts, &camera);
        assert_eq!(image.data.len(), 800);
        for (x, y, count) in [(0, 0, 1), (15, 15, 1), (16, 0, 2), (39, 15, 3), (39, 16, 6)] {
            assert_eq!(image.data[40 * y + x], colour(count), "{x} {y}");
        }
    }
}
