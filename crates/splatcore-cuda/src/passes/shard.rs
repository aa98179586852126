//! The training pass where several ranks share the Gaussians: each projects its own rows, the rank
//! that renders the frame gets the splats of all and gives back their sums (`learner/sharing.rs`).
//! A rank's splats have compacted indices of their own, for which there is limited room.

use super::both::Passes;
use super::gathered::Gathered;
use super::kernels::Op;
use super::sorted_lists::SortedLists;
use super::strips::Strips;
use super::tile_lists::TileLists;
use super::training::TrainingPass;
use super::work::{SPLAT_BYTES, Work};
use crate::device::{Address, Buffer, Device, Program};
use crate::ops::accumulate::FrameGradients;
use crate::ops::blend_backward::SUM_BYTES;
use crate::ops::camera::KernelCamera;
use crate::ops::gather_splats::{self, AgreeParams};
use crate::ops::lens::KernelLens;
use crate::ops::project::{self, ProjectParams};
use crate::ops::project_backward::{self, GRADIENT_BYTES, ProjectBackwardParams};
use crate::ops::row_blocks::OwnRows;
use crate::ops::scene::SceneAddresses;
use crate::ops::strips::{self, PickSumsParams};
use splatcore_core::backend::RenderOptions;
use splatcore_core::pipeline::Pipeline;
use splatcore_core::{BackendError, Camera};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a row of each array that ranks give to the one that renders: splats, depth keys, pairs
/// of each splat.
pub const SPLAT_ROWS: [usize; 3] = [SPLAT_BYTES, 4, 4];
/// Bytes of how many splats and pairs a rank has in a frame, which go with them: `ShardCounts` of
/// ops/shared/splat.cuh.
pub const SHARD_COUNTS: usize = 16;

/// The splats of a rank's own Gaussians in a frame, and later their sums.
pub struct ShardSplats {
    /// As [`SPLAT_ROWS`] says.
    arrays: [Buffer; 3],
    counts: Buffer,
    splat_of: Buffer,
    sums: Buffer,
    view: Option<KernelCamera>,
    lens: Option<KernelLens>,
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
            counts: Buffer::new(device, "counts of a shard", SHARD_COUNTS)?,
            splat_of: empty()?,
            sums: empty()?,
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

    /// Where the arrays of [`SPLAT_ROWS`] are, by compacted index.
    pub fn given(&self) -> [Address; 3] {
        self.arrays.each_ref().map(Buffer::address)
    }

    /// Where it lies how many splats and pairs there are, [`SHARD_COUNTS`] bytes.
    pub fn counts(&self) -> Address {
        self.counts.address()
    }

    /// Where the sums are to go, by compacted index; of each rank that renders the frame.
    pub fn sums(&self) -> Address {
        self.sums.address()
    }

    /// Splats, the compacted index of each of the rank's rows, and sums.
    pub fn own(&self) -> [Address; 3] {
        [&self.arrays[0], &self.splat_of, &self.sums].map(Buffer::address)
    }

    /// Splats that there is room for.
    pub(super) fn room(&self) -> usize {
        self.arrays[1].bytes() / SPLAT_ROWS[1]
    }

    /// Makes room for so many rows and splats of a frame that is only rendered, and counts anew.
    ///
    /// # Errors
    /// If memory is short.
    pub(super) fn begin(&mut self, rows: usize, room: usize) -> Result<(), BackendError> {
        self.reserve(rows, room, 0)?;
        self.counts.fill(0, SHARD_COUNTS)
    }

    /// Waits for the queue and returns how many splats and pairs there are, also those for which
    /// there was no room.
    ///
    /// # Errors
    /// If the device failed.
    pub(super) fn counted(&self) -> Result<(usize, u64), BackendError> {
        let mut counts = [0u64; 2];
        self.counts.read(0, &mut counts)?;
        Ok((counts[0] as u32 as usize, counts[1]))
    }

    fn reserve(&mut self, rows: usize, room: usize, team: usize) -> Result<(), BackendError> {
        let arrays = self.arrays.iter_mut().zip(SPLAT_ROWS);
        for (buffer, bytes) in arrays.chain([(&mut self.sums, SUM_BYTES * team)]) {
            buffer.reserve(bytes * room)?;
        }
        self.splat_of.reserve(4 * rows).map(drop)
    }
}

