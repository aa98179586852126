//! `splatcore make`: photos, a video or a dataset to a scene and a page, in one command that goes
//! on wherever it was stopped.

mod asked;
mod choice;
mod input;
mod plan;
mod state;

use crate::backends::DeviceArgs;
use crate::commands::poses::{self, How};
use crate::ending::{self, Ending};
use crate::output::{self, WrongUsage, counted, quote};
use crate::progress::Whole;
use crate::run::{self, Files, Finished, Job, Show};
use crate::sharing::SharedScene;
use crate::viewing::ViewerArgs;
use crate::{interrupt, load, program};
use anyhow::{Result, bail};
use asked::Asked;
use input::Kind;
use plan::Plan;
use splatcore_data::dataset::{Dataset, OpenOptions};
use splatcore_data::lock::FolderLock;
use splatcore_poses::{Matching, PosesError, find_poses};
use splatcore_train::ResolvedConfig;
use splatcore_train::config::Flags;
use state::State;
use std::path::PathBuf;
use std::time::Instant;

/// Photos, a video or a dataset to a scene and a page, in one command.
///
/// Finds the cameras (OUT/dataset), trains (OUT/run) and writes a page to send (OUT/page.html), as
/// `poses`, `train` and `export` do. The same command goes on after Ctrl-C, a crash or a power cut,
/// and does nothing twice. Without a graphics card it measures this machine and chooses a size
/// that trains in a few minutes. Takes the settings of `train` too.
#[derive(clap::Args)]
#[command(allow_negative_numbers = true)]
pub struct Args {
    /// A folder of photos, a video, or a dataset whose cameras are known (COLMAP, transforms.json
    /// or another that `splatcore info` reads)
    #[arg(value_name = "PHOTOS_OR_VIDEO_OR_DATASET")]
    input: PathBuf,
    /// Folder for dataset, run and page
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Make anew what does not fit the input or the flags any more; without it, that is refused
    #[arg(long)]
    overwrite: bool,
    /// Folder of a dataset's photos in place of `images`, for example images_4
    #[arg(long, value_name = "FOLDER")]
    images: Option<String>,
    /// Turn the scene upright: -y is up in it, as most programs expect
    #[arg(long)]
    upright: bool,
    /// Show the training in a browser, and the scene afterwards, until Ctrl-C
    #[arg(long)]
    view: bool,
    #[command(flatten)]
    viewer: ViewerArgs,
    #[command(flatten)]
    device: DeviceArgs,
    /// Search features in photos scaled to this many pixels on the longer side [1000 without a
    /// graphics card, else the program's own limit]
    #[arg(long, value_name = "PX", value_parser = clap::value_parser!(u32).range(100..))]
    #[arg(help_heading = "Finding the cameras")]
    feature_size: Option<u32>,
    #[command(flatten, next_help_heading = "Finding the cameras")]
    how: How,
    #[command(flatten, next_help_heading = "Training")]
    settings: Flags,
}

/// Runs the command.
pub fn run(args: Args) -> Result<()> {
    if args.viewer.given() && !args.view {
        bail!(WrongUsage(
            "--port, --listen and --no-browser are about the viewer: add --view".into()
        ));
    }
    let Flags(typed) = args.settings;
    // What makes no sense is said before anything is done.
    let all = typed.over(&choice::for_card(&typed));
    ResolvedConfig::from_layers(None, &all).map_err(|error| super::train::blame(error, &typed))?;
    let kind = input::tell(&args.input, args.images.as_deref())?;
    let of_size = args.feature_size.map(|_| "--feature-size");
    if let (Kind::Posed, Some(flag)) = (kind, args.how.given().or(of_size)) {
        bail!(WrongUsage(format!(
            "{flag} has no effect here: it is about finding cameras, and {} has them; leave it out",
            args.input.display()
        )));
    }
    let asked = Asked {
        input: args.input,
        kind,
        folder: args.output,
        images: args.images,
        upright: args.upright,
        overwrite: args.overwrite,
        device: args.device.device,
        typed,
        again: again(),
        begun: Instant::now(),
    };
    let job = args.how.job(asked.input.clone(), asked.dataset())?;
    let poses = splatcore_poses::Job {
        max_size: args.feature_size,
        keep: !asked.overwrite && asked.run_folder().exists(),
        ..job
    };
    let show = args.view.then_some(Show {
        viewer: args.viewer,
        allow_control: false,
        share: 0.2,
    });
    let lock = output::take_folder(&asked.folder, "make")?;
    let state = State::open(&asked)?;
    Make { asked, state, show }.all(poses, lock)
}

