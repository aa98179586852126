//! The gate for races: every access checked, on the emulator.

use super::Local;
use super::stop::{Stop, own_gates};
use crate::candidate::Texts;
use crate::evaluate::Role;
use crate::evaluate::blame::blame;
use crate::evaluate::suite::walk;
use crate::gates::Gate;

impl Local<'_> {
    /// Checks a candidate's accesses, and once the baseline's: what that compiles, workers with
    /// changed kernels find in their copy of the cache.
    pub(super) fn races(&mut self, changed: &Texts, passed: &mut Vec<String>) -> Result<(), Stop> {
        if !self.baseline_checked {
            match self.checked(&Texts::new(), Role::Checked) {
                Err(Stop::Rejected(error)) => return Err(Stop::Broken(own_gates(&error))),
                other => other?,
            };
            self.baseline_checked = true;
        }
        for role in [Role::Checked, Role::CheckedBackwards] {
            let frames = self.checked(changed, role)?;
            passed.push(format!("{}: {frames} frames, {role:?}", Gate::Races));
        }
        Ok(())
    }

    /// How many frames a worker of this role rendered without a mistake.
    fn checked(&self, changed: &Texts, role: Role) -> Result<usize, Stop> {
        let mut worker = self.start(changed, role)?;
        let frames = walk(&self.small, self.settings.training, &mut worker.child);
        frames.map_err(|error| Stop::Rejected(blame(error)))
    }
}
