//! Compact moments: formats and their rounding on the device, and a learner that keeps its moments
//! so.

mod bytes;
mod small;

use crate::device::{Buffer, Device};
use crate::ops;
use crate::ops::adam::moments::{self, Format};
use crate::tests::support::device::emulated as device;
use crate::{CudaBackend, Moments};
use splatcore_core::backend::{Backend, LearnerState, Refine};
use splatcore_core::{Gaussians, Learner, Pipeline};
use splatcore_reference::conformance::determinism::{
    bits, snapshots_go_on_bit_for_bit, state_bits,
};
use splatcore_reference::conformance::scenes::{random_scene, views};
use splatcore_reference::conformance::step::plan;
use std::ffi::c_void;
use std::ptr::from_mut;
use std::sync::Arc;

const FORMATS: [Format; 3] = [Format::Bf16, Format::Log8, Format::Half];

/// `read`: numbers of stored ones. `rounded`: the sum, in units that make it exact in f64, of a
/// value rounded with each chance there is. `decay`: each thread a number that decays for so many
/// steps with the learner's chances.
const TEXT: &str = r#"
#if FORMAT == 2
struct Half {
    u16 bits;
};
__device__ __forceinline__ float load(Half from) { return half_low(from.bits); }
__device__ __forceinline__ void store(Half& to, float value, u32 chance) {
    to.bits = (u16)pack_half2(rounded_to_half(value, chance), 0.0f);
}
typedef Half Stored;
#elif FORMAT
typedef Log8 Stored;
#else
typedef Bf16 Stored;
#endif
extern "C" __global__ void read(const Stored* from, float* to, u32 count) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) to[i] = load(from[i]);
}
extern "C" __global__ void rounded(const float* values, double* means, u32* kinds, u32 count) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    double sum = 0.0;
    float before = -1.0f;
    kinds[i] = 0;
    for (u32 chance = 0; chance < 65536; ++chance) {
        Stored stored;
        store(stored, values[i], chance);
        float value = load(stored);
        sum += value;
        kinds[i] += value != before;
        before = value;
    }
    means[i] = sum / 65536.0;
}
extern "C" __global__ void decay(Stored* stored, u32 count, u32 first, u32 steps, float factor) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    for (u32 step = first; step < first + steps; ++step) {
        u32 bits = rounding_bits(rounding_key(7, step), i / 64, i % 64);
        store(stored[i], factor * load(stored[i]), FORMAT ? bits >> 16 : bits & 0xffffu);
    }
}
"#;

struct Kernels {
    device: Arc<dyn Device>,
    loaded: Vec<crate::device::Kernel>,
}

impl Kernels {
    fn new(device: &Arc<dyn Device>, format: Format) -> Self {
        let number = match format {
            Format::Half => 2,
            Format::Log8 => 1,
            _ => 0,
        };
        let mut constants = vec![("FORMAT", number.to_string())];
        constants.extend(moments::constants());
        let text = ("moments_test.cu", TEXT);
        let program = ops::program_of_text(
            text,
            &["moments.cuh", "matrix.cuh"],
            constants,
            &["read", "rounded", "decay"],
        );
        Self {
            device: device.clone(),
            loaded: device.load(&program).unwrap(),
        }
    }

    fn launch(&self, kernel: usize, count: u32, arguments: &mut [*mut c_void]) {
        // SAFETY: the callers give each kernel its arguments.
        unsafe {
            self.device
                .launch(self.loaded[kernel], count.div_ceil(64), 64, arguments)
        }
        .unwrap();
    }

    /// What the device reads from stored numbers.
    fn read(&self, stored: &Buffer, count: u32) -> Vec<f32> {
        let to = Buffer::new(&self.device, "numbers", 4 * count as usize).unwrap();
        let (mut from, mut address, mut count) = (stored.address(), to.address(), count);
        let mut arguments = [
            from_mut(&mut from).cast(),
            from_mut(&mut address).cast(),
            from_mut(&mut count).cast(),
        ];
        self.launch(0, count, &mut arguments);
        to.to_vec(count as usize).unwrap()
    }
}

