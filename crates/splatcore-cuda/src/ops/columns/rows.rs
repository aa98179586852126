//! Columns on the device.

use crate::device::{Buffer, Device};
use splatcore_core::BackendError;
use splatcore_core::columns::{Columns, Each, Entry};
use std::sync::Arc;

/// A column, f32 numbers.
pub struct ColumnRows {
    /// What is known of it.
    pub entry: &'static Entry,
    /// `[capacity][width]` each, in the order of the entry; empty if it does not exist.
    pub arrays: Vec<Buffer>,
    /// Whether it exists.
    pub exists: bool,
}

/// All columns.
pub type AllRows = Each<ColumnRows>;

impl ColumnRows {
    /// Uploads all columns.
    ///
    /// # Errors
    /// If they do not fit on the device.
    pub fn upload(device: &Arc<dyn Device>, columns: &Columns) -> Result<AllRows, BackendError> {
        let mut all = AllRows::of(|column| Self {
            entry: column.entry(),
            arrays: Vec::new(),
            exists: false,
        });
        for (column, rows) in all.iter_mut() {
            for _ in rows.entry.arrays {
                rows.arrays.push(Buffer::new(device, rows.entry.name, 0)?);
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

    /// Exists no longer, and takes no memory.
    ///
    /// # Errors
    /// If the device failed.
    pub fn clear(&mut self) -> Result<(), BackendError> {
        self.exists = false;
        self.arrays.iter_mut().try_for_each(Buffer::clear)
    }

    /// The numbers of so many Gaussians of its first `arrays`; none if it does not exist.
    ///
    /// # Errors
    /// If the device failed.
    pub fn download(&self, arrays: usize, count: usize) -> Result<Vec<Vec<f32>>, BackendError> {
        let arrays = self.arrays.iter().take(arrays).filter(|_| self.exists);
        let numbers = count * self.entry.width;
        arrays.map(|buffer| buffer.to_vec(numbers)).collect()
    }

    /// Where its values are; 0 if it does not exist.
    pub fn address(&self) -> u64 {
        match self.exists {
            true => self.arrays[0].address(),
            false => 0,
        }
    }

    /// Bytes of a Gaussian in all arrays.
    pub fn row_bytes(&self) -> usize {
        match self.exists {
            true => self.entry.row_bytes() * self.arrays.len(),
            false => 0,
        }
    }
}
