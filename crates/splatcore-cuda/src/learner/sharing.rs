//! What a learner exchanges with other ranks ([`crate::peers`]): the calls of
//! `learner/engine.rs` that only ranks make.
//!
//! Every rank keeps room for all Gaussians, and all of them are as they should be where the state
//! is *whole*. In a step a rank moves its own rows alone; after it the other rows are of the past
//! until [`CudaLearner::whole`] has fetched them. What changes or reads the whole set (refinement,
//! snapshots, images for the user) comes after that, and is the same on every rank. So all ranks
//! make the same calls, and how many there are changes no bit. Where memory is short the ranks
//! divide moments and harmonics ([`crate::ops::division`], `divide.rs`).

use super::CudaLearner;
use super::shared::Sharing;
use crate::device::{Address, Queue};
use crate::ops::accumulate::FrameGradients;
use crate::ops::blend_backward::SUM_BYTES;
use crate::ops::camera::KernelCamera;
use crate::ops::counters::SHARD_SPLATS_AT;
use crate::ops::row_blocks::OwnRows;
use crate::passes::{SHARD_COUNTS, SPLAT_ROWS, Strips};
use crate::peers::{Peers, begin, end, exchange, piece, share_parts};
use splatcore_core::BackendError;
use splatcore_core::backend::{Ranks, StepFrame, StepPlan};
use std::ops::Range;
use std::sync::Arc;

/// A frame, and where something of it is: address and bytes.
type Slot = (usize, (Address, usize));

/// A range of rows of an array.
fn rows_of(base: Address, row_bytes: usize, rows: &Range<usize>) -> (Address, usize) {
    (
        base + (row_bytes * rows.start) as u64,
        row_bytes * rows.len(),
    )
}

impl CudaLearner {
    /// Takes steps together with other ranks from now on.
    pub(super) fn join(&mut self, peers: Arc<dyn Peers>) -> Result<(), BackendError> {
        let device = self.passes.queue().device.clone();
        if peers.ranks().strips {
            self.passes.training.strips = Some(Strips::new(&device, peers.clone())?);
        }
        self.sharing = Some(Sharing::new(&device, peers)?);
        Ok(())
    }

    /// Who takes steps of this plan: without strips where a frame cannot be divided.
    pub(super) fn ranks_of(&self, plan: &StepPlan) -> Ranks {
        let ranks = self.sharing.as_ref().map_or(Ranks::ALONE, Sharing::ranks);
        Ranks {
            strips: ranks.strips && self.passes.training.divides(plan.render.pipeline),
            ..ranks
        }
    }

    /// Begins a step: from here on only the own rows are as they should be.
    pub(super) fn share_rows(&mut self) -> Result<(), BackendError> {
        let Some(sharing) = &mut self.sharing else {
            return Ok(());
        };
        if sharing.is_whole {
            sharing.begin(self.state.count, self.state.division.as_ref())?;
        }
        sharing.sent_splats.clear();
        sharing.sent_sums.clear();
        self.passes.training.shard = true;
        self.passes.work.shared_room = Some(sharing.shared_room());
        Ok(())
    }

    /// Waits until every step and refinement is done, and fetches the rows of the other ranks.
    pub(super) fn whole(&mut self) -> Result<(), BackendError> {
        self.synchronise()?;
        self.passes.training.shard = false;
        self.passes.work.shared_room = None;
        self.passes.work.choose_set(0);
        if self.sharing.as_ref().is_none_or(|sharing| sharing.is_whole) {
            return Ok(());
        }
        self.exchange_rows()?;
        if let Some(sharing) = &mut self.sharing {
            sharing.is_whole = true;
        }
        Ok(())
    }

    /// From the own Gaussians to the splats of a frame.
    pub(super) fn project_own(&mut self, frame: StepFrame<'_>) -> Result<(), BackendError> {
        let (scene, plan) = (self.scene_addresses(), frame.plan);
        let camera = self.camera_of(frame.view(), plan.scale)?;
        let team = self.ranks_of(plan).team(frame.index, plan.views.len());
        let Some(sharing) = &mut self.sharing else {
            return Ok(());
        };
        let of = (sharing.own(), sharing.own_room(), team.len());
        let to = sharing.frame_mut(frame.index);
        self.passes
            .project_shard(scene, &camera, &plan.render, of, to)
    }

    /// Makes room for what comes of the frame of a round that is rendered here.
    pub(super) fn reserve_arrivals(&mut self, index: usize) -> Result<(), BackendError> {
        let Some(sharing) = &mut self.sharing else {
            return Ok(());
        };
        let set = sharing.set_of(index);
        sharing.reserve_arrivals(set)?;
        self.passes.reserve_arrivals(set, sharing.shared_room())
    }

