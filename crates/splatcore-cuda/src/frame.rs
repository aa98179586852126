//! The buffers of a frame and the order of its ops: project, sort by depth, intersect, sort by tile, blend; then backward.
//! Nothing here waits for the device: sizes stay there, launches cover capacities.

use crate::camera::KernelCamera;
use crate::device::Buffer;
use crate::device::Program;
use crate::device::buffer::{device_error, failed};
use crate::groups;
use crate::launch::{Queue, arguments};
use crate::lists;
use crate::programs::{self, Kernels};
use crate::sort::{self, HISTOGRAM_BYTES, PingPong, state_bytes};
use bytemuck::{Pod, Zeroable};
use splatcore_core::backend::RenderOptions;
use splatcore_core::pipeline::{Backward, Pipeline};
use splatcore_core::{BackendError, Camera};
use std::sync::Arc;

/// `Counters` of kernels/splat.cuh.
#[derive(Clone, Copy, Debug, Default, Pod, Zeroable)]
#[repr(C)]
pub struct Counters {
    /// 1 once there was no room for the pairs: from there on nothing changed.
    pub halted: u32,
    /// Training steps done.
    pub steps: u32,
    /// Most pairs that a frame wanted.
    pub needed: u64,
    /// Slots in use.
    pub visible: u32,
    /// Slots with long lists of pairs.
    pub longs: u32,
    /// (tile, Gaussian) pairs of the frame.
    pub pairs: u64,
    /// Fragments whose alpha was computed.
    pub evaluated: u64,
    /// Fragments that changed their pixel.
    pub blended: u64,
}

/// Where the arrays of a scene are.
#[derive(Clone, Copy)]
pub struct SceneAddresses {
    /// Gaussians.
    pub count: usize,
    /// Stored degree.
    pub sh_degree: u8,
    /// Means, log scales, rotations, opacity logits, spherical harmonics.
    pub arrays: [u64; 5],
}

/// More pairs than this are refused: the look-back keeps a count in 30 bits.
pub const MOST_PAIRS: u64 = (1 << 30) - 1;

/// Larger images are refused: kernels count the values of three planes in 32 bits.
pub const MOST_PIXELS: u64 = u32::MAX as u64 / 3;

const COUNTERS_BYTES: usize = 256;
/// What of the counters lives longer than a frame.
const LASTING_BYTES: usize = 16;
const VISIBLE_AT: u64 = 16;
const PAIRS_AT: u64 = 24;
const SPLAT_BYTES: usize = 48;
/// Floats of a row of sums.
const SUM_BYTES: usize = 48;
/// Bytes of a slot's gradients.
const GRADIENT_BYTES: usize = 64;
/// Splats of a bucket of [`Backward::GaussianParallel`].
const BUCKET: usize = 32;
/// Bytes of a tile's pixels in `checkpoints`.
const CHECKPOINT_BYTES: usize = 16 * 256;
const PROJECT_BLOCK: usize = 128;
const EXPAND_BLOCK: usize = 256;
/// Slots of a block of `sum_pairs`.
const SUM_SLOTS: usize = 32;

/// What a frame computes besides the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The image.
    Image,
    /// The image and what the backward pass needs.
    Training,
    /// Counts of fragments, no image.
    Counting,
}

/// Buffers of a frame. Content lives from one `forward` to the next.
pub struct Frame {
    /// The queue that everything runs in.
    pub queue: Queue,
    kernels: Arc<Kernels>,
    deterministic: bool,
    gaussians: usize,
    pair_capacity: usize,
    /// Every pair has a row of sums.
    pair_rows: bool,
    /// Every bucket has a checkpoint.
    checkpointed: bool,
    /// Lists come from groups of tiles: every pair has places in the tiles' lists.
    grouped: bool,
    counters: Buffer,
    /// States, histograms, ranges: zeroed in one go at the start of a frame.
    cleared: Buffer,
    splats: Buffer,
    depths: [Buffer; 2],
    slots: [Buffer; 2],
    pair_counts: Buffer,
    slot_of: Buffer,
    first_pairs: Buffer,
    /// Slots with long lists of pairs.
    long_slots: Buffer,
    tiles: [Buffer; 2],
    pair_slots: Buffer,
    pair_values: [Buffer; 2],
    /// Tiles of each (group, Gaussian) pair, for blends that take groups of tiles.
    group_masks: Buffer,
    /// The tiles' lists where they come from groups.
    tile_lists: Buffer,
    /// Planar rgb, `[3][height * width]` f32.
    pub image: Buffer,
    /// `[height * width]` f32.
    pub transmittance: Buffer,
    /// dL/dimage, planar.
    pub image_gradient: Buffer,
    /// A row a pair or a row a slot, as the method wants it.
    sums: Buffer,
    /// A row a slot where `sums` has a row a pair.
    slot_sums: Buffer,
    gradients: Buffer,
    /// (Transmittance, colour) of a tile's pixels before a bucket, for [`Backward::GaussianParallel`].
    checkpoints: Buffer,
    /// Where in the sorted pairs each pixel stopped, likewise.
    stops: Buffer,
    order: usize,
    sorted: usize,
    layout: Layout,
}

