//! Several ranks, a *team*, render one frame of a step. Each has all its splats and makes the whole
//! lists, blends the tiles of its own strip, and gets the rest of the image from the others. All
//! compare the whole image. Back from its gradient each makes the rows of sums of its own strip's
//! pairs and gives them to the ranks that add them up, each those of its share of the splats, in
//! the order of one rank. So no bit depends on the number of strips (`ops/strips/strips.cu`).

use super::sort_layout::RANGE;
use super::sorted_lists::SortedLists;
use super::work::Work;
use crate::device::{Address, Buffer, Device, Kernel};
use crate::ops::blend_backward::SUM_BYTES;
use crate::ops::camera::KernelCamera;
use crate::ops::strips::{self, DivideParams, MoveRowsParams};
use crate::peers::{Peers, Piece, exchange, piece};
use splatcore_core::BackendError;
use splatcore_core::semantics::TILE;
use std::ops::Range;
use std::sync::Arc;

/// See the module's documentation.
pub struct Strips {
    peers: Arc<dyn Peers>,
    /// The ranks that have a strip each.
    team: Range<usize>,
    /// There is a sky, for which transmittances are exchanged too.
    sky: bool,
    /// Ranges of the tiles' lists, of the own strip alone: of the image, and of the pairs.
    forward: Buffer,
    backward: Buffer,
    /// Rows of sums that go to each other rank of the team and come from it, `[room][12]` f32 each.
    packed: [Buffer; 2],
    room: usize,
    wanted: Buffer,
}

impl Strips {
    /// With these ranks; none has a strip yet.
    ///
    /// # Errors
    /// If the device failed.
    pub fn new(device: &Arc<dyn Device>, peers: Arc<dyn Peers>) -> Result<Self, BackendError> {
        let empty = |name| Buffer::new(device, name, 0);
        Ok(Self {
            peers,
            team: 0..0,
            sky: false,
            forward: empty("lists of a strip of the image")?,
            backward: empty("lists of a strip of the pairs")?,
            packed: [
                empty("gradient sums for other strips")?,
                empty("gradient sums of other strips")?,
            ],
            room: 0,
            wanted: Buffer::from_slice(device, "rows of a strip", &[0u32])?,
        })
    }

    /// Where it lies how many rows of sums a rank had for another, at most so far: u32.
    pub fn wanted(&self) -> Address {
        self.wanted.address()
    }

    /// From now on a frame is of this team, and there is room for so many rows of sums from each of
    /// its ranks to each other.
    ///
    /// # Errors
    /// If memory is short.
    pub(super) fn prepare(
        &mut self,
        view: &KernelCamera,
        (team, room): (Range<usize>, usize),
        sky: bool,
    ) -> Result<(), BackendError> {
        (self.team, self.room, self.sky) = (team, room, sky);
        if !self.are_several() {
            return Ok(());
        }
        self.forward.reserve(RANGE * view.tile_count())?;
        self.backward.reserve(RANGE * view.tile_count())?;
        let bytes = SUM_BYTES * room * (self.team.len() - 1);
        let mut packed = self.packed.iter_mut();
        packed.try_for_each(|packed| packed.reserve(bytes).map(drop))
    }

    /// Whether there is more than one strip.
    pub(super) fn are_several(&self) -> bool {
        self.count() > 1
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.team.len()
    }

    fn own(&self) -> usize {
        self.peers.ranks().rank
    }

