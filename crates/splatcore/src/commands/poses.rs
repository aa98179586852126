//! `splatcore poses`: the cameras of photos or of a video.

use crate::interrupt::Guard;
use crate::output::{self, WrongUsage, counted, quote, thousands};
use crate::progress::{self, Progress};
use anyhow::{Result, bail};
use clap::builder::PossibleValuesParser;
use serde::Serialize;
use splatcore_poses::{
    CAMERA_MODELS, Cameras, Job, Mapper, Matching, Observer, Outcome, PosesError, Report,
    find_poses,
};
use std::path::PathBuf;

/// Find the cameras of photos or of a video: a dataset for `train`.
///
/// Runs COLMAP (3.8 or later) or pycolmap, which must be installed. After Ctrl-C the same command
/// goes on; with more photos in the folder it adds them. The exit code is 1 if fewer than half of
/// the photos got a pose.
#[derive(clap::Args)]
pub struct Args {
    /// A folder of photos (JPEG, PNG, WebP; subfolders too), or a video. Y4M and Motion JPEG are
    /// read as they are, other videos by ffmpeg
    #[arg(value_name = "PHOTOS_OR_VIDEO")]
    input: PathBuf,
    /// The dataset's folder: photos as hard links or copies in `images`, the model in `sparse/0`
    #[arg(
        short,
        long,
        value_name = "DATASET",
        required_unless_present = "in_place"
    )]
    output: Option<PathBuf>,
    /// PHOTOS is the folder `images` of the dataset: write beside it, copy nothing
    #[arg(long, conflicts_with = "output")]
    in_place: bool,
    /// Begin anew; what an earlier call left in DATASET is not used
    #[arg(long)]
    overwrite: bool,
    /// Search features in photos scaled to this many pixels on the longer side [the program's own
    /// limit, 3200]. Less is faster and less exact; the dataset keeps the photos' size
    #[arg(long, value_name = "PX", value_parser = clap::value_parser!(u32).range(100..))]
    max_size: Option<u32>,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    how: How,
}

/// How cameras are found, for `poses` and `make`.
#[derive(clap::Args)]
pub struct How {
    /// The COLMAP program [`colmap` on PATH]
    #[arg(long, value_name = "PROGRAM")]
    colmap: Option<PathBuf>,
    /// Use the pycolmap of this Python [that of python3, if there is no COLMAP]
    #[arg(long, value_name = "PYTHON", conflicts_with = "colmap")]
    python: Option<PathBuf>,
    /// Do not use the graphics card. It is used if the program was built with CUDA
    #[arg(long)]
    no_gpu: bool,
    /// Which photos are compared: exhaustive (each with each; time grows with the square), similar
    /// (each with the 12 that look most like it; COLMAP only), sequential (each with the next ones
    /// by name), or auto: sequential for videos, for 80 frames
    /// of one or more (names that count up in equal steps, no camera in EXIF), and for more than
    /// 300 photos with names that count up
    #[arg(long, value_name = "NAME", default_value = "auto")]
    #[arg(value_parser = PossibleValuesParser::new(Matching::NAMES))]
    matching: String,
    /// COLMAP's vocabulary tree, with which sequential matching finds places seen before
    #[arg(long, value_name = "FILE")]
    vocabulary: Option<PathBuf>,
    /// How poses are made: global (all at once: faster, COLMAP 4 or glomap), incremental (photo by
    /// photo), or auto: global where it is there and succeeds
    #[arg(long, value_name = "NAME", default_value = "auto")]
    #[arg(value_parser = PossibleValuesParser::new(Mapper::NAMES))]
    mapper: String,
    /// Kind of lens [OPENCV; SIMPLE_RADIAL for a camera of fewer than 20 photos, which cannot fix
    /// eight parameters]
    #[arg(long, value_name = "MODEL", value_parser = PossibleValuesParser::new(CAMERA_MODELS))]
    camera_model: Option<String>,
    /// Which photos share a camera (lens and zoom): one (all), folder, each (none), or auto: those
    /// of one size with the same EXIF camera and focal length
    #[arg(long, value_name = "WHICH", default_value = "auto")]
    #[arg(value_parser = PossibleValuesParser::new(Cameras::NAMES))]
    cameras: String,
    /// Of a folder of photos use the first and every Nth after it only
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    every: Option<u32>,
    /// Frames to take from a video, the sharpest of each of N windows [2 a second, from 40 to 300].
    /// More take longer
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100_000))]
    frames: Option<u32>,
    /// Write frames of a video as PNG, without loss, in place of JPEG of quality 95. Some five
    /// times the size
    #[arg(long)]
    png: bool,
    /// Do not use the gyroscope of a video (GPMF of GoPro's cameras, CAMM). It tells how the camera
    /// turned while a frame was read line by line, and training then takes longer
    #[arg(long)]
    no_gyro: bool,
    /// The ffmpeg program [`ffmpeg` on PATH]
    #[arg(long, value_name = "PROGRAM")]
    ffmpeg: Option<PathBuf>,
}

