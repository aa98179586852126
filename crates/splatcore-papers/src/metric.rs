//! The numbers of tables, from rows of measurements.

use crate::counts::{Counts, ratio};
use crate::row::Row;
use crate::run::Also;
use serde::{Deserialize, Serialize};

/// How a number is written, and its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Format {
    /// Frames a second.
    Fps,
    /// Milliseconds.
    Ms,
    /// Times faster.
    Times,
    /// PSNR.
    Decibels,
    /// Millions.
    Millions,
    /// Percent.
    Percent,
    /// Structural similarity, and distances of 0 to 1.
    Ssim,
    /// Whole numbers.
    Count,
    /// One digit after the point.
    Tenths,
    /// Two digits after the point.
    Hundredths,
}

/// A PSNR from which on images have the same bits, or all but.
const SAME_DB: f64 = 119.99;

impl Format {
    /// The number as text.
    pub fn text(self, value: f64) -> String {
        match self {
            Format::Fps => format!("{value:.1}"),
            Format::Ms => format!("{value:.3}"),
            Format::Times => format!("{value:.2}×"),
            Format::Decibels => format!("{value:.2}"),
            Format::Millions => format!("{value:.2}"),
            Format::Percent => format!("{value:.1}"),
            Format::Ssim => format!("{value:.4}"),
            Format::Count => format!("{value:.0}"),
            Format::Tenths => format!("{value:.1}"),
            Format::Hundredths => format!("{value:.2}"),
        }
    }

    /// The mean of one number of several scenes: of ratios the geometric mean, of frame rates that
    /// of the mean time, else the arithmetic mean. None of PSNRs of which some, but not all, are of
    /// equal images.
    pub fn mean(self, values: &[f64]) -> Option<f64> {
        let count = values.len() as f64;
        let arithmetic = |of: &dyn Fn(f64) -> f64| {
            let sum: f64 = values.iter().map(|&value| of(value)).sum();
            sum / count
        };
        match self {
            _ if values.is_empty() => None,
            Format::Times if values.iter().any(|&value| value <= 0.0) => None,
            Format::Times => Some(arithmetic(&f64::ln).exp()),
            Format::Fps => ratio(1.0, arithmetic(&f64::recip)),
            Format::Decibels => {
                let same = values.iter().filter(|&&value| value >= SAME_DB).count();
                (same == 0 || same == values.len()).then(|| arithmetic(&|value| value))
            }
            _ => Some(arithmetic(&|value| value)),
        }
    }
}

/// A number that a row has for a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// Frames a second, from [`Metric::Ms`].
    Fps,
    /// Time of a frame on the device.
    Ms,
    /// By the wall clock from frame to frame.
    FrameMs,
    /// Time of what it is compared with over its own.
    SpeedUp,
    /// Vanilla's time over its own.
    OverVanilla,
    /// Time of `project`.
    ProjectMs,
    /// Time of all that is neither `project` nor `blend`: pairs, sorting, ranges.
    SortMs,
    /// Time of `blend`.
    BlendMs,
    /// As [`Metric::SpeedUp`], of `blend` alone.
    BlendSpeedUp,
    /// `project` in percent of all stages.
    ProjectShare,
    /// See [`Metric::SortMs`].
    SortShare,
    /// `blend`, likewise.
    BlendShare,
    /// Against vanilla's image.
    Psnr,
    /// Against the photos, where there are any.
    PsnrPhotos,
    /// (Tile, Gaussian) pairs.
    Pairs,
    /// Mean of the lengths of the tiles' lists.
    ListMean,
    /// Their variance over the tiles.
    ListVariance,
    /// Fragments whose exponent was computed, in percent of those of all lists.
    EvaluatedShare,
    /// Fragments that changed their pixel.
    Blended,
    /// Fragments whose alpha was computed in vain.
    Culled,
    /// Fragments of a pair that nobody looked at.
    Skipped,
    /// Culled in percent of all fragments.
    CulledShare,
    /// SSIM against vanilla's image.
    Ssim,
    /// SSIM against the photos, where there are any.
    SsimPhotos,
    /// LPIPS against the photos, where there are any and weights were given.
    LpipsPhotos,
    /// Gaussians in view.
    Visible,
    /// Fragments whose exponent was computed.
    Evaluated,
    /// Entries of lists that are not there, in percent of those of what it is compared with.
    LoadsSaved,
    /// Entries of the lists of what it is compared with for each of its own.
    Reuse,
    /// Time from gradients of pixels to sums of Gaussians: `blend_backward` and what adds up its
    /// rows.
    GradientMs,
    /// As [`Metric::SpeedUp`], of [`Metric::GradientMs`].
    GradientSpeedUp,
    /// Time of a training step, by the wall clock.
    StepMs,
    /// As [`Metric::SpeedUp`], of [`Metric::StepMs`].
    StepSpeedUp,
    /// The forward pass in percent of a step's stages.
    ForwardShare,
    /// `loss`, likewise.
    LossShare,
    /// What [`Metric::GradientMs`] is the time of, likewise.
    GradientShare,
    /// Everything else, likewise: gradients of parameters and the optimiser.
    UpdateShare,
    /// Atomic additions that the backward method makes.
    Updates,
    /// Those of what it is compared with over its own.
    FewerUpdates,
    /// Lanes that add, of the 32 of a warp, over the warps that add anything.
    ActiveLanes,
    /// The same over all warps that look at a Gaussian.
    ActiveLanesOfAll,
}

