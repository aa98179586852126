use super::super::tests::SETTINGS;
use super::super::{Offset, Poses, offset};
use super::*;
use splatcore_core::random::Rng;
use splatcore_core::shutter::{Readout, Shutter};
use splatcore_core::{Lens, PoseGradient, TrackedPoint};

/// Cameras on a circle that look inwards, and points around the middle that all of them see.
fn capture(lens: Lens, count: usize) -> (Vec<Camera>, Vec<[f64; 3]>) {
    let camera = |i: usize| {
        let angle = i as f64 / count as f64 * std::f64::consts::TAU;
        let eye = [3.0 * angle.cos(), 0.3 * (i % 3) as f64, 3.0 * angle.sin()];
        let camera = Camera::look_at(eye, [0.1, 0.2, 0.0], [0.0, -1.0, 0.0], 0.8, 320, 240);
        Camera { lens, ..camera }
    };
    let mut rng = Rng::new(3, 0);
    let points = (0..144).map(|_| [0; 3].map(|_| 0.4 * f64::from(rng.normal())));
    ((0..count).map(camera).collect(), points.collect())
}

/// Where a camera shows the points, `noise` pixels off; `wrong` of ten anywhere in the photo.
fn tracks(camera: &Camera, points: &[[f64; 3]], noise: f64, wrong: usize, seed: u64) -> Tracks {
    let mut rng = Rng::new(seed, 7);
    let mut off = |by: f64| [0; 2].map(|_| by * f64::from(rng.normal()));
    let point = |(i, &position): (usize, &[f64; 3])| {
        let ([x, y], [a, b], [c, d]) = (camera.project(position)?, off(noise), off(80.0));
        let pixel = match i % 10 < wrong {
            true => [160.0 + c, 120.0 + d],
            false => [x + a, y + b],
        };
        Some(TrackedPoint { pixel, position })
    };
    Tracks {
        points: points.iter().enumerate().filter_map(point).collect(),
        pixel: 1.0,
    }
}

const LENSES: [Lens; 3] = [
    Lens::Pinhole,
    Lens::OpenCv {
        k: [-0.1, 0.02, 0.0, 0.0, 0.0, 0.0],
        p: [0.002, -0.001],
        s: [0.0; 4],
    },
    Lens::Fisheye {
        k: [0.02, -0.01, 0.0, 0.0],
        p: [0.0; 2],
        s: [0.0; 2],
    },
];

/// The robust mean that is written in docs/methods/poses.md, of errors as [`Tracks`] has them.
fn robust_mean(tracks: &Tracks, camera: &Camera, scale: f64) -> f64 {
    let errors: Vec<f64> = tracks.errors(camera).map(Option::unwrap).collect();
    let of = |error: &f64| {
        let square = (error * tracks.pixel / scale).powi(2);
        scale * square / (1.0 + square)
    };
    errors.iter().map(of).sum::<f64>() / errors.len() as f64
}

#[test]
fn the_gradient_is_that_of_finite_differences() {
    for lens in LENSES {
        for shutter in [
            None,
            Some(Shutter {
                readout: Readout::TopToBottom,
                turn: [0.02, -0.03, 0.01],
                shift: [0.05, 0.02, -0.04],
            }),
        ] {
            let (cameras, points) = capture(lens, 5);
            let given = &Camera {
                shutter,
                ..cameras[2].clone()
            };
            let mut seen = tracks(given, &points, 2.0, 1, 1);
            let start = Offset::NONE.moved(given, [0.01, -0.02, 0.015, 0.03, -0.02, 0.04]);
            for pixel in [0.5, 40.0] {
                seen.pixel = pixel;
                let from = start.of(given);
                let errors = seen.errors(&from).map(|error| error.unwrap() * pixel);
                let scale = median(errors).unwrap().max(pixel);
                let found = pull(&seen, &from).unwrap();
                for axis in 0..6 {
                    let moved = |by: f64| {
                        let mut motion = [0.0; 6];
                        motion[axis] = by;
                        start.moved(given, motion).of(given)
                    };
                    let mean = |by: f64| robust_mean(&seen, &moved(by), scale);
                    let slope = (mean(1e-5) - mean(-1e-5)) / 2e-5;
                    let size = found.pixels[axis];
                    assert!(
                        (slope - found.gradient[axis]).abs() < 1e-3 * size,
                        "{lens:?} axis {axis}: {slope} {}",
                        found.gradient[axis]
                    );
                    // The places themselves.
                    let places = |by: f64| -> Vec<[f64; 2]> {
                        let camera = moved(by);
                        let all = seen
                            .points
                            .iter()
                            .map(|p| camera.project(p.position).unwrap());
                        all.collect()
                    };
                    let squares = places(1e-5)
                        .into_iter()
                        .zip(places(-1e-5))
                        .map(|(a, b)| ((a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2)) / 4e-10);
                    let pixels = (squares.sum::<f64>() / seen.points.len() as f64).sqrt();
                    assert!((pixels - size).abs() < 1e-3 * size, "{pixels} {size}");
                }
            }
        }
    }
}

