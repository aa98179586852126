//! Which pose a camera has when.

use super::motion::turned;
use super::{Readout, Shutter, Times};
use crate::camera::{Camera, dot};
use crate::lens::Lens;
use crate::linear::{quaternion_from_rotation, rotation_vector};

impl Camera {
    /// The camera that has the poses of two cameras when it reads its first and its last line. In
    /// between its place moves along a straight line and it turns about one axis, both steadily.
    pub fn rolling(first: &Camera, last: &Camera, readout: Readout) -> Self {
        let relative = std::array::from_fn(|i| {
            std::array::from_fn(|j| dot(last.rotation[i], first.rotation[j]))
        });
        let turn = rotation_vector(quaternion_from_rotation(&relative)).map(|v| -v);
        let (from, to) = (first.position(), last.position());
        // exp(-turn / 2) of the first rotation: half the way to the last one.
        let columns: [[f64; 3]; 3] = std::array::from_fn(|j| {
            let column = std::array::from_fn(|i| first.rotation[i][j]);
            turned(turn.map(|v| -0.5 * v), column)
        });
        let rotation: [[f64; 3]; 3] =
            std::array::from_fn(|i| std::array::from_fn(|j| columns[j][i]));
        let middle = std::array::from_fn(|i| 0.5 * (from[i] + to[i]));
        let way = std::array::from_fn(|i| to[i] - from[i]);
        let span = readout.span(first.width, first.height);
        Self {
            rotation,
            translation: rotation.map(|row| -dot(row, middle)),
            shutter: Some(Shutter {
                readout,
                turn: turn.map(|v| v / span),
                shift: rotation.map(|row| dot(row, way) / span),
            }),
            ..first.clone()
        }
    }

    /// The poses when the first and the last line are read.
    pub fn ends(&self) -> [Self; 2] {
        let span = self
            .shutter
            .map_or(0.0, |shutter| shutter.readout.span(self.width, self.height));
        [-0.5 * span, 0.5 * span].map(|time| self.at(time))
    }

    /// The camera with its pose at a time, as a global shutter takes a photo then.
    pub fn at(&self, time: f64) -> Self {
        let Some(shutter) = &self.shutter else {
            return self.clone();
        };
        let turn = shutter.turn.map(|v| -time * v);
        let columns: [[f64; 3]; 3] =
            std::array::from_fn(|j| turned(turn, std::array::from_fn(|i| self.rotation[i][j])));
        Self {
            rotation: std::array::from_fn(|i| std::array::from_fn(|j| columns[j][i])),
            translation: shutter.view_at(time, self.translation),
            shutter: None,
            ..self.clone()
        }
    }

    /// The camera when a pixel is read.
    pub fn at_pixel(&self, pixel: [f64; 2]) -> Self {
        self.at(self.time(pixel))
    }

    /// The time at which a pixel is read; 0 of a global shutter.
    pub fn time(&self, pixel: [f64; 2]) -> f64 {
        let times = |shutter: Shutter| Times::new(shutter.readout, self.width, self.height);
        self.shutter
            .map_or(0.0, |shutter| times(shutter).at(pixel).0)
    }

    /// The camera with a global shutter that takes its photo in the middle of the read-out.
    pub fn still(&self) -> Self {
        Self {
            shutter: None,
            ..self.clone()
        }
    }

