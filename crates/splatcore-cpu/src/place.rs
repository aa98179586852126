//! What `project` makes of a Gaussian's geometry and `project_backward` takes back, whatever the
//! lens.

/// Where a Gaussian is in the image, a Gaussian a lane.
pub(crate) struct Place<L> {
    /// Centre in pixels.
    pub mean: [L; 2],
    /// Covariance with the low pass, square pixels: xx xy yy.
    pub projected: [L; 3],
    /// Its determinant; 0 if the camera does not see it.
    pub determinant: L,
    /// See `Splat::depth`.
    pub depth: L,
    /// log2 of the 2D filter's factor on the opacity; of a lens only.
    pub log2_factor: L,
}

/// Gradients with respect to what `project` reads of Gaussians, but for quaternions their rotation
/// matrices.
pub(crate) struct PlaceGradient<L> {
    /// Of the means, world axes.
    pub world: [L; 3],
    /// Of the rotation matrices.
    pub rotation: [[L; 3]; 3],
    /// Of the log scales.
    pub log_scales: [L; 3],
}
