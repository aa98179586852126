//! What a run says of memory: what it expects to need, what lay in the computer's for want of the
//! card's, and what went to other processes.

use super::metrics::{MeasuredExchanges, MeasuredHostMemory};
use super::photos::Photos;
use anyhow::Result;
use splatcore_core::Backend;
use splatcore_core::backend::{Exchanged, HostMemory};
use splatcore_train::config::Optimizer;
use splatcore_train::memory::{self, Bytes};
use splatcore_train::{ResolvedConfig, Trainer};

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
pub fn exchanged(trainer: &Trainer) -> Option<MeasuredExchanges> {
    let Exchanged {
        exchanges,
        pieces,
        bytes,
    } = trainer.exchanged();
    if exchanges == 0 {
        return None;
    }
    let steps = u64::from(trainer.step().max(1));
    eprintln!(
        "ranks: rank 0 gave {} to the others, {} a step in {:.1} exchanges",
        Bytes(bytes),
        Bytes(bytes / steps),
        exchanges as f64 / steps as f64
    );
    Some(MeasuredExchanges {
        bytes,
        pieces,
        exchanges,
    })
}
