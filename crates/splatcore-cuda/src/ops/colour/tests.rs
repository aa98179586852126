//! The kernels of colour models and the CPU's op against the f64 twin, on images of many blocks;
//! the kernels run on the processor.

use crate::device::Buffer;
use crate::device::Kernels;
use crate::device::queue::Queue;
use crate::ops::colour::{Coloured, ColouredFrame, is_grid};
use crate::ops::counters::Counters;
use crate::tests::support::device::emulated as device;
use splatcore_core::Camera;
use splatcore_core::colour::{self, ColourModel, ColourPlan, ColourState, ColourTable};
use splatcore_core::random::Rng;
use splatcore_cpu::colour as cpu;
use splatcore_reference::twin::colour::{self as twin, Look};

/// More views than a warp has lanes.
const VIEWS: usize = 70;
const CAMERAS: usize = 3;
const BACKGROUND: [f32; 3] = [0.2, 0.9, 0.5];

fn camera_of(view: usize) -> usize {
    view % CAMERAS
}

fn cameras() -> Vec<usize> {
    (0..VIEWS).map(camera_of).collect()
}

/// All in mid-training.
fn colours(model: ColourModel, rng: &mut Rng) -> ColourState {
    let mut table = |rows: usize, start: &[f32]| {
        let mut table = ColourTable::fresh(rows, start);
        let mut spread = |numbers: &mut [f32], size: f32| {
            numbers.iter_mut().for_each(|n| *n += size * rng.normal());
        };
        spread(&mut table.parameters, 0.2);
        spread(&mut table.first, 1e-2);
        spread(&mut table.second, 1e-2);
        table.second.iter_mut().for_each(|v| *v *= *v);
        let seen = table.seen.iter_mut().enumerate();
        seen.for_each(|(row, seen)| *seen = (row * row) as u32);
        table
    };
    let entry = model.entry();
    ColourState {
        model: Some(model),
        photos: table(VIEWS, entry.photo),
        cameras: table(CAMERAS, entry.camera),
    }
}

fn planes(rows: &[[f32; 3]]) -> [Vec<f32>; 3] {
    [0, 1, 2].map(|c: usize| rows.iter().map(|row| row[c]).collect())
}

/// Relative to the size of the whole.
fn assert_close(what: &str, got: &[f32], want: &[f64], bound: f64) {
    assert_eq!(got.len(), want.len(), "{what}");
    let pairs = got.iter().zip(want);
    let error: f64 = pairs
        .map(|(&got, want)| (f64::from(got) - want).powi(2))
        .sum();
    let size: f64 = want.iter().map(|want| want * want).sum();
    let relative = (error / size.max(1e-30)).sqrt();
    assert!(relative <= bound, "{what}: relative L2 {relative:.1e}");
}

/// All of a step: what the loss sees, gradients, the sums through the update.
struct Step {
    size: [u32; 2],
    image: Vec<[f32; 3]>,
    gradient: Vec<[f32; 3]>,
    before: ColourState,
    view: usize,
    plan: ColourPlan,
}

impl Step {
    fn new(model: ColourModel, size: [u32; 2], view: usize) -> Self {
        let pixels = (size[0] * size[1]) as usize;
        let mut rng = Rng::new(pixels as u64, 71);
        let image = (0..pixels)
            .map(|_| [0; 3].map(|_| 0.9 * rng.uniform()))
            .collect();
        // Mostly of one sign, as where the exposure is wrong; some ignored.
        let gradient = (0..pixels)
            .map(|i| [0; 3].map(|_| if i % 5 == 4 { 0.0 } else { rng.normal() + 0.5 }))
            .collect();
        Self {
            size,
            image,
            gradient,
            before: colours(model, &mut rng),
            view,
            plan: ColourPlan {
                model,
                photo_rate: 0.004,
                camera_rate: 0.002,
            },
        }
    }

    fn check(&self, what: &str, seen: [Vec<f32>; 3], by: [Vec<f32>; 3], after: &ColourState) {
        let rows = (self.view, camera_of(self.view));
        let wide = |rows: &[[f32; 3]]| -> Vec<[f64; 3]> {
            rows.iter().map(|row| row.map(f64::from)).collect()
        };
        let look = Look::of(self.plan.model, &self.before, rows, self.size);
        let (image, by_seen) = (wide(&self.image), wide(&self.gradient));
        let want_seen = twin::apply(&image, &look);
        let (want_by, of_numbers) = twin::backward(&image, &look, &by_seen);
        for c in 0..3 {
            let of = |rows: &[[f64; 3]]| -> Vec<f64> { rows.iter().map(|row| row[c]).collect() };
            assert_close(
                &format!("{what}, seen {c}"),
                &seen[c],
                &of(&want_seen),
                2e-6,
            );
            assert_close(
                &format!("{what}, gradient {c}"),
                &by[c],
                &of(&want_by),
                4e-6,
            );
        }
        let want = twin::step(&self.before, rows, &of_numbers, &self.plan);
        for (name, want, got) in [
            ("photos", &want.photos, &after.photos),
            ("cameras", &want.cameras, &after.cameras),
        ] {
            assert_eq!(want.seen, got.seen, "{what}, {name}");
            for (part, want, got, bound) in [
                ("numbers", &want.parameters, &got.parameters, 2e-6),
                ("first moments", &want.first, &got.first, 2e-6),
                // 1 - 0.999 is 1.3e-5 off in f32.
                ("second moments", &want.second, &got.second, 2e-5),
            ] {
                let want: Vec<f64> = want.iter().map(|&v| v.into()).collect();
                assert_close(&format!("{what}, {name}, {part}"), got, &want, bound);
            }
        }
    }
}

