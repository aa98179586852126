//! Rows of numbers that steps leave on the device until somebody asks: gradients of cameras.

use crate::device::params::Address;
use crate::device::{Buffer, Device};
use splatcore_core::BackendError;
use splatcore_core::backend::StepFrame;
use std::sync::Arc;

/// Rows that are kept at most.
const MAX_KEPT: usize = 4096;

/// Which frame of which step a row is of; without a view if the step was not taken.
struct Row {
    step: u32,
    index: usize,
    view: Option<usize>,
}

/// Rows of N f64. Takes no memory before the first.
pub struct KeptRows<const N: usize> {
    what: &'static str,
    /// `[MAX_KEPT][N]` f64.
    numbers: Buffer,
    rows: Vec<Row>,
}

impl<const N: usize> KeptRows<N> {
    /// None yet; `what` is a plural.
    ///
    /// # Errors
    /// If the device failed.
    pub fn new(device: &Arc<dyn Device>, what: &'static str) -> Result<Self, BackendError> {
        Ok(Self {
            what,
            numbers: Buffer::new(device, what, 0)?,
            rows: Vec::new(),
        })
    }

    /// Where a frame's row goes. A step that is taken again, known by its number, writes to where
    /// it wrote before.
    ///
    /// # Errors
    /// If memory is short, or nobody has asked for a long time.
    pub fn row(&mut self, of: StepFrame<'_>) -> Result<Address, BackendError> {
        self.numbers
            .reserve_exactly(size_of::<f64>() * N * MAX_KEPT)?;
        let (step, index, view) = (of.plan.step, of.index, Some(of.view()));
        let same = |row: &Row| (row.step, row.index) == (step, index);
        let at = match self.rows.iter().rposition(same) {
            Some(at) => at,
            None if self.rows.len() == MAX_KEPT => {
                return Err(BackendError::Input(format!(
                    "{MAX_KEPT} {} that nobody has asked for",
                    self.what
                )));
            }
            None => {
                self.rows.push(Row { step, index, view });
                self.rows.len() - 1
            }
        };
        self.rows[at].view = view;
        Ok(self.numbers.address() + (size_of::<f64>() * N * at) as u64)
    }

    /// Those of a step are of nothing: it was not taken.
    pub fn forget(&mut self, step: u32) {
        let of_step = self.rows.iter_mut().filter(|row| row.step == step);
        of_step.for_each(|row| row.view = None);
    }

    /// All there are, with their views, in the order of steps and frames; they are gone then. Waits
    /// for the queue.
    ///
    /// # Errors
    /// If the device failed.
    pub fn take(&mut self) -> Result<Vec<(usize, [f64; N])>, BackendError> {
        let rows = std::mem::take(&mut self.rows);
        let numbers: Vec<f64> = self.numbers.to_vec(N * rows.len())?;
        let of_row = |(at, row): (usize, &Row)| {
            let numbers = std::array::from_fn(|k| numbers[N * at + k]);
            row.view.map(|view| (view, numbers))
        };
        Ok(rows.iter().enumerate().filter_map(of_row).collect())
    }
}
