//! `splatcore lab profile`: where the time goes, as models are told.

use super::device::DeviceArgs;
use super::scenes;
use super::toolbox::{Build, digest};
use crate::output;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use splatcore_core::Pipeline;
use splatcore_core::backend::{Backend, Timed};
use splatcore_cuda::ops::op_of;
use splatcore_lab::Texts;
use splatcore_lab::evaluate::Toolbox;
use splatcore_lab::experiment::{Experiment, Folder, Workload};
use splatcore_lab::profile::{Kernel, Profile, Stage, to_markdown};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Say where the time of an experiment's frames goes: stages, counts, and what the task's kernels
/// take of a card.
///
/// Times and counts need a card; resources need NVRTC only.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of the experiment
    folder: PathBuf,
    /// As JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    device: DeviceArgs,
}

/// Runs the command.
pub fn run(args: &Args) -> Result<()> {
    let folder = Folder::open(&args.folder)?;
    let build = Build::new(&args.device)?.starting(&folder.experiment.task)?;
    let profile = of(&build, &folder.experiment)?;
    match args.json {
        true => output::print_json(&profile),
        false => output::print(&to_markdown(&profile)),
    }
}

/// Where an experiment's folder keeps the profile that models are told.
const KEPT: &str = "profile.json";

/// A profile as a folder keeps it.
#[derive(Serialize, Deserialize)]
struct Kept {
    /// Digest of this build's kernels.
    kernels: String,
    /// Digest of the experiment's settings, the pipeline and the scenes among them.
    experiment: String,
    profile: Profile,
}

/// The profile of an experiment's baseline, measured once on a device and kept in its folder:
/// prompts hold its times, and a run that goes on asks what it has asked before. One of another
/// device, of other kernels or of another experiment is measured anew, with a line.
///
/// # Errors
/// As [`of`], and if the folder cannot be written.
pub fn kept(build: &Build, experiment: &Experiment, folder: &Path) -> Result<Profile> {
    let path = folder.join(KEPT);
    let (kernels, identity) = (digest(build.kernels()), experiment.identity());
    let text = std::fs::read(&path).ok();
    let known = text.as_deref().map(serde_json::from_slice::<Kept>);
    let other = match known {
        None => None,
        Some(Err(_)) => Some("is not what this build writes"),
        Some(Ok(known)) if is_of_another(&known.profile, build) => Some("is of another device"),
        Some(Ok(known)) if known.kernels != kernels => Some("is of other kernels"),
        Some(Ok(known)) if known.experiment != identity => {
            Some("is of another pipeline, other scenes or other settings")
        }
        Some(Ok(known)) => return Ok(known.profile),
    };
    if let Some(other) = other {
        eprintln!("{} {other}: measuring anew", path.display());
    }
    let known = Kept {
        kernels,
        experiment: identity,
        profile: of(build, experiment)?,
    };
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    serde_json::to_writer_pretty(&mut file, &known)?;
    file.persist(&path)
        .with_context(|| path.display().to_string())?;
    Ok(known.profile)
}

/// Whether a profile is of another device than a build's. The emulator keeps the profile of a card,
/// since its own has no times.
fn is_of_another(profile: &Profile, build: &Build) -> bool {
    profile.device != build.describe() && (build.turns().is_some() || profile.stages.is_empty())
}

/// The profile of an experiment's baseline.
///
/// # Errors
/// If a scene cannot be read or rendered.
pub fn of(build: &Build, experiment: &Experiment) -> Result<Profile> {
    let pipeline: Pipeline = experiment
        .task
        .pipeline
        .parse()
        .map_err(anyhow::Error::msg)?;
    let training = experiment.task.workload == Workload::Step;
    let mut profile = Profile {
        device: build.describe(),
        kernels: kernels(build, experiment, pipeline, training)?,
        ..Profile::default()
    };
    // The built-in kernels, also for a start: its machine code is theirs, and they count.
    if let Some(backend) = build.card() {
        measure(&mut profile, &backend, experiment, pipeline, training)?;
        let files = build.files_of(pipeline, training)?;
        for stage in &mut profile.stages {
            // A stage is called after its op.
            let of_stage = |file: &&String| op_of(file).is_some_and(|op| stage.name.contains(op));
            stage.files = files.iter().filter(of_stage).cloned().collect();
        }
    }
    Ok(profile)
}