#[test]
fn the_pull_weighs_what_a_pixel_costs_the_photo() {
    let pixels = [100.0, 100.0, 50.0, 20.0, 20.0, 0.0];
    let mut gradient = [100.0, 0.0, 0.0, 0.0, 40.0, 3.0];
    let pull = Pull {
        gradient: [0.0, 200.0, 0.0, 0.0, 0.0, 0.0],
        pixels,
        scale: 2.0,
    };
    pull.add_to(&mut gradient);
    // A unit of loss a pixel along the one motion, two along another, none along four.
    let weight = (5.0f64 / 6.0).sqrt();
    assert_eq!(gradient, [100.0, 200.0 * weight, 0.0, 0.0, 40.0, 3.0]);
    // No motion is longer than half of two pixels.
    let bounded = pull.bound([0.005, 0.5, 0.5, 0.5, 0.01, 7.0], 0.5);
    assert_eq!(bounded, [0.005, 0.01, 0.02, 0.05, 0.01, 7.0]);
    assert!(pull.is_within([0.021, 0.0]) && pull.is_within([0.011, 0.05]));
    assert!(!pull.is_within([0.011, 0.04]));
    // A photo that says nothing is not pulled.
    let mut nothing = [0.0; 6];
    pull.add_to(&mut nothing);
    assert_eq!(nothing, [0.0; 6]);
}

#[test]
fn what_tells_nothing_pulls_nothing() {
    let (cameras, points) = capture(Lens::Pinhole, 3);
    let camera = &cameras[0];
    let good = tracks(camera, &points, 0.5, 0, 1);
    assert!(pull(&good, camera).is_some());
    let with = |change: &dyn Fn(&mut Vec<TrackedPoint>)| {
        let mut tracks = good.clone();
        change(&mut tracks.points);
        pull(&tracks, camera)
    };
    assert_eq!(with(&|points| points.truncate(2)), None);
    assert_eq!(with(&|points| points.clear()), None);
    let behind = camera.position().map(|v| 2.0 * v);
    let eye = camera.position();
    for place in [
        behind,
        eye,
        [f64::NAN; 3],
        [f64::INFINITY, 0.0, 0.0],
        [1e300; 3],
    ] {
        assert_eq!(
            with(&|points| points.iter_mut().for_each(|p| p.position = place)),
            None
        );
        // The others count.
        let some = with(&|points| points.iter_mut().take(9).for_each(|p| p.position = place));
        assert_eq!(some, with(&|points| drop(points.drain(..9))), "{place:?}");
    }
    let nowhere = with(&|points| points.iter_mut().for_each(|p| p.pixel = [f64::NAN; 2]));
    assert_eq!(nowhere, None);
    // All points in one place.
    let one = with(&|points| points.iter_mut().for_each(|p| p.position = [0.0; 3]));
    assert!(one.is_some_and(|pull| pull.gradient.iter().all(|g| g.is_finite())));
}

/// Poses that start off by so many degrees, moved 40 times each by gradients of noise; how far off
/// they are then, as pixels of the points that they show.
fn after_noise(degrees: f64, held_by: impl Fn(&Camera, &[[f64; 3]], u64) -> Tracks) -> f64 {
    let (truth, points) = capture(Lens::Pinhole, 8);
    let mut rng = Rng::new(11, 0);
    let mut noise = |by: f64| [0; 3].map(|_| by * f64::from(rng.normal()));
    let given: Vec<Camera> = truth
        .iter()
        .map(|camera| {
            let v = noise(1.0);
            let turn = v.map(|x| degrees.to_radians() * x / offset::norm(v));
            Offset::NONE.turned(turn).of(camera)
        })
        .collect();
    let mut poses = Poses::new(given, (0..8).collect(), 3.0, SETTINGS);
    let cameras = truth.iter().zip(0..);
    poses.hold_by(
        cameras
            .map(|(camera, i)| held_by(camera, &points, i))
            .collect(),
    );
    for step in 0..320 {
        let gradient = PoseGradient {
            rotation: noise(1.0),
            translation: noise(0.3),
        };
        poses.note(vec![(step % 8, gradient)]);
        let cameras = poses.cameras();
        poses.see(cameras);
        // Known before or not, a pull is the same.
        if step % 2 == 0 {
            poses.prepare(&[step % 8]);
        }
        let share = 0.01f64.powf(step as f64 / 320.0);
        poses.step(2e-3 * share, 0.5 * share);
    }
    let off = truth.iter().zip(poses.cameras()).map(|(truth, found)| {
        let truth = tracks(truth, &points, 0.0, 0, 0);
        truth.errors(&found).map(Option::unwrap).sum::<f64>() / points.len() as f64
    });
    off.sum::<f64>() / 8.0
}

