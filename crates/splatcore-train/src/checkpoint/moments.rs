//! The tensors of moments, in the fewest bytes that hold them exactly: a card keeps most of them in
//! 16 or 8 bits, though they are f32 here.

use super::file::{Reader, Tensor};
use super::narrow::{Codes, Narrow};
use safetensors::Dtype;
use splatcore_data::DataError;

/// Where the values of coded numbers stand.
fn values_name(name: &str) -> String {
    format!("{name}.values")
}

/// The tensors that hold these numbers: one, or codes and their values.
pub(super) fn tensors(name: String, shape: Vec<usize>, numbers: &[f32]) -> Vec<Tensor<'_>> {
    if let Some(codes) = Codes::of(numbers) {
        let values = Tensor::copied(&values_name(&name), "F32", &codes.values, 4);
        return vec![
            values,
            Tensor::narrow(name, "U8", shape, Narrow::Codes(codes)),
        ];
    }
    match Narrow::halves(numbers) {
        Some(halves) => vec![Tensor::narrow(name, "BF16", shape, halves)],
        None => vec![Tensor::f32(name, shape, numbers)],
    }
}

/// The numbers of what [`tensors`] wrote, of shape `[any, inner...]`; `T` is made of f32.
pub(super) fn read<T: bytemuck::Pod>(
    file: &Reader<'_>,
    name: &str,
    inner: &[usize],
) -> Result<Vec<T>, DataError> {
    match file.dtype(name) {
        Some(Dtype::BF16) => {
            let halves: Vec<u16> = file.array(name, Dtype::BF16, inner)?;
            let widen = |half: &u16| Some(f32::from_bits((*half as u32) << 16));
            Ok(collect(&halves, widen).unwrap_or_default())
        }
        Some(Dtype::U8) => {
            let codes: Vec<u8> = file.array(name, Dtype::U8, inner)?;
            let values_name = values_name(name);
            let values: Vec<f32> = file.array(&values_name, Dtype::F32, &[])?;
            collect(&codes, |&code| values.get(code as usize).copied())
                .ok_or_else(|| file.damaged(&values_name, "has fewer values than codes name"))
        }
        _ => file.array(name, Dtype::F32, inner),
    }
}

/// Rows of what each number stands for; none if one stands for nothing.
fn collect<N, T: bytemuck::Pod>(numbers: &[N], of: impl Fn(&N) -> Option<f32>) -> Option<Vec<T>> {
    let width = size_of::<T>() / size_of::<f32>();
    let mut rows = vec![T::zeroed(); numbers.len() / width];
    let places: &mut [f32] = bytemuck::cast_slice_mut(&mut rows);
    for (place, number) in places.iter_mut().zip(numbers) {
        *place = of(number)?;
    }
    Some(rows)
}
