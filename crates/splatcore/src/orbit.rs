//! The circle around a scene that `--orbit` stands on and `--path orbit` follows.

use crate::cameras::framing::middle;
use crate::cameras::named::{NamedCamera, Size};
use crate::cameras::surroundings::surroundings;
use crate::up::ground;
use anyhow::{Result, bail};
use splatcore_core::camera::{cross, dot, normalize, sub};
use splatcore_core::{Camera, Gaussians, ranked};
use splatcore_path::generate::{Orbit, focus_of};
use splatcore_path::{Pose, principal_axes};
use std::f64::consts::TAU;

/// Vertical field of view of an orbit's cameras, degrees (the smaller side's, for portrait sizes).
pub const ORBIT_FOV: f64 = 50.0;
/// An orbit looks down on the scene at this angle, degrees.
const ORBIT_ELEVATION: f64 = 15.0;

/// Cameras are on one side if so much of the circle around what they look at has none, radians.
const ONE_SIDED: f64 = std::f64::consts::PI;
/// An arc covers at least so much, radians.
const MIN_ARC: f64 = 0.5;
/// Photos look one way if the mean of their directions is at least this long; their way is a walk
/// if it is so many times as long as wide.
const ONE_WAY: f64 = 0.85;
const LONG: f64 = 4.0;
/// An arc of a walk is so many times as wide as the walk, and at least this share of its length,
/// but not wider than [`MIN_ARC`].
const WIDER: f64 = 3.0;
const MIN_WIDTH: f64 = 0.06;

/// A circle around what [`surroundings`] finds, looked inwards from; `up` has unit length.
///
/// # Errors
/// If the scene is empty.
pub fn circle(scene: &Gaussians, up: [f64; 3], distance: f64, size: Size) -> Result<Orbit> {
    let Some((centre, radius)) = surroundings(scene) else {
        bail!("the scene has no Gaussian to look at; give --dataset or --cameras");
    };
    let narrow = ORBIT_FOV.to_radians();
    Ok(Orbit {
        centre,
        up,
        ground: ground(up),
        distance: distance * radius / (narrow / 2.0).sin(),
        elevation: ORBIT_ELEVATION.to_radians(),
        fov: vertical(narrow, size),
        arc: None,
    })
}

/// The vertical angle of a picture whose smaller side sees `narrow`, radians.
pub fn vertical(narrow: f64, Size(width, height): Size) -> f64 {
    match height > width {
        true => 2.0 * ((narrow / 2.0).tan() * height as f64 / width as f64).atan(),
        false => narrow,
    }
}

/// A circle that begins at a pose, around what the pose looks at: where its line of sight passes
/// the middle of the scene.
pub fn through(pose: &Pose, scene: &Gaussians, up: [f64; 3], size: Size) -> Orbit {
    let [low, high] = middle(scene);
    let centre: [f64; 3] = std::array::from_fn(|k| 0.5 * (low[k] + high[k]));
    let half = 0.5 * distance_of(low, high);
    let forward = pose.rotation[2];
    let ahead = dot(sub(centre, pose.position), forward).max(0.3 * half);
    let target = std::array::from_fn(|k| pose.position[k] + ahead * forward[k]);
    let outwards = sub(pose.position, target);
    let height = dot(outwards, up) / ahead;
    Orbit {
        centre: target,
        up,
        ground: beginning(outwards, up),
        distance: ahead,
        elevation: height.clamp(-1.0, 1.0).asin(),
        fov: vertical(pose.fov, size),
        arc: None,
    }
}