fn decode(format: Format, stored: &[u8]) -> Vec<f32> {
    let mut numbers = vec![0.0; stored.len() / format.bytes()];
    format.decode(stored, &mut numbers);
    numbers
}

/// Host and device read the same from every code.
#[test]
fn the_device_reads_every_code_as_the_host() {
    let Some(device) = device() else { return };
    for format in FORMATS {
        let count = 1u32 << (8 * format.bytes());
        let stored: Vec<u8> = match format {
            Format::Log8 => (0..=255).collect(),
            _ => (0..=u16::MAX).flat_map(u16::to_ne_bytes).collect(),
        };
        let buffer = Buffer::from_slice(&device, "codes", &stored).unwrap();
        let got = Kernels::new(&device, format).read(&buffer, count);
        for (code, (got, want)) in got.iter().zip(decode(format, &stored)).enumerate() {
            let close = match format {
                Format::Log8 => (got - want).abs() <= 3e-7 * want,
                Format::Half if want.is_nan() => got.is_nan(),
                _ => got.to_bits() == want.to_bits(),
            };
            assert!(close, "{format:?}, code {code}: {got:e}, {want:e} is right");
        }
    }
}

/// Over all 65,536 chances the mean is the value itself, and no more than two neighbours occur.
#[test]
fn rounding_by_chance_keeps_the_mean() {
    let Some(device) = device() else { return };
    for format in FORMATS {
        let kernels = Kernels::new(&device, format);
        let bottom = decode(Format::Log8, &[1])[0];
        let mut values = vec![
            0.0,
            0.001 * bottom,
            0.3 * bottom,
            0.999 * bottom,
            bottom,
            1.001 * bottom,
        ];
        values.extend((0..40).map(|k| 1.7e-30 * 4.9f32.powi(k)));
        values.extend([0.999, 1.0, 1.003, 60.0, 63.99, 64.0]);
        if format != Format::Log8 {
            values.extend([-1.0, -1.0037, -3e-20, 1e-41]);
        }
        if format == Format::Half {
            values.extend([-0.7321, 6.1e-5, -6.09e-5, 3.3e-7, 65_503.0, 65_504.0]);
        }
        let count = values.len() as u32;
        let from = Buffer::from_slice(&device, "values", &values).unwrap();
        let to = Buffer::new(&device, "means", 8 * values.len()).unwrap();
        let changes = Buffer::new(&device, "changes", 4 * values.len()).unwrap();
        let (mut a, mut b, mut c, mut n) = (from.address(), to.address(), changes.address(), count);
        let mut arguments = [
            from_mut(&mut a).cast(),
            from_mut(&mut b).cast(),
            from_mut(&mut c).cast(),
            from_mut(&mut n).cast(),
        ];
        kernels.launch(1, count, &mut arguments);
        let means: Vec<f64> = to.to_vec(values.len()).unwrap();
        let changes: Vec<u32> = changes.to_vec(values.len()).unwrap();
        for ((&value, mean), changes) in values.iter().zip(means).zip(changes) {
            // bf16 adds whole chances; of Log8 the gap in 65,536 parts and the errors of log2 and
            // exp2; of the smallest halves the gap in 65,536 parts.
            let value = f64::from(value);
            let tolerance = match format {
                Format::Log8 => (1e-5 * value).max(1e-5 * f64::from(bottom)),
                Format::Half => 4e-12,
                _ => 0.0,
            };
            assert!(
                (mean - value).abs() <= tolerance,
                "{format:?}: {value:e} becomes {mean:e}"
            );
            assert!(
                changes <= 2,
                "{format:?}: {value:e} becomes {changes} values"
            );
        }
    }
}

/// Saturation, and what is not finite.
#[test]
fn extremes_do_not_wrap() {
    let Some(device) = device() else { return };
    let kernels = Kernels::new(&device, Format::Bf16);
    let stored: Vec<u8> = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN]
        .iter()
        .flat_map(|v| Format::Bf16.encode(&[*v]))
        .collect();
    let decayed = |kernels: &Kernels, stored: &[u8], count: u32, factor: f32| {
        let buffer = Buffer::from_slice(&device, "moments", stored).unwrap();
        decay(kernels, &buffer, count, 1, 50, factor);
        kernels.read(&buffer, count)
    };
    let got = decayed(&kernels, &stored, 3, 0.999);
    assert!(
        got[0] == f32::INFINITY && got[1] == f32::NEG_INFINITY && got[2].is_nan(),
        "{got:?}"
    );
    let kernels = Kernels::new(&device, Format::Log8);
    let got = decayed(&kernels, &[255, 250, 1, 0], 4, 4.0);
    assert_eq!(got, [64.0, 64.0, got[2], 0.0]);
    assert!(got[2] > 0.1 && got[2] < 64.0, "{got:?}");
}