/// What the machine code of the task's kernels takes.
fn kernels(
    build: &Build,
    experiment: &Experiment,
    pipeline: Pipeline,
    training: bool,
) -> Result<Vec<Kernel>> {
    let compiled = build.compile(&Texts::new(), pipeline, training, &[]);
    let Some(compiled) = compiled.map_err(|error| anyhow::anyhow!("{error}"))? else {
        return Ok(vec![]);
    };
    let files = build.files_of_programs(pipeline, training)?;
    let mut kernels = Vec::new();
    for (program, code) in &compiled.programs {
        let Some(files) = files.get(program) else {
            continue;
        };
        if !files
            .iter()
            .any(|file| experiment.task.files.contains(file))
        {
            continue;
        }
        for (name, kernel) in &code.kernels {
            kernels.push(Kernel {
                name: name.clone(),
                files: files.clone(),
                registers: Some(kernel.registers),
                shared_bytes: Some(kernel.shared_bytes),
                spill_bytes: Some(kernel.stack_bytes),
                block_threads: Some(kernel.most_threads).filter(|&threads| threads > 0),
                ..Kernel::default()
            });
        }
    }
    Ok(kernels)
}

/// Times and counts, means over the scenes' frames.
fn measure(
    profile: &mut Profile,
    backend: &dyn Backend,
    experiment: &Experiment,
    pipeline: Pipeline,
    training: bool,
) -> Result<()> {
    const PASSES: usize = 5;
    let list = scenes::read(&experiment.scenes.search, pipeline)?;
    let mut stages: Vec<(String, f64)> = Vec::new();
    let mut counters: BTreeMap<String, f64> = BTreeMap::new();
    let (mut frames, mut seconds) = (0.0, 0.0);
    for scene in &list {
        let mut renderer = backend.renderer(&scene.scene)?;
        for frame in &scene.timed.frames {
            let options = frame.options().map_err(anyhow::Error::msg)?;
            let camera = frame.camera();
            let counts = renderer.counts(&camera, &options)?;
            let numbers = [
                ("visible Gaussians", Some(counts.visible)),
                ("pairs of tile and splat", Some(counts.pairs)),
                ("fragments evaluated", counts.fragments_evaluated),
                ("fragments blended", counts.fragments_blended),
            ];
            for (name, count) in numbers {
                if let Some(count) = count {
                    *counters.entry(name.into()).or_default() += count as f64;
                }
            }
            for pass in 0..=PASSES {
                let kind = if training {
                    Timed::TrainingStages
                } else {
                    Timed::Stages
                };
                let times = renderer.stage_times(&camera, &options, kind)?;
                let whole = renderer.stage_times(&camera, &options, Timed::Frame)?;
                // The first one warms up.
                if pass == 0 {
                    continue;
                }
                frames += 1.0;
                seconds += whole.iter().map(|(_, seconds)| seconds).sum::<f64>();
                for (name, seconds) in times {
                    match stages.iter_mut().find(|(known, _)| known == name) {
                        Some((_, sum)) => *sum += seconds,
                        None => stages.push((name.to_owned(), seconds)),
                    }
                }
            }
        }
    }
    let views = (frames / PASSES as f64).max(1.0);
    counters.values_mut().for_each(|count| *count /= views);
    profile.counters = counters;
    let us = |seconds: f64| 1e6 * seconds / f64::max(frames, 1.0);
    let sum: f64 = stages.iter().map(|(_, seconds)| seconds).sum();
    profile.frame_us = us(if training { sum } else { seconds });
    let stage = |(name, seconds): (String, f64)| Stage {
        name,
        us: us(seconds),
        files: vec![],
    };
    profile.stages = stages.into_iter().map(stage).collect();
    profile.workload = format!("{} scenes, {views} views", list.len());
    Ok(())
}
