//! The gates for results.

use super::Local;
use super::stop::Stop;
use crate::candidate::Texts;
use crate::evaluate::used::baseline_fails;
use crate::evaluate::{Role, Turns};
use crate::gates::Gate;

/// Variants of kernels that no gate runs, in words.
const NOT_COMPARED: &str = "not compared: counts, overflow, lenses, poses, several ranks";

impl Local<'_> {
    /// Results on the device.
    pub(super) fn results(
        &mut self,
        changed: &Texts,
        passed: &mut Vec<String>,
    ) -> Result<(), Stop> {
        let _turn = self.turn(Turns::beside_others)?;
        let mut worker = self.start(changed, Role::Guarded)?;
        passed.extend(self.suite.check(&mut worker.child)?);
        passed.push(self.suite.check_metamorphic(&mut worker.child)?);
        let mut filled = self.start(changed, Role::Filled)?;
        let frames = self.suite.check_filled(&mut filled.child)?;
        passed.push(format!(
            "{}: NaN, and numbers in {frames} scenes",
            Gate::Memory
        ));
        let frames = self.suite.check_used(&mut filled.child)?;
        passed.push(format!("{}: used before, in {frames} scenes", Gate::Memory));
        let baseline = self.baseline_keeps_memory()?;
        self.suite.check_memory(baseline, &mut filled.child)?;
        if baseline {
            passed.push(format!("{}: what a round of frames leaves", Gate::Repeat));
        }
        passed.push(NOT_COMPARED.into());
        Ok(())
    }

    /// Whether the baseline leaves the same in memory each time; found out when first wanted.
    fn baseline_keeps_memory(&mut self) -> Result<bool, Stop> {
        if let Some(known) = self.keeps_memory {
            return Ok(known);
        }
        let mut baseline = self.start(&Texts::new(), Role::Filled)?;
        let keeps = self.suite.keeps_memory(&mut baseline.child);
        let keeps = keeps.map_err(|error| Stop::Broken(baseline_fails(&error)))?;
        self.keeps_memory = Some(keeps);
        Ok(keeps)
    }
}
