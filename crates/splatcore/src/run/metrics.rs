//! metrics.json: what a run writes of itself, and what `report` reads.

use super::timeline::Phase;
use crate::ranks::Account;
use crate::report::{MeasuredCameras, MeasuredColours, MeasuredResiduals};
use serde::{Deserialize, Serialize};
use splatcore_core::backend::Exchanged;
use splatcore_train::{Breakdown, CurvePoint, Evaluation};

/// Points of the curve that are kept; more are thinned.
const MAX_POINTS: usize = 400;

/// A quality that was measured during a run.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
pub struct Measured {
    /// Step.
    pub step: u32,
    /// Mean over the views, dB.
    pub psnr: f64,
}

impl Measured {
    /// What was found after so many steps.
    pub fn at(step: u32, found: &Evaluation) -> Self {
        let psnr = found.psnr;
        Self { step, psnr }
    }
}

/// What is read of a view that was measured.
#[derive(Clone, Debug, Deserialize)]
pub struct MeasuredView {
    /// The photo's name.
    pub name: String,
    /// dB; JSON has none for equal images.
    pub psnr: Option<f64>,
}

/// What is read of a metrics.json. Files of older versions have no curves.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Metrics {
    /// Mean over the views, dB.
    pub psnr: f64,
    /// Mean over the views.
    pub ssim: f64,
    /// Gaussians in the scene.
    pub gaussians: usize,
    /// The views that were measured.
    pub views: Vec<MeasuredView>,
    /// `test`, or `train` when no photo is held out.
    pub split: String,
    /// Seconds trained.
    pub seconds: f64,
    /// Steps taken.
    pub steps: u32,
    /// In ascending steps.
    #[serde(default)]
    pub curve: Vec<CurvePoint>,
    /// In ascending steps.
    #[serde(default)]
    pub measured: Vec<Measured>,
}

impl Metrics {
    /// The time of a step, between the points of the curve.
    pub fn seconds_at(&self, step: u32) -> f64 {
        let begin = (0, 0.0);
        let end = (self.steps, self.seconds);
        let points = self.curve.iter().map(|p| (p.step, p.seconds));
        let points = std::iter::once(begin).chain(points).chain([end]);
        let (mut before, mut after) = (begin, end);
        for point in points {
            if point.0 <= step {
                before = point;
            } else {
                after = point;
                break;
            }
        }
        match after.0 > before.0 {
            true => {
                let share = f64::from(step - before.0) / f64::from(after.0 - before.0);
                before.1 + share * (after.1 - before.1)
            }
            false => before.1,
        }
    }
}

/// What of a scene lay in the computer's memory at the end of the training.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct MeasuredHostMemory {
    /// Bytes there.
    pub bytes: u64,
    /// Bytes that the last step moved between it and the card, both ways, about.
    pub moved_per_step: u64,
}

/// What a run writes.
#[derive(Serialize)]
pub struct Written {
    /// As eval.
    #[serde(flatten)]
    pub evaluation: Evaluation,
    /// Which photos were measured: `test`, or `train` when none is held out.
    pub split: &'static str,
    /// Seconds trained, without loading and measuring.
    pub seconds: f64,
    /// Steps taken.
    pub steps: u32,
    /// How well the photos trained on are shown.
    pub residuals: MeasuredResiduals,
    /// `poses`, `motion` and `intrinsics`, if they were refined, and the quality without.
    #[serde(flatten)]
    pub cameras: MeasuredCameras,
    /// What a colour model found, if one was learned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub colours: Option<MeasuredColours>,
    /// Where the time went; nothing if no step's stages were timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub breakdown: Option<Breakdown>,
    /// Why there are fewer steps than iterations, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stopped: Option<&'static str>,
    /// What lay in the computer's memory for want of the card's, if anything did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_memory: Option<MeasuredHostMemory>,
    /// What the first of several processes gave to the others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exchanged: Option<Exchanged>,
    /// What each of several processes used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ranks: Vec<Account>,
    /// How loss and number went.
    pub curve: Vec<CurvePoint>,
    /// PSNR of the photos of `split` during the run; the last is the result.
    pub measured: Vec<Measured>,
    /// What was done when, before and after the steps too.
    pub timeline: Vec<Phase>,
}

/// A trainer's curve, thinned.
pub fn curve(points: &[CurvePoint]) -> Vec<CurvePoint> {
    let every = points.len().div_ceil(MAX_POINTS).max(1);
    let last = points.len().saturating_sub(1);
    let kept = points
        .iter()
        .enumerate()
        .filter(|(i, _)| i % every == 0 || *i == last);
    kept.map(|(_, p)| *p).collect()
}
