//! How SOG is written.

/// How SOG is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SogOptions {
    /// Rounds of Lloyd's algorithm by which the palette of spherical harmonics is improved.
    pub iterations: u32,
    /// Entries of the palette of spherical harmonics at most, 1 to 65,536. There are never more
    /// than the largest power of two that the Gaussians reach. At degree 3 an entry takes up to 45
    /// bytes, which is most of the file of a scene with fewer Gaussians than entries.
    pub palette: u32,
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
            palette: 1 << 16,
            levels: 4,
            chunk_gaussians: 512 << 10,
            chunk_extent: 16.0,
        }
    }
}
