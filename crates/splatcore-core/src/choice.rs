//! What an error depends on.

/// A choice of whoever uses the libraries. An error names those that it depends on, first the one
/// that helps most when it changes. How a user makes the choice (a flag, a form) only the program
/// knows that offers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The size of the photos.
    PhotoSize,
    /// The size of images: of photos, and of images that are rendered.
    ImageSize,
    /// How many Gaussians there may be.
    GaussianCount,
    /// The degree of the spherical harmonics.
    ShDegree,
    /// Whether photos keep their lens or are resampled to pinholes.
    Lens,
    /// Which depth maps are read, and as what.
    Depths,
    /// Which maps of normals are read.
    Normals,
    /// Which masks of the sky are read.
    Sky,
    /// The methods that run.
    Pipeline,
    /// Which norm of gradients decides on growth.
    GradientStatistic,
    /// To keep a scene's harmonics in half precision.
    HalfScene,
    /// What computes.
    Backend,
    /// How much of a card's memory may be used.
    CardMemory,
    /// Where the photos of a dataset are.
    PhotoFolder,
    /// To find the poses of photos, or of frames of a video, that have none.
    Poses,
    /// To go on with the run that wrote a checkpoint.
    Resume,
    /// To begin anew in place of going on from a checkpoint.
    StartAnew,
}
