//! The command line, in this module in place of a program of its own.

use pyo3::prelude::*;
use std::ffi::OsString;

/// Runs the command line: ``arguments`` without the program's name. Returns the exit code. Some
/// commands end the process by themselves. ``again`` is the command that starts this one in another
/// process, where arguments follow.
#[pyfunction]
#[pyo3(signature = (arguments, again))]
pub fn command_line(py: Python<'_>, arguments: Vec<OsString>, again: Vec<OsString>) -> u8 {
    let arguments = std::iter::once(OsString::from("splatcore")).chain(arguments);
    py.detach(|| splatcore::command_line_within(arguments.collect::<Vec<_>>(), again))
}
