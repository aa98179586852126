//! Files of camera paths, told apart by what they hold.
//!
//! | file | read | written | axes of its positions |
//! | --- | --- | --- | --- |
//! | splatcore's own | yes | yes | the scene's; cameras x right, y down, z forward |
//! | nerfstudio's `camera_path.json` | yes | yes | nerfstudio's world; cameras OpenGL's |
//! | supersplat-viewer's `settings.json`, version 2 | yes | yes | PlayCanvas': the scene turned by 180 degrees about z |
//! | SuperSplat's `.ssproj`, and the `document.json` in it | yes | no | the same |
//! | splat-transform's camera track | yes | no | the same |

mod bytes;
mod fields;
mod format;
mod nerfstudio;
mod own;
mod playcanvas;
mod settings;
mod ssproj;
mod track;
mod world;

pub use format::{Format, Read};
pub use world::WorldTransform;

use crate::{CameraPath, Curve, PathError};
use bytes::{HELP, bytes_of, parse_json};
use fields::Field;
use std::path::Path;

/// Reads a file. For nerfstudio's, `world` says how its world lies in the scene's; without one, a
/// `dataparser_transforms.json` beside the file is used, if there is one.
///
/// # Errors
/// If the file cannot be read, is none of those in the table, or a field of it is wrong.
pub fn read(file: &Path, world: Option<&WorldTransform>) -> Result<Read, PathError> {
    let bytes = bytes_of(file)?;
    let beside = file.with_file_name("dataparser_transforms.json");
    let own_world = match world.is_none() && beside.is_file() && nerfstudio::is_path(&bytes) {
        true => Some(WorldTransform::read(&beside)?),
        false => None,
    };
    let mut read = parse(&bytes, file, world.or(own_world.as_ref()))?;
    if own_world.is_some() {
        read.notes
            .insert(0, format!("{} says where it lies", beside.display()));
    }
    Ok(read)
}

/// As [`read`], of bytes at hand; `file` is for messages.
///
/// # Errors
/// As [`read`].
pub fn parse(bytes: &[u8], file: &Path, world: Option<&WorldTransform>) -> Result<Read, PathError> {
    if bytes.starts_with(b"PK\x03\x04") {
        return checked(ssproj::parse_archive(bytes, file)?, file);
    }
    let json = parse_json(bytes, file)?;
    let root = Field::root(&json, file);
    let has = |name: &str| root.find(name).is_some();
    let read = if has("splatcore") {
        own::parse(&root)?
    } else if has("camera_path") {
        nerfstudio::parse(&root, world)?
    } else if has("poseSets") {
        ssproj::parse(&root)?
    } else if has("animTracks") {
        settings::parse(&root)?
    } else if has("frames") {
        track::parse(&root)?
    } else if has("clip_duration") {
        return Err(root.error(
            "is a timeline of LichtFeld Studio, which does not say in which axes its cameras lie",
            HELP,
        ));
    } else if json.is_array() {
        return Err(root.error(
            "is a list of cameras rather than a path",
            "give it as cameras, and a path through them",
        ));
    } else {
        return Err(root.error("holds no camera path that is known", HELP));
    };
    checked(read, file)
}

fn checked(mut read: Read, file: &Path) -> Result<Read, PathError> {
    for keyframe in &mut read.path.keyframes {
        keyframe.pose = keyframe.pose.straightened();
    }
    match read.path.defect() {
        None => Ok(read),
        Some((keyframe, problem)) => {
            let field = keyframe.map_or(String::new(), |i| format!("keyframe {i}"));
            Err(PathError::file(
                file,
                field,
                problem,
                "correct it, or leave it out",
            ))
        }
    }
}

/// A path's bytes in a format, one entry for each frame where the format has no curve of ours.
/// `fps` frames a second of `size` pixels; for nerfstudio `world` as in [`read`]. Also what the
/// format cannot hold.
///
/// # Errors
/// If the format is not written.
pub fn write(
    path: &CameraPath,
    curve: &Curve,
    format: Format,
    fps: f64,
    size: [u32; 2],
    world: Option<&WorldTransform>,
) -> Result<(String, Vec<String>), PathError> {
    match format {
        Format::Own => Ok((own::write(path), Vec::new())),
        Format::Nerfstudio => Ok(nerfstudio::write(curve, fps, size, world)),
        Format::Settings => Ok(settings::write(curve, fps)),
        Format::Ssproj | Format::Track => Err(PathError::made(
            format!("paths of {} are not written", format.name()),
            "choose splatcore, nerfstudio or settings",
        )),
    }
}
