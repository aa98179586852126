//! `splatcore lab` of a build without the kernel lab.

use anyhow::{Result, bail};
use std::ffi::OsString;

/// Search for faster kernels, and judge changes of them; left out of this build.
#[derive(clap::Args)]
pub struct Args {
    /// What a build with the lab is asked for
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<OsString>,
}

/// Says how to get the lab.
pub fn run(Args { rest }: Args) -> Result<()> {
    let asked: String = rest
        .iter()
        .map(|word| format!(" {}", word.to_string_lossy()))
        .collect();
    bail!(
        "this build has no kernel lab; in a clone of splatcore, run `cargo run --release \
         --features lab -- lab{asked}`"
    )
}
