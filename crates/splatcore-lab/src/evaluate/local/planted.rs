//! Gates as planted changes meet them: what stops a change may stand behind a cheaper gate, or need
//! a card's times.

use super::{Local, NO_COMPILER, Stop, baseline_fails};
use crate::candidate::{Candidate, Texts};
use crate::evaluate::blame::blame;
use crate::evaluate::scene::{Scene, expected};
use crate::evaluate::{Already, Broken, Evaluator, Role};
use crate::gates::result::of_timed_size;
use crate::gates::{Gate, Rejection, Verdict};
use crate::timing::TimedScene;
use std::time::Duration;

/// How long a change that never ends is waited for.
const ENDLESS: Duration = Duration::from_secs(10);

impl Local<'_> {
    /// Why a gate cannot be run here; `None` if it can.
    pub fn cannot_run(&self, gate: Gate) -> Option<String> {
        let compiled = || self.compile(&Texts::new());
        (gate == Gate::MachineCode && compiled().is_ok_and(|code| code.is_none()))
            .then(|| NO_COMPILER.into())
    }

    /// Tries the gate for races alone, since cheaper ones would stop the candidate first; all gates
    /// of the usual order otherwise. For [`Gate::AfterTiming`] a scene of a timed size is rendered
    /// behind them, even where nothing is timed.
    ///
    /// # Errors
    /// If nothing can be judged here.
    pub fn try_gate(
        &mut self,
        gate: Option<Gate>,
        candidate: &Candidate,
    ) -> Result<Option<Rejection>, Broken> {
        if gate != Some(Gate::Races) {
            let usual = self.settings.limits.answer;
            if gate == Some(Gate::Deadline) {
                self.settings.limits.answer = usual.min(ENDLESS);
            }
            let outcome = self.evaluate(candidate, Already::default(), &|_| None, &mut |_| {});
            self.settings.limits.answer = usual;
            match outcome?.verdict {
                Verdict::Rejected(rejection) => return Ok(Some(rejection)),
                _ if gate != Some(Gate::AfterTiming) => return Ok(None),
                _ => {}
            }
        }
        let tried = match gate {
            Some(Gate::Races) => self.races(&candidate.changed, &mut Vec::new()),
            _ => self.at_timed_size(&candidate.changed),
        };
        match tried {
            Ok(()) => Ok(None),
            Err(Stop::Rejected(rejection)) => Ok(Some(rejection)),
            Err(Stop::NotRun(why)) => Err(Broken(why)),
            Err(Stop::Broken(broken)) => Err(broken),
        }
    }

    /// What [`Gate::AfterTiming`] looks at, on a drawn scene.
    fn at_timed_size(&self, changed: &Texts) -> Result<(), Stop> {
        let drawn = of_timed_size(self.settings.seed, self.settings.pipeline);
        let scene = Scene {
            scene: drawn.scene,
            timed: TimedScene {
                name: drawn.name,
                frames: drawn.frames,
                reach: 0.0,
            },
            expected: None,
        };
        let name = &scene.timed.name;
        let mut baseline = self.start_baseline()?;
        let loaded = baseline.load_as(name, &scene.scene);
        loaded.map_err(baseline_fails)?;
        let found = expected(&scene, &self.settings, self.toolbox, &mut baseline);
        let found = found.map_err(Stop::Broken)?;
        let mut worker = self.start(changed, Role::Timed)?;
        let loaded = worker.child.load_as(name, &scene.scene);
        loaded.map_err(|error| Stop::Rejected(blame(error)))?;
        Ok(found.still_rendered(name, &mut worker.child)?)
    }
}
