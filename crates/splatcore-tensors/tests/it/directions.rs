use crate::support::Numbers;
use splatcore_tensors::directions::{Views, forward};

#[test]
fn directions_lead_from_where_a_camera_maps_to_zero() {
    let (b, c, n) = (2, 3, 4);
    let mut numbers = Numbers::new(3);
    let means = numbers.within(3 * b * n, -2.0, 2.0);
    let mut viewmats = numbers.within(16 * b * c, -1.0, 1.0);
    for viewmat in viewmats.as_chunks_mut::<16>().0 {
        viewmat[12..].copy_from_slice(&[0.0, 0.0, 0.0, 1.0]);
    }
    let radii: Vec<i32> = (0..2 * b * c * n).map(|i| (i % 3) as i32).collect();
    let views = Views {
        batches: b,
        cameras: c,
        gaussians: n,
        means: &means,
        viewmats: &viewmats,
        radii: Some(&radii),
    };
    let (mut dirs, mut masks) = (vec![f64::NAN; 3 * b * c * n], vec![7; b * c * n]);
    forward(&views, &mut dirs, Some(&mut masks)).unwrap();
    for row in 0..b * c * n {
        let (camera, gaussian) = (row / n, row / (c * n) * n + row % n);
        let viewmat = &viewmats[16 * camera..][..16];
        let centre = [0, 1, 2].map(|k| means[3 * gaussian + k] - dirs[3 * row + k]);
        for axis in viewmat[..12].chunks(4) {
            let at: f64 = (0..3).map(|k| axis[k] * centre[k]).sum();
            assert!((at + axis[3]).abs() < 1e-10, "{at} {}", axis[3]);
        }
        let drawn = radii[2 * row] > 0 && radii[2 * row + 1] > 0;
        assert_eq!(masks[row], u8::from(drawn));
    }
}

#[test]
fn a_camera_without_an_inverse_is_refused() {
    let viewmats = [0.0f32; 16];
    let views = Views {
        batches: 1,
        cameras: 1,
        gaussians: 1,
        means: &[1.0; 3],
        viewmats: &viewmats,
        radii: None,
    };
    let error = forward(&views, &mut [0.0; 3], None).unwrap_err();
    assert_eq!(
        error.to_string(),
        "viewmats must be invertible, found camera 0"
    );
}
