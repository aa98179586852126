//! The tensors of columns, by the names that the columns have.

use super::file::{Reader, Tensor};
use safetensors::Dtype;
use splatcore_core::columns::{Array, Column, Columns};
use splatcore_data::DataError;

/// Those of the columns that exist.
pub(super) fn tensors(columns: &Columns) -> impl Iterator<Item = Tensor<'_>> {
    Column::ALL.into_iter().flat_map(|column| {
        let entry = column.entry();
        let arrays = entry.arrays.iter().zip(columns.arrays(column));
        arrays.map(|(of, array)| {
            let shape = shape(array.len() / entry.width, entry.width);
            Tensor::f32(of.name.to_owned(), shape, array)
        })
    })
}

/// Those of `n` Gaussians that the file holds.
pub(super) fn read(file: &Reader<'_>, n: usize) -> Result<Columns, DataError> {
    let mut columns = Columns::default();
    for column in Column::ALL {
        let entry = column.entry();
        if (entry.arrays.iter()).any(|array| file.dtype(array.name).is_some()) {
            let (inner, count) = (&shape(n, entry.width)[1..], n * entry.width);
            let array = |of: &Array| file.rows(of.name, Dtype::F32, inner, count);
            let arrays = entry.arrays.iter().map(array).collect::<Result<_, _>>()?;
            columns.set_arrays(column, arrays);
        }
    }
    Ok(columns)
}

/// A list for one number a Gaussian, else a matrix.
fn shape(n: usize, width: usize) -> Vec<usize> {
    match width {
        1 => vec![n],
        width => vec![n, width],
    }
}
