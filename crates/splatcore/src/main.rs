//! The command `splatcore`, which is `command_line.rs` of the library.

use std::process::ExitCode;

fn main() -> ExitCode {
    splatcore::command_line(std::env::args_os())
}
