//! Broken files: an error that helps, never a panic, never more memory than the file could fill.

use crate::dataset_support::{binary_model, colmap_text, edited, edits, pattern, save, shared};

use proptest::prelude::*;
use splatcore_data::dataset::{Dataset, OpenOptions, colmap, parse_point_cloud, transforms};
use std::path::Path;

const PATH: &str = "file";

fn path() -> &'static Path {
    Path::new(PATH)
}

#[test]
fn the_made_up_binary_model_is_sound() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for (bytes, name) in binary_model().iter().zip(["cameras", "images", "points3D"]) {
        std::fs::write(root.join(format!("{name}.bin")), bytes).unwrap();
    }
    save(pattern(64, 48), &root.join("images/a b/one.png"));
    save(pattern(64, 48), &root.join("images/two.png"));
    let dataset = Dataset::open(root, &OpenOptions::default()).unwrap();
    assert_eq!(dataset.entries.len(), 2);
    assert_eq!(dataset.entries[0].name, "a b/one.png");
    assert_eq!(dataset.points.positions.len(), 2);
    assert_eq!(dataset.points.colours, [[10, 20, 30], [30, 20, 30]]);
    assert_contains!(dataset.warnings[0], "1 of 3 points");
}

/// What a cut file is called: any prefix of it is an error.
#[test]
fn every_cut_of_a_binary_file_is_an_error() {
    let [cameras, images, points] = binary_model();
    for cut in 0..cameras.len() {
        assert!(
            colmap::parse_cameras_bin(&cameras[..cut], path()).is_err(),
            "{cut}"
        );
    }
    for cut in 0..images.len() {
        assert!(
            colmap::parse_images_bin(&images[..cut], path()).is_err(),
            "{cut}"
        );
    }
    for cut in 0..points.len() {
        assert!(
            colmap::parse_points_bin(&points[..cut], path()).is_err(),
            "{cut}"
        );
        assert!(
            colmap::parse_observations_bin(&points[..cut], path()).is_err(),
            "{cut}"
        );
    }
    let longer = [cameras, vec![0]].concat();
    let error = colmap::parse_cameras_bin(&longer, path())
        .unwrap_err()
        .to_string();
    assert!(error.contains("1 bytes follow"), "{error}");
}

#[test]
fn counts_that_do_not_fit_are_refused_before_anything_is_allocated() {
    for count in [4u64, 1 << 40, u64::MAX] {
        let mut parts = binary_model();
        for bytes in &mut parts {
            bytes[..8].copy_from_slice(&count.to_le_bytes());
        }
        let [cameras, images, points] = parts;
        for error in [
            colmap::parse_cameras_bin(&cameras, path()).unwrap_err(),
            colmap::parse_images_bin(&images, path()).unwrap_err(),
            colmap::parse_points_bin(&points, path()).unwrap_err(),
            colmap::parse_observations_bin(&points, path()).unwrap_err(),
        ] {
            let error = error.to_string();
            assert!(
                error.contains(&count.to_string()) && error.contains("byte 0") || count == 4,
                "{error}"
            );
        }
        let ply = format!(
            "ply\nformat binary_little_endian 1.0\nelement vertex {count}\nproperty float \
             x\nproperty float y\n\
             property float z\nend_header\n123"
        );
        let error = parse_point_cloud(ply.as_bytes(), path())
            .unwrap_err()
            .to_string();
        assert!(error.contains("has room for 0"), "{error}");
    }
}

#[test]
fn unknown_camera_models_are_named() {
    let [mut cameras, ..] = binary_model();
    cameras[12..16].copy_from_slice(&99u32.to_le_bytes());
    let error = colmap::parse_cameras_bin(&cameras, path())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("unknown camera model 99") && error.contains("byte 12"),
        "{error}"
    );
    let error = colmap::parse_cameras_txt(b"1 EQUIRECTANGULAR 8 4 8\n", path())
        .unwrap_err()
        .to_string();
    assert!(error.contains("needs 2 parameters, 1"), "{error}");
    let error = colmap::parse_cameras_txt(b"# c\n1 MAGIC 4 4 1 2 3\n", path())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("MAGIC") && error.contains("line 2"),
        "{error}"
    );
    let error = colmap::parse_cameras_txt(b"1 PINHOLE 4 4 1 2 3\n", path())
        .unwrap_err()
        .to_string();
    assert!(error.contains("needs 4 parameters, 3"), "{error}");
    let error = colmap::parse_cameras_txt(b"1 PINHOLE 4 x 1 2 3 4\n", path())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("height") && error.contains(r#""x""#),
        "{error}"
    );
}

