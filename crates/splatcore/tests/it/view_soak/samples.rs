//! What the program holds, looked at again and again from outside.

use serde::Serialize;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Threads that tokio starts for photos that are read, one a browser, and keeps for some seconds;
/// and those of training and saving.
const PASSING: usize = 6;
/// What memory may grow by between the second quarter of the training and its last, MiB: pages that
/// the allocator keeps.
const SLACK: f64 = 8.0;
/// The kernel takes a moment to close sockets.
const PATIENCE: Duration = Duration::from_secs(40);

/// One look.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Sample {
    pub seconds: f64,
    pub memory_mib: f64,
    pub threads: usize,
    pub sockets: usize,
}

/// All looks.
pub struct Samples {
    process: PathBuf,
    begun: Instant,
    pub all: Vec<Sample>,
    /// How many of them were made while the run trained.
    pub training: usize,
}

impl Samples {
    pub fn of(process: u32) -> Self {
        Self {
            process: format!("/proc/{process}").into(),
            begun: Instant::now(),
            all: Vec::new(),
            training: 0,
        }
    }

    pub fn look(&mut self) -> Sample {
        let status = std::fs::read_to_string(self.process.join("status")).unwrap();
        let number = |name: &str| -> usize {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            let word = line.and_then(|line| line.split_whitespace().next());
            word.unwrap().parse().unwrap()
        };
        let files = std::fs::read_dir(self.process.join("fd")).unwrap();
        let targets = files.filter_map(|file| std::fs::read_link(file.ok()?.path()).ok());
        let sockets = targets.filter(|target| target.to_string_lossy().starts_with("socket:"));
        let sample = Sample {
            seconds: self.begun.elapsed().as_secs_f64(),
            memory_mib: number("VmRSS:") as f64 / 1024.0,
            threads: number("Threads:"),
            sockets: sockets.count(),
        };
        self.all.push(sample);
        sample
    }

    /// Looks until so few sockets are open, or patience is over.
    pub fn settle(&mut self, sockets: usize) -> Sample {
        let begun = Instant::now();
        loop {
            let sample = self.look();
            if sample.sockets <= sockets || begun.elapsed() > PATIENCE {
                return sample;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// At most some sixty, equally far apart.
    pub fn thinned(&self) -> Vec<&Sample> {
        let every = self.all.len().div_ceil(60);
        self.all.iter().step_by(every).collect()
    }
}

/// Least memory in the second and in the last quarter of the training, MiB, if it did not grow; and
/// threads before and at most, if there were never more than `browsers` can ask for.
pub fn judge(
    samples: &Samples,
    before: usize,
    browsers: usize,
) -> (Result<[f64; 2], String>, Result<[usize; 2], String>) {
    let training = &samples.all[..samples.training];
    let quarter = training.len() / 4;
    let least = |part: &[Sample]| {
        let memory = part.iter().map(|sample| sample.memory_mib);
        memory.fold(f64::INFINITY, f64::min)
    };
    let memory = [
        least(&training[quarter..2 * quarter]),
        least(&training[3 * quarter..]),
    ];
    let grown = memory[1] > memory[0] + SLACK + 0.05 * memory[0];
    let most = samples.all.iter().map(|sample| sample.threads).max();
    let threads = [before, most.unwrap_or_default()];
    (
        match quarter {
            0 => Err("too few looks".into()),
            _ if grown => Err(format!("memory grew: {memory:?} MiB")),
            _ => Ok(memory),
        },
        match threads[1] > before + browsers + PASSING {
            true => Err(format!("threads grew: {threads:?}")),
            false => Ok(threads),
        },
    )
}
