//! From photos or a video to a dataset.

use crate::check::{self, Report};
use crate::earlier::{begin, earlier, occupied, stays};
use crate::effort::Effort;
use crate::groups::{self, Grouped};
use crate::log::Log;
use crate::photos::{self, Found, Listed};
use crate::program::{Pairs, Program};
use crate::state::{Differs, Features, Finished, State, Video};
use crate::steps::{Model, Steps};
use crate::taken::Taken;
use crate::track::Track;
use crate::work::{Work, install};
use crate::{Job, Mapper, Matching, Observer, PosesError, pairs, panoramas, times, video};
use splatcore_data::DataError;
use splatcore_data::dataset::unread_format;
use std::path::Path;

/// Phases after the frames are taken: features, matching, poses.
const PHASES: usize = 3;
/// A global mapper that places a smaller share is not the last word.
const ENOUGH: f64 = 0.8;

/// What came out.
#[derive(Debug)]
pub struct Outcome {
    /// How good the poses are.
    pub report: Report,
    /// The program that found them.
    pub program: String,
    /// `global` or `incremental`.
    pub mapper: String,
    /// Nothing was left to do: an earlier call had finished.
    pub already: bool,
}

/// Finds the poses of photos, or of frames of a video, and writes the dataset: `images`, `sparse/0`
/// (COLMAP's binary model), `poses.log`, and `poses.db` and `poses.json`, with which a later call
/// goes on after a stop or with more photos.
///
/// # Errors
/// No program, a program that fails, files that cannot be read or written, a folder that holds
/// something else, a stop that was asked for, or photos that have nothing in common. What was done
/// is kept. Poses of few photos are no error: see [`Report::usable`].
pub fn find_poses(job: &Job, observer: &mut dyn Observer) -> Result<Outcome, PosesError> {
    check_choices(job)?;
    let dataset = &job.dataset;
    let work = Work::begin(dataset, observer)?;
    let (mut state, old) = earlier(job)?;
    let known = state.photos.len();
    let images = dataset.join("images");
    let is_video = job.input.is_file();
    let first = if is_video { video::PHASES + 1 } else { 1 };
    let mut track = Track::new(observer, first + PHASES - 1);
    let found = take_photos(job, &mut state, old, &images, &work.folder, &mut track)?;
    let taken = Taken::of(job, found, (first, &mut track))?;
    let (names, model) = (taken.names(), taken.model(dataset));
    let grouped = groups::group(taken.compared(), taken.cameras(job))?;
    state.features = Some(features(job, &state, &grouped, &taken)?);
    let frames = pairs::look_like_frames(&names, &grouped);
    let pairs = pairs::choose(job, &names, frames, state.video.is_some());
    let pairs_name = pairs::described(&pairs);
    if state.matched.as_ref() != Some(&pairs_name) {
        (state.matched, state.finished, state.mapping) = (None, None, false);
    }
    if let Some((program, finished)) = stays(job, &state, &taken, known)? {
        place_panoramas(&taken, dataset, &work.folder, true)?;
        times::tell_missing(job, &taken, &work.folder, &mut track)?;
        return outcome(&taken, dataset, program, finished, true);
    }
    let program = begin(job, &mut state)?;
    pairs::check(&pairs, &program)?;
    track.note(&about(&program, &state, &grouped, names.len(), &pairs_name));
    let mut steps = Steps {
        job,
        program: &program,
        track: &mut track,
        first,
        effort: Effort::of(job, &grouped, &program, &state, names.len()),
        pairs: pairs::count(&pairs, names.len()),
        log: Log::of(dataset)?,
        database: dataset.join("poses.db"),
        images: taken.folder(images),
        of_views: taken.views.is_some(),
        work: work.folder.clone(),
    };
    if !state.extracted {
        steps.extract(&grouped, &names, &pairs, &mut state)?;
    }
    if state.matched.is_none() {
        let chosen = job.matching == Matching::Auto && matches!(pairs, Pairs::Exhaustive(_));
        let said = steps.matching_seconds().faster(&names);
        if let Some(line) = said.filter(|_| chosen) {
            steps.track.note(&line);
        }
        steps.pair(&pairs)?;
        state.matched = Some(pairs_name);
        state.write(dataset)?;
    }
    if state.mapping {
        let note = "the mapper was ended before it was done, and begins anew; features and \
                    matches are kept";
        steps.track.note(note);
    }
    state.mapping = true;
    state.write(dataset)?;
    let (mapper, models) = map(&mut steps, &grouped, names.len())?;
    if let Some(largest) = models.first() {
        install(&largest.folder, &model, &work.folder)?;
    }
    place_panoramas(&taken, dataset, &work.folder, false)?;
    let finished = Finished {
        asked: job.mapper.name().into(),
        mapper: mapper.into(),
        models: models.iter().map(|model| model.photos).collect(),
    };
    (state.mapping, state.finished) = (false, Some(finished.clone()));
    state.write(dataset)?;
    times::tell(job, &taken, Some(&program), &work.folder, &mut track)?;
    outcome(&taken, dataset, program.name, finished, false)
}