impl How {
    /// The first flag that was given which says how cameras are found, not by which program.
    pub fn given(&self) -> Option<&'static str> {
        let flags = [
            ("--matching", self.matching != "auto"),
            ("--vocabulary", self.vocabulary.is_some()),
            ("--mapper", self.mapper != "auto"),
            ("--camera-model", self.camera_model.is_some()),
            ("--cameras", self.cameras != "auto"),
            ("--every", self.every.is_some()),
            ("--frames", self.frames.is_some()),
            ("--png", self.png),
            ("--no-gyro", self.no_gyro),
        ];
        flags
            .iter()
            .find(|(_, given)| *given)
            .map(|(flag, _)| *flag)
    }

    /// What is asked for.
    ///
    /// # Errors
    /// A name that is none of the choices, a flag that the input has no use for.
    pub fn job(self, input: PathBuf, dataset: PathBuf) -> Result<Job> {
        let flags = [
            (
                "--frames",
                self.frames.is_some() && input.is_dir(),
                "a video",
            ),
            ("--png", self.png && input.is_dir(), "a video"),
            ("--no-gyro", self.no_gyro && input.is_dir(), "a video"),
            (
                "--every",
                self.every.is_some() && input.is_file(),
                "a folder",
            ),
        ];
        if let Some((flag, _, of)) = flags.iter().find(|(_, unused, _)| *unused) {
            bail!(WrongUsage(format!(
                "{flag} has no effect here: it is about {of}, and {} is none; leave it out",
                input.display()
            )));
        }
        Ok(Job {
            input,
            dataset,
            colmap: self.colmap,
            python: self.python,
            no_gpu: self.no_gpu,
            matching: self.matching.parse().map_err(WrongUsage)?,
            vocabulary: self.vocabulary,
            mapper: self.mapper.parse().map_err(WrongUsage)?,
            camera_model: self.camera_model,
            cameras: self.cameras.parse().map_err(WrongUsage)?,
            every: self.every,
            frames: self.frames,
            png: self.png,
            no_gyro: self.no_gyro,
            ffmpeg: self.ffmpeg,
            ..Job::default()
        })
    }
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    let json = args.json;
    let job = job(args)?;
    let mut watch = Watch::start()?;
    let outcome = match find_poses(&job, &mut watch) {
        Err(PosesError::Choices(problem)) => return Err(WrongUsage(problem).into()),
        outcome => outcome?,
    };
    drop(watch);
    match json {
        true => output::print_json(&Printed {
            dataset: job.dataset.display().to_string(),
            program: &outcome.program,
            mapper: &outcome.mapper,
            already: outcome.already,
            report: &outcome.report,
        })?,
        false => output::print(&text(&job, &outcome))?,
    }
    let report = &outcome.report;
    if !report.usable {
        bail!(
            "only {} of {} have a pose, too few to train on; follow the advice above",
            report.registered,
            counted(report.photos, "photo")
        );
    }
    Ok(())
}

fn job(args: Args) -> Result<Job> {
    let dataset = match (&args.output, args.in_place) {
        (Some(output), _) => output.clone(),
        (None, _) => {
            let full = std::fs::canonicalize(&args.input).unwrap_or_default();
            if !full.is_dir() || !full.ends_with("images") {
                let problem =
                    "with --in-place, PHOTOS is a folder named `images`; else give -o DATASET";
                return Err(WrongUsage(problem.into()).into());
            }
            match args.input.parent() {
                Some(parent) if args.input.ends_with("images") => match parent.as_os_str() {
                    name if name.is_empty() => PathBuf::from("."),
                    _ => parent.to_path_buf(),
                },
                _ => args.input.join(".."),
            }
        }
    };
    let job = args.how.job(args.input, dataset)?;
    Ok(Job {
        overwrite: args.overwrite,
        max_size: args.max_size,
        ..job
    })
}

