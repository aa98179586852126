//! Opens a dataset: tells its format, and checks what the reader of that format found.

use super::below::{Below, files_below};
use super::finding::{self, Finding};
use super::format::Format;
use super::found::Found;
use super::layouts::{self, Layout};
use super::options::OpenOptions;
use super::plausible;
use super::posed::Dataset;
use super::results::scene_of_results;
use super::{
    arkit, bundler, colmap, folder, llff, metashape, polycam, random_points, realityscan, record3d,
    remote, transforms, unused_masks,
};
use crate::DataError;
use splatcore_core::Choice;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

impl Dataset {
    /// Reads poses, lenses and points; decodes no pixels (it may read headers of photos for their
    /// sizes).
    ///
    /// `path` is a dataset's folder, or its file of cameras. A folder is searched for the formats
    /// in the order of [`Format::ALL`]: COLMAP in `sparse/0` and `sparse`; `transforms.json`;
    /// `transforms_train.json`; COLMAP in the folder itself and in `colmap/sparse/0` (nerfstudio);
    /// then the others. The first is read, [`Dataset::others`] names the rest.
    ///
    /// # Errors
    /// Nothing known in the folder, a file that is truncated or corrupt, unknown camera models of
    /// half of the photos, or no photo that has both a file and a usable camera.
    pub fn open(path: &Path, options: &OpenOptions) -> Result<Dataset, DataError> {
        let (layout, others) = find(path)?;
        let mut found = read(&layout, options)?;
        found.check_unknown()?;
        let files = std::iter::once(layout.at).chain(found.points_file);
        let (mut warnings, mut findings) = (found.warnings, found.findings);
        let mut entries = found.entries;
        plausible::check(&mut entries, &mut findings);
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        entries.dedup_by(|later, first| {
            let same = later.name == first.name;
            if same {
                warnings.push(format!("{}: listed twice, the first is used", first.name));
            }
            same
        });
        if entries.is_empty() {
            return Err(none_left(&found.images, &found.missing, &findings));
        }
        let mut missing = found.missing;
        missing.sort();
        missing.dedup();
        let mut points = found.points;
        points.drop_unusable(&mut warnings);
        if points.positions.is_empty() {
            points = random_points::inside_what_is_seen(&entries, options, found.depths);
        } else {
            findings.extend(plausible::points(&points, &entries));
        }
        warnings.extend(finding::lines(&findings));
        warnings.extend(unused_masks::warning(&found.root, &found.images, &entries));
        let centres = entries.iter().map(|entry| entry.camera.position());
        if let Some(far) = remote::distance(centres) {
            warnings.push(format!(
                "{far}; export cameras and points in local coordinates"
            ));
        }
        Ok(Dataset {
            root: found.root,
            format: found.format,
            files: files.collect(),
            entries,
            missing,
            points,
            tells_motion: found.tells_motion,
            others: others.iter().map(|other| other.to_string()).collect(),
            findings,
            warnings,
        })
    }
}

fn none_left(images: &Path, missing: &[String], findings: &[Finding]) -> DataError {
    let reasons = finding::lines(findings);
    let elsewhere = reasons.is_empty() && !missing.is_empty();
    let (problem, remedy) = match (reasons.first(), missing.first()) {
        (Some(first), _) => (
            format!("no image with a usable camera is left ({first})"),
            "repair that or export the cameras again",
        ),
        (None, Some(first)) => (
            format!(
                "none of the {} listed images exists here (the first is '{first}')",
                missing.len()
            ),
            "put the photos there or name their folder",
        ),
        (None, None) => (
            "the dataset lists no image".into(),
            "check that the reconstruction registered at least one photo",
        ),
    };
    let error = DataError::new(images, problem, remedy);
    match elsewhere {
        true => error.depending_on(Choice::PhotoFolder),
        false => error,
    }
}

/// Reads a dataset with the reader of its format.
fn read(layout: &Layout, options: &OpenOptions) -> Result<Found, DataError> {
    let Layout { format, root, at } = layout;
    match format {
        Format::ColmapBinary | Format::ColmapText => colmap::open(root, at, *format, options),
        Format::Transforms => transforms::open_file(at, options),
        Format::TransformsSplit => transforms::open_splits(root, options),
        Format::Polycam => polycam::open(root, at, options),
        Format::Record3d => record3d::open(root, at, options),
        Format::Arkit => arkit::open(root, options),
        Format::Metashape => metashape::open(root, at, options),
        Format::RealityScan => realityscan::open(root, at, options),
        Format::Bundler => bundler::open(root, at, options),
        Format::Llff => llff::open(root, at, options),
    }
}

/// Whether photos are in a folder, or below it outside of other datasets and runs.
fn holds_photos(path: &Path) -> Result<bool, DataError> {
    let mut found = false;
    files_below(path, &[], &mut |of| match of {
        Below::File(_, file) if folder::is_photo(&file) => {
            found = true;
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    })?;
    Ok(found)
}

/// The folder above one of photos, if it is a dataset: its `images` were given in its place.
fn with_cameras_above(photos: &Path) -> Option<PathBuf> {
    photos.file_name()?;
    let above = match photos.parent()? {
        here if here.as_os_str().is_empty() => Path::new("."),
        above => above,
    };
    (!layouts::in_folder(above).is_empty()).then(|| above.into())
}

/// The dataset to read, and others that are there.
fn find(path: &Path) -> Result<(Layout, Vec<Layout>), DataError> {
    let kind = std::fs::metadata(path).map_err(|e| DataError::read(path, &e))?;
    if kind.is_file() {
        if let Some(layout) = layouts::of_file(path) {
            return Ok((layout, Vec::new()));
        }
        if folder::is_video(path) {
            let problem = "is a video, whose frames have no cameras yet";
            let error = DataError::new(path, problem, "find the cameras first");
            return Err(error.depending_on(Choice::Poses));
        }
        return Err(DataError::new(
            path,
            "is a file, and none that describes the cameras of a dataset",
            "give the dataset's folder, or its transforms.json or another file of cameras",
        ));
    }
    let mut all = layouts::in_folder(path).into_iter();
    if let Some(first) = all.next() {
        return Ok((first, all.collect()));
    }
    let scene = scene_of_results(path);
    let is_run = scene.is_some();
    if !is_run && holds_photos(path)? {
        let problem = "holds photos but no cameras: neither a COLMAP model (cameras.bin or \
                       cameras.txt in sparse/0) nor transforms.json";
        let remedy = match with_cameras_above(path) {
            Some(above) => format!(
                "give {}, which holds cameras, or find them anew",
                above.display()
            ),
            None => "find the cameras first".into(),
        };
        return Err(DataError::new(path, problem, remedy).depending_on(Choice::Poses));
    }
    if !is_run && let Some(error) = folder::unread_photos(path) {
        return Err(error);
    }
    let remedy = match scene {
        Some(scene) => {
            let scene = scene.strip_prefix(path).unwrap_or(&scene).display();
            format!(
                "it seems to be the results of a run: give its {scene}, or the folder of the photos"
            )
        }
        None => "there are no photos either; give the folder that holds photos or a model".into(),
    };
    Err(DataError::new(
        path,
        "holds neither a COLMAP model (cameras.bin or cameras.txt in sparse/0, sparse or the \
         folder itself) nor transforms.json or transforms_train.json, nor cameras of Polycam, \
         Record3D, 3D Scanner App (frame_*.json), Metashape (.xml), RealityScan (.csv), Bundler \
         (bundle.out) or LLFF (poses_bounds.npy)",
        remedy,
    ))
}