/// What was typed, for a shell.
fn again() -> String {
    let words = program::arguments();
    let words: Vec<String> = words.iter().map(|word| quote(word)).collect();
    format!("splatcore {}", words.join(" "))
}

/// A command under way.
struct Make {
    asked: Asked,
    state: State,
    show: Option<Show>,
}

impl Make {
    /// All phases, one after the other; what is done already is not done again.
    fn all(mut self, poses: splatcore_poses::Job, lock: FolderLock) -> Result<()> {
        interrupt::goes_on(&self.asked.again)?;
        self.look_at_masks()?;
        let before = (self.state.feature_size, self.state.every, self.state.frames);
        let plan = Plan::new(&self.asked, &poses, &mut self.state)?;
        let line = plan.line();
        if let Some(line) = &line {
            eprintln!("{line}");
        }
        if let Some(chosen) = &plan.chosen {
            eprintln!("{}", chosen.line(&self.asked.typed));
        }
        let whole = Whole::begin(plan.phases());
        if self.asked.kind != Kind::Posed {
            whole.enter("poses", None);
            let poses_file = self.asked.dataset().join("poses.json");
            let found_before = std::fs::read(&poses_file).ok();
            if let Err(error) = self.find_poses(plan.cameras.clone()) {
                let goes_on = matches!(
                    error.downcast_ref(),
                    Some(PosesError::Stopped { .. } | PosesError::Step { .. })
                );
                if !goes_on && std::fs::read(&poses_file).ok() == found_before {
                    // A refused call leaves what the next one goes on with.
                    (self.state.feature_size, self.state.every, self.state.frames) = before;
                    self.state.write(&self.asked.folder)?;
                } else {
                    self.say_how_to_go_on(&error);
                }
                return Err(error);
            }
        }
        let trained = self.train(&plan, &whole);
        let trained = trained.inspect_err(|error| self.say_how_to_go_on(error))?;
        whole.enter("page", None);
        let scene = self
            .write_page(trained.scene)
            .inspect_err(|error| self.say_how_to_go_on(error))?;
        drop(whole);
        drop(lock);
        // Said last: until here the photos may turn out to be others.
        if line.is_none() {
            eprintln!("nothing is left to do: an earlier call came to the end");
        }
        self.end()?;
        match (trained.live, scene, trained.job) {
            (Some(live), Some(scene), Some(job)) => run::stay(live, scene, &job, true),
            _ => Ok(()),
        }
    }

    /// Whether a run that began is of the masks that are there now: said before the plan is, which
    /// would say that nothing is left to do.
    fn look_at_masks(&mut self) -> Result<()> {
        let (asked, state) = (&self.asked, &mut self.state);
        if state.trained_on.is_none() {
            return Ok(());
        }
        let options = OpenOptions {
            images: asked.images.clone(),
            ..OpenOptions::default()
        };
        // Without cameras there are no masks of theirs.
        match Dataset::open(&asked.dataset(), &options) {
            Ok(dataset) => state.take_photos(asked, &dataset),
            Err(_) => Ok(()),
        }
    }

    /// Says that nothing is lost, where the error does not.
    fn say_how_to_go_on(&self, error: &anyhow::Error) {
        // The same command is refused again.
        let said = matches!(
            error.downcast_ref::<PosesError>(),
            Some(PosesError::Stopped { .. } | PosesError::Occupied { .. })
        );
        if said || error.to_string().contains(&self.asked.again) {
            return;
        }
        eprintln!(
            "what is done is kept in {}; this goes on: {}",
            self.asked.folder.display(),
            self.asked.again
        );
    }

