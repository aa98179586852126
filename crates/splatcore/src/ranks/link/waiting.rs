//! Do all ranks wait for each other? Ranks that make different exchanges neither fail nor are
//! silent, and none of them goes on. It takes a defect, or a network between cards that is gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What this rank waits for.
#[derive(Default)]
pub struct Waiting {
    /// For another rank to say something.
    hears: AtomicBool,
    /// For an exchange between cards.
    exchanges: AtomicBool,
}

impl Waiting {
    /// Whether it waits for another rank.
    pub fn waits(&self) -> bool {
        self.hears.load(Ordering::Relaxed) || self.exchanges.load(Ordering::Relaxed)
    }

    /// Hears another rank.
    pub fn hearing<T>(&self, hear: impl FnOnce() -> T) -> T {
        self.hears.store(true, Ordering::Relaxed);
        let heard = hear();
        self.hears.store(false, Ordering::Relaxed);
        heard
    }

    /// Asks every so often whether an exchange is under way, on a thread of its own: who asks a
    /// driver that itself waits gets no answer. If an exchange has failed, `ends` is told why one
    /// such time later: a rank that ended makes exchanges fail too, and the connection with it says
    /// that better.
    pub fn ask(
        self: &Arc<Self>,
        every: Duration,
        is_behind: impl Fn() -> Result<bool, String> + Send + 'static,
        ends: impl FnOnce(&str) + Send + 'static,
    ) {
        let waiting = Arc::clone(self);
        thread::spawn(move || {
            loop {
                waiting.exchanges.store(true, Ordering::Relaxed);
                let asked = is_behind();
                let waits = !matches!(asked, Ok(false));
                waiting.exchanges.store(waits, Ordering::Relaxed);
                thread::sleep(every);
                if let Err(error) = asked {
                    return ends(&error);
                }
            }
        });
    }
}

/// Since when all ranks wait, and which steps they have taken.
#[derive(Default)]
pub struct Standstill(Option<(Instant, Vec<u32>)>);

impl Standstill {
    /// For how long all ranks have waited now, none of which took a step meanwhile.
    pub fn lasts(&mut self, all_wait: bool, steps: Vec<u32>) -> Duration {
        let since = self.0.take().filter(|(_, before)| *before == steps);
        let since = since.map_or_else(Instant::now, |(since, _)| since);
        self.0 = all_wait.then_some((since, steps));
        since.elapsed()
    }
}
