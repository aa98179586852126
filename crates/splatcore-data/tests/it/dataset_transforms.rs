//! `transforms.json` in its dialects.

use crate::dataset_support::{load_all, open, open_error, pattern, save, write};

use splatcore_core::{Camera, Lens};
use splatcore_data::dataset::transforms::{self, PosedPhoto};
use splatcore_data::dataset::{Dataset, Format, OpenOptions, Points, Split, colmap};

/// Camera to world of a camera at (0, 0, 4) that looks at the origin (OpenGL: along -z), y up.
const LOOKING_DOWN_Z: &str = "[[1,0,0,0],[0,1,0,0],[0,0,1,4],[0,0,0,1]]";

fn frame(name: &str, more: &str) -> String {
    format!(r#"{{"file_path": "{name}", "transform_matrix": {LOOKING_DOWN_Z}{more}}}"#)
}

#[test]
fn opengl_axes_become_opencvs() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    save(pattern(64, 48), &root.join("images/a.png"));
    write(
        root,
        "transforms.json",
        format!(
            r#"{{"fl_x": 50, "w": 64, "h": 48.0, "frames": [{}]}}"#,
            frame("./images/a.png", "")
        ),
    );
    let dataset = open(root);
    assert_eq!(dataset.format, Format::Transforms);
    assert_eq!(dataset.entries[0].name, "images/a.png");
    let camera = &dataset.entries[0].camera;
    let position = camera.position();
    assert!(
        position[0].abs() < 1e-12 && position[1].abs() < 1e-12 && (position[2] - 4.0).abs() < 1e-12
    );
    // A point to the right of and above the origin is right of and above the middle: y points down.
    assert_eq!(camera.project([0.4, 0.0, 0.0]), Some([37.0, 24.0]));
    assert_eq!(camera.project([0.0, 0.4, 0.0]), Some([32.0, 19.0]));
    assert_eq!(camera.project([0.0, 0.0, 5.0]), None);
}

#[test]
fn a_frames_own_numbers_win() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for name in ["a", "b", "c"] {
        save(pattern(64, 48), &root.join(format!("{name}.png")));
    }
    let frames = [
        frame("a.png", ""),
        frame("b", r#", "fl_x": 70, "cx": 30, "k1": 0.2"#),
        frame("c", r#", "camera_model": "OPENCV_FISHEYE""#),
    ];
    write(
        root,
        "transforms.json",
        format!(
            r#"{{"camera_model": "OPENCV", "fl_x": 50, "fl_y": 51,
                "k1": 0.1, "k2": 0.01, "p1": 0.001, "p2": 0.002,
                "applied_transform": [[1,0,0,0],[0,0,1,0],[0,-1,0,0]], "frames": [{}]}}"#,
            frames.join(",")
        ),
    );
    let dataset = open(root);
    let [a, b, c] = &dataset.entries[..] else {
        panic!("{:?}", dataset.entries)
    };
    assert_eq!((a.camera.fx, a.camera.fy, a.camera.cx), (50.0, 51.0, 32.0));
    // No size is declared: it is the file's.
    assert_eq!((a.camera.width, a.camera.height), (64, 48));
    assert_eq!((b.camera.fx, b.camera.fy, b.camera.cx), (70.0, 70.0, 30.0));
    let opencv = |k1| Lens::OpenCv {
        k: [k1, 0.01, 0.0, 0.0, 0.0, 0.0],
        p: [0.001, 0.002],
        s: [0.0; 4],
    };
    assert_eq!((a.camera.lens, b.camera.lens), (opencv(0.1), opencv(0.2)));
    assert_eq!(
        c.camera.lens,
        Lens::Fisheye {
            k: [0.1, 0.01, 0.0, 0.0],
            p: [0.0; 2],
            s: [0.0; 2]
        }
    );
    assert_eq!(dataset.info().cameras, 3);
}

