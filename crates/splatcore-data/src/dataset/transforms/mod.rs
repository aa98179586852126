//! `transforms.json` as instant-ngp and nerfstudio write it, and Blender's `transforms_train.json`
//! with siblings.

mod camera;
mod f_theta;
mod f_theta_keys;
mod json;
mod points;
mod shutter;
mod write;

pub use f_theta_keys::Keys as FThetaKeys;
use json::plain;
pub use json::{Frame, Intrinsics, Transforms, parse};
pub(crate) use write::has_model;
pub use write::{PosedPhoto, write};

use super::finding::Finding;
use super::format::Format;
use super::found::{Entry, Found};
use super::neighbours::Neighbours;
use super::options::OpenOptions;
use super::pose::Pose;
use super::split::Split;
use super::{folder, photo};
use crate::{DataError, Place};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

/// One file; splits as nerfstudio declares them.
pub(super) fn open_file(path: &Path, options: &OpenOptions) -> Result<Found, DataError> {
    let root = folder::of_file(path);
    let transforms = read(path)?;
    let mut found = start(&root, Format::Transforms, options);
    let names = |list: &Option<Vec<String>>| -> HashSet<String> {
        list.iter()
            .flatten()
            .map(|name| plain(name).to_owned())
            .collect()
    };
    let train = names(&transforms.train_filenames);
    let (test, of_test) = match names(&transforms.test_filenames) {
        test if test.is_empty() => (names(&transforms.val_filenames), "val_filenames"),
        test => (test, "test_filenames"),
    };
    let split = |frame: &Frame| {
        let name = plain(&frame.file_path);
        if test.is_empty() {
            None
        } else if test.contains(name) {
            Some(Split::Test)
        } else if train.is_empty() || train.contains(name) {
            Some(Split::Train)
        } else {
            None
        }
    };
    add(&mut found, path, &transforms, options, split)?;
    let frames = transforms.frames.iter();
    let frames: HashSet<&str> = frames.map(|frame| plain(&frame.file_path)).collect();
    let is_unknown = |name: &&String| !frames.contains(name.as_str());
    let mut unknown: Vec<&String> = train.union(&test).filter(is_unknown).collect();
    unknown.sort();
    if let Some(first) = unknown.first() {
        let lists = [("train_filenames", &train), (of_test, &test)];
        let lists = lists
            .iter()
            .filter(|(_, names)| names.iter().any(|n| is_unknown(&n)));
        let lists: Vec<&str> = lists.map(|(list, _)| *list).collect();
        found.warnings.push(format!(
            "photos that are no frame's file_path are named in {}: {}, such as '{first}'",
            lists.join(" and "),
            unknown.len()
        ));
    }
    points::read(&mut found, &transforms)?;
    Ok(found)
}

/// Blender's files of one folder: train, and test (or val where there is no test).
pub(super) fn open_splits(root: &Path, options: &OpenOptions) -> Result<Found, DataError> {
    let mut found = start(root, Format::TransformsSplit, options);
    let train = root.join("transforms_train.json");
    let held_out = ["transforms_test.json", "transforms_val.json"];
    let test = held_out
        .map(|name| root.join(name))
        .into_iter()
        .find(|path| path.is_file());
    let transforms = read(&train)?;
    let declared = test.is_some();
    add(&mut found, &train, &transforms, options, |_| {
        declared.then_some(Split::Train)
    })?;
    if let Some(test) = test {
        add(&mut found, &test, &read(&test)?, options, |_| {
            Some(Split::Test)
        })?;
    }
    points::read(&mut found, &transforms)?;
    Ok(found)
}

fn start(root: &Path, format: Format, options: &OpenOptions) -> Found {
    let images = options
        .images
        .as_ref()
        .map_or_else(|| root.to_path_buf(), |name| root.join(name));
    Found::new(root, format, images)
}

fn read(path: &Path) -> Result<Transforms, DataError> {
    parse(&folder::read(path)?, path)
}

fn add(
    found: &mut Found,
    path: &Path,
    transforms: &Transforms,
    options: &OpenOptions,
    split: impl Fn(&Frame) -> Option<Split>,
) -> Result<(), DataError> {
    let neighbours = Neighbours::of(timed(transforms));
    for (index, frame) in transforms.frames.iter().enumerate() {
        let spelled = plain(&frame.file_path);
        if spelled.is_empty() {
            let finding = Finding::refused("its file_path", "empty", "the path of a photo");
            found.findings.push(finding.of(&format!("frames[{index}]")));
            continue;
        }
        let wanted = match &options.images {
            // `images/a.jpg` becomes `images_4/a.jpg`.
            Some(images) => {
                let inner = spelled.split_once('/').map_or(spelled, |(_, inner)| inner);
                format!("{images}/{inner}")
            }
            None => spelled.to_owned(),
        };
        let Some((name, image)) = folder::image(&found.root, &wanted) else {
            found.missing.push(spelled.to_owned());
            continue;
        };
        let intrinsics = frame.intrinsics.or(&transforms.intrinsics);
        let lens = match camera::lens(&intrinsics) {
            Ok(lens) => lens,
            Err(wrong) => {
                let place = Place::Part(format!("frames[{index}].camera_model"));
                let error = || DataError::new(path, wrong.problem, wrong.remedy).at(place);
                found.add_unknown(&name, *wrong.finding, error);
                continue;
            }
        };
        let size = match camera::size(&intrinsics) {
            Some(size) => size,
            None => Ok(photo::size(&image)?),
        };
        let pose = frame.pose();
        let camera = size.and_then(|size| camera::camera(&intrinsics, lens, size, pose));
        let moves = shutter::Moves {
            neighbours: neighbours.motion(index),
            readout: options.readout,
        };
        found.tells_motion |= shutter::is_told(frame, &intrinsics);
        match camera.and_then(|camera| shutter::rolling(camera, frame, &intrinsics, moves)) {
            Ok((camera, doubt)) => {
                found.findings.extend(doubt.map(|doubt| doubt.of(&name)));
                found.entries.push(Entry {
                    mask: mask(&found.root, frame, &name, &mut found.warnings),
                    name,
                    image,
                    camera,
                    declared_split: split(frame),
                    depth: depth(&found.root, frame, spelled, &mut found.warnings),
                    depth_unit: transforms.depth_unit_scale_factor,
                });
            }
            Err(finding) => found.findings.push(finding.of(&name)),
        }
    }
    Ok(())
}

/// Number, time and pose of the frames that say when they were taken.
fn timed(transforms: &Transforms) -> impl Iterator<Item = (usize, f64, Pose)> {
    let frames = transforms.frames.iter().enumerate();
    frames.filter_map(|(index, frame)| {
        let (name, matrix) = frame.pose()?;
        let time = frame.timestamp.filter(|time| time.is_finite())?;
        Some((index, time, camera::pose(name, matrix).ok()?))
    })
}

fn depth(root: &Path, frame: &Frame, name: &str, warnings: &mut Vec<String>) -> Option<PathBuf> {
    let declared = frame.depth_file_path.as_ref()?;
    let path = root.join(plain(declared));
    if !path.is_file() {
        warnings.push(format!("{name}: its depth map '{declared}' does not exist"));
        return None;
    }
    Some(path)
}

fn mask(root: &Path, frame: &Frame, name: &str, warnings: &mut Vec<String>) -> Option<PathBuf> {
    let Some(declared) = &frame.mask_path else {
        return folder::mask(root, name);
    };
    let path = root.join(plain(declared));
    if path.is_file() {
        return Some(path);
    }
    warnings.push(format!(
        "{name}: its mask '{declared}' does not exist, every pixel counts"
    ));
    None
}
