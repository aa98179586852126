//! Curves: through keyframes, smooth, at the speed asked for.

use crate::support::{difference, numbers, winding};
use splatcore_path::{CameraPath, Curve, Easing, Keyframe, Motion, Pose, Ramp};

const CONSTANT: Motion = Motion {
    constant_speed: true,
    ramp: Ramp::None,
};

#[test]
fn a_curve_passes_through_its_keyframes() {
    for looped in [false, true] {
        for count in [2, 3, 4, 9] {
            let path = winding(count as u64, count, looped);
            assert_eq!(path.defect(), None);
            let curve = Curve::new(&path, Motion::default());
            for keyframe in &path.keyframes {
                let off = difference(&curve.at(keyframe.time), &keyframe.pose);
                assert!(off < 1e-9, "{count} keyframes, looped {looped}: {off}");
            }
            let end = if looped { 0 } else { count - 1 };
            assert!(difference(&curve.at(path.seconds), &path.keyframes[end].pose) < 1e-9);
        }
    }
}

/// The velocity from the left is that from the right, at every keyframe and in between; that of a
/// curve of straight lines is not.
#[test]
fn velocities_have_no_jump() {
    for looped in [false, true] {
        let path = winding(5, 8, looped);
        let curve = Curve::new(&path, Motion::default());
        let step = 1e-5;
        let velocity = |time: f64| -> Vec<f64> {
            let (a, b) = (
                numbers(&curve.at(time - step)),
                numbers(&curve.at(time + step)),
            );
            a.iter()
                .zip(b)
                .map(|(a, b)| (b - a) / (2.0 * step))
                .collect()
        };
        let inner = path.keyframes[1..path.keyframes.len() - 1]
            .iter()
            .map(|k| k.time);
        // The start of a loop is a keyframe like others.
        let times = inner.chain([2.345]).chain(looped.then_some(path.seconds));
        for time in times {
            let (before, after) = (velocity(time - 2.0 * step), velocity(time + 2.0 * step));
            for (a, b) in before.iter().zip(&after) {
                // Accelerations are of some tens a second squared.
                assert!((a - b).abs() < 5e-3, "at {time}: {a} {b}");
            }
        }
    }
}

/// Between keyframes as far apart in time as in space, the position is that of the pyramid of Barry
/// & Goldman (1988) for centripetal knots, computed with linear interpolations alone.
#[test]
fn positions_are_those_of_the_pyramid() {
    let places = [
        [0.0, 0.0, 0.0],
        [1.0, 0.0, 0.0],
        [1.6, 0.8, 0.0],
        [1.6, 0.8, 1.0],
        [0.8, 0.2, 1.0],
    ];
    let up = [0.0, 0.1, 1.0];
    let poses = places.map(|p| Pose::look_at(p, [9.0, 9.0, 3.0], up, 1.0));
    let curve = Curve::new(&CameraPath::through(&poses, 4.0, false), Motion::default());
    let mix = |a: [f64; 3], b: [f64; 3], [s, e]: [f64; 2], t: f64| -> [f64; 3] {
        std::array::from_fn(|k| (a[k] * (e - t) + b[k] * (t - s)) / (e - s))
    };
    for (segment, u) in [(1, 0.25), (1, 0.8), (2, 0.5), (2, 0.9)] {
        let p = [0, 1, 2, 3].map(|i| places[segment - 1 + i]);
        // Distances are 1, so their square roots are, and knots run as the time does.
        let t = 1.0 + u;
        let a = [0, 1, 2].map(|i| mix(p[i], p[i + 1], [i as f64, i as f64 + 1.0], t));
        let b = [0, 1].map(|i| mix(a[i], a[i + 1], [i as f64, i as f64 + 2.0], t));
        let wanted = mix(b[0], b[1], [1.0, 2.0], t);
        let found = curve.at(segment as f64 + u).position;
        for k in 0..3 {
            assert!((found[k] - wanted[k]).abs() < 1e-12, "{found:?} {wanted:?}");
        }
    }
}

#[test]
fn constant_speed_is_constant() {
    for looped in [false, true] {
        let path = winding(11, 7, looped);
        let curve = Curve::new(&path, CONSTANT);
        // Short chords, for the curve may bend sharply; 40 of them are a step.
        let (count, parts) = (500, 40);
        let place = |i: usize| {
            curve
                .at(path.seconds * i as f64 / (count * parts) as f64)
                .position
        };
        let length = |i: usize| {
            let (a, b) = (place(i), place(i + 1));
            (0..3).map(|k| (a[k] - b[k]).powi(2)).sum::<f64>().sqrt()
        };
        let speeds: Vec<f64> = (0..count)
            .map(|step| (0..parts).map(|part| length(step * parts + part)).sum())
            .collect();
        // The last of a loop ends where the first begins, which `at` takes for the start.
        let mean = speeds.iter().sum::<f64>() / count as f64;
        for (i, speed) in speeds.iter().enumerate() {
            assert!(
                (speed / mean - 1.0).abs() < 0.01,
                "step {i} of {count}: {}",
                speed / mean
            );
        }
        let plain = Curve::new(&path, Motion::default());
        assert!(difference(&plain.at(1.0), &curve.at(1.0)) > 1e-3);
    }
}

