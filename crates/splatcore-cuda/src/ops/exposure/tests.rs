//! The exposure kernels and the CPU's op against the f64 twin, on images of many blocks; the
//! kernels run on the processor.

use crate::device::Buffer;
use crate::device::Kernels;
use crate::device::queue::Queue;
use crate::ops::counters::Counters;
use crate::ops::exposure::Exposed;
use crate::tests::support::device::emulated as device;
use splatcore_core::exposure::{Exposures, IDENTITY};
use splatcore_core::random::Rng;
use splatcore_cpu::exposure as cpu;
use splatcore_reference::twin::exposure as twin;

const VIEWS: usize = 70;
const RATE: f32 = 0.004;

/// More views than a warp has lanes, all in mid-training.
fn exposures(rng: &mut Rng) -> Exposures {
    let mut rows = |about: [f32; 12], spread: f32| -> Vec<[f32; 12]> {
        (0..VIEWS)
            .map(|_| about.map(|v| v + spread * rng.normal()))
            .collect()
    };
    let parameters = rows(IDENTITY, 0.2);
    let first = rows([0.0; 12], 1e-2);
    let second = rows([0.0; 12], 1e-2);
    Exposures {
        parameters,
        first,
        second: second.into_iter().map(|row| row.map(|v| v * v)).collect(),
        seen: (0..VIEWS as u32).map(|view| view * view).collect(),
    }
}

fn planes(rows: &[[f32; 3]]) -> [Vec<f32>; 3] {
    [0, 1, 2].map(|c: usize| rows.iter().map(|row| row[c]).collect())
}

/// Relative to the size of the whole.
fn assert_close(
    what: &str,
    got: impl IntoIterator<Item = f32>,
    want: impl IntoIterator<Item = f64>,
) {
    let (mut error, mut size, mut count) = (0.0f64, 0.0f64, 0);
    let (mut got, mut want) = (got.into_iter(), want.into_iter());
    loop {
        match (got.next(), want.next()) {
            (Some(got), Some(want)) => {
                error += (got as f64 - want).powi(2);
                size += want * want;
                count += 1;
            }
            (None, None) => break,
            _ => panic!("{what}: another length, beyond {count}"),
        }
    }
    let relative = (error / size).sqrt();
    assert!(relative <= 2e-6, "{what}: relative L2 {relative:.1e}");
}

/// All of a step: what the loss sees, gradients, the sums through the update.
struct Step {
    image: Vec<[f32; 3]>,
    gradient: Vec<[f32; 3]>,
    before: Exposures,
    view: usize,
}

impl Step {
    fn new(pixels: usize, view: usize) -> Self {
        let mut rng = Rng::new(pixels as u64, 71);
        let image = (0..pixels).map(|_| [0; 3].map(|_| rng.uniform())).collect();
        // Mostly of one sign, as where the exposure is wrong; some ignored.
        let gradient = (0..pixels)
            .map(|i| [0; 3].map(|_| if i % 5 == 4 { 0.0 } else { rng.normal() + 0.5 }))
            .collect();
        let before = exposures(&mut rng);
        Self {
            image,
            gradient,
            before,
            view,
        }
    }

    fn check(
        &self,
        what: &str,
        exposed: [Vec<f32>; 3],
        gradient: [Vec<f32>; 3],
        after: &Exposures,
    ) {
        let view = self.view;
        let wide = |rows: &[[f32; 3]]| -> Vec<[f64; 3]> {
            rows.iter().map(|row| row.map(f64::from)).collect()
        };
        let transform = self.before.parameters[view].map(f64::from);
        let (image, of_exposed) = (wide(&self.image), wide(&self.gradient));
        let want_image = twin::apply(&image, &transform);
        let (want_gradient, sums) = twin::backward(&image, &transform, &of_exposed);
        for c in 0..3 {
            let of = |rows: &[[f64; 3]]| -> Vec<f64> { rows.iter().map(|row| row[c]).collect() };
            assert_close(
                &format!("{what}, exposed {c}"),
                exposed[c].clone(),
                of(&want_image),
            );
            assert_close(
                &format!("{what}, gradient {c}"),
                gradient[c].clone(),
                of(&want_gradient),
            );
        }
        let want = twin::step(&self.before, view, &sums, RATE as f64);
        let got = [&after.parameters, &after.first, &after.second].map(|rows| rows[view]);
        for (name, (got, want)) in ["transform", "first moments", "second moments"]
            .into_iter()
            .zip(got.into_iter().zip(want))
        {
            // 1 - 0.999 is 1.3e-5 off in f32.
            let scale = if name == "second moments" { 0.1 } else { 1.0 };
            let error = got.iter().zip(&want).map(|(&g, w)| (g as f64 - w).abs());
            let size = want.iter().fold(0.0f64, |most, v| most.max(v.abs()));
            let worst = error.fold(0.0, f64::max) / size;
            assert!(worst * scale <= 2e-6, "{what}, {name}: {worst:.1e}");
        }
        let mut others = after.clone();
        assert_eq!(others.seen[view], self.before.seen[view] + 1, "{what}");
        others.seen[view] -= 1;
        others.parameters[view] = self.before.parameters[view];
        others.first[view] = self.before.first[view];
        others.second[view] = self.before.second[view];
        assert!(others == self.before, "{what}: another view changed");
    }
}

