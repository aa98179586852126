//! How fast the numbers of photos' and cameras' colours are learned.

use super::{Schedule, log_linear};
use splatcore_core::colour::{ColourPlan, Rates};

/// Of a travelling rate: its share at the first step, and the share of the run in which it rises
/// (PPISP: 1 % and 500 of 30,000 steps). The scene must be there before its colours can be judged.
const FIRST_SHARE: f64 = 0.01;
const WARM_UP: f64 = 1.0 / 60.0;
/// What it has fallen to at the last step, exponentially (PPISP).
const FINAL_SHARE: f64 = 0.01;
/// A camera's numbers wait for this share of the run: a scene that is not formed yet is too bright
/// at the edges of photos, which vignetting would explain.
const CAMERA_FROM: f64 = 0.2;

impl Schedule {
    /// What step `step` learns of the photos' colours.
    pub(super) fn colour(&self, step: u32) -> Option<ColourPlan> {
        let model = self.config.loss.colour?;
        let progress = self.progress(step);
        let [photo_rate, camera_rate] = match model.entry().rates {
            Rates::Given => {
                let (from, to) = (self.config.rates.exposure, self.config.rates.exposure_final);
                [log_linear(from, to, progress); 2]
            }
            Rates::Travel {
                photo,
                camera,
                visit,
                photo_from,
            } => {
                let steps = f64::from(self.config.iterations);
                let batch = f64::from(self.config.batch.views.max(1));
                // How often each photo and each camera is seen.
                let seen = [
                    steps / f64::from(self.epoch),
                    steps * batch / f64::from(self.cameras),
                ];
                let rate = |travel: f64, seen: f64, from: f64| {
                    let later = (progress - from) / (1.0 - from);
                    travel / (seen * (1.0 - from)).max(1.0) * travelling_share(later)
                };
                [
                    rate(photo, seen[0], photo_from).min(visit),
                    rate(camera, seen[1], CAMERA_FROM),
                ]
            }
        };
        Some(ColourPlan {
            model,
            photo_rate: photo_rate as f32,
            camera_rate: camera_rate as f32,
        })
    }
}

/// The rate at a share of the time, as a multiple of the mean of a rate that falls exponentially;
/// none before.
fn travelling_share(progress: f64) -> f64 {
    if progress < 0.0 {
        return 0.0;
    }
    let mean = (FINAL_SHARE - 1.0) / FINAL_SHARE.ln();
    let rising = FIRST_SHARE + (1.0 - FIRST_SHARE) * (progress / WARM_UP).min(1.0);
    rising * log_linear(1.0, FINAL_SHARE, progress) / mean
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A number whose gradient always points the same way goes as far as the model says.
    #[test]
    fn the_shares_add_up_to_the_run() {
        for steps in [300, 30_000] {
            let shares =
                (1..=steps).map(|step| travelling_share(f64::from(step) / f64::from(steps)));
            let travel = shares.sum::<f64>() / f64::from(steps);
            // But for what the warm-up leaves out.
            assert!((0.94..1.0).contains(&travel), "{travel}");
        }
        assert!(travelling_share(0.0) < 0.1 && travelling_share(1.0) < 0.1);
        assert_eq!(travelling_share(-0.1), 0.0);
    }
}
