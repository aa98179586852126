//! Where a drawn scene lies in the world: a kernel that is right near the origin, for one way to
//! look or for one unit of length, is wrong elsewhere.

use crate::worker::FrameSpec;
use splatcore_core::Gaussians;
use splatcore_core::camera::rotation_from_quaternion;
use splatcore_core::random::Rng;

/// Units of length over those in which scenes are drawn, least and most.
const UNITS: [f64; 2] = [0.03, 100.0];
/// The least of a scene that is far away.
const FAR: f64 = 5.0;
/// How far a scene may be moved along each axis, in its own units.
const MOVED: f64 = 8.0;

/// Of a quaternion that is no turn, which is never drawn.
const UNTURNED: [[f64; 3]; 3] = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];

/// A turn, another unit of length, and another origin.
#[derive(Clone, Copy)]
pub struct World {
    turn: [[f64; 3]; 3],
    unit: f64,
    origin: [f64; 3],
}

impl World {
    /// Any, or one of long distances.
    pub fn draw(rng: &mut Rng, is_far: bool) -> Self {
        let q: [f64; 4] = std::array::from_fn(|_| f64::from(rng.normal()));
        let turn = rotation_from_quaternion(q).unwrap_or(UNTURNED);
        let [least, most] = [if is_far { FAR } else { UNITS[0] }, UNITS[1]].map(f64::ln);
        let unit = (least + (most - least) * f64::from(rng.uniform())).exp();
        let origin = std::array::from_fn(|_| unit * MOVED * (2.0 * f64::from(rng.uniform()) - 1.0));
        Self { turn, unit, origin }
    }

    /// Takes a scene there. Rotations stay, as they are drawn in every direction.
    pub fn place(&self, scene: &mut Gaussians) {
        for mean in &mut scene.means {
            let from = mean.map(f64::from);
            *mean = std::array::from_fn(|k| {
                let turned: f64 = (0..3).map(|j| self.turn[k][j] * from[j]).sum();
                (self.unit * turned + self.origin[k]) as f32
            });
        }
        let longer = self.unit.ln() as f32;
        let logs = scale_logs(scene);
        logs.for_each(|log| *log += longer);
    }

    /// The frame that sees there what it saw before.
    pub fn seen(&self, frame: FrameSpec) -> FrameSpec {
        let rotation: [[f64; 3]; 3] = std::array::from_fn(|row| {
            std::array::from_fn(|k| {
                let turned = (0..3).map(|j| frame.rotation[row][j] * self.turn[k][j]);
                turned.sum()
            })
        });
        let translation = std::array::from_fn(|row| {
            let moved: f64 = (0..3).map(|k| rotation[row][k] * self.origin[k]).sum();
            self.unit * frame.translation[row] - moved
        });
        FrameSpec {
            rotation,
            translation,
            near_plane: frame.near_plane * self.unit as f32,
            ..frame
        }
    }
}

fn scale_logs(scene: &mut Gaussians) -> impl Iterator<Item = &mut f32> {
    scene.log_scales.iter_mut().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_camera_sees_what_it_saw() {
        let mut rng = Rng::new(5, 0);
        let world = World::draw(&mut rng, false);
        let mut scene = Gaussians::zeros(1, 0);
        scene.means[0] = [0.3, -0.2, 0.5];
        let frame = FrameSpec::new(
            &splatcore_core::Camera {
                width: 8,
                height: 8,
                fx: 8.0,
                fy: 8.0,
                cx: 4.0,
                cy: 4.0,
                rotation: UNTURNED,
                translation: [0.1, 0.2, 4.0],
                lens: splatcore_core::Lens::Pinhole,
                shutter: None,
            },
            &splatcore_core::backend::RenderOptions::default(),
        );
        world.place(&mut scene);
        let there = world.seen(frame);
        let mean = scene.means[0].map(f64::from);
        let view: [f64; 3] = std::array::from_fn(|row| {
            let turned: f64 = (0..3).map(|k| there.rotation[row][k] * mean[k]).sum();
            (turned + there.translation[row]) / world.unit
        });
        for (found, wanted) in view.iter().zip([0.4, 0.0, 4.5]) {
            assert!((found - wanted).abs() < 1e-4, "{view:?}");
        }
        assert!((f64::from(scene.log_scales[0][1]) - world.unit.ln()).abs() < 1e-6);
    }
}
