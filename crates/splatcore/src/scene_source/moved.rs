//! A scene that was moved, turned or scaled since its run wrote it: its photos, its cameras and
//! which way is up go with it.

use serde::{Deserialize, Serialize};
use splatcore_core::Camera;
use splatcore_core::camera::dot;
use splatcore_core::sky::Sky;
use splatcore_data::dataset::Dataset;
use splatcore_data::scene::edit::Similarity;
use splatcore_page::Pose;

/// From the world of a run to that of a file made of its scene: x -> scale * rotation x +
/// translation.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Move {
    /// In rows.
    rotation: [[f64; 3]; 3],
    /// Above 0.
    scale: f64,
    /// World units of the file.
    translation: [f64; 3],
}

impl Move {
    /// Of a map; none if it changes nothing.
    pub fn of(map: &Similarity) -> Option<Self> {
        (*map != Similarity::IDENTITY).then_some(Self {
            rotation: map.rotation,
            scale: map.scale,
            translation: map.translation,
        })
    }

    /// As a map.
    pub fn map(&self) -> Similarity {
        Similarity {
            rotation: self.rotation,
            scale: self.scale,
            translation: self.translation,
        }
    }

    /// Whether it is a rotation with a scale above 0.
    pub fn is_sound(&self) -> bool {
        let rows = &self.rotation;
        let orthonormal = (0..3).all(|i| {
            (0..3).all(|j| (dot(rows[i], rows[j]) - f64::from(u8::from(i == j))).abs() < 1e-6)
        });
        let finite = self.translation.iter().all(|v| v.is_finite());
        orthonormal && finite && self.scale > 0.0 && self.scale.is_finite()
    }

    /// A direction of the run's world.
    pub fn direction(&self, direction: [f64; 3]) -> [f64; 3] {
        self.rotation.map(|row| dot(row, direction))
    }

    /// A camera of the run's world: it sees of the moved scene what it saw before.
    pub fn camera(&self, camera: &mut Camera) {
        camera.rotation = camera.rotation.map(|axis| self.direction(axis));
        let offset = camera.rotation.map(|axis| dot(axis, self.translation));
        camera.translation =
            std::array::from_fn(|k| self.scale * camera.translation[k] - offset[k]);
        if let Some(shutter) = &mut camera.shutter {
            shutter.shift = shutter.shift.map(|v| self.scale * v);
        }
    }

    /// The sky over the run's world.
    pub fn sky(&self, sky: &Sky) -> Sky {
        sky.turned(self.rotation)
    }

    /// A view of the run's world.
    pub fn pose(&self, pose: &Pose) -> Pose {
        Pose {
            position: self.map().point(pose.position),
            rotation: pose.rotation.map(|axis| self.direction(axis)),
            ..pose.clone()
        }
    }

    /// A dataset of the run's world: cameras and points.
    pub fn dataset(&self, dataset: &mut Dataset) {
        for entry in &mut dataset.entries {
            self.camera(&mut entry.camera);
        }
        let map = self.map();
        for position in &mut dataset.points.positions {
            *position = map.point(position.map(f64::from)).map(|v| v as f32);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_camera_sees_of_a_moved_scene_what_it_saw_before() {
        let map = Similarity::rotation([0.3, -0.5, 0.8], 70.0)
            .then(&Similarity::scale(2.5))
            .then(&Similarity::translation([4.0, -1.0, 0.5]));
        let moved = Move::of(&map).unwrap();
        assert!(moved.is_sound());
        let before = Camera::look_at([1.0, 2.0, -5.0], [0.0; 3], [0.0, -1.0, 0.0], 0.8, 64, 48);
        let mut after = before.clone();
        moved.camera(&mut after);
        for point in [[0.0, 0.0, 0.0], [0.3, -0.4, 1.0]] {
            let (a, b) = (before.to_view(point), after.to_view(map.point(point)));
            for k in 0..3 {
                assert!((2.5 * a[k] - b[k]).abs() < 1e-9, "{a:?} {b:?}");
            }
        }
        let there = map.point(before.position());
        assert!((0..3).all(|k| (after.position()[k] - there[k]).abs() < 1e-9));
        assert_eq!(Move::of(&Similarity::IDENTITY), None);
    }
}
