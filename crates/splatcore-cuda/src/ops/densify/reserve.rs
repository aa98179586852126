//! Room for more Gaussians in the arrays of the state.

use super::arrays::arrays;
use crate::device::{Buffer, Device, Place};
use crate::ops::state::State;
use splatcore_core::{BackendError, Choice};
use std::sync::Arc;

/// What takes no more than this part of the memory that is free is no reason to be thrifty.
const PLENTY: u64 = 8;

/// Whether so many bytes more would be little of what is free.
pub(super) fn is_plenty(device: &Arc<dyn Device>, bytes: u64) -> bool {
    bytes <= device.memory().0 / PLENTY
}

/// Makes room for `rows` Gaussians: nothing if there is, else more than asked, but no more than
/// `limit` needs. What the state holds stays.
///
/// Where memory is plenty there is then room for twice as many, elsewhere for a tenth more. An
/// array is copied on the device if that has memory for both, else by way of the host, which is
/// slower by far.
///
/// # Errors
/// If memory is short; the state is as before then.
pub fn reserve(
    device: &Arc<dyn Device>,
    state: &mut State,
    rows: usize,
    limit: usize,
) -> Result<(), BackendError> {
    if rows <= state.capacity {
        return Ok(());
    }
    let plenty = is_plenty(device, state.bytes_of(2 * rows));
    let roomy = if plenty { 2 * rows } else { rows + rows / 10 };
    let capacity = roomy.min(limit).max(rows);
    let (count, division) = (state.count, state.division.clone());
    for array in arrays(state) {
        let here = |rows: usize| match division.as_ref().filter(|_| array.divided) {
            Some(division) => division.own(rows).count,
            None => rows,
        };
        let (used, bytes) = (
            here(count) * array.row_bytes,
            here(capacity) * array.row_bytes,
        );
        if array.buffer.bytes() >= bytes {
            continue;
        }
        grow(array.buffer, used, bytes)?;
    }
    let bytes = capacity * size_of::<u32>();
    for statistic in [&mut state.gradient_sum, &mut state.seen] {
        grow(statistic, count * size_of::<u32>(), bytes)?;
    }
    state.capacity = capacity;
    Ok(())
}

/// Replaces a buffer by a larger one in the same memory, with its first `used` bytes.
fn grow(buffer: &mut Buffer, used: usize, bytes: usize) -> Result<(), BackendError> {
    let on_device = buffer.place() == Place::Device;
    if on_device && bytes as u64 > buffer.device().memory().0 {
        return grow_by_host(buffer, used, bytes);
    }
    let grown = match buffer.new_like(bytes) {
        // What is free is not in one piece.
        Err(BackendError::OutOfMemory { .. }) if on_device => {
            return grow_by_host(buffer, used, bytes);
        }
        grown => grown?,
    };
    grown.copy_from(buffer, used)?;
    *buffer = grown;
    Ok(())
}

/// Replaces a buffer by a larger one without ever having both on the device.
fn grow_by_host(buffer: &mut Buffer, used: usize, bytes: usize) -> Result<(), BackendError> {
    let before = buffer.bytes();
    let content: Vec<u8> = buffer.to_vec(used)?;
    *buffer = buffer.new_like(0)?;
    match buffer.new_like(bytes) {
        Ok(grown) => *buffer = grown,
        Err(error) => {
            // What was there before fits again, unless somebody else has taken the memory.
            let elsewhere = || Buffer::new_in(Place::Host, buffer.device(), buffer.name(), before);
            *buffer = buffer.new_like(before).or_else(|_| elsewhere())?;
            buffer.write(0, &content)?;
            return Err(error);
        }
    }
    buffer.write(0, &content)
}

/// Kernels count rows in 32 bits.
pub(super) fn check_rows(rows: usize) -> Result<(), BackendError> {
    if rows > i32::MAX as usize {
        return Err(BackendError::TooLarge {
            what: format!(
                "a refinement would make {rows} Gaussians, {} are the most",
                i32::MAX
            ),
            depends_on: &[Choice::GaussianCount],
        });
    }
    Ok(())
}
