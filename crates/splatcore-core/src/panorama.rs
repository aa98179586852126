//! Images of 360 degrees: the parts of which they are put together, and into which photos are cut.
//!
//! A Gaussian has one place in an image. In an equirectangular image of all directions one that
//! lies across the seam behind the camera has two, and one at a pole lies around the whole width,
//! which no ellipse does. So such an image is drawn as four:
//!
//! ```text
//!            up            a pinhole that looks up, beyond 60 degrees of latitude
//!   +---------+---------+
//!   |  left   |  right  |  equirectangular, 180 degrees wide
//!   +---------+---------+
//!           down           a pinhole that looks down
//! ```
//!
//! The middle is 87 % of the sphere. Its two cameras are turned by 90 degrees to the left and to
//! the right, under which the projection does not change: where they meet, each draws what the
//! other one draws, and the seam of each is 90 degrees outside of its image. Its pixels are those
//! of the panorama, one for one, and at most twice as dense at its rims as the directions. The caps
//! are resampled: there an equirectangular image has more pixels than the directions need. They
//! reach 5 degrees into the middle, where one fades into the other.

use crate::backend::{BackendError, RenderOptions, Rendered, Renderer};
use crate::{Camera, Image, Lens};
use std::f64::consts::{FRAC_PI_2, PI, TAU};
use std::mem::take;

/// Share of the height above, and below, that belongs to a cap: 30 of 180 degrees.
const CAP: f64 = 1.0 / 6.0;
/// Share of the height over which a cap fades into the middle: 5 degrees. Where Gaussians are
/// large, what both draw differs by a step of colour or two, and a line would show.
const FADE: f64 = 1.0 / 36.0;
/// Pixels that a cap shows beyond its circle, so that what lies on its rim can be interpolated.
const MARGIN: f64 = 2.0;
/// How far a camera may be from a whole panorama's, pixels.
const OFF: f64 = 0.51;
/// Smaller images are not cut.
const MIN_SIDE: u32 = 8;

/// The parts' names.
pub const PARTS: [&str; 4] = ["left", "right", "up", "down"];
/// The faces' names.
pub const FACES: [&str; 6] = ["front", "right", "back", "left", "up", "down"];

/// A camera's right, down and forward in the axes of another one.
type Axes = [[f64; 3]; 3];

const UP: Axes = [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0]];
const DOWN: Axes = [[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]];

/// How a panorama of one size is put together.
#[derive(Clone, Debug)]
pub struct Panorama {
    layout: Layout,
    /// For each pixel of the rows in which the upper cap has a part, then the lower: where on it.
    places: [Vec<[f32; 2]>; 2],
}

/// The sizes of the parts, pixels.
#[derive(Clone, Debug)]
struct Layout {
    /// Width and height of the panorama.
    size: [u32; 2],
    /// Width of the left part.
    half: u32,
    /// Rows of a cap alone, and of it and the middle.
    rows: u32,
    fade: u32,
    /// Side of a cap's image, and its focal length.
    side: u32,
    focal: f64,
}

impl Layout {
    fn new(width: u32, height: u32) -> Self {
        let rows = (f64::from(height) * CAP).round() as u32;
        let fade = (f64::from(height) * FADE).round() as u32;
        let focal = f64::from(height) / PI;
        // From the pole to where the middle is alone.
        let radius = focal * (f64::from(rows + fade) / focal).tan();
        Self {
            size: [width, height],
            half: width / 2,
            rows,
            fade,
            side: 2 * (radius + MARGIN).ceil() as u32,
            focal,
        }
    }

    fn cameras(&self, camera: &Camera) -> [Camera; 4] {
        let [width, height] = self.size;
        let whole = whole(camera, width, height);
        let band = |from: u32, width: u32, angle: f64| Camera {
            width,
            height: height - 2 * self.rows,
            cx: whole.cx + whole.fx * angle - f64::from(from),
            cy: whole.cy - f64::from(self.rows),
            ..turned(&whole, &level(angle))
        };
        let cap = |axes: &Axes| square(&turned(&whole, axes), self.side, self.focal);
        [
            band(0, self.half, -FRAC_PI_2),
            band(self.half, width - self.half, FRAC_PI_2),
            cap(&UP),
            cap(&DOWN),
        ]
    }

