//! Tile lists by sorting: `project`, a sort of the splats by depth, `intersect`, a sort of the
//! pairs by tile. Each pair has a number, so that it can own a row of gradient sums. Lists of
//! macro-tiles, for `tensor-gs`, are made the same way.

use super::kernels::{Loaded, Op};
use super::sort_layout::{Layout, ListsOf};
use super::tile_lists::TileLists;
use super::work::Work;
use crate::device::error::failed;
use crate::device::{Buffer, Device, Kernel, Program};
use crate::ops::camera::KernelCamera;
use crate::ops::counters::{PAIRS_AT, VISIBLE_AT};
use crate::ops::intersect::macro_tiles::{self, ExpandMacroTilesParams};
use crate::ops::intersect::{self, ExpandParams};
use crate::ops::project::{self, ProjectParams};
use crate::ops::scene::SceneAddresses;
use crate::ops::sort::{self, Plan};
use splatcore_core::BackendError;
use std::sync::Arc;

/// The buffers of the sorted lists. Content lives from one frame to the next.
pub struct SortedLists {
    /// Gaussians and splats that there is room for.
    gaussians: usize,
    splats: usize,
    pair_capacity: usize,
    pub(super) depths: [Buffer; 2],
    pub(super) splat_order: [Buffer; 2],
    /// One of each set of [`Work`].
    pub(super) pair_counts: [Buffer; 2],
    splat_of: Buffer,
    first_pairs: Buffer,
    /// The long-list queue: splats with many pairs.
    long_splats: Buffer,
    tiles: [Buffer; 2],
    pair_splats: Buffer,
    pair_values: [Buffer; 2],
    /// Tiles of each (macro-tile, splat) pair.
    masks: Buffer,
    /// Which of `splat_order` and of `pair_values` holds the sorted values.
    order: usize,
    sorted: usize,
    pub(super) layout: Layout,
    /// Once a frame was laid out.
    pieces: Option<sort::PieceSizes>,
    /// Kernels of every plan so far: photos of different sizes take turns.
    sorts: Vec<(Plan, Vec<Kernel>)>,
}

impl SortedLists {
    /// Empty buffers.
    ///
    /// # Errors
    /// If not even that fits.
    pub fn new(device: &Arc<dyn Device>) -> Result<Self, BackendError> {
        let empty = |name| Buffer::new(device, name, 0);
        let pair = |name| Buffer::two(device, name, 0);
        Ok(Self {
            gaussians: 0,
            splats: 0,
            pair_capacity: 0,
            depths: pair("depth keys")?,
            splat_order: pair("depth order")?,
            pair_counts: pair("pair counts")?,
            splat_of: empty("compacted indices")?,
            first_pairs: empty("first pairs")?,
            long_splats: empty("splats with long lists")?,
            tiles: pair("tile keys of the pairs")?,
            pair_splats: empty("splats of the pairs")?,
            pair_values: pair("order of the pairs")?,
            masks: empty("tiles of the pairs with macro-tiles")?,
            order: 0,
            sorted: 0,
            layout: Layout::default(),
            pieces: None,
            sorts: Vec::new(),
        })
    }

    /// Pairs that there is room for.
    pub fn pair_capacity(&self) -> usize {
        self.pair_capacity
    }

    /// Leaves room for no more than so many pairs, to provoke what happens when there are more.
    #[cfg(test)]
    pub fn shrink_pairs(&mut self, capacity: usize) {
        self.pair_capacity = self.pair_capacity.min(capacity);
    }

    /// Makes room for Gaussians and their splats.
    ///
    /// # Errors
    /// If memory is short.
    pub fn reserve_gaussians(
        &mut self,
        work: &Work,
        gaussians: usize,
        splats: usize,
    ) -> Result<(), BackendError> {
        self.reserve_pair_counts(work.set(), splats)?;
        if gaussians <= self.gaussians && splats <= self.splats {
            return Ok(());
        }
        (self.gaussians, self.splats) = (0, 0);
        let [of_all, of_splats] = [gaussians, splats].map(|rows| rows + rows / 8);
        let [depths, sorted_depths] = &mut self.depths;
        let [order, sorted_order] = &mut self.splat_order;
        for buffer in [depths, order, &mut self.splat_of] {
            buffer.reserve_exactly(4 * of_all)?;
        }
        let lists = [&mut self.first_pairs, &mut self.long_splats];
        for buffer in lists.into_iter().chain([sorted_depths, sorted_order]) {
            buffer.reserve_exactly(4 * of_splats)?;
        }
        (self.gaussians, self.splats) = (of_all, of_splats);
        Ok(())
    }