/// From five degrees and 0.2 units away, with four wrong points of ten.
#[test]
fn points_say_where_a_photo_was_taken() {
    for lens in LENSES {
        let (cameras, points) = capture(lens, 3);
        let truth = &cameras[1];
        let seen = tracks(truth, &points, 0.3, 4, 5);
        let motion = [0.05, -0.06, 0.03, 0.1, -0.12, 0.15];
        let wrong = Offset::NONE.moved(truth, motion).of(truth);
        let back = resected(&seen, &wrong).unwrap();
        let off = Offset::between(truth, &back.of(&wrong));
        let (degrees, distance) = (off.angle().to_degrees(), off.distance());
        assert!(degrees < 0.1 && distance < 0.005, "{degrees} {distance}");
    }
    // Points of no world say nothing that holds, and two say nothing.
    let (cameras, points) = capture(Lens::Pinhole, 3);
    let astray = tracks(&cameras[0], &points, 0.0, 10, 5);
    if let Some(found) = resected(&astray, &cameras[0]) {
        assert!(pull(&astray, &found.of(&cameras[0])).is_none_or(|pull| pull.scale > 20.0));
    }
    let mut few = tracks(&cameras[0], &points, 0.0, 0, 5);
    few.points.truncate(2);
    assert_eq!(resected(&few, &cameras[0]), None);
    // All in one place: no turn about it is seen.
    let mut one = tracks(&cameras[0], &points, 0.3, 0, 5);
    one.points
        .iter_mut()
        .for_each(|point| point.position = [0.0; 3]);
    let found = resected(&one, &cameras[0]);
    assert!(found.is_none_or(|found| found.angle().is_finite() && found.distance() < 10.0));
}

/// A photo's own gradients are noise here: only the points know where poses are. A pixel is 0.18
/// degrees, the first move 0.6 pixels.
#[test]
fn points_hold_poses_and_bring_them_back() {
    let none = |_: &Camera, _: &[[f64; 3]], _: u64| Tracks::default();
    let with = |wrong: usize| {
        move |camera: &Camera, points: &[[f64; 3]], seed: u64| {
            tracks(camera, points, 0.5, wrong, seed)
        }
    };
    let (drift, held, dirty) = (
        after_noise(0.0, none),
        after_noise(0.0, with(0)),
        after_noise(0.0, with(4)),
    );
    let (off, back, dirty_back) = (
        after_noise(1.0, none),
        after_noise(1.0, with(0)),
        after_noise(1.0, with(4)),
    );
    let astray = after_noise(0.0, with(10));
    eprintln!(
        "pixels off: {drift:.2}, held {held:.2}, with outliers {dirty:.2}, by nothing else \
         {astray:.2}; from a degree {off:.2}, held {back:.2}, with outliers {dirty_back:.2}"
    );
    assert!(held < 0.4 * drift && dirty < 0.5 * drift);
    assert!(back < 0.2 * off && dirty_back < 0.4 * off);
    // A world of outliers alone is farther off than poses may go.
    assert_eq!(astray, drift);
}

#[test]
fn errors_are_means_of_what_both_show() {
    let (cameras, points) = capture(Lens::Pinhole, 2);
    let seen = [tracks(&cameras[0], &points, 0.0, 0, 0), Tracks::default()];
    let turned = Offset::NONE.turned([0.0, 0.01, 0.0]).of(&cameras[0]);
    let after = [turned, cameras[1].clone()];
    let [before, moved] = mean_errors(&seen, &cameras, &after).unwrap();
    // 0.01 radians are at least 2.9 pixels.
    assert!(
        before < 1e-9 && moved > 2.5 && moved < 4.0,
        "{before} {moved}"
    );
    assert_eq!(mean_errors(&[], &cameras, &after), None);
    let eye = cameras[0].position();
    let back = Camera::look_at(eye, eye.map(|v| 2.0 * v), [0.0, 1.0, 0.0], 0.8, 320, 240);
    assert_eq!(
        mean_errors(&seen, &cameras, &[back, cameras[1].clone()]),
        None
    );
}
