//! `--projection`: how the places of cameras are seen.

use splatcore_core::ProjectionKind;

/// `--projection`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Projection {
    /// As a camera without distortion sees
    Pinhole,
    /// 180 degrees from top to bottom, angles as distances
    Fisheye,
    /// 360 degrees around
    Equirect,
    /// With parallel rays, as a map or a plan
    Ortho,
}

impl Projection {
    /// What it is.
    pub fn kind(self) -> ProjectionKind {
        match self {
            Self::Pinhole => ProjectionKind::Pinhole,
            Self::Fisheye => ProjectionKind::Fisheye,
            Self::Equirect => ProjectionKind::Equirect,
            Self::Ortho => ProjectionKind::Ortho,
        }
    }
}
