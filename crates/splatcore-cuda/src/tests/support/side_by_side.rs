//! Jobs that run side by side.

use std::sync::Mutex;

/// As many as the machine has cores.
pub fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// Runs a job for each of `jobs`, so many at a time, and returns the failures. In threads of their
/// own: one of rayon's could begin a second job while it waits in the first, and jobs that wait for
/// rayon's would wait for whoever keeps those busy.
pub fn failures<T: Send>(
    jobs: impl Iterator<Item = T> + Send,
    at_a_time: usize,
    job: impl Fn(T) -> Result<(), String> + Sync,
) -> Vec<String> {
    let left = Mutex::new(jobs);
    let failures = Mutex::new(Vec::new());
    let next = || left.lock().expect("no iterator panics").next();
    std::thread::scope(|scope| {
        for _ in 0..at_a_time {
            scope.spawn(|| {
                while let Some(one) = next() {
                    let failure = job(one).err();
                    failures.lock().expect("nothing panics").extend(failure);
                }
            });
        }
    });
    failures
        .into_inner()
        .expect("a job that panics ends the test")
}

/// Runs one, says what it took and how it ended; a failure begins with its name.
///
/// # Errors
/// If it failed.
pub fn timed<E: ToString>(name: &str, job: impl FnOnce() -> Result<(), E>) -> Result<(), String> {
    let start = std::time::Instant::now();
    let outcome = job().map_err(|error| error.to_string());
    let words = outcome.as_ref().err().map_or("ok", |words| words);
    eprintln!("{:6.1} s  {name}: {words}", start.elapsed().as_secs_f64());
    outcome.map_err(|words| format!("{name}: {words}"))
}
