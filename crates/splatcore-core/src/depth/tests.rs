use super::*;
use crate::Image;
use crate::backend::Rendered;

/// The derivatives are those of the value, below and above the bend, for all entries.
#[test]
fn derivatives_match_finite_differences() {
    for loss in DepthLoss::ALL {
        for (sum, alpha, known) in [
            (0.4, 0.9, 0.31),
            (0.4, 0.9, 0.44),
            (0.4, 0.9, 0.445),
            (0.2, 0.55, 2.0),
            (3.0, 1.0, 0.1),
        ] {
            let value = |sum: f64, alpha: f64| loss.at_pixel([sum, alpha], known, 1.7)[0];
            let [_, by_sum, by_alpha] = loss.at_pixel([sum, alpha], known, 1.7);
            let h = 1e-7;
            let want = [
                (value(sum + h, alpha) - value(sum - h, alpha)) / (2.0 * h),
                (value(sum, alpha + h) - value(sum, alpha - h)) / (2.0 * h),
            ];
            for (got, want) in [by_sum, by_alpha].into_iter().zip(want) {
                assert!(
                    (got - want).abs() <= 1e-5 * (1.0 + want.abs()),
                    "{loss}: {got} {want}"
                );
            }
        }
    }
}

#[test]
fn what_is_unknown_or_transparent_says_nothing() {
    for loss in DepthLoss::ALL {
        assert_eq!(loss.at_pixel([0.5, 0.9], 0.0, 1.0), [0.0; 3]);
        assert_eq!(loss.at_pixel([0.2, 0.49], 1.0, 1.0), [0.0; 3]);
        assert_eq!(loss.at_pixel([0.0, 0.9], 1.0, 1.0), [0.0; 3]);
        let right = loss.at_pixel([0.45, 0.9], 0.5, 1.0);
        assert!(right.iter().all(|v| v.abs() < 1e-12));
        assert_eq!(loss.to_string().parse(), Ok(loss));
    }
    assert!("depth".parse::<DepthLoss>().is_err());
    // Far off it pulls no harder than a little off.
    let pull = |known| DepthLoss::Inverse.at_pixel([0.5, 1.0], known, 1.0)[1];
    assert_eq!(pull(0.6), pull(60.0));
}

#[test]
fn maps_of_another_size_are_read_at_the_nearest_place() {
    let map = DepthMap {
        width: 2,
        height: 1,
        inverse: vec![0.5, 0.25],
        normals: Vec::new(),
    };
    assert_eq!(
        map.in_size([4, 2]),
        [0.5, 0.5, 0.25, 0.25, 0.5, 0.5, 0.25, 0.25]
    );
    assert_eq!(map.in_size([2, 1]), map.inverse);
    assert_eq!(map.in_size([1, 1]), [0.25]);
    assert_eq!(map.in_size([3, 1]), [0.5, 0.25, 0.25]);
    assert_eq!((map.known(), map.median()), (2, Some(2.0)));
}

#[test]
fn errors_are_those_of_what_is_known() {
    let map = DepthMap {
        width: 2,
        height: 2,
        inverse: vec![0.5, 0.0, 0.25, 0.25],
        normals: Vec::new(),
    };
    // Depths 2.2, any, 4 and nothing.
    let rendered = Rendered {
        image: Image::filled(2, 2, [0.0; 3]),
        transmittance: vec![0.5, 0.0, 0.0, 1.0],
        inverse_depth: Some(vec![0.5 / 2.2, 1.0, 0.25, 0.0]),
    };
    let error = DepthError::of(&rendered, &map).unwrap();
    assert!((error.absolute_relative - (0.1 + 0.0 + 1.0) / 3.0).abs() < 1e-6);
    let want = ((0.2f64.powi(2) + 0.0 + 16.0) / 3.0).sqrt();
    assert!((error.root_mean_square - want).abs() < 1e-6);
    let nothing = DepthMap {
        inverse: vec![0.0; 4],
        ..map
    };
    assert_eq!(DepthError::of(&rendered, &nothing), None);
}

#[test]
fn normals_are_of_unit_length_or_unknown() {
    let map = |normals: Vec<[f32; 3]>| DepthMap {
        width: 2,
        height: 1,
        inverse: vec![0.0; 2],
        normals,
    };
    assert!(map(Vec::new()).is_sound());
    assert!(map(vec![[0.0; 3], [0.6, 0.0, -0.8]]).is_sound());
    assert!(!map(vec![[0.6, 0.0, -0.8]]).is_sound());
    assert!(!map(vec![[0.0; 3], [0.6, 0.0, -0.9]]).is_sound());
    assert!(!map(vec![[f32::NAN; 3], [0.6, 0.0, -0.8]]).is_sound());
}