#[test]
fn nerfstudios_splits_masks_points_and_smaller_copies_are_used() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for name in ["a", "b", "c"] {
        save(pattern(64, 48), &root.join(format!("images/{name}.png")));
        save(pattern(32, 24), &root.join(format!("images_2/{name}.png")));
    }
    save(
        image::GrayImage::from_pixel(64, 48, image::Luma([255])),
        &root.join("own/mask.png"),
    );
    let frames = [
        frame("images/a.png", r#", "mask_path": "own/mask.png""#),
        frame("images/b.png", r#", "mask_path": "own/gone.png""#),
        frame("images/c.png", ""),
    ];
    write(
        root,
        "transforms.json",
        format!(
            r#"{{"fl_x": 50, "w": 64, "h": 48, "frames": [{}], "ply_file_path": "points.ply",
                "train_filenames": ["images/a.png", "images/typo.png"],
                "test_filenames": ["./images/c.png"],
                "val_filenames": ["images/c.png"]}}"#,
            frames.join(",")
        ),
    );
    let mut ply = b"ply\nformat binary_big_endian 1.0\nelement vertex 2\nproperty double x\n\
        property float y\nproperty float z\nproperty uchar red\n\
        property uchar green\nproperty uchar blue\nproperty float nx\nend_header\n"
        .to_vec();
    for i in 0..2 {
        ply.extend((i as f64).to_be_bytes());
        ply.extend(2.5f32.to_be_bytes());
        ply.extend((-1.0f32).to_be_bytes());
        ply.extend([1, 2, 3 + i as u8]);
        ply.extend(0f32.to_be_bytes());
    }
    std::fs::write(root.join("points.ply"), ply).unwrap();
    let dataset = open(root);
    assert_eq!(dataset.select(Split::Train, 8), [0]);
    assert_eq!(dataset.select(Split::Test, 8), [2]);
    assert_eq!(dataset.select(Split::All, 8), [0, 1, 2]);
    assert!(dataset.entries[0].mask.is_some() && dataset.entries[1].mask.is_none());
    assert_contains!(dataset.warnings[0], "gone.png");
    assert_contains!(dataset.warnings[1], "typo.png");
    assert_eq!(
        dataset.points.positions,
        [[0.0, 2.5, -1.0], [1.0, 2.5, -1.0]]
    );
    assert_eq!(dataset.points.colours[1], [1, 2, 4]);
    assert!(!dataset.points.random);

    let options = OpenOptions {
        images: Some("images_2".into()),
        ..OpenOptions::default()
    };
    let views = load_all(&Dataset::open(root, &options).unwrap());
    assert_eq!((views[0].camera.width, views[0].camera.fx), (32, 25.0));
    assert_eq!(views[0].photo.counted_pixels(), 32 * 24);
}

/// A name that is no frame's is looked for in the list that has it.
#[test]
fn unknown_names_are_said_with_their_list() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    save(pattern(64, 48), &root.join("images/a.png"));
    save(pattern(64, 48), &root.join("images/b.png"));
    for (lists, wanted) in [
        (
            r#""train_filenames": ["images/a.png"],
               "val_filenames": ["images/b.png", "images/typo.png"]"#,
            "val_filenames: 1, such as 'images/typo.png'",
        ),
        (
            r#""train_filenames": ["images/a.png", "images/typo.png"],
               "test_filenames": ["images/b.png"], "val_filenames": ["images/gone.png"]"#,
            "train_filenames: 1, such as 'images/typo.png'",
        ),
        (
            r#""train_filenames": ["images/typo.png"], "test_filenames": ["images/gone.png"]"#,
            "train_filenames and test_filenames: 2, such as 'images/gone.png'",
        ),
    ] {
        let frames = [frame("images/a.png", ""), frame("images/b.png", "")].join(",");
        let text = format!(r#"{{"fl_x": 50, "w": 64, "h": 48, "frames": [{frames}], {lists}}}"#);
        write(root, "transforms.json", &text);
        let warnings = open(root).warnings;
        assert!(warnings[0].ends_with(wanted), "{warnings:?}");
    }
}

