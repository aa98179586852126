//! The procedural dataset, read back by a parser of this file's own and checked against the ray
//! tracer.

// Helpers of tests are tests, too.

use splatcore_core::camera::{dot, normalize, rotation_from_quaternion};
use splatcore_core::{Camera, Lens};
use splatcore_data::procedural::{ProceduralOptions, World, encode_srgb, write_dataset};
use std::collections::HashMap;
use std::path::Path;
use std::sync::OnceLock;

struct View {
    camera: Camera,
    rgb: image::RgbImage,
    /// x, y, id of the point.
    seen: Vec<(f64, f64, usize)>,
}

struct Point {
    position: [f64; 3],
    colour: [f64; 3],
    error: f64,
    /// Image id, index of the observation.
    track: Vec<(usize, usize)>,
}

struct Dataset {
    /// By image id.
    views: HashMap<usize, View>,
    /// By point id.
    points: HashMap<usize, Point>,
}

fn small() -> ProceduralOptions {
    ProceduralOptions {
        width: 160,
        height: 120,
        views: 24,
        samples: 6,
        seed: 3,
        points: 600,
        ..ProceduralOptions::default()
    }
}

fn dataset() -> &'static Dataset {
    static DATASET: OnceLock<Dataset> = OnceLock::new();
    DATASET.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        write_dataset(folder.path(), &small(), &|_, _| {}).unwrap();
        read(folder.path())
    })
}

fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines()
        .filter(|l| !l.starts_with('#'))
        .map(String::from)
        .collect()
}

fn numbers<'a>(words: impl Iterator<Item = &'a str>) -> Vec<f64> {
    words.map(|w| w.parse().unwrap()).collect()
}

fn read(folder: &Path) -> Dataset {
    let sparse = folder.join("sparse/0");
    let camera_lines = lines(&sparse.join("cameras.txt"));
    assert_eq!(camera_lines.len(), 1);
    let words: Vec<&str> = camera_lines[0].split(' ').collect();
    assert_eq!(words[..2], ["1", "PINHOLE"]);
    let c = numbers(words[2..].iter().copied());

    let mut views = HashMap::new();
    for pair in lines(&sparse.join("images.txt")).chunks(2) {
        let words: Vec<&str> = pair[0].split(' ').collect();
        let v = numbers(words[..9].iter().copied());
        let camera = Camera {
            width: c[0] as u32,
            height: c[1] as u32,
            fx: c[2],
            fy: c[3],
            cx: c[4],
            cy: c[5],
            rotation: rotation_from_quaternion([v[1], v[2], v[3], v[4]]).unwrap(),
            translation: [v[5], v[6], v[7]],
            lens: Lens::Pinhole,
            shutter: None,
        };
        assert_eq!(camera.defect(), None);
        let rgb = splatcore_data::picture::read(folder.join("images").join(words[9]))
            .unwrap()
            .to_rgb8();
        assert_eq!(rgb.dimensions(), (camera.width, camera.height));
        let seen = numbers(pair[1].split_whitespace())
            .chunks(3)
            .map(|o| (o[0], o[1], o[2] as usize))
            .collect();
        views.insert(v[0] as usize, View { camera, rgb, seen });
    }

    let points = lines(&sparse.join("points3D.txt"))
        .iter()
        .map(|line| {
            let v = numbers(line.split(' '));
            let track = v[8..]
                .chunks(2)
                .map(|o| (o[0] as usize, o[1] as usize))
                .collect();
            let colour = [v[4], v[5], v[6]].map(|c| c / 255.0);
            (
                v[0] as usize,
                Point {
                    position: [v[1], v[2], v[3]],
                    colour,
                    error: v[7],
                    track,
                },
            )
        })
        .collect();
    Dataset { views, points }
}

/// Where a view sees a world point, in pixels, by the convention of COLMAP's documentation.
fn project(camera: &Camera, p: [f64; 3]) -> [f64; 2] {
    let [x, y, z] = camera.to_view(p);
    [camera.fx * x / z + camera.cx, camera.fy * y / z + camera.cy]
}

/// The ray through an image position, written independently of the renderer: solved from the
/// projection.
fn ray(camera: &Camera, x: f64, y: f64) -> [f64; 3] {
    let local = [
        (x - camera.cx) / camera.fx,
        (y - camera.cy) / camera.fy,
        1.0,
    ];
    let column = |i: usize| {
        [
            camera.rotation[0][i],
            camera.rotation[1][i],
            camera.rotation[2][i],
        ]
    };
    normalize([
        dot(column(0), local),
        dot(column(1), local),
        dot(column(2), local),
    ])
    .unwrap()
}

