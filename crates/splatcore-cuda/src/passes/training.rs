//! The training pass: an image with what its backward pass needs, then from the image's gradient
//! to nine sums for each splat. The first sum is the opacity's gradient, dL/d(ln opacity);
//! `ops/blend_backward/blend_backward.cuh` lists all nine.

use super::kernels::{Loaded, Op, SceneKind, without_background};
use super::sort_layout::ListsOf;
use super::sorted_lists::SortedLists;
use super::splat_sums::SplatSums;
use super::strips::Strips;
use super::work::Work;
use crate::device::{Address, Buffer, Device, Program};
use crate::ops::blend::{self, BlendParams};
use crate::ops::blend_backward::{
    self, BlendBackwardParams, CHECKPOINT_BYTES, GatherSumsParams, SUM_BYTES, SumPairsParams,
};
use crate::ops::camera::KernelCamera;
use crate::ops::counters::VISIBLE_AT;
use crate::ops::lens::LensKind;
use crate::ops::project_backward::{self, GRADIENT_BYTES, ProjectBackwardParams};
use crate::ops::row_blocks::OwnRows;
use crate::ops::scene::SceneAddresses;
use crate::ops::{clear, depth_sums, intersect, project};
use bytemuck::Zeroable;
use splatcore_core::BackendError;
use splatcore_core::backend::{RenderOptions, Statistic};
use splatcore_core::pipeline::{Backward, Pipeline};
use std::sync::Arc;

/// Everything that decides which kernels the pass runs.
#[derive(Clone, PartialEq)]
pub(super) struct Kind {
    scene: SceneKind,
    options: RenderOptions,
    statistic: Statistic,
    shard: bool,
    /// What the camera is.
    lens: LensKind,
    by_depth: bool,
}

/// The buffers of the pass. Content lives from one frame to the next.
pub struct TrainingPass {
    /// Every method of summing gradients is replaced by one that has a fixed order.
    deterministic: bool,
    /// What the backward pass leaves for densification; as [`Statistic::Mean`] where a method has
    /// no rows of pairs.
    pub statistic: Statistic,
    /// Other ranks have the other Gaussians: a splat's index is its Gaussian's.
    pub shard: bool,
    /// This rank's strip of a frame that several ranks render.
    pub strips: Option<Strips>,
    /// The loss depends on depth: sums have a column of it.
    pub by_depth: bool,
    /// Every pair has a row of sums.
    pair_rows: bool,
    /// Every bucket of so many splats has a checkpoint.
    bucket: Option<usize>,
    /// Planar rgb, `[3][height * width]` f32.
    pub image: Buffer,
    pub(super) transmittance: Buffer,
    /// dL/dimage, planar.
    pub image_gradient: Buffer,
    /// A row a pair, or for each splat what pixels add to, as the method wants it.
    pub(super) sums: Buffer,
    /// A row a splat.
    pub splat_sums: SplatSums,
    pub(super) gradients: Buffer,
    /// (Transmittance, colour) of a tile's pixels before a bucket, for `gaussian-parallel`.
    checkpoints: Buffer,
    /// Where in the sorted pairs each pixel stopped, likewise.
    stops: Buffer,
    pub(super) loaded: Loaded<Kind>,
}

impl TrainingPass {
    /// Empty buffers.
    ///
    /// # Errors
    /// If not even that fits.
    pub fn new(device: &Arc<dyn Device>, deterministic: bool) -> Result<Self, BackendError> {
        let empty = |name| Buffer::new(device, name, 0);
        Ok(Self {
            deterministic,
            statistic: Statistic::Mean,
            shard: false,
            strips: None,
            by_depth: false,
            pair_rows: false,
            bucket: None,
            image: empty("image")?,
            transmittance: empty("transmittance")?,
            image_gradient: empty("gradient of the image")?,
            sums: empty("gradient sums")?,
            splat_sums: SplatSums::new(device)?,
            gradients: empty("gradients of the projected Gaussians")?,
            checkpoints: empty("states of the pixels before buckets of pairs")?,
            stops: empty("where the pixels stopped")?,
            loaded: Loaded::default(),
        })
    }

    /// How gradients are summed.
    pub fn backward_method(&self, pipeline: Pipeline) -> Backward {
        match self.deterministic && !blend_backward::has_pair_rows(pipeline.backward) {
            true => Backward::Subtile,
            false => pipeline.backward,
        }
    }