    /// Makes room for how many pairs the splats of a frame have that has a set.
    ///
    /// # Errors
    /// If memory is short.
    pub fn reserve_pair_counts(&mut self, set: usize, splats: usize) -> Result<(), BackendError> {
        if 4 * splats > self.pair_counts[set].bytes() {
            self.pair_counts[set].reserve_exactly(4 * (splats + splats / 8))?;
        }
        Ok(())
    }

    /// Gives back what has a place for each Gaussian or splat.
    ///
    /// # Errors
    /// If the device failed.
    pub fn release_gaussians(&mut self) -> Result<(), BackendError> {
        (self.gaussians, self.splats) = (0, 0);
        let twice = self.depths.iter_mut().chain(&mut self.splat_order);
        for buffer in twice.chain(&mut self.pair_counts).chain([
            &mut self.splat_of,
            &mut self.first_pairs,
            &mut self.long_splats,
        ]) {
            buffer.clear()?;
        }
        Ok(())
    }

    /// Gives back what has a place for each pair.
    ///
    /// # Errors
    /// If the device failed.
    pub fn release_pairs(&mut self) -> Result<(), BackendError> {
        self.pair_capacity = 0;
        let twice = self.tiles.iter_mut().chain(&mut self.pair_values);
        let mut all = twice.chain([&mut self.pair_splats, &mut self.masks]);
        all.try_for_each(Buffer::clear)
    }

    /// Makes room for so many pairs, none of which there is room for now.
    ///
    /// # Errors
    /// If memory is short.
    pub fn allocate_pairs(&mut self, capacity: usize) -> Result<(), BackendError> {
        let twice = self.tiles.iter_mut().chain(&mut self.pair_values);
        for buffer in twice.chain([&mut self.pair_splats]) {
            buffer.reserve_exactly(4 * capacity)?;
        }
        self.pair_capacity = capacity;
        Ok(())
    }

    /// There is no room for pairs: what else belongs to them found no memory.
    pub fn forget_pairs(&mut self) {
        self.pair_capacity = 0;
    }

    /// Lays out the scratch memory for a frame, with room for `buckets` words beside the lists and
    /// for a team of ranks that group pairs, and makes room for masks where lists are of
    /// macro-tiles.
    ///
    /// # Errors
    /// If memory is short.
    pub fn lay_out(
        &mut self,
        work: &mut Work,
        gaussians: usize,
        view: &KernelCamera,
        of: ListsOf,
        [buckets, team]: [usize; 2],
    ) -> Result<(), BackendError> {
        if let ListsOf::MacroTiles(_) = of {
            self.masks.reserve_exactly(2 * self.pair_capacity)?;
        }
        let pieces = match self.pieces {
            Some(pieces) => pieces,
            None => {
                let any = sort::program(Plan::new(sort::DEPTH_BITS, gaussians));
                sort::PieceSizes::of(work.kernels.tuned(any).map_err(failed)?)?
            }
        };
        self.pieces = Some(pieces);
        let rows = [gaussians, work.splats_of(gaussians)];
        let places = [self.pair_capacity, buckets];
        self.layout = Layout::new(rows, places, view, of, team, pieces);
        work.reserve_scratch(self.layout.bytes)
    }

    /// The programs of sorts that the layout needs and that are not loaded.
    pub fn missing_sorts(&self) -> Vec<Program> {
        let missing = self.missing_plans();
        missing.into_iter().map(sort::program).collect()
    }

    fn missing_plans(&self) -> Vec<Plan> {
        let layout = &self.layout;
        let mut plans = vec![layout.depth_plan, layout.tile_plan, layout.group_plan];
        plans.dedup();
        plans.retain(|plan| plan.passes > 0 && !self.sorts.iter().any(|(known, _)| known == plan));
        plans
    }

    /// Looks up the kernels of the sorts.
    ///
    /// # Errors
    /// If one does not compile.
    pub fn load_sorts(&mut self, work: &Work) -> Result<(), BackendError> {
        for plan in self.missing_plans() {
            let kernels = work.kernels.get(&sort::program(plan)).map_err(failed)?;
            self.sorts.push((plan, kernels));
        }
        Ok(())
    }

    fn sort_kernels(&self, plan: Plan) -> &[Kernel] {
        let found = self.sorts.iter().find(|&&(known, _)| known == plan);
        found.map_or(&[], |(_, kernels)| kernels)
    }

