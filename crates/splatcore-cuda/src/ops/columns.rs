//! Columns on the device ([`splatcore_core::columns`]).

use crate::device::{Buffer, Device};
use splatcore_core::BackendError;
use splatcore_core::columns::{Column, Columns};
use std::sync::Arc;

/// A column, one f32 a Gaussian in each array.
pub struct ColumnRows {
    /// `[capacity]` f32 each, in the order of the column's entry; empty if it does not exist.
    pub arrays: Vec<Buffer>,
    /// Whether it exists.
    pub exists: bool,
}

/// All columns, in the order of [`Column::ALL`].
pub type AllRows = [ColumnRows; Column::ALL.len()];

impl ColumnRows {
    /// Uploads all columns.
    ///
    /// # Errors
    /// If they do not fit on the device.
    pub fn upload(device: &Arc<dyn Device>, columns: &Columns) -> Result<AllRows, BackendError> {
        let mut all = Column::ALL.map(|_| Self {
            arrays: Vec::new(),
            exists: false,
        });
        for (rows, column) in all.iter_mut().zip(Column::ALL) {
            let entry = column.entry();
            for _ in entry.arrays {
                rows.arrays.push(Buffer::new(device, entry.name, 0)?);
            }
            rows.write(columns.arrays(column))?;
        }
        Ok(all)
    }

    /// Gives it these arrays; without any it exists no longer.
    ///
    /// # Errors
    /// If they do not fit.
    pub fn write(&mut self, arrays: &[Vec<f32>]) -> Result<(), BackendError> {
        self.exists = false;
        for (buffer, array) in self.arrays.iter_mut().zip(arrays) {
            buffer.reserve_exactly(size_of_val(&array[..]))?;
            buffer.write(0, array)?;
        }
        self.exists = !arrays.is_empty();
        Ok(())
    }

    /// The numbers of so many Gaussians; no array if it does not exist.
    ///
    /// # Errors
    /// If the device failed.
    pub fn download(&self, count: usize) -> Result<Vec<Vec<f32>>, BackendError> {
        let arrays = self.arrays.iter().filter(|_| self.exists);
        arrays.map(|buffer| buffer.to_vec(count)).collect()
    }

    /// Where its values are; 0 if it does not exist.
    pub fn address(&self) -> u64 {
        match self.exists {
            true => self.arrays[0].address(),
            false => 0,
        }
    }

    /// Bytes of a Gaussian.
    pub fn row_bytes(&self) -> usize {
        match self.exists {
            true => size_of::<f32>() * self.arrays.len(),
            false => 0,
        }
    }
}
