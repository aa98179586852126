//! The worker's side.

use super::arrays;
use super::protocol::{Answer, Ask, FrameSpec};
use splatcore_core::backend::{Backend, Profile, RenderOptions, Timed};
use splatcore_core::{Camera, Renderer};
use std::collections::HashMap;
use std::fmt::Display;
use std::io::{self, BufRead, Write};
use std::path::{Component, Path, PathBuf};
use std::time::Instant;

/// Says that nothing confines the worker, in place of [`serve`].
///
/// # Errors
/// If the parent cannot be written to.
pub fn refuse(about: &str, mut output: impl Write) -> io::Result<()> {
    let about = about.into();
    say(&mut output, &Answer::Unconfined { about })
}

fn say(output: &mut impl Write, answer: &Answer) -> io::Result<()> {
    writeln!(output, "{}", serde_json::to_string(answer)?)?;
    output.flush()
}

/// What a worker sees of its device's memory.
pub struct Watch<'a> {
    /// Whether all writes lay inside their buffers.
    pub intact: &'a dyn Fn() -> Result<(), String>,
    /// From now on memory holds what was there before when it is allocated.
    pub reuse: &'a dyn Fn() -> Result<(), String>,
    /// A number that follows from what all buffers hold.
    pub digest: &'a dyn Fn() -> Result<u64, String>,
}

/// Answers asks, a JSON object a line, until the input ends. Arrays are files of `folder`. After
/// each ask `watch` says whether memory is intact.
///
/// # Errors
/// If the parent cannot be read from or written to. What goes wrong otherwise is an answer.
pub fn serve(
    backend: &dyn Backend,
    watch: &Watch,
    sandbox: &str,
    folder: &Path,
    input: impl BufRead,
    mut output: impl Write,
) -> io::Result<()> {
    let mut answer = |answer: &Answer| say(&mut output, answer);
    answer(&Answer::Ready {
        device: backend.describe(),
        sandbox: sandbox.into(),
    })?;
    let mut worker = Worker {
        backend,
        folder,
        renderers: HashMap::new(),
        selected: String::new(),
    };
    for line in input.lines() {
        let done = match serde_json::from_str(&line?) {
            Ok(Ask::Reuse) => (watch.reuse)().map(|()| Answer::Done),
            Ok(Ask::Digest) => (watch.digest)().map(|digest| Answer::Digest { digest }),
            Ok(ask) => worker
                .work(ask)
                .and_then(|done| (watch.intact)().map(|()| done)),
            Err(error) => Err(error.to_string()),
        };
        answer(&done.unwrap_or_else(|error| Answer::Failed { error }))?;
    }
    Ok(())
}

/// Frames that are rendered and not timed whenever it is a worker's turn.
const WARM_UP: usize = 3;

struct Worker<'a> {
    backend: &'a dyn Backend,
    folder: &'a Path,
    /// By the names of their scenes.
    renderers: HashMap<String, Box<dyn Renderer>>,
    selected: String,
}

fn said(error: impl Display) -> String {
    error.to_string()
}

