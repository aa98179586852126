//! [`Dataset`]: posed photos.

use super::finding::{Finding, Severity};
use super::format::Format;
use super::found::{Entry, Points};
use super::split::Split;
use std::path::PathBuf;

/// Posed photos.
#[derive(Clone, Debug, PartialEq)]
pub struct Dataset {
    /// Folder that holds the model and the photos.
    pub root: PathBuf,
    /// Kind of files.
    pub format: Format,
    /// What cameras and points were read from; of COLMAP and Polycam the folder of the files.
    pub files: Vec<PathBuf>,
    /// The photos that exist, sorted by name (bytewise).
    pub entries: Vec<Entry>,
    /// Names of listed photos whose file does not exist.
    pub missing: Vec<String>,
    /// Points to start from.
    pub points: Points,
    /// The files say how cameras moved while they took photos, or when photos were taken.
    pub tells_motion: bool,
    /// Other datasets in the same folder, which were not read, a line each.
    pub others: Vec<String>,
    /// What is wrong or unlikely, as plain data.
    pub findings: Vec<Finding>,
    /// What was left out or repaired, one line each; also the findings.
    pub warnings: Vec<String>,
}

impl Dataset {
    /// Turns the world about its origin, by a rotation in rows: cameras and points.
    pub fn turn(&mut self, rotation: &[[f64; 3]; 3]) {
        for entry in &mut self.entries {
            let camera = &mut entry.camera;
            // A camera's axes are rows in the world.
            camera.rotation = camera.rotation.map(|axis| turned(rotation, axis));
        }
        for position in &mut self.points.positions {
            *position = turned(rotation, position.map(f64::from)).map(|v| v as f32);
        }
    }

    /// Why no training can work on these photos, however sound each is; nothing if it can.
    pub fn untrainable(&self) -> Option<&Finding> {
        let of_all = |f: &&Finding| f.photo.is_none() && f.severity == Severity::Refused;
        self.findings.iter().find(of_all)
    }

    /// Indices of the entries of a split, ascending. If the files declare splits, those are used;
    /// else every `test_every`-th entry by name, starting with the first, is held out (0: none is).
    pub fn select(&self, split: Split, test_every: usize) -> Vec<usize> {
        let declared = self.entries.iter().any(|e| e.declared_split.is_some());
        let belongs = |i: usize| {
            let own = if declared {
                self.entries[i].declared_split
            } else if test_every > 0 && i.is_multiple_of(test_every) {
                Some(Split::Test)
            } else {
                Some(Split::Train)
            };
            split == Split::All || own == Some(split)
        };
        (0..self.entries.len()).filter(|&i| belongs(i)).collect()
    }
}

fn turned(rotation: &[[f64; 3]; 3], v: [f64; 3]) -> [f64; 3] {
    rotation.map(|row| (0..3).map(|k| row[k] * v[k]).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::Camera;

    #[test]
    fn a_world_that_is_turned_is_seen_as_before() {
        let point = [0.3, -0.2, 0.5];
        let camera = Camera::look_at([1.0, 2.0, -4.0], [0.0; 3], [0.1, -1.0, 0.2], 0.8, 64, 48);
        let entry = Entry {
            name: "a".into(),
            image: "a".into(),
            mask: None,
            camera: camera.clone(),
            declared_split: None,
            depth: None,
            depth_unit: None,
        };
        let mut dataset = Dataset {
            root: "".into(),
            format: Format::Transforms,
            files: Vec::new(),
            entries: vec![entry],
            missing: Vec::new(),
            points: Points {
                positions: vec![point.map(|v| v as f32)],
                colours: vec![[0; 3]],
                random: false,
            },
            tells_motion: false,
            others: Vec::new(),
            findings: Vec::new(),
            warnings: Vec::new(),
        };
        // x to y, y to z, z to x.
        dataset.turn(&[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
        let found = &dataset.entries[0].camera;
        let turned = dataset.points.positions[0].map(f64::from);
        assert!((turned[1] - point[0]).abs() < 1e-6 && (turned[0] - point[2]).abs() < 1e-6);
        let (seen, before) = (found.to_view(turned), camera.to_view(point));
        assert!(
            (0..3).all(|k| (seen[k] - before[k]).abs() < 1e-6),
            "{seen:?}"
        );
        let [x, y, z] = camera.position();
        let there = found.position();
        assert!(
            (0..3).all(|k| (there[k] - [z, x, y][k]).abs() < 1e-12),
            "{there:?}"
        );
    }
}
