//! The programs of this folder.

use super::{
    directions, harmonics, neighbours, projection, quat_scale, rasterize, rows, selective_adam,
    ssim, tile_pairs,
};
use crate::device::Program;

/// Every program in every variant, but for the sort of `tile_pairs`, which is `ops::sort`'s. All of
/// them are carried by releases.
pub fn programs() -> Vec<Program> {
    let mut all = Vec::new();
    for channels in rasterize::CHANNELS {
        all.push(rasterize::program(channels));
        all.push(rasterize::backward_program(channels));
    }
    all.extend(rasterize::halves::programs());
    all.extend((0..=harmonics::MAX_DEGREE).map(harmonics::program));
    all.push(directions::program());
    all.push(rasterize::indices_program());
    all.push(tile_pairs::program());
    all.extend(projection::programs());
    all.push(quat_scale::program());
    all.push(selective_adam::program());
    all.push(rows::program());
    all.push(neighbours::program());
    all.push(ssim::program());
    all
}
