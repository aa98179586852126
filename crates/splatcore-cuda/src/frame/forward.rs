//! The forward pass of a frame, in the order of its ops.

use super::kernels::{Kind, Op};
use super::pairs::Lists;
use super::{Frame, MOST_PIXELS, PROJECT_BLOCK, Purpose};
use crate::device::Program;
use crate::device::buffer::device_error;
use crate::ops::blend::BlendParams;
use crate::ops::blend::{self, InferenceRows, interpolated};
use crate::ops::blend_backward;
use crate::ops::camera::KernelCamera;
use crate::ops::clear::ClearParams;
use crate::ops::project::ProjectParams;
use crate::ops::scene::SceneAddresses;
use bytemuck::Zeroable;
use splatcore_core::backend::RenderOptions;
use splatcore_core::pipeline::{Backward, Blend, Pipeline};
use splatcore_core::{BackendError, Camera, Choice};

const CLEAR_BLOCK: usize = 256;
/// What a thread clears at a time.
const CLEAR_BYTES: usize = 16;

/// What a pass renders, and how.
pub(super) struct Pass {
    pub(super) scene: SceneAddresses,
    pub(super) view: KernelCamera,
    purpose: Purpose,
    blend: Blend,
    rows: InferenceRows,
    pub(super) lists: Lists,
}

impl Pass {
    /// Whether the sort moves numbers of pairs, by which others look up what belongs to a pair, and
    /// not splats.
    pub(super) fn is_numbered(&self) -> bool {
        self.purpose == Purpose::Training || matches!(self.lists, Lists::MacroTiles(_))
    }
}

impl Frame {
    /// Whether the forward pass leaves checkpoints behind.
    fn checkpoints(&self, pipeline: Pipeline, purpose: Purpose) -> bool {
        purpose == Purpose::Training && self.backward_method(pipeline) == Backward::GaussianParallel
    }

    /// How tiles are blended.
    pub(super) fn blend_program(
        &self,
        pipeline: Pipeline,
        purpose: Purpose,
        rows: InferenceRows,
    ) -> Program {
        let method = match purpose {
            Purpose::Training => {
                blend::blend_in_training(pipeline.blend, self.backward_method(pipeline))
            }
            Purpose::Image | Purpose::Counting => pipeline.blend,
        };
        match purpose {
            Purpose::Image => blend::blend_inference(method, rows),
            Purpose::Counting => blend::blend(method, true, false),
            Purpose::Training => blend::blend(method, false, self.checkpoints(pipeline, purpose)),
        }
    }

    /// Renders into `image` and `transmittance`.
    ///
    /// # Errors
    /// If the camera cannot be, memory is short, a kernel does not compile or the device fails. Too
    /// little room for the pairs is no error here: see [`Frame::counters`].
    pub fn forward(
        &mut self,
        scene: SceneAddresses,
        camera: &Camera,
        options: &RenderOptions,
        purpose: Purpose,
    ) -> Result<KernelCamera, BackendError> {
        self.forward_with(scene, camera, options, purpose, &[])
    }