impl TrainingPass {
    /// Whether ranks that have strips can divide a frame: pairs have rows of sums.
    pub fn divides(&self, pipeline: Pipeline) -> bool {
        self.strips.is_some() && self.has_pair_rows(pipeline)
    }

    /// The programs that only ranks need.
    pub(super) fn programs_of_shard(&self, pipeline: Pipeline) -> Vec<(Op, Program)> {
        let mut all = vec![(Op::GatherSplats, gather_splats::program())];
        if self.divides(pipeline) {
            all.push((Op::Strips, strips::program()));
        }
        all
    }

    /// How many ranks render a frame.
    pub(super) fn team(&self) -> usize {
        self.divided().map_or(1, Strips::count)
    }

    /// The strips of a frame that other ranks render too.
    fn divided(&self) -> Option<&Strips> {
        let strips = self.strips.as_ref().filter(|_| self.shard);
        strips.filter(|strips| strips.are_several())
    }

    /// Gives tiles and pairs of the lists that were made last to the strips, if there are several.
    ///
    /// # Errors
    /// If a launch failed.
    pub(super) fn divide(
        &self,
        work: &Work,
        sorted: &SortedLists,
        gaussians: usize,
        view: &KernelCamera,
    ) -> Result<(), BackendError> {
        let Some(strips) = self.divided() else {
            return Ok(());
        };
        let [divide, ..] = self.loaded.get::<3>(Op::Strips)?;
        strips.divide(work, sorted, divide, (view, work.splats_of(gaussians)))
    }

    /// Ranges of the lists that are blended here, and of those of which sums are made here.
    pub(super) fn ranges_of(&self, lists: &TileLists) -> [Address; 2] {
        self.divided().map_or([lists.ranges; 2], Strips::ranges)
    }

    /// Brings the strips of the image together.
    ///
    /// # Errors
    /// If another rank does not answer or the device failed.
    pub(super) fn gather_image(
        &self,
        work: &Work,
        view: &KernelCamera,
    ) -> Result<(), BackendError> {
        let planes = [&self.image, &self.transmittance].map(Buffer::address);
        let strips = self.divided();
        strips.map_or(Ok(()), |strips| strips.gather_image(work, view, planes))
    }

    /// Brings rows of sums of pairs to who adds them up.
    ///
    /// # Errors
    /// As [`TrainingPass::gather_image`].
    pub(super) fn exchange_pair_sums(
        &self,
        work: &Work,
        sorted: &SortedLists,
    ) -> Result<(), BackendError> {
        let Some(strips) = self.divided() else {
            return Ok(());
        };
        let [_, move_rows, _] = self.loaded.get(Op::Strips)?;
        strips.exchange_pair_sums(work, sorted, move_rows, self.sums.address())
    }
}

impl Passes {
    /// Makes room for the frame of a round that is rendered here, or for any of them, and loads the
    /// kernels; with them the programs `more` are compiled. The frame has this set, and is rendered
    /// by a team of ranks, an empty one for a rank that renders none, with room for so many rows of
    /// sums from one to another.
    ///
    /// # Errors
    /// As [`Passes::project`].
    pub fn prepare_shard(
        &mut self,
        scene: SceneAddresses,
        camera: &Camera,
        options: &RenderOptions,
        more: &[Program],
        (set, strips): (usize, (Range<usize>, usize)),
    ) -> Result<(), BackendError> {
        self.work.choose_set(set);
        let view = self.view_of(camera, options)?;
        let sky = options.sky.is_some() || self.skies.learns();
        if let Some(of_frame) = &mut self.training.strips {
            of_frame.prepare(&view, strips, sky)?;
        }
        self.prepare(scene, camera, options)?;
        let (work, sorted) = (&self.work, &mut self.sorted);
        self.training.load(work, sorted, scene, options, more)
    }