    /// Whether nothing bends light and all pixels are read at once.
    pub fn is_pinhole(&self) -> bool {
        self.lens == Lens::Pinhole && self.shutter.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shutter::MAX_TIME;

    fn camera(eye: [f64; 3], target: [f64; 3]) -> Camera {
        Camera::look_at(eye, target, [0.1, -1.0, 0.05], 0.8, 64, 48)
    }

    fn close(a: &Camera, b: &Camera) {
        for i in 0..3 {
            assert!((a.translation[i] - b.translation[i]).abs() < 1e-12);
            for j in 0..3 {
                assert!((a.rotation[i][j] - b.rotation[i][j]).abs() < 1e-12);
            }
        }
    }

    /// The first and the last line have the poses that were given, and half-way the place is in the
    /// middle and the rotation half of the way (of a slerp).
    #[test]
    fn ends_are_what_was_given() {
        let (first, last) = (
            camera([3.0, -1.0, -2.0], [0.2, 0.0, 0.1]),
            camera([3.1, -0.8, -2.2], [0.0, 0.3, -0.3]),
        );
        for readout in [Readout::TopToBottom, Readout::RightToLeft] {
            let rolling = Camera::rolling(&first, &last, readout);
            let [begin, end] = rolling.ends();
            close(&begin, &first);
            close(&end, &last);
            let middle = rolling.still();
            let (a, b) = (first.position(), last.position());
            let half: [f64; 3] = std::array::from_fn(|i| 0.5 * (a[i] + b[i]));
            for (got, want) in middle.position().iter().zip(half) {
                assert!((got - want).abs() < 1e-12);
            }
            let angle = |a: &Camera, b: &Camera| -> f64 {
                let trace: f64 = (0..3).map(|i| dot(a.rotation[i], b.rotation[i])).sum();
                ((trace - 1.0) / 2.0).acos()
            };
            let whole = angle(&first, &last);
            assert!(
                (angle(&first, &middle) - 0.5 * whole).abs() < 1e-9,
                "{whole}"
            );
            assert!(whole > 0.05 && rolling.defect().is_none());
        }
        let still = Camera::rolling(&first, &first, Readout::TopToBottom);
        close(&still.at(0.4), &first);
    }

    /// A point appears where the camera of that row sees it.
    #[test]
    fn a_point_is_seen_by_the_camera_of_its_row() {
        let (first, last) = (
            camera([3.0, -1.0, -2.0], [0.2, 0.0, 0.1]),
            camera([3.05, -0.95, -2.05], [0.15, 0.1, 0.0]),
        );
        use Readout::{BottomToTop, LeftToRight, RightToLeft, TopToBottom};
        for readout in [TopToBottom, BottomToTop, LeftToRight, RightToLeft] {
            let rolling = Camera::rolling(&first, &last, readout);
            for point in [[0.3, 0.2, 0.4], [-0.5, 0.4, 0.2], [0.0, -0.6, 0.1]] {
                let pixel = rolling.project(point).unwrap();
                let seen = rolling.at_pixel(pixel).project(point).unwrap();
                let still = rolling.still().project(point).unwrap();
                let off = |a: [f64; 2], b: [f64; 2]| (a[0] - b[0]).hypot(a[1] - b[1]);
                assert!(off(pixel, seen) < 1e-5, "{pixel:?} {seen:?}");
                assert!(off(pixel, still) > 1e-2, "{pixel:?} {still:?}");
            }
        }
    }

    #[test]
    fn lines_are_read_in_their_order() {
        let times = |readout, pixel| Times::new(readout, 40, 20).at(pixel).0;
        assert_eq!(times(Readout::TopToBottom, [7.0, 5.0]), -0.25);
        assert_eq!(times(Readout::BottomToTop, [7.0, 5.0]), 0.25);
        assert_eq!(times(Readout::LeftToRight, [10.0, 5.0]), -0.25);
        assert_eq!(times(Readout::RightToLeft, [10.0, 5.0]), 0.25);
        assert_eq!(
            Times::new(Readout::TopToBottom, 40, 20).at([0.0, 1e9]),
            (MAX_TIME, [0.0; 2])
        );
    }

    #[test]
    fn motions_that_cannot_be_are_named() {
        let of = |turn: f64, shift: f64| Shutter {
            readout: Readout::TopToBottom,
            turn: [turn, 0.0, 0.0],
            shift: [0.0, shift, 0.0],
        };
        assert_eq!(of(0.1, 2.0).defect(), None);
        assert!(of(3.0, 0.0).defect().unwrap().contains("172 degrees"));
        assert!(of(0.0, f64::NAN).defect().unwrap().contains("not finite"));
    }
}
