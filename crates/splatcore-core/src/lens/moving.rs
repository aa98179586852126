//! A camera's projection when each row is read while the camera moves ([`crate::shutter`]).

use super::COEFFICIENTS;
use super::projection::Projection;
use super::rolling::{Read, Rolling};
use crate::camera::dot;
use crate::shutter::ITERATIONS;

impl Projection {
    /// The pixel of a point in camera axes, in or out of the image. Of a rolling shutter the axes
    /// are those of time 0.
    pub fn project(&self, view: [f64; 3]) -> [f64; 2] {
        match &self.rolling {
            None => self.project_still(view),
            Some(rolling) => self.settle(rolling, view).0,
        }
    }

    /// The same, and its derivative by the point.
    pub fn jacobian(&self, view: [f64; 3]) -> ([f64; 2], [[f64; 3]; 2]) {
        let Some(rolling) = &self.rolling else {
            return self.jacobian_still(view);
        };
        let (pixel, read) = self.settle(rolling, view);
        let (_, rows) = self.jacobian_still(read.view);
        let by_time = self.by_time(rolling, &read, &rows);
        // The pixel moves the time, which moves the pixel.
        let gain = 1.0 / (1.0 - product(read.slope, by_time));
        let shared: [f64; 3] =
            std::array::from_fn(|j| gain * product(read.slope, [rows[0][j], rows[1][j]]));
        let rows = std::array::from_fn(|i| {
            let row = std::array::from_fn(|j| rows[i][j] + by_time[i] * shared[j]);
            rolling.shutter.turned_back(read.time, row)
        });
        (pixel, rows)
    }

    /// The derivatives of a point's pixel by the coefficients of the lens's polynomial
    /// ([`Polynomial::coefficients`](super::Polynomial::coefficients)), with the time of its row
    /// held ([`Projection::with_time_held`]); beyond `max_angle` with `max_angle` and `slope` held;
    /// 0 in planes that nothing bends.
    pub fn by_coefficients(&self, view: [f64; 3]) -> [[f64; 2]; COEFFICIENTS] {
        match &self.rolling {
            None => self.by_coefficients_still(view),
            Some(rolling) => self.by_coefficients_still(self.settle(rolling, view).1.view),
        }
    }

    /// The gradient of a point's pixel with the time of its row held, given that of the pixel.
    pub fn with_time_held(&self, view: [f64; 3], d: [f64; 2]) -> [f64; 2] {
        let Some(rolling) = &self.rolling else {
            return d;
        };
        let (_, read) = self.settle(rolling, view);
        let (_, rows) = self.jacobian_still(read.view);
        let by_time = self.by_time(rolling, &read, &rows);
        let share = product(d, by_time) / (1.0 - product(read.slope, by_time));
        [0, 1].map(|i| d[i] + read.slope[i] * share)
    }

    /// Where a point appears, and when that is read.
    fn settle(&self, rolling: &Rolling, view: [f64; 3]) -> ([f64; 2], Read) {
        let mut pixel = self.project_still(view);
        for _ in 0..ITERATIONS {
            pixel = self.project_still(rolling.read(pixel, view).view);
        }
        (pixel, rolling.read(pixel, view))
    }

    /// How the pixel of a point moves, given its derivative by the point.
    fn by_time(&self, rolling: &Rolling, read: &Read, rows: &[[f64; 3]; 2]) -> [f64; 2] {
        let rate = rolling.shutter.rate_at(read.time, read.view);
        rows.map(|row| dot(row, rate))
    }
}

fn product(a: [f64; 2], b: [f64; 2]) -> f64 {
    a[0] * b[0] + a[1] * b[1]
}
