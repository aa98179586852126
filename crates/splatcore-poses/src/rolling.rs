//! Poses of frames that were read line by line, where it is known how the camera turned meanwhile.
//!
//! COLMAP takes a frame for one that is read at once, and poses and points give way until they fit
//! it. Where a point appears if the camera stands still follows from the turn alone, however far
//! the point is: its ray is turned from the axes of the time when its line was read to those of the
//! middle line. With the places so moved the model is adjusted once more. If it then fits better,
//! the turn and the read-out were right, and the poses are those of the middle lines; if not,
//! everything stays as it was.

use crate::child::End;
use crate::log::Log;
use crate::program::Program;
use crate::track::Track;
use crate::{Job, PosesError};
use splatcore_core::Camera;
use splatcore_core::shutter::{Readout, Shutter};
use splatcore_data::DataError;
use splatcore_data::dataset::Frames;
use splatcore_data::dataset::colmap::{self, ColmapImage};
use std::collections::HashMap;
use std::path::Path;

/// The adjusted model must have at most this share of the error that it had.
const BETTER: f64 = 0.95;

/// The mean errors of reprojection, in pixels, before and after.
pub struct Errors {
    pub before: f64,
    pub after: f64,
}

impl Errors {
    /// Whether the motion explains what was seen.
    pub fn are_better(&self) -> bool {
        self.after < BETTER * self.before
    }
}

/// Adjusts a model to frames that were read while the camera turned as `frames` say, in a folder of
/// work; the caller decides whether the model there is better. `None` if the program failed.
///
/// # Errors
/// Files of the model that cannot be read or written, or a stop.
pub fn adjust(
    job: &Job,
    program: &Program,
    (model, adjusted): (&Path, &Path),
    frames: &Frames,
    track: &mut Track<'_>,
) -> Result<Option<Errors>, PosesError> {
    let read = |folder: &Path, name: &str| {
        let path = folder.join(name);
        let bytes = std::fs::read(&path).map_err(|e| DataError::read(&path, &e));
        bytes.map(|bytes| (bytes, path))
    };
    let before = colmap::mean_error(model)?;
    let (bytes, path) = read(model, "cameras.bin")?;
    let cameras = colmap::parse_cameras_bin(&bytes, &path)?;
    let cameras: HashMap<u32, Camera> = cameras.into_iter().map(|c| (c.id, c.camera)).collect();
    let shutters = shutters(frames);
    let (bytes, path) = read(model, "images.bin")?;
    let mut places: HashMap<u32, Vec<[f64; 2]>> = HashMap::new();
    let moved = colmap::move_pixels(&bytes, &path, &mut |image, _, pixel| {
        places.entry(image.id).or_default().push(pixel);
        let known = (
            cameras.get(&image.camera),
            shutters.get(image.name.as_str()),
        );
        match known {
            (Some(camera), Some(shutter)) => at_the_middle(camera, *shutter, pixel),
            _ => pixel,
        }
    })?;
    let still = adjusted.with_extension("still");
    copy(model, &still)?;
    let path = still.join("images.bin");
    std::fs::write(&path, moved).map_err(|e| DataError::write(&path, &e))?;
    std::fs::create_dir_all(adjusted).map_err(|e| DataError::write(adjusted, &e))?;
    let call = program.adjust(&still, adjusted);
    match Log::of(&job.dataset)?.run(&call, track, &mut |_, _| Ok(()))? {
        End::Exited(status) if status.success() && adjusted.join("images.bin").is_file() => {}
        End::Exited(_) => return Ok(None),
        End::Stopped => {
            return Err(PosesError::Stopped {
                dataset: job.dataset.clone(),
                repeated: Some("the adjustment to the rolling shutter"),
            });
        }
    }
    let after = colmap::mean_error(adjusted)?;
    // The photos show points where they did.
    let (bytes, path) = read(adjusted, "images.bin")?;
    let restored =
        colmap::move_pixels(&bytes, &path, &mut |image: &ColmapImage, number, pixel| {
            let was = places.get(&image.id).and_then(|of| of.get(number));
            was.copied().unwrap_or(pixel)
        })?;
    std::fs::write(&path, restored).map_err(|e| DataError::write(&path, &e))?;
    Ok(Some(Errors { before, after }))
}

/// The motion of each photo that has one.
fn shutters(frames: &Frames) -> HashMap<&str, Shutter> {
    let seconds = frames.readout_seconds.unwrap_or(0.0);
    let photos = frames.frames.iter().filter_map(|frame| {
        let turn = frame.angular_velocity?.map(|v| seconds * v);
        let shutter = Shutter {
            readout: frames.readout_direction.unwrap_or(Readout::TopToBottom),
            turn,
            shift: [0.0; 3],
        };
        Some((frame.name.as_str(), shutter))
    });
    photos.collect()
}

/// Where a point would be seen if the camera stood still; where it was, if the lens does not say.
fn at_the_middle(camera: &Camera, shutter: Shutter, pixel: [f64; 2]) -> [f64; 2] {
    let moving = Camera {
        shutter: Some(shutter),
        ..camera.clone()
    };
    let time = moving.time(pixel);
    let ray = camera.direction(pixel);
    let shown = ray.and_then(|ray| camera.project(shutter.turned_back(time, ray)));
    shown
        .filter(|at| at.iter().all(|v| v.is_finite()))
        .unwrap_or(pixel)
}

/// Copies a model's files.
fn copy(from: &Path, to: &Path) -> Result<(), PosesError> {
    let _ = std::fs::remove_dir_all(to);
    std::fs::create_dir_all(to).map_err(|e| DataError::write(to, &e))?;
    let files = std::fs::read_dir(from).map_err(|e| DataError::read(from, &e))?;
    for file in files {
        let path = file.map_err(|e| DataError::read(from, &e))?.path();
        if let Some(name) = path.file_name().filter(|_| path.is_file()) {
            std::fs::copy(&path, to.join(name)).map_err(|e| DataError::write(to, &e))?;
        }
    }
    Ok(())
}
