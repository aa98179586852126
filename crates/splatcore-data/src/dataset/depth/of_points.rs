//! Depths of points that are known, such as those of a laser scan, as a photo's map.

use splatcore_core::View;
use splatcore_core::depth::DepthMap;

/// The longer side of a map, in pixels: points are sparse, and a photo may have a map of its own.
const SIDE: u32 = 640;
/// Among the pixels of a map within so many on each side, a point hides those behind it.
const AROUND: usize = 3;
/// Points further away than the nearest one there by this factor are hidden, or on an edge.
const BEHIND: f32 = 1.1;

/// The map of a view whose pixels have the depth of the nearest point that they show, and 0 where
/// they show none; `None` if the view shows no point. As points are sparse, those behind a surface
/// show through it: a point counts only if no other one nearby is much nearer.
pub fn depths_of_points(view: &View, positions: &[[f32; 3]]) -> Option<DepthMap> {
    let camera = &view.camera;
    let longest = camera.width.max(camera.height);
    let side = |length: u32| match longest > SIDE {
        true => (u64::from(length) * u64::from(SIDE) / u64::from(longest)).max(1) as u32,
        false => length,
    };
    let (width, height) = (side(camera.width), side(camera.height));
    let is_distance = camera.depth_is_distance();
    let mut depths = vec![f32::INFINITY; width as usize * height as usize];
    for position in positions {
        let point = position.map(f64::from);
        let [x, y, z] = camera.to_view(point);
        let depth = match is_distance {
            true => (x * x + y * y + z * z).sqrt(),
            false => z,
        };
        if !(depth > 0.0 && depth.is_finite()) {
            continue;
        }
        let Some([u, v]) = camera.project(point).filter(|&pixel| camera.inside(pixel)) else {
            continue;
        };
        let place = |at: f64, of: u32, own: u32| {
            ((at * f64::from(own) / f64::from(of)) as usize).min(own as usize - 1)
        };
        let column = place(u, camera.width, width);
        let row = place(v, camera.height, height);
        let cell = &mut depths[row * width as usize + column];
        *cell = cell.min(depth as f32);
    }
    let nearest = least_around(&depths, width as usize);
    let seen = |(&depth, nearest): (&f32, f32)| match depth <= BEHIND * nearest {
        true if depth.is_finite() => 1.0 / depth,
        _ => 0.0,
    };
    let inverse: Vec<f32> = depths.iter().zip(nearest).map(seen).collect();
    inverse.iter().any(|&v| v > 0.0).then_some(DepthMap {
        width,
        height,
        inverse,
        normals: Vec::new(),
    })
}

/// The least value within [`AROUND`] pixels, along rows and then along columns.
fn least_around(values: &[f32], width: usize) -> Vec<f32> {
    let height = values.len() / width;
    let along = |values: &[f32], step: usize, place: usize, count: usize, at: usize| {
        let first = place.saturating_sub(AROUND);
        let last = (place + AROUND).min(count - 1);
        let begin = at - place * step;
        (first..=last)
            .map(|i| values[begin + i * step])
            .fold(f32::INFINITY, f32::min)
    };
    let rows: Vec<f32> = (0..values.len())
        .map(|at| along(values, 1, at % width, width, at))
        .collect();
    (0..values.len())
        .map(|at| along(&rows, width, at / width, height, at))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::image::Photo;
    use splatcore_core::{Camera, Lens};

    fn view(width: u32, height: u32, lens: Lens) -> View {
        let camera = Camera::look_at(
            [0.0, 0.0, -4.0],
            [0.0; 3],
            [0.0, -1.0, 0.0],
            0.8,
            width,
            height,
        );
        View {
            name: "a".into(),
            camera: Camera { lens, ..camera },
            photo: Photo::opaque(width, height, vec![0; 3 * (width * height) as usize]),
        }
    }

    #[test]
    fn the_nearest_point_hides_those_behind_it() {
        let wall = (-10..=10).flat_map(|i| (-10..=10).map(move |j| [i, j]));
        let wall = wall.map(|[i, j]| [0.1 * i as f32, 0.1 * j as f32, 0.0]);
        // Behind the wall, seen between its points, beside it, and behind the camera.
        let others = [[0.05, 0.05, 2.0], [2.2, 0.0, 2.0], [0.0, 0.0, -9.0]];
        let points: Vec<[f32; 3]> = wall.chain(others).collect();
        let view = view(96, 64, Lens::Pinhole);
        let map = depths_of_points(&view, &points).unwrap();
        assert_eq!([map.width, map.height], [96, 64]);
        let known: Vec<f32> = map.inverse.iter().copied().filter(|&v| v > 0.0).collect();
        assert!(known.len() > 200, "{}", known.len());
        let of = |depth: f32| {
            known
                .iter()
                .filter(|&&v| (v - 1.0 / depth).abs() < 1e-5)
                .count()
        };
        assert_eq!((of(4.0), of(6.0)), (known.len() - 1, 1));
        // The pixel of the point in the middle.
        let middle = map.index([48, 32], [96, 64]);
        assert!((map.inverse[middle] - 0.25).abs() < 1e-6);
        assert_eq!(depths_of_points(&view, &others[2..]), None);
    }

    #[test]
    fn large_photos_have_smaller_maps_and_fisheyes_distances() {
        let large = view(1600, 1200, Lens::Pinhole);
        let map = depths_of_points(&large, &[[0.0; 3]]).unwrap();
        assert_eq!([map.width, map.height], [640, 480]);
        let mut fisheye = view(
            96,
            64,
            Lens::Fisheye {
                k: [0.0; 4],
                p: [0.0; 2],
                s: [0.0; 2],
            },
        );
        // Wide enough for points beside the camera.
        (fisheye.camera.fx, fisheye.camera.fy) = (30.0, 30.0);
        let map = depths_of_points(&fisheye, &[[1.0, 0.0, 0.0]]).unwrap();
        let found = map.inverse.iter().copied().fold(0.0, f32::max);
        assert!((found - 1.0 / 17f32.sqrt()).abs() < 1e-6);
    }
}