/// Offsets in `cleared`.
#[derive(Clone, Copy, Default)]
struct Layout {
    group_ranges: usize,
    expand_states: usize,
    depth_histograms: usize,
    depth_states: usize,
    tile_histograms: usize,
    tile_states: usize,
    ranges: usize,
    bucket_tiles: usize,
    bytes: usize,
    tile_passes: u32,
}

impl Layout {
    fn new(gaussians: usize, pairs: usize, [tiles, groups]: [usize; 2], buckets: usize) -> Self {
        let mut layout = Self::default();
        let mut at = 0;
        let mut take = |bytes: usize| {
            let start = at;
            at += bytes.next_multiple_of(256);
            start
        };
        layout.tile_passes = sort::passes(tiles);
        layout.group_ranges = take(8 * groups);
        layout.expand_states = take(4 * gaussians.div_ceil(EXPAND_BLOCK).max(1));
        layout.depth_histograms = take(HISTOGRAM_BYTES);
        layout.depth_states = take(4 * state_bytes(gaussians));
        layout.tile_histograms = take(HISTOGRAM_BYTES);
        layout.tile_states = take(layout.tile_passes as usize * state_bytes(pairs));
        layout.ranges = take(8 * tiles);
        layout.bucket_tiles = take(4 * buckets);
        layout.bytes = at;
        layout
    }
}

impl Frame {
    /// Empty buffers; they grow with the first frame. `deterministic` replaces every method of summing gradients by the
    /// one that has a fixed order.
    ///
    /// # Errors
    /// If not even that fits.
    pub fn new(queue: Queue, kernels: Arc<Kernels>, deterministic: bool) -> Result<Self, BackendError> {
        let device = queue.device.clone();
        let empty = |name| Buffer::new(&device, name, 0);
        Ok(Self {
            kernels,
            deterministic,
            gaussians: 0,
            pair_capacity: 0,
            pair_rows: false,
            checkpointed: false,
            grouped: false,
            counters: Buffer::from_slice(&device, "counters", &[0u8; COUNTERS_BYTES])?,
            cleared: empty("states of a frame")?,
            splats: empty("projected Gaussians")?,
            depths: [empty("depth keys")?, empty("depth keys")?],
            slots: [empty("depth order")?, empty("depth order")?],
            pair_counts: empty("pair counts")?,
            slot_of: empty("slots")?,
            first_pairs: empty("first pairs")?,
            long_slots: empty("slots with long lists")?,
            tiles: [empty("tile keys of the pairs")?, empty("tile keys of the pairs")?],
            pair_slots: empty("slots of the pairs")?,
            pair_values: [empty("order of the pairs")?, empty("order of the pairs")?],
            group_masks: empty("tiles of the pairs with groups")?,
            tile_lists: empty("lists of the tiles")?,
            image: empty("image")?,
            transmittance: empty("transmittance")?,
            image_gradient: empty("gradient of the image")?,
            sums: empty("gradient sums")?,
            slot_sums: empty("gradient sums of the projected Gaussians")?,
            gradients: empty("gradients of the projected Gaussians")?,
            checkpoints: empty("states of the pixels before each bucket")?,
            stops: empty("where the pixels stopped")?,
            order: 0,
            sorted: 0,
            layout: Layout::default(),
            queue,
        })
    }

    /// Pairs that there is room for.
    pub fn pair_capacity(&self) -> usize {
        self.pair_capacity
    }

