//! Depths without a scale: by the dataset's points, for each photo.
//!
//! Points say nothing of what hides them: of those in one cell of the photo the nearest counts. The
//! fit begins with the medians and mean deviations of both (as INRIA's code aligns depths, Kerbl et
//! al. 2024) and goes on by least squares, reweighted so that what is far off pulls little.

use super::super::undistort::pixel_at;
use super::options::DepthValues;
use rayon::prelude::*;
use splatcore_core::camera::dot;
use splatcore_core::depth::DepthMap;
use splatcore_core::image::PhotoError;
use splatcore_core::ranked::median;
use splatcore_core::{Camera, Lens, View};
use std::collections::HashMap;

/// Cells along the photo's width.
const CELLS: u32 = 64;
/// Fewer cells with a point give no scale.
const MIN_CELLS: usize = 12;
/// Rounds of least squares.
const ROUNDS: usize = 20;
/// Residuals up to so many times their median count in full (Huber).
const FULL: f64 = 2.0;

/// Whether a map of a photo has distances from the camera: of 360 degrees there is no axis along
/// which to measure. All others have z.
pub(super) fn has_distances(photo: &Camera) -> bool {
    photo.lens == Lens::Equirectangular
}

/// The inverse depths of a map, 0 where unknown; `None` if too few points tell the scale, or the
/// map contradicts them.
pub(super) fn inverse_depths(
    values: &[f32],
    camera: &Camera,
    points: &[[f32; 3]],
    kind: DepthValues,
) -> Option<Vec<f32>> {
    let [factor, offset] = match kind {
        DepthValues::Metric => [1.0, 0.0],
        _ => scale(values, camera, points, kind)?,
    };
    let inverse = |&value: &f32| {
        let line = factor * f64::from(value) + offset;
        let inverse = match kind {
            _ if value <= 0.0 || line <= 0.0 => 0.0,
            DepthValues::Disparity => line,
            _ => 1.0 / line,
        };
        if inverse.is_finite() {
            inverse as f32
        } else {
            0.0
        }
    };
    Some(values.iter().map(inverse).collect())
}

/// How many times as far away as views' depth maps say these points are, in the middle of the
/// views; `None` if no view shows enough of them. About 1 if both have one unit.
///
/// # Errors
/// If depths are not held and cannot be read.
pub fn depth_factor(views: &[View], points: &[[f32; 3]]) -> Result<Option<f64>, PhotoError> {
    let factor = |map: &DepthMap, view: &View| {
        let depths = |&inverse: &f32| if inverse > 0.0 { 1.0 / inverse } else { 0.0 };
        let depths: Vec<f32> = map.inverse.iter().map(depths).collect();
        let camera = view.camera.resized(map.width, map.height);
        let is_distance = camera.depth_is_distance();
        let pairs = pairs(&depths, &camera, points, is_distance);
        line(&pairs, false).map(|[factor, _]| factor)
    };
    let of_view = |view: &View| {
        let map = view.photo.depths()?;
        Ok(map.and_then(|map| factor(&map, view)))
    };
    let factors: Result<Vec<Option<f64>>, _> = views.par_iter().map(of_view).collect();
    Ok(median(factors?.into_iter().flatten()))
}

/// Factor and offset from the map's values to depths, or of disparities to inverse depths.
fn scale(
    values: &[f32],
    camera: &Camera,
    points: &[[f32; 3]],
    kind: DepthValues,
) -> Option<[f64; 2]> {
    let mut pairs = pairs(values, camera, points, has_distances(camera));
    if kind == DepthValues::Disparity {
        pairs
            .iter_mut()
            .for_each(|[_, depth]| *depth = 1.0 / *depth);
    }
    let found = line(&pairs, kind != DepthValues::Scaled);
    found.filter(|[factor, offset]| *factor > 0.0 && offset.is_finite())
}

/// Values of a map and depths of points there (z, or distances from the camera), of the nearest
/// point of each cell.
fn pairs(values: &[f32], camera: &Camera, points: &[[f32; 3]], is_distance: bool) -> Vec<[f64; 2]> {
    let mut cells: HashMap<[u32; 2], [f64; 2]> = HashMap::new();
    let side = camera.width.div_ceil(CELLS).max(1);
    for point in points.iter().map(|point| point.map(f64::from)) {
        let view = camera.to_view(point);
        let depth = match is_distance {
            true => dot(view, view).sqrt(),
            false => view[2],
        };
        let Some(pixel) = camera.project(point).filter(|&pixel| camera.inside(pixel)) else {
            continue;
        };
        let [x, y] = pixel_at(pixel, [camera.width, camera.height]);
        let value = values[y as usize * camera.width as usize + x as usize];
        if value > 0.0 && depth > 0.0 {
            let cell = cells.entry([x / side, y / side]).or_insert([0.0, f64::MAX]);
            if depth < cell[1] {
                *cell = [f64::from(value), depth];
            }
        }
    }
    // In a fixed order, so that the sums are the same every time.
    let mut cells: Vec<_> = cells.into_iter().collect();
    cells.sort_by_key(|(cell, _)| *cell);
    cells.into_iter().map(|(_, pair)| pair).collect()
}