/// A circle as far from what photos look at, and as high, as most of them were taken, which begins
/// where the first was; of photos that look outwards, as in a room, a circle among their places.
/// Of photos from one side it is an arc above them; of a walk that looks ahead a small arc where it
/// begins, as beside and behind it there is nothing.
/// None of fewer than two photos.
pub fn of_cameras(cameras: &[Camera], up: [f64; 3], size: Size) -> Option<Orbit> {
    let poses: Vec<Pose> = cameras.iter().map(Pose::of_camera).collect();
    let (first, count) = (poses.first()?, poses.len());
    let focus = focus_of(&poses);
    let looks_inwards = |pose: &&Pose| {
        let towards = sub(focus, pose.position);
        dot(towards, pose.rotation[2]) > 0.7 * dot(towards, towards).sqrt()
    };
    let inwards = 3 * poses.iter().filter(looks_inwards).count() > 2 * count;
    let centre = match inwards {
        true => focus,
        false => std::array::from_fn(|k| median(poses.iter().map(|pose| pose.position[k]))),
    };
    let offsets = || poses.iter().map(|pose| sub(pose.position, centre));
    let distance = median(offsets().map(|offset| dot(offset, offset).sqrt()));
    let height = |offset: [f64; 3]| {
        let length = dot(offset, offset).sqrt().max(1e-9);
        (dot(offset, up) / length).clamp(-1.0, 1.0).asin()
    };
    let elevation = match inwards {
        true => median(offsets().map(height)).clamp(-0.2, 1.2),
        false => 0.0,
    };
    // Whatever was framed in portrait is seen whole in landscape too.
    let narrow = cameras.iter().map(|camera| {
        let [across, down] = camera.tan_half_fov();
        2.0 * (across * down).sqrt().atan()
    });
    let narrow = median(narrow);
    let mut circle = Orbit {
        centre,
        up,
        ground: beginning(sub(first.position, centre), up),
        distance,
        elevation,
        fov: vertical(narrow, size),
        arc: None,
    };
    if let Some(walk) = Walk::of(&poses) {
        return Some(walk.arc(circle));
    }
    if inwards {
        keep_to_side(&mut circle, offsets());
    }
    (count > 1 && distance > 0.0).then_some(circle)
}

/// A walk that looks ahead.
struct Walk {
    /// Unit length.
    ahead: [f64; 3],
    /// Where it began.
    rear: [f64; 3],
    /// Along `ahead`, and beside it.
    length: f64,
    width: f64,
}

impl Walk {
    /// The walk that photos were taken on, if they were.
    fn of(poses: &[Pose]) -> Option<Self> {
        let sum = poses.iter().fold([0.0; 3], |sum, pose| {
            std::array::from_fn(|k| sum[k] + pose.rotation[2][k])
        });
        if dot(sum, sum).sqrt() < ONE_WAY * poses.len() as f64 {
            return None;
        }
        // They may look up or down: the way is that of their places.
        let places: Vec<[f64; 3]> = poses.iter().map(|pose| pose.position).collect();
        let middle = std::array::from_fn(|k| median(places.iter().map(|place| place[k])));
        let way = principal_axes(&places, middle)[0];
        let along_way = dot(way, normalize(sum)?);
        if along_way.abs() < ONE_WAY {
            return None;
        }
        let ahead = way.map(|v| v * along_way.signum());
        let along = |place: &[f64; 3]| dot(*place, ahead);
        let rear = *(places.iter()).min_by(|a, b| along(a).total_cmp(&along(b)))?;
        let length = places.iter().map(along).fold(along(&rear), f64::max) - along(&rear);
        let width = median(places.iter().map(|place| {
            let offset = sub(*place, rear);
            let far = dot(offset, ahead);
            (dot(offset, offset) - far * far).max(0.0).sqrt()
        }));
        (length > LONG * width).then_some(Self {
            ahead,
            rear,
            length,
            width,
        })
    }

    /// A small arc where it began, about where it ended.
    fn arc(&self, circle: Orbit) -> Orbit {
        let centre = std::array::from_fn(|k| self.rear[k] + self.length * self.ahead[k]);
        let width = (WIDER * self.width).max(MIN_WIDTH * self.length);
        let arc = (width / self.length).min(MIN_ARC);
        let [a, b] = beginning(self.ahead.map(|v| -v), circle.up);
        let (sin, cos) = (-0.5 * arc).sin_cos();
        Orbit {
            centre,
            ground: [
                std::array::from_fn(|k| cos * a[k] + sin * b[k]),
                std::array::from_fn(|k| cos * b[k] - sin * a[k]),
            ],
            distance: self.length,
            elevation: (-dot(self.ahead, circle.up)).clamp(-1.0, 1.0).asin(),
            arc: Some(arc),
            ..circle
        }
    }
}

