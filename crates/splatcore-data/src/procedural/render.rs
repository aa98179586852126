//! Pictures and points of the world as cameras see them.

use super::options::ProceduralOptions;
use super::trace::encode_srgb;
use super::vector::{V, add, along, length, scale, sub, unit};
use super::world::World;
use rayon::prelude::*;
use splatcore_core::{Camera, Lens, random};

/// Start and unit direction, world axes, of the ray through an image position in pixels when that
/// is read; (0.5, 0.5) is the first centre. `None` where the lens forms no image.
fn ray(camera: &Camera, x: f64, y: f64) -> Option<(V, V)> {
    match camera.shutter {
        // Parallel rays begin at the image, which is where the camera is.
        None if camera.lens == Lens::Orthographic => {
            Some((camera.point_at([x, y], 0.0)?, camera.forward()))
        }
        None => Some((camera.position(), direction(camera, x, y)?)),
        Some(_) => ray(&camera.at_pixel([x, y]), x, y),
    }
}

fn direction(camera: &Camera, x: f64, y: f64) -> Option<V> {
    let local = match camera.lens {
        Lens::Pinhole => [
            (x - camera.cx) / camera.fx,
            (y - camera.cy) / camera.fy,
            1.0,
        ],
        _ => camera.direction([x, y])?,
    };
    let r = &camera.rotation;
    Some(unit(std::array::from_fn(|i| {
        r[0][i] * local[0] + r[1][i] * local[1] + r[2][i] * local[2]
    })))
}

fn to_byte(linear: f64) -> u8 {
    (encode_srgb(linear.clamp(0.0, 1.0)) * 255.0 + 0.5) as u8
}

/// Rays that every pixel gets.
const FIRST_RAYS: u32 = 4;
/// A pixel whose first rays differ by no more than this, in linear light, gets no others.
const EVEN: f64 = 0.03;

/// Renders a view, `[height][width][3]` sRGB bytes. Each pixel is the mean, in linear light, of up
/// to `samples` rays spread over its square.
pub(super) fn photo(
    world: &World,
    camera: &Camera,
    view: usize,
    options: &ProceduralOptions,
) -> Vec<u8> {
    let (width, height) = (camera.width as usize, camera.height as usize);
    let few = options.samples.min(FIRST_RAYS);
    let sets = [Spread::new(few, 0), Spread::new(options.samples - few, few)];
    let mut rgb = vec![0u8; width * height * 3];
    rgb.par_chunks_exact_mut(width * 3)
        .enumerate()
        .for_each(|(row, line)| {
            for (column, pixel) in line.chunks_exact_mut(3).enumerate() {
                let index = ((view * height + row) * width + column) as u64;
                let (mut sum, mut count) = ([0.0; 3], 0);
                let (mut low, mut high) = ([1.0f64; 3], [0.0f64; 3]);
                for set in &sets {
                    for s in 0..set.count {
                        let [x, y] = set.position(s, options.seed, index);
                        let ray = ray(camera, column as f64 + x, row as f64 + y);
                        let colour =
                            ray.map_or([0.0; 3], |(from, along)| world.look(from, along).colour);
                        sum = add(sum, colour);
                        low = [0, 1, 2].map(|i| low[i].min(colour[i]));
                        high = [0, 1, 2].map(|i| high[i].max(colour[i]));
                    }
                    count += set.count;
                    if (0..3).all(|i| high[i] - low[i] <= EVEN) {
                        break;
                    }
                }
                for (byte, sum) in pixel.iter_mut().zip(sum) {
                    *byte = to_byte(sum / count as f64);
                }
            }
        });
    rgb
}

/// Positions in a pixel: one in each row and each column of a count x count grid, at a random place
/// of its cell.
struct Spread {
    count: u32,
    stride: u32,
    /// Number of the first ray among the pixel's.
    first: u32,
}

impl Spread {
    fn new(count: u32, first: u32) -> Self {
        Self {
            count,
            stride: coprime_stride(count),
            first,
        }
    }

    /// x and y in [0, 1).
    fn position(&self, s: u32, seed: u64, pixel: u64) -> [f64; 2] {
        let jitter =
            |lane| random::uniform_at(seed, (1 + self.first + s) as u64, pixel, lane) as f64;
        let count = self.count as f64;
        [
            (s as f64 + jitter(0)) / count,
            ((s * self.stride % self.count) as f64 + jitter(1)) / count,
        ]
    }
}

/// A step near the golden section of `n` that visits every residue.
fn coprime_stride(n: u32) -> u32 {
    let gcd = |mut a: u32, mut b: u32| {
        while b != 0 {
            (a, b) = (b, a % b);
        }
        a
    };
    let wanted = (n as f64 * 0.618) as u32;
    (wanted.max(1)..=n).find(|&k| gcd(k, n) == 1).unwrap_or(1)
}