    /// As [`Frame::forward`]; if kernels must be compiled for it, these programs are too, at the
    /// same time.
    ///
    /// # Errors
    /// As [`Frame::forward`].
    pub fn forward_with(
        &mut self,
        scene: SceneAddresses,
        camera: &Camera,
        options: &RenderOptions,
        purpose: Purpose,
        more: &[Program],
    ) -> Result<KernelCamera, BackendError> {
        if let Some(defect) = camera.defect() {
            return Err(BackendError::Input(format!(
                "this camera cannot be rendered: {defect}"
            )));
        }
        if camera.width as u64 * camera.height as u64 > MOST_PIXELS {
            return Err(BackendError::TooLarge {
                what: format!(
                    "{}x{} pixels are more than the {MOST_PIXELS} that this backend can number",
                    camera.width, camera.height
                ),
                depends_on: &[Choice::ImageSize],
            });
        }
        let options = &for_purpose(options, purpose);
        let pipeline = options.pipeline;
        let view = KernelCamera::new(camera, options);
        let rows = match view.pixels() >= self.large_image {
            true => InferenceRows::Eight,
            false => InferenceRows::Four,
        };
        let lists = match purpose {
            Purpose::Image => self.binned(scene, &view, pipeline.blend, rows),
            Purpose::Training | Purpose::Counting => None,
        };
        let lists = lists.unwrap_or(Lists::sorted(pipeline, purpose));
        let mut pass = Pass {
            scene,
            view,
            purpose,
            blend: pipeline.blend,
            rows,
            lists,
        };
        let checkpoints = self.checkpoints(pipeline, purpose);
        self.pair_rows |= purpose == Purpose::Training
            && blend_backward::has_pair_rows(self.backward_method(pipeline));
        self.checkpointed |= checkpoints;
        let binned_to = pass.lists.binned();
        if binned_to.is_some() && binned_to != self.binned_to {
            // What other lists had for pairs says nothing about these: they would be launched for
            // far too many.
            self.forget()?;
        }
        self.binned_to = binned_to;
        match self.reserve(scene.count, &pass.view, purpose, checkpoints, pass.lists) {
            Err(BackendError::OutOfMemory { .. }) if binned_to.is_some() => {
                self.release_binned()?;
                pass.lists = Lists::sorted(pipeline, purpose);
                self.reserve(scene.count, &pass.view, purpose, checkpoints, pass.lists)?;
            }
            reserved => reserved?,
        }
        if interpolated::is_interpolated(pass.blend, rows) {
            self.refined_tiles
                .reserve_exactly(interpolated::refined_bytes(&pass.view))?;
        }
        if options.inverse_depth {
            self.inverse_depth.reserve_exactly(4 * pass.view.pixels())?;
        }
        if let Lists::MacroTiles(_) = pass.lists {
            self.macro_tile_masks
                .reserve_exactly(2 * self.pair_capacity)?;
        }
        self.look_up(
            Kind::new(
                scene,
                options,
                purpose,
                self.statistic,
                pass.rows,
                pass.lists,
            ),
            more,
        )?;
        self.clear()?;
        self.project(&pass)?;
        let lists = match pass.lists {
            Lists::Binned(macro_tiles) => self.sort_binned(&pass, macro_tiles)?,
            _ => {
                self.sort_by_depth(&pass)?;
                self.intersect(&pass)?;
                self.sort_by_list(&pass)?
            }
        };
        self.blend(&pass, lists)?;
        Ok(pass.view)
    }

    /// What of the counters lasts through the frames of a training stays.
    fn clear(&self) -> Result<(), BackendError> {
        let &[clear] = self.kernels_of(Op::Clear) else {
            return Err(wrong_program());
        };
        let pieces = self.layout.zeroed / CLEAR_BYTES;
        let blocks = pieces.div_ceil(CLEAR_BLOCK).max(1) as u32;
        self.queue.launch(
            clear,
            blocks.min(2 * self.queue.device.multiprocessors()),
            CLEAR_BLOCK as u32,
            &ClearParams {
                cleared: self.cleared.address(),
                count: pieces as u64,
                counters: self.counters.address(),
            },
        )
    }

