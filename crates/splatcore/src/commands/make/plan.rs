//! What is left to do, how long that takes, and what would make it shorter.

use super::asked::Asked;
use super::choice::{self, Choice, MINIMUM, TOTAL};
use super::input::Kind;
use super::state::{self, State};
use crate::backends::{self, Card};
use crate::load;
use crate::output::{about, between, counted, thousands};
use crate::progress::Phase;
use crate::run::Files;
use anyhow::{Context, Result};
use splatcore_poses::{Forecast, Matching, forecast};
use splatcore_train::Checkpoint;

/// Features of photos are searched at the first of these sizes without a graphics card at which
/// the cameras are found within [`CAMERAS`] seconds: the time of matching falls with the fourth
/// power of the size, and cameras remain exact enough to train at the sizes that a processor can.
/// If it is none of them, fewer photos are used, but no fewer than [`MIN_PHOTOS`].
const FEATURE_SIZES: [u32; 4] = [1000, 850, 700, 600];
const CAMERAS: f64 = 390.0;
const MIN_PHOTOS: usize = 40;
/// Seconds that 15,000 steps are expected to take on a card: a rough figure, as cards differ.
const ON_CARD: f64 = 60.0;
const STEPS_ON_CARD: f64 = 15_000.0;
/// Seconds to measure the held-out photos, and to write the page, after training: at most, on a
/// processor that trains some minutes.
pub const AFTER: f64 = 15.0;
/// Seconds to write the page, and for each of its Gaussians.
const PAGE: f64 = 1.0;
const PAGE_PER_GAUSSIAN: f64 = 4e-5;
/// Gaussians of a page where nothing is known of them.
const USUAL_GAUSSIANS: f64 = 300_000.0;
/// What takes longer than this, in seconds, is worth a word about what would be shorter.
const LONG: f64 = 60.0;
/// What takes less than this share is shorter.
const SHORTER: f64 = 0.7;
/// The smallest size in which a search of features is proposed, and the fewest frames.
const MIN_SIZE: u32 = 500;
const MIN_FRAMES: usize = 60;

/// What is left to do.
pub struct Plan {
    /// The processor trains.
    pub cpu: bool,
    /// How cameras are found.
    pub cameras: splatcore_poses::Job,
    /// Seconds that are left for training if all shall end within [`TOTAL`].
    pub budget: f64,
    /// Size and length of the training, where they were chosen just now.
    pub chosen: Option<Choice>,
    poses: Option<Forecast>,
    /// Expected seconds; none if an earlier call trained.
    training: Option<f64>,
    /// Size and length of the training, for people.
    training_is: String,
    /// Expected seconds; none if it is there.
    page: Option<f64>,
    /// What would make it shorter, and what it would take.
    shorter: Vec<String>,
}

impl Plan {
    /// Looks at what is there, and estimates the rest: from the photos' number and size, and from
    /// steps that are timed on this machine. What is chosen for a dataset with cameras stays in
    /// `state`.
    pub fn new(asked: &Asked, poses: &splatcore_poses::Job, state: &mut State) -> Result<Self> {
        let card = Card {
            device: asked.device,
            ..Card::default()
        };
        let backend = backends::for_training(&asked.typed.complete(), &card)?;
        let cpu = backend.name() == "cpu";
        let mut shorter = Vec::new();
        let mut job = poses.clone();
        // A step with a pose for each row takes a processor some 17 times as long.
        job.no_gyro |= cpu;
        let forecast = match asked.kind {
            Kind::Posed => None,
            Kind::Photos | Kind::Video => {
                let first = state.feature_size.is_none();
                job.max_size = job.max_size.or(state.feature_size);
                (job.every, job.frames) = (job.every.or(state.every), job.frames.or(state.frames));
                let forecast = choose_cameras(&mut job, first)?;
                shorter = shorter_cameras(&job, &forecast)?;
                // What was chosen stays, so that the next call does not refuse itself.
                (state.feature_size, state.every, state.frames) =
                    (job.max_size, job.every, job.frames);
                state.write(&asked.folder)?;
                Some(forecast)
            }
        };
        let spent = forecast.as_ref().map_or(0.0, |poses| poses.seconds);
        let mut plan = Self {
            cpu,
            cameras: job,
            budget: (TOTAL - AFTER - spent).max(MINIMUM),
            chosen: None,
            poses: forecast,
            training: None,
            training_is: String::new(),
            page: None,
            shorter,
        };
        let gaussians = match state::is_complete(&Files::of(&asked.run_folder())) {
            true => USUAL_GAUSSIANS,
            false => plan.foresee_training(asked, state)?,
        };
        let page = PAGE + PAGE_PER_GAUSSIAN * gaussians;
        plan.page = (!asked.page().is_file()).then_some(page);
        Ok(plan)
    }

