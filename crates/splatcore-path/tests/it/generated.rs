//! Paths that are made.

use splatcore_core::camera::{dot, normalize};
use splatcore_path::generate::{Dolly, Orbit, dolly, ellipse, focus_of, orbit, through};
use splatcore_path::{Curve, Motion, Pose};

const UP: [f64; 3] = [0.0, 0.0, 1.0];

fn distance(a: [f64; 3], b: [f64; 3]) -> f64 {
    (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn an_orbit_is_a_circle_that_looks_inwards() {
    let circle = Orbit {
        centre: [1.0, 2.0, 3.0],
        up: UP,
        ground: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]],
        distance: 5.0,
        elevation: 0.3,
        fov: 0.8,
        arc: None,
    };
    let path = orbit(&circle, 8.0);
    assert!(path.looped && path.defect().is_none());
    let curve = Curve::new(&path, Motion::default());
    for i in 0..1000 {
        let pose = curve.at(8.0 * f64::from(i) / 1000.0);
        let off = distance(pose.position, circle.centre) - 5.0;
        assert!(off.abs() < 5e-6, "{off}");
        let inwards = std::array::from_fn(|k| circle.centre[k] - pose.position[k]);
        let inwards = normalize(inwards).unwrap();
        assert!(dot(pose.rotation[2], inwards) > 1.0 - 1e-9);
        assert!((pose.position[2] - 3.0 - 5.0 * 0.3_f64.sin()).abs() < 1e-9);
    }
    // It starts above the first axis and moves towards the second.
    let start = curve.at(0.01).position;
    assert!(start[0] > 5.0 && start[1] > 2.0);
}

/// Cameras on an ellipse, tilted in space: the path runs on that ellipse at one speed.
#[test]
fn an_ellipse_runs_through_its_cameras() {
    let (a, b) = ([0.6, 0.0, 0.8], [0.0, 1.0, 0.0]);
    let normal = [-0.8, 0.0, 0.6];
    let focus = [3.0, -1.0, 2.0];
    let cameras: Vec<Pose> = (0..200)
        .map(|i| {
            let (sin, cos) = (f64::from(i) * std::f64::consts::TAU / 200.0).sin_cos();
            let eye = std::array::from_fn(|k| {
                focus[k] + 6.0 * cos * a[k] + 3.0 * sin * b[k] + 1.5 * normal[k]
            });
            Pose::look_at(eye, focus, normal, 0.7)
        })
        .collect();
    assert!(distance(focus_of(&cameras), focus) < 1e-9);
    let path = ellipse(&cameras, None, 10.0).unwrap();
    assert!(path.looped && path.defect().is_none());
    // The 90th percentile of |cos| of equal angles is cos(9 degrees).
    let shrunk = 9.0_f64.to_radians().cos();
    let (mut steps, mut last) = (Vec::new(), None);
    for keyframe in &path.keyframes {
        let pose = keyframe.pose;
        let d = std::array::from_fn(|k| pose.position[k] - focus[k]);
        assert!((dot(d, normal) - 1.5).abs() < 1e-9);
        let on = (dot(d, a) / 6.0).powi(2) + (dot(d, b) / 3.0).powi(2);
        assert!((on.sqrt() / shrunk - 1.0).abs() < 0.01, "{on}");
        assert!(dot(pose.rotation[1], normal) < 0.0, "up is down");
        assert_eq!(pose.fov, 0.7);
        steps.extend(last.map(|last| distance(last, pose.position)));
        last = Some(pose.position);
    }
    let mean = steps.iter().sum::<f64>() / steps.len() as f64;
    assert!(steps.iter().all(|step| (step / mean - 1.0).abs() < 0.01));
    let line = [cameras[0], cameras[0], cameras[100]];
    let refused = ellipse(&line, None, 1.0).unwrap_err().to_string();
    assert!(refused.contains("one line"), "{refused}");
    assert!(ellipse(&cameras[..2], None, 1.0).is_err());
}

#[test]
fn a_spline_takes_time_for_distance() {
    let at = |x: f64| Pose::look_at([x, 0.0, 0.0], [x, 1.0, 0.0], UP, 1.0);
    let path = through(&[at(0.0), at(1.0), at(4.0)], 8.0, false).unwrap();
    let times: Vec<f64> = path.keyframes.iter().map(|k| k.time).collect();
    assert_eq!(times, [0.0, 2.0, 8.0]);
    let path = through(&[at(0.0), at(1.0), at(4.0)], 8.0, true).unwrap();
    assert_eq!(path.keyframes[2].time, 4.0);
    assert!(path.looped && path.defect().is_none());
    assert!(through(&[], 1.0, false).is_err());
    let still = through(&[at(0.0), at(0.0)], 1.0, true).unwrap();
    assert!(still.defect().is_none());
}

/// A dolly zoom keeps the size of what it looks at: tan(fov / 2) times the distance.
#[test]
fn a_dolly_zoom_keeps_the_size() {
    let start = Pose::look_at([0.0, -4.0, 0.0], [0.0; 3], UP, 0.9);
    let zoom = Dolly {
        start,
        focus: 4.0,
        share: 0.5,
        zoom: true,
    };
    let curve = Curve::new(&dolly(&zoom, 2.0).unwrap(), Motion::default());
    for i in 0..=100 {
        let pose = curve.at(f64::from(i) / 50.0);
        let size = (pose.fov / 2.0).tan() * distance(pose.position, [0.0; 3]);
        assert!((size / (0.45_f64.tan() * 4.0) - 1.0).abs() < 1e-4, "{size}");
    }
    assert!(distance(curve.at(2.0).position, [0.0, -2.0, 0.0]) < 1e-12);
    let plain = dolly(
        &Dolly {
            zoom: false,
            ..zoom
        },
        2.0,
    )
    .unwrap();
    assert_eq!(plain.keyframes[1].pose.fov, 0.9);
    assert!(dolly(&Dolly { share: 1.0, ..zoom }, 2.0).is_err());
}