    /// Makes room for at least so many pairs, and for a quarter more if there is memory.
    ///
    /// # Errors
    /// If there are more than can be numbered, or no memory; there is as much room as before then.
    pub fn reserve_pairs(&mut self, pairs: u64) -> Result<(), BackendError> {
        if pairs > MOST_PAIRS {
            return Err(BackendError::OutOfMemory {
                backend: "cuda",
                buffer: format!(
                    "{pairs} (tile, Gaussian) pairs, more than the {MOST_PAIRS} that can be numbered,"
                ),
                bytes: pairs * 20,
                remedy: "use a smaller size (--max-size; for pictures --size), fewer Gaussians (--max-gaussians), or \
                         --pipeline auto"
                    .into(),
            });
        }
        let (pairs, before) = (pairs as usize, self.pair_capacity);
        if pairs <= before {
            return Ok(());
        }
        let roomy = (pairs + pairs / 4).min(MOST_PAIRS as usize);
        self.allocate_pairs(roomy)
            .or_else(|_| self.allocate_pairs(pairs))
            .or_else(|error| {
                self.allocate_pairs(before)?;
                Err(error)
            })
    }

    fn release_pairs(&mut self) -> Result<(), BackendError> {
        self.pair_capacity = 0;
        let [a, b] = &mut self.tiles;
        let [c, d] = &mut self.pair_values;
        for buffer in [a, b, c, d, &mut self.pair_slots, &mut self.sums] {
            buffer.clear()?;
        }
        self.checkpoints.clear()?;
        self.group_masks.clear()?;
        self.tile_lists.clear()?;
        Ok(())
    }

    fn allocate_pairs(&mut self, capacity: usize) -> Result<(), BackendError> {
        // All old memory first: what is left between smaller buffers may not hold a larger one.
        self.release_pairs()?;
        let [a, b] = &mut self.tiles;
        let [c, d] = &mut self.pair_values;
        for buffer in [a, b, c, d, &mut self.pair_slots] {
            buffer.reserve_exactly(4 * capacity)?;
        }
        if self.pair_rows {
            self.sums.reserve_exactly(SUM_BYTES * capacity)?;
        }
        if self.checkpointed {
            self.checkpoints
                .reserve_exactly(CHECKPOINT_BYTES * (capacity / BUCKET))?;
        }
        if self.grouped {
            self.tile_lists.reserve_exactly(4 * lists::TILES * capacity)?;
        }
        self.pair_capacity = capacity;
        Ok(())
    }

    /// Leaves room for no more than so many pairs, to provoke what happens when there are more.
    #[cfg(test)]
    pub(crate) fn shrink_pairs(&mut self, capacity: usize) {
        self.pair_capacity = self.pair_capacity.min(capacity);
    }

    /// Starts counting anew.
    ///
    /// # Errors
    /// If the device failed.
    pub fn forget(&self) -> Result<(), BackendError> {
        self.counters.fill(0, COUNTERS_BYTES)
    }

    /// Makes room for a scene and a view.
    fn reserve(
        &mut self,
        gaussians: usize,
        camera: &KernelCamera,
        purpose: Purpose,
        checkpoints: bool,
    ) -> Result<(), BackendError> {
        if gaussians > self.gaussians {
            self.gaussians = 0;
            let room = gaussians + gaussians / 8;
            self.splats.reserve_exactly(SPLAT_BYTES * room)?;
            for buffer in self.depths.iter_mut().chain(&mut self.slots) {
                buffer.reserve_exactly(4 * room)?;
            }
            for buffer in [
                &mut self.pair_counts,
                &mut self.slot_of,
                &mut self.first_pairs,
                &mut self.long_slots,
            ] {
                buffer.reserve_exactly(4 * room)?;
            }
            self.gaussians = room;
        }
        let pixels = camera.pixels();
        self.image.reserve_exactly(12 * pixels)?;
        self.transmittance.reserve_exactly(4 * pixels)?;
        if purpose == Purpose::Training {
            self.image_gradient.reserve_exactly(12 * pixels)?;
            self.gradients.reserve(GRADIENT_BYTES * gaussians)?;
        }
        if self.pair_capacity == 0 {
            // A guess; the first frame tells.
            let guess = (8 * gaussians as u64).clamp(1 << 12, MOST_PAIRS / 2);
            self.reserve_pairs(guess)
                .or_else(|_| self.reserve_pairs(1 << 12))?;
        }
        if purpose == Purpose::Training {
            let rows = if self.pair_rows {
                self.pair_capacity
            } else {
                gaussians
            };
            // Methods may change from frame to frame: a row a slot fits too.
            self.sums.reserve_exactly(SUM_BYTES * rows.max(gaussians))?;
            if self.pair_rows {
                self.slot_sums.reserve(SUM_BYTES * gaussians)?;
            }
        }
        let groups = lists::groups(camera);
        if self.grouped {
            self.tile_lists
                .reserve_exactly(4 * lists::TILES * self.pair_capacity)?;
        }
        let mut buckets = 0;
        if checkpoints {
            let bytes = CHECKPOINT_BYTES * (self.pair_capacity / BUCKET);
            self.checkpoints.reserve_exactly(bytes)?;
            self.stops.reserve_exactly(4 * pixels)?;
            buckets = self.buckets(camera);
        }
        self.layout = Layout::new(gaussians, self.pair_capacity, [camera.tile_count(), groups], buckets);
        self.cleared.reserve(self.layout.bytes)?;
        Ok(())
    }

