use super::*;
use splatcore_core::Image;
use splatcore_core::random::Rng;

/// A photo that differs from its image by a known change of the motion, and by exposure: the step
/// is that change, whatever the exposure.
#[test]
fn a_step_explains_the_residual() {
    let mut rng = Rng::new(3, 0);
    let size = [40, 30];
    let pixels = (size[0] * size[1]) as usize;
    let mut noise = || {
        (0..3 * pixels)
            .map(|_| f64::from(rng.normal()))
            .collect::<Vec<f64>>()
    };
    let slopes: [Vec<f64>; NUMBERS] = std::array::from_fn(|_| noise());
    let smooth = |i: usize| 0.5 + 0.2 * (i as f64 * 0.013).sin();
    let wanted = [0.3, -0.2, 0.1, 0.25, -0.15, 0.05];
    let image = |step: &[f64; NUMBERS]| Image {
        width: size[0],
        height: size[1],
        data: (0..pixels)
            .map(|i| {
                std::array::from_fn(|c| {
                    let slope = |k: usize| 0.02 * slopes[k][3 * i + c] * step[k];
                    (smooth(3 * i + c) + (0..NUMBERS).map(slope).sum::<f64>()) as f32
                })
            })
            .collect(),
    };
    let base = image(&[0.0; NUMBERS]);
    let changed: Vec<Image> = (0..NUMBERS)
        .map(|k| image(&std::array::from_fn(|j| if j == k { 2.0 } else { 0.0 })))
        .collect();
    for (gain, offset) in [(1.0, 0.0), (0.8, 0.1)] {
        let seen = image(&wanted);
        let of_photo = |v: f32| ((gain * v + offset).clamp(0.0, 1.0) * 255.0 + 0.5) as u8;
        let rgb = seen
            .data
            .as_flattened()
            .iter()
            .map(|&v| of_photo(v))
            .collect();
        let photo = Photo::opaque(size[0], size[1], rgb);
        let normal = Normal::new(&photo, &base, &changed, 2.0);
        let step = normal.solve(&[0.0; NUMBERS], 1e3, 1.0).unwrap();
        for (got, want) in step.iter().zip(wanted) {
            assert!((got - f64::from(gain) * want).abs() < 0.02, "{step:?}");
        }
        // What is held tightly stays, and comes back to where it was expected.
        let held = normal.solve(&[1.0; NUMBERS], 1e-6, 1.0).unwrap();
        assert!(held.iter().all(|by| (by + 1.0).abs() < 1e-3), "{held:?}");
    }
    // A photo that shows nothing says nothing.
    let dark = Photo::opaque(size[0], size[1], vec![0; 3 * pixels]);
    let flat = Image::filled(size[0], size[1], [0.0; 3]);
    let none = Normal::new(&dark, &flat, &vec![flat.clone(); NUMBERS], 2.0);
    assert_eq!(none.solve(&[0.0; NUMBERS], 1.0, 1.0), None);
}

#[test]
fn what_all_share_is_held() {
    let camera = Camera::look_at([0.0, 0.0, -3.0], [0.0; 3], [0.0, -1.0, 0.0], 0.8, 64, 48);
    let given = Shutter {
        readout: Readout::TopToBottom,
        turn: [0.1, 0.0, 0.0],
        shift: [0.0, 0.2, 0.0],
    };
    let cameras: Vec<Camera> = (0..3)
        .map(|_| Camera {
            shutter: Some(given),
            ..camera.clone()
        })
        .collect();
    let mut motions = Motions::new(cameras.iter());
    for (i, motion) in motions.state.motions.iter_mut().enumerate() {
        motion[0] += 0.5 + 0.1 * i as f64;
        motion[5] -= 0.3;
    }
    motions.hold(&[0, 1, 2]);
    let mut found = cameras.clone();
    motions.apply(&mut found);
    for (i, camera) in found.iter().enumerate() {
        let shutter = camera.shutter.unwrap();
        assert!((shutter.turn[0] - 0.1 - 0.1 * (i as f64 - 1.0)).abs() < 1e-12);
        assert!(shutter.shift[2].abs() < 1e-12 && shutter.shift[1] == 0.2);
    }
    let state = motions.state().clone();
    let fresh = || Motions::new(cameras[..2].iter());
    assert!(fresh().with_state(state).is_none());
}

/// What is taken from all may make a motion impossible that was possible as it was found.
#[test]
fn motions_that_cannot_be_are_not_taken() {
    let still = Shutter {
        readout: Readout::TopToBottom,
        turn: [0.0; 3],
        shift: [0.0; 3],
    };
    let camera = Camera {
        shutter: Some(still),
        ..Camera::look_at([0.0, 0.0, -3.0], [0.0; 3], [0.0, -1.0, 0.0], 0.8, 64, 48)
    };
    let found = [1.8, -1.8, -1.8].map(|turn| [turn, 0.0, 0.0, 0.0, 0.0, 0.0]);
    let moved: Vec<(usize, Camera, Numbers)> = (found.into_iter().enumerate())
        .map(|(view, found)| (view, camera.clone(), found))
        .collect();
    assert!(
        moved
            .iter()
            .all(|(_, camera, found)| with_numbers(camera, found).defect().is_none())
    );
    let mut motions = Motions::new(moved.iter().map(|(_, camera, _)| camera));
    motions.take(&moved);
    let turns = motions.state.motions.iter().map(|motion| motion[0]);
    for (turn, wanted) in turns.zip([0.0, -1.2, -1.2]) {
        assert!((turn - wanted).abs() < 1e-12, "{turn} {wanted}");
    }
}
