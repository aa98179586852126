//! Normals of photos: what their files say, in the axes of a camera.

use super::options::{NormalFrame, NormalOptions};
use super::{Loaded, Unfit, find, masked, refused, vectors};
use crate::DataError;
use crate::dataset::Entry;
use crate::dataset::posed::Dataset;
use splatcore_core::camera::dot;
use splatcore_core::depth::{DepthMap, Known};
use splatcore_core::{Camera, Choice, Lens, View};

/// Lengths that a normal has in files of 8 bits, which round; others say that nothing is known.
const LENGTHS: [f64; 2] = [0.8, 1.2];

/// What is known of a photo, with its normals, if it has a file of them. One of another shape is
/// added to `unfit`.
pub(crate) fn with_normals(
    dataset: &Dataset,
    entry: &Entry,
    loaded: &Loaded<'_>,
    options: &NormalOptions,
    known: Option<DepthMap>,
    unfit: &mut Vec<Unfit>,
) -> Result<Option<DepthMap>, DataError> {
    let folder = options.folder.as_deref();
    let Some(file) = find::file_of(&dataset.root, entry, folder, &find::NORMALS) else {
        return Ok(known);
    };
    let (source, view) = (loaded.source, loaded.view);
    let wrong = |problem: String, remedy: &str| Err(refused(&file, entry, problem, remedy));
    let vectors::Vectors {
        width,
        height,
        values,
    } = vectors::read(&file)?;
    if let Some(map) = Unfit::find("normals", [width, height], (&file, entry, source)) {
        unfit.push(map);
        return Ok(known);
    }
    if view.lens != Lens::Pinhole {
        return wrong(
            "normals of depths are those of a pinhole, and the photo keeps its lens".into(),
            "let photos be undistorted as they are loaded, or leave the normals out",
        );
    }
    let found = facing(&source.resized(width, height), &values, options.frame);
    if found.away > found.towards {
        let most = "most of its normals point away from the camera".into();
        return wrong(most, "say in which axes they are: opencv, opengl or world");
    }
    if found.towards == 0 {
        return Ok(known);
    }
    let map = DepthMap {
        width,
        height,
        inverse: vec![0.0; values.len()],
        normals: found.normals,
    };
    let map = masked(super::of_view(map, loaded), loaded);
    Ok(Some(match known {
        None => map,
        Some(known) => beside(known, &map),
    }))
}

/// Normals in the axes of their camera, and how many point towards it and away.
struct Facing {
    normals: Vec<[f32; 3]>,
    towards: usize,
    away: usize,
}

/// Of unit length; zero where a file knows none, and where it points away.
fn facing(camera: &Camera, values: &[[f32; 3]], frame: NormalFrame) -> Facing {
    let (mut towards, mut away) = (0, 0);
    let normals = values.iter().enumerate().map(|(i, value)| {
        let [x, y, z] = value.map(f64::from);
        let length = dot([x, y, z], [x, y, z]).sqrt();
        let pixel = [i % camera.width as usize, i / camera.width as usize];
        let ray = camera.direction(pixel.map(|v| v as f64 + 0.5));
        let known = (LENGTHS[0]..=LENGTHS[1]).contains(&length);
        let (true, Some(ray)) = (known, ray) else {
            return [0.0; 3];
        };
        let normal = match frame {
            NormalFrame::OpenCv => [x, y, z],
            NormalFrame::OpenGl => [x, -y, -z],
            NormalFrame::World => camera.rotation.map(|row| dot(row, [x, y, z])),
        };
        if dot(normal, ray) >= 0.0 {
            away += 1;
            return [0.0; 3];
        }
        towards += 1;
        normal.map(|v| (v / length) as f32)
    });
    Facing {
        normals: normals.collect(),
        towards,
        away,
    }
}

/// What is known of depths, with the normals of another map.
fn beside(known: DepthMap, of: &DepthMap) -> DepthMap {
    let size = [known.width, known.height];
    let places = (0..known.inverse.len() as u32).map(|i| [i % size[0], i / size[0]]);
    DepthMap {
        normals: places.map(|at| of.normals[of.index(at, size)]).collect(),
        ..known
    }
}

/// Refuses a dataset of which no photo has normals.
pub(crate) fn check_normals(
    dataset: &Dataset,
    options: &NormalOptions,
    views: &[View],
) -> Result<(), DataError> {
    let has = |view: &View| view.photo.known_depths().is_some_and(Known::has_normals);
    if views.iter().any(has) {
        return Ok(());
    }
    let root = &dataset.root;
    let (path, where_to) = match &options.folder {
        Some(folder) => (root.join(folder), String::new()),
        None => {
            let folders = find::NORMALS.folders.join(", ");
            (root.clone(), format!(" ({folders} were looked into)"))
        }
    };
    let problem = format!("no photo has normals that are of use here{where_to}");
    let remedy = "name their folder; a map of normals is called as its photo, with the ending png, \
                  exr, npy or npz";
    Err(DataError::new(&path, problem, remedy).depending_on(Choice::Normals))
}
