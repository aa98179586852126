//! `splatcore lab new`: an experiment's folder.

use super::scenes;
use super::toolbox::{Build, digest};
use crate::output::WrongUsage;
use crate::program;
use anyhow::{Result, bail};
use clap::builder::PossibleValuesParser;
use splatcore_core::Pipeline;
use splatcore_cuda::ops::op_of;
use splatcore_lab::evaluate::Toolbox;
use splatcore_lab::experiment::{Budget, Experiment, Folder, Scenes, Task, Workload};
use splatcore_lab::llm::budget::Limits;
use splatcore_lab::llm::source::Endpoints;
use splatcore_lab::starts;
use splatcore_lab::timing::Plan;
use std::path::PathBuf;

/// Begin an experiment: which kernels may be changed, on which scenes, within which budget.
///
/// EXP/experiment.toml may be edited until the first run.
#[derive(clap::Args)]
pub struct Args {
    /// New folder
    folder: PathBuf,
    /// Scenes to time on, each MODEL or MODEL@DATASET: the dataset's held-out cameras are used, or
    /// eight of an orbit
    #[arg(long = "scene", value_name = "MODEL[@DATASET]")]
    scenes: Vec<String>,
    /// Scenes that are kept from the search and looked at before a change is accepted
    #[arg(long = "held-out", value_name = "MODEL[@DATASET]")]
    held_out: Vec<String>,
    /// Size of the images [the cameras' own; for an orbit 1280x720]
    #[arg(long, value_name = "WxH", value_parser = scenes::size)]
    size: Option<[u32; 2]>,
    /// The pipeline whose kernels run
    #[arg(long, value_name = "NAME", default_value_t = Pipeline::AUTO)]
    pipeline: Pipeline,
    /// The op whose kernel files may be changed: a folder of crates/splatcore-cuda/src/ops
    #[arg(
        long,
        value_name = "OP",
        required_unless_present_any = ["files", "start"],
        conflicts_with_all = ["files", "start"]
    )]
    task: Option<String>,
    /// Kernel files that may be changed, separated by commas, in place of those of --task
    #[arg(long, value_name = "FILE,FILE", value_delimiter = ',')]
    files: Vec<String>,
    /// Start from a file that holds the method and nothing else, in place of the built-in files;
    /// --pipeline has this blend
    #[arg(long, value_name = "BLEND", conflicts_with = "files")]
    #[arg(value_parser = PossibleValuesParser::new(starts::names()))]
    start: Option<String>,
    /// What is timed: a frame, or a step of training with its backward pass
    #[arg(long, value_name = "WHAT", default_value = "frame", value_parser = workload)]
    workload: Workload,
    /// Seed of proposals, test scenes and the order of frames
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// End after so many candidates
    #[arg(long, value_name = "N", default_value_t = Budget::default().candidates)]
    candidates: u64,
    /// End after so many seconds of the device
    #[arg(long, value_name = "SECONDS", default_value_t = Budget::default().device_seconds)]
    #[arg(value_parser = seconds)]
    device_seconds: f64,
    /// End each run after so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = Budget::default().wall_seconds)]
    #[arg(value_parser = seconds)]
    wall_seconds: f64,
}

fn workload(text: &str) -> Result<Workload, String> {
    match text {
        "frame" => Ok(Workload::Frame),
        "step" => Ok(Workload::Step),
        _ => Err("give frame or step".into()),
    }
}

/// Seconds, 0 or more.
pub fn seconds(text: &str) -> Result<f64, String> {
    let seconds = text.parse().ok().filter(|&seconds: &f64| seconds >= 0.0);
    seconds.ok_or_else(|| "give seconds, 0 or more".into())
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let mut task = Task {
        pipeline: args.pipeline.to_string(),
        workload: args.workload,
        start: args.start.clone(),
        files: vec![],
    };
    let build = Build::without_device()?.starting(&task)?;
    task.files = files(&args, &task, &build)?;
    let search = scenes::list(&args.scenes, args.size)?;
    let held_out = scenes::list(&args.held_out, args.size)?;
    // Names of one file may differ.
    let file = |scene: &splatcore_lab::experiment::Scene| std::fs::canonicalize(&scene.model).ok();
    let searched: Vec<_> = search.iter().map(file).collect();
    if let Some(both) = held_out
        .iter()
        .find(|&scene| searched.contains(&file(scene)))
    {
        bail!(WrongUsage(format!(
            "{} is given by --scene and by --held-out; the search must not see what is held out",
            both.model
        )));
    }
    let experiment = Experiment {
        version: 1,
        seed: args.seed,
        commit: program::commit().map(str::to_owned),
        kernels: digest(build.kernels()),
        proposer: None,
        task,
        scenes: Scenes { search, held_out },
        budget: Budget {
            candidates: args.candidates,
            device_seconds: args.device_seconds,
            wall_seconds: args.wall_seconds,
        },
        timing: Plan::default(),
        models: Limits::default(),
        llm: Endpoints::new(),
    };
    Folder::create(&args.folder, &experiment)?;
    println!(
        "{}: {} may be changed; next: splatcore lab run {}",
        args.folder.display(),
        experiment.task.files.join(", "),
        args.folder.display()
    );
    Ok(())
}

fn files(args: &Args, task: &Task, build: &Build) -> Result<Vec<String>> {
    if let Some(start) = &args.start {
        let blend = args.pipeline.blend.name();
        if blend != *start {
            bail!(WrongUsage(format!(
                "--start {start} is another blend than {blend}, which {} runs; give a --pipeline \
                 such as aabb+{start}",
                args.pipeline
            )));
        }
        let texts = task.start_texts().map_err(anyhow::Error::msg)?;
        return Ok(texts.into_keys().collect());
    }
    if let Some(unknown) = args.files.iter().find(|f| op_of(f).is_none()) {
        bail!(WrongUsage(format!("no kernel file is called {unknown}")));
    }
    let training = args.workload == Workload::Step;
    if !args.files.is_empty() {
        build.check_files(args.pipeline, training, args.files.iter())?;
        return Ok(args.files.clone());
    }
    let used = build.files_of(args.pipeline, training)?;
    let task = args.task.as_deref().unwrap_or_default();
    let of_task = |file: &&String| op_of(file) == Some(task);
    let files: Vec<String> = used.iter().filter(of_task).cloned().collect();
    if files.is_empty() {
        let mut ops: Vec<_> = used.iter().filter_map(|file| op_of(file)).collect();
        ops.sort_unstable();
        ops.dedup();
        bail!(WrongUsage(format!(
            "{} runs no kernel of '{task}'; it runs kernels of {}",
            args.pipeline,
            ops.join(", ")
        )));
    }
    Ok(files)
}