    fn project(&self, pass: &Pass) -> Result<(), BackendError> {
        let scene = pass.scene;
        let &[project] = self.kernels_of(Op::Project) else {
            return Err(wrong_program());
        };
        if let Lists::Binned(macro_tiles) = pass.lists {
            let at = self.binned_buffers(macro_tiles.side);
            self.queue.launch(
                project,
                scene.count.div_ceil(PROJECT_BLOCK) as u32,
                PROJECT_BLOCK as u32,
                &ProjectParams {
                    means: scene.arrays[0],
                    log_scales: scene.arrays[1],
                    rotations: scene.arrays[2],
                    opacity_logits: scene.arrays[3],
                    sh: scene.arrays[4],
                    most: scene.count as u32,
                    gaussians: scene.count_at,
                    camera: pass.view,
                    splats: at.splats,
                    macro_tile_counts: at.counts,
                    pairs: at.pairs,
                    masks: at.masks,
                    room: at.room,
                    large_queue: at.far,
                    large_room: at.large_room,
                    counters: at.counters,
                    smoothing: scene.smoothing,
                    ..ProjectParams::zeroed()
                },
            )?;
            return self.queue.mark("project");
        }
        self.queue.launch(
            project,
            scene.count.div_ceil(PROJECT_BLOCK) as u32,
            PROJECT_BLOCK as u32,
            &ProjectParams {
                means: scene.arrays[0],
                log_scales: scene.arrays[1],
                rotations: scene.arrays[2],
                opacity_logits: scene.arrays[3],
                sh: scene.arrays[4],
                most: scene.count as u32,
                gaussians: scene.count_at,
                camera: pass.view,
                splats: self.splats.address(),
                depths: self.depths[0].address(),
                splat_order: self.splat_order[0].address(),
                pair_counts: self.pair_counts.address(),
                splat_of: self.splat_of.address(),
                counters: self.counters.address(),
                smoothing: scene.smoothing,
                ..ProjectParams::zeroed()
            },
        )?;
        self.queue.mark("project")
    }

    fn blend(&self, pass: &Pass, (pairs, pair_splats): (u64, u64)) -> Result<(), BackendError> {
        let &[blend] = self.kernels_of(Op::Blend) else {
            return self.blend_interpolated(pass, pairs);
        };
        let (pair_splats, entries) = match pass.lists {
            Lists::Binned(_) => (0, pair_splats),
            Lists::Tiles | Lists::MacroTiles(_) => (pair_splats, 0),
        };
        let blocks = match pass.lists {
            Lists::MacroTiles(_) => pass.lists.count(&pass.view),
            Lists::Tiles | Lists::Binned(_) => pass.view.tile_count(),
        };
        let threads = match pass.purpose {
            Purpose::Image => blend::inference_block(pass.blend, pass.rows),
            Purpose::Counting | Purpose::Training => blend::BLEND_BLOCK,
        };
        self.queue.launch(
            blend,
            blocks as u32,
            threads,
            &BlendParams {
                splats: self.splats.address(),
                pairs,
                pair_splats,
                entries,
                ranges: self.cleared_at(self.layout.ranges),
                camera: pass.view,
                counters: self.counters.address(),
                image: self.image.address(),
                transmittances: self.transmittance.address(),
                masks: self.macro_tile_masks.address(),
                inverse_depths: self.inverse_depth.address(),
                bucket_tiles: self.cleared_at(self.layout.bucket_tiles),
                checkpoints: self.checkpoints.address(),
                stops: self.stops.address(),
                ..BlendParams::zeroed()
            },
        )?;
        self.queue.mark("blend")
    }

    /// A large image of which not all pixels may be blended.
    fn blend_interpolated(&self, pass: &Pass, tile_lists: u64) -> Result<(), BackendError> {
        let at = interpolated::Buffers {
            splats: self.splats.address(),
            tile_lists,
            ranges: self.cleared_at(self.layout.ranges),
            counters: self.counters.address(),
            image: self.image.address(),
            transmittances: self.transmittance.address(),
            refined_tiles: self.refined_tiles.address(),
        };
        interpolated::blend(&self.queue, self.kernels_of(Op::Blend), &pass.view, at)?;
        self.queue.mark("blend")
    }
}

/// What is asked of this pass: depth is of images, by a blend that has it.
fn for_purpose(options: &RenderOptions, purpose: Purpose) -> RenderOptions {
    let mut options = options.clone();
    options.inverse_depth &= purpose == Purpose::Image;
    if options.inverse_depth {
        options.pipeline.blend = options.pipeline.blend.with_inverse_depth();
    }
    options
}

pub(super) fn wrong_program() -> BackendError {
    device_error("a program has other kernels than asked for".into())
}
