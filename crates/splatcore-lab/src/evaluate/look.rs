//! A first look at the times of many candidates, to know which of them to judge first.

use super::scene::Scene;
use super::toolbox::{Role, Toolbox};
use super::{Broken, Turns};
use crate::candidate::{Candidate, Texts};
use crate::timing::{drawn, turn};
use crate::worker::{Child, Limits, WorkerError};
use splatcore_core::random::Rng;
use std::time::Instant;

/// Rounds in which all of them take turns.
const ROUNDS: usize = 3;

/// Times candidates shortly, one worker each, beside one worker of the baseline. No gate looks at
/// them, and one worker differs from the next by some tenths of a percent.
pub struct Look<'a> {
    toolbox: &'a dyn Toolbox,
    limits: Limits,
    scenes: &'a [Scene],
    training: bool,
    rng: Rng,
    baseline: Child,
    _empty: tempfile::TempDir,
}

/// The time over the baseline's of each candidate, `None` where its worker failed, and the seconds
/// of the device that all took together.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Looked {
    /// In the order of the candidates.
    pub ratios: Vec<Option<f64>>,
    /// Seconds of the device.
    pub device_seconds: f64,
}

impl<'a> Look<'a> {
    /// Starts the baseline's worker.
    ///
    /// # Errors
    /// If it fails.
    pub fn start(
        toolbox: &'a dyn Toolbox,
        limits: Limits,
        scenes: &'a [Scene],
        training: bool,
        seed: u64,
    ) -> Result<Self, Broken> {
        let system = |error: std::io::Error| Broken(format!("a folder for kernels: {error}"));
        let empty = tempfile::tempdir().map_err(system)?;
        let program = toolbox.worker(empty.path(), Role::Timed).map_err(Broken)?;
        let mut baseline = Child::spawn(&program, limits).map_err(fails)?;
        ready(&mut baseline, scenes, training).map_err(fails)?;
        Ok(Self {
            toolbox,
            limits,
            scenes,
            training,
            rng: Rng::new(seed, 900),
            baseline,
            _empty: empty,
        })
    }

    /// What confines the workers.
    pub fn sandbox(&self) -> &str {
        &self.baseline.sandbox
    }

    /// Looks at candidates, all at once.
    ///
    /// # Errors
    /// If the baseline fails.
    pub fn at(&mut self, candidates: &[Candidate]) -> Result<Looked, Broken> {
        let started = candidates.iter().map(|one| self.spawn(&one.changed));
        let mut workers: Vec<_> = started.collect();
        let (scenes, training) = (self.scenes, self.training);
        // They compile side by side.
        std::thread::scope(|scope| {
            for worker in &mut workers {
                scope.spawn(move || {
                    let is_ready = worker
                        .as_mut()
                        .is_some_and(|(child, _)| ready(child, scenes, training).is_ok());
                    if !is_ready {
                        *worker = None;
                    }
                });
            }
        });
        let turns = self.toolbox.turns().map(Turns::alone).transpose()?;
        let start = Instant::now();
        let mut logs = vec![Some(0.0); workers.len()];
        for scene in self.scenes {
            let mut ratios = vec![Vec::new(); workers.len()];
            for _ in 0..ROUNDS {
                let frames = drawn(&scene.timed, &mut self.rng);
                let name = &scene.timed.name;
                let mut baseline = || turn(&mut self.baseline, name, &frames, training);
                let [before, _] = baseline().map_err(fails)?;
                let mut times = Vec::new();
                for worker in &mut workers {
                    let timed = worker
                        .as_mut()
                        .and_then(|(child, _)| turn(child, name, &frames, training).ok());
                    times.push(timed.map(|[device, _]| device));
                }
                let [after, _] = baseline().map_err(fails)?;
                for (ratios, time) in ratios.iter_mut().zip(times) {
                    ratios.extend(time.map(|time| 2.0 * time / (before + after)));
                }
            }
            for (log, mut ratios) in logs.iter_mut().zip(ratios) {
                ratios.sort_by(f64::total_cmp);
                let is_whole = ratios.len() == ROUNDS;
                *log = log
                    .filter(|_| is_whole)
                    .map(|log| log + ratios[ROUNDS / 2].ln());
            }
        }
        let device_seconds = start.elapsed().as_secs_f64();
        drop(turns);
        let count = self.scenes.len().max(1) as f64;
        Ok(Looked {
            ratios: logs
                .iter()
                .map(|log| log.map(|log| (log / count).exp()))
                .collect(),
            device_seconds,
        })
    }

    fn spawn(&self, changed: &Texts) -> Option<(Child, tempfile::TempDir)> {
        let folder = tempfile::tempdir().ok()?;
        for (name, text) in changed {
            std::fs::write(folder.path().join(name), text).ok()?;
        }
        let program = self.toolbox.worker(folder.path(), Role::Timed).ok()?;
        let child = Child::spawn(&program, self.limits).ok()?;
        Some((child, folder))
    }
}

fn fails(error: WorkerError) -> Broken {
    Broken(format!("the baseline fails while it is timed: {error}"))
}

/// Waits for a worker, and loads the scenes.
fn ready(child: &mut Child, scenes: &[Scene], training: bool) -> Result<(), WorkerError> {
    child.wait()?;
    scenes
        .iter()
        .try_for_each(|scene| scene.load(child, training))
}

#[cfg(all(test, unix))]
mod tests {
    use super::super::local::shells::Shells;
    use super::*;
    use crate::candidate::Operator;
    use crate::gates::result::of_timed_size;
    use crate::timing::TimedScene;
    use splatcore_core::Pipeline;
    use std::path::Path;

    /// Takes the seconds that the text of its kernel says, 2 without one; ends where it says `no`.
    const SCRIPT: &str = r#"time=2.0
        [ -e "$1/blend.cu" ] && time=$(cat "$1/blend.cu")
        [ "$time" = no ] && exit 1
        echo '{"answer":"ready","device":"a shell","sandbox":"a box"}'
        while read -r ask; do
            case $ask in
                *'"time"'*)
                    echo '{"answer":"timed","device":'$time',"clock":'$time',"stages":[]}' ;;
                *) echo '{"answer":"done"}' ;;
            esac
        done"#;

    fn candidate(text: &str) -> Candidate {
        Candidate {
            parents: vec![],
            operator: Operator::Manual,
            origin: None,
            changed: Texts::from([("blend.cu".into(), text.into())]),
            about: String::new(),
        }
    }

    #[test]
    fn all_are_timed_beside_the_baseline_and_one_that_fails_has_no_time() {
        let shells = Shells::new(SCRIPT, Path::new("sh"));
        let drawn = of_timed_size(1, Pipeline::VANILLA);
        let timed = TimedScene {
            name: drawn.name,
            frames: drawn.frames,
            reach: 0.0,
        };
        let scenes = [Scene {
            scene: drawn.scene,
            timed,
            expected: None,
        }];
        let mut look = Look::start(&shells, Limits::default(), &scenes, false, 1).unwrap();
        assert_eq!(look.sandbox(), "a box");
        let candidates = ["1.0", "no", "3.0"].map(candidate);
        let looked = look.at(&candidates).unwrap();
        let ratios: Vec<_> = looked
            .ratios
            .iter()
            .map(|r| r.map(|r| (r * 1e6).round()))
            .collect();
        assert_eq!(ratios, [Some(5e5), None, Some(1.5e6)]);
        assert!(looked.device_seconds > 0.0);
        assert_eq!(look.at(&[]).unwrap().ratios, []);
    }
}