    /// Whether gradients are summed by way of a row for each pair.
    pub fn has_pair_rows(&self, pipeline: Pipeline) -> bool {
        blend_backward::has_pair_rows(self.backward_method(pipeline))
    }

    /// Splats of a bucket, if the method wants the pixels' state in front of each.
    fn bucket(&self, pipeline: Pipeline) -> Option<usize> {
        blend_backward::bucket(self.backward_method(pipeline))
    }

    /// From now on pairs need what this pipeline wants for each: say so before room is made.
    pub fn expect(&mut self, pipeline: Pipeline) {
        self.pair_rows |= self.has_pair_rows(pipeline);
        let buckets = [self.bucket, self.bucket(pipeline)];
        self.bucket = buckets.into_iter().flatten().min();
    }

    /// Gives back what has a place for each pair.
    ///
    /// # Errors
    /// If the device failed.
    pub fn release_pairs(&mut self) -> Result<(), BackendError> {
        self.sums.clear()?;
        self.checkpoints.clear()
    }

    /// Gives back what has a place for each splat or pair.
    ///
    /// # Errors
    /// If the device failed.
    pub fn release_splats(&mut self) -> Result<(), BackendError> {
        self.splat_sums.clear()?;
        self.gradients.clear()?;
        self.release_pairs()
    }

    /// Makes room for so many pairs, as [`TrainingPass::expect`] was told.
    ///
    /// # Errors
    /// If memory is short.
    pub fn allocate_pairs(&mut self, capacity: usize) -> Result<(), BackendError> {
        if self.pair_rows {
            self.sums.reserve_exactly(SUM_BYTES * capacity)?;
        }
        if let Some(bucket) = self.bucket {
            self.checkpoints
                .reserve_exactly(CHECKPOINT_BYTES * (capacity / bucket))?;
        }
        Ok(())
    }

    /// Makes room for a frame.
    ///
    /// # Errors
    /// If memory is short.
    pub fn reserve(
        &mut self,
        splats: usize,
        pair_capacity: usize,
        view: &KernelCamera,
        pipeline: Pipeline,
    ) -> Result<(), BackendError> {
        let pixels = view.pixels();
        self.image.reserve_exactly(12 * pixels)?;
        self.transmittance.reserve_exactly(4 * pixels)?;
        self.image_gradient.reserve_exactly(12 * pixels)?;
        let rows = if self.pair_rows {
            pair_capacity
        } else {
            splats
        };
        // Methods may change from frame to frame: the sums of splats fit too.
        self.sums.reserve_exactly(SUM_BYTES * rows.max(splats))?;
        self.splat_sums.reserve(splats)?;
        if let Some(bucket) = self.bucket(pipeline) {
            let bytes = CHECKPOINT_BYTES * (pair_capacity / bucket);
            self.checkpoints.reserve_exactly(bytes)?;
        }
        if self.backward_method(pipeline) == Backward::GaussianParallel {
            self.stops.reserve_exactly(4 * pixels)?;
        }
        Ok(())
    }

    /// Numbers that a frame that leaves checkpoints keeps of its buckets.
    pub fn buckets(&self, pair_capacity: usize, view: &KernelCamera, pipeline: Pipeline) -> usize {
        let method = self.backward_method(pipeline);
        match blend_backward::bucket(method) {
            Some(_) => blend_backward::buckets(method, pair_capacity, view) + 1,
            None => 0,
        }
    }

    /// Puts the projection into the queue, for which there is room. If kernels must be compiled,
    /// the programs `more` are too, at the same time.
    ///
    /// # Errors
    /// If a kernel does not compile or a launch failed.
    pub fn project(
        &mut self,
        work: &Work,
        sorted: &mut SortedLists,
        scene: SceneAddresses,
        view: &KernelCamera,
        options: &RenderOptions,
        more: &[Program],
    ) -> Result<(), BackendError> {
        self.load(work, sorted, scene, options, more)?;
        sorted.project(work, &self.loaded, scene, view)
    }

    /// Puts the lists and the blending of the splats into the queue. After
    /// [`TrainingPass::project`] of the same scene and view.
    ///
    /// # Errors
    /// If a launch failed.
    pub fn image(
        &mut self,
        work: &Work,
        sorted: &mut SortedLists,
        gaussians: usize,
        view: &KernelCamera,
    ) -> Result<(), BackendError> {
        let loaded = &self.loaded;
        sorted.build(work, loaded, gaussians, view, ListsOf::Tiles, true)?;
        self.divide(work, sorted, gaussians, view)?;
        self.blend(work, sorted, view)
    }

