//! Images of 360 degrees, from six of 90.
//!
//! An equirectangular image is twice as wide as high. A pixel's column is its longitude, from -180
//! degrees at the left edge to 180 at the right, forward in the middle; its row is its latitude,
//! from 90 degrees (the camera's up) at the top to -90 at the bottom. Rows and columns are equal
//! steps of angle.

use splatcore_core::{Camera, Image};

use crate::Pose;

/// Pixels that a face shows beyond its 90 degrees on each side, so that a pixel at a seam is
/// interpolated within one face.
const MARGIN: u32 = 2;

/// How an equirectangular image is made.
#[derive(Clone, Debug)]
pub struct Panorama {
    width: u32,
    height: u32,
    /// Of a face without its margin, pixels.
    side: u32,
    /// For each pixel the face and the place on it, pixels.
    places: Vec<(u8, [f32; 2])>,
}

/// The faces' forward, right and down, in the camera's axes (x right, y down, z forward).
const FACES: [[[f64; 3]; 3]; 6] = [
    face([1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]),
    face([0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]),
    face([-1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, -1.0]),
    face([0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]),
    face([1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]),
    face([1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]),
];

const fn face(right: [f64; 3], down: [f64; 3], forward: [f64; 3]) -> [[f64; 3]; 3] {
    [right, down, forward]
}

impl Panorama {
    /// For images of `2 height` x `height` pixels. Faces have about the pixels of the image's
    /// equator: a quarter of its width times pi/2 at their middle, where pixels are widest.
    pub fn new(height: u32) -> Self {
        let width = 2 * height;
        // At a face's middle a pixel spans 2/side radians, at the equator 2 pi/width.
        let side = (f64::from(width) / std::f64::consts::PI).ceil().max(1.0) as u32;
        let mut places = Vec::with_capacity(width as usize * height as usize);
        for row in 0..height {
            let latitude =
                (0.5 - (f64::from(row) + 0.5) / f64::from(height)) * std::f64::consts::PI;
            for column in 0..width {
                let turn = (f64::from(column) + 0.5) / f64::from(width) - 0.5;
                let longitude = turn * std::f64::consts::TAU;
                places.push(place(direction(longitude, latitude), side));
            }
        }
        Self {
            width,
            height,
            side,
            places,
        }
    }

    /// Width and height in pixels.
    pub fn size(&self) -> [u32; 2] {
        [self.width, self.height]
    }

    /// The six cameras of a pose, whose field of view does not matter.
    pub fn cameras(&self, pose: &Pose) -> [Camera; 6] {
        let side = self.side + 2 * MARGIN;
        FACES.map(|axes| {
            let rows: [[f64; 3]; 3] = axes.map(|axis| {
                std::array::from_fn(|k| (0..3).map(|i| axis[i] * pose.rotation[i][k]).sum())
            });
            let pose = Pose {
                rotation: rows,
                ..*pose
            };
            let focal = f64::from(self.side) / 2.0;
            Camera {
                fx: focal,
                fy: focal,
                ..pose.camera(side, side)
            }
        })
    }

    /// The panorama of the six cameras' images, bilinear between their pixels.
    ///
    /// # Panics
    /// If an image has another size than its camera.
    pub fn image(&self, faces: &[Image; 6]) -> Image {
        let data = self.sample(
            &faces.each_ref().map(|face| face.data.as_slice()),
            |values, weights| {
                std::array::from_fn(|k| (0..4).map(|i| values[i][k] * weights[i]).sum())
            },
        );
        Image {
            width: self.width,
            height: self.height,
            data,
        }
    }

    /// As [`Panorama::image`], of planes of one number for each pixel.
    ///
    /// # Panics
    /// As [`Panorama::image`].
    pub fn plane(&self, faces: &[Vec<f32>; 6]) -> Vec<f32> {
        self.sample(&faces.each_ref().map(Vec::as_slice), |values, weights| {
            (0..4).map(|i| values[i] * weights[i]).sum()
        })
    }

    /// Inverse depths along the faces' axes as inverse distances from the camera, in a panorama.
    ///
    /// # Panics
    /// As [`Panorama::image`].
    pub fn inverse_distance(&self, faces: &[Vec<f32>; 6]) -> Vec<f32> {
        let mut plane = self.plane(faces);
        let middle = (self.side + 2 * MARGIN) as f32 / 2.0;
        let focal = self.side as f32 / 2.0;
        for (value, (_, [x, y])) in plane.iter_mut().zip(&self.places) {
            let [x, y] = [(x - middle) / focal, (y - middle) / focal];
            *value /= (1.0 + x * x + y * y).sqrt();
        }
        plane
    }