/// A starting point, as structure from motion would find it.
pub(super) struct Point {
    /// World position, a little off the surface.
    pub position: V,
    /// sRGB.
    pub colour: [u8; 3],
    /// Views that see it, with where they see it, in pixels.
    pub track: Vec<(usize, [f64; 2])>,
    /// Mean distance in pixels between where the views see the surface and where they would see the
    /// point.
    pub error: f64,
}

/// Fewest views that must see a point.
const TRACK: usize = 3;
/// Standard deviation of a point's position, in pixels at its distance.
const NOISE: f64 = 0.3;

/// Surface points under random pixels of random views that at least [`TRACK`] views see, up to the
/// number asked for.
pub(super) fn points(world: &World, cameras: &[Camera], options: &ProceduralOptions) -> Vec<Point> {
    let needed = TRACK.min(cameras.len());
    let mut found = Vec::with_capacity(options.points);
    // Nearly every candidate is good; the bound only ends a scene in which none is.
    for round in 0..8 {
        let missing = options.points - found.len();
        if missing == 0 {
            break;
        }
        let first = (round * options.points) as u64;
        let batch: Vec<_> = (first..first + options.points as u64)
            .into_par_iter()
            .filter_map(|candidate| point(world, cameras, candidate, options.seed, needed))
            .collect();
        found.extend(batch.into_iter().take(missing));
    }
    found
}

fn point(
    world: &World,
    cameras: &[Camera],
    candidate: u64,
    seed: u64,
    needed: usize,
) -> Option<Point> {
    // Steps of the photos' jitter begin at 1 and stay small; this one is out of their way.
    let random = |lane| random::uniform_at(seed, u32::MAX as u64, candidate, lane) as f64;
    let from = &cameras[(random(0) * cameras.len() as f64) as usize % cameras.len()];
    let (x, y) = (
        random(1) * from.width as f64,
        random(2) * from.height as f64,
    );
    let (start, ray) = ray(from, x, y)?;
    let seen = world.look(start, ray);
    let surface = along(start, ray, seen.distance);

    let mut track = Vec::new();
    let mut light = [0.0; 3];
    for (view, camera) in cameras.iter().enumerate() {
        let Some(pixel) = project(camera, surface) else {
            continue;
        };
        let eye = match camera.shutter {
            None => camera.position(),
            Some(_) => camera.at_pixel(pixel).position(),
        };
        if world.sees(eye, surface) {
            track.push((view, pixel));
            light = add(light, world.look(eye, unit(sub(surface, eye))).colour);
        }
    }
    if track.len() < needed {
        return None;
    }
    let noise =
        random::normal3(seed, u32::MAX as u64, candidate).map(|n| n.clamp(-2.5, 2.5) as f64);
    let offset = scale(noise, NOISE * seen.distance / from.fx);
    let position = add(surface, offset);
    let error = track
        .iter()
        .map(|&(view, [x, y])| {
            let at = project_anywhere(&cameras[view], position);
            at.map_or(0.0, |[u, v]| length([u - x, v - y, 0.0]))
        })
        .sum::<f64>()
        / track.len() as f64;
    let colour = light.map(|c| to_byte(c / track.len() as f64));
    Some(Point {
        position,
        colour,
        track,
        error,
    })
}

fn project_anywhere(camera: &Camera, p: V) -> Option<[f64; 2]> {
    let [x, y, z] = camera.to_view(p);
    match camera.is_pinhole() {
        true => Some([camera.fx * x / z + camera.cx, camera.fy * y / z + camera.cy]),
        false => camera.project(p),
    }
}

/// Where in the image, in pixels, a point appears, if it lies in front and inside.
fn project(camera: &Camera, p: V) -> Option<[f64; 2]> {
    let [x, y] = project_anywhere(camera, p)?;
    let inside = x >= 0.0 && y >= 0.0 && x <= camera.width as f64 && y <= camera.height as f64;
    let view = camera.to_view(p);
    let depth = match camera.lens {
        Lens::Equirectangular => length(view),
        _ => view[2],
    };
    (inside && depth > 0.1).then_some([x, y])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_take_each_row_and_column_once() {
        for count in 1..40 {
            let spread = Spread::new(count, 0);
            let at: Vec<[f64; 2]> = (0..count).map(|s| spread.position(s, 3, 11)).collect();
            for axis in 0..2 {
                let mut cells: Vec<u32> =
                    at.iter().map(|p| (p[axis] * count as f64) as u32).collect();
                cells.sort_unstable();
                assert_eq!(cells, (0..count).collect::<Vec<_>>());
            }
        }
    }
}
