//! RealityScan's (RealityCapture's) "Internal/External camera parameters" as CSV.
//!
//! Sources: the column names of the export; the help's "XMP camera math" (image coordinates are
//! relative to the longer side of the photo, from its centre); a camera that a user exported both
//! as CSV and as XMP (`angles.rs`).

mod angles;
mod csv;

pub use csv::{Row, parse};

use super::finding::Finding;
use super::folder;
use super::format::Format;
use super::found::Found;
use super::options::OpenOptions;
use super::photo;
use super::photo_index::PhotoIndex;
use super::plausible::values;
use super::points_beside;
use super::pose::{Axes, Pose};
use crate::DataError;
use splatcore_core::{Camera, Lens};
use std::path::Path;

/// Width in millimetres of the film that focal lengths refer to.
const FILM: f64 = 36.0;

/// Whether the bytes begin as such a file does.
pub(super) fn is_csv(bytes: &[u8]) -> bool {
    csv::has_header(bytes)
}

/// Reads the cameras, and the points of a PLY beside them.
pub(super) fn open(root: &Path, file: &Path, options: &OpenOptions) -> Result<Found, DataError> {
    let rows = parse(&folder::read(file)?, file)?;
    let photos = PhotoIndex::new(root, options)?;
    let mut found = Found::new(root, Format::RealityScan, photos.folder.clone());
    let mut k1_alone = 0;
    for row in &rows {
        let Some((name, image)) = photos.find(&row.name) else {
            found.missing.push(row.name.clone());
            continue;
        };
        let [k1, rest @ ..] = row.k;
        k1_alone += (k1 != 0.0 && rest == [0.0; 3] && row.t == [0.0; 2]) as usize;
        let camera = row.camera(photo::size(&image)?);
        found.add(name, image, camera);
    }
    if k1_alone > 0 {
        found.warnings.push(format!(
            "{}: {k1_alone} photos have k1 alone, which is read as Brown's; if the lens model was \
             Division, align with Brown3 and export again",
            file.display()
        ));
    }
    points_beside::read(
        &mut found,
        file,
        "export cameras and points in the same coordinate system, for example Local:1 - Euclidean",
    );
    Ok(found)
}

impl Row {
    /// The camera of a photo of this size, or what is wrong with it.
    pub fn camera(&self, (width, height): (u32, u32)) -> Result<Camera, Finding> {
        let longer = f64::from(width.max(height));
        let rotation = angles::to_world(self.angles);
        let to_world = std::array::from_fn(|i| {
            let [a, b, c] = rotation[i];
            [a, b, c, self.position[i]]
        });
        let pose = Pose::from_camera_to_world(&to_world, Axes::OpenGl)
            .map_err(|problem| values::no_pose("its pose", problem))?;
        // RealityScan's own export for OpenCV gives t2 as p1 and t1 as p2, Metashape's order.
        let lens = Lens::Brown {
            k: self.k,
            p: [self.t[0], self.t[1], 0.0, 0.0],
            skew: 0.0,
            fisheye: false,
        };
        Ok(Camera {
            width,
            height,
            fx: self.focal / FILM * longer,
            fy: self.focal / FILM * longer,
            cx: f64::from(width) / 2.0 + self.principal[0] * longer,
            cy: f64::from(height) / 2.0 + self.principal[1] * longer,
            rotation: pose.rotation,
            translation: pose.translation,
            lens: lens.simplified(),
            shutter: None,
        })
    }
}