/// A turn on the spot takes its time at constant speed too.
#[test]
fn a_turn_on_the_spot_keeps_its_time() {
    let pose = |x: f64, forward: [f64; 3]| {
        let eye = [x, 0.0, 0.0];
        let target = std::array::from_fn(|k| eye[k] + forward[k]);
        Pose::look_at(eye, target, [0.0, -1.0, 0.0], 1.0)
    };
    let (ahead, aside) = ([0.0, 0.0, 1.0], [1.0, 0.0, 0.0]);
    let poses = [
        pose(0.0, ahead),
        pose(2.0, ahead),
        pose(2.0, aside),
        pose(6.0, aside),
    ];
    let path = CameraPath::through(&poses, 3.0, false);
    let curve = Curve::new(&path, CONSTANT);
    // 6 units in the 2 s of movement: the first 2 take 2/3 s.
    let turn = 2.0 / 3.0;
    for time in [turn + 0.01, turn + 0.5, turn + 0.99] {
        assert!((curve.at(time).position[0] - 2.0).abs() < 0.02, "{time}");
    }
    let forward = curve.at(turn + 0.5).rotation[2];
    assert!((forward[0] - forward[2]).abs() < 0.02, "{forward:?}");
    assert!((curve.at(turn + 1.5).position[0] - 3.5).abs() < 0.05);
}

#[test]
fn rest_and_hold_do_what_they_say() {
    let mut path = winding(3, 5, false);
    path.keyframes[1].easing = Easing::Rest;
    path.keyframes[3].easing = Easing::Hold;
    let curve = Curve::new(&path, Motion::default());
    let times: Vec<f64> = path.keyframes.iter().map(|k| k.time).collect();
    let near = difference(&curve.at(times[1] + 1e-4), &path.keyframes[1].pose);
    assert!(near < 1e-5, "{near}");
    let held = curve.at(times[4] - 1e-6);
    assert_eq!(held, path.keyframes[3].pose);
    assert_eq!(curve.at(times[4]), path.keyframes[4].pose);
}

#[test]
fn ramps_start_and_end_as_they_say() {
    let slope = |ramp: Ramp, x: f64| (ramp.at(x + 1e-6) - ramp.at(x - 1e-6)) / 2e-6;
    for (ramp, start, end) in [
        (Ramp::None, 1.0, 1.0),
        (Ramp::In, 0.0, 1.5),
        (Ramp::Out, 1.5, 0.0),
        (Ramp::InOut, 0.0, 0.0),
    ] {
        assert!((ramp.at(0.0), ramp.at(1.0)) == (0.0, 1.0), "{ramp:?}");
        assert!((slope(ramp, 1e-6) - start).abs() < 1e-4, "{ramp:?}");
        assert!((slope(ramp, 1.0 - 1e-6) - end).abs() < 1e-4, "{ramp:?}");
    }
}

#[test]
fn frames_of_a_loop_do_not_repeat_the_start() {
    let open = Curve::new(&winding(1, 4, false).with_seconds(2.0), Motion::default());
    assert_eq!(open.frames(25.0), 50);
    assert_eq!(
        (open.frame_time(0.0, 50), open.frame_time(49.0, 50)),
        (0.0, 2.0)
    );
    let looped = Curve::new(
        &winding(1, 4, false).closed().with_seconds(2.0),
        Motion::default(),
    );
    assert!(looped.looped());
    assert!((looped.frame_time(49.0, 50) - 1.96).abs() < 1e-12);
    assert_eq!(looped.frame_time(50.0, 50), 2.0);
}

#[test]
fn one_keyframe_and_waiting_ends() {
    let one = CameraPath {
        keyframes: winding(2, 1, false).keyframes,
        seconds: 3.0,
        looped: true,
        fps: None,
        size: None,
    };
    assert_eq!(one.defect(), None);
    for motion in [Motion::default(), CONSTANT] {
        assert_eq!(Curve::new(&one, motion).at(1.7), one.keyframes[0].pose);
    }
    let mut path = winding(2, 3, false);
    for keyframe in &mut path.keyframes {
        keyframe.time += 1.0;
    }
    path.seconds += 2.0;
    let curve = Curve::new(&path, Motion::default());
    assert!(difference(&curve.at(0.5), &path.keyframes[0].pose) < 1e-12);
    assert_eq!(
        curve.at(path.seconds - 0.5).position,
        path.keyframes[2].pose.position
    );
}

#[test]
fn defects_name_their_keyframe() {
    let good = winding(4, 4, false);
    let with = |change: fn(&mut CameraPath)| {
        let mut path = good.clone();
        change(&mut path);
        path.defect()
    };
    assert_eq!(good.defect(), None);
    type Spoil = fn(&mut CameraPath);
    let spoil: [(Spoil, Option<usize>); 6] = [
        (|p| p.keyframes.clear(), None),
        (|p| p.keyframes[2].time = 0.1, Some(2)),
        (|p| p.keyframes[1].pose.fov = 3.2, Some(1)),
        (|p| p.keyframes[3].pose.position[1] = f64::NAN, Some(3)),
        (|p| p.keyframes[0].pose.rotation[0][0] += 0.1, Some(0)),
        (|p| p.seconds = 1.0, None),
    ];
    for (i, (change, keyframe)) in spoil.into_iter().enumerate() {
        let defect = with(change);
        assert_eq!(
            defect.as_ref().map(|(at, _)| *at),
            Some(keyframe),
            "{i}: {defect:?}"
        );
    }
    // Keyframes at one time are no path.
    let key = Keyframe {
        ..good.keyframes[0]
    };
    let twice = CameraPath {
        keyframes: vec![key, key],
        ..good.clone()
    };
    assert!(twice.defect().is_some());
}
