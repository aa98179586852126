//! Which backend does the work.

use anyhow::{Result, bail};
use splatcore_core::Backend;
use splatcore_cpu::CpuBackend;
use splatcore_train::config::BackendChoice;

/// `--backend` and `--threads`, for every command but train (whose config holds them).
#[derive(clap::Args)]
pub struct BackendArgs {
    /// Where to compute: auto (the fastest at hand), cpu, cuda. Time and which memory is used depend on it,
    /// quality does not
    #[arg(long, value_name = "NAME", default_value = "auto", value_enum)]
    pub backend: BackendChoice,
    /// Threads of the cpu backend [all cores]. Fewer take longer and leave cores to others; the result is the same
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub threads: Option<u16>,
}

impl BackendArgs {
    /// Opens the backend; see [`open`].
    pub fn open(&self) -> Result<Box<dyn Backend>> {
        open(self.backend, self.threads.map(usize::from))
    }
}

/// Whether this build has the backend, before anything else is done.
///
/// # Errors
/// It has not; says which it has.
pub fn check(choice: BackendChoice) -> Result<()> {
    if choice == BackendChoice::Cuda {
        bail!("this build has no CUDA backend yet; use --backend cpu (or auto)");
    }
    Ok(())
}

/// Opens a backend, says on stderr which one and, for `auto`, why. `threads` also bounds the threads that decode
/// photos and measure images.
pub fn open(choice: BackendChoice, threads: Option<usize>) -> Result<Box<dyn Backend>> {
    check(choice)?;
    if let Some(threads) = threads {
        // Fails only when the pool was already made, by an earlier call with the same number.
        let _ = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build_global();
    }
    let backend = CpuBackend::new(threads);
    let why = match choice {
        BackendChoice::Auto => " (auto: this build has no other)",
        _ => "",
    };
    eprintln!("backend: {}{why}", backend.describe());
    Ok(Box::new(backend))
}