    /// Numbers that buckets can have; see kernels/blend_backward_gaussian_parallel.cu.
    fn buckets(&self, camera: &KernelCamera) -> usize {
        self.pair_capacity / BUCKET + camera.tile_count()
    }

    /// Blocks for the slots with long lists.
    fn long_blocks(&self, gaussians: usize) -> u32 {
        (gaussians as u32).min(8 * self.queue.device.multiprocessors())
    }

    /// How gradients are summed.
    fn backward_method(&self, pipeline: Pipeline) -> Backward {
        if self.deterministic && !programs::has_pair_rows(pipeline.backward) {
            Backward::Splatcore
        } else {
            pipeline.backward
        }
    }

    /// Whether the forward pass leaves checkpoints behind.
    fn checkpoints(&self, pipeline: Pipeline, purpose: Purpose) -> bool {
        purpose == Purpose::Training && self.backward_method(pipeline) == Backward::GaussianParallel
    }

    /// Tiles along a side of a group, if lists are of groups.
    fn group_side(pipeline: Pipeline, purpose: Purpose) -> Option<u32> {
        groups::side(pipeline.blend).filter(|_| purpose != Purpose::Training)
    }

    /// How tiles are blended.
    fn blend_program(&self, pipeline: Pipeline, purpose: Purpose) -> Program {
        let method = match purpose {
            Purpose::Training => programs::blend_in_training(pipeline.blend),
            Purpose::Image | Purpose::Counting => pipeline.blend,
        };
        let checkpoints = self.checkpoints(pipeline, purpose);
        programs::blend(method, purpose == Purpose::Counting, checkpoints)
    }

