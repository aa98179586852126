//! Morton order: Gaussians that are neighbours in space become neighbours in the file.
//!
//! A key interleaves the bits of a mean's cell along x (lowest), y and z, as in G. M. Morton, "A
//! Computer Oriented Geodetic Data Base and a New Technique in File Sequencing", 1966.

use super::rows::{PIECE, Rows};
use crate::DataError;
use splatcore_core::Gaussians;
use std::ops::Range;

/// Cells along an axis.
const CELLS: u32 = 1 << 21;

/// So many Gaussians may share a cell. More are ordered among themselves, in cells of the cube
/// around them, so that a few outliers do not leave the rest of a scene in one cell.
const SHARED: usize = 256;

/// A key, high half first, and the index of its Gaussian. Of 12 bytes, where a u64 would make 16.
type Entry = [u32; 3];

/// The indices of all Gaussians in Morton order of their means, with 21 bits an axis over the cube
/// around the scene; up to 256 Gaussians with the same key stay in their order. Holds 16 bytes a
/// Gaussian in memory, of which 4 are the result. Coordinates that are not finite are taken as ends
/// of the cube.
///
/// # Errors
/// If the rows cannot be read.
pub fn morton_order(rows: &dyn Rows) -> Result<Vec<u32>, DataError> {
    let mut entries: Vec<Entry> = (0..rows.len() as u32).map(|i| [0, 0, i]).collect();
    let all = 0..entries.len();
    let mut runs = Vec::from([all]);
    while let Some(run) = runs.pop() {
        let entries = &mut entries[run.clone()];
        if !order(rows, entries)? {
            continue;
        }
        let crowded = equal_keys(entries).filter(|equal| equal.len() > SHARED);
        runs.extend(crowded.map(|equal| run.start + equal.start..run.start + equal.end));
    }
    Ok(entries.into_iter().map(|[_, _, index]| index).collect())
}

/// Sorts entries by their keys in the cube around their Gaussians; not if that cube is a point.
fn order(rows: &dyn Rows, entries: &mut [Entry]) -> Result<bool, DataError> {
    let (mut min, mut max) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    with_means(rows, entries, |mean, _| {
        for c in (0..3).filter(|&c| mean[c].is_finite()) {
            min[c] = min[c].min(mean[c]);
            max[c] = max[c].max(mean[c]);
        }
    })?;
    // In f64: the difference of two f32 may exceed the largest f32.
    let min = min.map(f64::from);
    let extents = (0..3).map(|c| f64::from(max[c]) - min[c]);
    // Cubic cells on all axes: one far Gaussian must not make slices of them.
    let side = extents.fold(0.0, f64::max);
    if side == 0.0 {
        return Ok(false);
    }
    with_means(rows, entries, |mean, entry| {
        let key = key(std::array::from_fn(|c| {
            cell((f64::from(mean[c]) - min[c]) / side)
        }));
        [entry[0], entry[1]] = [(key >> 32) as u32, key as u32];
    })?;
    // The index, last in an entry, makes the order of equal keys certain.
    rayon::slice::ParallelSliceMut::par_sort_unstable(entries);
    Ok(true)
}

/// Calls `each` with the mean that belongs to an entry, for all entries.
fn with_means(
    rows: &dyn Rows,
    entries: &mut [Entry],
    mut each: impl FnMut([f32; 3], &mut Entry),
) -> Result<(), DataError> {
    let mut piece = Gaussians::empty(rows.sh_degree());
    let mut which = Vec::with_capacity(PIECE.min(entries.len()));
    for entries in entries.chunks_mut(PIECE) {
        which.clear();
        which.extend(entries.iter().map(|&[_, _, index]| index));
        piece.retain(|_| false);
        rows.gather(&which, &mut piece)?;
        for (&mean, entry) in piece.means.iter().zip(entries) {
            each(mean, entry);
        }
    }
    Ok(())
}

/// The cell at a share of the cube's side. NaN is in cell 0.
fn cell(share: f64) -> u32 {
    ((share.clamp(0.0, 1.0) * f64::from(CELLS)) as u32).min(CELLS - 1)
}

/// The bits of three cells in turn, those of the first lowest.
fn key(cells: [u32; 3]) -> u64 {
    let [x, y, z] = cells.map(spread);
    x | y << 1 | z << 2
}

