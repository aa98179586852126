//! A camera path to a video or a folder of frames.

use super::args::Args;
use super::path_args::Kind;
use super::plan::Plan;
use super::shots::Shots;
use super::sinks::{self, Sink, Target};
use crate::backends::cards;
use crate::cameras::PathFrom;
use crate::interrupt;
use crate::output::{self, counted, duration};
use crate::progress::Progress;
use crate::scene_source::SceneSource;
use anyhow::{Context, Result};
use splatcore_core::spread::in_order;
use std::time::Instant;

/// Renders the frames of a path.
pub fn run(args: &Args, source: &SceneSource) -> Result<()> {
    let kind = args.path.given().context("--path is missing")?;
    // Mistakes of typing first: a scene may take long to read.
    if let Kind::File(file) = kind
        && !file.is_file()
    {
        anyhow::bail!(
            "{}: there is no such file; give a camera path, or orbit, ellipse, spline, dolly or \
             dolly-zoom",
            file.display()
        );
    }
    args.cameras
        .check_for_path(made_from(&kind, args, source))?;
    let target = Target::of(args)?;
    interrupt::watch()?;
    if let Some(file) = &args.path.save_path {
        output::check_file_writable(file, "--save-path")?;
    }
    let look = args.look.find(Some(source))?;
    let (scene, antialias) = source.load()?;
    let plan = Plan::of(args, source, &kind, &scene)?;
    let backends = args.open(&scene, look.as_ref())?;
    let options = args.options(
        args.cameras.background(source),
        args.cameras.sky(source)?,
        antialias,
    );
    let job = match target {
        Target::Folder { .. } => {
            let name = backends.first().map_or("", |backend| backend.name());
            sinks::job(args, &plan, &scene, name, &options)?
        }
        Target::Video(_) => serde_json::Value::Null,
    };
    let mut renderers = cards::renderers(&backends, &scene)?;
    drop(scene);
    let shots = renderers
        .iter_mut()
        .map(|renderer| Shots::new(renderer.as_mut(), options.clone(), &plan, &args.path));
    let mut shots: Vec<Shots> = shots.collect();
    let white = match shots.first_mut().filter(|_| args.depth) {
        Some(shots) => shots.white()?,
        None => 0.0,
    };
    let mut sink = Sink::open(args, &plan, &target, white, &job)?;
    let frames = plan.frames();
    let missing: Vec<u64> = (plan.first..=plan.last)
        .filter(|&index| !sink.has(index))
        .collect();
    let kept = frames as usize - missing.len();
    if kept > 0 {
        eprintln!("{} of the same job kept", counted(kept, "frame"));
    }
    let progress = Progress::new("rendering", frames);
    let start = Instant::now();
    let mut written = 0;
    let render = |shots: &mut Shots, &index: &u64| shots.shot(index);
    in_order(&mut shots, &missing, render, |&index, shot| {
        sink.write(index, &shot)?;
        written += 1;
        progress.update(index - plan.first + 1, || {
            let each = start.elapsed().as_secs_f64() / written as f64;
            let left = missing.len() - written;
            format!("{} left", duration(each * left as f64))
        });
        Ok(())
    })?;
    sink.finish()?;
    progress.finish();
    let [width, height] = plan.size;
    output::print(&format!(
        "{} of {width}x{height}, {} at {} a second, in {}",
        counted(frames as usize, "frame"),
        duration(frames as f64 / plan.fps),
        plan.fps,
        args.output.display()
    ))
}

/// What a path of this kind is made from.
fn made_from(kind: &Kind, args: &Args, source: &SceneSource) -> PathFrom {
    match kind {
        Kind::File(_) => PathFrom::File,
        Kind::Ellipse | Kind::Spline => PathFrom::Cameras,
        Kind::Dolly { .. } if args.cameras.are_known(source) => PathFrom::Cameras,
        Kind::Orbit | Kind::Dolly { .. } => PathFrom::Circle,
    }
}
