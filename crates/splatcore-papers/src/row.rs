//! What is measured of one pipeline.

use serde::{Serialize, Serializer};
use splatcore_core::Pipeline;

/// Milliseconds of the stages, in the order in which they ran.
pub type StagesMs = Vec<(&'static str, f64)>;

/// The numbers of one pipeline on one scene. Times are milliseconds a frame or step.
#[derive(Clone, Serialize)]
pub struct Row {
    /// What ran.
    pub pipeline: Pipeline,
    /// Name of its intersection method.
    pub intersect: String,
    /// Name of its blend method.
    pub blend: String,
    /// Name of its backward method.
    pub backward: String,
    /// Whether large images are interpolated.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub interpolate: bool,
    /// A whole frame, on a device from event to event without marks inside.
    pub gpu_ms: f64,
    /// Wall clock of whole frames, images left on the device.
    pub frame_ms: f64,
    /// Sum of the backward stages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backward_ms: Option<f64>,
    /// Wall clock of whole training steps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_ms: Option<f64>,
    /// Stages of a frame.
    #[serde(serialize_with = "as_map")]
    pub stages: StagesMs,
    /// Stages of a training step.
    #[serde(serialize_with = "as_map", skip_serializing_if = "Vec::is_empty")]
    pub step_stages: StagesMs,
    /// Of the image against vanilla's, in dB, mean over the cameras; none without a reference.
    pub psnr_vs_reference: Option<f64>,
    /// The same of the camera where it is least.
    pub psnr_vs_reference_worst: Option<f64>,
    /// Mean over the cameras, if each has a photo of its size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub psnr_vs_photos: Option<f64>,
    /// SSIM of the image against vanilla's, mean over the cameras, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssim_vs_reference: Option<f64>,
    /// SSIM against the photos, if asked for and each camera has a photo of its size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ssim_vs_photos: Option<f64>,
    /// LPIPS against the photos, likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lpips_vs_photos: Option<f64>,
    /// Gaussians that can change a pixel; this and all counts are means over the cameras.
    pub visible: u64,
    /// (Tile, Gaussian) pairs.
    pub pairs: u64,
    /// Mean and variance of the lengths of a frame's lists, over the tiles.
    pub list_lengths: [f64; 2],
    /// Fragments whose alpha the timed kernel computes; none if it cannot count them.
    pub fragments_evaluated: Option<u64>,
    /// Fragments that change their pixel; likewise.
    pub fragments_blended: Option<u64>,
    /// (Warp, Gaussian) pairs that a backward pass with a thread a pixel and no rows for pairs
    /// walks, if counted: those of each batch of 256 of a tile's list, until all its pixels have
    /// stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warps_visited: Option<u64>,
    /// Those of them where a pixel of the warp, 16x2 pixels, is changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warps_blended: Option<u64>,
    /// Nanoseconds of `blend` for each fragment that changes its pixel; likewise.
    pub ns_per_blended: Option<f64>,
    /// Likewise of `blend_backward`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ns_per_blended_backward: Option<f64>,
}

impl Row {
    /// What ran, for people.
    pub fn name(&self) -> String {
        match self.interpolate {
            true => format!("{}, interpolated", self.pipeline),
            false => self.pipeline.to_string(),
        }
    }

    /// Milliseconds of a stage of the frame, 0 if it has none of that name.
    pub fn stage(&self, name: &str) -> f64 {
        let found = self.stages.iter().find(|(stage, _)| *stage == name);
        found.map_or(0.0, |(_, ms)| *ms)
    }

    /// Milliseconds of all forward stages of the frame.
    pub(crate) fn frame_stages(&self) -> f64 {
        let forward = self.stages.iter().filter(|(stage, _)| !is_backward(stage));
        forward.map(|(_, ms)| ms).sum()
    }

    /// Milliseconds from the gradients of pixels to sums for each Gaussian, without `gather_sums`,
    /// which only changes the layout of sums; `None` if the backward pass was not measured.
    pub(crate) fn gradient(&self) -> Option<f64> {
        self.backward_ms?;
        Some(self.stage("blend_backward") + self.stage("sum_pairs"))
    }

    /// Percent of a step's stages that these are; `None` if no stage of steps was measured.
    pub(crate) fn step_share(&self, wanted: impl Fn(&str) -> bool) -> Option<f64> {
        let sum = |wanted: &dyn Fn(&str) -> bool| -> f64 {
            let stages = self.step_stages.iter().filter(|(stage, _)| wanted(stage));
            stages.map(|(_, ms)| ms).sum()
        };
        let all = sum(&|_| true);
        (all > 0.0).then(|| 100.0 * sum(&wanted) / all)
    }
}

/// Whether a stage belongs to the backward pass.
pub fn is_backward(stage: &str) -> bool {
    stage.ends_with("_backward") || ["sum_pairs", "gather_sums"].contains(&stage)
}

/// Keeps the order in which the stages ran.
fn as_map<S: Serializer>(stages: &[(&'static str, f64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(stages.iter().copied())
}
