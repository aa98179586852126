//! What a learner keeps on the device: parameters, moments, statistics.

mod download;

use super::columns::rows::{AllRows, ColumnRows};
use super::division::{Collector, Division};
pub use super::groups::{GROUPS, LOG_SCALES, MEANS, OPACITIES, ROTATIONS, SH, widths};
use super::offload::{self, Headroom};
use crate::device::{Buffer, Device, Place};
use crate::ops::adam::moments::{Format, Moments};
use crate::ops::row_blocks::{OwnRows, RowBlocks};
pub use download::Whole;
pub(crate) use download::gather;
use rayon::prelude::*;
use splatcore_core::backend::LearnerState;
use splatcore_core::columns::{ColumnPlans, Columns};
use splatcore_core::{BackendError, Gaussians};
use std::borrow::Cow;
use std::sync::Arc;

/// Numbers that a thread looks at in one go to see whether they are zero.
const ZEROS: usize = 1 << 16;

/// One parameter group and its moments, rows of `width` numbers a Gaussian.
pub struct Group {
    /// `[capacity][width]`
    pub parameters: Buffer,
    /// Adam's first moments, in the same shape.
    pub first: Buffer,
    /// Adam's second moments, in the same shape.
    pub second: Buffer,
    /// Numbers a row.
    pub width: usize,
    /// How numbers of parameters, first and second moments are stored.
    pub formats: [Format; 3],
}

impl Group {
    /// Bytes of a row of each array: parameters, first, second moments.
    pub fn row_bytes(&self) -> [usize; 3] {
        self.formats.map(|format| self.width * format.bytes())
    }

    /// Parameters, first, second moments.
    pub fn arrays(&self) -> [&Buffer; 3] {
        [&self.parameters, &self.first, &self.second]
    }

    /// One of [`Group::arrays`], and how its numbers are stored.
    fn stored(&self, array: usize) -> (&Buffer, Format) {
        (self.arrays()[array], self.formats[array])
    }

    /// As [`Group::arrays`].
    pub fn arrays_mut(&mut self) -> [&mut Buffer; 3] {
        [&mut self.parameters, &mut self.first, &mut self.second]
    }
}

/// What of a state lies in the host's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InHost {
    /// Bytes of all Gaussians.
    pub bytes: u64,
    /// Bytes that a step moves of a Gaussian that it sees.
    pub seen: u64,
    /// Bytes that it moves of one that it does not see, if it moves those.
    pub unseen: u64,
}

/// Writes numbers as they are stored. Moments of a fresh state are many zeros, which are all bits
/// zero in every format.
fn write(buffer: &Buffer, format: Format, numbers: &[f32]) -> Result<(), BackendError> {
    let zero = |numbers: &[f32]| numbers.iter().all(|number| number.to_bits() == 0);
    if numbers.par_chunks(ZEROS).all(zero) {
        return buffer.fill(0, format.bytes() * numbers.len());
    }
    match format {
        Format::F32 => buffer.write(0, numbers),
        _ => buffer.write(0, &format.encode(numbers)),
    }
}

/// How many arrays of so many Gaussians leave a device, if this rank has so many of them.
fn leaving(
    device: &Arc<dyn Device>,
    offloads: Option<Headroom>,
    rows: [[usize; 3]; 5],
    (count, own): (usize, usize),
) -> usize {
    offloads.map_or(0, |headroom| {
        let bytes = device.memory().0.saturating_sub(headroom.of(count));
        offload::leaving(rows, (count, own), bytes)
    })
}

/// Gaussians that have a row in an array of a group, of so many.
fn stored_rows(
    division: Option<&Division>,
    (group, array): (usize, usize),
    gaussians: usize,
) -> usize {
    match division {
        Some(division) if offload::can_leave(group, array) => division.own(gaussians).count,
        _ => gaussians,
    }
}

