//! Progress on stderr: a bar on a terminal, a plain line every few seconds elsewhere. Within a
//! command that does several things one after the other ([`Whole`]) each line also says how long
//! all of them still take.

use crate::output::about;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Seconds between two lines when there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(10);
/// Work that takes longer than was expected is said to take this share of what was expected.
const OVERDUE: f64 = 0.1;

/// Progress of one piece of work. May be told from any thread.
pub struct Progress {
    label: String,
    bar: Option<ProgressBar>,
    state: Mutex<State>,
}

struct State {
    total: u64,
    last_line: Instant,
}

impl Progress {
    /// Starts at 0 of `total`; a total of 0 is one that is not known.
    pub fn new(label: &str, total: u64) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar =
                ProgressBar::with_draw_target(Some(total), ProgressDrawTarget::stderr_with_hz(8));
            bar.set_style(style(total));
            bar.set_prefix(labelled(label));
            bar
        });
        Self {
            label: label.into(),
            bar,
            state: Mutex::new(State {
                total,
                last_line: Instant::now(),
            }),
        }
    }

    /// From now on there are so many units.
    pub fn set_total(&self, total: u64) {
        let mut state = lock(&self.state);
        if state.total != total {
            state.total = total;
            if let Some(bar) = &self.bar {
                bar.set_length(total);
                bar.set_style(style(total));
            }
        }
    }

    /// Tells how much is done; `detail` is only asked for when something is shown.
    pub fn update(&self, done: u64, detail: impl FnOnce() -> String) {
        self.tell(done, None, detail);
    }

    /// As [`update`](Self::update); `left` are the seconds until the phase of the whole ends that
    /// this is the main work of.
    pub fn tell(&self, done: u64, left: Option<f64>, detail: impl FnOnce() -> String) {
        if let Some(bar) = &self.bar {
            // Several threads may tell out of order.
            if done >= bar.position() {
                bar.set_position(done);
                bar.set_message(joined(whole_left(left), detail()));
            }
            return;
        }
        let mut state = lock(&self.state);
        let in_whole = whole_left(left);
        // Short pieces of a whole share one clock, or a row of them would be silent.
        let last = last_line_of_whole().map_or(state.last_line, |last| last.max(state.last_line));
        let ends = done == state.total && state.total > 0 && in_whole.is_none();
        if last.elapsed() >= LINE_EVERY || ends {
            state.last_line = Instant::now();
            let line = self.line(done, state.total, in_whole, &detail());
            eprintln!("{line}");
            line_was_printed();
        }
    }

    /// Says at once what begins, where there is no bar that shows it.
    pub fn announce(&self, left: Option<f64>) {
        if self.bar.is_none() {
            let mut state = lock(&self.state);
            state.last_line = Instant::now();
            let total = state.total;
            eprintln!("{}", self.line(0, total, whole_left(left), ""));
            line_was_printed();
        }
    }

    /// `training 3/100: 7 s left`, or within a whole `training 3 % | about 2 min left | 7 steps/s`.
    fn line(&self, done: u64, total: u64, in_whole: Option<String>, detail: &str) -> String {
        let label = labelled(&self.label);
        match in_whole {
            Some(left) => {
                let share = match total {
                    0 => String::new(),
                    total => format!(" {} %", 100 * done.min(total) / total),
                };
                let gap = if detail.is_empty() { "" } else { " | " };
                format!("{label}{share} | {left}{gap}{detail}")
            }
            None => {
                let of = match total {
                    0 if done == 0 => String::new(),
                    0 => format!(" {done}"),
                    total => format!(" {done}/{total}"),
                };
                let gap = if detail.is_empty() { "" } else { ": " };
                format!("{label}{of}{gap}{detail}")
            }
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

fn style(total: u64) -> ProgressStyle {
    let template = match total {
        0 => "{prefix} {pos} {wide_msg}",
        _ => "{prefix} [{bar:10}] {pos}/{len} {wide_msg}",
    };
    // A template that does not parse would only cost the looks.
    let style = ProgressStyle::with_template(template);
    style
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("=> ")
}

fn joined(first: Option<String>, second: String) -> String {
    match first {
        Some(first) if second.is_empty() => first,
        Some(first) => format!("{first}, {second}"),
        None => second,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// One phase of several, and how long it takes.
#[derive(Clone, Debug)]
pub struct Phase {
    /// Its name, in front of what is done in it.
    pub name: &'static str,
    /// Seconds that it is expected to take.
    pub seconds: f64,
}

/// Phases of a command that does several things one after the other. While this value lives, what
/// [`Progress`] tells includes the time that all of them still take.
pub struct Whole;

struct Phases {
    all: Vec<Phase>,
    current: usize,
    begun: Instant,
    last_line: Instant,
}

static PHASES: Mutex<Option<Phases>> = Mutex::new(None);

impl Whole {
    /// Work of these phases begins.
    pub fn begin(all: Vec<Phase>) -> Self {
        *lock(&PHASES) = Some(Phases {
            all,
            current: 0,
            begun: Instant::now(),
            last_line: Instant::now(),
        });
        Self
    }

    /// The phase of this name begins; it is expected to take so long, if more is known by now.
    pub fn enter(&self, name: &str, seconds: Option<f64>) {
        if let Some(phases) = lock(&PHASES).as_mut() {
            let at = phases.all.iter().position(|phase| phase.name == name);
            phases.current = at.unwrap_or(phases.current);
            phases.begun = Instant::now();
            if let (Some(seconds), Some(phase)) = (seconds, phases.all.get_mut(phases.current)) {
                phase.seconds = seconds;
            }
        }
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        *lock(&PHASES) = None;
    }
}

/// Whether a whole is under way.
pub fn in_whole() -> bool {
    lock(&PHASES).is_some()
}

/// Seconds until the present phase of the whole ends: what is measured, `left`, counts the more the
/// larger the share that is done; what was expected counts for the rest.
pub fn weighed(left: f64, share: f64) -> f64 {
    match lock(&PHASES).as_ref().and_then(Phases::expected_left) {
        Some(expected) => share * left + (1.0 - share) * expected.max(left),
        None => left,
    }
}

impl Phases {
    /// Seconds that the present phase still takes, as far as was expected.
    fn expected_left(&self) -> Option<f64> {
        let expected = self.all.get(self.current)?.seconds;
        let passed = self.begun.elapsed().as_secs_f64();
        Some((expected - passed).max(OVERDUE * expected))
    }
}

/// How long the whole still takes, for people, if there is one and this phase still takes `left`
/// seconds.
fn whole_left(left: Option<f64>) -> Option<String> {
    let phases = lock(&PHASES);
    let phases = phases.as_ref()?;
    let now = left.or(phases.expected_left())?;
    let later = phases.all[phases.current + 1..].iter();
    let all = now + later.map(|phase| phase.seconds).sum::<f64>();
    Some(format!("about {} left", about(all)))
}

/// The label, behind the name of the phase if there is one that it does not begin with.
fn labelled(label: &str) -> String {
    let phases = lock(&PHASES);
    let name = phases
        .as_ref()
        .and_then(|phases| phases.all.get(phases.current))
        .map(|phase| phase.name);
    match name {
        Some(name) if !label.starts_with(name) => format!("{name} {label}"),
        _ => label.to_owned(),
    }
}

fn last_line_of_whole() -> Option<Instant> {
    lock(&PHASES).as_ref().map(|phases| phases.last_line)
}

fn line_was_printed() {
    if let Some(phases) = lock(&PHASES).as_mut() {
        phases.last_line = Instant::now();
    }
}

/// Progress of work that has several stages, known only as they come: a bar each. Without a
/// terminal a stage that is done in seconds prints nothing.
#[derive(Default)]
pub struct Stages(Mutex<Option<Progress>>);

impl Stages {
    /// Tells how much of a stage is done.
    pub fn tell(&self, stage: &str, done: u64, total: u64) {
        let mut current = lock(&self.0);
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
