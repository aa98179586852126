//! A candidate under compute-sanitizer.

use super::{Local, Stop, kernel_folder};
use crate::candidate::Texts;
use crate::evaluate::sanitize::{Found, sanitize};
use crate::evaluate::settings::Settings;
use crate::evaluate::turns::Turns;
use crate::gates::result::for_sanitizers;
use crate::gates::sanitizer::Tool;
use crate::journal::NotRun;

impl Local<'_> {
    /// The tools of compute-sanitizer, on a card.
    pub(super) fn sanitize(
        &self,
        changed: &Texts,
        passed: &mut Vec<String>,
        not_run: &mut Vec<NotRun>,
    ) -> Result<(), Stop> {
        let Settings {
            pipeline, training, ..
        } = self.settings;
        let _turn = self.turn(Turns::beside_others)?;
        let tests = for_sanitizers(self.settings.seed, pipeline);
        for tool in Tool::ALL {
            let folder = kernel_folder(changed)?;
            let found = match self.toolbox.sanitized(folder.path(), tool) {
                None => return Ok(()),
                Some(Err(why)) => Found::NotRun(why),
                Some(Ok(program)) => {
                    sanitize(tool, &program, self.settings.limits, &tests, training)
                }
            };
            let (gate, name) = (tool.gate(), tool.name());
            match found {
                Found::Nothing(frames) => {
                    passed.push(format!("{gate}: {frames} frames, {name}"));
                }
                Found::Mistake(rejection) => return Err(Stop::Rejected(rejection)),
                Found::NotRun(why) => not_run.push(NotRun { gate, why }),
            }
        }
        Ok(())
    }
}
