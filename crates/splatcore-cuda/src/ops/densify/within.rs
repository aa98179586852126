//! Who may grow or be drawn.

use crate::device::params::Address;
use crate::ops::state::{MEANS, State};
use bytemuck::Zeroable;
use splatcore_core::Region;

/// Gaussians with their mean in a box; in CUDA by the same name (gaussian_actions.cuh).
#[derive(Clone, Copy, Zeroable)]
#[repr(C)]
pub struct Within {
    /// Of all means; 0: all Gaussians.
    means: Address,
    low: [f32; 3],
    high: [f32; 3],
}

impl Within {
    /// Those of a state in the region; without one all.
    pub fn new(state: &State, region: Option<Region>) -> Self {
        region.map_or_else(Self::zeroed, |Region { low, high }| Self {
            means: state.groups[MEANS].parameters.address(),
            low,
            high,
        })
    }
}