    /// The programs that frames of these options need, to be compiled together.
    pub fn programs(&self, stored: u8, options: &RenderOptions, purpose: Purpose) -> Vec<Program> {
        let in_use = options.sh_degree.min(stored);
        let pipeline = options.pipeline;
        let grouped = lists::grouped(pipeline, purpose, self.gaussians);
        let mut all = vec![
            programs::project(in_use, stored, pipeline.intersect, grouped),
            self.blend_program(pipeline, purpose),
        ];
        all.extend([sort::SMALL, sort::LARGE].map(programs::sort));
        all.push(programs::intersect(pipeline.intersect));
        if grouped {
            all.push(programs::lists(pipeline.intersect));
        }
        let side = Self::group_side(pipeline, purpose);
        all.extend(side.map(|side| programs::intersect_groups(pipeline.intersect, side)));
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
        let in_use = options.sh_degree.min(scene.sh_degree);
        let pipeline = options.pipeline;
        let view = KernelCamera::new(camera, options);
        let grouped = lists::grouped(pipeline, purpose, scene.count);
        let checkpoints = self.checkpoints(pipeline, purpose);
        self.pair_rows |=
            purpose == Purpose::Training && programs::has_pair_rows(self.backward_method(pipeline));
        self.checkpointed |= checkpoints;
        self.grouped |= grouped;
        self.reserve(scene.count, &view, purpose, checkpoints)?;
        let side = Self::group_side(pipeline, purpose);
        if side.is_some() {
            self.group_masks.reserve_exactly(2 * self.pair_capacity)?;
        }
        let get = |program: &Program| self.kernels.get(program).map_err(failed);
        let project = get(&programs::project(in_use, scene.sh_degree, pipeline.intersect, grouped))?;
        let blend = get(&self.blend_program(pipeline, purpose))?;
        let ([project], [blend]) = (&project[..], &blend[..]) else {
            return Err(device_error("a program has other kernels than asked for".into()));
        };
        let layout = self.layout;
        let base = self.cleared.address();
        let at = |offset: usize| base + offset as u64;
        let counters = self.counters.address();
        let count = scene.count as u32;

        self.cleared.fill(0, layout.bytes)?;
        self.counters
            .fill_at(LASTING_BYTES, 0, COUNTERS_BYTES - LASTING_BYTES)?;
        self.queue.launch(
            *project,
            scene.count.div_ceil(PROJECT_BLOCK) as u32,
            PROJECT_BLOCK as u32,
            &mut arguments![
                scene.arrays[0],
                scene.arrays[1],
                scene.arrays[2],
                scene.arrays[3],
                scene.arrays[4],
                count,
                view,
                self.splats.address(),
                self.depths[0].address(),
                self.slots[0].address(),
                self.pair_counts.address(),
                self.slot_of.address(),
                counters
            ],
        )?;
        self.queue.mark("project")?;
        let (pairs, pair_slots) = self.sort_pairs(&view, pipeline, purpose, scene.count)?;
        // What only some variants read: masks, or checkpoints and the places of buckets.
        let (lists, extra) = match side {
            Some(side) => (groups::count(&view, side), self.group_masks.address()),
            None => (view.tile_count(), at(layout.bucket_tiles)),
        };
        self.queue.launch(
            *blend,
            lists as u32,
            256,
            &mut arguments![
                self.splats.address(),
                pairs,
                pair_slots,
                at(layout.ranges),
                view,
                counters,
                self.image.address(),
                self.transmittance.address(),
                extra,
                self.checkpoints.address(),
                self.stops.address()
            ],
        )?;
        self.queue.mark("blend")?;
        Ok(view)
    }

