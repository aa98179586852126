//! `splatcore train`: photos to a scene.

use crate::backends::{Card, DeviceArgs};
use crate::load::PhotoMemoryArgs;
use crate::output::{self, WrongUsage, counted, duration, quote};
use crate::ranks::{self, Cards};
use crate::run::{self, Files, Finished, Init, Job, Show, Written};
use crate::scene_source::Facts;
use crate::viewing::ViewerArgs;
use crate::{program, remedy};
use anyhow::{Result, bail};
use splatcore_train::config::{ConfigError, Depths, Flags, NormalAxes};
use splatcore_train::memory::Bytes;
use splatcore_train::{Config, DepthScore, RegionScore, ResolvedConfig, TrainError};
use std::path::{Path, PathBuf};

/// Turn posed photos into a scene of Gaussians.
///
/// Writes scene.ply, metrics.json, config.toml (the settings, for --config),
/// checkpoint.safetensors (for --resume), report.html, cameras.json (the photos' cameras, in
/// INRIA's format) and run.json (dataset, up) into the folder. Ctrl-C saves a checkpoint and says
/// how to go on.
#[derive(clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Args {
    /// The photos: a folder with a COLMAP model, transforms.json or cameras of another program
    /// (`splatcore info` says which are read), or the file of cameras
    dataset: PathBuf,
    /// Folder for the results; must be empty or new, unless --resume or --overwrite is given
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,
    /// Take settings from a file, for example the config.toml of another run; flags override it
    #[arg(long, value_name = "FILE.toml")]
    config: Option<PathBuf>,
    /// Go on from the checkpoint in DIR with the settings of its config.toml: the result is the
    /// same as without the interruption
    #[arg(long, conflicts_with = "overwrite")]
    resume: bool,
    /// Replace the run that DIR holds; other files there stay
    #[arg(long)]
    overwrite: bool,
    /// Start from the Gaussians of a scene in place of the dataset's points, or from the points of
    /// a scan or a mesh (PLY or OBJ, a million at most), with positions in the photos' frame; or
    /// with `depths` from 100,000 points on the surfaces that --depths shows, as it does unasked
    /// where the dataset has no points.
    /// A run that is to keep their number takes --densify-until 0 and --prune-floaters 0. Costs
    /// nothing
    #[arg(long, value_name = "SCENE|POINTS|depths", conflicts_with = "resume")]
    init: Option<PathBuf>,
    /// Folder of the photos in place of `images`, for example images_4: smaller photos decode
    /// faster and take less memory; detail finer than their pixels is lost. --resume knows it
    #[arg(long, value_name = "FOLDER")]
    images: Option<String>,
    /// Turn the scene upright: -y is up in it, as most programs expect, by what the dataset's
    /// format or its cameras say (the line `up:` tells). Cameras and points are turned before the
    /// training; `eval` and the other commands turn the photos' cameras likewise. Costs nothing
    #[arg(long)]
    upright: bool,
    /// Stop when so many seconds have been trained (as metrics.json counts them: over all resumes,
    /// without loading and measuring) and end as usual, with all files; --resume goes on from
    /// there. The schedules still follow --iterations and are cut off; --budget completes them
    #[arg(long, value_name = "SECONDS", value_parser = seconds, conflicts_with = "budget")]
    time_limit: Option<f64>,
    /// Show the run in a browser while it trains, and its scene afterwards, until Ctrl-C: the scene
    /// from any side, photos beside renders, curves, pause and stop. The result is the same, bit
    /// for bit, as without
    #[arg(long)]
    view: bool,
    /// Most of the time that viewing may take from training; 0.2 is a fifth
    #[arg(
        long,
        value_name = "SHARE",
        default_value_t = 0.2,
        requires = "view",
        value_parser = share,
    )]
    view_share: f64,
    /// Browsers of other machines, which --listen lets look, may also pause and stop the run
    #[arg(long, requires = "listen")]
    allow_control: bool,
    #[command(flatten)]
    viewer: ViewerArgs,
    #[command(flatten)]
    device: DeviceArgs,
    /// Train on several cards of this machine: their number, or all. Give --batch at least this
    /// number, so that every card renders a photo of each step. The result is the same, bit for
    /// bit, as with one card and the same --batch. Under torchrun, Slurm, Open MPI or Kubernetes
    /// leave this out: the cards are those of the ranks that were started
    #[arg(long, value_name = "N|all", conflicts_with = "device")]
    cards: Option<Cards>,
    /// With fewer photos in a step than cards: let several cards render one photo, where otherwise
    /// some wait. They exchange far more, so this is for cards of one machine with NVLink. The
    /// result is the same, bit for bit (tested on an emulator)
    #[arg(long)]
    split_photos: bool,
    /// Use at most so much of the card's memory, for example 16G [what is free]. A larger scene
    /// trains all the same: what the card has no room for, first the optimiser's state and the
    /// spherical harmonics, lies in the computer's memory, and steps move what they need. With
    /// --optimizer sparse-adam that is what their photos see, else all of it. The result is the
    /// same, bit for bit, whatever the memory. Of several cards each uses so much; they divide the
    /// scene before anything leaves them
    #[arg(long, value_name = "SIZE")]
    memory: Option<Bytes>,
    /// Keep what the card has no memory for in files of this folder (of a fast disk: NVMe), in
    /// place of the computer's memory, which then needs no more than 708 bytes a Gaussian, for
    /// checkpoints. A disk is slower by far than memory, which keeps as much of the files as is
    /// free. Linux, and a driver with which kernels reach memory of files: the open kernel module
    /// of NVIDIA's. The files vanish with the process; the result is the same, bit for bit
    #[arg(long, value_name = "DIR")]
    memory_files: Option<PathBuf>,
    #[command(flatten)]
    photos: PhotoMemoryArgs,
    #[command(flatten)]
    settings: Flags,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    if args.viewer.given() && !args.view {
        bail!(WrongUsage(
            "--port, --listen and --no-browser are about the viewer: add --view".into()
        ));
    }
    let files = Files::of(&args.output);
    let base = match args.resume && args.config.is_none() && files.config.is_file() {
        true => Some(files.config.clone()),
        false => args.config.clone(),
    };
    let images = match args.resume && args.images.is_none() {
        true => Facts::images_of_run(&files),
        false => args.images,
    };
    let Flags(typed) = args.settings;
    let config = ResolvedConfig::from_layers(base.as_deref(), &typed)
        .map_err(|error| blame(error, &typed))?;
    let init = start_of(args.init, &config)?;
    let normals = &config.depth.normals;
    let of_world = normals.from != Depths::None && normals.axes == NormalAxes::World;
    if args.upright && of_world {
        bail!(WrongUsage(
            "--normal-frame world is of the dataset's axes, which --upright turns: leave one out"
                .into()
        ));
    }
    let resume_command = resume_command(
        &args.dataset,
        &args.output,
        images.as_deref(),
        Card {
            device: args.device.device,
            memory: args.memory,
            files: args.memory_files.as_deref(),
        },
        args.photos,
        (args.cards, args.split_photos),
    );
    let job = Job {
        dataset: args.dataset,
        images,
        init,
        folder: args.output,
        device: args.device.device,
        memory: args.memory,
        memory_files: args.memory_files,
        photo_memory: args.photos,
        cards: args.cards,
        split_photos: args.split_photos,
        config,
        resume: args.resume,
        overwrite: args.overwrite,
        upright: args.upright,
        time_limit: args.time_limit,
        begun: program::begun(),
        show: args.view.then_some(Show {
            viewer: args.viewer,
            allow_control: args.allow_control,
            share: args.view_share,
        }),
        resume_command,
    };
    let Finished {
        metrics,
        scene,
        live,
    } = run::run(&job).map_err(|error| match error.downcast_ref::<TrainError>() {
        Some(TrainError::Batch { .. }) if typed.batch.is_some() => {
            WrongUsage(format!("{error}; choose a smaller --batch")).into()
        }
        _ => error,
    })?;
    say(&metrics, &files)?;
    match live {
        Some(live) => run::stay(live, scene, &job, true),
        None => Ok(()),
    }
}