/// Everything that a checkpoint must hold, on the device.
pub struct State {
    /// Gaussians; while refinements are in the queue, at most so many (see
    /// `learner/synchronise.rs`).
    pub count: usize,
    /// Their number, u32, as of where the queue is.
    pub device_count: Buffer,
    /// Rows that the buffers have room for.
    pub capacity: usize,
    /// Stored degree of the spherical harmonics.
    pub sh_degree: u8,
    /// How moments are stored.
    pub moments: Moments,
    /// Means 3, log scales 3, rotations 4 (w x y z), opacity logits 1, spherical harmonics 3
    /// (degree + 1)^2.
    pub groups: [Group; 5],
    /// Sum of NDC gradient norms since the last refinement, `[capacity]` f32.
    pub gradient_sum: Buffer,
    /// Times seen since the last refinement, `[capacity]` u32.
    pub seen: Buffer,
    /// What is kept of each Gaussian beside its parameters.
    pub columns: AllRows,
    /// What is to be left free on the device, where arrays may lie in the host's memory.
    offloads: Option<Headroom>,
    /// Over whom the arrays that can leave are divided, of which this rank has its own rows alone.
    pub division: Option<Division>,
}

/// The arrays of Gaussians as flat slices, in the order of [`GROUPS`].
pub fn flat(gaussians: &Gaussians) -> [&[f32]; 5] {
    [
        gaussians.means.as_flattened(),
        gaussians.log_scales.as_flattened(),
        gaussians.rotations.as_flattened(),
        &gaussians.opacity_logits,
        gaussians.sh.as_flattened(),
    ]
}

impl State {
    /// Uploads a state, moments as f32.
    ///
    /// # Errors
    /// If it does not fit on the device.
    pub fn upload(device: &Arc<dyn Device>, state: &LearnerState) -> Result<Self, BackendError> {
        Self::upload_as(device, state, Moments::Full, None, None)
    }

    /// Uploads a state. Its moments are rounded to what can be stored; those that
    /// [`State::download`] gave stay as they are. With `offloads` arrays lie in the host's memory
    /// as far as the device has not that much free beside the others. With a division it has its
    /// own rows.
    ///
    /// # Errors
    /// If it does not fit on the device.
    pub fn upload_as(
        device: &Arc<dyn Device>,
        state: &LearnerState,
        moments: Moments,
        offloads: Option<Headroom>,
        division: Option<Division>,
    ) -> Result<Self, BackendError> {
        let (count, sh_degree) = (state.gaussians.len(), state.gaussians.sh_degree);
        let own = stored_rows(division.as_ref(), (SH, 0), count);
        let rows = offload::row_bytes(sh_degree, moments);
        let leaving = leaving(device, offloads, rows, (count, own));
        let (parameters, first, second) = (
            flat(&state.gaussians),
            flat(&state.first),
            flat(&state.second),
        );
        let widths = widths(state.gaussians.sh_degree);
        let mut groups = Vec::with_capacity(5);
        for k in 0..5 {
            let formats = moments.formats(k, sh_degree);
            let stored = |array: usize, numbers: &[f32]| {
                let format = formats[array];
                let numbers = stored_of(division.as_ref(), (k, array), numbers, count);
                let bytes = format.bytes() * numbers.len();
                let place = offload::place_of(k, array, leaving);
                let buffer = Buffer::new_in(place, device, GROUPS[k], bytes)?;
                write(&buffer, format, &numbers).map(|()| buffer)
            };
            groups.push(Group {
                parameters: stored(0, parameters[k])?,
                first: stored(1, first[k])?,
                second: stored(2, second[k])?,
                width: widths[k],
                formats,
            });
        }
        Ok(Self {
            count,
            device_count: Buffer::from_slice(device, "count of the Gaussians", &[count as u32])?,
            capacity: count,
            sh_degree,
            moments,
            offloads,
            division,
            groups: groups
                .try_into()
                .unwrap_or_else(|_| unreachable!("five groups were pushed")),
            gradient_sum: Buffer::from_slice(device, "statistics", &state.gradient_sum)?,
            seen: Buffer::from_slice(device, "statistics", &state.seen)?,
            columns: ColumnRows::upload(device, &state.columns)?,
        })
    }

    /// Gives every Gaussian the columns that a step learns, as far as they do not exist.
    ///
    /// # Errors
    /// If one does not fit; it does not exist then.
    pub fn start_columns(&mut self, plans: &ColumnPlans) -> Result<(), BackendError> {
        for (column, start) in plans.starts() {
            if !self.columns[column].exists {
                let mut fresh = Columns::default();
                fresh.set(column, vec![start; self.capacity]);
                self.columns[column].write(fresh.arrays(column))?;
            }
        }
        Ok(())
    }

