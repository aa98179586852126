//! The groups of tiles that a splat touches.

use crate::ops::camera::KernelCamera;
use std::collections::BTreeMap;

/// A pair of a splat with a group: its number, the mask of its tiles.
pub type Group = (u32, u32);

/// Of each row of groups the ones from the first to the last that hold a tile; those between may
/// hold none.
pub fn groups_of(tiles: &[u32], view: &KernelCamera, side: u32) -> Vec<Group> {
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
    let all = rows.iter().flat_map(|(row, groups)| {
        let (first, last) = (*groups.keys().min().unwrap(), *groups.keys().max().unwrap());
        let mask = |column: u32| groups.get(&column).copied().unwrap_or(0);
        (first..=last).map(move |column| (row * columns + column, mask(column)))
    });
    all.collect()
}