/// Makes the model of photos of 360 degrees of that of their views, and puts it in its place; if
/// `known`, only where there is none.
fn place_panoramas(
    taken: &Taken,
    dataset: &Path,
    work: &Path,
    known: bool,
) -> Result<(), PosesError> {
    let place = dataset.join("sparse/0");
    if taken.views.is_none() || (known && place.join("images.txt").is_file()) {
        return Ok(());
    }
    let made = work.join("panoramas");
    panoramas::write(&taken.photos, &taken.model(dataset), &made)?;
    install(&made, &place, work)
}

/// What came out, from the model in its place.
fn outcome(
    taken: &Taken,
    dataset: &Path,
    program: String,
    finished: Finished,
    already: bool,
) -> Result<Outcome, PosesError> {
    let model = taken.model(dataset);
    let found = check::Found::read(&model)?;
    let report = match taken.views {
        None => Report::of(&found, &taken.names(), &finished.models),
        Some(_) => {
            let names: Vec<String> = taken.photos.iter().map(|of| of.name.clone()).collect();
            let photos = |views: &usize| views.div_ceil(panoramas::VIEWS);
            let models: Vec<usize> = finished.models.iter().map(photos).collect();
            Report::of(&panoramas::together(found), &names, &models)
        }
    };
    Ok(Outcome {
        report,
        program,
        mapper: finished.mapper,
        already,
    })
}

fn check_choices(job: &Job) -> Result<(), PosesError> {
    if let Some(file) = &job.vocabulary {
        if matches!(job.matching, Matching::Exhaustive | Matching::Similar) {
            let other = job.matching;
            let problem = format!("a vocabulary tree is for sequential matching, not for {other}");
            return Err(PosesError::Choices(problem));
        }
        if !file.is_file() {
            let remedy = "give the file of a vocabulary tree, which COLMAP's site offers";
            return Err(DataError::new(file, "there is no such file", remedy).into());
        }
    }
    Ok(())
}

/// What runs, on what; for people.
fn about(
    program: &Program,
    state: &State,
    grouped: &Grouped,
    photos: usize,
    pairs: &str,
) -> String {
    let on = match &program.gpu {
        Some(card) => format!("on {card}"),
        None => format!("without a graphics card ({})", program.no_gpu),
    };
    let model = state
        .features
        .as_ref()
        .map_or("", |features| &features.camera_model);
    let cameras = grouped.described(photos);
    format!(
        "{} {on}; {cameras} ({model}); {pairs} matching",
        program.name
    )
}