    /// Begins to give the own splats of a round's frames to who renders them.
    pub(super) fn give_splats(&mut self, first: StepFrame<'_>) -> Result<(), BackendError> {
        let ranks = self.ranks_of(first.plan);
        let Some(sharing) = &mut self.sharing else {
            return Ok(());
        };
        let frames = first.plan.views.len();
        let round = ranks.round(first.index, frames);
        let (mut give, mut take) = (Vec::new(), Vec::new());
        for index in round.clone() {
            let (frame, room) = (sharing.frame(index), sharing.own_room());
            for to in ranks.team(index, frames) {
                let arrays = frame.given().into_iter().zip(SPLAT_ROWS);
                give.push(piece(to, (frame.counts(), SHARD_COUNTS)));
                give.extend(arrays.map(|(at, bytes)| piece(to, (at, bytes * room))));
            }
        }
        if ranks.rendered(&round, frames).is_some() {
            let set = sharing.set_of(first.index);
            let [counts, keys] = sharing.arrivals(set);
            let [splats, pair_counts] = self.passes.arrivals(set);
            for rank in 0..ranks.count {
                let counts = counts + (SHARD_COUNTS * rank) as u64;
                take.push(piece(rank, (counts, SHARD_COUNTS)));
                let rows = sharing.splats_of(rank);
                let arrays = [splats, keys, pair_counts].into_iter().zip(SPLAT_ROWS);
                take.extend(arrays.map(|(at, bytes)| piece(rank, rows_of(at, bytes, &rows))));
            }
        }
        // SAFETY: the pieces are of this learner's buffers, which are released behind the queue.
        // Until `gather_splats` no other round has the set, and nobody writes to the frames.
        let begun = unsafe { begin(&*sharing.peers, self.passes.queue(), &give, &take)? };
        sharing.sent_splats.push_back(begun);
        Ok(())
    }

    /// Gathers the splats of the round's frame that is rendered here.
    pub(super) fn gather_splats(&mut self, first: StepFrame<'_>) -> Result<(), BackendError> {
        let frames = first.plan.views.len();
        let ranks = self.ranks_of(first.plan);
        if frames > ranks.count {
            // The round behind it was projected in between.
            self.in_step(|learner| learner.prepare_round(first, Vec::new()))?;
        }
        let Some(sharing) = &mut self.sharing else {
            return Ok(());
        };
        let begun = sharing.sent_splats.pop_front().flatten();
        end(&*sharing.peers, self.passes.queue(), begun)?;
        let Some(here) = ranks.rendered(&ranks.round(first.index, frames), frames) else {
            return Ok(());
        };
        self.frame.camera = Some(sharing.frame(here).view()?);
        let gathered = sharing.gathered(sharing.set_of(here));
        self.passes.gather(self.state.count, &gathered)
    }

    /// Begins to give the sums of the frame that was rendered here to who has the Gaussians.
    pub(super) fn give_sums(&mut self, first: StepFrame<'_>) -> Result<(), BackendError> {
        let (ranks, sums) = (self.ranks_of(first.plan), self.frame.sums);
        let Some(sharing) = &mut self.sharing else {
            return Ok(());
        };
        let frames = first.plan.views.len();
        let round = ranks.round(first.index, frames);
        let renders = ranks.rendered(&round, frames).is_some();
        let (mut give, mut take) = (Vec::new(), Vec::new());
        for rank in (0..ranks.count).filter(|_| renders) {
            let rows = rows_of(sums, SUM_BYTES, &sharing.splats_of(rank));
            give.push(piece(rank, rows));
        }
        let bytes = SUM_BYTES * sharing.own_room();
        for index in round {
            for (place, from) in ranks.team(index, frames).enumerate() {
                let to = sharing.frame(index).sums() + (bytes * place) as u64;
                take.push(piece(from, (to, bytes)));
            }
        }
        // SAFETY: the pieces are of this learner's buffers, which are released behind the queue.
        // Until `take_sums` the sums are set aside, and nobody reads those of the frames.
        let begun = unsafe { begin(&*sharing.peers, self.passes.queue(), &give, &take)? };
        sharing.sent_sums.push_back(begun);
        if frames > ranks.count {
            self.passes.training.splat_sums.set_aside(sums);
        }
        Ok(())
    }

    /// Takes the sums of the own Gaussians in a round's frames.
    pub(super) fn take_sums(&mut self, first: StepFrame<'_>) -> Result<(), BackendError> {
        let ranks = self.ranks_of(first.plan);
        let Some(sharing) = &mut self.sharing else {
            return Ok(());
        };
        let begun = sharing.sent_sums.pop_front().flatten();
        end(&*sharing.peers, self.passes.queue(), begun)?;
        let frames = first.plan.views.len();
        let own = sharing.splats_of(ranks.rank);
        for index in ranks.round(first.index, frames) {
            let team = ranks.team(index, frames).len();
            if team > 1 {
                self.passes.pick_sums(sharing.frame(index), &own, team)?;
            }
        }
        Ok(())
    }

