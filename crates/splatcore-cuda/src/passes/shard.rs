//! The training pass where several ranks share the Gaussians: each projects its own rows, the rank
//! that renders the frame gets all splats and gives back their sums (`learner/sharing.rs`). A
//! splat's index is its Gaussian's; memory of a rank's own rows is addressed as if all rows were
//! there.

use super::both::Passes;
use super::kernels::Op;
use super::work::SPLAT_BYTES;
use crate::device::{Address, Buffer, Device, Program};
use crate::ops::accumulate::FrameGradients;
use crate::ops::blend_backward::SUM_BYTES;
use crate::ops::camera::KernelCamera;
use crate::ops::gather_splats::{self, AgreeParams, CountSplatsParams};
use crate::ops::lens::KernelLens;
use crate::ops::project::{self, ProjectParams};
use crate::ops::project_backward::{self, GRADIENT_BYTES, ProjectBackwardParams};
use crate::ops::scene::SceneAddresses;
use splatcore_core::backend::RenderOptions;
use splatcore_core::{BackendError, Camera};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a row of each array that ranks give to the one that renders: splats, depth keys, pairs
/// of each splat.
pub const SPLAT_ROWS: [usize; 3] = [SPLAT_BYTES, 4, 4];

/// The splats of a rank's own Gaussians in a frame, and later their sums.
pub struct ShardSplats {
    /// As [`SPLAT_ROWS`] says.
    arrays: [Buffer; 3],
    splat_of: Buffer,
    sums: Buffer,
    rows: Range<usize>,
    view: Option<KernelCamera>,
    lens: Option<KernelLens>,
}

/// Where row 0 of an array would be of which only the rows from `first` on are there.
fn as_if_whole(buffer: &Buffer, row_bytes: usize, first: usize) -> Address {
    buffer.address().wrapping_sub((row_bytes * first) as u64)
}

impl ShardSplats {
    /// None.
    ///
    /// # Errors
    /// If the device failed.
    pub fn new(device: &Arc<dyn Device>) -> Result<Self, BackendError> {
        let empty = || Buffer::new(device, "projected Gaussians of a shard", 0);
        Ok(Self {
            arrays: [empty()?, empty()?, empty()?],
            splat_of: empty()?,
            sums: empty()?,
            rows: 0..0,
            view: None,
            lens: None,
        })
    }

    /// The frame's camera.
    ///
    /// # Errors
    /// If nothing was projected.
    pub fn view(&self) -> Result<KernelCamera, BackendError> {
        let nothing = || BackendError::Input("a frame that was not projected".into());
        self.view.ok_or_else(nothing)
    }

    /// The camera's lens, as far as it has one.
    pub fn lens(&self) -> Option<KernelLens> {
        self.lens
    }

    /// Where the own rows of the arrays of [`SPLAT_ROWS`] are.
    pub fn given(&self) -> [Address; 3] {
        self.arrays.each_ref().map(Buffer::address)
    }

    /// Where the sums of the own rows are to go, and how many bytes they take.
    pub fn taken(&self) -> (Address, usize) {
        (self.sums.address(), SUM_BYTES * self.rows.len())
    }

    /// Splats, indices and sums as if all rows were there.
    pub fn whole(&self) -> [Address; 3] {
        let first = self.rows.start;
        [
            as_if_whole(&self.arrays[0], SPLAT_ROWS[0], first),
            as_if_whole(&self.splat_of, 4, first),
            as_if_whole(&self.sums, SUM_BYTES, first),
        ]
    }

    fn reserve(&mut self, rows: &Range<usize>) -> Result<(), BackendError> {
        let arrays = self.arrays.iter_mut().zip(SPLAT_ROWS);
        for (buffer, bytes) in arrays.chain([(&mut self.splat_of, 4), (&mut self.sums, SUM_BYTES)])
        {
            buffer.reserve(bytes * rows.len())?;
        }
        self.rows = rows.clone();
        Ok(())
    }
}

impl Passes {
    /// Makes room for the frame of a round that is rendered here, or for any of them, and loads the
    /// kernels; with them the programs `more` are compiled.
    ///
    /// # Errors
    /// As [`Passes::project`].
    pub fn prepare_shard(
        &mut self,
        scene: SceneAddresses,
        camera: &Camera,
        options: &RenderOptions,
        more: &[Program],
    ) -> Result<(), BackendError> {
        self.prepare(scene, camera, options)?;
        let (work, sorted) = (&self.work, &mut self.sorted);
        self.training.load(work, sorted, scene, options, more)
    }