#[test]
fn degenerate_poses_are_left_out_and_scaled_ones_repaired() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for name in ["flat", "mirror", "scaled", "short"] {
        save(pattern(64, 48), &root.join(format!("{name}.png")));
    }
    let with = |name: &str, matrix: &str| {
        format!(r#"{{"file_path": "{name}.png", "transform_matrix": {matrix}}}"#)
    };
    let frames = [
        with("flat", "[[1,0,0,0],[0,0,0,0],[0,0,1,4],[0,0,0,1]]"),
        with("mirror", "[[-1,0,0,0],[0,1,0,0],[0,0,1,4],[0,0,0,1]]"),
        with("scaled", "[[2,0,0,0],[0,2,0,0],[0,0,2,4]]"),
        with("short", "[[1,0,0],[0,1,0],[0,0,1]]"),
        with("gone", "[[2,0,0,0],[0,2,0,0],[0,0,2,4]]"),
    ];
    write(
        root,
        "transforms.json",
        format!(
            r#"{{"camera_angle_x": 0.8, "frames": [{}]}}"#,
            frames.join(",")
        ),
    );
    let dataset = open(root);
    assert_eq!(dataset.entries.len(), 1);
    assert_eq!(dataset.missing, ["gone.png"]);
    assert_eq!(dataset.warnings.len(), 3, "{:?}", dataset.warnings);
    let camera = &dataset.entries[0].camera;
    assert_eq!(camera.defect(), None);
    assert!((camera.position()[2] - 4.0).abs() < 1e-12);
    assert!((camera.fx - 32.0 / 0.4f64.tan()).abs() < 1e-9);
    // One camera only: its random points are in its view.
    assert!(dataset.points.random);
    assert!(
        dataset
            .points
            .positions
            .iter()
            .all(|p| dataset.entries[0].camera.sees(p.map(|v| v as f64)))
    );

    write(
        root,
        "transforms.json",
        format!(r#"{{"camera_angle_x": 0.8, "frames": [{}]}}"#, frames[0]),
    );
    assert_contains!(open_error(root), "no image with a usable camera");
}

#[test]
fn what_is_wrong_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    assert!(open_error(root).contains("neither a COLMAP model"));
    save(pattern(64, 48), &root.join("a.png"));
    let says = |text: &str, parts: &[&str]| {
        write(root, "transforms.json", text);
        let error = open_error(root);
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    };
    says("", &["empty"]);
    says("{\"frames\": [\n", &["line 2", "ends too early"]);
    says(
        "{\"frames\": [],\n \"fl_x\": NaN}",
        &["line 2", "NaN or infinite", "column 10"],
    );
    says(
        // The 40th character is the I.
        "{\"frames\": [{\"transform_matrix\": [[1, -Infinity]]}]}",
        &["line 1", "NaN or infinite", "column 40"],
    );
    says("{\"w\": 3}", &["frames"]);
    // In the file's words.
    says("[1]", &["an object with \"frames\""]);
    says("{\"frames\": [3]}", &["an object", "column"]);
    says("{\"frames\": []}", &["lists no image"]);
    says(
        &format!(
            r#"{{"fl_x": 9, "camera_model": "VR180_R", "frames": [{}]}}"#,
            frame("a.png", "")
        ),
        &["VR180_R has an eye", "frames[0]", "EQUIRECTANGULAR"],
    );
    says(
        &format!(r#"{{"frames": [{}]}}"#, frame("a.png", "")),
        &["fl_x"],
    );
    says(
        &format!(r#"{{"fl_x": 9, "frames": [{}]}}"#, frame("b.png", "")),
        &["none of the 1 listed", "b.png"],
    );
    says(
        &format!(
            r#"{{"fl_x": 9, "frames": [{}]}}"#,
            frame("a.png", r#", "k1": "x""#)
        ),
        &["line 1", "a number"],
    );
    let deep = "[".repeat(100_000);
    says(&format!("{{\"frames\": {deep}"), &["transforms.json"]);
}

/// What can be written, and read again.
fn lenses() -> [Lens; 8] {
    [
        Lens::Pinhole,
        Lens::OpenCv {
            k: [-0.1, 0.02, 0.0, 0.0, 0.0, 0.0],
            p: [0.001, -0.002],
            s: [0.0; 4],
        },
        Lens::OpenCv {
            k: [-0.1, 0.02, 0.003, 0.01, 0.002, 0.001],
            p: [0.001, -0.002],
            s: [0.0; 4],
        },
        Lens::Fisheye {
            k: [0.02, -0.01, 0.004, -0.001],
            p: [0.0; 2],
            s: [0.0; 2],
        },
        Lens::Fisheye {
            k: [0.02, -0.01, 0.004, -0.001],
            p: [0.002, -0.003],
            s: [0.003, -0.002],
        },
        Lens::RadTanThinPrism {
            k: [0.02, -0.01, 0.004, -0.001, 0.0005, -0.0001],
            p: [0.002, -0.003],
            s: [0.003, -0.002, 0.001, 0.0015],
        },
        Lens::Equirectangular,
        Lens::Orthographic,
    ]
}

/// What is written is read: poses, lenses, splits, photos beside the folder.
#[test]
fn a_written_file_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let (root, run) = (folder.path(), folder.path().join("run"));
    std::fs::create_dir_all(&run).unwrap();
    let lenses = lenses();
    let eye = |i: usize| [3.0 + i as f64, -1.0, 0.5 * i as f64];
    let photos: Vec<PosedPhoto> = lenses
        .iter()
        .enumerate()
        .map(|(i, &lens)| {
            save(pattern(64, 48), &root.join(format!("photos/{i}.png")));
            let camera = Camera::look_at(eye(i), [0.0; 3], [0.1, -1.0, 0.0], 0.8, 64, 48);
            PosedPhoto {
                file_path: format!("../photos/{i}.png"),
                camera: Camera {
                    lens,
                    cx: 31.0,
                    ..camera
                },
                held_out: i == 2,
            }
        })
        .collect();
    let file = run.join("transforms.json");
    transforms::write(&file, &photos).unwrap();
    let dataset = open(&file);
    assert_eq!(dataset.entries.len(), photos.len());
    for (entry, photo) in dataset.entries.iter().zip(&photos) {
        let (found, wanted) = (&entry.camera, &photo.camera);
        assert_eq!(entry.name, photo.file_path);
        assert_eq!(found.lens, wanted.lens);
        assert_eq!((found.cx, found.width), (31.0, 64));
        assert!((found.fx / wanted.fx - 1.0).abs() < 1e-15, "{found:?}");
        let numbers = |c: &Camera| [c.rotation.as_flattened(), &c.translation].concat();
        for (a, b) in numbers(found).iter().zip(numbers(wanted)) {
            assert!((a - b).abs() < 1e-12, "{}: {a} {b}", entry.name);
        }
        let held_out = entry.declared_split == Some(Split::Test);
        assert_eq!(held_out, photo.held_out);
    }
    let mut other = photos;
    other[1].camera.lens = Lens::Fov { omega: 0.9 };
    let error = transforms::write(&file, &other).unwrap_err().to_string();
    assert!(
        error.contains("../photos/1.png") && !error.contains('\n'),
        "{error}"
    );
}

/// A COLMAP model that is written is read: poses, lenses, which photos share one, points.
#[test]
fn a_written_model_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    std::fs::create_dir_all(root.join("sparse/0")).unwrap();
    let camera = |i: usize| {
        let eye = [3.0 + i as f64, -1.0, 0.5 * i as f64];
        Camera {
            lens: lenses()[i % 6],
            cx: 31.25,
            ..Camera::look_at(eye, [0.0; 3], [0.1, -1.0, 0.0], 0.8, 64, 48)
        }
    };
    let cameras: Vec<Camera> = (0..8).map(camera).collect();
    let names: Vec<String> = (0..8).map(|i| format!("photo {i}.png")).collect();
    for name in &names {
        save(pattern(64, 48), &root.join("images").join(name));
    }
    let photos: Vec<(&str, &Camera)> = names.iter().map(String::as_str).zip(&cameras).collect();
    let points = Points {
        positions: vec![[0.1, -2.5, 3e-7], [1.0, 2.0, 3.0]],
        colours: vec![[1, 2, 255], [0, 128, 7]],
        random: false,
    };
    colmap::write(&root.join("sparse/0"), &photos, &points).unwrap();
    let text = std::fs::read_to_string(root.join("sparse/0/cameras.txt")).unwrap();
    assert_eq!(text.lines().count(), 7, "{text}");
    let dataset = open(root);
    assert_eq!(dataset.format, Format::ColmapText);
    assert_eq!(dataset.points.positions, points.positions);
    assert_eq!(dataset.points.colours, points.colours);
    for ((entry, name), wanted) in dataset.entries.iter().zip(&names).zip(&cameras) {
        let found = &entry.camera;
        assert_eq!(&entry.name, name);
        assert!(found.same_intrinsics(wanted), "{found:?}");
        let numbers = |c: &Camera| [c.rotation.as_flattened(), &c.translation].concat();
        let pairs = numbers(found).into_iter().zip(numbers(wanted));
        assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-12));
    }
    let odd = Camera {
        lens: Lens::Fov { omega: 0.7 },
        ..cameras[0].clone()
    };
    let refused = colmap::write(root, &[("odd.png", &odd)], &points).unwrap_err();
    assert!(refused.to_string().contains("odd.png"), "{refused}");
}
