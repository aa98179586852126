//! Rows of numbers of photos or cameras, or of the sky, on the device.

use crate::device::params::{Address, shared_struct};
use crate::device::{Buffer, Device};
use crate::ops::adam::rates;
use crate::ops::constants::float;
use splatcore_core::BackendError;
use splatcore_core::backend::BETAS;
use splatcore_core::colour::ColourTable;
use std::sync::Arc;

shared_struct! {
    /// `ColourRows` of ops/colour/colour_rows.cuh.
    pub struct ColourRows as "ColourRows" {
        numbers: Address,
        first: Address,
        second: Address,
        seen: Address,
        row: u32,
        rows: u32,
        rate: f32,
        padding: u32,
    }
}

/// Constants of their Adam.
pub fn constants() -> impl Iterator<Item = (&'static str, String)> {
    let logarithms = [
        float("LN_BETA1", BETAS[0].ln()),
        float("LN_BETA2", BETAS[1].ln()),
    ];
    logarithms.into_iter().chain(rates::constants())
}

/// A [`ColourTable`] on the device.
pub struct Rows {
    width: usize,
    rows: usize,
    /// `[rows][width]` f32, and Adam's moments of them.
    numbers: Buffer,
    first: Buffer,
    second: Buffer,
    /// `[rows]` u32.
    seen: Buffer,
}

impl Rows {
    /// None.
    ///
    /// # Errors
    /// If the device failed.
    pub fn new(device: &Arc<dyn Device>, name: &'static str) -> Result<Self, BackendError> {
        let empty = || Buffer::new(device, name, 0);
        Ok(Self {
            width: 0,
            rows: 0,
            numbers: empty()?,
            first: empty()?,
            second: empty()?,
            seen: empty()?,
        })
    }

    /// Becomes these.
    ///
    /// # Errors
    /// If memory is short or the device failed.
    pub fn replace(&mut self, table: &ColourTable) -> Result<(), BackendError> {
        for (buffer, values) in [
            (&mut self.numbers, &table.parameters),
            (&mut self.first, &table.first),
            (&mut self.second, &table.second),
        ] {
            buffer.reserve_exactly(size_of_val(&values[..]))?;
            buffer.write(0, values)?;
        }
        self.seen.reserve_exactly(size_of_val(&table.seen[..]))?;
        self.seen.write(0, &table.seen)?;
        (self.width, self.rows) = (table.width, table.rows());
        Ok(())
    }

    /// All of them.
    ///
    /// # Errors
    /// If the device failed.
    pub fn download(&self) -> Result<ColourTable, BackendError> {
        let count = self.rows * self.width;
        Ok(ColourTable {
            width: self.width,
            parameters: self.numbers.to_vec(count)?,
            first: self.first.to_vec(count)?,
            second: self.second.to_vec(count)?,
            seen: self.seen.to_vec(self.rows)?,
        })
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.rows
    }

    /// Where a row's numbers are.
    pub fn of(&self, row: usize) -> Address {
        self.numbers.address() + (size_of::<f32>() * self.width * row) as Address
    }

    /// For a step on a row with this rate.
    pub fn params(&self, row: usize, rate: f32) -> ColourRows {
        ColourRows {
            numbers: self.numbers.address(),
            first: self.first.address(),
            second: self.second.address(),
            seen: self.seen.address(),
            row: row as u32,
            rows: self.rows as u32,
            rate,
            padding: 0,
        }
    }
}