    /// Becomes another state, its moments stored as they are now, divided so. What is there goes
    /// first: both together may not fit.
    ///
    /// # Errors
    /// If it does not fit; there is no Gaussian then.
    pub fn replace(
        &mut self,
        state: &LearnerState,
        division: Option<Division>,
    ) -> Result<(), BackendError> {
        let (parameters, first, second) = (
            flat(&state.gaussians),
            flat(&state.first),
            flat(&state.second),
        );
        self.clear()?;
        self.division = division;
        self.place_arrays(state.gaussians.len(), state.gaussians.sh_degree)?;
        let count = state.gaussians.len();
        for (k, group) in self.groups.iter_mut().enumerate() {
            let formats = group.formats;
            let numbers = [parameters[k], first[k], second[k]];
            let arrays = group.arrays_mut().into_iter().zip(formats).zip(numbers);
            for (array, ((buffer, format), numbers)) in arrays.enumerate() {
                let numbers = stored_of(self.division.as_ref(), (k, array), numbers, count);
                buffer.reserve_exactly(format.bytes() * numbers.len())?;
                write(buffer, format, &numbers)?;
            }
        }
        let bytes = size_of_val(&state.gradient_sum[..]);
        self.gradient_sum.reserve_exactly(bytes)?;
        self.gradient_sum.write(0, &state.gradient_sum)?;
        self.seen.reserve_exactly(size_of_val(&state.seen[..]))?;
        self.seen.write(0, &state.seen)?;
        for (column, rows) in self.columns.iter_mut() {
            rows.write(state.columns.arrays(column))?;
        }
        self.capacity = state.gaussians.len();
        self.set_count(self.capacity)?;
        self.sh_degree = state.gaussians.sh_degree;
        Ok(())
    }

    /// No Gaussian is left, and no memory is taken.
    fn clear(&mut self) -> Result<(), BackendError> {
        self.capacity = 0;
        self.set_count(0)?;
        let groups = self.groups.iter_mut().flat_map(Group::arrays_mut);
        let others = [&mut self.gradient_sum, &mut self.seen];
        for buffer in groups.chain(others) {
            buffer.clear()?;
        }
        self.columns
            .iter_mut()
            .try_for_each(|(_, rows)| rows.clear())
    }

    /// Decides where the arrays of so many Gaussians go, all of which are empty.
    fn place_arrays(&mut self, count: usize, sh_degree: u8) -> Result<(), BackendError> {
        let rows = offload::row_bytes(sh_degree, self.moments);
        let counts = (count, self.stored(SH, 0, count));
        let leaving = leaving(self.seen.device(), self.offloads, rows, counts);
        for (k, (group, width)) in self.groups.iter_mut().zip(widths(sh_degree)).enumerate() {
            (group.width, group.formats) = (width, self.moments.formats(k, sh_degree));
            for (array, buffer) in group.arrays_mut().into_iter().enumerate() {
                let place = offload::place_of(k, array, leaving);
                *buffer = Buffer::new_in(place, &buffer.device().clone(), buffer.name(), 0)?;
            }
        }
        Ok(())
    }

    /// Moves the next array to the host's memory. `false` if all that can are there, or none may.
    ///
    /// # Errors
    /// If the host has not so much, or the device failed; the state is as before then.
    pub fn offload_next(&mut self) -> Result<bool, BackendError> {
        if self.offloads.is_none() || self.count == 0 {
            return Ok(false);
        }
        for (k, array) in offload::order() {
            let used = self.stored(k, array, self.count) * self.groups[k].row_bytes()[array];
            let buffer = &mut *self.groups[k].arrays_mut()[array];
            if buffer.place() == Place::Device && used > 0 {
                return buffer.move_to_host(used).map(|()| true);
            }
        }
        Ok(false)
    }