fn decay(kernels: &Kernels, stored: &Buffer, count: u32, first: u32, steps: u32, factor: f32) {
    let (mut address, mut n) = (stored.address(), count);
    let (mut first, mut steps, mut factor) = (first, steps, factor);
    let mut arguments = [
        from_mut(&mut address).cast(),
        from_mut(&mut n).cast(),
        from_mut(&mut first).cast(),
        from_mut(&mut steps).cast(),
        from_mut(&mut factor).cast(),
    ];
    kernels.launch(2, count, &mut arguments);
}

/// 0.999 a step, from values all over the range of moments: on average 0.999^n is left.
#[test]
fn decay_is_right_on_average() {
    let Some(device) = device() else { return };
    let count = 12_000u32;
    for format in [Format::Bf16, Format::Log8] {
        let kernels = Kernels::new(&device, format);
        let start: Vec<f32> = (0..count)
            .map(|i| 1e-22 * 2.7f32.powi(i as i32 % 45))
            .collect();
        let stored = format.encode(&start);
        let start = decode(format, &stored);
        let buffer = Buffer::from_slice(&device, "moments", &stored).unwrap();
        for round in 1..=4 {
            let steps = 500;
            decay(&kernels, &buffer, count, round * steps, steps, 0.999);
            let want = 0.999f64.powi((round * steps) as i32);
            let left = kernels.read(&buffer, count);
            let ratios: Vec<f64> = left
                .iter()
                .zip(&start)
                .map(|(l, s)| (l / s) as f64 / want)
                .collect();
            let mean = ratios.iter().sum::<f64>() / count as f64;
            let variance = ratios.iter().map(|r| (r - mean).powi(2)).sum::<f64>() / count as f64;
            let error = (variance / count as f64).sqrt();
            eprintln!(
                "{format:?}: {} steps: {mean:.4} of what is right, {:.1} standard errors; numbers \
                 spread by {:.3}",
                round * steps,
                (mean - 1.0) / error,
                variance.sqrt()
            );
            assert!((mean - 1.0).abs() < 0.03 && (mean - 1.0).abs() < 4.0 * error + 0.003);
            assert!(variance.sqrt() < 1.0);
        }
    }
}

fn backend(device: &Arc<dyn Device>, moments: Moments) -> CudaBackend {
    CudaBackend::on(device.clone(), true).with_moments(moments)
}

#[test]
fn restored_runs_have_equal_bits() {
    let Some(device) = device() else { return };
    snapshots_go_on_bit_for_bit(&backend(&device, Moments::Compact)).unwrap();
}

fn mcmc(step: u32) -> Refine {
    Refine::Mcmc {
        min_opacity: 0.1,
        growth: 0.2,
        max_gaussians: 1000,
        region: None,
        seed: 5,
        step,
    }
}

fn some_steps(learner: &mut dyn Learner, steps: std::ops::RangeInclusive<u32>) {
    for step in steps {
        learner
            .step(&plan(Pipeline::AUTO, step, step as usize % 3))
            .unwrap();
    }
}

