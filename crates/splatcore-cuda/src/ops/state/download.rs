//! From the device to the host: the scene alone, or everything.

use super::State;
use crate::device::Buffer;
use crate::ops::adam::moments::Format;
use crate::ops::division::Collector;
use crate::ops::offload;
use splatcore_core::backend::LearnerState;
use splatcore_core::colour::{ColourState, ColourTable};
use splatcore_core::columns::Columns;
use splatcore_core::{BackendError, Gaussians};

/// Of a divided state: the harmonics of all ranks, and what collects the moments.
pub struct Whole {
    /// `[count][width]`, of either memory, as they are stored.
    pub harmonics: Buffer,
    /// Of these Gaussians.
    pub collector: Collector,
}

impl State {
    /// The parameters alone, without columns.
    ///
    /// # Errors
    /// If the device failed.
    pub fn scene(&self, whole: Option<&Whole>) -> Result<Gaussians, BackendError> {
        self.gather(0, whole)
    }

    /// The values of each column, without moments.
    ///
    /// # Errors
    /// If the device failed.
    pub fn column_values(&self) -> Result<Columns, BackendError> {
        self.download_columns(1)
    }

    /// Everything. If the state is divided, all ranks call it, or [`State::give_moments`].
    ///
    /// # Errors
    /// If the device failed.
    pub fn download(&self, whole: Option<&Whole>) -> Result<LearnerState, BackendError> {
        Ok(LearnerState {
            gaussians: self.scene(whole)?,
            first: self.gather(1, whole)?,
            second: self.gather(2, whole)?,
            gradient_sum: self.gradient_sum.to_vec(self.count)?,
            seen: self.seen.to_vec(self.count)?,
            colours: ColourState::default(),
            sky: ColourTable::default(),
            columns: self.download_columns(usize::MAX)?,
        })
    }

    /// So many arrays at most of the columns that exist.
    fn download_columns(&self, arrays: usize) -> Result<Columns, BackendError> {
        let mut columns = Columns::default();
        for (column, downloaded) in columns.all_mut().iter_mut() {
            *downloaded = self.columns[column].download(arrays, self.count)?;
        }
        Ok(columns)
    }

    /// Gives the own rows of the moments, which are divided, to ranks that call
    /// [`State::download`].
    ///
    /// # Errors
    /// If the device failed.
    pub fn give_moments(&self, whole: &Whole) -> Result<(), BackendError> {
        for array in [1, 2] {
            for group in &self.groups {
                let (buffer, format) = group.stored(array);
                let row_bytes = group.width * format.bytes();
                whole.collector.rows(buffer, row_bytes, |_, _, _| Ok(()))?;
            }
        }
        Ok(())
    }

    /// One array of each group, of this number, as it is stored.
    fn gather(&self, array: usize, whole: Option<&Whole>) -> Result<Gaussians, BackendError> {
        let mut gaussians = Gaussians::zeros(self.count, self.sh_degree);
        for (k, numbers) in flat_mut(&mut gaussians).into_iter().enumerate() {
            let (buffer, format) = self.groups[k].stored(array);
            match whole.filter(|_| offload::can_leave(k, array)) {
                Some(whole) if array == 0 => read(&whole.harmonics, format, numbers)?,
                Some(whole) => {
                    let width = self.groups[k].width;
                    collect(&whole.collector, (buffer, width), format, numbers)?;
                }
                None => read(buffer, format, numbers)?,
            }
        }
        Ok(gaussians)
    }
}

/// The numbers of a whole array; floats without a copy.
fn read(buffer: &Buffer, format: Format, numbers: &mut [f32]) -> Result<(), BackendError> {
    match format {
        Format::F32 => buffer.read(0, numbers),
        _ => buffer
            .to_vec(format.bytes() * numbers.len())
            .map(|bytes| format.decode(&bytes, numbers)),
    }
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

/// The numbers of a divided array, of all ranks; so many a row.
fn collect(
    collector: &Collector,
    (buffer, width): (&Buffer, usize),
    format: Format,
    numbers: &mut [f32],
) -> Result<(), BackendError> {
    let row_bytes = width * format.bytes();
    collector.rows(buffer, row_bytes, |rows, stage, at| {
        let to = &mut numbers[width * rows.start..width * rows.end];
        match format {
            Format::F32 => stage.read(at, to),
            _ => stage
                .slice(at..at + row_bytes * rows.len())
                .map(|bytes| format.decode(&bytes, to)),
        }
    })
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
