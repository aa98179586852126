//! How much memory a learner needs.

use crate::ops::adam::moments::{Format, Moments};
use crate::ops::state;
use splatcore_core::backend::MemoryPlan;

/// Bytes of a learner of so many Gaussians whose largest photo has this width and height.
pub(crate) fn plan(
    gaussians: usize,
    sh_degree: u8,
    largest_view: [u32; 2],
    moments: Moments,
) -> MemoryPlan {
    let n = gaussians as u64;
    let bytes = |of_group: &dyn Fn(usize) -> usize| {
        let widths = state::widths(sh_degree).into_iter().enumerate();
        n * widths
            .map(|(k, width)| (width * of_group(k)) as u64)
            .sum::<u64>()
    };
    let pixels = largest_view[0] as u64 * largest_view[1] as u64;
    MemoryPlan {
        parameters: bytes(&|_| size_of::<f32>()),
        moments: bytes(&|k| moments.formats(k).map(Format::bytes).into_iter().sum()),
        working: working_bytes(gaussians, pixels),
    }
}

/// What a step needs besides the state and the photos: splats and their sums, keys, order and
/// counts, with an eighth more room; some 6 pairs a Gaussian with keys, orders and sums; planes of
/// image, gradient and the loss's derivatives.
pub(crate) fn working_bytes(gaussians: usize, pixels: u64) -> u64 {
    gaussians as u64 * (54 + 54 + 36 + 6 * (20 + 48)) + pixels * 4 * (3 + 1 + 3 + 6)
}
