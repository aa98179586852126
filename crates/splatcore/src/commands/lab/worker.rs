//! `splatcore lab worker`: renders with changed kernels, in a process of its own.

use anyhow::{Result, anyhow};
use clap::ValueEnum;
use splatcore_core::Backend;
use splatcore_cuda::device::emulated::Emulated;
use splatcore_cuda::{CudaBackend, Options};
use splatcore_lab::worker;
use std::io::{stdin, stdout};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a worker computes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A card.
    Card,
    /// The emulator.
    Emulator,
    /// The emulator, every access checked.
    Checked,
    /// The same, threads from the last to the first.
    CheckedBackwards,
}

#[derive(clap::Args)]
pub struct Args {
    /// On what.
    #[arg(long, value_enum)]
    kind: Kind,
    /// Which card.
    #[arg(long)]
    device: Option<usize>,
    /// A file or folder that may be read.
    #[arg(long)]
    readable: Vec<PathBuf>,
    /// A folder that may be written besides the worker's own.
    #[arg(long)]
    writable: Vec<PathBuf>,
    /// Bytes of memory at most.
    #[arg(long)]
    memory: Option<u64>,
    /// The worker's own folder.
    folder: PathBuf,
}

pub fn run(args: &Args) -> Result<()> {
    // Before anything else: threads that exist already would not be confined.
    let readable: Vec<&Path> = args.readable.iter().map(PathBuf::as_path).collect();
    let mut writable: Vec<&Path> = args.writable.iter().map(PathBuf::as_path).collect();
    writable.push(&args.folder);
    let confined = worker::confine(&writable, &readable, args.memory).map_err(|e| anyhow!(e))?;
    if args.kind != Kind::Card && !confined.enforced {
        eprintln!(
            "warning: changed kernels run on this processor unconfined: {}",
            confined.about
        );
    }
    let backend = open(args)?;
    worker::serve(
        &*backend,
        &confined.about,
        &args.folder,
        stdin().lock(),
        stdout(),
    )?;
    Ok(())
}

fn open(args: &Args) -> Result<Box<dyn Backend>> {
    if args.kind == Kind::Card {
        let options = Options {
            device: args.device,
            ..Options::default()
        };
        let card = CudaBackend::open(options).map_err(|error| anyhow!("{error}"))?;
        return Ok(Box::new(card));
    }
    let emulated = Emulated::with_checks(args.kind != Kind::Emulator)?;
    emulated.set_backward(args.kind == Kind::CheckedBackwards);
    Ok(Box::new(CudaBackend::on(Arc::new(emulated), false)))
}
