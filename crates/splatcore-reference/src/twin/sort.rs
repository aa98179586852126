//! `sort`: front to back by view-space z, ties by Gaussian index.

use super::project::Splat;

/// Puts splats in the order in which they are blended.
pub fn sort(splats: &mut [Splat]) {
    splats.sort_by(|a, b| a.depth.total_cmp(&b.depth).then(a.index.cmp(&b.index)));
}
