//! Every camera model against COLMAP's own numbers, and back again.

use splatcore_core::{Camera, Lens};
use splatcore_data::dataset::{colmap, undistort};
use std::path::Path;

/// Rays (x/z, y/z).
const RAYS: [[f64; 2]; 4] = [[0.0, 0.0], [0.3, -0.2], [-0.55, 0.1], [0.45, 0.42]];

/// A line of `cameras.txt` without its id, and where pycolmap 4.2.1 (`Camera.img_from_cam`)
/// projects [`RAYS`]. Models in the order of their numbers.
const COLMAP: [(&str, [[f64; 2]; 4]); 17] = [
    (
        "SIMPLE_PINHOLE 640 480 500 320 240",
        [
            [320.000000000, 240.000000000],
            [470.000000000, 140.000000000],
            [45.000000000, 290.000000000],
            [545.000000000, 450.000000000],
        ],
    ),
    (
        "PINHOLE 640 480 500 510 320 240",
        [
            [320.000000000, 240.000000000],
            [470.000000000, 138.000000000],
            [45.000000000, 291.000000000],
            [545.000000000, 454.200000000],
        ],
    ),
    (
        "SIMPLE_RADIAL 640 480 500 320 240 -0.12",
        [
            [320.000000000, 240.000000000],
            [467.660000000, 141.560000000],
            [55.312500000, 288.125000000],
            [534.769700000, 440.451720000],
        ],
    ),
    (
        "RADIAL 640 480 500 320 240 -0.12 0.03",
        [
            [320.000000000, 240.000000000],
            [467.736050000, 141.509300000],
            [54.506835938, 288.271484375],
            [535.738765167, 441.356180823],
        ],
    ),
    (
        "OPENCV 640 480 500 510 322 238 -0.12 0.03 0.002 -0.003",
        [
            [322.000000000, 238.000000000],
            [469.151050000, 137.937286000],
            [55.020585937, 287.744364062],
            [536.940915167, 443.551298439],
        ],
    ),
    (
        "OPENCV_FISHEYE 640 480 300 305 322 238 0.02 -0.01 0.004 -0.001",
        [
            [322.000000000, 238.000000000],
            [408.573598293, 179.322338935],
            [170.854577657, 265.939002312],
            [443.650468344, 353.432777739],
        ],
    ),
    (
        "FULL_OPENCV 640 480 500 510 322 238 -0.12 0.03 0.002 -0.003 0.01 0.05 -0.02 0.004",
        [
            [322.000000000, 238.000000000],
            [468.248268529, 138.551177401],
            [58.550173841, 287.089785942],
            [533.603025280, 440.373627267],
        ],
    ),
    (
        "FOV 640 480 300 305 322 238 0.9",
        [
            [322.000000000, 238.000000000],
            [414.965426292, 174.990099957],
            [159.599483485, 268.019489416],
            [452.738079816, 362.055911292],
        ],
    ),
    (
        "SIMPLE_RADIAL_FISHEYE 640 480 300 322 238 0.02",
        [
            [322.000000000, 238.000000000],
            [408.585409173, 180.276393884],
            [170.762870940, 265.497659829],
            [443.750017905, 351.633350045],
        ],
    ),
    (
        "RADIAL_FISHEYE 640 480 300 322 238 0.02 -0.01",
        [
            [322.000000000, 238.000000000],
            [408.573022752, 180.284651498],
            [170.864449287, 265.479191039],
            [443.637847804, 351.528657950],
        ],
    ),
    (
        "THIN_PRISM_FISHEYE 640 480 300 305 322 238 0.02 -0.01 0.002 -0.003 0.004 -0.001 0.003 \
         -0.002",
        [
            [322.000000000, 238.000000000],
            [408.358051031, 179.468432079],
            [170.346964900, 266.032833761],
            [443.539823394, 353.327787976],
        ],
    ),
    (
        "RAD_TAN_THIN_PRISM_FISHEYE 640 480 300 305 322 238 0.02 -0.01 0.004 -0.001 0.0005 -0.0001 \
         0.002 -0.003 0.003 -0.002 0.001 0.0015",
        [
            [322.000000000, 238.000000000],
            [408.945218778, 179.120116276],
            [171.594244582, 265.738858994],
            [443.976398603, 353.213654024],
        ],
    ),
    (
        "SIMPLE_DIVISION 640 480 500 320 240 -0.1",
        [
            [320.000000000, 240.000000000],
            [468.099109981, 141.267260013],
            [53.095244169, 288.528137424],
            [537.065429709, 442.594401062],
        ],
    ),
    (
        "DIVISION 640 480 500 510 322 238 -0.1",
        [
            [322.000000000, 238.000000000],
            [470.099109981, 137.292605213],
            [55.095244169, 287.498700172],
            [539.065429709, 444.646289083],
        ],
    ),
    (
        "SIMPLE_FISHEYE 640 480 300 322 238",
        [
            [322.000000000, 238.000000000],
            [408.378535210, 180.414309860],
            [171.544740404, 265.355501745],
            [443.013158130, 350.945614255],
        ],
    ),
    (
        "FISHEYE 640 480 300 305 322 238",
        [
            [322.000000000, 238.000000000],
            [408.378535210, 179.454548357],
            [171.544740404, 265.811426774],
            [443.013158130, 352.828041159],
        ],
    ),
    (
        "EUCM 640 480 400 405 322 238 0.6 1.1",
        [
            [322.000000000, 238.000000000],
            [437.222078188, 160.225097223],
            [121.182377836, 274.968698626],
            [483.554668811, 390.669162027],
        ],
    ),
];

