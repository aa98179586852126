//! What runs kernels: threads and an instruction set.

use crate::simd::Level;
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::sync::Arc;

/// Threads, and the instruction set that they use.
#[derive(Clone)]
pub(crate) struct Workers {
    pub level: Level,
    pub pool: Arc<ThreadPool>,
}

impl Workers {
    /// As many threads as given, or as there are cores; the portable instruction set if this
    /// machine does not have the given one.
    pub fn new(threads: Option<usize>, level: Level) -> Self {
        let level = if Level::available().contains(&level) {
            level
        } else {
            Level::Portable
        };
        let threads = threads
            .or_else(|| std::thread::available_parallelism().ok().map(|n| n.get()))
            .unwrap_or(1)
            .max(1);
        let build = |threads| {
            ThreadPoolBuilder::new()
                .num_threads(threads)
                .thread_name(|i| format!("splatcore-{i}"))
                .build()
        };
        // A system that refuses threads gets the calling thread alone.
        let pool = build(threads).or_else(|_| {
            ThreadPoolBuilder::new()
                .num_threads(1)
                .use_current_thread()
                .build()
        });
        let pool = match pool {
            Ok(pool) => Arc::new(pool),
            Err(error) => {
                unreachable!("a pool of the calling thread alone starts no thread: {error}")
            }
        };
        Self { level, pool }
    }
}
