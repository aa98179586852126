//! A scene on the device, as ops see it.

use super::columns::kernels::ShapeColumns;
use splatcore_core::{BackendError, Gaussians, checks};

/// Where the arrays of a scene are.
#[derive(Clone, Copy)]
pub struct SceneAddresses {
    /// Gaussians; at most so many if the device knows better.
    pub count: usize,
    /// Where the device has their number, u32; 0 if the host knows it.
    pub count_at: u64,
    /// Stored degree.
    pub sh_degree: u8,
    /// The harmonics are stored as halves.
    pub half: bool,
    /// Means, log scales, rotations, opacity logits, spherical harmonics.
    pub arrays: [u64; 5],
    /// Gaussians next to each other in the arrays are neighbours in space (spatial_order.rs).
    pub is_spatial: bool,
    /// Columns that change how Gaussians are drawn.
    pub shape: ShapeColumns,
}

/// Refuses arrays that do not belong together; the kernels rely on it.
///
/// # Errors
/// Says which.
pub fn check(scene: &Gaussians) -> Result<(), BackendError> {
    checks::scene(scene)?;
    let n = scene.len();
    if n > (1 << 30) - 1 {
        return Err(BackendError::Input(format!(
            "{n} Gaussians are more than the 2^30 - 1 that this backend can number"
        )));
    }
    Ok(())
}