/// Puts two zeros between the lowest 21 bits.
fn spread(cell: u32) -> u64 {
    let mut bits = u64::from(cell);
    for (shift, mask) in [
        (32, 0x001f_0000_0000_ffff),
        (16, 0x001f_0000_ff00_00ff),
        (8, 0x100f_00f0_0f00_f00f),
        (4, 0x10c3_0c30_c30c_30c3),
        (2, 0x1249_2492_4924_9249),
    ] {
        bits = (bits | bits << shift) & mask;
    }
    bits
}

/// The ranges of sorted entries that have one key.
fn equal_keys(entries: &[Entry]) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    let runs = entries.chunk_by(|a, b| a[..2] == b[..2]);
    runs.map(move |run| {
        let range = start..start + run.len();
        start = range.end;
        range
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::random::Rng;
    use std::cmp::Ordering;

    fn scene(means: Vec<[f32; 3]>) -> Gaussians {
        let mut scene = Gaussians::zeros(means.len(), 0);
        scene.means = means;
        scene
    }

    /// Morton order without keys (T. M. Chan, 2002): the axis whose cells differ in the highest
    /// bit decides; z before y before x if two axes differ in the same bit.
    fn compare(a: [u32; 3], b: [u32; 3]) -> Ordering {
        let axis = (0..3).max_by_key(|&c| (a[c] ^ b[c]).checked_ilog2());
        let axis = axis.unwrap();
        a[axis].cmp(&b[axis])
    }

    #[test]
    fn order_is_that_of_the_highest_differing_bits() {
        let mut rng = Rng::new(5, 0);
        let mut means: Vec<[f32; 3]> = (0..3000)
            .map(|_| std::array::from_fn(|c| (c as f32 + 1.0) * (rng.uniform() - 0.3)))
            .collect();
        means.extend_from_within(..200);
        let ends = |c: usize| {
            let axis = means.iter().map(|m| f64::from(m[c]));
            let min = axis.clone().fold(f64::MAX, f64::min);
            (min, axis.fold(f64::MIN, f64::max) - min)
        };
        let ends: [_; 3] = std::array::from_fn(ends);
        let side = ends[0].1.max(ends[1].1).max(ends[2].1);
        let cell = |at: f32, c: usize| {
            let cell = (f64::from(at) - ends[c].0) / side * 2_097_152.0;
            cell.floor().min(2_097_151.0) as u32
        };
        let cells: Vec<[u32; 3]> = means
            .iter()
            .map(|m| std::array::from_fn(|c| cell(m[c], c)))
            .collect();
        let mut want: Vec<u32> = (0..means.len() as u32).collect();
        want.sort_by(|&a, &b| compare(cells[a as usize], cells[b as usize]).then(a.cmp(&b)));
        assert_eq!(morton_order(&scene(means)).unwrap(), want);
    }

    /// With one far Gaussian an axis all others share a cell of the scene's box.
    #[test]
    fn outliers_do_not_spoil_the_order_of_the_rest() {
        let mut rng = Rng::new(6, 0);
        let near: Vec<[f32; 3]> = (0..2000)
            .map(|_| std::array::from_fn(|_| rng.uniform()))
            .collect();
        let alone = morton_order(&scene(near.clone())).unwrap();
        let mut with_outliers = near;
        with_outliers.extend([[f32::MAX, 0.5, 0.5], [0.5, 1e30, 0.5], [0.5, 0.5, f32::MAX]]);
        with_outliers.push([f32::MIN; 3]);
        let order = morton_order(&scene(with_outliers)).unwrap();
        let order: Vec<u32> = order.into_iter().filter(|&i| i < 2000).collect();
        assert_eq!(order, alone);
    }

    #[test]
    fn any_means_give_every_index_once() {
        let mut rng = Rng::new(7, 0);
        let odd = [
            0.0,
            -0.0,
            1.0,
            f32::NAN,
            f32::INFINITY,
            f32::NEG_INFINITY,
            1e-40,
            f32::MAX,
        ];
        for count in [0, 1, 2, 257, 1000, PIECE + 1] {
            let draw = |rng: &mut Rng| odd[(rng.uniform() * 8.0) as usize % 8];
            let means = (0..count).map(|_| std::array::from_fn(|_| draw(&mut rng)));
            let mut order = morton_order(&scene(means.collect())).unwrap();
            order.sort_unstable();
            assert!(order.into_iter().eq(0..count as u32), "{count}");
        }
        assert_eq!(
            morton_order(&scene(vec![[2.0; 3]; 1000])).unwrap(),
            (0..1000).collect::<Vec<_>>()
        );
    }
}
