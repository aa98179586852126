use super::*;
use splatcore_core::random::Rng;

pub(super) const SETTINGS: PoseSettings = PoseSettings {
    refine: true,
    travel: 4.0,
    max_degrees: 5.0,
    max_shift: 0.1,
    motion: None,
};

/// On a circle, looking inwards.
fn ring(count: usize) -> Vec<Camera> {
    let place = |i: usize| {
        let angle = i as f64 / count as f64 * std::f64::consts::TAU;
        [3.0 * angle.cos(), 0.3 * (i % 3) as f64, 3.0 * angle.sin()]
    };
    let up = [0.0, -1.0, 0.0];
    (0..count)
        .map(|i| Camera::look_at(place(i), [0.1, 0.2, 0.0], up, 0.8, 32, 24))
        .collect()
}

fn all(count: usize) -> Vec<usize> {
    (0..count).collect()
}

fn random_gradient(rng: &mut Rng) -> PoseGradient {
    PoseGradient {
        rotation: [0; 3].map(|_| f64::from(rng.normal())),
        translation: [0; 3].map(|_| f64::from(rng.normal())),
    }
}

fn mean(values: impl Iterator<Item = [f64; 3]>) -> f64 {
    let (mut sum, mut count) = ([0.0; 3], 0.0);
    for value in values {
        count += 1.0;
        (0..3).for_each(|k| sum[k] += value[k]);
    }
    offset::norm(sum) / count
}

/// The motion of view space of which the gradient speaks is the one that is made.
#[test]
fn a_motion_of_view_space_moves_the_camera_so() {
    let given = &ring(5)[2];
    let start = Offset::NONE.moved(given, [0.02, -0.01, 0.03, 0.1, 0.05, -0.2]);
    let before = start.of(given);
    let point = [0.4, -0.3, 0.2];
    for axis in 0..6 {
        let small = 1e-6;
        let mut motion = [0.0; 6];
        motion[axis] = small;
        let after = start.moved(given, motion).of(given);
        let (from, to) = (before.to_view(point), after.to_view(point));
        let [x, y, z] = from;
        let want = match axis {
            0 => [0.0, -z, y],
            1 => [z, 0.0, -x],
            2 => [-y, x, 0.0],
            _ => std::array::from_fn(|k| if k + 3 == axis { 1.0 } else { 0.0 }),
        };
        for k in 0..3 {
            let slope = (to[k] - from[k]) / small;
            assert!(
                (slope - want[k]).abs() < 1e-4,
                "axis {axis}: {slope} {want:?}"
            );
        }
    }
}

#[test]
fn no_offset_leaves_the_very_camera() {
    for camera in ring(4) {
        assert_eq!(Offset::NONE.of(&camera), camera);
    }
}

/// Of 100,000 steps neither a rotation nor the gauge forgets what it is.
#[test]
fn rotations_stay_rotations_and_the_gauge_stays() {
    let (count, mut rng) = (7, Rng::new(5, 0));
    let mut poses = Poses::new(ring(count), all(count), 3.0, SETTINGS);
    for step in 0..100_000 {
        poses.note(vec![(step % count, random_gradient(&mut rng))]);
        poses.step(1e-3, 0.0);
    }
    for camera in poses.cameras() {
        assert_eq!(camera.defect(), None);
        for i in 0..3 {
            for j in 0..3 {
                let dot: f64 = (0..3)
                    .map(|k| camera.rotation[i][k] * camera.rotation[j][k])
                    .sum();
                let want = f64::from(u8::from(i == j));
                assert!((dot - want).abs() < 1e-13, "{dot}");
            }
        }
    }
    let offsets = &poses.state().values;
    let turned = mean(offsets.iter().map(Offset::vector));
    let shifted = mean(offsets.iter().map(|offset| offset.shift));
    assert!(turned < 1e-12 && shifted < 1e-12, "{turned} {shifted}");
    assert!(offsets.iter().all(|offset| offset.angle() > 1e-4));
}

