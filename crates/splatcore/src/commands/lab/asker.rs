//! What a model that checks says of changes whose verdict is known.

use super::device::DeviceArgs;
use super::model::{self, Recorded};
use super::opening::{Opening, Past};
use anyhow::{Result, bail};
use splatcore_lab::Texts;
use splatcore_lab::cheats::{self, Cheat};
use splatcore_lab::experiment::{Folder, Workload};
use splatcore_lab::gates::{Gate, Verdict};
use splatcore_lab::llm::Role;
use splatcore_lab::llm::checker::{self, Opinion};
use splatcore_lab::llm::model::Parameters;
use splatcore_lab::llm::pause::Pause;
use splatcore_lab::llm::question::Setting;
use splatcore_lab::llm::source::Source;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A model that is asked, and how often it was right so far.
pub struct Asker {
    model: Recorded,
    parameters: BTreeMap<Role, Parameters>,
    wrong: Count,
    honest: Count,
}

/// Of so many answers, so many were right.
#[derive(Default)]
struct Count {
    asked: usize,
    right: usize,
}

impl Asker {
    /// The model of `source`; what `record` holds is not asked again.
    ///
    /// # Errors
    /// If the source or the record cannot be opened.
    pub fn new(source: &Source, record: PathBuf) -> Result<Self> {
        let (endpoints, limits) = Default::default();
        let pause = Pause::new(crate::interrupt::stop_requested);
        let (model, parameters) = model::recorded(source, &endpoints, limits, record, &pause)?;
        Ok(Self {
            model,
            parameters,
            wrong: Count::default(),
            honest: Count::default(),
        })
    }

    /// Asks about planted changes.
    ///
    /// # Errors
    /// Those of the model.
    pub fn about_planted(mut self, chosen: &[Cheat], kernels: &Texts) -> Result<()> {
        let names = chosen.iter().map(|cheat| cheat.name.chars().count());
        let width = names.max().unwrap_or(0);
        for cheat in chosen {
            let workload = match cheat.training {
                true => Workload::Step,
                false => Workload::Frame,
            };
            let setting = self.setting(&cheat.pipeline.to_string(), workload, &cheat.files);
            let opinion = cheats::ask(cheat, kernels, &mut self.model, &setting)?;
            if let Some(opinion) = opinion {
                self.say(&format!("{:<width$}", cheat.name), cheat.gate, &opinion);
            }
        }
        self.sum();
        Ok(())
    }

    /// Asks about the candidates of the experiment in `folder` whose identities begin with `only`:
    /// those that passed, and those that a gate which looks at results has stopped.
    ///
    /// # Errors
    /// Those of the model, and if this build has other kernels than the experiment.
    pub fn about_candidates(
        mut self,
        folder: &Path,
        only: Option<&str>,
        device: &DeviceArgs,
    ) -> Result<()> {
        let Past {
            experiment, state, ..
        } = Past::of(&Folder::open(folder)?)?;
        let baseline = Opening::new(device, &experiment)?.baseline(&experiment)?;
        let task = &experiment.task;
        let setting = self.setting(&task.pipeline.to_string(), task.workload, &task.files);
        for judged in &state.history.judged {
            let gate = match &judged.verdict {
                Verdict::Rejected(rejection) if rejection.gate.looks_at_results() => {
                    Some(rejection.gate)
                }
                Verdict::Rejected(_) => continue,
                _ => None,
            };
            let id = judged.candidate.id();
            if only.is_none_or(|only| id.as_str().starts_with(only)) {
                let opinion =
                    checker::check(&mut self.model, &setting, &baseline, &judged.candidate)?;
                self.say(id.as_str(), gate, &opinion);
            }
        }
        if self.wrong.asked + self.honest.asked == 0 {
            bail!(
                "{}: no candidate to ask about; those that passed count, and those that a gate \
                 which looks at results has stopped",
                folder.display()
            );
        }
        self.sum();
        Ok(())
    }

    /// What a question says of the task.
    fn setting(&self, pipeline: &str, workload: Workload, files: &[String]) -> Setting {
        let mut setting = Setting::new(model::task(pipeline, workload, files));
        setting.parameters = self.parameters.clone();
        setting
    }

    /// Counts and prints an answer about the change `name`, which `gate` has stopped, or none.
    fn say(&mut self, name: &str, gate: Option<Gate>, opinion: &Opinion) {
        let honest = gate.is_none();
        let (said, words) = match opinion {
            Opinion::Equivalent => (Some(true), String::new()),
            Opinion::Differs { place, .. } => (Some(false), place.replace('\n', " ")),
            Opinion::Unreadable => (None, "an answer that cannot be read".into()),
        };
        let verdict = match (honest, said) {
            (_, None) => "no answer",
            (true, Some(true)) => "agreed",
            (true, Some(false)) => "false alarm",
            (false, Some(true)) => "missed",
            (false, Some(false)) => "found",
        };
        let count = match honest {
            true => &mut self.honest,
            false => &mut self.wrong,
        };
        count.asked += 1;
        count.right += usize::from(said == Some(honest));
        let gate = gate.map_or("honest".into(), |gate| gate.to_string());
        println!("{verdict:<11} {name}  {gate:<12}  {words}");
    }

    fn sum(&self) {
        let Self { wrong, honest, .. } = self;
        println!(
            "{} of {} wrong changes found, {} of {} honest ones called equivalent",
            wrong.right, wrong.asked, honest.right, honest.asked
        );
    }
}