/// The photos, in the dataset.
fn take_photos(
    job: &Job,
    state: &mut State,
    old: Option<State>,
    images: &Path,
    work: &Path,
    track: &mut Track<'_>,
) -> Result<Vec<Found>, PosesError> {
    let input = &job.input;
    let data = std::fs::metadata(input).map_err(|e| DataError::read(input, &e))?;
    let same = |a: &Path, b: &Path| {
        let [a, b] = [a, b].map(std::fs::canonicalize);
        matches!((a, b), (Ok(a), Ok(b)) if a == b)
    };
    let made = [job.dataset.clone(), images.to_path_buf()];
    let source = match data.is_file() {
        true => {
            take_frames(job, state, old, images, work, track)?;
            images.to_path_buf()
        }
        false => {
            let source = photos::folder_of(input, &made)?;
            state.in_place = same(&source, images);
            if let Some(old) = old.filter(|old| !old.in_place && !state.in_place) {
                remove_placed(&old, images)?;
            }
            source
        }
    };
    let mut listed = match same(&source, images) {
        true => photos::list(&source, &[])?,
        false => photos::list(&source, &made)?,
    };
    let all = listed.photos.len();
    if state.video.is_none() {
        listed.photos = photos::every(listed.photos, job.every);
    }
    if let Some(first) = listed.unread.first() {
        track.note(&format!(
            "warning: {} photos are left out, such as {first}: save them as JPEG or PNG first",
            listed.unread.len()
        ));
    }
    if let Some(first) = listed.videos.first() {
        track.note(&format!(
            "warning: videos among the photos are left out: {}, such as {first}; give a video by \
             itself, or its frames as photos",
            listed.videos.len()
        ));
    }
    if !listed.others.is_empty() {
        track.note(&left_out(&listed.others));
    }
    if listed.photos.len() < 2 {
        return Err(too_few(&source, &listed, all).into());
    }
    let begun = !state.photos.is_empty();
    let new = state
        .take(&listed.photos)
        .map_err(|differs| occupied(job, &other_photos(differs, &source)))?;
    if begun && new > 0 {
        track.note(&format!(
            "{new} photos are new; what is known of the others is kept"
        ));
    }
    if !state.in_place && state.video.is_none() {
        for photo in &listed.photos {
            if track.stop() {
                let dataset = job.dataset.clone();
                return Err(PosesError::Stopped {
                    dataset,
                    repeated: None,
                });
            }
            photos::place(photo, images)?;
        }
    }
    Ok(listed.photos)
}

/// That photos are not taken which lie in these folders.
fn left_out(others: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = others[..others.len().min(SHOWN)].join(", ");
    let more = if others.len() > SHOWN { ", ..." } else { "" };
    format!("what lies in other datasets and runs is left out: {shown}{more}")
}

/// Of the photos in this folder, of which `all` can be read, fewer are taken than have poses.
fn too_few(source: &Path, listed: &Listed, all: usize) -> DataError {
    if all >= 2 {
        let problem = format!("of its {all} photos one is taken, and poses need two");
        return DataError::new(source, problem, "take more of them");
    }
    let problem = match all {
        0 => "holds no photo that can be read",
        _ => "holds one photo that can be read, and poses need two",
    };
    let first = listed.unread.first().map(|name| source.join(name));
    let (_, remedy) = first.as_deref().and_then(unread_format).unwrap_or((
        "",
        "give a folder with at least two JPEG, PNG or WebP files, or a video",
    ));
    DataError::new(source, problem, remedy)
}

/// Why photos in this folder are not those of an earlier call.
fn other_photos(differs: Differs, source: &Path) -> String {
    match differs {
        Differs::Changed(name) => format!("the photo {name} was changed since"),
        Differs::Missing(name) if source.join(&name).is_file() => format!(
            "the photo {name} was used, but every so many photos are taken, and now it is none of \
             them"
        ),
        Differs::Missing(name) => format!("the photo {name} is gone since"),
    }
}

/// Removes what an earlier call put into the dataset.
fn remove_placed(old: &State, images: &Path) -> Result<(), PosesError> {
    for name in old.photos.keys() {
        let path = images.join(name);
        // The state is a file that anyone may write: nothing above the folder goes.
        let inside = Path::new(name)
            .components()
            .all(|c| matches!(c, std::path::Component::Normal(_)));
        if inside && path.is_file() {
            std::fs::remove_file(&path).map_err(|e| DataError::write(&path, &e))?;
        }
    }
    Ok(())
}

