//! Progress on stderr: a bar on a terminal, a plain line every few seconds elsewhere.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Seconds between two lines when there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// Progress of one piece of work. May be told from any thread.
pub struct Progress {
    label: String,
    total: u64,
    bar: Option<ProgressBar>,
    last_line: Mutex<Instant>,
}

impl Progress {
    /// Starts at 0 of `total`; a total of 0 is one that is not known.
    pub fn new(label: &str, total: u64) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar =
                ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(8));
            // A template that does not parse would only cost the looks.
            let template = match total {
                0 => "{prefix} {pos} {wide_msg}",
                _ => "{prefix} [{bar:10}] {pos}/{len} {wide_msg}",
            };
            if let Ok(style) = ProgressStyle::with_template(template) {
                bar.set_style(style.progress_chars("=> "));
            }
            bar.set_prefix(label.to_owned());
            bar
        });
        Self {
            label: label.into(),
            total,
            bar,
            last_line: Mutex::new(Instant::now()),
        }
    }

    /// Tells how much is done; `detail` is only asked for when something is shown.
    pub fn update(&self, done: u64, detail: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            // Several threads may tell out of order.
            if done >= bar.position() {
                bar.set_position(done);
                bar.set_message(detail());
            }
            return;
        }
        let mut last = self
            .last_line
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        if last.elapsed() >= LINE_EVERY || (done == self.total && self.total > 0) {
            *last = Instant::now();
            let detail = detail();
            let gap = if detail.is_empty() { "" } else { ": " };
            let of = match self.total {
                0 => String::new(),
                total => format!("/{total}"),
            };
            eprintln!("{} {done}{of}{gap}{detail}", self.label);
        }
    }

    /// A message that does not tear the bar.
    pub fn note(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{text}")),
            None => eprintln!("{text}"),
        }
    }

    /// Removes the bar.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Progress of work that has several stages, known only as they come: a bar each. Without a
/// terminal a stage that is done in seconds prints nothing.
#[derive(Default)]
pub struct Stages(Mutex<Option<Progress>>);

impl Stages {
    /// Tells how much of a stage is done.
    pub fn tell(&self, stage: &str, done: u64, total: u64) {
        let mut current = self
            .0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        if current
            .as_ref()
            .is_none_or(|progress| progress.label != stage)
        {
            *current = Some(Progress::new(stage, total));
        }
        if let Some(progress) = current.as_ref().filter(|p| done < total || p.bar.is_some()) {
            progress.update(done, String::new);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}
