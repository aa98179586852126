//! The tensors of a sky.

use super::colour::{table, table_tensors};
use super::file::{Reader, Tensor};
use splatcore_core::colour::ColourTable;
use splatcore_core::sky::{self, NUMBERS};
use splatcore_data::DataError;

const SKY: &str = "sky";

/// None of a run that learned none.
pub(super) fn tensors(state: &ColourTable) -> Vec<Tensor<'_>> {
    match state.rows() {
        0 => Vec::new(),
        _ => table_tensors(SKY, state),
    }
}

/// None in a file of a run that learned none.
pub(super) fn read(file: &Reader<'_>) -> Result<ColourTable, DataError> {
    if file.dtype(&format!("{SKY}.parameters")).is_none() {
        return Ok(ColourTable::default());
    }
    let state = table(file, SKY, NUMBERS)?;
    match sky::is_state(&state) {
        true => Ok(state),
        false => Err(file.damaged(SKY, "is not of one sky")),
    }
}
