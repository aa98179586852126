//! Scores of the Gaussians over several views; launches `ops/score/score.cu`, which says how and
//! how fast. CPU twin: `splatcore_cpu`'s `score`.

use super::CudaLearner;
use super::compared::{Compared, Look};
use crate::device::Buffer;
use crate::device::buffer::{device_error, failed};
use crate::ops::score::{self, DeviceScores};
use crate::ops::score::{AddScoresParams, ErrorMaskParams, ErrorRangeParams};
use splatcore_core::BackendError;
use splatcore_core::backend::{Refine, Scoring, Statistic};
use splatcore_core::random::draw_views;

const THREADS: u32 = 256;
/// Blocks a multiprocessor of the kernel that walks over pixels.
const BLOCKS_A_MULTIPROCESSOR: u32 = 8;

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

impl CudaLearner {
    /// Scores the Gaussians as they are. Nothing is pending. Waits once for all views, more often
    /// only if one of them has more pairs than there is room for.
    pub(super) fn score(&mut self, scoring: &Scoring) -> Result<DeviceScores, BackendError> {
        let n = self.state.count;
        let views = self.photos.views().len();
        let drawn = draw_views(scoring.seed, scoring.step, views, scoring.views);
        // Of a pixel of the reduced photos, in pixels of the whole ones.
        let area = (scoring.scale * scoring.scale) as f32;
        let device = self.frame.queue.device.clone();
        let zeros = || Buffer::new(&device, "scores of the Gaussians", n * size_of::<f32>());
        let scores = DeviceScores {
            views: drawn.len(),
            bad: zeros()?,
            weight: zeros()?,
            largest: zeros()?,
        };
        // Smallest errors of all views, then largest.
        let half = drawn.len() * size_of::<u32>();
        let ranges = Buffer::new(&device, "errors of the views", 2 * half)?;
        let loaded = self.kernels.get(&score::program()).map_err(failed)?;
        let [error_range, error_mask, add_scores] = loaded[..] else {
            return Err(device_error(
                "the program of scores has other kernels than asked for".into(),
            ));
        };
        self.frame.statistic = Statistic::Mean;
        loop {
            for buffer in [&scores.bad, &scores.weight, &scores.largest] {
                buffer.fill(0, n * size_of::<f32>())?;
            }
            ranges.fill_at(0, 0xff, half)?;
            ranges.fill_at(half, 0, half)?;
            for (k, &view) in drawn.iter().enumerate() {
                let look = Look {
                    view,
                    scale: scoring.scale,
                    exposure: scoring.exposure && self.exposed.any(),
                    render: &scoring.render,
                };
                let Compared {
                    camera,
                    image,
                    photo,
                } = self.compared(look, Vec::new())?;
                let least = ranges.address() + (k * size_of::<u32>()) as u64;
                let most = least + half as u64;
                let gradient = self.frame.image_gradient.address();
                let (pixels, counters) = (camera.pixels() as u32, self.frame.counters_address());
                let blocks = pixels.div_ceil(THREADS);
                let most_blocks = BLOCKS_A_MULTIPROCESSOR * device.multiprocessors();
                self.frame.queue.launch(
                    error_range,
                    blocks.min(most_blocks),
                    THREADS,
                    &ErrorRangeParams {
                        image,
                        photo: photo.rgb,
                        mask: photo.mask,
                        pixels,
                        counters,
                        least,
                        most,
                    },
                )?;
                let threshold = scoring.error_threshold;
                self.frame.queue.launch(
                    error_mask,
                    blocks,
                    THREADS,
                    &ErrorMaskParams {
                        image,
                        photo: photo.rgb,
                        mask: photo.mask,
                        pixels,
                        threshold,
                        counters,
                        least,
                        most,
                        gradient,
                    },
                )?;
                self.photos.used()?;
                let scene = self.scene_addresses();
                let sums = self
                    .frame
                    .backward_to_splats(scene, &camera, &scoring.render)?;
                self.frame.queue.launch(
                    add_scores,
                    (n as u32).div_ceil(THREADS),
                    THREADS,
                    &AddScoresParams {
                        splats: self.frame.splats_address(),
                        sums,
                        area,
                        counters,
                        bad: scores.bad.address(),
                        weight: scores.weight.address(),
                        largest: scores.largest.address(),
                    },
                )?;
            }
            let counters = self.frame.counters()?;
            self.frame.forget()?;
            if counters.overflowed == 0 {
                return Ok(scores);
            }
            self.frame.reserve_pairs(counters.needed)?;
        }
    }
}