impl Metric {
    /// Heading of its column.
    pub fn heading(self) -> &'static str {
        self.written().0
    }

    /// How it is written.
    pub fn format(self) -> Format {
        self.written().1
    }

    fn written(self) -> (&'static str, Format) {
        match self {
            Metric::Fps => ("FPS", Format::Fps),
            Metric::Ms => ("ms", Format::Ms),
            Metric::FrameMs => ("clock ms", Format::Ms),
            Metric::SpeedUp => ("speed-up", Format::Times),
            Metric::OverVanilla => ("vs 3DGS", Format::Times),
            Metric::ProjectMs => ("preprocess ms", Format::Ms),
            Metric::SortMs => ("sort ms", Format::Ms),
            Metric::BlendMs => ("blend ms", Format::Ms),
            Metric::BlendSpeedUp => ("speed-up", Format::Times),
            Metric::ProjectShare => ("preprocess %", Format::Percent),
            Metric::SortShare => ("sort %", Format::Percent),
            Metric::BlendShare => ("blend %", Format::Percent),
            Metric::Psnr => ("dB vs 3DGS", Format::Decibels),
            Metric::PsnrPhotos => ("dB vs photos", Format::Decibels),
            Metric::Pairs => ("pairs M", Format::Millions),
            Metric::ListMean => ("mean list", Format::Tenths),
            Metric::ListVariance => ("variance of lists", Format::Count),
            Metric::EvaluatedShare => ("exponents %", Format::Percent),
            Metric::Blended => ("blended M", Format::Millions),
            Metric::Culled => ("culled M", Format::Millions),
            Metric::Skipped => ("skipped M", Format::Millions),
            Metric::CulledShare => ("culled %", Format::Percent),
            Metric::Ssim => ("SSIM vs 3DGS", Format::Ssim),
            Metric::SsimPhotos => ("SSIM vs photos", Format::Ssim),
            Metric::LpipsPhotos => ("LPIPS vs photos", Format::Ssim),
            Metric::Visible => ("visible M", Format::Millions),
            Metric::Evaluated => ("exponents M", Format::Millions),
            Metric::LoadsSaved => ("fewer loads %", Format::Percent),
            Metric::Reuse => ("reuse", Format::Times),
            Metric::GradientMs => ("gradient ms", Format::Ms),
            Metric::GradientSpeedUp => ("speed-up", Format::Times),
            Metric::StepMs => ("step ms", Format::Ms),
            Metric::StepSpeedUp => ("speed-up", Format::Times),
            Metric::ForwardShare => ("forward %", Format::Percent),
            Metric::LossShare => ("loss %", Format::Percent),
            Metric::GradientShare => ("gradient %", Format::Percent),
            Metric::UpdateShare => ("update %", Format::Percent),
            Metric::Updates => ("additions M", Format::Millions),
            Metric::FewerUpdates => ("fewer additions", Format::Times),
            Metric::ActiveLanes => ("lanes, warps that add", Format::Tenths),
            Metric::ActiveLanesOfAll => ("lanes, all warps", Format::Tenths),
        }
    }

    /// What must be measured for it beside frames.
    pub fn needs(self) -> Also {
        Also {
            backward: matches!(
                self,
                Metric::GradientMs
                    | Metric::GradientSpeedUp
                    | Metric::StepMs
                    | Metric::StepSpeedUp
                    | Metric::ForwardShare
                    | Metric::LossShare
                    | Metric::GradientShare
                    | Metric::UpdateShare
            ),
            ssim: matches!(self, Metric::Ssim | Metric::SsimPhotos),
            lpips: self == Metric::LpipsPhotos,
        }
    }

    /// The number, if the row (and for ratios the other one) is there.
    pub fn of(self, row: &Row, against: Option<&Row>, vanilla: Option<&Row>) -> Option<f64> {
        let blend = row.stage("blend");
        let project = row.stage("project");
        let stages = row.frame_stages();
        let sort = stages - project - blend;
        let counts = Counts::of(row);
        let millions = |count: f64| Some(count / 1e6);
        match self {
            Metric::Fps => ratio(1e3, row.gpu_ms),
            Metric::Ms => Some(row.gpu_ms),
            Metric::FrameMs => Some(row.frame_ms),
            Metric::SpeedUp => ratio(against?.gpu_ms, row.gpu_ms),
            Metric::OverVanilla => ratio(vanilla?.gpu_ms, row.gpu_ms),
            Metric::ProjectMs => Some(project),
            Metric::SortMs => Some(sort),
            Metric::BlendMs => Some(blend),
            Metric::BlendSpeedUp => ratio(against?.stage("blend"), blend),
            Metric::ProjectShare => ratio(100.0 * project, stages),
            Metric::SortShare => ratio(100.0 * sort, stages),
            Metric::BlendShare => ratio(100.0 * blend, stages),
            Metric::Psnr => row.psnr_vs_reference,
            Metric::PsnrPhotos => row.psnr_vs_photos,
            Metric::Ssim => row.ssim_vs_reference,
            Metric::SsimPhotos => row.ssim_vs_photos,
            Metric::LpipsPhotos => row.lpips_vs_photos,
            Metric::Visible => millions(row.visible as f64),
            Metric::Pairs => millions(counts.pairs),
            Metric::ListMean => Some(row.list_lengths[0]),
            Metric::ListVariance => Some(row.list_lengths[1]),
            Metric::EvaluatedShare => ratio(100.0 * counts.evaluated?, counts.all()),
            Metric::Blended => millions(counts.blended?),
            Metric::Evaluated => millions(counts.evaluated?),
            Metric::Culled => millions(counts.culled()?),
            Metric::Skipped => millions((counts.all() - counts.evaluated?).max(0.0)),
            Metric::CulledShare => ratio(100.0 * counts.culled()?, counts.all()),
            Metric::LoadsSaved => {
                let theirs = Counts::of(against?).pairs;
                ratio(100.0 * (theirs - counts.pairs), theirs)
            }
            Metric::Reuse => ratio(Counts::of(against?).pairs, counts.pairs),
            Metric::GradientMs => row.gradient(),
            Metric::GradientSpeedUp => ratio(against?.gradient()?, row.gradient()?),
            Metric::StepMs => row.step_ms,
            Metric::StepSpeedUp => ratio(against?.step_ms?, row.step_ms?),
            Metric::ForwardShare => row.step_share(is_forward),
            Metric::LossShare => row.step_share(is_loss),
            Metric::GradientShare => row.step_share(is_gradient),
            Metric::UpdateShare => {
                row.step_share(|stage| !(is_forward(stage) || is_loss(stage) || is_gradient(stage)))
            }
            Metric::Updates => millions(counts.updates(row)?),
            Metric::FewerUpdates => {
                let against = against?;
                ratio(Counts::of(against).updates(against)?, counts.updates(row)?)
            }
            Metric::ActiveLanes => ratio(counts.blended?, counts.warps?.blended),
            Metric::ActiveLanesOfAll => ratio(counts.blended?, counts.warps?.visited),
        }
    }
}