/// What `--json` prints.
#[derive(Serialize)]
struct Printed<'a> {
    dataset: String,
    program: &'a str,
    mapper: &'a str,
    already: bool,
    #[serde(flatten)]
    report: &'a Report,
}

/// Shows progress, hears Ctrl-C.
pub struct Watch {
    guard: Guard,
    /// The name of the phase that is shown.
    phase: &'static str,
    progress: Option<Progress>,
}

impl Watch {
    /// Begins to hear Ctrl-C.
    pub fn start() -> Result<Self> {
        Ok(Self {
            guard: Guard::start_posing()?,
            phase: "",
            progress: None,
        })
    }
}

impl Observer for Watch {
    fn stop(&self) -> bool {
        self.guard.stop_requested()
    }

    fn progress(&mut self, now: &splatcore_poses::Progress) {
        if self.phase != now.name || self.progress.is_none() {
            // The old bar goes before the new one comes.
            self.progress = None;
            self.phase = now.name;
            let label = match progress::in_whole() {
                true => format!("{}/{} {}", now.phase, now.phases, now.name),
                false => format!("{} of {}: {}", now.phase, now.phases, now.name),
            };
            let progress = Progress::new(&label, now.total);
            progress.announce(now.seconds_left_in_all);
            self.progress = Some(progress);
        }
        if let Some(progress) = &self.progress {
            progress.set_total(now.total);
            progress.tell(now.done, now.seconds_left_in_all, || detail(now));
        }
    }

    fn note(&mut self, line: &str) {
        match &self.progress {
            Some(progress) => progress.note(line),
            None => eprintln!("{line}"),
        }
    }
}

/// `about 40 s left, 3 min in all; bundle adjustment`.
fn detail(now: &splatcore_poses::Progress) -> String {
    let mut words = Vec::new();
    if progress::in_whole() {
        if now.total > 0 {
            words.push(format!("{} of {}", now.done, now.total));
        }
    } else if let Some(left) = now.seconds_left {
        let mut text = format!("about {} left", output::about(left));
        let all = now.seconds_left_in_all.unwrap_or(left);
        if output::about(all) != output::about(left) {
            text += &format!(", {} in all", output::about(all));
        }
        words.push(text);
    }
    if !now.detail.is_empty() {
        words.push(now.detail.clone());
    }
    words.join("; ")
}

/// The report for people.
fn text(job: &Job, outcome: &Outcome) -> String {
    let mut lines = found(outcome);
    lines.push(format!("dataset      {}", job.dataset.display()));
    if outcome.report.usable {
        let dataset = quote(&job.dataset.to_string_lossy());
        lines.push(format!("next         splatcore train {dataset} -o OUT"));
    }
    lines.join("\n")
}

/// How good the poses are, and what to photograph again.
pub fn found(outcome: &Outcome) -> Vec<String> {
    let report = &outcome.report;
    let already = if outcome.already {
        "; found by an earlier call"
    } else {
        ""
    };
    let mut lines = vec![
        format!(
            "registered   {} of {} ({:.0} %), by {} ({} mapper{already})",
            report.registered,
            counted(report.photos, "photo"),
            100.0 * report.share(),
            outcome.program,
            outcome.mapper
        ),
        format!(
            "error        {:.2} px (mean reprojection error)",
            report.mean_error
        ),
        format!(
            "points       {}, each seen in {:.1} photos; {} a photo",
            thousands(report.points),
            report.observations_per_point,
            thousands(report.observations_per_photo.round() as u64)
        ),
        format!("cameras      {}", report.cameras),
    ];
    if report.models.len() > 1 {
        let sizes: Vec<String> = report.models.iter().map(usize::to_string).collect();
        lines.push(format!(
            "models       {}, of {} photos; the largest is used",
            report.models.len(),
            sizes.join(", ")
        ));
    }
    lines.extend(
        report
            .advice
            .iter()
            .map(|advice| format!("advice       {advice}")),
    );
    lines
}
