//! Scores of the Gaussians over several views; launches `ops/score/score.cu`, which says how and
//! how fast. CPU twin: `splatcore_cpu`'s `score`.

use super::CudaLearner;
use super::compared::{Compared, Comparison};
use crate::device::error::{device_error, failed};
use crate::device::{Address, Buffer, Kernel};
use crate::ops::score::{self, AddScoresParams, DeviceScores, ErrorMaskParams, ErrorRangeParams};
use splatcore_core::BackendError;
use splatcore_core::backend::{Refine, Scoring, Statistic};
use splatcore_core::random::draw_views;

/// The scoring that a refinement asks for.
pub(super) fn scoring_of(refine: &Refine) -> Option<&Scoring> {
    match refine {
        Refine::Adc { consistency, .. } => {
            consistency.as_ref().map(|consistency| &consistency.scoring)
        }
        Refine::Prune { scoring, .. } => Some(scoring),
        _ => None,
    }
}

/// What the scoring of a view needs.
struct Scorer<'a> {
    scoring: &'a Scoring,
    scores: DeviceScores,
    /// Smallest errors of all views, then largest, u32.
    ranges: Buffer,
    /// `error_range`, `error_mask` and `add_scores`.
    kernels: [Kernel; 3],
}

impl CudaLearner {
    /// Scores the Gaussians as they are. Nothing is pending. Waits once for all views, more often
    /// only if one of them has more pairs than there is room for.
    pub(super) fn score(&mut self, scoring: &Scoring) -> Result<DeviceScores, BackendError> {
        let scores_bytes = self.state.count * size_of::<f32>();
        let views = self.photos.views().len();
        let drawn = draw_views(scoring.seed, scoring.step, views, scoring.views);
        let device = self.passes.queue().device.clone();
        let new = |bytes| Buffer::new(&device, "scores of the Gaussians", bytes);
        let half = drawn.len() * size_of::<u32>();
        let loaded = self.kernels.get(&score::program()).map_err(failed)?;
        let scorer = Scorer {
            scoring,
            scores: DeviceScores {
                views: drawn.len(),
                bad: new(scores_bytes)?,
                weight: new(scores_bytes)?,
                largest: new(scores_bytes)?,
            },
            ranges: Buffer::new(&device, "errors of the views", 2 * half)?,
            kernels: loaded[..].try_into().map_err(|_| {
                device_error("the program of scores has other kernels than asked for".into())
            })?,
        };
        self.passes.training.statistic = Statistic::Mean;
        loop {
            let scores = &scorer.scores;
            for buffer in [&scores.bad, &scores.weight, &scores.largest] {
                buffer.fill(0, scores_bytes)?;
            }
            scorer.ranges.fill_at(0, 0xff, half)?;
            scorer.ranges.fill_at(half, 0, half)?;
            for (k, &view) in drawn.iter().enumerate() {
                let least = scorer.ranges.address() + (k * size_of::<u32>()) as u64;
                self.score_view(&scorer, view, [least, least + half as u64])?;
            }
            let counters = self.passes.counters()?;
            self.passes.work.reset_counters()?;
            if counters.overflowed == 0 {
                return Ok(scorer.scores);
            }
            self.passes.make_sorted_room(&counters)?;
        }
    }

    /// Adds a view to the scores: the backward pass of an image whose gradient is 1 in bad pixels
    /// counts how much each Gaussian shows there. `least` and `most` are the range of the view's
    /// errors.
    fn score_view(
        &mut self,
        scorer: &Scorer<'_>,
        view: usize,
        [least, most]: [Address; 2],
    ) -> Result<(), BackendError> {
        let scoring = scorer.scoring;
        let comparison = Comparison {
            view,
            index: 0,
            scale: scoring.scale,
            colour: scoring
                .colour
                .filter(|_| scoring.colour == self.coloured.model()),
            render: &scoring.render,
        };
        let camera = self.projected(&comparison, Vec::new())?;
        self.passes.image(self.scene_addresses(), &camera)?;
        let given = scoring.render.sky.as_ref();
        if self.passes.skies.learns() || given.is_some() {
            let seen_by = self.camera_of(view, scoring.scale)?;
            let given = given.filter(|_| !self.passes.skies.learns());
            self.passes.put_sky(&seen_by, &camera, given)?;
        }
        let Compared { image, photo } = self.compared(&comparison, &camera)?;
        let (pixels, counters) = (camera.pixels() as u32, self.passes.work.counters());
        let [error_range, error_mask, add_scores] = scorer.kernels;
        let params = ErrorRangeParams {
            image,
            photo: photo.rgb,
            mask: photo.mask,
            pixels,
            counters,
            least,
            most,
        };
        score::launch_range(self.passes.queue(), error_range, &params)?;
        let params = ErrorMaskParams {
            image,
            photo: photo.rgb,
            mask: photo.mask,
            pixels,
            threshold: scoring.error_threshold,
            counters,
            least,
            most,
            gradient: self.passes.training.image_gradient.address(),
        };
        score::launch_mask(self.passes.queue(), error_mask, &params)?;
        self.photos.used()?;
        let scene = self.scene_addresses();
        let params = AddScoresParams {
            splats: self.passes.work.splats(),
            sums: self.passes.backward(scene, &camera, &scoring.render)?,
            // Of a pixel of the reduced photos, in pixels of the whole ones.
            area: (scoring.scale * scoring.scale) as f32,
            counters,
            bad: scorer.scores.bad.address(),
            weight: scorer.scores.weight.address(),
            largest: scorer.scores.largest.address(),
        };
        score::launch_add(self.passes.queue(), add_scores, self.state.count, &params)
    }
}
