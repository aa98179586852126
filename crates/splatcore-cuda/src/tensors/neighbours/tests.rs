//! Distances against the function of splatcore-tensors in f64.

use super::mean_squared_distances;
use crate::tensors::tests::{Numbers, assert_close, fixture};

#[test]
fn distances_are_those_of_the_cpu() {
    let Some(on) = fixture() else { return };
    for count in [0, 1, 2, 3, 4, 300, 513] {
        let mut points = Numbers::new(41).many(3 * count, -2.0, 2.0);
        if count > 20 {
            points.copy_within(3..6, 30);
        }
        let mut expected = vec![f64::NAN; count];
        splatcore_tensors::neighbours::mean_squared_distances(&points, &mut expected).unwrap();
        let (points, out) = (on.floats(&points), on.out::<f32>(count));
        mean_squared_distances(&on.stream(), points.slice(), out.slice()).unwrap();
        assert_close(&format!("{count}"), &out.written(), &expected, 1e-6);
    }
}
