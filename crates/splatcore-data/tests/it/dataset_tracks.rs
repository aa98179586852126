//! Points of COLMAP models in photos: each view shows them where the model says, through its own
//! lens and at its own size; what cannot be used is left out.

use crate::dataset_support::{as_taken, colmap_text, load, pattern, save, shared_all, write};

use splatcore_core::{Camera, Tracks, View};
use splatcore_data::dataset::{Dataset, LoadOptions, OpenOptions, colmap};
use splatcore_data::procedural::{ProceduralOptions, write_dataset};
use std::path::Path;

fn open(root: &Path) -> Dataset {
    Dataset::open(root, &OpenOptions::default()).unwrap()
}

/// The views and their tracks.
fn tracked(dataset: &Dataset, options: &LoadOptions) -> Vec<(View, Tracks)> {
    let views = load(dataset, options).unwrap();
    let tracks = dataset.tracks(&views).unwrap();
    assert_eq!(tracks.len(), views.len());
    views.into_iter().zip(tracks).collect()
}

/// The largest error of a view's points.
fn largest((view, tracks): &(View, Tracks)) -> f64 {
    let errors = tracks.errors(&view.camera).map(Option::unwrap);
    errors.fold(0.0, f64::max)
}

fn sizes() -> [LoadOptions; 4] {
    let small = LoadOptions {
        max_size: Some(37),
        ..LoadOptions::default()
    };
    let small_as_taken = LoadOptions {
        keep_lens: true,
        ..small.clone()
    };
    [LoadOptions::default(), small, as_taken(), small_as_taken]
}

/// Cameras of a model as COLMAP writes them, each with its lens.
const CAMERAS: [&str; 3] = [
    "1 PINHOLE 96 72 80 82 47 37\n",
    "1 OPENCV 96 72 80 82 47 37 -0.12 0.03 0.002 -0.003\n",
    "1 OPENCV_FISHEYE 96 72 60 61 47 37 0.02 -0.01 0.004 -0.001\n",
];

/// A photo from (0, 0, -4), and points between z = 0 and 3 where its lens shows them.
fn exact(camera: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let declared = colmap::parse_cameras_txt(camera.as_bytes(), Path::new("cameras.txt")).unwrap();
    let posed = Camera {
        translation: [0.0, 0.0, 4.0],
        ..declared[0].camera.clone()
    };
    let (mut points, mut line) = (String::new(), String::new());
    for i in 0..400 {
        let (column, row) = (f64::from(i % 20), f64::from(i / 20));
        let pixel = [4.8 * column + 2.4, 3.6 * row + 1.8];
        let point = posed.point_at(pixel, 4.0 + f64::from(i % 7) / 2.0).unwrap();
        let [x, y, z] = point;
        points += &format!("{} {x} {y} {z} 9 9 9 0.1 1 0 2 0 3 0\n", i + 1);
        line += &format!("{} {} {} ", pixel[0], pixel[1], i + 1);
    }
    colmap_text(folder.path(), camera, &[(1, "a.png")], &points);
    let listed = format!("1 1 0 0 0 0 0 4 1 a.png\n{line}\n");
    write(folder.path(), "sparse/0/images.txt", listed);
    save(pattern(96, 72), &folder.path().join("images/a.png"));
    folder
}

