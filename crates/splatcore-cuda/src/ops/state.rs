//! What a learner keeps on the device: parameters, moments, statistics.

pub use super::groups::{GROUPS, LOG_SCALES, MEANS, OPACITIES, ROTATIONS, SH, widths};
use crate::device::{Buffer, Device};
use crate::ops::adam::moments::{Format, Moments};
use splatcore_core::backend::LearnerState;
use splatcore_core::colour::ColourState;
use splatcore_core::learned_masks::LearnedMasks;
use splatcore_core::{BackendError, Gaussians};
use std::sync::Arc;

/// One parameter group and its moments, rows of `width` numbers a Gaussian.
pub struct Group {
    /// `[capacity][width]` f32
    pub parameters: Buffer,
    /// Adam's first moments, in the same shape.
    pub first: Buffer,
    /// Adam's second moments, in the same shape.
    pub second: Buffer,
    /// Numbers a row.
    pub width: usize,
    /// How numbers of first and second moments are stored.
    pub formats: [Format; 2],
}

impl Group {
    /// Bytes of a row of each array: parameters, first, second moments.
    pub fn row_bytes(&self) -> [usize; 3] {
        let [first, second] = self.formats;
        [Format::F32, first, second].map(|format| self.width * format.bytes())
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
    /// Log standard deviations of the 3D filter, `[capacity]` f32, if there is one.
    pub smoothing: Buffer,
    /// Whether there is.
    pub smoothed: bool,
    /// Logits of learned masks, and their two moments, `[capacity]` f32 each, if there are any.
    pub masks: [Buffer; 3],
    /// Whether there are.
    pub masked: bool,
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

fn flat_mut(gaussians: &mut Gaussians) -> [&mut [f32]; 5] {
    [
        gaussians.means.as_flattened_mut(),
        gaussians.log_scales.as_flattened_mut(),
        gaussians.rotations.as_flattened_mut(),
        &mut gaussians.opacity_logits,
        gaussians.sh.as_flattened_mut(),
    ]
}

impl State {
    /// Uploads a state, moments as f32.
    ///
    /// # Errors
    /// If it does not fit on the device.
    pub fn upload(device: &Arc<dyn Device>, state: &LearnerState) -> Result<Self, BackendError> {
        Self::upload_as(device, state, Moments::Full)
    }

    /// Uploads a state. Its moments are rounded to what can be stored; those that
    /// [`State::download`] gave stay as they are.
    ///
    /// # Errors
    /// If it does not fit on the device.
    pub fn upload_as(
        device: &Arc<dyn Device>,
        state: &LearnerState,
        moments: Moments,
    ) -> Result<Self, BackendError> {
        let (parameters, first, second) = (
            flat(&state.gaussians),
            flat(&state.first),
            flat(&state.second),
        );
        let widths = widths(state.gaussians.sh_degree);
        let mut groups = Vec::with_capacity(5);
        for k in 0..5 {
            let formats = moments.formats(k);
            let stored = |format: Format, numbers: &[f32]| match format {
                Format::F32 => Buffer::from_slice(device, GROUPS[k], numbers),
                _ => Buffer::from_slice(device, GROUPS[k], &format.encode(numbers)),
            };
            groups.push(Group {
                parameters: stored(Format::F32, parameters[k])?,
                first: stored(formats[0], first[k])?,
                second: stored(formats[1], second[k])?,
                width: widths[k],
                formats,
            });
        }
        let count = state.gaussians.len();
        Ok(Self {
            count,
            device_count: Buffer::from_slice(device, "count of the Gaussians", &[count as u32])?,
            capacity: count,
            sh_degree: state.gaussians.sh_degree,
            moments,
            groups: groups
                .try_into()
                .unwrap_or_else(|_| unreachable!("five groups were pushed")),
            gradient_sum: Buffer::from_slice(device, "statistics", &state.gradient_sum)?,
            seen: Buffer::from_slice(device, "statistics", &state.seen)?,
            smoothing: Buffer::from_slice(device, "smoothing filters", &state.smoothing)?,
            smoothed: !state.smoothing.is_empty(),
            masks: {
                let [logits, first, second] = state.masks.arrays();
                let upload = |mask: &[f32]| Buffer::from_slice(device, "learned masks", mask);
                [upload(logits)?, upload(first)?, upload(second)?]
            },
            masked: !state.masks.is_empty(),
        })
    }

    /// Gives every Gaussian a mask, unless they have them.
    ///
    /// # Errors
    /// If they do not fit; there are none then.
    pub fn start_masks(&mut self) -> Result<(), BackendError> {
        if self.masked {
            return Ok(());
        }
        let fresh = LearnedMasks::fresh(self.capacity);
        self.write_masks(&fresh)
    }

    fn write_masks(&mut self, masks: &LearnedMasks) -> Result<(), BackendError> {
        for (buffer, array) in self.masks.iter_mut().zip(masks.arrays()) {
            buffer.reserve_exactly(size_of_val(&array[..]))?;
            buffer.write(0, array)?;
        }
        self.masked = !masks.is_empty();
        Ok(())
    }

    /// Becomes another state, its moments stored as they are now. What is there goes first: both
    /// together may not fit.
    ///
    /// # Errors
    /// If it does not fit; there is no Gaussian then.
    pub fn replace(&mut self, state: &LearnerState) -> Result<(), BackendError> {
        let (parameters, first, second) = (
            flat(&state.gaussians),
            flat(&state.first),
            flat(&state.second),
        );
        let widths = widths(state.gaussians.sh_degree);
        self.capacity = 0;
        self.set_count(0)?;
        let mut arrays = Vec::new();
        for (k, group) in self.groups.iter_mut().enumerate() {
            group.width = widths[k];
            arrays.extend([
                (&mut group.parameters, Format::F32, parameters[k]),
                (&mut group.first, group.formats[0], first[k]),
                (&mut group.second, group.formats[1], second[k]),
            ]);
        }
        arrays.push((&mut self.gradient_sum, Format::F32, &state.gradient_sum));
        for (buffer, ..) in &mut arrays {
            buffer.clear()?;
        }
        self.seen.clear()?;
        self.smoothing.clear()?;
        self.smoothed = false;
        self.masks.iter_mut().try_for_each(Buffer::clear)?;
        self.masked = false;
        for (buffer, format, numbers) in arrays {
            buffer.reserve_exactly(format.bytes() * numbers.len())?;
            match format {
                Format::F32 => buffer.write(0, numbers)?,
                _ => buffer.write(0, &format.encode(numbers))?,
            }
        }
        self.seen.reserve_exactly(size_of_val(&state.seen[..]))?;
        self.seen.write(0, &state.seen)?;
        if !state.smoothing.is_empty() {
            let bytes = size_of_val(&state.smoothing[..]);
            self.smoothing.reserve_exactly(bytes)?;
            self.smoothing.write(0, &state.smoothing)?;
            self.smoothed = true;
        }
        self.write_masks(&state.masks)?;
        self.capacity = state.gaussians.len();
        self.set_count(self.capacity)?;
        self.sh_degree = state.gaussians.sh_degree;
        Ok(())
    }

    /// There are so many Gaussians now, of which the host knows.
    ///
    /// # Errors
    /// If the device failed.
    pub fn set_count(&mut self, count: usize) -> Result<(), BackendError> {
        self.count = count;
        self.device_count.write(0, &[count as u32])
    }

    /// Where the 3D filter is; 0 if there is none.
    pub fn smoothing_address(&self) -> u64 {
        match self.smoothed {
            true => self.smoothing.address(),
            false => 0,
        }
    }

    /// Where the logits of learned masks are; 0 if there are none.
    pub fn mask_address(&self) -> u64 {
        match self.masked {
            true => self.masks[0].address(),
            false => 0,
        }
    }

    /// The parameters alone, without the 3D filter.
    ///
    /// # Errors
    /// If the device failed.
    pub fn scene(&self) -> Result<Gaussians, BackendError> {
        gather(self.count, self.sh_degree, |k| &self.groups[k].parameters)
    }

    /// The 3D filter; empty if there is none.
    ///
    /// # Errors
    /// If the device failed.
    pub fn filters(&self) -> Result<Vec<f32>, BackendError> {
        self.smoothing
            .to_vec(if self.smoothed { self.count } else { 0 })
    }

    /// Everything.
    ///
    /// # Errors
    /// If the device failed.
    pub fn download(&self) -> Result<LearnerState, BackendError> {
        Ok(LearnerState {
            gaussians: self.scene()?,
            first: self.gather_moments(|group| (&group.first, group.formats[0]))?,
            second: self.gather_moments(|group| (&group.second, group.formats[1]))?,
            gradient_sum: self.gradient_sum.to_vec(self.count)?,
            seen: self.seen.to_vec(self.count)?,
            colours: ColourState::default(),
            smoothing: self.filters()?,
            masks: self.learned_masks()?,
        })
    }

    fn learned_masks(&self) -> Result<LearnedMasks, BackendError> {
        let count = if self.masked { self.count } else { 0 };
        let [logits, first, second] = self.masks.each_ref().map(|mask| mask.to_vec(count));
        Ok(LearnedMasks {
            logits: logits?,
            first: first?,
            second: second?,
        })
    }

    fn gather_moments(
        &self,
        which: impl Fn(&Group) -> (&Buffer, Format),
    ) -> Result<Gaussians, BackendError> {
        let mut gaussians = Gaussians::zeros(self.count, self.sh_degree);
        for (group, numbers) in self.groups.iter().zip(flat_mut(&mut gaussians)) {
            match which(group) {
                (buffer, Format::F32) => buffer.read(0, numbers)?,
                (buffer, format) => {
                    format.decode(&buffer.to_vec(format.bytes() * numbers.len())?, numbers)
                }
            }
        }
        Ok(gaussians)
    }

    /// Bytes that so many Gaussians take.
    pub fn bytes_of(&self, gaussians: usize) -> u64 {
        let row: usize = self.groups.iter().flat_map(Group::row_bytes).sum();
        let filter = if self.smoothed { size_of::<f32>() } else { 0 };
        let masks = if self.masked { 3 * size_of::<f32>() } else { 0 };
        (row + size_of::<f32>() + size_of::<u32>() + filter + masks) as u64 * gaussians as u64
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        let groups = self
            .groups
            .iter()
            .flat_map(|group| [&group.parameters, &group.first, &group.second]);
        groups
            .chain([
                &self.device_count,
                &self.gradient_sum,
                &self.seen,
                &self.smoothing,
            ])
            .chain(&self.masks)
            .map(|buffer| buffer.bytes() as u64)
            .sum()
    }
}

/// Downloads five arrays as Gaussians.
pub(crate) fn gather<'a>(
    count: usize,
    sh_degree: u8,
    which: impl Fn(usize) -> &'a Buffer,
) -> Result<Gaussians, BackendError> {
    let mut gaussians = Gaussians::zeros(count, sh_degree);
    for (k, target) in flat_mut(&mut gaussians).into_iter().enumerate() {
        which(k).read(0, target)?;
    }
    Ok(gaussians)
}
