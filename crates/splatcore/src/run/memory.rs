//! What a run says of memory: what it expects to need, what lay in the computer's for want of the
//! card's, and what went to other processes.

use super::metrics::MeasuredHostMemory;
use super::photos::Photos;
use anyhow::Result;
use splatcore_core::backend::{Exchanged, HostMemory};
use splatcore_core::{Backend, sh};
use splatcore_train::config::Optimizer;
use splatcore_train::memory::{self, Bytes};
use splatcore_train::{ResolvedConfig, Trainer};
use std::path::Path;

/// Says what a run will need, and warns if that is too much or slow.
pub fn plan_memory(config: &ResolvedConfig, backend: &dyn Backend, start: usize, photos: &Photos) {
    let views = [&photos.train, &photos.test].map(|views| views.as_slice());
    let plan = memory::plan(config, backend, start, views);
    eprintln!("{plan}");
    if let Some(warning) = plan.warning() {
        eprintln!("warning: {warning}: lower --max-gaussians, --max-size or --sh-degree");
    }
    if plan.plan.host > 0 && config.optimizer == Optimizer::Adam {
        eprintln!(
            "warning: each step moves {} to the card and back: --optimizer sparse-adam moves only \
             what its photo sees",
            Bytes(plan.plan.host)
        );
    }
}

/// Warns if the disk has no room for what a run writes in the end.
pub fn check_disk(config: &ResolvedConfig, folder: &Path, start: usize, photos: &Photos) {
    let count = memory::expected_gaussians(config, start, photos.train.iter()) as u64;
    let needed = written(config.scene.sh_degree, count);
    if let Some(free) = free_disk(folder).filter(|&free| free < needed) {
        eprintln!(
            "warning: {}: the disk has {} left, and scene and checkpoint may take {}: make room \
             before the run ends, or what it learned is lost",
            folder.display(),
            Bytes(free),
            Bytes(needed)
        );
    }
}

/// Bytes of a scene and its checkpoint at most: the parameters of each Gaussian as floats, and in
/// the checkpoint once more, with two moments of each, which a card may keep in fewer bytes.
fn written(sh_degree: u8, gaussians: u64) -> u64 {
    let parameters = 11 + 3 * sh::coefficients(sh_degree) as u64;
    4 * 4 * parameters * gaussians
}

/// Bytes that may still be written in a folder, if the system tells.
fn free_disk(folder: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let disk = rustix::fs::statvfs(folder).ok()?;
        disk.f_bavail.checked_mul(disk.f_frsize)
    }
    #[cfg(not(unix))]
    {
        let _ = folder;
        None
    }
}

/// What lay in the computer's memory for want of the card's, if anything did.
pub fn host_memory(trainer: &mut Trainer) -> Result<Option<MeasuredHostMemory>> {
    let HostMemory { bytes, moved } = trainer.host_memory()?;
    if bytes == 0 {
        return Ok(None);
    }
    eprintln!(
        "memory: {} of the scene lay in the computer's memory, and a step moved about {} between \
         it and the card",
        Bytes(bytes),
        Bytes(moved)
    );
    let moved_per_step = moved;
    Ok(Some(MeasuredHostMemory {
        bytes,
        moved_per_step,
    }))
}

/// What this process gave to the others, of several that train together.
pub fn exchanged(trainer: &Trainer) -> Option<Exchanged> {
    let gave = trainer.exchanged();
    if gave.exchanges == 0 {
        return None;
    }
    let steps = u64::from(trainer.step().max(1));
    eprintln!(
        "ranks: rank 0 gave {} to the others, {} a step in {:.1} exchanges",
        Bytes(gave.bytes),
        Bytes(gave.bytes / steps),
        gave.exchanges as f64 / steps as f64
    );
    Some(gave)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_writes_is_foreseen() {
        // 236 bytes of parameters at degree 3.
        assert_eq!(written(3, 1000), 4 * 236_000);
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(free_disk(&folder.path().join("none")), None);
        #[cfg(unix)]
        assert!(free_disk(folder.path()).is_some_and(|free| free > 0));
    }
}
