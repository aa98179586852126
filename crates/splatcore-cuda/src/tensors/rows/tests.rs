//! Rows against the functions of splatcore-tensors.

use super::{Moved, PARTS, gather, list_drawn, scatter};
use crate::tensors::DeviceSlice;
use crate::tensors::tests::fixture;
use splatcore_tensors::rows as plain;

const WIDTHS: [usize; PARTS] = [2, 1, 3, 1, 48, 2, 1, 5];

#[test]
fn rows_are_moved_as_on_the_cpu() {
    let Some(on) = fixture() else { return };
    for (all, count) in [(700, 300), (5, 0), (40, 40)] {
        let rows_every =
            |step: i64| -> Vec<i64> { (0..count).map(|i| (i * step + 3) % all).collect() };
        // 7 comes to the same rows again. To scatter, each is there once: which of two that go to
        // one place stays is chance.
        let [gathered, scattered] = [7, 11].map(rows_every);
        let all = all as usize;
        let values = |width: usize, rows: usize| -> Vec<u32> {
            (0..rows * width)
                .map(|i| (i + 1000 * width) as u32)
                .collect()
        };
        for scatters in [false, true] {
            let (rows, own, other) = match scatters {
                true => (&scattered, scattered.len(), all),
                false => (&gathered, all, gathered.len()),
            };
            let device_rows = on.tensor(rows);
            let from = WIDTHS.map(|width| values(width, own));
            let inputs = from.each_ref().map(|values| on.tensor(values));
            let outputs = WIDTHS.map(|width| on.out::<u32>(other * width));
            let parts: [Moved; PARTS] = std::array::from_fn(|k| Moved {
                from: inputs[k].slice(),
                to: outputs[k].slice(),
            });
            let moved = if scatters { scatter } else { gather };
            moved(&on.stream(), device_rows.slice(), all, &parts).unwrap();
            for (k, width) in WIDTHS.into_iter().enumerate() {
                let mut expected = vec![7; other * width];
                let same = match scatters {
                    true => plain::scatter(rows, width, &from[k], &mut expected),
                    false => plain::gather(rows, width, &from[k], &mut expected),
                };
                same.unwrap();
                assert_eq!(
                    outputs[k].read(),
                    expected,
                    "part {k}, scatters: {scatters}"
                );
            }
        }
    }
}

#[test]
fn drawn_splats_are_listed_as_on_the_cpu() {
    let Some(on) = fixture() else { return };
    // More than two blocks, one that is full, none.
    for (images, per_image) in [(3, 900), (1, 1024), (1, 1), (2, 0)] {
        let splats = images * per_image;
        let radii: Vec<i32> = (0..2 * splats as i32)
            .map(|i| (i * 37 + i / 5) % 7 - 1)
            .collect();
        let count = plain::count_drawn(&radii);
        for drawn in [count, count + 3, count / 2] {
            let (mut rows, mut owners) = (vec![7; drawn], vec![7; drawn]);
            plain::list_drawn(&radii, per_image, &mut rows, &mut owners).unwrap();
            let (of_device, owners_of_device) = (on.out::<i64>(drawn), on.out::<i64>(drawn));
            let (to, images) = (of_device.slice(), owners_of_device.slice());
            list_drawn(
                &on.stream(),
                on.tensor(&radii).slice(),
                per_image,
                to,
                images,
            )
            .unwrap();
            assert_eq!(of_device.read(), rows, "{splats} splats, {drawn} places");
            assert_eq!(owners_of_device.read(), owners);
        }
    }
}

#[test]
fn rows_that_are_not_there_are_left_out_and_lengths_are_checked() {
    let Some(on) = fixture() else { return };
    let (rows, from) = (on.tensor(&[1i64, -1, 9]), on.tensor(&[10u32, 20]));
    let to = on.tensor(&[1u32, 2, 3]);
    let part = |from: DeviceSlice<u32>, to: DeviceSlice<u32>| Moved { from, to };
    gather(
        &on.stream(),
        rows.slice(),
        2,
        &[part(from.slice(), to.slice())],
    )
    .unwrap();
    assert_eq!(to.read(), [20, 2, 3]);
    scatter(
        &on.stream(),
        rows.slice(),
        2,
        &[part(to.slice(), from.slice())],
    )
    .unwrap();
    assert_eq!(from.read(), [0, 20]);
    let short = gather(
        &on.stream(),
        rows.slice(),
        2,
        &[part(from.slice(), from.slice())],
    );
    assert!(
        short
            .unwrap_err()
            .to_string()
            .contains("a packed tensor has 2")
    );
    let many = [part(from.slice(), to.slice()); PARTS + 1];
    assert!(gather(&on.stream(), rows.slice(), 2, &many).is_err());
}
