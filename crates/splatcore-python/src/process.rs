//! Threads of this process, and what a fork does to them.
//!
//! A child that was forked has none of its parent's threads; work that is given to them never ends.
//! So nothing here starts before the first long call, work on all cores runs on a pool that belongs
//! to the process that asks ([`on_all_cores`]), not on rayon's global one, and what keeps threads
//! of its own remembers its process ([`Home`]).

use crate::errors;
use pyo3::marker::Ungil;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use splatcore::cpu::CpuBackend;
use splatcore::cuda::CudaBackend;
use splatcore::cuda::tensors::Tensors;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// What a process makes once.
#[derive(Default)]
pub struct Process {
    id: u32,
    pool: OnceLock<Option<ThreadPool>>,
    /// The portable backend on all cores.
    pub cpu: OnceLock<CpuBackend>,
    /// The first card, or why there is none.
    pub cuda: OnceLock<Result<CudaBackend, String>>,
    /// Functions on tensors of the cards that were asked for, by their numbers.
    pub cards: Mutex<Vec<(u32, Arc<Tensors>)>>,
}

/// That of this process, once there is one: swapped without a lock, since a fork would keep a lock
/// that another thread held.
static CURRENT: AtomicPtr<Process> = AtomicPtr::new(ptr::null_mut());

/// The things of this process. Those of a parent are left as they are: to drop them would wait for
/// threads that this process does not have.
pub fn current() -> &'static Process {
    let id = std::process::id();
    let found = CURRENT.load(Ordering::Acquire);
    // SAFETY: the pointer is null or of a `Process` that was leaked below.
    if let Some(process) = unsafe { found.as_ref() }
        && process.id == id
    {
        return process;
    }
    let fresh = Box::into_raw(Box::new(Process {
        id,
        ..Process::default()
    }));
    let swapped = CURRENT.compare_exchange(found, fresh, Ordering::AcqRel, Ordering::Acquire);
    match swapped {
        // SAFETY: made above and never freed.
        Ok(_) => unsafe { &*fresh },
        Err(_) => {
            // SAFETY: made above, and nobody else has seen it.
            drop(unsafe { Box::from_raw(fresh) });
            current()
        }
    }
}

/// Runs this on the process's pool, so that all that it does in parallel runs there. On the calling
/// thread and those of rayon if the system refuses threads.
pub fn on_all_cores<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    let pool = current().pool.get_or_init(|| {
        let builder = ThreadPoolBuilder::new().thread_name(|i| format!("splatcore-py-{i}"));
        builder.build().ok()
    });
    match pool {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

/// Lets other Python threads run while this works, and turns a panic into an exception.
///
/// # Errors
/// As the work, or [`errors::panicked`].
pub fn detached<T: Ungil + Send>(
    py: Python<'_>,
    work: impl FnOnce() -> PyResult<T> + Ungil + Send,
) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work)))
        .unwrap_or_else(|payload| Err(errors::panicked(&*payload)))
}

/// The process that something with threads or a card of its own was made in.
#[derive(Clone, Copy)]
pub struct Home(u32);

impl Home {
    /// This process.
    pub fn here() -> Self {
        Self(std::process::id())
    }

    /// Refuses what a parent made before a fork.
    ///
    /// # Errors
    /// Another process made it.
    pub fn check(self, what: &str) -> PyResult<()> {
        match self.0 == std::process::id() {
            true => Ok(()),
            false => Err(errors::Error::new_err(format!(
                "this {what} was made in process {} and its threads did not follow the fork; make \
                 another one in this process",
                self.0
            ))),
        }
    }
}