fn camera(line: &str) -> Camera {
    let text = format!("1 {line}\n");
    colmap::parse_cameras_txt(text.as_bytes(), Path::new("cameras.txt")).unwrap()[0]
        .camera
        .clone()
}

#[test]
fn every_model_projects_as_colmap_does() {
    for (line, pixels) in COLMAP {
        let camera = camera(line);
        for (ray, want) in RAYS.into_iter().zip(pixels) {
            let got = camera.pixel(ray).unwrap();
            let off = (got[0] - want[0]).hypot(got[1] - want[1]);
            assert!(
                off < 1e-8,
                "{line}: {ray:?} at {got:?}, COLMAP says {want:?}"
            );
        }
    }
}

#[test]
fn every_model_is_inverted() {
    for (line, _) in COLMAP {
        let camera = camera(line);
        let mut worst = 0.0f64;
        for step in 0..=400 {
            let pixel = [(step % 21) as f64 * 32.0, (step / 21) as f64 * 24.0];
            let ray = camera
                .ray(pixel)
                .unwrap_or_else(|| panic!("{line}: no ray for {pixel:?}"));
            let back = camera.pixel(ray).unwrap();
            worst = worst.max((back[0] - pixel[0]).hypot(back[1] - pixel[1]));
        }
        assert!(worst < 1e-6, "{line}: off by {worst} pixels");
        // And the other way round.
        for ray in RAYS {
            let back = camera.ray(camera.pixel(ray).unwrap()).unwrap();
            let off = (back[0] - ray[0]).hypot(back[1] - ray[1]);
            assert!(off < 1e-9, "{line}: {ray:?} came back as {back:?}");
        }
    }
}

#[test]
fn binary_and_text_agree_on_every_model() {
    for (number, (line, _)) in COLMAP.into_iter().enumerate() {
        let words: Vec<&str> = line.split(' ').collect();
        let mut bytes = 1u64.to_le_bytes().to_vec();
        bytes.extend(1u32.to_le_bytes());
        bytes.extend((number as u32).to_le_bytes());
        bytes.extend(640u64.to_le_bytes());
        bytes.extend(480u64.to_le_bytes());
        for word in &words[3..] {
            bytes.extend(word.parse::<f64>().unwrap().to_le_bytes());
        }
        let read = colmap::parse_cameras_bin(&bytes, Path::new("cameras.bin")).unwrap();
        assert_eq!(read[0].camera, camera(line), "{line}");
    }
}

#[test]
fn an_undistorted_view_has_no_empty_border_and_is_as_wide_as_that_allows() {
    for (line, _) in COLMAP {
        let source = camera(line);
        let target = undistort::pinhole_for(&source);
        assert_eq!(target.defect(), None);
        let pixel = |camera: &Camera, x: f64, y: f64| {
            let ray = [(x - camera.cx) / camera.fx, (y - camera.cy) / camera.fy];
            source.pixel(ray).filter(|&p| source.inside(p))
        };
        for y in 0..480 {
            for x in 0..640 {
                assert!(
                    pixel(&target, x as f64 + 0.5, y as f64 + 0.5).is_some(),
                    "{line}: ({x}, {y}) is empty"
                );
            }
        }
        // A little wider and some pixel of the border would be empty (or the limit on zoom is
        // reached).
        let wider = Camera {
            fx: target.fx * 0.98,
            fy: target.fy * 0.98,
            ..target.clone()
        };
        let whole = (0..640 * 480)
            .all(|i| pixel(&wider, (i % 640) as f64 + 0.5, (i / 640) as f64 + 0.5).is_some());
        assert!(
            !whole || target.fx <= 0.5 * source.fx + 1e-9,
            "{line} could be wider"
        );
    }
}

#[test]
fn a_lens_that_folds_has_no_rays_beyond_the_fold() {
    // r (1 - 0.3 r²) is largest, 0.7027, at r = 1.0541.
    let lens = Lens::OpenCv {
        k: [-0.3, 0.0, 0.0, 0.0, 0.0, 0.0],
        p: [0.0; 2],
        s: [0.0; 4],
    };
    let fold = (1.0f64 / 0.9).sqrt();
    assert!((lens.fold_radius() - fold).abs() < 0.01);
    assert!(lens.undistort([0.70, 0.0]).unwrap()[0] < fold);
    assert_eq!(lens.undistort([0.71, 0.0]), None);
    // A photo that shows more than the lens model covers still gets a whole view, inside the fold.
    let source = Camera {
        fx: 300.0,
        fy: 300.0,
        lens,
        ..camera("PINHOLE 640 480 300 300 320 240")
    };
    let target = undistort::pinhole_for(&source);
    let corner = (320.0f64 - 0.5).hypot(240.0 - 0.5) / target.fx;
    assert!(corner <= fold, "the corner at {corner} is beyond the fold");
}

#[test]
fn coefficients_of_zero_are_no_lens() {
    for line in [
        "SIMPLE_RADIAL 8 8 9 4 4 0",
        "OPENCV 8 8 9 9 4 4 0 0 0 0",
        "FOV 8 8 9 9 4 4 0",
        "DIVISION 8 8 9 9 4 4 0",
    ] {
        assert_eq!(camera(line).lens, Lens::Pinhole, "{line}");
    }
    assert_ne!(camera("SIMPLE_FISHEYE 8 8 9 4 4").lens, Lens::Pinhole);
}