    /// Estimates the training; gives how many Gaussians its scene may have.
    fn foresee_training(&mut self, asked: &Asked, state: &mut State) -> Result<f64> {
        let choice = match self.cpu {
            true => Some(self.choice(asked, state)?),
            false => None,
        };
        let settings = match &choice {
            Some(choice) => choice.settings(),
            None => choice::for_card(&asked.typed),
        };
        let all = asked.typed.over(&settings).complete();
        let (count, steps) = (thousands(all.iterations.into()), f64::from(all.iterations));
        self.training_is = match &choice {
            Some(choice) => choice.described(&asked.typed),
            None => format!("{count} steps on the graphics card"),
        };
        let checkpoint = Files::of(&asked.run_folder()).checkpoint;
        self.training = Some(match Checkpoint::progress(&checkpoint) {
            // A run that was stopped goes on, at the pace that it had.
            Some((step, seconds)) if step > 0 => {
                self.training_is += &format!(", from step {}", thousands(step.into()));
                seconds / f64::from(step) * (steps - f64::from(step)).max(0.0)
            }
            _ => match &choice {
                Some(choice) => {
                    let expected = choice.seconds.unwrap_or(self.budget);
                    let ways = choice.shorter.iter().filter(|_| expected > LONG);
                    let ways = ways.map(|(way, less)| format!("{way} (training {})", about(*less)));
                    self.shorter.extend(ways);
                    expected
                }
                None => match asked.typed.budget {
                    Some(budget) => budget.seconds(),
                    None => ON_CARD * steps / STEPS_ON_CARD,
                },
            },
        });
        let most = all.scene.max_gaussians;
        Ok(most.map_or(USUAL_GAUSSIANS, |most| most as f64))
    }

    /// What a processor trains: as it was chosen, as it is chosen now where cameras are known, else
    /// what it will be about.
    fn choice(&mut self, asked: &Asked, state: &mut State) -> Result<Choice> {
        if let Some(choice) = &state.choice {
            return Ok(choice.clone());
        }
        if let Some(poses) = self.poses.as_ref().filter(|poses| !poses.done) {
            if let Some(choice) = &state.foreseen {
                return Ok(choice.clone());
            }
            let size = [poses.size.0, poses.size.1].map(|side| side.max(1.0) as u32);
            let choice = choice::foreseen(asked, self.budget, size)?;
            state.foreseen = Some(choice.clone());
            state.write(&asked.folder)?;
            return Ok(choice);
        }
        let dataset = load::dataset(&asked.dataset(), asked.images.as_deref(), asked.readout())?;
        self.chosen = state.choose_for_processor(asked, self.budget, &dataset)?;
        state.write(&asked.folder)?;
        state.choice.clone().context("nothing was chosen")
    }

    /// The phases for the progress.
    pub fn phases(&self) -> Vec<Phase> {
        let phase = |name, seconds: Option<f64>| Phase {
            name,
            seconds: seconds.unwrap_or(0.0),
        };
        let poses = self.poses.as_ref().map(|poses| poses.seconds);
        vec![
            phase("poses", poses),
            phase("training", self.training),
            phase("page", self.page),
        ]
    }