/// Frames of the video, in `images`, unless an earlier call took them.
fn take_frames(
    job: &Job,
    state: &mut State,
    old: Option<State>,
    images: &Path,
    work: &Path,
    track: &mut Track<'_>,
) -> Result<(), PosesError> {
    let file = photos::video(&job.input)?;
    let wanted = Video {
        bytes: file.bytes,
        changed: file.changed,
        frames: job.frames,
        png: job.png,
    };
    match &state.video {
        Some(video) if *video == wanted && images.is_dir() => return Ok(()),
        Some(video) if *video == wanted => {}
        Some(_) => {
            return Err(occupied(
                job,
                "holds frames of another video, or another choice of them",
            ));
        }
        None => {}
    }
    if let Some(old) = old.filter(|old| !old.in_place) {
        remove_placed(&old, images)?;
    }
    let occupied_by = std::fs::read_dir(images).map_or(0, Iterator::count);
    if occupied_by > 0 {
        let problem = "holds files already, and frames of a video would come between them";
        return Err(DataError::new(images, problem, "choose an empty folder").into());
    }
    let frames = work.join("images");
    std::fs::create_dir_all(&frames).map_err(|e| DataError::write(&frames, &e))?;
    video::take(job, &frames, track)?;
    let _ = std::fs::remove_dir(images);
    // Without the folder the next call takes the frames again.
    state.video = Some(wanted);
    state.write(&job.dataset)?;
    Ok(std::fs::rename(&frames, images).map_err(|e| DataError::write(images, &e))?)
}

/// The settings of features; those of an earlier call where none was chosen.
fn features(
    job: &Job,
    state: &State,
    grouped: &Grouped,
    taken: &Taken,
) -> Result<Features, PosesError> {
    let before = state.features.as_ref();
    let model = match (&job.camera_model, before) {
        _ if taken.views.is_some() => panoramas::CAMERA_MODEL.to_owned(),
        (Some(model), _) => model.clone(),
        (None, Some(before)) => before.camera_model.clone(),
        (None, None) => grouped.camera_model().to_owned(),
    };
    let wanted = Features {
        camera_model: model,
        cameras: job.cameras.name().into(),
        each: grouped.each,
        max_size: job.max_size,
    };
    let Some(before) = before.filter(|before| **before != wanted) else {
        return Ok(wanted);
    };
    let what = if before.camera_model != wanted.camera_model {
        format!(
            "camera model {}, not {}",
            before.camera_model, wanted.camera_model
        )
    } else if before.max_size != wanted.max_size {
        "another largest size of photos".to_owned()
    } else {
        "other cameras shared between photos".to_owned()
    };
    Err(occupied(job, &format!("was begun with {what}")))
}

/// Runs the mappers; the name of the one whose models count, and its models, at least one.
fn map(
    steps: &mut Steps<'_, '_>,
    grouped: &Grouped,
    photos: usize,
) -> Result<(&'static str, Vec<Model>), PosesError> {
    let asked = steps.job.mapper;
    let global = steps.program.maps_globally();
    if asked == Mapper::Global && !global {
        return Err(PosesError::Choices(format!(
            "{} has no global mapper: install COLMAP 4 or glomap, or use the incremental mapper",
            steps.program.name
        )));
    }
    let mut first = Vec::new();
    if global && asked != Mapper::Incremental {
        if steps.program.calibrates && grouped.with_focal_length * 2 < photos {
            steps.calibrate()?;
        }
        match (steps.map(true, photos as u64), asked) {
            (Ok(models), _) => first = models,
            (Err(error @ PosesError::Step { .. }), Mapper::Auto) => {
                steps
                    .track
                    .note(&format!("{error}; trying the incremental mapper"));
            }
            (Err(error), _) => return Err(error),
        }
        let placed = first.first().map_or(0, |model| model.photos);
        if asked == Mapper::Global || placed as f64 >= ENOUGH * photos as f64 {
            return some(steps, "global", first);
        }
        steps.track.note(&format!(
            "the global mapper placed {placed} of {photos} photos; trying the incremental one"
        ));
    }
    let second = steps.map(false, photos as u64)?;
    let size = |models: &[Model]| models.first().map_or(0, |model| model.photos);
    match size(&first) > size(&second) {
        true => some(steps, "global", first),
        false => some(steps, "incremental", second),
    }
}

fn some(
    steps: &Steps<'_, '_>,
    mapper: &'static str,
    models: Vec<Model>,
) -> Result<(&'static str, Vec<Model>), PosesError> {
    if models.is_empty() {
        return Err(PosesError::NoModel {
            dataset: steps.job.dataset.clone(),
            hint: "so they show too little in common: take sharp photos that each overlap the last \
                   by two thirds, of things with texture",
            log: steps.log.path.clone(),
        });
    }
    Ok((mapper, models))
}
