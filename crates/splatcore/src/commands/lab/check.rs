//! `splatcore lab check`: every gate on anybody's edits.

use super::device::DeviceArgs;
use super::scenes;
use super::toolbox::Build;
use anyhow::{Result, bail};
use splatcore_core::Pipeline;
use splatcore_cuda::device::Replacements;
use splatcore_cuda::ops::SOURCES;
use splatcore_lab::evaluate::{Already, Evaluator, Local, Settings, Toolbox};
use splatcore_lab::journal::Event;
use splatcore_lab::timing::Plan;
use splatcore_lab::{Candidate, Operator, Texts};
use std::path::{Path, PathBuf};

/// Judge a folder of changed kernel files.
///
/// The folder holds whole files, called as the built-in ones whose place they take
/// (crates/splatcore-cuda/src/ops/*/). Exit code 0: every gate that could run let it pass.
#[derive(clap::Args)]
pub struct Args {
    /// Folder with changed kernel files
    folder: PathBuf,
    /// The pipeline to run them in: intersect+blend+backward
    #[arg(long, value_name = "NAME", default_value_t = Pipeline::AUTO)]
    pipeline: Pipeline,
    /// On a card: scenes to time on, beside the built-in kernels
    #[arg(long = "scene", value_name = "MODEL[@DATASET]")]
    scenes: Vec<String>,
    /// Size of the timed images [the cameras' own; for an orbit 1280x720]
    #[arg(long, value_name = "WxH", value_parser = scenes::size, requires = "scenes")]
    size: Option<[u32; 2]>,
    /// Look at gradients too
    #[arg(long)]
    training: bool,
    /// Seed of the test scenes
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    #[command(flatten)]
    device: DeviceArgs,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let build = Build::new(&args.device)?;
    let changed = read(&args.folder)?;
    build.check_files(args.pipeline, args.training, changed.keys())?;
    let settings = Settings {
        pipeline: args.pipeline,
        training: args.training,
        files: changed.keys().cloned().collect(),
        seed: args.seed,
        more: vec![],
        plan: Plan::default(),
        limits: build.limits(),
    };
    let scenes = match (build.turns().is_some(), args.scenes.is_empty()) {
        (true, false) => scenes::read(&scenes::list(&args.scenes, args.size)?, args.pipeline)?,
        (false, false) => bail!("--scene: times need a card, and kernels run on the emulator here"),
        (_, true) => vec![],
    };
    let mut local = Local::new(&build, settings, scenes)?;
    let candidate = Candidate {
        parents: vec![],
        operator: Operator::Manual,
        origin: None,
        changed,
        about: args.folder.display().to_string(),
    };
    let mut log = |event: Event| {
        if let Event::Checked(checked) = event {
            checked
                .passed
                .iter()
                .for_each(|line| println!("passed   {line}"));
        }
    };
    let outcome = local.evaluate(&candidate, Already::default(), &|_| None, &mut log)?;
    for not_run in &outcome.not_run {
        println!("not run  {}: {}", not_run.gate, not_run.why);
    }
    match outcome.verdict {
        splatcore_lab::Verdict::Rejected(rejection) => bail!("rejected by {rejection}"),
        verdict => println!("verdict  {verdict}"),
    }
    Ok(())
}

/// The files of a folder, each a kernel file.
pub fn read(folder: &Path) -> Result<Texts> {
    if folder.is_file() {
        bail!(
            "{} is a file; give the folder that holds it",
            folder.display()
        );
    }
    let files = Replacements::of_folder(folder, SOURCES);
    let files = files.map_err(anyhow::Error::msg)?;
    if files.is_empty() {
        bail!("{} holds no kernel file", folder.display());
    }
    Ok(files
        .iter()
        .map(|(name, text)| (name.to_owned(), text.to_owned()))
        .collect())
}
