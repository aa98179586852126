//! `splatcore lab replay-server`: a recorded run answers over HTTP.

use anyhow::{Context, Result, anyhow};
use splatcore_lab::llm::record;
use splatcore_lab::llm::server::{self, Server, parse_faults};
use std::path::PathBuf;

/// Answer chat completions from the record of a run (EXP/models.jsonl), and fail on demand. Ends
/// with Ctrl-C.
#[derive(clap::Args)]
pub struct Args {
    /// The record
    record: PathBuf,
    /// Port on this machine's loopback interface [any free one]
    #[arg(long, value_name = "N", default_value_t = 0)]
    port: u16,
    /// Answers that fail, by their number: 1=429:2,2=500,3=cut,4=slow:10,5=malformed
    #[arg(long, value_name = "N=FAULT,...", default_value = "")]
    faults: String,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    let faults = match args.faults.is_empty() {
        true => server::Faults::new(),
        false => parse_faults(&args.faults).map_err(|error| anyhow!(error))?,
    };
    let exchanges = record::read(&args.record)?;
    let server = Server::start(args.port, server::transcript(exchanges, faults))
        .with_context(|| format!("port {}", args.port))?;
    println!("{}", server.base_url());
    server.join();
    Ok(())
}