/// Mean absolute difference of the colours of points and of the pixels that they project to, and
/// the share of projections that fall into the image.
fn colour_difference(data: &Dataset, pose: impl Fn(&Camera) -> Camera) -> (f64, f64) {
    let (mut sum, mut inside, mut all) = (0.0, 0, 0);
    for point in data.points.values() {
        for (image, _) in &point.track {
            let view = &data.views[image];
            let [x, y] = project(&pose(&view.camera), point.position);
            all += 1;
            if x < 0.0 || y < 0.0 || x >= view.camera.width as f64 || y >= view.camera.height as f64
            {
                continue;
            }
            let pixel = view
                .rgb
                .get_pixel(x as u32, y as u32)
                .0
                .map(|v| v as f64 / 255.0);
            sum += (0..3)
                .map(|i| (pixel[i] - point.colour[i]).abs())
                .sum::<f64>()
                / 3.0;
            inside += 1;
        }
    }
    (sum / inside.max(1) as f64, inside as f64 / all as f64)
}

#[test]
fn points_have_the_colours_of_the_pixels_they_project_to() {
    let data = dataset();
    let (right, inside) = colour_difference(data, Clone::clone);
    assert!(right < 0.05, "mean difference {right}");
    assert!(
        inside > 0.98,
        "{inside} of the projections fall into the image"
    );
    // The same measure tells wrong conventions from right ones.
    let inverted = |c: &Camera| {
        let mut wrong = c.clone();
        wrong.rotation = std::array::from_fn(|i| std::array::from_fn(|j| c.rotation[j][i]));
        wrong.translation = c.position();
        wrong
    };
    let y_up = |c: &Camera| {
        let mut wrong = c.clone();
        for i in [1, 2] {
            wrong.rotation[i] = wrong.rotation[i].map(|v| -v);
            wrong.translation[i] = -wrong.translation[i];
        }
        wrong
    };
    for (wrong, inside) in [
        colour_difference(data, inverted),
        colour_difference(data, y_up),
    ] {
        assert!(
            wrong > 2.0 * right || inside < 0.5,
            "{wrong} with {inside} inside"
        );
    }
}

#[test]
fn points_lie_at_the_depth_that_the_tracer_sees() {
    let (data, world) = (dataset(), World::new());
    let (mut good, mut bad, mut grazing) = (0, 0, 0);
    for point in data.points.values() {
        // The noise is 0.3 pixels at the distance of one of the views in the track, at most 2.5
        // sigma an axis.
        let pixel = |image: usize| {
            let camera = &data.views[&image].camera;
            camera
                .to_view(point.position)
                .iter()
                .map(|v| v * v)
                .sum::<f64>()
                .sqrt()
                / camera.fx
        };
        let bound = point
            .track
            .iter()
            .map(|&(image, _)| pixel(image))
            .fold(0.0, f64::max)
            * 0.3
            * 2.5
            * 1.75;
        for &(image, index) in &point.track {
            let view = &data.views[&image];
            let (x, y, _) = view.seen[index];
            let eye = view.camera.position();
            let direction = ray(&view.camera, x, y);
            let seen = world.look(eye, direction);
            let way = [0, 1, 2].map(|i| point.position[i] - eye[i]);
            let depth = dot(way, direction);
            if dot(seen.normal, direction).abs() < 0.1 {
                grazing += 1;
                continue;
            }
            if (depth - seen.distance).abs() < bound {
                good += 1
            } else {
                bad += 1
            }
        }
    }
    assert!(good > 3000, "{good} observations");
    assert!(
        grazing < good / 10,
        "{grazing} of {good} at a grazing angle"
    );
    assert!(
        bad * 500 <= good,
        "{bad} of {good} observations at another depth"
    );
}

#[test]
fn pixel_centres_are_at_one_half() {
    let (data, world) = (dataset(), World::new());
    let difference = |dx: f64, dy: f64| {
        let mut sum = 0.0;
        for id in [1, 6] {
            let view = &data.views[&id];
            let eye = view.camera.position();
            for (column, row, pixel) in view.rgb.enumerate_pixels() {
                let at = ray(
                    &view.camera,
                    column as f64 + 0.5 + dx,
                    row as f64 + 0.5 + dy,
                );
                let colour = world.look(eye, at).colour.map(encode_srgb);
                sum += (0..3)
                    .map(|i| (colour[i] - pixel.0[i] as f64 / 255.0).powi(2))
                    .sum::<f64>();
            }
        }
        sum
    };
    let centre = difference(0.0, 0.0);
    for (dx, dy) in [(0.5, 0.0), (-0.5, 0.0), (0.0, 0.5), (0.0, -0.5)] {
        let shifted = difference(dx, dy);
        assert!(
            shifted > 1.3 * centre,
            "{shifted} when shifted by ({dx}, {dy}), {centre} when not"
        );
    }
}

