//! The tensors of refined poses and intrinsics.

use super::file::{Reader, Tensor};
use crate::refined::{Names, Refined};
use bytemuck::Pod;
use safetensors::Dtype;
use splatcore_data::DataError;

/// None of a run that refines none.
pub(super) fn tensors<'a, V: Pod, const N: usize, const M: usize>(
    names: &Names,
    table: &'a Option<Refined<V, N, M>>,
) -> Vec<Tensor<'a>> {
    let Some(table) = table else {
        return Vec::new();
    };
    let named = |name: &str| format!("{}.{name}", names.table);
    let numbers = |name, values, width| {
        let mut tensor = Tensor::list::<f64>(&named(name), "F64", values, 8);
        tensor.shape = vec![values.len() / width, width];
        tensor
    };
    let counts = |name, values| Tensor::list::<u32>(&named(name), "U32", values, 4);
    let mut moves = counts(names.moves, table.moves.as_flattened());
    if M > 1 {
        moves.shape = vec![table.moves.len(), M];
    }
    let values = bytemuck::cast_slice(&table.values);
    vec![
        numbers(names.values, values, size_of::<V>() / 8),
        numbers("first", table.first.as_flattened(), N),
        numbers("second", table.second.as_flattened(), N),
        numbers("waiting", table.waiting.as_flattened(), N),
        moves,
        counts("limited", &table.limited),
        counts("waiting_views", &table.waiting_views),
    ]
}

/// Those of the file, if it holds any.
pub(super) fn read<V: Pod, const N: usize, const M: usize>(
    file: &Reader<'_>,
    names: &Names,
) -> Result<Option<Refined<V, N, M>>, DataError> {
    let named = |name: &str| format!("{}.{name}", names.table);
    if file.dtype(&named(names.values)).is_none() {
        return Ok(None);
    }
    let rows = |name: &str| -> Result<Vec<[f64; N]>, DataError> {
        let flat = numbers(file, names, name, Dtype::F64, N)?;
        Ok(flat.as_chunks().0.to_vec())
    };
    let counts = |name: &str| file.array(&named(name), Dtype::U32, &[]);
    let width = size_of::<V>() / 8;
    let values: Vec<f64> = numbers(file, names, names.values, Dtype::F64, width)?;
    let values = values.chunks_exact(width);
    let moves: Vec<u32> = match M {
        1 => counts(names.moves)?,
        _ => numbers(file, names, names.moves, Dtype::U32, M)?,
    };
    Ok(Some(Refined {
        values: values
            .map(|row| bytemuck::pod_read_unaligned(bytemuck::cast_slice(row)))
            .collect(),
        first: rows("first")?,
        second: rows("second")?,
        moves: moves.as_chunks().0.to_vec(),
        limited: counts("limited")?,
        waiting_views: counts("waiting_views")?,
        waiting: rows("waiting")?,
    }))
}

/// Rows of so many numbers, of which those that an earlier file lacks are 0.
fn numbers<T: Pod>(
    file: &Reader<'_>,
    names: &Names,
    name: &str,
    dtype: Dtype,
    width: usize,
) -> Result<Vec<T>, DataError> {
    let (name, places) = (&format!("{}.{name}", names.table), names.earlier);
    let found = file.shape(name).and_then(|shape| shape.get(1));
    if places.is_empty() || found != Some(&places.len()) {
        return file.array(name, dtype, &[width]);
    }
    let earlier: Vec<T> = file.array(name, dtype, &[places.len()])?;
    let mut all = vec![T::zeroed(); earlier.len() / places.len() * width];
    let rows = all.chunks_mut(width);
    for (row, earlier) in rows.zip(earlier.chunks_exact(places.len())) {
        for (&k, &number) in places.iter().zip(earlier) {
            row[k] = number;
        }
    }
    Ok(all)
}