    /// Where on a cap the pixels of its rows are, of which this is the first in the image.
    fn places(&self, first: u32, axes: &Axes) -> Vec<[f32; 2]> {
        let [width, _] = self.size;
        let place = |row: u32, column: u32| {
            let turn = (f64::from(column) + 0.5) / f64::from(width) - 0.5;
            let latitude = (f64::from(row) + 0.5) / self.focal - FRAC_PI_2;
            let (sin, cos) = (turn * TAU).sin_cos();
            let d = [latitude.cos() * sin, latitude.sin(), latitude.cos() * cos];
            let [x, y, z] = axes.map(|axis| (0..3).map(|k| axis[k] * d[k]).sum::<f64>());
            [x, y].map(|v| (self.focal * v / z + f64::from(self.side) / 2.0) as f32)
        };
        let rows = first..first + self.rows + self.fade;
        rows.flat_map(|row| (0..width).map(move |column| place(row, column)))
            .collect()
    }
}

impl Panorama {
    /// Of images of this size.
    pub fn new(width: u32, height: u32) -> Self {
        let layout = Layout::new(width, height);
        let below = height - layout.rows - layout.fade;
        Self {
            places: [layout.places(0, &UP), layout.places(below, &DOWN)],
            layout,
        }
    }

    /// Of a camera's images; `None` if it does not see all around.
    pub fn of(camera: &Camera) -> Option<Self> {
        is_whole(camera).then(|| Self::new(camera.width, camera.height))
    }

    /// The cameras of the parts, in the order of [`PARTS`], where this camera stands; its lens and
    /// focal lengths do not matter.
    pub fn cameras(&self, camera: &Camera) -> [Camera; 4] {
        self.layout.cameras(camera)
    }