#[test]
fn tracks_and_observations_agree() {
    let data = dataset();
    assert_eq!(data.views.len(), 24);
    assert_eq!(data.points.len(), 600);
    let mut observations = 0;
    for (id, point) in &data.points {
        assert!(point.track.len() >= 3);
        let mut error = 0.0;
        for &(image, index) in &point.track {
            let view = &data.views[&image];
            let (x, y, point_id) = view.seen[index];
            assert_eq!(point_id, *id);
            let [u, v] = project(&view.camera, point.position);
            error += (u - x).hypot(v - y) / point.track.len() as f64;
        }
        assert!(
            (error - point.error).abs() < 1e-3,
            "{error} against {}",
            point.error
        );
        observations += point.track.len();
    }
    assert_eq!(
        observations,
        data.views.values().map(|v| v.seen.len()).sum::<usize>()
    );
    let mean = data.points.values().map(|p| p.error).sum::<f64>() / 600.0;
    assert!(
        (0.05..1.0).contains(&mean),
        "mean reprojection error {mean} pixels"
    );
}

#[test]
fn held_out_views_see_what_other_views_see() {
    let data = dataset();
    for held_out in (1..=24).step_by(8) {
        let view = &data.views[&held_out];
        let shared = view.seen.iter().filter(|(_, _, id)| {
            let others = data.points[id]
                .track
                .iter()
                .filter(|(image, _)| (image - 1) % 8 != 0);
            others.count() >= 3
        });
        let share = shared.count() as f64 / view.seen.len() as f64;
        assert!(
            view.seen.len() > 50 && share > 0.9,
            "view {held_out}: {share} of {}",
            view.seen.len()
        );
    }
}

#[test]
fn the_sky_does_not_dominate() {
    let (data, world) = (dataset(), World::new());
    let (mut sky, mut all) = (0, 0);
    for view in data.views.values() {
        for row in (0..view.camera.height).step_by(8) {
            for column in (0..view.camera.width).step_by(8) {
                let at = ray(&view.camera, column as f64, row as f64);
                let eye = view.camera.position();
                let t = world.look(eye, at).distance;
                let p = [0, 1, 2].map(|i| eye[i] + t * at[i]);
                sky += usize::from(dot(p, p).sqrt() > 12.99 && p[1] < -1e-6);
                all += 1;
            }
        }
    }
    assert!(sky > 0 && sky * 4 < all, "{sky} of {all}");
}

#[test]
fn the_same_options_give_the_same_files() {
    let options = |seed| ProceduralOptions {
        width: 40,
        height: 30,
        views: 3,
        samples: 5,
        seed,
        points: 40,
        ..ProceduralOptions::default()
    };
    let files = |seed| {
        let folder = tempfile::tempdir().unwrap();
        let calls = std::sync::Mutex::new(Vec::new());
        write_dataset(folder.path(), &options(seed), &|done, all| {
            calls.lock().unwrap().push((done, all))
        })
        .unwrap();
        assert_eq!(calls.into_inner().unwrap(), [(1, 3), (2, 3), (3, 3)]);
        [
            "images/view_0000.png",
            "images/view_0002.png",
            "sparse/0/images.txt",
            "sparse/0/points3D.txt",
        ]
        .map(|name| std::fs::read(folder.path().join(name)).unwrap())
    };
    assert_eq!(files(1), files(1));
    assert!(files(1).iter().zip(&files(2)).all(|(a, b)| a != b));
}

#[test]
fn what_cannot_be_done_is_said_in_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let tiny = ProceduralOptions {
        width: 16,
        height: 16,
        views: 2,
        samples: 1,
        seed: 0,
        points: 5,
        ..ProceduralOptions::default()
    };
    for (options, word) in [
        (
            ProceduralOptions {
                width: 0,
                ..tiny.clone()
            },
            "pixels",
        ),
        (
            ProceduralOptions {
                views: 1,
                ..tiny.clone()
            },
            "views",
        ),
        (
            ProceduralOptions {
                samples: 0,
                ..tiny.clone()
            },
            "samples",
        ),
        (
            ProceduralOptions {
                points: usize::MAX,
                ..tiny.clone()
            },
            "points",
        ),
    ] {
        let error = write_dataset(path, &options, &|_, _| {})
            .unwrap_err()
            .to_string();
        assert!(
            error.contains(word) && error.lines().count() == 1,
            "{error}"
        );
    }
    assert_eq!(std::fs::read_dir(path).unwrap().count(), 0);

    let taken = path.join("taken");
    std::fs::create_dir_all(taken.join("sparse/0")).unwrap();
    std::fs::write(taken.join("sparse/0/cameras.bin"), b"").unwrap();
    let error = write_dataset(&taken, &tiny, &|_, _| {}).unwrap_err();
    assert_contains!(error, "cameras.bin", "empty folder");

    let file = path.join("file");
    std::fs::write(&file, b"").unwrap();
    let error = write_dataset(&file, &tiny, &|_, _| {}).unwrap_err();
    assert_contains!(error, "cannot be written");
}