/// Prints what came of the run.
fn say(metrics: &Written, files: &Files) -> Result<()> {
    let found = &metrics.evaluation;
    let measured = if metrics.split == "test" {
        "held-out"
    } else {
        "training"
    };
    let time = metrics
        .breakdown
        .as_ref()
        .map_or(String::new(), |breakdown| format!("\ntime     {breakdown}"));
    let aligned = found.psnr_aligned.map_or(String::new(), |psnr| {
        format!(", {psnr:.2} dB with colours aligned,")
    });
    let depth = found
        .depth
        .map_or(String::new(), |score| told(score, measured));
    let region = found.region.map_or(String::new(), |score| {
        format!("\nregion   {}", shown(score))
    });
    let ranks = ranks::in_a_line(&metrics.ranks);
    let ranks = ranks.map_or(String::new(), |line| format!("\nranks    {line}"));
    output::print(&format!(
        "PSNR {:.2} dB, SSIM {:.4}{aligned} on {}{depth}{region}\n{}, {} in {}{time}{ranks}\n\
         scene    {}\nreport   {}",
        found.psnr,
        found.ssim,
        counted(found.views.len(), &format!("{measured} photo")),
        counted(found.gaussians, "Gaussian"),
        counted(metrics.steps as usize, "step"),
        duration(metrics.seconds),
        files.scene.display(),
        files.report.display()
    ))
}

