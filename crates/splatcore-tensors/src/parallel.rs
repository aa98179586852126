//! Work in pieces of a size that does not depend on the number of threads.

/// Rows that one task works on.
pub(crate) const ROWS: usize = 1024;

/// An output that may be missing, cut into pieces of `rows` rows of `width` values: one piece for
/// each of `pieces`, `None` if the output is missing.
pub(crate) fn pieces<T>(
    out: Option<&mut [T]>,
    width: usize,
    rows: usize,
    pieces: usize,
) -> Vec<Option<&mut [T]>> {
    match out {
        Some(out) if width > 0 => out.chunks_mut(width * rows).map(Some).collect(),
        Some(_) => (0..pieces).map(|_| Some(&mut [][..])).collect(),
        None => (0..pieces).map(|_| None).collect(),
    }
}

/// The row of an output that may be missing.
pub(crate) fn row_of<'a, T>(
    out: &'a mut Option<&mut [T]>,
    row: usize,
    width: usize,
) -> Option<&'a mut [T]> {
    out.as_deref_mut()
        .map(|out| &mut out[row * width..][..width])
}