#[test]
fn bad_cameras_and_poses_are_left_out_or_named() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let cameras = "1 PINHOLE 64 48 60 60 32 24\n2 PINHOLE 64 48 NaN 60 32 24\n\
        3 SIMPLE_RADIAL 64 48 60 32 24 inf\n";
    let images = [(1, "a.png"), (2, "b.png"), (3, "c.png"), (1, "gone.png")];
    colmap_text(root, cameras, &images, "1 0 0 nan 1 2 3 0.1\n");
    for name in ["a", "b", "c", "d"] {
        save(pattern(64, 48), &root.join(format!("images/{name}.png")));
    }
    let images = root.join("sparse/0/images.txt");
    let mut text = std::fs::read_to_string(&images).unwrap();
    text.push_str("9 0 0 0 0 1 2 3 1 d.png\n");
    std::fs::write(&images, &text).unwrap();
    let dataset = Dataset::open(root, &OpenOptions::default()).unwrap();
    assert_eq!(
        dataset
            .entries
            .iter()
            .map(|e| e.name.as_str())
            .collect::<Vec<_>>(),
        ["a.png"]
    );
    assert_eq!(dataset.missing, ["gone.png"]);
    // b, c, d and the point.
    assert_eq!(dataset.warnings.len(), 4, "{:?}", dataset.warnings);
    assert!(dataset.points.random, "the only point was not finite");

    text.push_str("\n10 1 0 0 0 1 2 3 77 a.png\n");
    std::fs::write(&images, text).unwrap();
    let error = Dataset::open(root, &OpenOptions::default())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("camera 77") && error.contains("a.png"),
        "{error}"
    );
    std::fs::write(&images, "# none\n").unwrap();
    let error = Dataset::open(root, &OpenOptions::default())
        .unwrap_err()
        .to_string();
    assert!(error.contains("lists no image"), "{error}");
}

/// COLMAP's header counts the images; other writers leave it out.
#[test]
fn a_list_of_images_that_was_cut_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let cameras = "1 PINHOLE 64 48 60 60 32 24\n";
    colmap_text(
        root,
        cameras,
        &[(1, "a.png"), (1, "b.png")],
        "1 0 0 2 1 2 3 0.1\n",
    );
    for name in ["a", "b"] {
        save(pattern(64, 48), &root.join(format!("images/{name}.png")));
    }
    let images = root.join("sparse/0/images.txt");
    let text = std::fs::read_to_string(&images).unwrap();
    let warnings = |header: &str| {
        std::fs::write(&images, format!("# Image list:\n{header}\n{text}")).unwrap();
        let dataset = Dataset::open(root, &OpenOptions::default()).unwrap();
        assert_eq!(dataset.entries.len(), 2);
        dataset.warnings
    };
    let plain = warnings("# IMAGE_ID, QW, QX, QY, QZ, TX, TY, TZ, CAMERA_ID, NAME");
    let more = warnings("# Number of images: 3, mean observations per image: 12.5");
    assert_eq!(more.len(), plain.len() + 1, "{more:?}");
    let wanted = "images.txt: 2 images are listed, of 3 that its header counts";
    assert!(more.iter().any(|line| line.contains(wanted)), "{more:?}");
    for header in [
        "# Number of images: 2, mean observations per image: 12.5",
        "# Number of images: 1",
        "# Number of images: many",
    ] {
        assert_eq!(warnings(header), plain);
    }
}

#[test]
fn paths_that_are_no_dataset_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.txt");
    std::fs::write(&file, "x").unwrap();
    for path in [file, folder.path().join("gone")] {
        let error = Dataset::open(&path, &OpenOptions::default()).unwrap_err();
        assert_eq!(error.path, path);
    }
}

/// Feeds one input to every parser that takes bytes.
fn parse_everything(bytes: &[u8]) {
    let _ = colmap::parse_cameras_bin(bytes, path());
    let _ = colmap::parse_images_bin(bytes, path());
    let _ = colmap::parse_points_bin(bytes, path());
    let _ = colmap::parse_observations_bin(bytes, path());
    let _ = colmap::parse_cameras_txt(bytes, path());
    let _ = colmap::parse_images_txt(bytes, path());
    let _ = colmap::parse_points_txt(bytes, path());
    let _ = transforms::parse(bytes, path());
    let _ = parse_point_cloud(bytes, path());
}

