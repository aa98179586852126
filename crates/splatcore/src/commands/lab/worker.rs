//! `splatcore lab worker`: renders with changed kernels, in a process of its own.

use anyhow::{Result, anyhow};
use clap::ValueEnum;
use splatcore_core::Backend;
use splatcore_cuda::device::emulated::Emulated;
use splatcore_cuda::device::guarded::{Fresh, Guarded};
use splatcore_cuda::{CudaBackend, Options};
use splatcore_lab::worker::{self, Watch};
use std::io::{stdin, stdout};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What a worker computes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Kind {
    /// A card.
    Card,
    /// A card, its memory guarded, and not a number when it is allocated.
    GuardedCard,
    /// The same, its memory full of numbers.
    FilledCard,
    /// The emulator.
    Emulator,
    /// The same, its memory full of numbers.
    FilledEmulator,
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
    /// Run changed kernels on this processor even if nothing confines them.
    #[arg(long)]
    unconfined: bool,
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
    let is_card = matches!(args.kind, Kind::Card | Kind::GuardedCard | Kind::FilledCard);
    if !is_card && !confined.enforced && std::env::var_os("SPLATCORE_KERNELS").is_some() {
        if !args.unconfined {
            return Ok(worker::refuse(&confined.about, stdout())?);
        }
        eprintln!(
            "warning: changed kernels run on this processor unconfined: {}",
            confined.about
        );
    }
    let (backend, guarded) = open(args)?;
    let intact = || match &guarded {
        Some(guarded) => guarded.check().map_err(|error| error.to_string()),
        None => Ok(()),
    };
    let unwatched = || "this worker's memory is not watched".to_owned();
    let reuse = || {
        let guarded = guarded.as_ref().ok_or_else(unwatched)?;
        guarded.reuse();
        Ok(())
    };
    let digest = || {
        let guarded = guarded.as_ref().ok_or_else(unwatched)?;
        guarded.digest().map_err(|error| error.to_string())
    };
    worker::serve(
        &*backend,
        &Watch {
            intact: &intact,
            reuse: &reuse,
            digest: &digest,
        },
        &confined.about,
        &args.folder,
        stdin().lock(),
        stdout(),
    )?;
    Ok(())
}

type Opened = (Box<dyn Backend>, Option<Arc<Guarded>>);

fn open(args: &Args) -> Result<Opened> {
    let options = Options {
        device: args.device,
        ..Options::default()
    };
    // Another process has other addresses, and other numbers in fresh memory.
    let seed = std::process::id().into();
    match args.kind {
        Kind::Card => {
            let card = CudaBackend::open(options).map_err(|error| anyhow!("{error}"))?;
            Ok((Box::new(card), None))
        }
        Kind::GuardedCard | Kind::FilledCard => {
            let fresh = match args.kind {
                Kind::FilledCard => Fresh::Numbers,
                _ => Fresh::NotANumber,
            };
            let opened = CudaBackend::open_guarded(options, fresh, seed);
            let (card, guarded) = opened.map_err(|error| anyhow!("{error}"))?;
            Ok((Box::new(card), Some(guarded)))
        }
        Kind::FilledEmulator => {
            let emulated = Arc::new(Emulated::with_checks(false)?);
            let guarded = Arc::new(Guarded::new(emulated, Fresh::Numbers, seed));
            let backend = CudaBackend::on(guarded.clone(), false);
            Ok((Box::new(backend), Some(guarded)))
        }
        Kind::Emulator | Kind::Checked | Kind::CheckedBackwards => {
            let emulated = Emulated::with_checks(args.kind != Kind::Emulator)?;
            emulated.set_backward(args.kind == Kind::CheckedBackwards);
            Ok((Box::new(CudaBackend::on(Arc::new(emulated), false)), None))
        }
    }
}
