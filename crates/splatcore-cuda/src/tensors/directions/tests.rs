//! Directions against the function of splatcore-tensors in f64.

use super::{Views, forward};
use crate::tensors::tests::{Numbers, Tensor, assert_close, fixture};
use splatcore_tensors::directions as plain;

#[test]
fn directions_and_masks_are_those_of_the_cpu() {
    let Some(on) = fixture() else { return };
    for (b, c, n) in [(1, 1, 300), (2, 3, 70), (1, 2, 0)] {
        let mut numbers = Numbers::new(5);
        let means = numbers.many(3 * b * n, -2.0, 2.0);
        let mut viewmats = numbers.many(16 * b * c, -0.3, 0.3);
        for viewmat in viewmats.as_chunks_mut::<16>().0 {
            [0, 5, 10, 15].iter().for_each(|&k| viewmat[k] += 1.0);
        }
        let radii: Vec<i32> = (0..2 * b * c * n).map(|i| (i % 3) as i32).collect();
        let views = plain::Views {
            batches: b,
            cameras: c,
            gaussians: n,
            means: &means,
            viewmats: &viewmats,
            radii: Some(&radii),
        };
        let (mut expected, mut wanted) = (vec![f64::NAN; 3 * b * c * n], vec![7; b * c * n]);
        plain::forward(&views, &mut expected, Some(&mut wanted)).unwrap();

        let inputs = [&means, &viewmats].map(|values| on.floats(values));
        let radii = on.tensor(&radii);
        let [means, viewmats] = inputs.each_ref().map(Tensor::slice);
        let views = Views {
            batches: b,
            cameras: c,
            gaussians: n,
            means,
            viewmats,
            radii: Some(radii.slice()),
        };
        let (dirs, masks) = (on.out::<f32>(expected.len()), on.out::<u8>(wanted.len()));
        forward(&on.stream(), &views, dirs.slice(), Some(masks.slice())).unwrap();
        assert_close("dirs", &dirs.written(), &expected, 1e-5);
        assert_eq!(masks.read(), wanted);
    }
}