    /// The other ranks of the team.
    fn others(&self) -> impl Iterator<Item = usize> + '_ {
        self.team.clone().filter(|&rank| rank != self.own())
    }

    /// Rows of tiles of a rank's strip of the image.
    fn rows_of(&self, rank: usize, view: &KernelCamera) -> Range<usize> {
        let first = |strip| strip * view.tiles_y as usize / self.team.len();
        let strip = rank - self.team.start;
        first(strip)..first(strip + 1)
    }

    /// Gives the tiles and pairs of the lists to the strips.
    ///
    /// # Errors
    /// If a launch failed.
    pub(super) fn divide(
        &self,
        work: &Work,
        sorted: &SortedLists,
        kernel: Kernel,
        (view, splats): (&KernelCamera, usize),
    ) -> Result<(), BackendError> {
        let rows = self.rows_of(self.own(), view);
        let lists = sorted.lists(work, view.tile_count(), true);
        let ([_, tile_counts, ..], [keys, ..]) =
            (sorted.pairs_of_splats(work), sorted.groups(work));
        let params = DivideParams {
            ranges: lists.ranges,
            tiles: view.tile_count() as u32,
            first: rows.start as u32 * view.tiles_x,
            end: rows.end as u32 * view.tiles_x,
            strip: (self.own() - self.team.start) as u32,
            strips: self.team.len() as u32,
            forward: self.forward.address(),
            backward: self.backward.address(),
            pairs: lists.pairs,
            pair_splats: lists.pair_splats,
            keys,
            tile_counts,
            splats: splats as u32,
            counters: work.counters(),
        };
        strips::launch_divide(&work.queue, kernel, sorted.pair_capacity(), &params)?;
        sorted.group(work)
    }

    /// Ranges of the lists that are blended here, and of those of which sums are made here.
    pub(super) fn ranges(&self) -> [Address; 2] {
        [self.forward.address(), self.backward.address()]
    }

    /// Exchanges the strips of an image and, for a sky, of transmittances.
    ///
    /// # Errors
    /// If another rank does not answer or the device failed.
    pub(super) fn gather_image(
        &self,
        work: &Work,
        view: &KernelCamera,
        [image, transmittance]: [Address; 2],
    ) -> Result<(), BackendError> {
        let plane = |k: usize| image + (4 * k * view.pixels()) as u64;
        let mut planes = vec![plane(0), plane(1), plane(2)];
        planes.extend(self.sky.then_some(transmittance));
        let part = |strip: usize, rank: usize| -> Vec<Piece> {
            let row = |tiles: usize| (tiles * TILE).min(view.height as usize);
            let rows = self.rows_of(strip, view);
            let [first, end] = [rows.start, rows.end].map(|k| 4 * view.width as usize * row(k));
            let planes = planes.iter();
            let part = planes.map(|plane| piece(rank, (plane + first as u64, end - first)));
            part.collect()
        };
        let give: Vec<Piece> = self.others().flat_map(|k| part(self.own(), k)).collect();
        let take: Vec<Piece> = self.others().flat_map(|k| part(k, k)).collect();
        // SAFETY: the pieces are of the pass's buffers, which are released behind the queue.
        unsafe { exchange(&*self.peers, &work.queue, &give, &take) }
    }

    /// Exchanges rows of sums of pairs, so that each rank has those of the splats that it sums.
    ///
    /// # Errors
    /// As [`Strips::gather_image`].
    pub(super) fn exchange_pair_sums(
        &self,
        work: &Work,
        sorted: &SortedLists,
        kernel: Kernel,
        pair_sums: Address,
    ) -> Result<(), BackendError> {
        let [_, pairs, groups] = sorted.groups(work);
        let [there, here] = self.packed.each_ref().map(Buffer::address);
        let pack = MoveRowsParams {
            groups,
            pairs,
            strip: (self.own() - self.team.start) as u32,
            strips: self.team.len() as u32,
            room: self.room as u32,
            back: 0,
            pair_sums,
            packed: there,
            wanted: self.wanted(),
            counters: work.counters(),
        };
        strips::launch_move(&work.queue, kernel, &pack)?;
        let bytes = SUM_BYTES * self.room;
        let pieces = |packed: Address| -> Vec<Piece> {
            let others = self.others().enumerate();
            let of = |(place, rank)| piece(rank, (packed + (bytes * place) as u64, bytes));
            others.map(of).collect()
        };
        // SAFETY: the pieces are of buffers of this, which are released behind the queue.
        unsafe { exchange(&*self.peers, &work.queue, &pieces(there), &pieces(here))? };
        let unpack = MoveRowsParams {
            back: 1,
            packed: here,
            ..pack
        };
        strips::launch_move(&work.queue, kernel, &unpack)
    }
}