#[test]
fn views_show_points_where_the_model_has_them() {
    for camera in CAMERAS {
        let folder = exact(camera);
        let mut dataset = open(folder.path());
        for turned in [false, true] {
            if turned {
                dataset.turn(&[[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]);
            }
            for options in sizes() {
                let tracked = tracked(&dataset, &options).swap_remove(0);
                let (view, tracks) = &tracked;
                // A point in every cell.
                assert_eq!(tracks.points.len(), 144);
                let error = largest(&tracked);
                assert!(error < 1e-4, "{camera} {options:?}: {error}");
                assert_eq!(tracks.pixel, f64::from(view.camera.width) / 96.0);
            }
        }
    }
}

/// The painted scene's photos show its points, which are a pixel off their surfaces.
#[test]
fn a_painted_scene_has_tracks() {
    let folder = tempfile::tempdir().unwrap();
    let options = ProceduralOptions {
        width: 96,
        height: 72,
        views: 6,
        samples: 1,
        points: 900,
        ..ProceduralOptions::default()
    };
    write_dataset(folder.path(), &options, &|_, _| {}).unwrap();
    for tracked in tracked(&open(folder.path()), &LoadOptions::default()) {
        let count = tracked.1.points.len();
        assert!(count >= 40 && largest(&tracked) < 6.0, "{count}");
    }
}

/// A real model in binary and in text: the same points, about a pixel off.
#[test]
fn binary_and_text_have_the_same_tracks() {
    let Some(models) = shared_all(["formats/colmap/sceaux_bin", "formats/colmap/sceaux_txt"])
    else {
        return;
    };
    let [bin, txt] = models.map(|model| {
        let folder = tempfile::tempdir().unwrap();
        for file in std::fs::read_dir(model).unwrap() {
            let file = file.unwrap();
            let bytes = std::fs::read(file.path()).unwrap();
            let name = file.file_name().into_string().unwrap();
            if name == "images.bin" {
                for image in colmap::parse_images_bin(&bytes, Path::new("images.bin")).unwrap() {
                    let photo = folder.path().join("images").join(&image.name);
                    save(pattern(354, 266), &photo); // of 2832x2128
                }
            }
            write(folder.path(), &format!("sparse/0/{name}"), bytes);
        }
        folder
    });
    let photos = bin.path().join("images");
    for file in std::fs::read_dir(photos).unwrap() {
        let file = file.unwrap();
        let bytes = std::fs::read(file.path()).unwrap();
        let name = file.file_name().into_string().unwrap();
        write(txt.path(), &format!("images/{name}"), bytes);
    }
    for options in [LoadOptions::default(), as_taken()] {
        let [a, b] = [&bin, &txt].map(|folder| tracked(&open(folder.path()), &options));
        assert_eq!((a.len(), b.len()), (11, 11));
        for ((view, a), (_, b)) in a.iter().zip(&b) {
            let count = a.points.len();
            assert!(
                count > 60 && count == b.points.len(),
                "{count} {}",
                b.points.len()
            );
            assert_eq!(a.pixel, 0.125);
            for (a, b) in a.points.iter().zip(&b.points) {
                let off = |k: usize| (a.pixel[k] - b.pixel[k]).abs();
                assert!(off(0) < 0.01 && off(1) < 0.01, "{a:?} {b:?}");
            }
            let errors: Vec<f64> = a.errors(&view.camera).map(Option::unwrap).collect();
            let mean = errors.iter().sum::<f64>() / count as f64;
            assert!(mean > 0.1 && mean < 1.5, "{}: {mean} pixels", view.name);
        }
    }
}

/// A photo of 16x12 pixels with a line of 2D points; the camera is at (0, 0, -4).
fn of_line(line: &str, points: &str) -> Tracks {
    let folder = tempfile::tempdir().unwrap();
    colmap_text(
        folder.path(),
        "1 PINHOLE 16 12 20 20 8 6\n",
        &[(1, "a.png")],
        points,
    );
    let listed = format!("1 1 0 0 0 0 0 4 1 a.png\n{line}\n");
    write(folder.path(), "sparse/0/images.txt", listed);
    save(pattern(16, 12), &folder.path().join("images/a.png"));
    let dataset = open(folder.path());
    tracked(&dataset, &LoadOptions::default()).swap_remove(0).1
}

#[test]
fn what_cannot_be_used_is_left_out() {
    let points = "1 0 0 0 9 9 9 0.5 1 0 2 0 3 0\n\
                  2 nan 0 0 9 9 9 0.5 1 0 2 0 3 0\n\
                  3 0 0 1e300 9 9 9 0.5 1 0 2 0 3 0\n\
                  4 0.5 0 0 9 9 9 0.5 1 0 2 0\n\
                  5 0 0 -9 9 9 9 0.5 1 0 2 0 3 0\n\
                  6 0.2 0.2 0 9 9 9\n";
    let good = of_line("8.5 6 1", points);
    assert_eq!(good.points.len(), 1);
    assert_eq!(good.points[0].pixel, [8.5, 6.0]);
    assert_eq!(good.points[0].position, [0.0; 3]);
    // No such point, none at all, places that are none, a track of two, one without a track.
    let bad = [
        "8 6 77",
        "8 6 -1",
        "nan 6 1",
        "8 inf 1",
        "-3 6 1",
        "8 99 1",
        "8 6 2",
        "8 6 3",
        "8 6 4",
        "8 6 6",
        "8 6",
        "1",
        "",
        "8 6 18446744073709551616",
        "8 6 1.5",
    ];
    for line in bad {
        assert_eq!(of_line(line, points).points, [], "'{line}'");
    }
    // One behind the camera has no error, and hurts nobody.
    let behind = of_line("8 6 5", points);
    let camera = Camera::pinhole(16, 12, 20.0);
    assert!(behind.points.len() == 1 && behind.errors(&camera).all(|error| error.is_none()));
    // Of a cell of the grid the point that most photos show.
    let more = "1 0 0 0 9 9 9 0.5 1 0 2 0 3 0\n2 0.1 0 0 9 9 9 0.5 1 0 2 0 3 0 4 0\n";
    let best = of_line("8.1 6.1 1 8.2 6.2 2 8.3 6.3 1", more);
    assert_eq!(best.points.len(), 1);
    assert_eq!(best.points[0].pixel, [8.2, 6.2]);
}

/// Other formats have no tracks, and a model without a file of points has none.
#[test]
fn there_may_be_none() {
    let folder = tempfile::tempdir().unwrap();
    colmap_text(
        folder.path(),
        "1 PINHOLE 16 12 20 20 8 6\n",
        &[(1, "a.png")],
        "",
    );
    save(pattern(16, 12), &folder.path().join("images/a.png"));
    std::fs::remove_file(folder.path().join("sparse/0/points3D.txt")).unwrap();
    let dataset = open(folder.path());
    assert_eq!(
        tracked(&dataset, &LoadOptions::default())[0].1,
        Tracks::default()
    );
    // A file that was damaged since is a line.
    write(folder.path(), "sparse/0/points3D.txt", "1 0 0\n");
    let views = load(&dataset, &LoadOptions::default()).unwrap();
    let error = dataset.tracks(&views).unwrap_err().to_string();
    assert!(
        error.contains("points3D.txt") && !error.contains('\n'),
        "{error}"
    );
}
