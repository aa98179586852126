//! Columns on the device ([`splatcore_core::columns`]) and what `adam` is told of those that
//! learn.

use super::constants::float;
use crate::device::params::{Address, shared_struct};
use crate::device::{Buffer, Device, Program};
use bytemuck::Zeroable;
use splatcore_core::BackendError;
use splatcore_core::backend::StepPlan;
use splatcore_core::columns::{Column, Columns, Each, Entry, OFF_OPACITY_LOGIT};
use std::sync::Arc;

/// How many columns there are.
pub const COLUMNS: usize = Column::ALL.len();
/// A constant: a bit for each column that the step learns.
const LEARNED_COLUMNS: &str = "LEARNED_COLUMNS";

/// Constants of columns.cuh.
pub fn constants() -> [(&'static str, String); 4] {
    [
        ("COLUMNS", COLUMNS.to_string()),
        ("COLUMN_MASK", (Column::Mask as u8).to_string()),
        (LEARNED_COLUMNS, "0".to_string()),
        float("OFF_OPACITY_LOGIT", OFF_OPACITY_LOGIT.into()),
    ]
}

/// The columns that a step learns, a bit each.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Learned(u8);

impl Learned {
    /// All that can be learned.
    pub fn all() -> Self {
        Self::of(|column| column.entry().learns.is_some())
    }

    /// Those of a step.
    pub fn by(plan: &StepPlan) -> Self {
        Self::of(|column| plan.columns[column].is_some())
    }

    fn of(learned: impl Fn(Column) -> bool) -> Self {
        let bit = |column: Column| u8::from(learned(column)) << column as u8;
        Self(Column::ALL.into_iter().map(bit).sum())
    }

    /// The program, which includes columns.cuh, for steps that learn these.
    pub fn in_program(self, program: Program) -> Program {
        program.with(LEARNED_COLUMNS, self.0)
    }
}

shared_struct! {
    /// `LearnedColumn` of columns.cuh.
    pub struct LearnedColumn as "LearnedColumn" {
        values: Address,
        first: Address,
        second: Address,
        weight: f32,
        rate: f32,
        min: f32,
        padding: u32,
    }
}

impl LearnedColumn {
    /// All columns, as far as a step learns them; `scale` makes of a rate what `adam` is told.
    pub fn all(rows: &AllRows, plan: &StepPlan, scale: impl Fn(f32) -> f32) -> [Self; COLUMNS] {
        Column::ALL.map(|column| {
            let learns = column.entry().learns.as_ref();
            match (plan.columns[column], learns, &rows[column].arrays[..]) {
                (Some(plan), Some(learns), [values, first, second]) => Self {
                    values: values.address(),
                    first: first.address(),
                    second: second.address(),
                    weight: plan.weight,
                    rate: scale(plan.rate),
                    min: learns.min,
                    padding: 0,
                },
                _ => Self::zeroed(),
            }
        })
    }
}

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
