//! [`Region`]: which Gaussians a selection takes.

use super::mask::Mask;
use super::sight::Sight;
use super::stroke::Stroke;
use splatcore_core::semantics::NEAR_PLANE;
use splatcore_core::{Camera, Gaussians};
use splatcore_data::scene::edit::Shape;

/// Longest side of the picture into which a stroke is painted.
const MAX_PIXELS: f64 = 1024.0;

/// A part of the scene.
#[derive(Clone, Debug, PartialEq)]
pub enum Region {
    /// A box or a sphere.
    Volume(Shape),
    /// What was painted over in a view.
    Stroke(Box<Stroke>),
}

impl Region {
    /// The Gaussians whose means are in the region. A stroke that does not go through takes none
    /// that `sight` hides.
    pub fn of(&self, scene: &Gaussians, sight: Option<&Sight>) -> Mask {
        let means = &scene.means;
        match self {
            Region::Volume(shape) => {
                Mask::of(means.len(), |i| shape.contains(means[i].map(f64::from)))
            }
            Region::Stroke(stroke) => {
                let painted = Painted::new(stroke);
                let sight = sight.filter(|_| !stroke.through);
                let hidden = |i| sight.is_some_and(|sight| sight.hides(scene, i));
                Mask::of(means.len(), |i| painted.covers(means[i]) && !hidden(i))
            }
        }
    }

    /// The stroke of which it must be known what its view shows.
    pub fn sight(&self) -> Option<&Stroke> {
        match self {
            Region::Stroke(stroke) if !stroke.through => Some(stroke),
            _ => None,
        }
    }
}

/// A stroke as a picture.
struct Painted<'a> {
    camera: &'a Camera,
    /// Pixels of the picture in a pixel of the view.
    scale: f64,
    size: [usize; 2],
    covered: Vec<bool>,
}

impl<'a> Painted<'a> {
    fn new(stroke: &'a Stroke) -> Self {
        let camera = &stroke.camera;
        let scale = (MAX_PIXELS / f64::from(camera.width.max(camera.height))).min(1.0);
        let size =
            [camera.width, camera.height].map(|side| (f64::from(side) * scale).ceil() as usize);
        let mut painted = Self {
            camera,
            scale,
            size,
            covered: vec![false; size[0] * size[1]],
        };
        let radius = (stroke.radius * scale).max(0.5);
        let places: Vec<[f64; 2]> = stroke.points.iter().map(|p| p.map(|v| v * scale)).collect();
        let Some(&(mut last)) = places.first() else {
            return painted;
        };
        for place in places {
            painted.line(last, place, radius);
            last = place;
        }
        painted
    }

    /// Covers what is within a radius of a line.
    fn line(&mut self, a: [f64; 2], b: [f64; 2], radius: f64) {
        let range = |c: usize| {
            let (low, high) = (a[c].min(b[c]) - radius, a[c].max(b[c]) + radius);
            // Casts of floats stay within the limits of integers.
            let end = (high.ceil() as usize).min(self.size[c]);
            (low.floor().max(0.0) as usize).min(end)..end
        };
        let (columns, rows) = (range(0), range(1));
        let along = [b[0] - a[0], b[1] - a[1]];
        let length = along[0] * along[0] + along[1] * along[1];
        for y in rows {
            for x in columns.clone() {
                let d = [x as f64 + 0.5 - a[0], y as f64 + 0.5 - a[1]];
                let share = match length > 0.0 {
                    true => ((d[0] * along[0] + d[1] * along[1]) / length).clamp(0.0, 1.0),
                    false => 0.0,
                };
                let off = [d[0] - share * along[0], d[1] - share * along[1]];
                if off[0] * off[0] + off[1] * off[1] <= radius * radius {
                    self.covered[y * self.size[0] + x] = true;
                }
            }
        }
    }