    /// Renders the panorama that is seen from where a camera stands; inverse depths are inverse
    /// distances.
    ///
    /// # Errors
    /// What the renderer reports.
    pub fn render(
        &self,
        renderer: &mut dyn Renderer,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Rendered, BackendError> {
        let mut parts: [Rendered; 4] = Default::default();
        for (part, camera) in parts.iter_mut().zip(self.cameras(camera)) {
            *part = renderer.render(&camera, options)?;
        }
        let depths = parts.each_mut().map(|part| part.inverse_depth.take());
        let transmittances = parts.each_mut().map(|part| take(&mut part.transmittance));
        let images = parts.each_mut().map(|part| take(&mut part.image));
        Ok(Rendered {
            image: self.image(&images),
            transmittance: self.plane(&transmittances),
            inverse_depth: match depths.each_ref().map(Option::is_some) {
                [true, true, true, true] => {
                    Some(self.inverse_distance(&depths.map(Option::unwrap_or_default)))
                }
                _ => None,
            },
        })
    }

    /// The panorama of the parts' images; caps are interpolated.
    ///
    /// # Panics
    /// If a part has another size than its camera.
    pub fn image(&self, parts: &[Image; 4]) -> Image {
        let parts = parts.each_ref().map(|part| part.data.as_slice());
        let data = self.join(parts, |values, weights| {
            std::array::from_fn(|k| (0..4).map(|i| values[i][k] * weights[i]).sum())
        });
        let [width, height] = self.layout.size;
        Image {
            width,
            height,
            data,
        }
    }

    /// As [`Panorama::image`], of planes of one number for each pixel.
    ///
    /// # Panics
    /// As [`Panorama::image`].
    pub fn plane(&self, parts: &[Vec<f32>; 4]) -> Vec<f32> {
        self.join(parts.each_ref().map(Vec::as_slice), |values, weights| {
            (0..4).map(|i| values[i] * weights[i]).sum()
        })
    }

    /// As [`Panorama::plane`], of inverse depths as they are rendered: distances from the camera in
    /// the middle, along their axes in the caps. All become distances.
    ///
    /// # Panics
    /// As [`Panorama::image`].
    pub fn inverse_distance(&self, parts: &[Vec<f32>; 4]) -> Vec<f32> {
        let mut parts = parts.clone();
        let side = self.layout.side as usize;
        let (middle, focal) = (side as f32 / 2.0, self.layout.focal as f32);
        let [_, _, caps @ ..] = &mut parts;
        for cap in caps {
            for (i, value) in cap.iter_mut().enumerate() {
                let [x, y] = [i % side, i / side].map(|v| (v as f32 + 0.5 - middle) / focal);
                *value /= (1.0 + x * x + y * y).sqrt();
            }
        }
        self.plane(&parts)
    }

    /// Puts pixels together; `mix` is a weighted mean.
    fn join<T: Copy>(&self, parts: [&[T]; 4], mix: impl Fn([T; 4], [f32; 4]) -> T) -> Vec<T> {
        let of = &self.layout;
        let [width, height] = of.size.map(|side| side as usize);
        let [half, rows, side] = [of.half, of.rows, of.side].map(|n| n as usize);
        let [left, right, caps @ ..] = parts;
        let (lines, reach) = (height - 2 * rows, rows + of.fade as usize);
        assert!(
            left.len() == half * lines
                && right.len() == (width - half) * lines
                && caps.iter().all(|cap| cap.len() == side * side),
            "a part has another size"
        );
        let on_cap = |cap: usize, place: usize| {
            // Pixel centres are at halves.
            let [x, y] = self.places[cap][place].map(|v| v - 0.5);
            let (column, row) = (x.floor(), y.floor());
            let (right, down) = (x - column, y - row);
            let at = |v: f32, by: usize| (v.max(0.0) as usize + by).min(side - 1);
            let pixel = |dx: usize, dy: usize| caps[cap][at(row, dy) * side + at(column, dx)];
            let (left, up) = (1.0 - right, 1.0 - down);
            mix(
                [pixel(0, 0), pixel(1, 0), pixel(0, 1), pixel(1, 1)],
                [left * up, right * up, left * down, right * down],
            )
        };
        let in_middle = |row: usize, column: usize| match column < half {
            true => left[(row - rows) * half + column],
            false => right[(row - rows) * (width - half) + column - half],
        };
        let pixel = |i: usize| {
            let (row, column) = (i / width, i % width);
            let from_pole = row.min(height - 1 - row);
            if from_pole >= reach {
                return in_middle(row, column);
            }
            let cap = match row < reach {
                true => on_cap(0, i),
                false => on_cap(1, i - (height - reach) * width),
            };
            if from_pole < rows {
                return cap;
            }
            let share = ((from_pole - rows) as f32 + 0.5) / (reach - rows) as f32;
            let middle = in_middle(row, column);
            mix([middle, cap, cap, cap], [share, 1.0 - share, 0.0, 0.0])
        };
        (0..width * height).map(pixel).collect()
    }
}

/// Renders what a camera sees, a panorama in parts.
///
/// # Errors
/// What the renderer reports.
pub fn render(
    renderer: &mut dyn Renderer,
    camera: &Camera,
    options: &RenderOptions,
) -> Result<Rendered, BackendError> {
    match Panorama::of(camera) {
        Some(panorama) => panorama.render(renderer, camera, options),
        None => renderer.render(camera, options),
    }
}

/// Whether a camera sees all around, its forward direction in the middle of the image.
pub fn is_whole(camera: &Camera) -> bool {
    let whole = whole(camera, camera.width, camera.height);
    let same = |a: f64, b: f64| (a - b).abs() <= OFF;
    camera.lens == Lens::Equirectangular
        && same(TAU * camera.fx, TAU * whole.fx)
        && same(PI * camera.fy, PI * whole.fy)
        && same(camera.cx, whole.cx)
        && same(camera.cy, whole.cy)
        && camera.width.min(camera.height) >= MIN_SIDE
}

/// The parts of a camera that sees all around, in the order of [`PARTS`].
pub fn parts(camera: &Camera) -> Option<[Camera; 4]> {
    is_whole(camera).then(|| Layout::new(camera.width, camera.height).cameras(camera))
}

/// What a part of a photo is called: `room/a.jpg` and `left` make `room/a-left.jpg`.
pub fn part_name(name: &str, part: &str) -> String {
    let file = name.rfind(['/', '\\']).map_or(0, |at| at + 1);
    match name[file..].rfind('.').filter(|&at| at > 0) {
        Some(at) => {
            let (stem, ending) = name.split_at(file + at);
            format!("{stem}-{part}{ending}")
        }
        None => format!("{name}-{part}"),
    }
}

/// The photo of which this may be the name of a part, and the part.
pub fn photo_of(name: &str) -> Option<(String, &'static str)> {
    let parts = PARTS.into_iter().chain(FACES);
    let cut = |part: &str| {
        let (stem, ending) = name.rsplit_once(&format!("-{part}"))?;
        let photo = format!("{stem}{ending}");
        (part_name(&photo, part) == name).then_some(photo)
    };
    parts.into_iter().find_map(|part| Some((cut(part)?, part)))
}

/// A camera that looks where the panorama's does of which this camera's is the part.
pub fn uncut(camera: &Camera, part: &str) -> Camera {
    let axes = match part {
        "right" => level(FRAC_PI_2),
        "back" => level(PI),
        "left" => level(-FRAC_PI_2),
        "up" => UP,
        "down" => DOWN,
        _ => return camera.clone(),
    };
    let back: Axes = std::array::from_fn(|i| axes.map(|axis| axis[i]));
    turned(camera, &back)
}

/// A panorama's camera of a size, where a camera stands.
pub fn whole(camera: &Camera, width: u32, height: u32) -> Camera {
    let (w, h) = (f64::from(width), f64::from(height));
    Camera {
        width,
        height,
        fx: w / TAU,
        fy: h / PI,
        cx: w / 2.0,
        cy: h / 2.0,
        lens: Lens::Equirectangular,
        shutter: None,
        ..camera.clone()
    }
}

/// Six pinholes of 90 degrees that show what a panorama shows, in the order of [`FACES`], with as
/// many pixels as it has where these are widest: in a face's middle and on the equator.
pub fn faces(camera: &Camera) -> [Camera; 6] {
    let side = (f64::from(camera.width) / PI).ceil().max(1.0) as u32;
    let axes = [
        level(0.0),
        level(FRAC_PI_2),
        level(PI),
        level(-FRAC_PI_2),
        UP,
        DOWN,
    ];
    axes.map(|axes| square(&turned(camera, &axes), side, f64::from(side) / 2.0))
}

/// So many pinholes of 90 degrees around a panorama's horizon, each turned to the right of the one
/// before, with as many pixels as it has on the equator.
pub fn around(camera: &Camera, views: usize) -> Vec<Camera> {
    let [front, ..] = faces(camera);
    let angle = |view: usize| TAU * view as f64 / views as f64;
    (0..views)
        .map(|view| turned(&front, &level(angle(view))))
        .collect()
}

/// A camera that looks where the panorama's does of which this camera's is the view of that number
/// ([`around`]).
pub fn from_around(camera: &Camera, view: usize, views: usize) -> Camera {
    turned(camera, &level(-TAU * view as f64 / views as f64))
}

/// Turned to the right.
fn level(angle: f64) -> Axes {
    let (sin, cos) = angle.sin_cos();
    [[cos, 0.0, -sin], [0.0, 1.0, 0.0], [sin, 0.0, cos]]
}

/// A camera at the same place with these axes, rows in the axes of the first.
fn turned(camera: &Camera, axes: &Axes) -> Camera {
    let (rotation, translation) = (&camera.rotation, &camera.translation);
    let along = |axis: [f64; 3], v: [f64; 3]| (0..3).map(|k| axis[k] * v[k]).sum::<f64>();
    let column = |k: usize| [rotation[0][k], rotation[1][k], rotation[2][k]];
    Camera {
        rotation: axes.map(|axis| std::array::from_fn(|k| along(axis, column(k)))),
        translation: axes.map(|axis| along(axis, *translation)),
        ..camera.clone()
    }
}

/// A pinhole with a square image and the axis in its middle.
fn square(camera: &Camera, side: u32, focal: f64) -> Camera {
    Camera {
        width: side,
        height: side,
        fx: focal,
        fy: focal,
        cx: f64::from(side) / 2.0,
        cy: f64::from(side) / 2.0,
        lens: Lens::Pinhole,
        ..camera.clone()
    }
}

#[cfg(test)]
mod tests;
