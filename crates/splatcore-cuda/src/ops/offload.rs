//! Which arrays of a state lie in the host's memory because the device's is short.
//!
//! Kernels reach them there by way of the bus and move only the rows that they touch: of sparse
//! steps, those of the Gaussians in view. No kernel differs, so no bit does. Why it is so:
//! docs/log/beyond-memory.md.

use super::adam::moments::Moments;
use super::groups::{LOG_SCALES, MEANS, OPACITIES, ROTATIONS, SH, widths};
use crate::device::Place;

/// Index of a group's parameters in its arrays; first and second moments follow.
const PARAMETERS: usize = 0;
const FIRST: usize = 1;
const SECOND: usize = 2;

/// The arrays that can leave the device, by group and array, in the order in which they do. Means,
/// scales, rotations and opacities stay: every frame reads all of them to find what is in view.
const ORDER: [(usize, usize); 11] = [
    (SH, SECOND),
    (SH, FIRST),
    (SH, PARAMETERS),
    (ROTATIONS, SECOND),
    (ROTATIONS, FIRST),
    (LOG_SCALES, SECOND),
    (LOG_SCALES, FIRST),
    (MEANS, SECOND),
    (MEANS, FIRST),
    (OPACITIES, SECOND),
    (OPACITIES, FIRST),
];

/// Bytes that are left free beside a state when it is uploaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Headroom {
    /// For each Gaussian.
    pub a_gaussian: u64,
    /// However many there are.
    pub fixed: u64,
}

impl Headroom {
    /// For so many Gaussians.
    pub fn of(self, gaussians: usize) -> u64 {
        self.a_gaussian * gaussians as u64 + self.fixed
    }
}

/// Bytes of a row of each group's arrays: parameters, first, second moments.
pub fn row_bytes(sh_degree: u8, moments: Moments) -> [[usize; 3]; 5] {
    let widths = widths(sh_degree);
    std::array::from_fn(|k| {
        let formats = moments.formats(k, sh_degree);
        formats.map(|format| widths[k] * format.bytes())
    })
}

/// How many arrays leave the device, in their order, so that the others take no more than `bytes`;
/// all that can if that is not enough. Of `gaussians`, of which so many have rows here in arrays
/// that can leave.
pub fn leaving(rows: [[usize; 3]; 5], (gaussians, own): (usize, usize), bytes: u64) -> usize {
    let all = bytes_of(rows, (gaussians, own));
    let enough = |count: &usize| all - host_bytes(rows, own, *count) <= bytes;
    (0..ORDER.len()).find(enough).unwrap_or(ORDER.len())
}

/// Bytes of all arrays, as [`leaving`] takes them.
pub fn bytes_of(rows: [[usize; 3]; 5], (gaussians, own): (usize, usize)) -> u64 {
    staying(rows) * gaussians as u64 + host_bytes(rows, own, ORDER.len())
}

/// Bytes of the first arrays that leave.
pub fn host_bytes(rows: [[usize; 3]; 5], gaussians: usize, leaving: usize) -> u64 {
    let left = ORDER.iter().take(leaving);
    left.map(|&(group, array)| rows[group][array] as u64)
        .sum::<u64>()
        * gaussians as u64
}

/// Bytes of a row of what can never leave.
pub fn staying(rows: [[usize; 3]; 5]) -> u64 {
    let all: usize = rows.iter().flatten().sum();
    all as u64 - host_bytes(rows, 1, ORDER.len())
}

/// Whether an array of a group can leave.
pub fn can_leave(group: usize, array: usize) -> bool {
    ORDER.contains(&(group, array))
}

/// Where an array of a group lies once so many have left.
pub fn place_of(group: usize, array: usize, leaving: usize) -> Place {
    match ORDER[..leaving].contains(&(group, array)) {
        true => Place::Host,
        false => Place::Device,
    }
}

/// The arrays that can leave, first those that go first.
pub fn order() -> impl Iterator<Item = (usize, usize)> {
    ORDER.into_iter()
}

/// Bytes that a step moves of a row for each of its bytes in the host's memory: parameters are read
/// by `project`, and all are read and written by `adam`.
pub fn moved(array: usize) -> u64 {
    match array {
        PARAMETERS => 3,
        _ => 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bytes of docs/log/beyond-memory.md.
    #[test]
    fn arrays_leave_until_the_others_fit() {
        let rows = row_bytes(3, Moments::Compact);
        let n = 1000;
        assert_eq!(leaving(rows, (4000, 1000), 4000 * 44 + 1000 * 380), 0);
        assert_eq!(leaving(rows, (4000, 1000), 4000 * 44 + 1000 * 332), 1);
        assert_eq!(bytes_of(rows, (1, 1)), 424);
        assert_eq!(staying(rows), 44);
        for (bytes, count, host) in [
            (424 * n, 0, 0),
            (424 * n - 1, 1, 48),
            (376 * n - 1, 2, 48 + 96),
            (280 * n - 1, 3, 48 + 96 + 192),
            (88 * n - 1, 4, 48 + 96 + 192 + 8),
            (44 * n, 11, 380),
            (0, 11, 380),
        ] {
            let found = leaving(rows, (n as usize, n as usize), bytes);
            assert_eq!(found, count, "{bytes}");
            assert_eq!(host_bytes(rows, n as usize, found), host * n, "{bytes}");
        }
    }

    #[test]
    fn only_what_left_is_elsewhere() {
        let places = |leaving| {
            let arrays = (0..5).flat_map(|group| (0..3).map(move |array| (group, array)));
            arrays
                .filter(|&(group, array)| place_of(group, array, leaving) == Place::Host)
                .count()
        };
        for leaving in 0..=ORDER.len() {
            assert_eq!(places(leaving), leaving);
        }
        for group in [MEANS, LOG_SCALES, ROTATIONS, OPACITIES] {
            assert_eq!(place_of(group, PARAMETERS, ORDER.len()), Place::Device);
        }
    }
}