    /// Puts the blending of the lists that were made last into the queue.
    ///
    /// # Errors
    /// If the launch failed.
    pub fn blend(
        &self,
        work: &Work,
        sorted: &SortedLists,
        view: &KernelCamera,
    ) -> Result<(), BackendError> {
        let lists = sorted.lists(work, view.tile_count(), true);
        let params = BlendParams {
            splats: work.splats(),
            pairs: lists.pairs,
            pair_splats: lists.pair_splats,
            ranges: self.ranges_of(&lists)[0],
            camera: *view,
            counters: work.counters(),
            image: self.image.address(),
            transmittances: self.transmittance.address(),
            bucket_tiles: sorted.bucket_tiles(work),
            checkpoints: self.checkpoints.address(),
            stops: self.stops.address(),
            ..BlendParams::zeroed()
        };
        let [blend] = self.loaded.get(Op::Blend)?;
        blend::launch(&work.queue, blend, lists.count, &params)?;
        work.queue.mark("blend")?;
        self.gather_image(work, view)
    }

    /// From `image_gradient` to the sums of each splat, a row of 12 floats. Returns their address.
    /// The last frame was of this scene, view and options.
    ///
    /// # Errors
    /// If the device failed.
    pub fn backward(
        &self,
        work: &Work,
        sorted: &SortedLists,
        scene: SceneAddresses,
        view: &KernelCamera,
        pipeline: Pipeline,
    ) -> Result<Address, BackendError> {
        let (method, queue) = (self.backward_method(pipeline), &work.queue);
        let splats = work.splats_of(scene.count);
        let pair_rows = blend_backward::has_pair_rows(method);
        if !pair_rows {
            self.sums.fill(0, SUM_BYTES * splats)?;
        }
        let lists = sorted.lists(work, view.tile_count(), true);
        let params = BlendBackwardParams {
            splats: work.splats(),
            pairs: lists.pairs,
            pair_splats: lists.pair_splats,
            ranges: self.ranges_of(&lists)[1],
            camera: *view,
            counters: work.counters(),
            image: self.image.address(),
            gradient: self.image_gradient.address(),
            sums: self.sums.address(),
            splat_capacity: splats as u32,
            pair_sums: self.sums.address(),
            bucket_tiles: sorted.bucket_tiles(work),
            checkpoints: self.checkpoints.address(),
            stops: self.stops.address(),
        };
        let [kernel] = self.loaded.get(Op::BlendBackward)?;
        blend_backward::launch(queue, kernel, method, sorted.pair_capacity(), &params)?;
        queue.mark("blend_backward")?;
        if !pair_rows {
            let params = GatherSumsParams {
                from: self.sums.address(),
                splat_capacity: splats as u32,
                counters: work.counters(),
                sums: self.splat_sums.address(),
            };
            let [kernel] = self.loaded.get(Op::GatherSums)?;
            blend_backward::launch_gather_sums(queue, kernel, splats, &params)?;
            queue.mark("gather_sums")?;
            return Ok(self.splat_sums.address());
        }
        self.exchange_pair_sums(work, sorted)?;
        let [order, tile_counts, first_pairs, long_splats] = sorted.pairs_of_splats(work);
        let params = SumPairsParams {
            order,
            long_splats,
            first_pairs,
            tile_counts,
            pair_sums: self.sums.address(),
            splats: work.splats(),
            counters: work.counters(),
            sums: self.splat_sums.address(),
        };
        let kernels = self.loaded.get(Op::SumPairs)?;
        let sizes = (splats, work.long_blocks(splats));
        blend_backward::launch_sum_pairs(queue, kernels, sizes, &params)?;
        queue.mark("sum_pairs")?;
        Ok(self.splat_sums.address())
    }

