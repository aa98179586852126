//! The tensors of columns, by the names that the columns have.

use super::file::{Reader, Tensor};
use safetensors::Dtype;
use splatcore_core::columns::{Column, Columns};
use splatcore_data::DataError;

/// Those of the columns that exist.
pub(super) fn tensors(columns: &Columns) -> impl Iterator<Item = Tensor<'_>> {
    Column::ALL.into_iter().flat_map(|column| {
        let names = column.entry().arrays.iter();
        let arrays = names.zip(columns.arrays(column));
        arrays.map(|(name, array)| Tensor::list(name, "F32", array, 4))
    })
}

/// Those of `n` Gaussians that the file holds.
pub(super) fn read(file: &Reader<'_>, n: usize) -> Result<Columns, DataError> {
    let mut columns = Columns::default();
    for column in Column::ALL {
        let names = column.entry().arrays;
        if names.iter().any(|name| file.dtype(name).is_some()) {
            let array = |name: &&str| file.rows(name, Dtype::F32, &[], n);
            let arrays = names.iter().map(array).collect::<Result<_, _>>()?;
            columns.set_arrays(column, arrays);
        }
    }
    Ok(columns)
}