/// Factor and offset (0 unless free) of the line through most of the pairs; `None` if they are too
/// few.
fn line(pairs: &[[f64; 2]], offset_is_free: bool) -> Option<[f64; 2]> {
    if pairs.len() < MIN_CELLS {
        return None;
    }
    let of = |value: &dyn Fn(&[f64; 2]) -> f64| median(pairs.iter().map(value)).unwrap_or(0.0);
    let mut found = match offset_is_free {
        false => [of(&|[x, y]| y / x), 0.0],
        true => {
            let (mx, my) = (of(&|p| p[0]), of(&|p| p[1]));
            let spread = [(0, mx), (1, my)].map(|(k, m)| of(&|p| (p[k] - m).abs()));
            let factor = spread[1] / spread[0];
            [factor, my - factor * mx]
        }
    };
    for _ in 0..ROUNDS {
        let off = |[x, y]: &[f64; 2]| (found[0] * x + found[1] - y).abs();
        let limit = FULL * of(&off);
        let weight = |pair: &[f64; 2]| match off(pair) {
            off if off <= limit => 1.0,
            off => limit / off,
        };
        let mut sums = [0.0; 5];
        for pair in pairs {
            let (w, [x, y]) = (weight(pair), *pair);
            for (sum, value) in sums.iter_mut().zip([1.0, x, y, x * x, x * y]) {
                *sum += w * value;
            }
        }
        let [n, x, y, xx, xy] = sums;
        found = match offset_is_free {
            false => [xy / xx, 0.0],
            true => {
                let factor = (n * xy - x * y) / (n * xx - x * x);
                [factor, (y - factor * x) / n]
            }
        };
    }
    found.iter().all(|v| v.is_finite()).then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::panorama;
    use splatcore_core::random::Rng;

    /// A slope that is seen, of which a quarter of the points is hidden far behind it, and the
    /// numbers that are found for it.
    fn found(kind: DepthValues, value: impl Fn(f64) -> f64) -> Option<(Vec<f32>, Vec<f64>)> {
        let camera = Camera::look_at([0.0; 3], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0], 0.9, 96, 64);
        let depth = |pixel: [f64; 2]| 2.0 + pixel[0] / 30.0 + pixel[1] / 50.0;
        let places = (0..64 * 96).map(|i| [f64::from(i % 96) + 0.5, f64::from(i / 96) + 0.5]);
        let depths: Vec<f64> = places.map(depth).collect();
        let mut rng = Rng::new(3, 5);
        let mut points = Vec::new();
        for i in 0..400 {
            let pixel = [96.0, 64.0].map(|side| side * f64::from(rng.uniform()));
            let ray = camera.ray(pixel)?;
            let z = depth(pixel) * if i % 4 == 0 { 3.0 } else { 1.0 };
            let view = [ray[0] * z, ray[1] * z, z];
            // The camera stands at the origin.
            points.push(
                [0, 1, 2]
                    .map(|j| (0..3).map(|k| camera.rotation[k][j] * view[k]).sum::<f64>() as f32),
            );
        }
        let values: Vec<f32> = depths.iter().map(|&z| value(z) as f32).collect();
        Some((inverse_depths(&values, &camera, &points, kind)?, depths))
    }

    #[test]
    fn scales_and_offsets_are_found() {
        for (kind, value) in [
            (DepthValues::Metric, (|z| z) as fn(f64) -> f64),
            (DepthValues::Scaled, |z| 0.37 * z),
            (DepthValues::Relative, |z| 0.2 * z - 0.1),
            (DepthValues::Disparity, |z| 80.0 / z + 40.0),
        ] {
            let (inverse, depths) = found(kind, value).unwrap();
            for (inverse, depth) in inverse.iter().zip(depths) {
                let off = f64::from(*inverse) * depth - 1.0;
                assert!(off.abs() < 0.02, "{kind:?}: {off}");
            }
        }
        // What grows with the distance is no disparity.
        assert!(found(DepthValues::Disparity, |z| 40.0 - 80.0 / z).is_none());
    }

    #[test]
    fn a_point_on_the_right_or_the_lower_edge_has_the_last_pixel() {
        let ahead = Camera {
            fx: 4.0,
            fy: 4.0,
            rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            ..Camera::look_at([0.0; 3], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0], 1.0, 8, 8)
        };
        let around = panorama::whole(&ahead, 8, 4);
        for (camera, point, index) in [
            (&ahead, [1.0, 1.0, 1.0], 63),
            (&ahead, [1.0, 0.125, 1.0], 39),
            (&ahead, [0.125, 1.0, 1.0], 60),
            (&around, [0.0, 1.0, 0.0], 28),
        ] {
            let pixel = camera.project(point.map(f64::from)).unwrap();
            assert!(pixel[0] == 8.0 || pixel[1] == f64::from(camera.height));
            let values: Vec<f32> = (1..=camera.width * camera.height)
                .map(|value| value as f32)
                .collect();
            let [[value, _]] = pairs(&values, camera, &[point], has_distances(camera))[..] else {
                panic!("one pair of {point:?}");
            };
            assert_eq!(value, f64::from(index) + 1.0, "{point:?}");
        }
    }
}
