//! Opacities and scales against the function of splatcore-tensors in f64.

use super::{Split, relocate};
use crate::tensors::tests::{Numbers, assert_close, fixture};
use splatcore_tensors::relocation as plain;

#[test]
fn opacities_and_scales_are_those_of_the_cpu() {
    let Some(on) = fixture() else { return };
    const N_MAX: usize = 51;
    let mut binoms = vec![0.0; N_MAX * N_MAX];
    for n in 0..N_MAX {
        for k in 0..=n {
            binoms[n * N_MAX + k] = match k {
                0 => 1.0,
                _ => {
                    let above = (n - 1) * N_MAX + k;
                    // f32, as the device gets them.
                    f64::from((binoms[above - 1] + binoms[above]) as f32)
                }
            };
        }
    }
    for count in [300, 0] {
        let mut numbers = Numbers::new(37);
        let mut opacities = numbers.many(count, 0.005, 0.95);
        opacities
            .iter_mut()
            .take(1)
            .for_each(|opacity| *opacity = 0.0);
        let scales = numbers.many(3 * count, 0.01, 1.0);
        // Below 1 and above n_max too.
        let mut ratios: Vec<i32> = (0..count).map(|i| (i % 12) as i32 - 1).collect();
        ratios.iter_mut().skip(7).take(1).for_each(|r| *r = 99);
        let mut expected = [vec![f64::NAN; count], vec![f64::NAN; 3 * count]];
        let [new_opacities, new_scales] = &mut expected;
        plain::relocate(
            &opacities,
            &scales,
            &ratios,
            &binoms,
            new_opacities,
            new_scales,
        )
        .unwrap();

        let inputs = [&opacities, &scales, &binoms].map(|values| on.floats(values));
        let ratios = on.tensor(&ratios);
        let split = Split {
            opacities: inputs[0].slice(),
            scales: inputs[1].slice(),
            ratios: ratios.slice(),
            binoms: inputs[2].slice(),
        };
        let outs = [on.out::<f32>(count), on.out::<f32>(3 * count)];
        relocate(&on.stream(), &split, outs[0].slice(), outs[1].slice()).unwrap();
        assert_close("opacities", &outs[0].written(), &expected[0], 1e-6);
        assert_close("scales", &outs[1].written(), &expected[1], 1e-5);
    }
}