/// Where cameras stand on one side only, makes a circle an arc above them: from elsewhere there is
/// nothing to see but fog.
fn keep_to_side(circle: &mut Orbit, offsets: impl Iterator<Item = [f64; 3]>) {
    let [a, b] = circle.ground;
    let mut angles: Vec<f64> = offsets
        .map(|offset| dot(offset, b).atan2(dot(offset, a)))
        .collect();
    angles.sort_unstable_by(f64::total_cmp);
    let Some((first, last)) = angles.first().copied().zip(angles.last().copied()) else {
        return;
    };
    // The widest part of the circle without a camera, and where it ends.
    let mut widest = (first + TAU - last, first);
    for pair in angles.windows(2) {
        let gap = pair[1] - pair[0];
        if gap > widest.0 {
            widest = (gap, pair[1]);
        }
    }
    let (gap, begin) = widest;
    if gap <= ONE_SIDED {
        return;
    }
    // Cameras that stand close together still show something from beside them.
    let wider = 0.5 * (MIN_ARC - (TAU - gap)).max(0.0);
    let (sin, cos) = (begin - wider).sin_cos();
    circle.ground = [
        std::array::from_fn(|k| cos * a[k] + sin * b[k]),
        std::array::from_fn(|k| cos * b[k] - sin * a[k]),
    ];
    circle.arc = Some(TAU - gap + 2.0 * wider);
}

/// Axes of the ground of which the first is a direction's, as [`Orbit::ground`].
fn beginning(direction: [f64; 3], up: [f64; 3]) -> [[f64; 3]; 2] {
    let height = dot(direction, up);
    let level = std::array::from_fn(|k| direction[k] - height * up[k]);
    match normalize(level) {
        Some(first) => [first, cross(up, first)],
        None => ground(up),
    }
}

fn distance_of(a: [f64; 3], b: [f64; 3]) -> f64 {
    dot(sub(a, b), sub(a, b)).sqrt()
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    ranked::median(values).unwrap_or(0.0)
}

/// A number above 0, as `--distance` takes it.
pub fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(v) if v.is_finite() && v > 0.0 => Ok(v),
        _ => Err(format!("'{text}' is not a number above 0")),
    }
}