    fn covers(&self, mean: [f32; 3]) -> bool {
        let [x, y, z] = self.camera.to_view(mean.map(f64::from));
        if z < NEAR_PLANE {
            return false;
        }
        let camera = self.camera;
        let at = [
            (camera.fx * x / z + camera.cx) * self.scale,
            (camera.fy * y / z + camera.cy) * self.scale,
        ];
        let inside = (0..2).all(|c| at[c] >= 0.0 && at[c] < self.size[c] as f64);
        inside && self.covered[at[1] as usize * self.size[0] + at[0] as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn camera() -> Camera {
        Camera::look_at([0.0, 0.0, -5.0], [0.0; 3], [0.0, -1.0, 0.0], 1.0, 200, 100)
    }

    /// Small Gaussians.
    fn scene(means: &[[f32; 3]]) -> Gaussians {
        let mut scene = Gaussians::zeros(means.len(), 0);
        scene.means.copy_from_slice(means);
        scene.log_scales.fill([-5.0; 3]);
        scene
    }

    fn stroke(points: &[[f64; 2]], radius: f64, through: bool) -> Region {
        Region::Stroke(Box::new(Stroke {
            camera: camera(),
            points: points.to_vec(),
            radius,
            through,
        }))
    }

    #[test]
    fn volumes_take_means_inside() {
        let means = scene(&[[0.0; 3], [1.0, 0.0, 0.0], [0.0, 0.0, 3.0]]);
        let sphere = Region::Volume(Shape::Sphere {
            centre: [0.0; 3],
            radius: 1.5,
        });
        assert!(sphere.of(&means, None).indices().eq([0, 1]));
        let cube = Region::Volume(Shape::Box {
            min: [-1.0, -1.0, 2.0],
            max: [1.0, 1.0, 3.0],
        });
        assert!(cube.of(&means, None).indices().eq([2]));
    }

    /// In the middle of the view, on the stroke, beside it, behind the camera, outside the view.
    #[test]
    fn a_stroke_takes_what_it_covers_and_what_is_shown() {
        let camera = camera();
        let world = |x: f64, y: f64, z: f64| -> [f32; 3] {
            [
                (x - 100.0) * z / camera.fx,
                (y - 50.0) * z / camera.fx,
                z - 5.0,
            ]
            .map(|v| v as f32)
        };
        let means = scene(&[
            world(50.0, 50.0, 4.0),
            world(100.0, 57.0, 6.0),
            world(150.0, 50.0, 9.0),
            world(100.0, 63.0, 6.0),
            [0.0, 0.0, -9.0],
            world(-20.0, 50.0, 5.0),
            world(50.0, 50.0, 8.0),
        ]);
        let points = [[-40.0, 50.0], [100.0, 50.0], [160.0, 50.0]];
        let through = stroke(&points, 10.0, true);
        assert!(through.sight().is_none());
        assert!(through.of(&means, None).indices().eq([0, 1, 2, 6]));
        let front = stroke(&points, 10.0, false);
        assert_eq!(front.sight().map(|stroke| &stroke.camera), Some(&camera));
        // All that is farther than 7 is hidden.
        let sight = Sight {
            depth: vec![7.0; 200 * 100],
            camera,
        };
        assert!(front.of(&means, Some(&sight)).indices().eq([0, 1]));
        assert!(through.of(&means, Some(&sight)).indices().eq([0, 1, 2, 6]));
    }

    #[test]
    fn a_point_and_a_place_far_outside_are_strokes_too() {
        let means = scene(&[[0.0; 3]]);
        assert_eq!(
            stroke(&[[100.0, 50.0]], 3.0, true).of(&means, None).count(),
            1
        );
        let far = [[-1e300, 1e300], [1e300, -1e300]];
        assert!(stroke(&far, 3.0, true).of(&means, None).count() <= 1);
        assert_eq!(stroke(&[[1e9, 1e9]], 1e9, true).of(&means, None).count(), 0);
    }
}