/// One pixel; less and more than a block's 2048 pixels; more than a warp of blocks.
const SIZES: [(usize, usize); 5] = [(1, 0), (1999, 3), (2049, 69), (65_537, 33), (90_000, 1)];

#[test]
fn the_cpu_matches_the_twin() {
    for (pixels, view) in SIZES {
        let step = Step::new(pixels, view);
        let (colour, mut gradient) = (planes(&step.image), planes(&step.gradient));
        let mut after = step.before.clone();
        let mut exposed = cpu::Exposed::default();
        let transform = after.parameters[view];
        exposed.apply(&transform, &colour);
        let sums = exposed.backward(&transform, &colour, &mut gradient);
        cpu::update(&mut after, view, &sums, RATE);
        step.check(&format!("{pixels} pixels"), exposed.image, gradient, &after);
    }
}

#[test]
fn the_kernels_match_the_twin_and_stand_still_when_halted() {
    let Some(device) = device() else { return };
    let kernels = Kernels::new(device.clone());
    let queue = Queue::new(device.clone());
    let mut exposed = Exposed::new(&device, VIEWS).unwrap();
    assert!(exposed.parameters().unwrap().is_empty());
    for (pixels, view) in SIZES {
        let step = Step::new(pixels, view);
        exposed.replace(&step.before).unwrap();
        assert!(exposed.download().unwrap() == step.before);
        let image = Buffer::from_slice(&device, "image", &planes(&step.image).concat()).unwrap();
        let gradient =
            Buffer::from_slice(&device, "gradient", &planes(&step.gradient).concat()).unwrap();
        let from = |address: &Buffer| -> [Vec<f32>; 3] {
            let all: Vec<f32> = address.to_vec(3 * pixels).unwrap();
            [0, 1, 2].map(|c| all[c * pixels..(c + 1) * pixels].to_vec())
        };
        for overflowed in [1, 0] {
            let counters = Counters {
                overflowed,
                ..Counters::default()
            };
            let counters = Buffer::from_slice(&device, "counters", &[counters]).unwrap();
            let (at, of) = (counters.address(), gradient.address());
            let address = exposed
                .expose(&queue, &kernels, image.address(), pixels, (0, view), at)
                .unwrap();
            let mut result = vec![[0u8; 4]; 3 * pixels];
            device.synchronize().unwrap();
            exposed
                .backward(&queue, &kernels, image.address(), of, (0, view), at)
                .unwrap();
            exposed
                .update(&queue, &kernels, (0, view), RATE, at)
                .unwrap();
            device.synchronize().unwrap();
            if overflowed == 1 {
                assert!(
                    exposed.download().unwrap() == step.before,
                    "it did not stand still"
                );
                assert!(
                    from(&gradient) == planes(&step.gradient),
                    "it did not stand still"
                );
                continue;
            }
            // SAFETY: `expose` wrote so many numbers there.
            unsafe { device.download(result.as_flattened_mut(), address) }.unwrap();
            let result: Vec<f32> = result.into_iter().map(f32::from_ne_bytes).collect();
            let result = [0, 1, 2].map(|c| result[c * pixels..(c + 1) * pixels].to_vec());
            let after = exposed.download().unwrap();
            step.check(&format!("{pixels} pixels"), result, from(&gradient), &after);
        }
    }
}