    /// All of it in one line; none if nothing is left to do.
    pub fn line(&self) -> Option<String> {
        let mut parts = Vec::new();
        let mut all = [0.0; 2];
        let mut add = |what: &str, range: [f64; 2], how: &str| {
            (0..2).for_each(|end| all[end] += range[end]);
            parts.push(format!("{what} {}{how}", between(range)));
        };
        if let Some(poses) = self.poses.as_ref().filter(|poses| !poses.done) {
            let what = if poses.video { "frame" } else { "photo" };
            let size = match poses.max_size {
                Some(size) => format!(", features at {size} px"),
                None => String::new(),
            };
            let pairs = match poses.similar {
                Some(each) => format!(", each compared with the {each} most similar"),
                None => String::new(),
            };
            let photos = match poses.photos < poses.of {
                true => {
                    let all = match poses.video {
                        true => format!("--frames {}", poses.of),
                        false => "--every 1".into(),
                    };
                    format!(
                        "{} of {}, all with {all},",
                        poses.photos,
                        counted(poses.of, what)
                    )
                }
                false => counted(poses.photos, what),
            };
            let how = format!(" ({photos} by {}{size}{pairs})", poses.program);
            add("cameras", poses.range, &how);
        }
        if let Some(seconds) = self.training {
            add(
                "training",
                [seconds; 2],
                &format!(" ({})", self.training_is),
            );
        }
        if let Some(seconds) = self.page {
            add("page", [seconds; 2], "");
        }
        if parts.is_empty() {
            return None;
        }
        let shorter = match self.shorter.is_empty() {
            true => String::new(),
            false => format!("; shorter with {}", self.shorter.join(", or ")),
        };
        let parts = parts.join(", ");
        Some(format!("about {}: {parts}{shorter}", between(all)))
    }
}

/// Chooses for a processor what of the search for cameras was left to this command, so that it is
/// short enough. How many photos are used is chosen by the `first` call: later ones go on.
fn choose_cameras(job: &mut splatcore_poses::Job, first: bool) -> Result<Forecast> {
    let mut found = forecast(job, Some(FEATURE_SIZES[0]))?;
    let fits = |found: &Forecast| found.done || found.card || found.seconds <= CAMERAS;
    for size in &FEATURE_SIZES[1..] {
        if job.max_size.is_some() || fits(&found) {
            break;
        }
        found = forecast(job, Some(*size))?;
    }
    if !found.card {
        job.max_size = job.max_size.or(found.max_size);
    }
    let open = first && job.matching == Matching::Auto && (job.every, job.frames) == (None, None);
    let all = found.photos;
    let mut step = 1;
    while open && !fits(&found) {
        // The time falls with the square of the number at most.
        let next = f64::from(step) * (found.seconds / CAMERAS).sqrt();
        step = (next as u32).max(step + 1);
        let fewer = all.div_ceil(step as usize);
        if fewer < MIN_PHOTOS {
            break;
        }
        match found.video {
            true => job.frames = u32::try_from(fewer).ok(),
            false => job.every = Some(step),
        }
        found = forecast(job, None)?;
    }
    Ok(found)
}

/// What would make the search for cameras shorter.
fn shorter_cameras(job: &splatcore_poses::Job, now: &Forecast) -> Result<Vec<String>> {
    let mut ways = Vec::new();
    if now.done || now.seconds < LONG {
        return Ok(ways);
    }
    let mut add = |way: &str, seconds: f64| {
        if seconds < SHORTER * now.seconds {
            ways.push(format!("{way} (cameras {})", about(seconds)));
        }
    };
    if let Some(seconds) = now.sequential_seconds {
        let way = "--matching sequential, if each photo shows much of the next one";
        add(way, seconds);
    }
    if let Some(seconds) = now.similar_seconds {
        add("--matching similar, which may find fewer cameras", seconds);
    }
    let frames = now.photos / 2;
    if now.video && frames >= MIN_FRAMES {
        let fewer = splatcore_poses::Job {
            frames: u32::try_from(frames).ok(),
            ..job.clone()
        };
        let seconds = forecast(&fewer, now.max_size)?.seconds;
        add(&format!("--frames {frames}"), seconds);
    }
    let longest = now.size.0.max(now.size.1) as u32;
    let size = now.max_size.unwrap_or(3200).min(longest) * 7 / 10 / 100 * 100;
    if size >= MIN_SIZE {
        let smaller = splatcore_poses::Job {
            max_size: Some(size),
            ..job.clone()
        };
        let seconds = forecast(&smaller, None)?.seconds;
        add(&format!("--feature-size {size}"), seconds);
    }
    Ok(ways)
}
