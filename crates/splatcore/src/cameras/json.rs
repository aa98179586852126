//! INRIA's cameras.json: read for `--cameras`, written by a run.

use super::named::{MAX_SIDE, NamedCamera};
use crate::output;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use splatcore_core::shutter::Shutter;
use splatcore_core::{Camera, Lens};
use std::path::Path;

/// One entry.
#[derive(Serialize, Deserialize)]
struct JsonCamera {
    #[serde(default)]
    id: usize,
    img_name: Option<String>,
    width: u32,
    height: u32,
    position: [f64; 3],
    rotation: [[f64; 3]; 3],
    fx: f64,
    fy: f64,
    cx: Option<f64>,
    cy: Option<f64>,
    #[serde(default)]
    held_out: bool,
    /// Of a camera that is no pinhole.
    #[serde(default, skip_serializing_if = "is_pinhole")]
    lens: Lens,
    /// Of a camera that moves while it reads a photo.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    shutter: Option<Shutter>,
}

/// Reads a cameras.json; see `--cameras`.
///
/// # Errors
/// If the file cannot be read, holds no camera, or one that makes no sense.
pub fn read_json(path: &Path) -> Result<Vec<NamedCamera>> {
    let text = std::fs::read_to_string(path).map_err(|e| {
        anyhow::anyhow!(
            "{}: cannot be read ({e}); give a cameras.json",
            path.display()
        )
    })?;
    let entries: Vec<JsonCamera> = serde_json::from_str(&text).with_context(|| {
        format!(
            "{}: is not an array of cameras (see `splatcore render --help`, --cameras)",
            path.display()
        )
    })?;
    if entries.is_empty() {
        bail!("{}: holds no camera; give at least one", path.display());
    }
    let named = |(i, entry): (usize, JsonCamera)| {
        let name = entry
            .img_name
            .clone()
            .unwrap_or_else(|| format!("camera_{i:04}"));
        let camera = entry.camera();
        let too_large = camera.width.max(camera.height) > MAX_SIDE;
        let defect = camera
            .defect()
            .or_else(|| too_large.then(|| format!("a side is above {MAX_SIDE} pixels")));
        match defect {
            None => Ok(NamedCamera {
                held_out: entry.held_out,
                ..NamedCamera::new(name, camera)
            }),
            Some(defect) => bail!(
                "{}, camera {i} ('{name}'): {defect}; correct it or leave it out",
                path.display()
            ),
        }
    };
    entries.into_iter().enumerate().map(named).collect()
}

/// Writes a cameras.json. Beside INRIA's fields it holds the principal point and whether a camera
/// was held out of training.
///
/// # Errors
/// If the disk does not take it.
pub fn write_json(path: &Path, cameras: &[NamedCamera]) -> Result<()> {
    let entries: Vec<JsonCamera> = cameras.iter().enumerate().map(JsonCamera::of).collect();
    output::write_json(path, &entries)
}

impl JsonCamera {
    fn of((id, named): (usize, &NamedCamera)) -> Self {
        let camera = &named.camera;
        Self {
            id,
            img_name: Some(named.name.clone()),
            width: camera.width,
            height: camera.height,
            position: camera.position(),
            rotation: transposed(&camera.rotation),
            fx: camera.fx,
            fy: camera.fy,
            cx: Some(camera.cx),
            cy: Some(camera.cy),
            held_out: named.held_out,
            lens: camera.lens,
            shutter: camera.shutter,
        }
    }

    /// World-to-camera is the transpose of the given rotation; translation `-Rᵀ position`.
    fn camera(&self) -> Camera {
        let rotation = transposed(&self.rotation);
        let p = self.position;
        Camera {
            width: self.width,
            height: self.height,
            fx: self.fx,
            fy: self.fy,
            cx: self.cx.unwrap_or(self.width as f64 / 2.0),
            cy: self.cy.unwrap_or(self.height as f64 / 2.0),
            rotation,
            translation: std::array::from_fn(|i| {
                -(0..3).map(|j| rotation[i][j] * p[j]).sum::<f64>()
            }),
            lens: self.lens,
            shutter: self.shutter,
        }
    }
}

fn is_pinhole(lens: &Lens) -> bool {
    *lens == Lens::Pinhole
}

fn transposed(rows: &[[f64; 3]; 3]) -> [[f64; 3]; 3] {
    std::array::from_fn(|i| std::array::from_fn(|j| rows[j][i]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn camera() -> Camera {
        Camera {
            cx: 30.0,
            ..Camera::look_at(
                [1.0, -2.0, 3.0],
                [0.2, 0.1, 0.0],
                [0.0, -1.0, 0.0],
                0.9,
                64,
                48,
            )
        }
    }

    fn same(found: &Camera, wanted: &Camera) {
        for i in 0..3 {
            assert!((found.translation[i] - wanted.translation[i]).abs() < 1e-12);
            assert_eq!(found.rotation[i], wanted.rotation[i]);
        }
        assert_eq!((found.cx, found.cy), (wanted.cx, wanted.cy));
    }

    #[test]
    fn a_json_camera_is_the_camera_it_was_written_from() {
        let wanted = Camera {
            cx: 32.0,
            ..camera()
        };
        let r = wanted.rotation;
        let transposed: [[f64; 3]; 3] = std::array::from_fn(|i| std::array::from_fn(|j| r[j][i]));
        let text = serde_json::json!([{
            "id": 0, "img_name": "a", "width": 64, "height": 48, "position": wanted.position(),
            "rotation": transposed, "fx": wanted.fx, "fy": wanted.fy
        }]);
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cameras.json");
        std::fs::write(&file, text.to_string()).unwrap();
        let found = &read_json(&file).unwrap()[0];
        same(&found.camera, &wanted);
        assert!(!found.held_out);
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("cameras.json");
        let cameras = [false, true].map(|held_out| NamedCamera {
            held_out,
            ..NamedCamera::new(format!("left/{held_out}.jpg"), camera())
        });
        write_json(&file, &cameras).unwrap();
        let found = read_json(&file).unwrap();
        for (found, wanted) in found.iter().zip(&cameras) {
            same(&found.camera, &wanted.camera);
            assert_eq!(found.name, wanted.name);
            assert_eq!(found.held_out, wanted.held_out);
        }
        assert_eq!(found.len(), 2);
    }
}