/// Refinements move rows and clear them; from moments that both can store, full and compact ones
/// become the same.
#[test]
fn refinements_keep_moments_with_their_rows() {
    let Some(device) = device() else { return };
    let adc = Refine::Adc {
        gradient_threshold: 1e-3,
        split_scale: 0.1,
        min_opacity: 0.1,
        max_scale: None,
        max_gaussians: 260,
        budget: None,
        region: None,
        seed: 5,
        step: 6,
    };
    let mcmc = mcmc(6);
    let views = Arc::new(views());
    for degree in 0..=3 {
        let scene = random_scene(43, 200, degree);
        let mut compact = backend(&device, Moments::Compact)
            .learner(&scene, views.clone())
            .unwrap();
        let mut full = backend(&device, Moments::Full)
            .learner(&scene, views.clone())
            .unwrap();
        some_steps(compact.as_mut(), 1..=6);
        let before = compact.snapshot().unwrap();
        for refine in [&adc, &mcmc, &Refine::ResetOpacity { ceiling: 0.2 }] {
            for learner in [&mut compact, &mut full] {
                learner.restore(&before).unwrap();
            }
            let report = compact.refine(refine).unwrap();
            assert_eq!(report, full.refine(refine).unwrap());
            let after = compact.snapshot().unwrap();
            assert!(
                state_bits(&after) == state_bits(&full.snapshot().unwrap()),
                "degree {degree}: {refine:?}"
            );
            let kept = |state: &LearnerState| {
                state
                    .second
                    .sh
                    .iter()
                    .flatten()
                    .filter(|&&v| v > 0.0)
                    .count()
            };
            assert!(kept(&after) > 100 && (kept(&after) < kept(&before) || report.count == 200));
            // And training goes on.
            some_steps(compact.as_mut(), 7..=8);
        }
    }
}

/// The mean loss of the views after so many steps.
fn loss_after(backend: &CudaBackend, scene: &Gaussians, steps: u32) -> f64 {
    let mut learner = backend.learner(scene, Arc::new(views())).unwrap();
    let mut sum = 0.0;
    for step in 1..=steps {
        let mut plan = plan(Pipeline::AUTO, step, step as usize % 3);
        plan.rates.means = 2e-3;
        plan.rates.sh_base = 1e-2;
        plan.rates.sh_rest = 5e-4;
        learner.step(&plan).unwrap();
        if step + 3 > steps {
            sum += learner.last_loss().unwrap() / 3.0;
        }
    }
    sum
}

#[test]
fn training_gets_as_far_as_with_full_moments() {
    let Some(device) = device() else { return };
    let scene = random_scene(51, 150, 3);
    let [full, compact] =
        [Moments::Full, Moments::Compact].map(|moments| backend(&device, moments));
    let start = loss_after(&full, &scene, 3);
    let (full, compact) = (
        loss_after(&full, &scene, 60),
        loss_after(&compact, &scene, 60),
    );
    eprintln!("loss {start:.5} at first, {full:.5} with full, {compact:.5} with compact moments");
    assert!(full < 0.8 * start, "nothing is learnt here");
    assert!((compact / full - 1.0).abs() < 0.02);
    assert!(compact != full, "moments were not compact");
}

/// A compact learner's snapshot is one for every learner: a full one starts where it ends.
#[test]
fn a_full_learner_takes_over() {
    let Some(device) = device() else { return };
    let (scene, views) = (random_scene(2, 60, 1), Arc::new(views()));
    let mut compact = backend(&device, Moments::Compact)
        .learner(&scene, views.clone())
        .unwrap();
    some_steps(compact.as_mut(), 1..=4);
    let snapshot = compact.snapshot().unwrap();
    let mut full = backend(&device, Moments::Full)
        .learner(&scene, views)
        .unwrap();
    full.restore(&snapshot).unwrap();
    assert!(state_bits(&full.snapshot().unwrap()) == state_bits(&snapshot));
    some_steps(full.as_mut(), 5..=8);
    // Back again: moments are rounded, parameters are not.
    let there = full.snapshot().unwrap();
    compact.restore(&there).unwrap();
    let back = compact.snapshot().unwrap();
    assert!(bits(&back.gaussians) == bits(&there.gaussians));
    for (back, there) in back
        .first
        .sh
        .iter()
        .flatten()
        .zip(there.first.sh.iter().flatten())
    {
        assert!((back - there).abs() <= there.abs() / 256.0);
    }
    for (back, there) in back
        .second
        .sh
        .iter()
        .flatten()
        .zip(there.second.sh.iter().flatten())
    {
        assert!(
            (back - there).abs() <= 0.17 * there + 1.8e-31,
            "{back:e} {there:e}"
        );
    }
}
