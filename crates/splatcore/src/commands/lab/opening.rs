//! What every way of running an experiment begins with.

use super::device::DeviceArgs;
use super::scenes;
use super::toolbox::{Build, digest, version};
use anyhow::{Result, bail};
use splatcore_core::Pipeline;
use splatcore_lab::Texts;
use splatcore_lab::evaluate::{Local, Settings, Toolbox};
use splatcore_lab::experiment::{Experiment, Folder, Workload};
use splatcore_lab::gates::result::Wanted;
use splatcore_lab::journal::{Event, Opened, State};

/// This build on a device.
pub struct Opening {
    /// The build.
    pub build: Build,
}

/// What evaluators need to know of an experiment.
pub struct Past {
    /// What is searched.
    pub experiment: Experiment,
    /// Everything so far, with no text of the baseline.
    pub state: State,
    /// How earlier runs began.
    opened: Vec<Opened>,
}

impl Past {
    /// What a folder says.
    ///
    /// # Errors
    /// If a text that the journal names is missing.
    pub fn of(folder: &Folder) -> Result<Self> {
        let entries = folder.journal.entries();
        let opened = entries.iter().filter_map(|entry| match &entry.event {
            Event::Opened(opened) => Some(opened.clone()),
            _ => None,
        });
        Ok(Self {
            experiment: folder.experiment.clone(),
            state: State::replay(Texts::new(), entries, &folder.blobs)?,
            opened: opened.collect(),
        })
    }
}

impl Opening {
    /// This build on a device, with the kernels that an experiment starts from.
    ///
    /// # Errors
    /// As [`Build::new`] and [`Build::starting`].
    pub fn new(device: &DeviceArgs, experiment: &Experiment) -> Result<Self> {
        Ok(Self {
            build: Build::new(device)?.starting(&experiment.task)?,
        })
    }

    /// The texts that an experiment may change.
    ///
    /// # Errors
    /// If this build has other kernels than the experiment began with.
    pub fn baseline(&self, experiment: &Experiment) -> Result<Texts> {
        check_build(experiment, &self.build)?;
        let mut baseline = self.build.kernels().clone();
        baseline.retain(|name, _| experiment.task.files.contains(name));
        Ok(baseline)
    }

    /// Judges the candidates of an experiment.
    ///
    /// # Errors
    /// If a scene cannot be read, or the baseline does not pass its own gates.
    pub fn evaluator(&self, past: &Past) -> Result<Local<'_>> {
        let experiment = &past.experiment;
        let more = past.state.counterexamples.clone();
        let settings = settings(&self.build, experiment, more)?;
        let scenes = match self.build.turns().is_some() {
            true => scenes::read(&experiment.scenes.search, settings.pipeline)?,
            false => vec![],
        };
        let here = self.build.describe();
        // A run begins with this event once the baseline has passed.
        let passed = past.opened.iter().any(|opened| {
            opened.device == here
                && opened.version == version()
                && opened.kernels == experiment.kernels
                && opened.settings == Some(experiment.identity())
        });
        Ok(match passed && settings.more.is_empty() {
            true => Local::known(&self.build, settings, scenes)?,
            false => Local::new(&self.build, settings, scenes)?,
        })
    }

    /// Refuses to go on on another card than the one whose times are in the journal, or with other
    /// settings than those that its verdicts depend on.
    ///
    /// # Errors
    /// If they are of another.
    pub fn check_journal(&self, folder: &Folder) -> Result<()> {
        check_settings(folder)?;
        let entries = folder.journal.entries().iter();
        let mut timed_on = None;
        let mut opened_on = None;
        for entry in entries {
            match &entry.event {
                Event::Opened(opened) => opened_on = Some(&opened.device),
                Event::Timed(_) | Event::Noise(_) => timed_on = opened_on,
                _ => {}
            }
        }
        let here = self.build.describe();
        match timed_on {
            Some(there) if self.build.turns().is_some() && *there != here => bail!(
                "the journal's times are of {there}, and this is {here}: times of two cards say \
                 nothing of each other; go on there, or begin a new experiment"
            ),
            _ => Ok(()),
        }
    }

    /// The first event of a run.
    pub fn opened(&self, experiment: &Experiment, sandbox: &str) -> Opened {
        Opened {
            version: version(),
            kernels: experiment.kernels.clone(),
            device: self.build.describe(),
            sandbox: sandbox.to_owned(),
            settings: Some(experiment.identity()),
        }
    }
}

/// How an experiment's candidates are judged; `more` are counterexamples of a second model.
///
/// # Errors
/// If no pipeline is called as the experiment says, or it does not run the task's files.
pub fn settings(build: &Build, experiment: &Experiment, more: Vec<Wanted>) -> Result<Settings> {
    let pipeline: Pipeline = experiment
        .task
        .pipeline
        .parse()
        .map_err(anyhow::Error::msg)?;
    let training = experiment.task.workload == Workload::Step;
    build.check_files(pipeline, training, experiment.task.files.iter())?;
    Ok(Settings {
        pipeline,
        training,
        files: experiment.task.files.clone(),
        seed: experiment.seed,
        more,
        plan: experiment.timing.clone(),
        limits: build.limits(),
    })
}

/// A journal keeps to the seed, the task, the scenes and the timing that it began with.
pub fn check_settings(folder: &Folder) -> Result<()> {
    let began = folder
        .journal
        .entries()
        .iter()
        .find_map(|entry| match &entry.event {
            Event::Opened(opened) => opened.settings.as_ref(),
            _ => None,
        });
    match began {
        Some(began) if *began != folder.experiment.identity() => bail!(
            "{}: seed, task, scenes or timing in experiment.toml are not those that the journal \
             began with; put them back, or begin a new experiment",
            folder.path.display()
        ),
        _ => Ok(()),
    }
}

/// A candidate is a change of the kernels that the experiment began with.
pub fn check_build(experiment: &Experiment, build: &Build) -> Result<()> {
    if digest(build.kernels()) == experiment.kernels {
        return Ok(());
    }
    let commit = experiment.commit.as_deref();
    bail!(
        "this build has other kernels than the experiment began with{}; build that commit, or \
         begin a new experiment",
        commit.map_or(String::new(), |commit| format!(" (commit {commit})"))
    )
}