impl Worker<'_> {
    fn work(&mut self, ask: Ask) -> Result<Answer, String> {
        match ask {
            Ask::Load { name, scene } => {
                let scene = arrays::read_scene(&self.file(&scene)?).map_err(said)?;
                // The old one's memory first.
                self.renderers.remove(&name);
                let renderer = self.backend.renderer(&scene).map_err(said)?;
                self.renderers.insert(name.clone(), renderer);
                self.selected = name;
                Ok(Answer::Done)
            }
            Ask::Select { name } => {
                self.selected = name;
                self.renderer().map(|_| Answer::Done)
            }
            Ask::Render { frame, to } => {
                let to = self.file(&to)?;
                let rendered = self
                    .renderer()?
                    .render(&frame.camera(), &frame.options()?)
                    .map_err(said)?;
                let fourth = rendered.inverse_depth.unwrap_or(rendered.transmittance);
                arrays::write_image(&to, &rendered.image, &fourth).map_err(said)?;
                Ok(Answer::Done)
            }
            Ask::Gradients {
                frame,
                image_gradient,
                to,
            } => {
                let (from, to) = (self.file(&image_gradient)?, self.file(&to)?);
                let (gradient, _) = arrays::read_image(&from).map_err(said)?;
                let gradients = self
                    .renderer()?
                    .gradients(&frame.camera(), &frame.options()?, &gradient.into())
                    .map_err(said)?;
                arrays::write_scene(&to, &gradients).map_err(said)?;
                Ok(Answer::Done)
            }
            Ask::Reuse | Ask::Digest => Err("memory is the device's".into()),
            Ask::Time { frames } => self.time(&frames),
            Ask::TimeTraining { frames } => self.time_training(&frames),
        }
    }

    /// A file of the worker's own folder.
    fn file(&self, name: &str) -> Result<PathBuf, String> {
        let mut parts = Path::new(name).components();
        match (parts.next(), parts.next()) {
            (Some(Component::Normal(name)), None) => Ok(self.folder.join(name)),
            _ => Err(format!("'{name}' is no name of a file")),
        }
    }

    fn renderer(&mut self) -> Result<&mut dyn Renderer, String> {
        match self.renderers.get_mut(&self.selected) {
            Some(renderer) => Ok(renderer.as_mut()),
            None => Err(format!("no scene '{}' is loaded", self.selected)),
        }
    }

    /// Whole frames, kept back to back: the clock runs over all of them, events over each.
    fn time(&mut self, frames: &[FrameSpec]) -> Result<Answer, String> {
        let frames = parsed(frames)?;
        let renderer = self.renderer()?;
        // The first frames after another process had the card are no frames like others.
        for (camera, options) in frames.iter().take(WARM_UP) {
            renderer.render_only(camera, options).map_err(said)?;
        }
        renderer.finish().map_err(said)?;
        let mut device = 0.0;
        for (camera, options) in &frames {
            let times = renderer
                .stage_times(camera, options, Timed::Frame)
                .map_err(said)?;
            device += times.iter().map(|(_, seconds)| seconds).sum::<f64>();
        }
        renderer.finish().map_err(said)?;
        let start = Instant::now();
        for (camera, options) in &frames {
            renderer.render_only(camera, options).map_err(said)?;
        }
        // A frame without room for its lists is empty, and fast.
        let whole = renderer.finish().map_err(said)?;
        let clock = start.elapsed().as_secs_f64();
        match whole {
            true => Ok(Answer::Timed {
                device,
                clock,
                stages: Vec::new(),
            }),
            false => Err("frames were left empty for lack of room: ask again".into()),
        }
    }

    fn time_training(&mut self, frames: &[FrameSpec]) -> Result<Answer, String> {
        let frames = parsed(frames)?;
        let renderer = self.renderer()?;
        for (camera, options) in frames.iter().take(1) {
            let warm_up = renderer.stage_times(camera, options, Timed::TrainingStages);
            warm_up.map_err(said)?;
        }
        let mut profile = Profile::default();
        let start = Instant::now();
        for (camera, options) in &frames {
            let times = renderer
                .stage_times(camera, options, Timed::TrainingStages)
                .map_err(said)?;
            profile.add_step(times);
        }
        Ok(Answer::Timed {
            clock: start.elapsed().as_secs_f64(),
            device: profile.stages.iter().map(|(_, seconds)| seconds).sum(),
            stages: profile
                .stages
                .into_iter()
                .map(|(name, seconds)| (name.to_owned(), seconds))
                .collect(),
        })
    }
}

type Parsed = (Camera, RenderOptions);

fn parsed(frames: &[FrameSpec]) -> Result<Vec<Parsed>, String> {
    let parsed = frames.iter().map(|v| Ok((v.camera(), v.options()?)));
    parsed.collect()
}
