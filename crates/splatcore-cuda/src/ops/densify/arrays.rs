//! The state's arrays of one row a Gaussian.

use crate::device::Buffer;
use crate::ops::state::{Group, State};

/// One array of the state.
pub struct Rows<'a> {
    /// Where it is.
    pub buffer: &'a mut Buffer,
    /// Bytes of a row.
    pub row_bytes: usize,
    /// Whether it holds moments.
    pub moments: bool,
}

fn of_group(group: &Group) -> impl Iterator<Item = (&Buffer, usize)> {
    group.arrays().into_iter().zip(group.row_bytes())
}

/// As [`arrays`], to look at: each with the bytes of a row.
pub fn arrays_of(state: &State) -> impl Iterator<Item = (&Buffer, usize)> {
    let single = |buffer| (buffer, size_of::<f32>());
    let smoothing = state.smoothed.then_some(&state.smoothing).map(single);
    let masks = state.masks.iter().filter(|_| state.masked).map(single);
    let groups = state.groups.iter().flat_map(of_group);
    groups.chain(smoothing).chain(masks)
}

/// The fifteen arrays, and the 3D filter and the learned masks if there are any.
pub fn arrays(state: &mut State) -> impl Iterator<Item = Rows<'_>> {
    let smoothed = state.smoothed;
    let smoothing = smoothed.then_some(Rows {
        buffer: &mut state.smoothing,
        row_bytes: size_of::<f32>(),
        moments: false,
    });
    let masked = state.masked;
    let masks = state.masks.iter_mut().enumerate().map(|(k, buffer)| Rows {
        buffer,
        row_bytes: size_of::<f32>(),
        moments: k > 0,
    });
    let masks = masks.filter(move |_| masked);
    let groups = state.groups.iter_mut().flat_map(|group| {
        let [parameters, first, second] = group.row_bytes();
        [
            (&mut group.parameters, parameters, false),
            (&mut group.first, first, true),
            (&mut group.second, second, true),
        ]
        .map(|(buffer, row_bytes, moments)| Rows {
            buffer,
            row_bytes,
            moments,
        })
    });
    groups.chain(smoothing).chain(masks)
}