    /// All pairs, sorted by tile, front to back. Returns what [`Frame::pairs`] does.
    fn sort_pairs(
        &mut self,
        view: &KernelCamera,
        pipeline: Pipeline,
        purpose: Purpose,
        gaussians: usize,
    ) -> Result<(u64, u64), BackendError> {
        let side = Self::group_side(pipeline, purpose);
        let grouped = lists::grouped(pipeline, purpose, gaussians);
        // The sort moves numbers of pairs, by which others look up what belongs to a pair.
        let numbered = purpose == Purpose::Training || side.is_some();
        let get = |program: &Program| self.kernels.get(program).map_err(failed);
        let depth_sorting = get(&programs::sort(sort::items(gaussians)))?;
        let tile_sorting = get(&programs::sort(sort::items(self.pair_capacity)))?;
        let intersect = get(&programs::intersect(pipeline.intersect))?;
        let [expand, expand_long, ranges] = &intersect[..] else {
            return Err(device_error("a program has other kernels than asked for".into()));
        };
        let layout = self.layout;
        let base = self.cleared.address();
        let at = |offset: usize| base + offset as u64;
        let counters = self.counters.address();
        let (visible, pairs) = (counters + VISIBLE_AT, counters + PAIRS_AT);
        let queue = &self.queue;
        self.order = sort::sort(
            queue,
            &depth_sorting,
            PingPong {
                keys: self.depths.each_ref().map(Buffer::address),
                values: self.slots.each_ref().map(Buffer::address),
            },
            visible,
            gaussians,
            true,
            4,
            at(layout.depth_histograms),
            at(layout.depth_states),
        )?;
        queue.mark("sort")?;
        let capacity = self.pair_capacity as u32;
        let numbers = if numbered {
            self.pair_values[0].address()
        } else {
            0
        };
        if let Some(side) = side {
            let lists = groups::Lists {
                splats: self.splats.address(),
                order: self.slots[self.order].address(),
                groups: self.tiles[0].address(),
                pair_slots: self.pair_slots.address(),
                pair_numbers: numbers,
                masks: self.group_masks.address(),
                first_pairs: self.first_pairs.address(),
                long_slots: self.long_slots.address(),
                states: at(layout.expand_states),
                counters,
            };
            let program = get(&programs::intersect_groups(pipeline.intersect, side))?;
            let most = [gaussians, self.pair_capacity];
            groups::expand(queue, &program, view, most, self.long_blocks(gaussians), lists)?;
        } else if grouped {
            let buffers = lists::Buffers {
                splats: self.splats.address(),
                order: self.slots[self.order].address(),
                pair_counts: self.pair_counts.address(),
                groups: self.tiles[0].address(),
                words: self.pair_slots.address(),
                first_pairs: self.first_pairs.address(),
                long_slots: self.long_slots.address(),
                states: at(layout.expand_states),
                counters,
            };
            let program = get(&programs::lists(pipeline.intersect))?;
            let most = [gaussians, self.pair_capacity];
            lists::expand(queue, &program, view, most, self.long_blocks(gaussians), buffers)?;
        } else {
            queue.launch(
                *expand,
                gaussians.div_ceil(EXPAND_BLOCK) as u32,
                EXPAND_BLOCK as u32,
                &mut arguments![
                    self.splats.address(),
                    self.slots[self.order].address(),
                    self.pair_counts.address(),
                    *view,
                    capacity,
                    self.tiles[0].address(),
                    self.pair_slots.address(),
                    numbers,
                    self.first_pairs.address(),
                    self.long_slots.address(),
                    at(layout.expand_states),
                    counters
                ],
            )?;
            queue.launch(
                *expand_long,
                self.long_blocks(gaussians),
                EXPAND_BLOCK as u32,
                &mut arguments![
                    self.splats.address(),
                    self.long_slots.address(),
                    *view,
                    self.tiles[0].address(),
                    self.pair_slots.address(),
                    numbers,
                    self.first_pairs.address(),
                    counters
                ],
            )?;
        }
        queue.mark("intersect")?;
        let values = match numbered {
            true => [self.pair_values[0].address(), self.pair_values[1].address()],
            false => [self.pair_slots.address(), self.pair_values[1].address()],
        };
        let passes = match grouped {
            true => sort::passes(lists::groups(view)),
            false => layout.tile_passes,
        };
        self.sorted = sort::sort(
            queue,
            &tile_sorting,
            PingPong {
                keys: self.tiles.each_ref().map(Buffer::address),
                values,
            },
            pairs,
            self.pair_capacity,
            false,
            passes,
            at(layout.tile_histograms),
            at(layout.tile_states),
        )?;
        queue.mark("sort")?;
        queue.launch(
            *ranges,
            (self.pair_capacity.div_ceil(256) as u32).min(16 * queue.device.multiprocessors()),
            256,
            &mut arguments![
                self.tiles[self.sorted].address(),
                counters,
                capacity,
                at(if grouped { layout.group_ranges } else { layout.ranges })
            ],
        )?;
        queue.mark("ranges")?;
        let lists = self.pairs(numbered);
        if !grouped {
            return Ok(lists);
        }
        let tile_lists = self.tile_lists.address();
        lists::split(
            queue,
            &get(&programs::lists(pipeline.intersect))?,
            view,
            [lists.0, at(layout.group_ranges), counters],
            [tile_lists, at(layout.ranges)],
        )?;
        queue.mark("split")?;
        Ok((tile_lists, 0))
    }

    /// The sorted pairs, and the table from pair numbers to slots (0 where the pairs are slots themselves).
    fn pairs(&self, numbered: bool) -> (u64, u64) {
        match (numbered, self.sorted) {
            (true, sorted) => (self.pair_values[sorted].address(), self.pair_slots.address()),
            (_, 0) => (self.pair_slots.address(), 0),
            (_, _) => (self.pair_values[1].address(), 0),
        }
    }