/// `count` cameras on a circle or its arc, evenly.
pub fn cameras(circle: &Orbit, count: u32, Size(width, height): Size) -> Vec<NamedCamera> {
    let poses = circle.poses(count as usize).enumerate();
    poses
        .map(|(i, pose)| NamedCamera::new(format!("orbit_{i:04}"), pose.camera(width, height)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::up::Direction;

    #[test]
    fn an_orbit_sees_the_scene_from_all_sides_with_up_pointing_up() {
        let mut scene = Gaussians::zeros(101, 0);
        for (i, mean) in scene.means.iter_mut().enumerate() {
            *mean = [i as f32 / 100.0 + 4.0, 2.0, 1.0];
        }
        // One far outlier must not matter.
        scene.means[100] = [1e6, 0.0, 0.0];
        for up in ["-y", "z", "x", "1,-2,0.5"] {
            let Direction(up) = up.parse().unwrap();
            let size = Size(100, 200);
            for named in cameras(&circle(&scene, up, 1.0, size).unwrap(), 8, size) {
                let camera = &named.camera;
                assert_eq!(camera.defect(), None);
                let centre = camera.to_view([4.5, 2.0, 1.0]);
                assert!(
                    centre[0].abs() < 1e-6 && centre[1].abs() < 1e-6 && centre[2] > 0.1,
                    "{centre:?}"
                );
                // Image y points down, so a point above the centre has a smaller y.
                let above =
                    camera.to_view(std::array::from_fn(|k| [4.5, 2.0, 1.0][k] + 0.1 * up[k]));
                assert!(above[1] < -0.05, "{above:?}");
            }
        }
        let x = [1.0, 0.0, 0.0];
        assert!(circle(&Gaussians::empty(0), x, 1.0, Size(8, 8)).is_err());
    }

    /// Photos from 110 degrees of a circle, across where its angles jump from half a turn to minus
    /// that, seen from the first one.
    #[test]
    fn an_orbit_stays_on_the_side_that_was_photographed() {
        let up = [0.0, 0.0, 1.0];
        let at = |degrees: f64| {
            let (sin, cos) = degrees.to_radians().sin_cos();
            Camera::look_at([4.0 * cos, 4.0 * sin, 1.0], [0.0; 3], up, 0.7, 60, 60)
        };
        let photos: Vec<Camera> = [70.0, 30.0, 0.0, 100.0, -10.0, 50.0].map(at).to_vec();
        let size = Size(60, 60);
        let circle = of_cameras(&photos, up, size).unwrap();
        let angle = |position: [f64; 3]| position[1].atan2(position[0]).to_degrees();
        let all = cameras(&circle, 12, size);
        let angles: Vec<f64> = all.iter().map(|c| angle(c.camera.position())).collect();
        assert!((angles[0] + 10.0).abs() < 1.0, "{angles:?}");
        assert!((angles[11] - 100.0).abs() < 1.0, "{angles:?}");
        assert!(
            angles.windows(2).all(|pair| pair[1] > pair[0]),
            "{angles:?}"
        );
        // A film goes there and back.
        for (share, wanted) in [(0.0, -10.0), (0.25, 45.0), (0.5, 100.0), (1.0, -10.0)] {
            let found = angle(circle.pose(share).position);
            assert!((found - wanted).abs() < 1.0, "{share}: {found}");
        }
        // Photos of one place, and from all around.
        let close = of_cameras(&[at(20.0), at(22.0)], up, size).unwrap();
        assert!((close.arc.unwrap() - MIN_ARC).abs() < 1e-9);
        assert!((angle(close.pose(0.25).position) - 21.0).abs() < 1.0);
        let around: Vec<Camera> = (0..5).map(|i| at(60.0 * f64::from(i))).collect();
        assert_eq!(of_cameras(&around, up, size).unwrap().arc, None);
    }

    /// A walk of ten along x, a little to the left and right, looking ahead and down.
    #[test]
    fn an_orbit_of_a_walk_looks_ahead() {
        let up = [0.0, 0.0, 1.0];
        let at = |i: i32| {
            let (x, y) = (f64::from(i), 0.1 * f64::from(i % 2));
            Camera::look_at([x, y, 1.5], [x + 4.0, y, 0.5], up, 0.7, 60, 90)
        };
        let photos: Vec<Camera> = (0..=10).map(at).collect();
        let size = Size(60, 60);
        let circle = of_cameras(&photos, up, size).unwrap();
        for camera in cameras(&circle, 9, size) {
            let [x, y, z] = camera.camera.position();
            assert!(x.abs() < 0.2 && y.abs() < 0.5 && (z - 1.5).abs() < 0.1);
            let forward = camera.camera.rotation[2];
            assert!(forward[0] > 0.99 && forward[2].abs() < 0.01, "{forward:?}");
        }
    }

    #[test]
    fn an_orbit_goes_through_a_pose_and_where_photos_were_taken() {
        let up = [0.0, 0.0, 1.0];
        let mut scene = Gaussians::zeros(500, 0);
        for (i, mean) in scene.means.iter_mut().enumerate() {
            *mean = [0, 1, 2].map(|k| ((i * (k + 3) * 37) % 101) as f32 / 50.5 - 1.0);
        }
        scene.opacity_logits.fill(2.0);
        let size = Size(90, 60);
        let pose = Pose::look_at([3.0, 1.0, 2.0], [0.0; 3], up, 0.8);
        let begin = through(&pose, &scene, up, size).pose(0.0);
        let same = |a: [f64; 3], b: [f64; 3]| (0..3).all(|k| (a[k] - b[k]).abs() < 1e-9);
        assert!(same(begin.position, pose.position), "{begin:?}");
        assert!(same(begin.rotation[2], pose.rotation[2]), "{begin:?}");

        // Photos on a circle of another centre, which look inwards, then outwards.
        let at = |i: u32, outwards: f64| {
            let (sin, cos) = (f64::from(i) * 0.5).sin_cos();
            let eye = [5.0 + 2.0 * cos, 1.0 + 2.0 * sin, 1.0];
            let towards = [5.0 + outwards * cos, 1.0 + outwards * sin, 1.0 - 0.5];
            Camera::look_at(eye, towards, up, 0.7, 60, 90)
        };
        let inwards: Vec<Camera> = (0..9).map(|i| at(i, 0.0)).collect();
        let circle = of_cameras(&inwards, up, size).unwrap();
        assert!(same(circle.centre, [5.0, 1.0, 0.5]), "{circle:?}");
        assert!(
            same(circle.pose(0.0).position, inwards[0].position()),
            "{circle:?}"
        );
        let outwards: Vec<Camera> = (0..12).map(|i| at(i, 9.0)).collect();
        let circle = of_cameras(&outwards, up, size).unwrap();
        assert!(
            (circle.centre[2] - 1.0).abs() < 1e-9 && circle.elevation == 0.0,
            "{circle:?}"
        );
        assert!(circle.distance < 3.0, "{circle:?}");
        assert!(of_cameras(&inwards[..1], up, size).is_none());
    }
}