/// One pixel; less and more than a block's 2048 pixels; more than a warp of blocks, but for a grid,
/// whose sums are not over blocks and whose twin is slow.
fn sizes(model: ColourModel) -> [([u32; 2], usize); 5] {
    let [large, square] = match is_grid(model) {
        true => [[101, 53], [64, 64]],
        false => [[331, 198], [300, 300]],
    };
    [
        ([1, 1], 0),
        ([1999, 1], 3),
        ([683, 3], 69),
        (large, 33),
        (square, 1),
    ]
}

#[test]
fn the_cpu_matches_the_twin() {
    for model in ColourModel::ALL {
        for (size, view) in sizes(model) {
            let step = Step::new(model, size, view);
            let (rendered, mut gradient) = (planes(&step.image), planes(&step.gradient));
            let mut after = step.before.clone();
            let mut coloured = cpu::Coloured::default();
            let look = colour::Look::of(model, &after, view, camera_of(view));
            let [width, height] = size;
            let camera = Camera::look_at(
                [0.0; 3],
                [0.0, 0.0, 1.0],
                [0.0, -1.0, 0.0],
                1.0,
                width,
                height,
            );
            coloured.apply(&look, &camera, &rendered);
            let of_numbers = coloured.backward(&look, &camera, &rendered, &mut gradient);
            cpu::update(&mut after, &cameras(), &step.plan, &[(view, of_numbers)]);
            step.check(
                &format!("{model}, {size:?}"),
                coloured.image,
                gradient,
                &after,
            );
        }
    }
}

#[test]
fn the_kernels_match_the_twin_and_stand_still_when_halted() {
    let Some(device) = device() else { return };
    let kernels = Kernels::new(device.clone());
    let queue = Queue::new(device.clone());
    let mut coloured = Coloured::new(&device, cameras()).unwrap();
    assert!(coloured.download().unwrap().is_empty());
    for model in ColourModel::ALL {
        for (size, view) in sizes(model) {
            let step = Step::new(model, size, view);
            let pixels = step.image.len();
            coloured.replace(&step.before).unwrap();
            assert!(coloured.download().unwrap() == step.before);
            let image = planes(&step.image).concat();
            let image = Buffer::from_slice(&device, "image", &image).unwrap();
            let gradient = planes(&step.gradient).concat();
            let gradient = Buffer::from_slice(&device, "gradient", &gradient).unwrap();
            let split = |all: Vec<f32>| -> [Vec<f32>; 3] {
                [0, 1, 2].map(|c| all[c * pixels..(c + 1) * pixels].to_vec())
            };
            for overflowed in [1, 0] {
                let counters = Counters {
                    overflowed,
                    ..Counters::default()
                };
                let counters = Buffer::from_slice(&device, "counters", &[counters]).unwrap();
                let frame = ColouredFrame {
                    index: 0,
                    view,
                    size,
                    image: image.address(),
                    counters: counters.address(),
                };
                let at = (&queue, &kernels);
                let [seen, behind] = coloured.apply(at, model, &frame, BACKGROUND).unwrap();
                device.synchronize().unwrap();
                coloured
                    .backward(at, model, &frame, gradient.address())
                    .unwrap();
                coloured
                    .update(at, &step.plan, (0, view), frame.counters)
                    .unwrap();
                device.synchronize().unwrap();
                let by = split(gradient.to_vec(3 * pixels).unwrap());
                if overflowed == 1 {
                    let still = coloured.download().unwrap() == step.before;
                    assert!(
                        still && by == planes(&step.gradient),
                        "it did not stand still"
                    );
                    continue;
                }
                let numbers = |address, count: usize| -> Vec<f32> {
                    let mut bytes = vec![[0u8; 4]; count];
                    // SAFETY: `apply` wrote so many numbers there.
                    unsafe { device.download(bytes.as_flattened_mut(), address) }.unwrap();
                    bytes.into_iter().map(f32::from_ne_bytes).collect()
                };
                let after = coloured.download().unwrap();
                let what = format!("{model}, {size:?}");
                step.check(&what, split(numbers(seen, 3 * pixels)), by, &after);
                let camera = step.before.cameras.row(camera_of(view));
                let factors = model.entry().factors(step.before.photos.row(view), camera);
                let want = model.entry().of_colour(&factors, BACKGROUND);
                for (got, want) in numbers(behind, 3).iter().zip(want) {
                    let bound = if model == ColourModel::Affine {
                        0.0
                    } else {
                        1e-6
                    };
                    assert!((got - want).abs() <= bound, "{what}: {got} {want}");
                }
            }
        }
    }
}
