//! When the frames of a video were taken, in the dataset's file `frames.json`.

use crate::program::Program;
use crate::taken::Taken;
use crate::track::Track;
use crate::work::install;
use crate::{Job, PosesError, check, rolling, video};
use splatcore_data::dataset::Frames;
use std::path::Path;

/// [`tell`] for a dataset that an earlier call finished without.
pub fn tell_missing(
    job: &Job,
    taken: &Taken,
    work: &Path,
    track: &mut Track<'_>,
) -> Result<(), PosesError> {
    if Frames::path(&job.dataset).exists() {
        return Ok(());
    }
    let program = Program::find(job).ok();
    tell(job, taken, program.as_ref(), work, track)
}

/// Writes when the frames of a video were taken. If its gyroscope tells how the camera turned while
/// frames were read, the model is adjusted to that first. Nothing for photos, and for panoramas,
/// which are never read line by line.
pub fn tell(
    job: &Job,
    taken: &Taken,
    program: Option<&Program>,
    work: &Path,
    track: &mut Track<'_>,
) -> Result<(), PosesError> {
    if !job.input.is_file() || taken.views.is_some() {
        return Ok(());
    }
    let model = taken.model(&job.dataset);
    let images = check::Found::read(&model)?.images;
    let Some(told) = video::tell_times(job, &images, &|| track.stop())? else {
        return Ok(());
    };
    let mut frames = told.frames;
    let mut used = false;
    match (told.gyro, program) {
        (Some(Ok(fits)), Some(program)) => {
            track.note(&format!("{fits}; adjusting poses to the rolling shutter"));
            let adjusted = work.join("adjusted");
            let places = (model.as_path(), adjusted.as_path());
            let errors = rolling::adjust(job, program, places, &frames, track)?;
            used = errors.as_ref().is_some_and(rolling::Errors::are_better);
            track.note(&match errors {
                None => "warning: the adjustment failed; frames count as read at once".to_owned(),
                Some(rolling::Errors { before, after }) => format!(
                    "mean error {before:.2} -> {after:.2} pixels: {}",
                    match used {
                        true => "each line gets its own pose in training, which takes longer",
                        false => "no better, so that frames count as read at once",
                    }
                ),
            });
            if used {
                install(&adjusted, &model, work)?;
            }
        }
        (Some(Err(why)), _) => track.note(&format!("warning: {why}")),
        _ => {}
    }
    if !used {
        frames.readout_seconds = None;
        for frame in &mut frames.frames {
            frame.angular_velocity = None;
        }
    }
    Ok(frames.write(&job.dataset)?)
}
