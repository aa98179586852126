//! The forward pass of a frame, in the order of its ops.

use super::pairs::Lists;
use super::{COUNTERS_BYTES, Frame, LASTING_BYTES, MOST_PIXELS, PROJECT_BLOCK, Purpose, SceneAddresses};
use crate::camera::KernelCamera;
use crate::device::buffer::{device_error, failed};
use crate::device::{Kernel, Program};
use crate::launch::arguments;
use crate::programs;
use crate::sort::{self, Plan};
use splatcore_core::backend::RenderOptions;
use splatcore_core::pipeline::{Backward, Pipeline};
use splatcore_core::{BackendError, Camera};

/// What a pass renders, and how.
pub(super) struct Pass {
    pub(super) scene: SceneAddresses,
    pub(super) view: KernelCamera,
    sh_degree: u8,
    pub(super) pipeline: Pipeline,
    purpose: Purpose,
    pub(super) lists: Lists,
}

impl Pass {
    /// Whether the sort moves numbers of pairs, by which others look up what belongs to a pair, and not slots.
    pub(super) fn is_numbered(&self) -> bool {
        self.purpose == Purpose::Training || matches!(self.lists, Lists::Groups(_))
    }
}

impl Frame {
    /// Whether the forward pass leaves checkpoints behind.
    fn checkpoints(&self, pipeline: Pipeline, purpose: Purpose) -> bool {
        purpose == Purpose::Training && self.backward_method(pipeline) == Backward::GaussianParallel
    }

    /// How tiles are blended.
    fn blend_program(&self, pipeline: Pipeline, purpose: Purpose) -> Program {
        let method = match purpose {
            Purpose::Training => programs::blend_in_training(pipeline.blend, self.backward_method(pipeline)),
            Purpose::Image | Purpose::Counting => pipeline.blend,
        };
        let checkpoints = self.checkpoints(pipeline, purpose);
        programs::blend(method, purpose == Purpose::Counting, checkpoints)
    }

    /// The programs that frames of these options need, to be compiled together.
    pub fn programs(&self, scene: SceneAddresses, options: &RenderOptions, purpose: Purpose) -> Vec<Program> {
        let stored = scene.sh_degree;
        let in_use = options.sh_degree.min(stored);
        let pipeline = options.pipeline;
        let lists = Lists::new(pipeline, purpose, scene.count);
        let mut all = vec![
            programs::project(in_use, stored, pipeline.intersect, lists == Lists::Split),
            self.blend_program(pipeline, purpose),
        ];
        all.push(programs::sort(Plan::new(sort::ALL_BITS, scene.count)));
        all.push(programs::intersect(pipeline.intersect));
        match lists {
            Lists::Tiles => {}
            Lists::Groups(side) => all.push(programs::intersect_groups(pipeline.intersect, side)),
            Lists::Split => all.push(programs::lists(pipeline.intersect)),
        }
        if purpose == Purpose::Training {
            let method = self.backward_method(pipeline);
            all.push(programs::blend_backward(method));
            all.push(programs::project_backward(in_use, stored));
            all.extend(programs::has_pair_rows(method).then(programs::sum_pairs));
        }
        all
    }

    /// Renders into `image` and `transmittance`.
    ///
    /// # Errors
    /// If the camera cannot be, memory is short, a kernel does not compile or the device fails. Too little room for the
    /// pairs is no error here: see [`Frame::counters`].
    pub fn forward(
        &mut self,
        scene: SceneAddresses,
        camera: &Camera,
        options: &RenderOptions,
        purpose: Purpose,
    ) -> Result<KernelCamera, BackendError> {
        if let Some(defect) = camera.defect() {
            return Err(BackendError::Input(format!(
                "this camera cannot be rendered: {defect}"
            )));
        }
        if camera.width as u64 * camera.height as u64 > MOST_PIXELS {
            return Err(BackendError::Input(format!(
                "{}x{} pixels are more than the {MOST_PIXELS} that this backend can number; use --max-size or --size",
                camera.width, camera.height
            )));
        }
        let pipeline = options.pipeline;
        let pass = Pass {
            scene,
            view: KernelCamera::new(camera, options),
            sh_degree: options.sh_degree.min(scene.sh_degree),
            pipeline,
            purpose,
            lists: Lists::new(pipeline, purpose, scene.count),
        };
        let checkpoints = self.checkpoints(pipeline, purpose);
        self.pair_rows |=
            purpose == Purpose::Training && programs::has_pair_rows(self.backward_method(pipeline));
        self.checkpointed |= checkpoints;
        self.grouped |= pass.lists == Lists::Split;
        let lists = pass.lists.count(&pass.view);
        self.reserve(scene.count, &pass.view, purpose, checkpoints, lists)?;
        if let Lists::Groups(_) = pass.lists {
            self.group_masks.reserve_exactly(2 * self.pair_capacity)?;
        }
        self.cleared.fill(0, self.layout.zeroed)?;
        self.counters
            .fill_at(LASTING_BYTES, 0, COUNTERS_BYTES - LASTING_BYTES)?;
        self.project(&pass)?;
        self.sort_by_depth(&pass)?;
        self.intersect(&pass)?;
        let lists = self.sort_by_list(&pass)?;
        self.blend(&pass, lists)?;
        Ok(pass.view)
    }

    /// The kernels of a program.
    pub(super) fn kernels_of(&self, program: &Program) -> Result<Vec<Kernel>, BackendError> {
        self.kernels.get(program).map_err(failed)
    }

    fn project(&self, pass: &Pass) -> Result<(), BackendError> {
        let scene = pass.scene;
        let program = programs::project(
            pass.sh_degree,
            scene.sh_degree,
            pass.pipeline.intersect,
            pass.lists == Lists::Split,
        );
        let &[project] = &self.kernels_of(&program)?[..] else {
            return Err(wrong_program());
        };
        self.queue.launch(
            project,
            scene.count.div_ceil(PROJECT_BLOCK) as u32,
            PROJECT_BLOCK as u32,
            &mut arguments![
                scene.arrays[0],
                scene.arrays[1],
                scene.arrays[2],
                scene.arrays[3],
                scene.arrays[4],
                scene.count as u32,
                pass.view,
                self.splats.address(),
                self.depths[0].address(),
                self.slots[0].address(),
                self.pair_counts.address(),
                self.slot_of.address(),
                self.counters.address()
            ],
        )?;
        self.queue.mark("project")
    }

    fn blend(&self, pass: &Pass, (pairs, pair_slots): (u64, u64)) -> Result<(), BackendError> {
        let &[blend] = &self.kernels_of(&self.blend_program(pass.pipeline, pass.purpose))?[..] else {
            return Err(wrong_program());
        };
        // What only some variants read: masks, or checkpoints and the places of buckets.
        let (blocks, extra) = match pass.lists {
            Lists::Groups(_) => (pass.lists.count(&pass.view), self.group_masks.address()),
            Lists::Tiles | Lists::Split => {
                (pass.view.tile_count(), self.cleared_at(self.layout.bucket_tiles))
            }
        };
        self.queue.launch(
            blend,
            blocks as u32,
            256,
            &mut arguments![
                self.splats.address(),
                pairs,
                pair_slots,
                self.cleared_at(self.layout.ranges),
                pass.view,
                self.counters.address(),
                self.image.address(),
                self.transmittance.address(),
                extra,
                self.checkpoints.address(),
                self.stops.address()
            ],
        )?;
        self.queue.mark("blend")
    }
}

pub(super) fn wrong_program() -> BackendError {
    device_error("a program has other kernels than asked for".into())
}