    /// Divides the arrays that can leave, of which every row is as it should be. The own rows go by
    /// way of the host, so that no more of the device's memory is taken.
    ///
    /// # Errors
    /// If the device or the host's memory failed; the state is lost then.
    pub fn divide(&mut self, division: Division) -> Result<(), BackendError> {
        let (rank, count) = (division.peers.ranks().rank, self.count);
        let own = division.shards(count);
        let capacity = division.own(self.capacity).count;
        let rows = self.groups.each_ref().map(Group::row_bytes);
        let leaving = self.offloads.map_or(0, |headroom| {
            let bytes = self.seen.device().memory().0 + self.bytes();
            let bytes = bytes.saturating_sub(headroom.of(self.capacity));
            offload::leaving(rows, (self.capacity, capacity), bytes)
        });
        // Those on the device first, as that makes room on it.
        let mut all: Vec<_> = offload::order().collect();
        all.sort_by_key(|&(k, array)| self.groups[k].arrays()[array].place() == Place::Host);
        for (k, array) in all {
            let row = rows[k][array];
            let buffer = &mut *self.groups[k].arrays_mut()[array];
            let mut kept = Vec::with_capacity(row * own.rows(rank));
            for part in own.within(rank, 0..count) {
                kept.extend(buffer.slice(row * part.start..row * part.end)?);
            }
            buffer.clear()?;
            let place = offload::place_of(k, array, leaving);
            *buffer = Buffer::new_in(place, &buffer.device().clone(), GROUPS[k], row * capacity)?;
            buffer.write(0, &kept)?;
        }
        self.division = Some(division);
        Ok(())
    }

    /// What lies in the host's memory.
    pub fn in_host(&self) -> InHost {
        let mut in_host = InHost::default();
        for (k, group) in self.groups.iter().enumerate() {
            let arrays = group.arrays().into_iter().zip(group.row_bytes());
            for (array, (buffer, row)) in arrays.enumerate() {
                if buffer.place() == Place::Host {
                    in_host.bytes += (row * self.stored(k, array, self.count)) as u64;
                    in_host.seen += offload::moved(array) * row as u64;
                    in_host.unseen += 2 * row as u64;
                }
            }
        }
        in_host
    }

    /// There are so many Gaussians now, of which the host knows.
    ///
    /// # Errors
    /// If the device failed.
    pub fn set_count(&mut self, count: usize) -> Result<(), BackendError> {
        self.count = count;
        self.device_count.write(0, &[count as u32])
    }

    /// Gaussians that have a row here in an array of a group, of so many.
    pub fn stored(&self, group: usize, array: usize, gaussians: usize) -> usize {
        stored_rows(self.division.as_ref(), (group, array), gaussians)
    }

    /// The rows of an array as kernels take them that divided arrays have.
    pub fn blocks(&self, divided: bool) -> RowBlocks {
        let division = self.division.as_ref().filter(|_| divided);
        let all = || OwnRows::all(self.count);
        division
            .map_or_else(all, |division| division.own(self.count))
            .blocks
    }

    /// What brings the divided arrays of all ranks together, if there are any.
    ///
    /// # Errors
    /// If memory is short.
    pub fn collector(&self) -> Result<Option<Collector>, BackendError> {
        let rows = self.groups.each_ref().map(Group::row_bytes);
        let row_bytes = offload::order().map(|(k, array)| rows[k][array]);
        let row_bytes = row_bytes.max().unwrap_or(size_of::<f32>());
        let new = |division| Collector::new(division, self.seen.device(), self.count, row_bytes);
        self.division.as_ref().map(new).transpose()
    }

    /// Whether harmonics are halves.
    pub fn has_half_harmonics(&self) -> bool {
        self.moments.has_halves(self.sh_degree)
    }

    /// Bytes that so many Gaussians take here.
    pub fn bytes_of(&self, gaussians: usize) -> u64 {
        let own = self.stored(SH, 0, gaussians);
        let rows = self.groups.each_ref().map(Group::row_bytes);
        let columns: usize = self.columns.iter().map(|(_, rows)| rows.row_bytes()).sum();
        let statistics = size_of::<f32>() + size_of::<u32>();
        offload::bytes_of(rows, (gaussians, own)) + (statistics + columns) as u64 * gaussians as u64
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        let groups = self.groups.iter().flat_map(Group::arrays);
        groups
            .chain([&self.device_count, &self.gradient_sum, &self.seen])
            .chain(self.columns.iter().flat_map(|(_, rows)| &rows.arrays))
            .filter(|buffer| buffer.place() == Place::Device)
            .map(|buffer| buffer.bytes() as u64)
            .sum()
    }
}

/// Of numbers of so many Gaussians those that an array of a group has here.
fn stored_of<'a>(
    division: Option<&Division>,
    (group, array): (usize, usize),
    numbers: &'a [f32],
    gaussians: usize,
) -> Cow<'a, [f32]> {
    match division {
        Some(division) if offload::can_leave(group, array) => {
            division.own_of(numbers, gaussians).into()
        }
        _ => numbers.into(),
    }
}