    /// Projects a rank's rows of the Gaussians, with room for so many splats, into a frame that so
    /// many ranks render. After [`Passes::prepare_shard`] of the round.
    ///
    /// # Errors
    /// If the camera cannot be, memory is short or the launch failed.
    pub fn project_shard(
        &mut self,
        scene: SceneAddresses,
        camera: &Camera,
        options: &RenderOptions,
        (of, room, team): (OwnRows, usize, usize),
        to: &mut ShardSplats,
    ) -> Result<(), BackendError> {
        let view = self.view_of(camera, options)?;
        let (work, sorted) = (&self.work, &mut self.sorted);
        self.training.load(work, sorted, scene, options, &[])?;
        to.reserve(of.count, room, team)?;
        to.counts.fill(0, SHARD_COUNTS)?;
        (to.view, to.lens) = (Some(view), work.lens);
        let [splats, splat_of, _] = to.own();
        let [_, depths, pair_counts] = to.given();
        let params = ProjectParams {
            depths,
            pair_counts,
            splat_of,
            splat_room: room as u32,
            blocks: of.blocks,
            shard: to.counts(),
            lens: self.work.kernel_lens(),
            ..project::params(scene, &view, splats, self.work.counters())
        };
        let [project] = self.training.loaded.get(Op::Project)?;
        project::launch(&self.work.queue, project, of.count, &params)?;
        self.work.queue.mark("project")
    }

    /// Makes room for what the ranks give for a frame that has this set.
    ///
    /// # Errors
    /// If memory is short.
    pub fn reserve_arrivals(&mut self, set: usize, room: usize) -> Result<(), BackendError> {
        self.work.reserve_splats_in(set, room)?;
        self.sorted.reserve_pair_counts(set, room)
    }

    /// Where the rank that renders takes splats and how many pairs each has, row 0 of each.
    pub fn arrivals(&self, set: usize) -> [Address; 2] {
        let pair_counts = self.sorted.pair_counts[set].address();
        [self.work.splats_in(set), pair_counts]
    }

    /// After the splats of all ranks have come: makes a frame of them.
    ///
    /// # Errors
    /// If a launch failed.
    pub fn gather(&mut self, gaussians: usize, of: &Gathered) -> Result<(), BackendError> {
        let loaded = &self.training.loaded;
        of.gather(&self.work, &self.sorted, loaded, gaussians)
    }

    /// Takes each splat's sums from those of the ranks that rendered a frame. `splats` are the
    /// compacted indices there of what there is room for.
    ///
    /// # Errors
    /// If the launch failed.
    pub fn pick_sums(
        &self,
        shard: &ShardSplats,
        splats: &Range<usize>,
        team: usize,
    ) -> Result<(), BackendError> {
        let params = PickSumsParams {
            sums: shard.sums(),
            room: splats.len() as u32,
            first: splats.start as u32,
            strips: team as u32,
        };
        let [.., pick] = self.training.loaded.get::<3>(Op::Strips)?;
        strips::launch_pick(&self.work.queue, pick, &params)
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

    /// From the sums of a rank's own splats to the gradients of its rows' parameters; there is room
    /// for so many splats.
    ///
    /// # Errors
    /// If memory is short or the launch failed.
    pub fn project_backward_shard(
        &mut self,
        scene: SceneAddresses,
        options: &RenderOptions,
        shard: &ShardSplats,
        (of, room): (OwnRows, usize),
    ) -> Result<FrameGradients, BackendError> {
        let [means, log_scales, rotations, opacity_logits, sh] = scene.arrays;
        let [splats, splat_of, sums] = shard.own();
        self.work.lens = shard.lens;
        let (work, sorted) = (&self.work, &mut self.sorted);
        self.training.load(work, sorted, scene, options, &[])?;
        let gradients = &mut self.training.gradients;
        gradients.reserve(GRADIENT_BYTES * room)?;
        let gradients = gradients.address();
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
            shape: scene.shape,
            visible: shard.counts(),
            blocks: of.blocks,
            lens: self.work.kernel_lens(),
        };
        let [kernel] = self.training.loaded.get(Op::ProjectBackward)?;
        project_backward::launch(&self.work.queue, kernel, room, &params)?;
        self.work.queue.mark("project_backward")?;
        Ok(FrameGradients {
            splat_of,
            rows: gradients,
            sh_degree: options.sh_degree,
            counters: self.work.counters(),
            of,
            is_first: false,
        })
    }
}
