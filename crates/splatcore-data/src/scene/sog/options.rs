//! How SOG is written.

/// How SOG is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SogOptions {
    /// Rounds of Lloyd's algorithm by which the palette of spherical harmonics is improved.
    pub iterations: u32,
    /// Streamed SOG: levels of detail, 1 to 16, each with half of the Gaussians of the one before.
    pub levels: u32,
    /// Streamed SOG: Gaussians that a chunk holds at most.
    pub chunk_gaussians: u32,
    /// Streamed SOG: a box of the tree that is larger is split, world units (metres, if the scene's
    /// are).
    pub chunk_extent: f32,
}

impl Default for SogOptions {
    fn default() -> Self {
        Self {
            iterations: 4,
            levels: 4,
            chunk_gaussians: 512 << 10,
            chunk_extent: 16.0,
        }
    }
}
