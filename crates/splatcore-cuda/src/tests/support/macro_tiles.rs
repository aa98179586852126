//! The macro-tiles of tiles that a splat touches.

use crate::ops::camera::KernelCamera;
use std::collections::BTreeMap;

/// A pair of a splat with a macro-tile: its number, the mask of its tiles.
pub type MacroTile = (u32, u32);

/// Of each row of macro-tiles the ones from the first to the last that hold a tile; those between
/// may hold none.
pub fn macro_tiles_of(tiles: &[u32], view: &KernelCamera, side: u32) -> Vec<MacroTile> {
    let columns = view.tiles_x.div_ceil(side);
    let mut rows: BTreeMap<u32, BTreeMap<u32, u32>> = BTreeMap::new();
    for tile in tiles {
        let (x, y) = (tile % view.tiles_x, tile / view.tiles_x);
        let bit = 1 << (y % side * side + x % side);
        *rows
            .entry(y / side)
            .or_default()
            .entry(x / side)
            .or_default() |= bit;
    }
    let all = rows.iter().flat_map(|(row, macro_tiles)| {
        let (first, last) = (
            *macro_tiles.keys().min().unwrap(),
            *macro_tiles.keys().max().unwrap(),
        );
        let mask = |column: u32| macro_tiles.get(&column).copied().unwrap_or(0);
        (first..=last).map(move |column| (row * columns + column, mask(column)))
    });
    all.collect()
}