/// What the run starts from in place of the dataset's points.
fn start_of(typed: Option<PathBuf>, config: &ResolvedConfig) -> Result<Option<Init>> {
    let init = typed.map(Init::from);
    if matches!(init, Some(Init::Depths)) && config.depth.from == Depths::None {
        let message = "--init depths starts from what --depths reads: add --depths auto";
        bail!(WrongUsage(message.into()));
    }
    Ok(init)
}

/// How good the pixels are that show a region.
fn shown(score: RegionScore) -> String {
    format!(
        "PSNR {:.2} dB where it is shown, {:.0} % of the pixels",
        score.psnr,
        100.0 * score.share
    )
}

/// A line of how wrong the depths of `measured` photos are.
fn told(score: DepthScore, measured: &str) -> String {
    format!(
        "\ndepth    {:.2} % off (RMSE {:.4} units) where {measured} photos know it",
        100.0 * score.absolute_relative,
        score.root_mean_square
    )
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err(format!(
            "'{text}' is not a share; write a number above 0, at most 1"
        )),
    }
}

/// Who typed a value that makes no sense, or that nothing looks at, used the command wrongly; who
/// has it in a file has a wrong file.
pub fn blame(error: ConfigError, typed: &Config) -> anyhow::Error {
    let is_typed = match &error {
        ConfigError::Value { key, .. } => typed.gives(key),
        ConfigError::Idle { .. } => true,
        _ => false,
    };
    match is_typed {
        true => WrongUsage(error.spelled(&remedy::typed)).into(),
        false => error.into(),
    }
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds > 0.0 => Ok(seconds),
        _ => Err(format!("'{text}' is not a number of seconds above 0")),
    }
}

/// The command that goes on with a run, ready for a shell. Settings are in the run's config.toml.
fn resume_command(
    dataset: &Path,
    folder: &Path,
    images: Option<&str>,
    card: Card<'_>,
    photos: PhotoMemoryArgs,
    (cards, split_photos): (Option<Cards>, bool),
) -> String {
    let quoted = |path: &Path| quote(&path.to_string_lossy());
    let images = images.map_or(String::new(), |name| format!(" --images {}", quote(name)));
    let Card {
        device,
        memory,
        files,
    } = card;
    let device = device.map_or(String::new(), |number| format!(" --device {number}"));
    let memory = memory.map_or(String::new(), |size| format!(" --memory {}", size.typed()));
    let files = files.map_or(String::new(), |folder| {
        format!(" --memory-files {}", quoted(folder))
    });
    let photos = photos.photo_memory.map_or(String::new(), |size| {
        format!(" --photo-memory {}", size.typed())
    });
    let cards = cards.map_or(String::new(), |cards| format!(" --cards {cards}"));
    let split = if split_photos { " --split-photos" } else { "" };
    format!(
        "splatcore train {} -o {}{images}{device}{memory}{files}{photos}{cards}{split} --resume",
        quoted(dataset),
        quoted(folder)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_resume_command_survives_a_shell() {
        let any = Card::default();
        let one = (None, false);
        let (data, out) = (Path::new("my photos"), Path::new("out"));
        let command = resume_command(data, out, None, any, PhotoMemoryArgs::default(), one);
        assert_eq!(command, "splatcore train 'my photos' -o out --resume");
        let command = resume_command(
            Path::new("it's"),
            Path::new("a/b"),
            Some("images_4"),
            Card {
                device: Some(1),
                memory: Some(Bytes(3 << 29)),
                files: Some(Path::new("/nvme/it's")),
            },
            PhotoMemoryArgs {
                photo_memory: Some(Bytes(8 << 30)),
            },
            (Some(Cards::Count(2)), true),
        );
        assert_eq!(
            command,
            concat!(
                r"splatcore train 'it'\''s' -o a/b --images images_4 --device 1 --memory 1536M ",
                r"--memory-files '/nvme/it'\''s' --photo-memory 8G --cards 2 --split-photos ",
                r"--resume"
            )
        );
    }
}
