//! What is wrong with an argument, and the checks of lengths.

use std::fmt::Display;

/// An argument that does not fit the others. One line: which, what was expected, what was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{argument} must be {expected}, found {found}")]
pub struct ArgumentError {
    /// The argument's name.
    pub argument: &'static str,
    /// What it must be.
    pub expected: String,
    /// What it is.
    pub found: String,
}

/// What the operations return.
pub type Result<T = ()> = std::result::Result<T, ArgumentError>;

/// An error about this argument.
pub(crate) fn wrong<T>(
    argument: &'static str,
    expected: impl Display,
    found: impl Display,
) -> Result<T> {
    Err(ArgumentError {
        argument,
        expected: expected.to_string(),
        found: found.to_string(),
    })
}

/// The product of a shape's sides; `None` if no slice can be as long.
pub(crate) fn product(sides: &[usize]) -> Option<usize> {
    if sides.contains(&0) {
        return Some(0);
    }
    sides
        .iter()
        .try_fold(1usize, |all, &side| all.checked_mul(side))
}

/// Refuses a slice that has not as many values as its shape says.
pub(crate) fn check_len<T>(argument: &'static str, slice: &[T], sides: &[usize]) -> Result {
    match product(sides) == Some(slice.len()) {
        true => Ok(()),
        false => wrong(
            argument,
            format_args!("of shape {sides:?}"),
            format_args!("{} values", slice.len()),
        ),
    }
}

/// As [`check_len`], for an argument that may be missing.
pub(crate) fn check_maybe<T>(
    argument: &'static str,
    slice: Option<&[T]>,
    sides: &[usize],
) -> Result {
    slice.map_or(Ok(()), |slice| check_len(argument, slice, sides))
}