    fn find_poses(&mut self, job: splatcore_poses::Job) -> Result<()> {
        let mut watch = poses::Watch::start()?;
        let fewer = match (job.matching, job.every, job.frames) {
            (Matching::Similar, ..) => {
                "compare each photo with each (--matching exhaustive, which takes longer), or "
            }
            (_, Some(2..), _) => "use all photos (--every 1, which takes longer), or ",
            (_, _, Some(_)) => "use more frames (--frames, which takes longer), or ",
            _ => "",
        };
        let mut outcome = find_poses(&job, &mut watch);
        if self.asked.overwrite && matches!(outcome, Err(PosesError::Occupied { .. })) {
            let anew = splatcore_poses::Job {
                overwrite: true,
                ..job
            };
            outcome = find_poses(&anew, &mut watch);
        }
        drop(watch);
        let outcome = match outcome {
            Err(PosesError::Choices(problem)) => return Err(WrongUsage(problem).into()),
            outcome => outcome?,
        };
        let report = &outcome.report;
        if !outcome.already || !report.usable {
            for line in poses::found(&outcome) {
                eprintln!("{line}");
            }
        }
        if !report.usable {
            bail!(
                "only {} of {} have a pose, too few to train on; {fewer}follow the advice above, \
                 put more photos into {} and type the command again",
                report.registered,
                counted(report.photos, "photo"),
                self.asked.input.display()
            );
        }
        Ok(())
    }

    /// Trains, unless that is done.
    fn train(&mut self, plan: &Plan, whole: &Whole) -> Result<Trained> {
        whole.enter("training", None);
        let begun = Instant::now();
        let (asked, state) = (&self.asked, &mut self.state);
        let dataset = load::dataset(&asked.dataset(), asked.images.as_deref(), asked.readout())?;
        state.take_photos(asked, &dataset)?;
        let files = Files::of(&asked.run_folder());
        let settings = match plan.cpu {
            true => {
                if let Some(chosen) = state.choose_for_processor(asked, plan.budget, &dataset)? {
                    eprintln!("{}", chosen.line(&asked.typed));
                    whole.enter("training", chosen.seconds);
                }
                state.settings(asked)
            }
            false => asked.typed.over(&choice::for_card(&asked.typed)),
        };
        drop(dataset);
        state.write(&asked.folder)?;
        if state::is_complete(&files) {
            return Ok(Trained::default());
        }
        let resume = files.checkpoint.is_file();
        let job = Job {
            dataset: asked.dataset(),
            images: asked.images.clone(),
            init: None,
            folder: asked.run_folder(),
            config: settings.resolve()?,
            cards: None,
            split_photos: false,
            device: asked.device,
            memory: None,
            memory_files: None,
            photo_memory: load::PhotoMemoryArgs::default(),
            resume,
            overwrite: !resume,
            // A run that goes on knows it.
            upright: asked.upright && !resume,
            time_limit: None,
            begun,
            show: self.show.clone(),
            resume_command: asked.again.clone(),
        };
        let Finished { scene, live, .. } = run::run(&job)?;
        Ok(Trained {
            scene: Some(scene),
            live,
            job: Some(job),
        })
    }

    /// Writes the page, unless it is there.
    fn write_page(&self, scene: Option<SharedScene>) -> Result<Option<SharedScene>> {
        let page = self.asked.page();
        if page.is_file() {
            return Ok(scene);
        }
        let files = Files::of(&self.asked.run_folder());
        let scene = match scene {
            Some(scene) => scene,
            None => {
                let (gaussians, antialias) = load::scene(&files.scene)?;
                SharedScene::new(gaussians, antialias)
            }
        };
        ending::write_page(&page, &scene, &self.title(), &self.asked.run_folder())?;
        Ok(Some(scene))
    }

    /// The name of what was photographed: that of the photos' folder, or of the video.
    fn title(&self) -> String {
        let full =
            std::fs::canonicalize(&self.asked.input).unwrap_or_else(|_| self.asked.input.clone());
        let named = match full.file_name().is_some_and(|name| name == "images") {
            true => full.parent().unwrap_or(&full).to_path_buf(),
            false => full,
        };
        let name = match named.is_file() {
            true => named.file_stem(),
            false => named.file_name(),
        };
        name.map_or(String::new(), |name| name.to_string_lossy().into_owned())
    }

    fn end(&self) -> Result<()> {
        let folder = self.asked.run_folder();
        Ending {
            photos: &self.asked.dataset(),
            files: &Files::of(&folder),
            page: &self.asked.page(),
            next: Some(format!(
                "splatcore view {}",
                quote(&folder.to_string_lossy())
            )),
        }
        .print()
    }
}

/// What training leaves; nothing if an earlier call had trained.
#[derive(Default)]
struct Trained {
    scene: Option<SharedScene>,
    live: Option<crate::viewing::Live>,
    job: Option<Job>,
}