    /// Makes the splats of a view; the layout is for it.
    ///
    /// # Errors
    /// If a launch failed.
    pub fn project<Kind: PartialEq>(
        &self,
        work: &Work,
        loaded: &Loaded<Kind>,
        scene: SceneAddresses,
        view: &KernelCamera,
    ) -> Result<(), BackendError> {
        let [clear] = loaded.get(Op::Clear)?;
        work.clear(clear, self.layout.zeroed)?;
        let [project] = loaded.get(Op::Project)?;
        let params = ProjectParams {
            depths: self.depths[0].address(),
            splat_order: self.splat_order[0].address(),
            pair_counts: self.pair_counts[work.set()].address(),
            splat_of: self.splat_of.address(),
            splat_room: work.splats_of(scene.count) as u32,
            rays: work.rays(),
            lens: work.kernel_lens(),
            ..project::params(scene, view, work.splats(), work.counters())
        };
        project::launch(&work.queue, project, scene.count, &params)?;
        work.queue.mark("project")
    }

    /// Makes the lists of the splats of a view. `numbered`: the lists hold pair numbers, by which
    /// others look up what belongs to a pair, and not compacted indices.
    ///
    /// # Errors
    /// If a launch failed.
    pub fn build<Kind: PartialEq>(
        &mut self,
        work: &Work,
        loaded: &Loaded<Kind>,
        gaussians: usize,
        view: &KernelCamera,
        of: ListsOf,
        numbered: bool,
    ) -> Result<TileLists, BackendError> {
        self.sort_by_depth(work, gaussians)?;
        let splats = work.splats_of(gaussians);
        match of {
            ListsOf::Tiles => self.expand(work, loaded, splats, view, numbered)?,
            ListsOf::MacroTiles(_) => self.expand_macro_tiles(work, loaded, splats, view)?,
        }
        work.queue.mark("intersect")?;
        self.sort_by_list(work, of.count(view), numbered)?;
        Ok(self.lists(work, of.count(view), numbered))
    }

    /// Splats, front to back.
    fn sort_by_depth(&mut self, work: &Work, gaussians: usize) -> Result<(), BackendError> {
        let plan = self.layout.depth_plan;
        self.order = sort::sort(
            &work.queue,
            self.sort_kernels(plan),
            plan,
            sort::Input {
                keys: self.depths.each_ref().map(Buffer::address),
                values: self.splat_order.each_ref().map(Buffer::address),
                count: work.counters() + VISIBLE_AT,
                capacity: gaussians,
                has_gaps: true,
                room: work.splats_of(gaussians),
                ranges: 0,
                lists: 0,
            },
            [self.layout.depth_histograms, self.layout.depth_states].map(|at| work.scratch_at(at)),
        )?;
        work.queue.mark("sort")
    }

    /// All (tile, splat) pairs, front to back.
    fn expand<Kind: PartialEq>(
        &self,
        work: &Work,
        loaded: &Loaded<Kind>,
        splats: usize,
        view: &KernelCamera,
        numbered: bool,
    ) -> Result<(), BackendError> {
        let pair_numbers = match numbered {
            true => self.pair_values[0].address(),
            false => 0,
        };
        let params = ExpandParams {
            splats: work.splats(),
            order: self.splat_order[self.order].address(),
            tile_counts: self.pair_counts[work.set()].address(),
            camera: *view,
            pair_capacity: self.pair_capacity as u32,
            tiles: self.tiles[0].address(),
            pair_splats: self.pair_splats.address(),
            pair_numbers,
            first_pairs: self.first_pairs.address(),
            long_splats: self.long_splats.address(),
            states: work.scratch_at(self.layout.expand_states),
            counters: work.counters(),
        };
        let kernels = loaded.get(Op::Intersect)?;
        let sizes = (splats, work.long_blocks(splats));
        intersect::launch(&work.queue, kernels, sizes, &params)
    }

    /// All (macro-tile, splat) pairs, front to back, with the tiles of each.
    fn expand_macro_tiles<Kind: PartialEq>(
        &self,
        work: &Work,
        loaded: &Loaded<Kind>,
        splats: usize,
        view: &KernelCamera,
    ) -> Result<(), BackendError> {
        let params = ExpandMacroTilesParams {
            splats: work.splats(),
            order: self.splat_order[self.order].address(),
            camera: *view,
            pair_capacity: self.pair_capacity as u32,
            macro_tiles: self.tiles[0].address(),
            pair_splats: self.pair_splats.address(),
            pair_numbers: self.pair_values[0].address(),
            masks: self.masks.address(),
            first_pairs: self.first_pairs.address(),
            long_splats: self.long_splats.address(),
            states: work.scratch_at(self.layout.expand_states),
            counters: work.counters(),
        };
        let kernels = loaded.get(Op::Intersect)?;
        let sizes = (splats, work.long_blocks(splats));
        macro_tiles::launch(&work.queue, kernels, sizes, &params)
    }

