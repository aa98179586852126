//! The numbers of tables, from rows of measurements.

use crate::row::Row;
use serde::Serialize;

/// How a number is written, and its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
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
}

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
        }
    }
}

/// A number that a row has for a scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Frames a second, from the time of all stages.
    Fps,
    /// Time of all stages.
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
    /// Fragments that changed their pixel.
    Blended,
    /// Fragments whose alpha was computed in vain.
    Culled,
    /// Fragments of a pair that nobody looked at.
    Skipped,
    /// Culled in percent of all fragments.
    CulledShare,
}

/// Pixels of a tile.
const TILE_PIXELS: u64 = 256;

impl Metric {
    /// Heading of its column.
    pub fn heading(self) -> &'static str {
        match self {
            Metric::Fps => "FPS",
            Metric::Ms => "ms",
            Metric::FrameMs => "clock ms",
            Metric::SpeedUp => "speed-up",
            Metric::OverVanilla => "vs 3DGS",
            Metric::ProjectMs => "preprocess ms",
            Metric::SortMs => "sort ms",
            Metric::BlendMs => "blend ms",
            Metric::BlendSpeedUp => "speed-up",
            Metric::ProjectShare => "preprocess %",
            Metric::SortShare => "sort %",
            Metric::BlendShare => "blend %",
            Metric::Psnr => "dB vs 3DGS",
            Metric::PsnrPhotos => "dB vs photos",
            Metric::Pairs => "pairs M",
            Metric::Blended => "blended M",
            Metric::Culled => "culled M",
            Metric::Skipped => "skipped M",
            Metric::CulledShare => "culled %",
        }
    }

    /// How it is written.
    pub fn format(self) -> Format {
        match self {
            Metric::Fps => Format::Fps,
            Metric::Ms | Metric::FrameMs | Metric::ProjectMs | Metric::SortMs | Metric::BlendMs => {
                Format::Ms
            }
            Metric::SpeedUp | Metric::OverVanilla | Metric::BlendSpeedUp => Format::Times,
            Metric::Psnr | Metric::PsnrPhotos => Format::Decibels,
            Metric::Pairs | Metric::Blended | Metric::Culled | Metric::Skipped => Format::Millions,
            Metric::ProjectShare | Metric::SortShare | Metric::BlendShare | Metric::CulledShare => {
                Format::Percent
            }
        }
    }

    /// The number, if the row (and for ratios the other one) is there.
    pub fn of(self, row: &Row, against: Option<&Row>, vanilla: Option<&Row>) -> Option<f64> {
        let blend = row.stage("blend");
        let project = row.stage("project");
        // Marks between stages cost time: their sum is more than the frame without marks.
        let stages: f64 = row.stages.iter().map(|(_, ms)| ms).sum();
        let sort = stages - project - blend;
        let culled = row
            .fragments_evaluated
            .zip(row.fragments_blended)
            .map(|(evaluated, blended)| evaluated.saturating_sub(blended));
        let all = TILE_PIXELS * row.pairs;
        let skipped = row
            .fragments_evaluated
            .map(|evaluated| all.saturating_sub(evaluated));
        let millions = |count: u64| count as f64 / 1e6;
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
            Metric::Pairs => Some(millions(row.pairs)),
            Metric::Blended => row.fragments_blended.map(millions),
            Metric::Culled => culled.map(millions),
            Metric::Skipped => skipped.map(millions),
            Metric::CulledShare => ratio(100.0 * culled? as f64, all as f64),
        }
    }
}

/// `None` in place of an infinity, which JSON cannot hold.
fn ratio(a: f64, b: f64) -> Option<f64> {
    (b > 0.0).then(|| a / b)
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
        let shares = of(Metric::ProjectShare) + of(Metric::SortShare) + of(Metric::BlendShare);
        assert!((shares - 100.0).abs() < 1e-9, "{shares}");
        assert_eq!(Metric::SpeedUp.of(&row, None, None), None);
    }

    #[test]
    fn a_time_of_zero_gives_no_infinity() {
        assert_eq!(Metric::Fps.of(&row(0.0), None, None), None);
    }
}
