use super::*;
use splatcore_core::Lens;

const SETTINGS: IntrinsicsSettings = IntrinsicsSettings {
    refine: true,
    limit: 0.05,
};

fn camera(fx: f64, lens: Lens) -> Camera {
    Camera {
        fx,
        fy: 40.0,
        lens,
        ..Camera::look_at([0.0, 0.0, -3.0], [0.0; 3], [0.0, -1.0, 0.0], 0.8, 64, 48)
    }
}

fn gradient(numbers: Numbers) -> IntrinsicsGradient {
    numbers.into()
}

const RATES: Rates = [1e-3, 2e-3, 4e-3];

/// Photos of one lens move together against the mean of their gradients, those of another by
/// themselves; square pixels stay square.
#[test]
fn photos_of_a_lens_share_it() {
    let fisheye = Lens::Fisheye {
        k: [0.1, 0.0, 0.02, 0.0],
        p: [0.0, 0.01],
        s: [0.0; 2],
    };
    let given = [
        camera(40.0, Lens::Pinhole),
        camera(30.0, fisheye),
        camera(40.0, Lens::Pinhole),
        camera(50.0, Lens::Pinhole),
    ];
    let mut lenses = Intrinsics::new(&given, SETTINGS);
    let row = |fx: f64, fy: f64, cx: f64, k: f64| {
        let mut numbers = [k; _];
        numbers[..4].copy_from_slice(&[fx, fy, cx, 0.0]);
        gradient(numbers)
    };
    lenses.note(vec![
        (2, row(3.0, 1.0, -1.0, 0.0)),
        (1, row(2.0, -1.0, 1.0, 1.0)),
        (0, row(-1.0, -1.0, -1.0, 0.0)),
        (0, row(f64::NAN, 0.0, 0.0, 0.0)),
    ]);
    assert!(lenses.step(RATES).is_empty());
    let mut now = given.to_vec();
    lenses.apply(&mut now);
    let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
    // The first move of Adam is the rate.
    assert!(near(now[0].fx, 40.0 * (-1e-3f64).exp()) && now[0].fx == now[0].fy);
    assert_eq!(now[0], now[2]);
    assert!(near(now[0].cx, given[0].cx + 2e-3 * 64.0));
    assert!(near(now[1].fx, 30.0 * (-1e-3f64).exp()) && near(now[1].fy, 40.0 * 1e-3f64.exp()));
    // Coefficients that are 0 stay so.
    let Lens::Fisheye { k, p, .. } = now[1].lens else {
        panic!("{:?}", now[1].lens)
    };
    // The others move the rim, at 1.2 radians, by the rate times its distance.
    let edge = splatcore_core::lens::Projection::new(&given[1])
        .unwrap()
        .edge;
    let moved = |power: i32| 4e-3 * edge / edge.powi(power);
    let want_k = [0.1 - moved(3), 0.0, 0.02 - moved(7), 0.0];
    let want_p = [0.0, 0.01 - moved(2)];
    assert!(edge > 1.2);
    assert!((0..4).all(|i| near(k[i], want_k[i])) && (0..2).all(|i| near(p[i], want_p[i])));
    assert_eq!(now[3], given[3]);
    // Another photo through a lens that is known.
    let other = Camera {
        translation: [1.0, 2.0, 3.0],
        ..given[1].clone()
    };
    let through = LensChange::of(&lenses.changes(), &other);
    assert!(through.lens == now[1].lens && through.translation == other.translation);
    // As the camera of a photo of twice the size.
    let original = given[0].resized(128, 96);
    let large = lenses.changes()[0].of_original(&original);
    let want = now[0].resized(128, 96);
    assert!(near(large.fx, want.fx) && near(large.cx, want.cx) && near(large.cy, want.cy));
}

/// A rate of 0 leaves a number and its moments alone; limits cut, and are told once.
#[test]
fn what_waits_stays_and_limits_cut() {
    let given = [camera(40.0, Lens::Pinhole)];
    let mut lenses = Intrinsics::new(&given, SETTINGS);
    let pull = || vec![(0, gradient([-1.0; _]))];
    lenses.note(pull());
    assert!(lenses.step([1e-3, 0.0, 0.0]).is_empty());
    assert_eq!(lenses.state().values[0][2..], [0.0; 27]);
    assert_eq!(lenses.state().moves[0][..4], [1, 1, 0, 0]);
    lenses.note(pull());
    assert_eq!(lenses.step([0.2, 0.0, 0.0]), [0]);
    lenses.note(pull());
    assert!(lenses.step([0.2, 0.0, 0.0]).is_empty());
    let changes = lenses.changes();
    assert!(changes[0].at_limit && changes[0].photos == [0]);
    assert!((changes[0].after.fx - 40.0 * 0.05f64.exp()).abs() < 1e-9);
    // Without gradients nothing moves.
    let before = lenses.state().clone();
    assert!(lenses.step([0.2; 3]).is_empty());
    assert_eq!(*lenses.state(), before);
}
