//! The tensors of columns, by the names that the columns have: lists, or matrices of those that
//! have several numbers a Gaussian.

use super::file::{Reader, Tensor};
use safetensors::Dtype;
use splatcore_core::columns::{Column, Columns, Rule};
use splatcore_data::DataError;

/// Those of the columns that exist.
pub(super) fn tensors(columns: &Columns) -> impl Iterator<Item = Tensor<'_>> {
    Column::ALL.into_iter().flat_map(|column| {
        let entry = column.entry();
        let arrays = entry.arrays.iter().zip(columns.arrays(column));
        arrays.map(|((name, _), array)| {
            let rows = array.len() / entry.width;
            let shape = [&[rows], inner(&entry.width)].concat();
            Tensor::f32((*name).to_owned(), shape, array)
        })
    })
}

/// Those of `n` Gaussians that the file holds.
pub(super) fn read(file: &Reader<'_>, n: usize) -> Result<Columns, DataError> {
    let mut columns = Columns::default();
    for column in Column::ALL {
        let entry = column.entry();
        if (entry.arrays.iter()).any(|(name, _)| file.dtype(name).is_some()) {
            let (inner, count) = (inner(&entry.width), n * entry.width);
            let array = |(name, _): &(&str, Rule)| file.rows(name, Dtype::F32, inner, count);
            let arrays = entry.arrays.iter().map(array).collect::<Result<_, _>>()?;
            columns.set_arrays(column, arrays);
        }
    }
    Ok(columns)
}

/// The shape of a row.
fn inner(width: &usize) -> &[usize] {
    match width {
        1 => &[],
        width => std::slice::from_ref(width),
    }
}