    fn sample<T: Copy>(&self, faces: &[&[T]; 6], mix: impl Fn([T; 4], [f32; 4]) -> T) -> Vec<T> {
        let side = (self.side + 2 * MARGIN) as usize;
        assert!(
            faces.iter().all(|face| face.len() == side * side),
            "a face has another size"
        );
        let one = |&(face, [x, y]): &(u8, [f32; 2])| {
            // Pixel centres are at halves.
            let (x, y) = (x - 0.5, y - 0.5);
            let (column, row) = (x.floor(), y.floor());
            let (right, down) = (x - column, y - row);
            let at = |v: f32, by: usize| (v.max(0.0) as usize + by).min(side - 1);
            let pixel =
                |dx: usize, dy: usize| faces[face as usize][at(row, dy) * side + at(column, dx)];
            let (left, up) = (1.0 - right, 1.0 - down);
            mix(
                [pixel(0, 0), pixel(1, 0), pixel(0, 1), pixel(1, 1)],
                [left * up, right * up, left * down, right * down],
            )
        };
        self.places.iter().map(one).collect()
    }
}

/// A direction in the camera's axes.
fn direction(longitude: f64, latitude: f64) -> [f64; 3] {
    let (sin, cos) = longitude.sin_cos();
    [latitude.cos() * sin, -latitude.sin(), latitude.cos() * cos]
}

/// The face that a direction meets, and the pixel on it.
fn place(d: [f64; 3], side: u32) -> (u8, [f32; 2]) {
    let along = |axis: [f64; 3]| (0..3).map(|k| axis[k] * d[k]).sum::<f64>();
    let ahead = |face: usize| along(FACES[face][2]);
    let face = (0..6).fold(0, |best, face| {
        if ahead(face) > ahead(best) {
            face
        } else {
            best
        }
    });
    let [right, down, forward] = FACES[face].map(along);
    let pixel = |v: f64| ((v / forward + 1.0) * f64::from(side) / 2.0 + f64::from(MARGIN)) as f32;
    (face as u8, [pixel(right), pixel(down)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::camera::normalize;

    /// A smooth picture of the whole sphere, by world direction.
    fn sky(d: [f64; 3]) -> [f32; 3] {
        [
            0.5 + 0.4 * d[0],
            0.5 + 0.3 * d[1] + 0.1 * d[0] * d[2],
            0.5 + 0.4 * d[2] * d[1],
        ]
        .map(|v| v as f32)
    }

    fn seen(camera: &Camera) -> Image {
        let mut image = Image::filled(camera.width, camera.height, [0.0; 3]);
        for (i, pixel) in image.data.iter_mut().enumerate() {
            let (x, y) = (i % camera.width as usize, i / camera.width as usize);
            let view = [
                (x as f64 + 0.5 - camera.cx) / camera.fx,
                (y as f64 + 0.5 - camera.cy) / camera.fy,
                1.0,
            ];
            let r = camera.rotation;
            let world = std::array::from_fn(|k| (0..3).map(|i| r[i][k] * view[i]).sum());
            *pixel = sky(normalize(world).unwrap());
        }
        image
    }

    /// Every pixel shows its own direction, at seams and poles too: an error of a face's axes or of
    /// a seam would show.
    #[test]
    fn each_pixel_shows_its_direction() {
        let panorama = Panorama::new(64);
        let pose = Pose::look_at([1.0, 2.0, 3.0], [4.0, 1.0, 0.0], [0.2, -1.0, 0.1], 1.0);
        let faces = panorama.cameras(&pose).each_ref().map(seen);
        let image = panorama.image(&faces);
        assert_eq!([image.width, image.height], [128, 64]);
        for (i, pixel) in image.data.iter().enumerate() {
            let (column, row) = (i % 128, i / 128);
            let turn = (column as f64 + 0.5) / 128.0 - 0.5;
            let latitude = (0.5 - (row as f64 + 0.5) / 64.0) * std::f64::consts::PI;
            let d = direction(turn * std::f64::consts::TAU, latitude);
            let world = std::array::from_fn(|k| (0..3).map(|i| pose.rotation[i][k] * d[i]).sum());
            // Bilinear between pixels of 1/20 radian: a second derivative of 1 leaves 3e-4.
            for (a, b) in pixel.iter().zip(sky(world)) {
                assert!((a - b).abs() < 1e-3, "pixel {column}, {row}: {a} {b}");
            }
        }
    }

    /// A sphere around the camera has one distance everywhere, though its depth changes.
    #[test]
    fn a_sphere_has_one_distance() {
        let panorama = Panorama::new(32);
        let pose = Pose::look_at([0.0; 3], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0], 1.0);
        let faces = panorama.cameras(&pose).each_ref().map(|camera| {
            let pixel = |i: u32| {
                let (x, y) = (i % camera.width, i / camera.width);
                let x = (f64::from(x) + 0.5 - camera.cx) / camera.fx;
                let y = (f64::from(y) + 0.5 - camera.cy) / camera.fy;
                ((1.0 + x * x + y * y).sqrt() / 4.0) as f32
            };
            (0..camera.width * camera.height)
                .map(pixel)
                .collect::<Vec<f32>>()
        });
        for value in panorama.inverse_distance(&faces) {
            assert!((value - 0.25).abs() < 1e-3, "{value}");
        }
    }
}