/// Stages of a step that belong to the forward pass.
fn is_forward(stage: &str) -> bool {
    ["project", "sort", "intersect", "blend"].contains(&stage)
}

/// Stages of a step that compare image and photo.
fn is_loss(stage: &str) -> bool {
    ["loss", "colour", "exposure"].contains(&stage)
}

/// Stages of a step that turn gradients of pixels into sums of Gaussians.
fn is_gradient(stage: &str) -> bool {
    ["blend_backward", "sum_pairs"].contains(&stage)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_data::row;

    #[test]
    fn fragments_are_blended_culled_or_skipped() {
        let row = row(2.0);
        let of = |metric: Metric| metric.of(&row, None, None).unwrap();
        let all = 256.0 * 1000.0 / 1e6;
        let sum = of(Metric::Blended) + of(Metric::Culled) + of(Metric::Skipped);
        assert!((sum - all).abs() < 1e-12, "{sum}");
        assert!((of(Metric::Culled) - 0.15).abs() < 1e-12);
        assert!((of(Metric::CulledShare) - 100.0 * 0.15 / all).abs() < 1e-9);
        assert!((of(Metric::EvaluatedShare) - 100.0 * 0.2 / all).abs() < 1e-9);
        let shares = of(Metric::ProjectShare) + of(Metric::SortShare) + of(Metric::BlendShare);
        assert!((shares - 100.0).abs() < 1e-9, "{shares}");
        assert_eq!(Metric::SpeedUp.of(&row, None, None), None);
    }

    #[test]
    fn a_time_of_zero_gives_no_infinity() {
        assert_eq!(Metric::Fps.of(&row(0.0), None, None), None);
    }

    #[test]
    fn means_are_those_of_their_kind() {
        let near = |found: Option<f64>, wanted: f64| {
            assert!(
                (found.unwrap() - wanted).abs() < 1e-12,
                "{found:?} {wanted}"
            );
        };
        near(Format::Ms.mean(&[1.0, 4.0]), 2.5);
        near(Format::Times.mean(&[1.0, 4.0]), 2.0);
        // 10 and 40 ms.
        near(Format::Fps.mean(&[100.0, 25.0]), 40.0);
        near(Format::Decibels.mean(&[60.0, 70.0]), 65.0);
        near(Format::Decibels.mean(&[120.0, 120.0]), 120.0);
        assert_eq!(Format::Decibels.mean(&[120.0, 70.0]), None);
        assert_eq!(Format::Ms.mean(&[]), None);
    }

    #[test]
    fn stages_of_the_backward_pass_are_no_part_of_a_frame() {
        let row = row(2.0);
        let of = |metric: Metric| metric.of(&row, Some(&row), None).unwrap();
        let near = |metric, wanted: f64| {
            assert!(
                (of(metric) - wanted).abs() < 1e-9,
                "{metric:?} {}",
                of(metric)
            );
        };
        near(Metric::SortMs, 0.6);
        near(Metric::BlendShare, 60.0);
        near(Metric::GradientMs, 6.0);
        near(Metric::ForwardShare, 20.0);
        near(Metric::LossShare, 20.0);
        near(Metric::GradientShare, 40.0);
        near(Metric::UpdateShare, 20.0);
    }

    #[test]
    fn additions_are_those_of_the_method() {
        let with = |name: &str| {
            let mut row = row(2.0);
            row.pipeline = name.parse().unwrap();
            row
        };
        let atomic = with("exact+scalar+atomic");
        let of = |metric: Metric, name: &str| metric.of(&with(name), Some(&atomic), None);
        let updates = |name| of(Metric::Updates, name).unwrap();
        assert!((updates("exact+scalar+atomic") - 9.0 * 0.05).abs() < 1e-12);
        assert!((updates("exact+scalar+warp-reduce") - 9.0 * 0.008).abs() < 1e-12);
        assert!((updates("exact+scalar+warp-reduce-skip") - 9.0 * 0.004).abs() < 1e-12);
        assert_eq!(updates("exact+scalar+gaussian-parallel"), 0.0);
        let fewer = of(Metric::FewerUpdates, "exact+scalar+warp-reduce-skip");
        assert_eq!(fewer, Some(12.5));
        assert_eq!(of(Metric::FewerUpdates, "exact+splatcore"), None);
        // 50,000 fragments over 4,000 and 8,000 warps.
        assert_eq!(of(Metric::ActiveLanes, "vanilla"), Some(12.5));
        assert_eq!(of(Metric::ActiveLanesOfAll, "vanilla"), Some(6.25));
        let mut uncounted = with("exact+scalar+warp-reduce");
        (uncounted.warps_visited, uncounted.warps_blended) = (None, None);
        assert_eq!(Metric::Updates.of(&uncounted, None, None), None);
    }

    #[test]
    fn loads_are_saved_over_other_lists() {
        let (mut grouped, tiles) = (row(2.0), row(2.0));
        grouped.pairs = 250;
        let of = |metric: Metric| metric.of(&grouped, Some(&tiles), None).unwrap();
        assert_eq!((of(Metric::LoadsSaved), of(Metric::Reuse)), (75.0, 4.0));
    }
}
