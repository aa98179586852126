//! The state's arrays of one row a Gaussian.

use crate::device::Buffer;
use crate::ops::offload::can_leave;
use crate::ops::state::{Group, State};
use splatcore_core::columns::Rule;

/// One array of the state.
pub struct Rows<'a> {
    /// Where it is.
    pub buffer: &'a mut Buffer,
    /// Bytes of a row.
    pub row_bytes: usize,
    /// Whether it holds moments.
    pub moments: bool,
    /// Whether this rank has its own rows alone.
    pub divided: bool,
}

/// The arrays of a group that are kept, by number: each with the bytes of a row.
pub(super) fn of_group(group: &Group) -> impl Iterator<Item = (usize, (&Buffer, usize))> {
    group
        .arrays()
        .into_iter()
        .zip(group.row_bytes())
        .enumerate()
        .filter(|(_, (_, row_bytes))| *row_bytes > 0)
}

/// The arrays of which every rank has all rows, to look at: each with the bytes of a row, of which
/// there are some.
pub fn whole_arrays(state: &State) -> impl Iterator<Item = (&Buffer, usize)> {
    let columns = state.columns.iter().filter(|(_, rows)| rows.exists);
    let columns = columns.flat_map(|(column, rows)| {
        let row_bytes = column.entry().row_bytes();
        rows.arrays.iter().map(move |buffer| (buffer, row_bytes))
    });
    let groups = state.groups.iter().enumerate();
    let groups = groups.flat_map(|(k, group)| of_group(group).map(move |of| (k, of)));
    let divided = state.division.is_some();
    groups
        .filter(move |&(k, (array, _))| !(divided && can_leave(k, array)))
        .map(|(_, (_, buffer))| buffer)
        .chain(columns)
}

/// The arrays of the five groups, but for moments that are not kept, and those of the columns that
/// exist.
pub fn arrays(state: &mut State) -> impl Iterator<Item = Rows<'_>> {
    let columns = state.columns.iter_mut().filter(|(_, rows)| rows.exists);
    let columns = columns.flat_map(|(_, rows)| {
        let (entry, arrays) = (rows.entry, rows.arrays.iter_mut());
        arrays.zip(entry.arrays).map(|(buffer, (_, rule))| Rows {
            buffer,
            row_bytes: entry.row_bytes(),
            moments: *rule == Rule::Zeroed,
            divided: false,
        })
    });
    let is_divided = state.division.is_some();
    let groups = state.groups.iter_mut().enumerate();
    let groups = groups.flat_map(move |(k, group)| {
        let rows = group.row_bytes();
        let arrays = group.arrays_mut().into_iter().zip(rows).enumerate();
        arrays.map(move |(array, (buffer, row_bytes))| Rows {
            buffer,
            row_bytes,
            moments: array > 0,
            divided: is_divided && can_leave(k, array),
        })
    });
    let groups = groups.filter(|array| array.row_bytes > 0);
    groups.chain(columns)
}
