//! `dataparser_transforms.json` of nerfstudio: how its world lies in the dataset's.

use super::bytes::{bytes_of, parse_json};
use super::fields::Field;
use crate::{PathError, Pose};
use splatcore_core::camera::dot;
use std::path::Path;

/// How nerfstudio's world lies in the dataset's: `nerfstudio = scale (rotation dataset + offset)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WorldTransform {
    /// Rows; orthonormal.
    pub(super) rotation: [[f64; 3]; 3],
    pub(super) offset: [f64; 3],
    pub(super) scale: f64,
}

impl WorldTransform {
    /// Reads a `dataparser_transforms.json`.
    ///
    /// # Errors
    /// If it is none, or its transform is no rotation.
    pub fn read(file: &Path) -> Result<Self, PathError> {
        Self::parse(&bytes_of(file)?, file)
    }

    /// As [`Self::read`], of bytes at hand.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn parse(bytes: &[u8], file: &Path) -> Result<Self, PathError> {
        let json = parse_json(bytes, file)?;
        let root = Field::root(&json, file);
        let transform = root.get("transform")?;
        let rows: Vec<[f64; 4]> = transform
            .list()?
            .iter()
            .map(Field::numbers)
            .collect::<Result<_, _>>()?;
        let (Some(rows), true) = (rows.first_chunk::<3>(), rows.len() <= 4) else {
            return Err(transform.error("three rows are expected", "take the file of the run"));
        };
        let rotation = rows.map(|[a, b, c, _]| [a, b, c]);
        let upright = Pose {
            position: [0.0; 3],
            rotation,
            fov: 1.0,
        };
        if let Some(defect) = upright.defect() {
            return Err(transform.error(defect, "take the file of the run"));
        }
        Ok(Self {
            rotation,
            offset: rows.map(|row| row[3]),
            scale: root.get("scale")?.positive()?,
        })
    }

    /// A place of nerfstudio's world in the dataset's.
    pub(super) fn place(&self, p: [f64; 3]) -> [f64; 3] {
        let moved: [f64; 3] = std::array::from_fn(|k| p[k] / self.scale - self.offset[k]);
        std::array::from_fn(|j| (0..3).map(|i| self.rotation[i][j] * moved[i]).sum())
    }

    /// A direction of nerfstudio's world in the dataset's.
    pub(super) fn direction(&self, d: [f64; 3]) -> [f64; 3] {
        std::array::from_fn(|j| (0..3).map(|i| self.rotation[i][j] * d[i]).sum())
    }

    /// A direction of the dataset's world in nerfstudio's.
    pub(super) fn turned(&self, d: [f64; 3]) -> [f64; 3] {
        self.rotation.map(|row| dot(row, d))
    }
}
