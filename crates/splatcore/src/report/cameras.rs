//! What a run says of cameras that it refined.

use super::intrinsics::MeasuredIntrinsics;
use super::poses::MeasuredPoses;
use crate::output::decibels;
use serde::Serialize;
use splatcore_core::Camera;
use splatcore_core::camera::dot;

/// What became of the photos' cameras.
#[derive(Clone, Debug, Default, Serialize)]
pub struct MeasuredCameras {
    /// Of a run that refines poses.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub poses: Option<MeasuredPoses>,
    /// Of a run that finds how cameras moved while they read their photos.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub motion: Option<MeasuredMotion>,
    /// Of a run that refines intrinsics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub intrinsics: Option<MeasuredIntrinsics>,
}

/// What a run found of its cameras' motions.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MeasuredMotion {
    /// Mean PSNR of the measured photos with the dataset's motions, dB.
    pub psnr_plain: f64,
    /// By how much cameras turn while they read a photo, on average, degrees.
    pub degrees: f64,
    /// By how much they move, world units.
    pub shift: f64,
}

impl MeasuredMotion {
    /// Of the cameras that were trained with.
    pub fn new(cameras: &[Camera], psnr_plain: f64) -> Self {
        let shutters = || cameras.iter().filter_map(|camera| camera.shutter);
        let count = shutters().count().max(1) as f64;
        let length = |v: [f64; 3]| dot(v, v).sqrt();
        Self {
            psnr_plain,
            degrees: shutters()
                .map(|of| length(of.turn))
                .sum::<f64>()
                .to_degrees()
                / count,
            shift: shutters().map(|of| length(of.shift)).sum::<f64>() / count,
        }
    }

    /// A line of it.
    pub fn told(&self) -> String {
        format!(
            "motions: cameras turn by {:.2} degrees and move by {:.3} units while they read a \
             photo, on average; PSNR {} dB with the dataset's",
            self.degrees,
            self.shift,
            decibels(self.psnr_plain)
        )
    }
}