/// What all cameras do together is undone, whatever it is, and nothing of what one does more.
#[test]
fn common_motions_are_taken_away() {
    let given = ring(6);
    let turn = Offset::NONE.turned([0.02, -0.03, 0.01]);
    let common: Vec<Offset> = given
        .iter()
        .map(|camera| {
            let eye = camera.position();
            let turned = turn.rotated(eye);
            let there: [f64; 3] = std::array::from_fn(|k| 1.03 * turned[k] + 0.1 * k as f64);
            Offset {
                shift: std::array::from_fn(|k| there[k] - eye[k]),
                ..turn
            }
        })
        .collect();
    let mut offsets = common.clone();
    gauge::remove(&given, &mut offsets, &all(6));
    for offset in &offsets {
        assert!(
            offset.angle() < 1e-12 && offset.distance() < 1e-12,
            "{offset:?}"
        );
    }
    // Those that share no gauge stay.
    let mut offsets = common.clone();
    gauge::remove(&given, &mut offsets, &[]);
    assert_eq!(offsets, common);
}

#[test]
fn limits_hold_and_are_told_once() {
    let mut poses = Poses::new(ring(4), Vec::new(), 2.0, SETTINGS);
    let away = PoseGradient {
        rotation: [1.0, 0.0, 0.0],
        translation: [0.0, 0.0, -1.0],
    };
    let mut told = Vec::new();
    for _ in 0..300 {
        poses.note(vec![(1, away)]);
        told.extend(poses.step(1e-3, 0.0));
    }
    assert_eq!(told, [1]);
    let offset = poses.state().values[1];
    assert!(offset.angle().to_degrees() < 5.0 + 1e-9, "{offset:?}");
    assert!((offset.distance() - 0.2).abs() < 1e-9, "{offset:?}");
    assert_eq!(poses.state().values[0], Offset::NONE);
}

#[test]
fn a_change_is_what_was_changed() {
    let given = &ring(3)[1];
    let offset = Offset::NONE.moved(given, [0.01, 0.02, -0.03, 0.1, -0.2, 0.05]);
    let found = Offset::between(given, &offset.of(given));
    for k in 0..3 {
        assert!(
            (found.vector()[k] - offset.vector()[k]).abs() < 1e-9,
            "{found:?}"
        );
        assert!(
            (found.shift[k] - offset.shift[k]).abs() < 1e-12,
            "{found:?}"
        );
    }
    let change = PoseChange::between(given, &offset.of(given), 2.0, &SETTINGS);
    assert!((change.degrees - offset.angle().to_degrees()).abs() < 1e-6 && change.at_limit);
}

#[test]
fn what_is_not_finite_moves_nothing() {
    let mut poses = Poses::new(ring(3), all(3), 1.0, SETTINGS);
    poses.note(vec![(
        0,
        PoseGradient {
            rotation: [f64::NAN, 0.0, 0.0],
            translation: [0.0; 3],
        },
    )]);
    assert!(poses.step(1e-3, 0.0).is_empty());
    assert_eq!(poses.cameras(), ring(3));
}

/// A state in the middle of a stretch goes on as if it had never been one.
#[test]
fn a_state_goes_on() {
    let mut rng = Rng::new(8, 1);
    let gradients: Vec<_> = (0..20)
        .map(|i| (i % 4, random_gradient(&mut rng)))
        .collect();
    let fresh = || Poses::new(ring(4), all(4), 1.0, SETTINGS);
    let mut whole = fresh();
    let mut first = fresh();
    for poses in [&mut whole, &mut first] {
        poses.note(gradients[..12].to_vec());
        poses.step(1e-3, 0.0);
        poses.note(gradients[12..15].to_vec());
    }
    let mut second = fresh().with_state(first.state().clone()).unwrap();
    for poses in [&mut whole, &mut second] {
        poses.note(gradients[15..].to_vec());
        poses.step(5e-4, 0.0);
    }
    assert_eq!(whole.state(), second.state());
    assert!(
        Poses::new(ring(3), all(3), 1.0, SETTINGS)
            .with_state(whole.state().clone())
            .is_none()
    );
}