    /// The gradients of the own Gaussians in a frame, and its camera; `None` where there is one
    /// rank.
    pub(super) fn own_gradients(
        &mut self,
        frame: StepFrame<'_>,
    ) -> Result<Option<(KernelCamera, FrameGradients)>, BackendError> {
        let (scene, options) = (self.scene_addresses(), &frame.plan.render);
        let Some(sharing) = &self.sharing else {
            return Ok(None);
        };
        let shard = sharing.frame(frame.index);
        let of = (sharing.own(), sharing.own_room());
        let gradients = self
            .passes
            .project_backward_shard(scene, options, shard, of)?;
        let gradients = FrameGradients {
            is_first: frame.index == 0,
            ..gradients
        };
        Ok(Some((shard.view()?, gradients)))
    }

    /// Gives losses and the gradients of colour models and sky of the frames that were rendered
    /// here to all ranks, and whether one overflowed.
    pub(super) fn share_losses(&mut self, plan: &StepPlan) -> Result<(), BackendError> {
        let ranks = self.ranks_of(plan);
        if ranks == Ranks::ALONE {
            return Ok(());
        }
        let slots = self.in_step(|learner| learner.slots_of_frames(plan))?;
        let counters = self.passes.work.counters();
        let strips = self.passes.training.strips.as_ref();
        let rows = strips.filter(|_| ranks.strips).map(Strips::wanted);
        let numbers = [Some(counters), Some(counters + SHARD_SPLATS_AT), rows];
        let Some(sharing) = &self.sharing else {
            return Ok(());
        };
        let (mut give, mut take) = (Vec::new(), Vec::new());
        for (column, number) in numbers.into_iter().flatten().enumerate() {
            for rank in 0..ranks.count {
                give.push(piece(rank, (number, 4)));
                let to = sharing.agreed.address() + 4 * (column * ranks.count + rank) as u64;
                take.push(piece(rank, (to, 4)));
            }
        }
        for &(index, slot) in &slots {
            let leader = ranks.team(index, plan.views.len()).start;
            match leader == ranks.rank {
                true => give.extend(ranks.others().map(|rank| piece(rank, slot))),
                false => take.push(piece(leader, slot)),
            }
        }
        // SAFETY: the pieces are of this learner's buffers, which are released behind the queue.
        unsafe { exchange(&*sharing.peers, self.passes.queue(), &give, &take)? };
        self.passes.agree(sharing.agreed.address(), ranks.count)
    }

    /// Where the losses of a step's frames are, and their gradients of colour models and sky, each
    /// with its frame.
    fn slots_of_frames(&mut self, plan: &StepPlan) -> Result<Vec<Slot>, BackendError> {
        let mut slots = Vec::new();
        for index in 0..plan.views.len() {
            let loss = self.values.address() + (size_of::<f64>() * index) as u64;
            slots.push((index, (loss, size_of::<f64>())));
            if let Some(colour) = plan.colour {
                let queue = self.passes.queue();
                let slot = self.coloured.gradient_of(queue, colour.model, index)?;
                slots.push((index, slot));
            }
            if plan.sky.is_some() {
                slots.push((index, self.passes.skies.gradient_of(index)));
            }
        }
        Ok(slots)
    }

    /// Rows that this rank moves, and the splats, indices and sums that it has of them in a frame.
    pub(super) fn rows_of_frame(&self, index: usize) -> (OwnRows, [Address; 3]) {
        match &self.sharing {
            Some(sharing) => (sharing.own(), sharing.frame(index).own()),
            None => {
                let (splats, splat_of) = (self.passes.work.splats(), self.passes.splat_of());
                let all = OwnRows::all(self.state.count);
                (all, [splats, splat_of, self.frame.sums])
            }
        }
    }

    /// The camera of a frame of the round; its lens is at hand then.
    pub(super) fn camera_of_frame(&mut self, index: usize) -> Result<KernelCamera, BackendError> {
        let Some(sharing) = &self.sharing else {
            return self.frame.camera();
        };
        self.passes.work.lens = sharing.frame(index).lens();
        sharing.frame(index).view()
    }
}

/// Gives the own sums over blocks of Gaussians to all ranks, and takes theirs; nothing where there
/// is one rank. `at` is where those of a rank are, `bytes` how many so many of its rows have.
pub(super) fn share_sums(
    sharing: Option<&Sharing>,
    queue: &Queue,
    at: &dyn Fn(usize) -> Address,
    bytes: &dyn Fn(usize) -> usize,
) -> Result<(), BackendError> {
    let Some(sharing) = sharing else {
        return Ok(());
    };
    let part = |rank: usize| (at(rank), bytes(sharing.shards.rows(rank)));
    // SAFETY: the array is the learner's own, and is released behind the queue.
    unsafe { share_parts(&*sharing.peers, &*queue.device, part)? };
    queue.mark("exchange")
}