    /// From `image_gradient` to the gradients of every slot. The last forward was for [`Purpose::Training`].
    ///
    /// # Errors
    /// If memory is short, a kernel does not compile or the device fails.
    pub fn backward(
        &mut self,
        scene: SceneAddresses,
        view: &KernelCamera,
        options: &RenderOptions,
    ) -> Result<(), BackendError> {
        let in_use = options.sh_degree.min(scene.sh_degree);
        let method = self.backward_method(options.pipeline);
        let pair_rows = programs::has_pair_rows(method);
        let program = programs::blend_backward(method);
        let blend_backward = self.kernels.get(&program).map_err(failed)?;
        let program = programs::project_backward(in_use, scene.sh_degree);
        let project_backward = self.kernels.get(&program).map_err(failed)?;
        let ([blend_backward], [project_backward]) = (&blend_backward[..], &project_backward[..]) else {
            return Err(device_error("a program has other kernels than asked for".into()));
        };
        if !pair_rows {
            self.sums.fill(0, SUM_BYTES * scene.count)?;
        }
        let layout = self.layout;
        let base = self.cleared.address();
        let at = |offset: usize| base + offset as u64;
        let (pairs, pair_slots) = self.pairs(true);
        let (grid, block) = match method {
            Backward::GaussianParallel => (self.buckets(view), BUCKET),
            _ => (view.tile_count(), 256),
        };
        self.queue.launch(
            *blend_backward,
            grid as u32,
            block as u32,
            &mut arguments![
                self.splats.address(),
                pairs,
                pair_slots,
                at(layout.ranges),
                *view,
                self.counters.address(),
                self.image.address(),
                self.image_gradient.address(),
                self.sums.address(),
                // Read only by `gaussian-parallel`.
                at(layout.bucket_tiles),
                self.checkpoints.address(),
                self.stops.address()
            ],
        )?;
        self.queue.mark("blend_backward")?;
        let mut slot_sums = self.sums.address();
        if pair_rows {
            slot_sums = self.slot_sums.address();
            let sum_pairs = self.kernels.get(&programs::sum_pairs()).map_err(failed)?;
            self.queue.launch(
                sum_pairs[0],
                scene.count.div_ceil(SUM_SLOTS) as u32,
                256,
                &mut arguments![
                    self.slots[self.order].address(),
                    self.first_pairs.address(),
                    self.pair_counts.address(),
                    self.sums.address(),
                    self.counters.address(),
                    slot_sums
                ],
            )?;
            self.queue.launch(
                sum_pairs[1],
                self.long_blocks(scene.count),
                256,
                &mut arguments![
                    self.long_slots.address(),
                    self.first_pairs.address(),
                    self.pair_counts.address(),
                    self.sums.address(),
                    self.counters.address(),
                    slot_sums
                ],
            )?;
            self.queue.mark("sum_pairs")?;
        }
        self.queue.launch(
            *project_backward,
            scene.count.div_ceil(PROJECT_BLOCK) as u32,
            PROJECT_BLOCK as u32,
            &mut arguments![
                scene.arrays[0],
                scene.arrays[1],
                scene.arrays[2],
                scene.arrays[3],
                scene.arrays[4],
                *view,
                self.splats.address(),
                slot_sums,
                self.counters.address(),
                self.gradients.address()
            ],
        )?;
        self.queue.mark("project_backward")
    }

    /// Address of the counters of the last frame.
    pub fn counters_address(&self) -> u64 {
        self.counters.address()
    }

    /// Address of the slots of all Gaussians, and of the slots' gradients.
    pub fn gradient_addresses(&self) -> (u64, u64) {
        (self.slot_of.address(), self.gradients.address())
    }

    /// Waits for the last frame and returns its counters.
    ///
    /// # Errors
    /// If the device failed.
    pub fn counters(&self) -> Result<Counters, BackendError> {
        let mut counters = [Counters::default()];
        self.counters.read(0, &mut counters)?;
        Ok(counters[0])
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        let singles = [
            &self.cleared,
            &self.splats,
            &self.pair_counts,
            &self.slot_of,
            &self.first_pairs,
            &self.long_slots,
            &self.pair_slots,
            &self.group_masks,
            &self.image,
            &self.transmittance,
            &self.image_gradient,
            &self.sums,
            &self.gradients,
            &self.checkpoints,
            &self.stops,
            &self.group_masks,
            &self.tile_lists,
        ];
        let twice = [&self.depths, &self.slots, &self.tiles, &self.pair_values];
        let all = singles.into_iter().chain(twice.into_iter().flatten());
        all.map(|buffer| buffer.bytes() as u64).sum()
    }
}