/// Starts of real files where they are at hand, and made-up ones.
fn seeds() -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = binary_model().into();
    seeds.push(b"1 OPENCV 640 480 500 500 320 240 0.1 0.01 0.001 0.002\n".to_vec());
    seeds
        .push(b"1 1 0 0 0 1 2 3 1 a b.png\n2.5 3.5 -1 4 5 6\n2 1 0 0 0 1 2 3 1 c.png\n\n".to_vec());
    seeds.push(b"1 0.5 1 2 255 0 1 0.3 1 2 3 4\n".to_vec());
    seeds.push(
        b"{\"fl_x\": 500.5, \"k1\": 0.1, \"frames\": [{\"file_path\": \"a.png\", \
          \"transform_matrix\": [[1,0,0,0],[0,1,0,0],[0,0,1,4],[0,0,0,1]]}]}"
            .to_vec(),
    );
    for format in ["ascii", "binary_little_endian", "binary_big_endian"] {
        let header = format!(
            "ply\nformat {format} 1.0\ncomment c\nelement vertex 2\nproperty float x\nproperty \
             double y\n\
             property float z\nproperty uchar red\nproperty ushort green\nproperty float \
             blue\nelement face 0\n\
             property list uchar int vertex_indices\nend_header\n"
        );
        let body: &[u8] = if format == "ascii" {
            b"1 2 3 4 5 0.5\n6 7 8 9 10 1\n"
        } else {
            &[7; 46]
        };
        seeds.push([header.as_bytes(), body].concat());
    }
    for file in [
        "formats/colmap/sceaux_bin/cameras.bin",
        "formats/colmap/sceaux_txt/images.txt",
        "posed/fox/transforms.json",
        "posed/fox_colmap/sparse/0/points3D.txt",
    ] {
        if let Some(path) = shared(file) {
            let mut bytes = std::fs::read(path).unwrap();
            bytes.truncate(20_000);
            seeds.push(bytes);
        }
    }
    seeds
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn mutated_files_never_panic(
        which in 0usize..64,
        edits in edits(),
    ) {
        thread_local!(static SEEDS: Vec<Vec<u8>> = seeds());
        let bytes = edited(SEEDS.with(|seeds| seeds[which % seeds.len()].clone()), edits);
        parse_everything(&bytes);
    }

    #[test]
    fn any_cameras_that_parse_can_be_opened_and_undistorted(
        model in 0usize..17,
        values in prop::collection::vec(prop_oneof![
            -2.0f64..2.0, 1.0f64..100.0, Just(0.0), Just(f64::NAN), Just(f64::INFINITY),
            Just(1e300), Just(-1e300), Just(1e-300),
        ], 16),
        focal in prop::option::of(10.0f64..100.0),
    ) {
        let Some(count) = colmap::parameter_count(model as i32) else { panic!("model {model}") };
        let mut bytes = 1u64.to_le_bytes().to_vec();
        bytes.extend(1u32.to_le_bytes());
        bytes.extend((model as u32).to_le_bytes());
        bytes.extend(16u64.to_le_bytes());
        bytes.extend(12u64.to_le_bytes());
        for (i, value) in values.iter().take(count).enumerate() {
            let value = if i < 2 { focal.unwrap_or(*value) } else { *value };
            bytes.extend(value.to_le_bytes());
        }
        let camera = colmap::parse_cameras_bin(&bytes, path()).unwrap().remove(0).camera;
        if camera.defect().is_none() {
            let target = splatcore_data::dataset::undistort::pinhole_for(&camera);
            prop_assert_eq!(target.defect(), None);
            let undistort = splatcore_data::dataset::undistort::undistort;
            let (photo, _) = undistort(&camera, &target, &pattern(16, 12), None);
            prop_assert_eq!(photo.dimensions(), (16, 12));
            for pixel in [[0.5, 0.5], [8.0, 6.0], [15.5, 11.5]] {
                if let Some(ray) = camera.ray(pixel) {
                    prop_assert!(ray.iter().all(|v| v.is_finite()));
                }
            }
        }
    }
}