    /// Projects some rows of the Gaussians. After [`Passes::prepare_shard`] of the round.
    ///
    /// # Errors
    /// If the camera cannot be, memory is short or the launch failed.
    pub fn project_shard(
        &mut self,
        scene: SceneAddresses,
        camera: &Camera,
        options: &RenderOptions,
        rows: &Range<usize>,
        to: &mut ShardSplats,
    ) -> Result<(), BackendError> {
        let view = self.view_of(camera, options)?;
        let (work, sorted) = (&self.work, &mut self.sorted);
        self.training.load(work, sorted, scene, options, &[])?;
        to.reserve(rows)?;
        (to.view, to.lens) = (Some(view), work.lens);
        let [splats, splat_of, _] = to.whole();
        let [_, depths, pair_counts] =
            [0, 1, 2].map(|k| as_if_whole(&to.arrays[k], SPLAT_ROWS[k], rows.start));
        let params = ProjectParams {
            depths,
            pair_counts,
            splat_of,
            first: rows.start as u32,
            most: rows.end as u32,
            lens: self.work.kernel_lens(),
            ..project::params(scene, &view, splats, self.work.counters())
        };
        let [project] = self.training.loaded.get(Op::Project)?;
        project::launch(&self.work.queue, project, &params)?;
        self.work.queue.mark("project")
    }

    /// Where the rank that renders takes the arrays of [`SPLAT_ROWS`], row 0 of each.
    pub fn gathered(&self) -> [Address; 3] {
        let sorted = [&self.sorted.depths[0], &self.sorted.pair_counts].map(Buffer::address);
        [self.work.splats(), sorted[0], sorted[1]]
    }

    /// After all splats have been gathered: counts them.
    ///
    /// # Errors
    /// If a launch failed.
    pub fn count_gathered(&self, gaussians: usize) -> Result<(), BackendError> {
        let loaded = &self.training.loaded;
        let [clear] = loaded.get(Op::Clear)?;
        self.work.clear(clear, self.sorted.layout.zeroed)?;
        let [_, depths, pair_counts] = self.gathered();
        let params = CountSplatsParams {
            depths,
            pair_counts,
            splat_order: self.sorted.splat_order[0].address(),
            count: gaussians as u32,
            counters: self.work.counters(),
        };
        let [count, _] = loaded.get(Op::GatherSplats)?;
        gather_splats::launch_count(&self.work.queue, count, &params)
    }

    /// Overflows if one of the ranks has.
    ///
    /// # Errors
    /// If the launch failed.
    pub fn agree(&self, overflowed: Address, ranks: usize) -> Result<(), BackendError> {
        let params = AgreeParams {
            overflowed,
            ranks: ranks as u32,
            counters: self.work.counters(),
        };
        let [_, agree] = self.training.loaded.get(Op::GatherSplats)?;
        gather_splats::launch_agree(&self.work.queue, agree, &params)
    }

    /// From the sums of a rank's own rows to the gradients of their Gaussians' parameters.
    ///
    /// # Errors
    /// If memory is short or the launch failed.
    pub fn project_backward_shard(
        &mut self,
        scene: SceneAddresses,
        options: &RenderOptions,
        shard: &ShardSplats,
    ) -> Result<FrameGradients, BackendError> {
        let ([means, log_scales, rotations, opacity_logits, sh], rows) =
            (scene.arrays, shard.rows.clone());
        let [splats, splat_of, sums] = shard.whole();
        self.work.lens = shard.lens;
        let (work, sorted) = (&self.work, &mut self.sorted);
        self.training.load(work, sorted, scene, options, &[])?;
        let gradients = &mut self.training.gradients;
        gradients.reserve(GRADIENT_BYTES * rows.len())?;
        let gradients = as_if_whole(gradients, GRADIENT_BYTES, rows.start);
        let params = ProjectBackwardParams {
            means,
            log_scales,
            rotations,
            opacity_logits,
            sh,
            camera: shard.view()?,
            splats,
            sums,
            counters: self.work.counters(),
            gradients,
            smoothing: scene.smoothing,
            splat_of,
            first: rows.start as u32,
            until: rows.end as u32,
            lens: self.work.kernel_lens(),
        };
        let [kernel] = self.training.loaded.get(Op::ProjectBackward)?;
        project_backward::launch(&self.work.queue, kernel, rows.len(), &params)?;
        self.work.queue.mark("project_backward")?;
        Ok(FrameGradients {
            splat_of,
            rows: gradients,
            sh_degree: options.sh_degree,
            counters: self.work.counters(),
            of: rows,
            is_first: false,
        })
    }
}