    /// The pairs by list, each list front to back.
    fn sort_by_list(
        &mut self,
        work: &Work,
        lists: usize,
        numbered: bool,
    ) -> Result<(), BackendError> {
        let values = match numbered {
            true => &self.pair_values[0],
            false => &self.pair_splats,
        };
        let plan = self.layout.tile_plan;
        self.sorted = sort::sort(
            &work.queue,
            self.sort_kernels(plan),
            plan,
            sort::Input {
                keys: self.tiles.each_ref().map(Buffer::address),
                values: [values.address(), self.pair_values[1].address()],
                count: work.counters() + PAIRS_AT,
                capacity: self.pair_capacity,
                has_gaps: false,
                room: self.pair_capacity,
                ranges: work.scratch_at(self.layout.ranges),
                lists,
            },
            [self.layout.tile_histograms, self.layout.tile_states].map(|at| work.scratch_at(at)),
        )?;
        work.queue.mark("sort")
    }

    /// Groups the pairs of the lists, which stay, by the keys that are there now.
    ///
    /// # Errors
    /// If a launch failed.
    pub(super) fn group(&self, work: &Work) -> Result<(), BackendError> {
        let (plan, to) = (self.layout.group_plan, 1 - self.sorted);
        let places = |of: &[Buffer; 2]| [of[self.sorted].address(), of[to].address()];
        sort::sort(
            &work.queue,
            self.sort_kernels(plan),
            plan,
            sort::Input {
                keys: places(&self.tiles),
                values: places(&self.pair_values),
                count: work.counters() + PAIRS_AT,
                capacity: self.pair_capacity,
                has_gaps: false,
                room: self.pair_capacity,
                ranges: work.scratch_at(self.layout.groups),
                lists: self.layout.group_count,
            },
            [self.layout.group_histograms, self.layout.group_states].map(|at| work.scratch_at(at)),
        )?;
        work.queue.mark("sort")
    }

    /// Addresses of the keys of the lists' places, which are tiles at first, of the pair numbers
    /// by group, and of the groups' ranges.
    pub(super) fn groups(&self, work: &Work) -> [u64; 3] {
        let (keys, pairs) = (&self.tiles[self.sorted], &self.pair_values[1 - self.sorted]);
        let ranges = work.scratch_at(self.layout.groups);
        [keys.address(), pairs.address(), ranges]
    }

    /// The lists that were made last.
    pub fn lists(&self, work: &Work, count: usize, numbered: bool) -> TileLists {
        let pairs = match (numbered, self.sorted) {
            (false, 0) => self.pair_splats.address(),
            (_, sorted) => self.pair_values[sorted].address(),
        };
        let pair_splats = match numbered {
            true => self.pair_splats.address(),
            false => 0,
        };
        TileLists {
            pairs,
            pair_splats,
            ranges: work.scratch_at(self.layout.ranges),
            entries: 0,
            masks: self.masks.address(),
            count,
        }
    }

    /// Address of the tile of each bucket, as [`SortedLists::lay_out`] made room for.
    pub fn bucket_tiles(&self, work: &Work) -> u64 {
        work.scratch_at(self.layout.bucket_tiles)
    }

    /// Address of the compacted index of each Gaussian.
    pub fn splat_of(&self) -> u64 {
        self.splat_of.address()
    }

    /// Addresses of what sums over pairs read: depth order, pairs of each splat, the first of them,
    /// and the long-list queue.
    pub fn pairs_of_splats(&self, work: &Work) -> [u64; 4] {
        [
            &self.splat_order[self.order],
            &self.pair_counts[work.set()],
            &self.first_pairs,
            &self.long_splats,
        ]
        .map(Buffer::address)
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        let singles = [
            &self.splat_of,
            &self.first_pairs,
            &self.long_splats,
            &self.pair_splats,
            &self.masks,
        ];
        let twice = [
            &self.pair_counts,
            &self.depths,
            &self.splat_order,
            &self.tiles,
            &self.pair_values,
        ];
        let all = singles.into_iter().chain(twice.into_iter().flatten());
        all.map(|buffer| buffer.bytes() as u64).sum()
    }
}