    /// From the sums of each splat to the gradients of its Gaussian's parameters. Returns their
    /// address. They take memory from the first time on: `adam` of one frame needs none.
    ///
    /// # Errors
    /// If memory is short or the device failed.
    pub fn project_backward(
        &mut self,
        work: &Work,
        scene: SceneAddresses,
        view: &KernelCamera,
        sums: Address,
    ) -> Result<Address, BackendError> {
        let splats = work.splats_of(scene.count);
        self.gradients.reserve(GRADIENT_BYTES * splats)?;
        let [means, log_scales, rotations, opacity_logits, sh] = scene.arrays;
        let params = ProjectBackwardParams {
            means,
            log_scales,
            rotations,
            opacity_logits,
            sh,
            camera: *view,
            splats: work.splats(),
            sums,
            counters: work.counters(),
            gradients: self.gradients.address(),
            shape: scene.shape,
            visible: work.counters() + VISIBLE_AT,
            blocks: OwnRows::all(scene.count).blocks,
            lens: work.kernel_lens(),
        };
        let [kernel] = self.loaded.get(Op::ProjectBackward)?;
        project_backward::launch(&work.queue, kernel, splats, &params)?;
        work.queue.mark("project_backward")?;
        Ok(self.gradients.address())
    }

    pub(super) fn load(
        &mut self,
        work: &Work,
        sorted: &mut SortedLists,
        scene: SceneAddresses,
        options: &RenderOptions,
        more: &[Program],
    ) -> Result<(), BackendError> {
        let kind = self.kind(scene, options, work.lens_kind());
        let mut missing = sorted.missing_sorts();
        if !self.loaded.is_of(&kind) {
            let programs = self.programs_of(&kind);
            missing.extend(programs.iter().map(|(_, program)| program.clone()));
            missing.extend(more.iter().cloned());
            work.prepare(&missing)?;
            self.loaded.load(kind, &programs, &work.kernels)?;
        } else if !missing.is_empty() {
            missing.extend(more.iter().cloned());
            work.prepare(&missing)?;
        }
        sorted.load_sorts(work)
    }

    fn kind(&self, scene: SceneAddresses, options: &RenderOptions, lens: LensKind) -> Kind {
        Kind {
            scene: SceneKind::of(scene),
            // Depth is of images.
            options: RenderOptions {
                inverse_depth: false,
                ..without_background(options)
            },
            statistic: self.statistic,
            shard: self.shard,
            lens,
            by_depth: self.by_depth,
        }
    }

    /// The programs of such a frame but for its sorts, of a camera of a kind.
    pub fn programs(
        &self,
        scene: SceneAddresses,
        options: &RenderOptions,
        lens: LensKind,
    ) -> Vec<Program> {
        let programs = self
            .programs_of(&self.kind(scene, options, lens))
            .into_iter();
        programs.map(|(_, program)| program).collect()
    }

    fn programs_of(&self, kind: &Kind) -> Vec<(Op, Program)> {
        let SceneKind {
            stored,
            half,
            shaped,
        } = kind.scene;
        let (options, pipeline) = (&kind.options, kind.options.pipeline);
        let in_use = options.sh_degree.min(stored);
        let filtered = |program| {
            let program = project::filtered(program, options.antialias, shaped);
            project::with_halves(project::through_lens(program, kind.lens), stored, half)
        };
        let method = self.backward_method(pipeline);
        let pair_rows = blend_backward::has_pair_rows(method);
        let absolute = kind.statistic == Statistic::Absolute && pair_rows;
        let project = project::project(in_use, stored, pipeline.intersect);
        let blend = blend::blend(pipeline.blend, false, self.bucket(pipeline).is_some());
        let project_backward = project_backward::project_backward(in_use, stored, absolute);
        let shard = |program| match kind.shard {
            true => project::of_shard(program),
            false => program,
        };
        let mut all = vec![
            (Op::Clear, clear::program()),
            (Op::Project, shard(filtered(project))),
            (Op::Intersect, intersect::program(pipeline.intersect)),
            (Op::Blend, blend),
            (Op::BlendBackward, blend_backward::blend_backward(method)),
            (
                Op::ProjectBackward,
                project::by_depth(filtered(project_backward), kind.by_depth),
            ),
        ];
        if kind.by_depth {
            all.push((Op::DepthSums, depth_sums::program()));
        }
        if kind.shard {
            all.extend(self.programs_of_shard(pipeline));
        }
        all.push(match pair_rows {
            true => (Op::SumPairs, blend_backward::sum_pairs(absolute)),
            false => (Op::GatherSums, blend_backward::gather_sums()),
        });
        all
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        let all = [
            &self.image,
            &self.transmittance,
            &self.image_gradient,
            &self.sums,
            &self.gradients,
            &self.checkpoints,
            &self.stops,
        ];
        let all = all.map(|buffer| buffer.bytes() as u64);
        all.iter().sum::<u64>() + self.splat_sums.bytes()
    }
}
