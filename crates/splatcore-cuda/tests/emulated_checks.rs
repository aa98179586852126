//! The emulator's checks of memory accesses: planted mistakes that they must find, each with a twin without the mistake, and
//! all of splatcore's kernels, in which they must find none.
//!
//! Every other test of this crate may be run under the checks as well: `SPLATCORE_EMULATOR=checked`.

#![allow(clippy::unwrap_used)] // helpers of tests

mod support;

use splatcore_core::backend::{
    BackendError, Consistency, Learner, LearnerState, Refine, RenderOptions, Scoring, Statistic, StepPlan,
};
use splatcore_core::pipeline::{Backward, Blend, Intersect};
use splatcore_core::{Backend, Gaussians, Image, Pipeline, View};
use splatcore_cpu::conformance::scenes::{odd_camera, random_scene, transparent_views, views};
use splatcore_cpu::conformance::step::plan;
use splatcore_cuda::CudaBackend;
use splatcore_cuda::device::emulated::Emulated;
use splatcore_cuda::device::{Device, DeviceError, Kernel, Program};
use splatcore_cuda::moments::Moments;
use std::ffi::c_void;
use std::ptr::from_mut;
use std::sync::{Arc, Mutex};
use support::camera;

fn checked() -> Option<Emulated> {
    match Emulated::with_checks(true) {
        Ok(device) => Some(device),
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// Kernels of (input, output, how): which mistake is made, if any.
const PLANTED: &str = r#"
extern "C" __global__ void block_barrier(u32* in, u32* out, u32 how) {
    __shared__ u32 tile[64];
    tile[threadIdx.x] = threadIdx.x;
    if (how != 1) __syncthreads();
    out[threadIdx.x] = tile[63 - threadIdx.x];
    if (how == 2) tile[threadIdx.x] = 0;
}
extern "C" __global__ void warp_barrier(u32* in, u32* out, u32 how) {
    __shared__ u32 tile[64];
    u32 lane = threadIdx.x % 32, half = lane / 16 ? 0xffff0000u : 0x0000ffffu;
    tile[threadIdx.x] = 1;
    u32 value = __shfl_xor_sync(FULL_MASK, lane, 31);
    if (how == 0) __syncwarp();
    if (how >= 2) __syncwarp(half);
    value += tile[threadIdx.x ^ (how == 3 ? 15 : 31)];
    out[threadIdx.x] = value;
}
extern "C" __global__ void read_past(u32* in, u32* out, u32 how) { out[threadIdx.x] = in[threadIdx.x + how]; }
extern "C" __global__ void read(u32* in, u32* out, u32 how) { out[threadIdx.x] = in[threadIdx.x]; }
extern "C" __global__ void index(u32* in, u32* out, u32 how) {
    __shared__ u32 tile[2][32];
    tile[threadIdx.x / 32][threadIdx.x % 32 + how] = 1;
    __syncthreads();
    out[threadIdx.x] = tile[1][threadIdx.x % 32];
}
extern "C" __global__ void row(u32* in, u32* out, u32 how) {
    const float4& four = *(const float4*)(in + how);
    if (threadIdx.x == 0) *(float4*)out = four;
}
extern "C" __global__ void bytes(u8* in, u8* out, u32 how) { out[threadIdx.x >> how] = in[threadIdx.x]; }
extern "C" __global__ void local(u32* in, u32* out, u32 how) {
    __shared__ u32* someones;
    u32 own[2] = {1, 2};
    if (threadIdx.x == 0) someones = own;
    __syncthreads();
    if (how || threadIdx.x == 0) out[threadIdx.x] = someones[how];
    __syncthreads();
}
extern "C" __global__ void two_blocks(u32* in, u32* out, u32 how) {
    if (how) *out += 1;
    else atomicAdd(out, 1u);
}
// Every block adds to what the one before it left. 1: no fence before the flag, 2: none after it, 3: no barrier.
extern "C" __global__ void chain(u32* in, u32* out, u32 how) {
    u32* flags = in;
    u32* own = out + 64 * blockIdx.x;
    u32 before = 0;
    if (blockIdx.x > 0) {
        while (observe(flags + blockIdx.x - 1) == 0) __nanosleep(1);
        if (how != 2) __threadfence();
        before = (own - 64)[63 - threadIdx.x] + (blockIdx.x > 1 ? out[threadIdx.x] : 0);
    }
    own[threadIdx.x] = before + 1;
    if (how != 3) __syncthreads();
    if (threadIdx.x == 0) {
        if (how != 1) __threadfence();
        publish(flags + blockIdx.x, 1);
    }
}
// The last block to arrive adds up what all have written.
extern "C" __global__ void last_block(u32* in, u32* out, u32 how) {
    __shared__ u32 arrived;
    out[64 * blockIdx.x + threadIdx.x] = 1;
    if (how != 1) __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
        arrived = atomicAdd(in, 1u);
        if (how != 2) __threadfence();
    }
    __syncthreads();
    if (arrived + 1 < gridDim.x) return;
    u32 sum = 0;
    for (u32 b = 0; b < gridDim.x; ++b) sum += out[64 * b + threadIdx.x];
    out[threadIdx.x] = sum;
}
extern "C" __global__ void copy(u32* in, u32* out, u32 how) {
    __shared__ u32 tile[64];
    copy_async_4(tile + threadIdx.x, in + threadIdx.x);
    copy_async_commit();
    if (how == 1) __syncthreads();
    copy_async_wait<0>();
    if (how != 1) __syncthreads();
    out[threadIdx.x] = tile[63 - threadIdx.x];
}
extern "C" __global__ void matrix(u32* in, u32* out, u32 how) {
    __shared__ __align__(16) u32 tile[32 * 4];
    for (u32 k = 0; k < 4; ++k) tile[4 * threadIdx.x + k] = k;
    if (how != 1) __syncwarp();
    u32 r[4];
    load_matrix_x4(r, tile + 4 * (31 - threadIdx.x));
    out[threadIdx.x] = r[0] + r[3];
}
"#;

const NAMES: &[&str] = &[
    "block_barrier",
    "warp_barrier",
    "read_past",
    "read",
    "index",
    "row",
    "bytes",
    "local",
    "two_blocks",
    "chain",
    "last_block",
    "copy",
    "matrix",
];

/// A kernel of its own, so that nothing but its array is in shared memory.
const POINTER: &str = r#"
extern "C" __global__ void pointer(u32* in, u32* out, u32 how) {
    __shared__ u32 tile[64];
    u32* moved = tile + (how == 1 ? 1 : how == 2 ? -1 : 0);
    moved[threadIdx.x] = 1;
    __syncthreads();
    out[threadIdx.x] = tile[0];
}"#;

const WORDS: usize = 256;

/// Kernels of one text on one device.
struct Planted {
    device: Emulated,
    kernels: Vec<Kernel>,
    names: &'static [&'static str],
}

impl Planted {
    fn new(device: Emulated, text: &'static str, names: &'static [&'static str]) -> Self {
        let program = Program {
            op: "planted",
            files: vec![
                ("matrix.cuh", include_str!("../kernels/matrix.cuh")),
                ("planted.cu", text),
            ],
            constants: vec![],
            kernels: names,
        };
        let kernels = device.load(&program).unwrap();
        Self {
            device,
            kernels,
            names,
        }
    }

    /// Launches on zeroed memory, or with an input that was given back.
    fn run(
        &self,
        name: &str,
        (grid, block): (u32, u32),
        mut how: u32,
        gone: bool,
    ) -> Result<(), DeviceError> {
        let kernel = self.kernels[self.names.iter().position(|known| *known == name).unwrap()];
        let [mut input, mut output] = [(); 2].map(|()| self.device.allocate(4 * WORDS).unwrap());
        let mut arguments: [*mut c_void; 3] = [
            from_mut(&mut input).cast(),
            from_mut(&mut output).cast(),
            from_mut(&mut how).cast(),
        ];
        // SAFETY: the kernels take these, and the checks stop them before they do harm.
        unsafe {
            self.device.fill(input, 0, 4 * WORDS).unwrap();
            self.device.fill(output, 0, 4 * WORDS).unwrap();
            if gone {
                self.device.release(input);
            }
            let result = self.device.launch(kernel, grid, block, &mut arguments);
            if !gone {
                self.device.release(input);
            }
            self.device.release(output);
            result
        }
    }

    /// In both orders of threads: the mistake is found, with these words; without it the kernel runs.
    fn expect(&self, name: &str, shape: (u32, u32), how: u32, gone: bool, words: &[&str]) {
        for backward in [false, true] {
            self.device.set_backward(backward);
            let message = match self.run(name, shape, how, gone) {
                Ok(()) => String::new(),
                Err(error) => error.to_string(),
            };
            let said = words.iter().all(|word| message.contains(word));
            assert!(
                said && words.is_empty() == message.is_empty(),
                "{name}, {how}, backward {backward}: '{message}' should have said {words:?}"
            );
        }
    }
}

#[test]
fn planted_mistakes_are_found() {
    let Some(device) = checked() else { return };
    let planted = Planted::new(device, PLANTED, NAMES);
    let of_block = |name, how, words: &[&str]| planted.expect(name, (1, 64), how, false, words);

    of_block("block_barrier", 0, &[]);
    of_block(
        "block_barrier",
        1,
        &["race", "no __syncthreads between", "planted.cu:4"],
    );
    of_block(
        "block_barrier",
        2,
        &["race", "no __syncthreads between", "planted.cu:6", "planted.cu:7"],
    );

    of_block("warp_barrier", 0, &[]);
    of_block(
        "warp_barrier",
        1,
        &["race", "no __syncwarp between", "planted.cu:12"],
    );
    of_block("warp_barrier", 2, &["race", "no __syncwarp between"]);
    of_block("warp_barrier", 3, &[]);

    planted.expect("read_past", (1, 256), 0, false, &[]);
    let past = "reads 4 bytes that begin 0 bytes after the end of the 1024 bytes at 0x";
    planted.expect(
        "read_past",
        (1, 256),
        1,
        false,
        &["block 0, thread 255", past, "(argument 1) (planted.cu:19)"],
    );
    planted.expect("read_past", (1, 256), 100_000_000, false, &["reads 4 bytes"]);

    of_block("read", 0, &[]);
    let gone = [
        "byte ",
        "of the 1024 bytes at 0x",
        "(argument 1), which were given back",
        "planted.cu:20",
    ];
    planted.expect("read", (1, 64), 0, true, &gone);

    of_block("index", 0, &[]);
    of_block("index", 1, &["index 32 is not one of", "[32]", "planted.cu:23"]);
    of_block("row", 0, &[]);
    of_block(
        "row",
        1,
        &["is not aligned to 16 bytes", "float4", "planted.cu:28"],
    );
    of_block("bytes", 0, &[]);
    of_block("bytes", 1, &["race", "no __syncwarp between", "planted.cu:31"]);
    of_block("local", 0, &[]);
    of_block("local", 1, &["of another thread's local memory", "planted.cu:37"]);

    let blocks = |name, how, words: &[&str]| planted.expect(name, (4, 64), how, false, words);
    planted.expect("two_blocks", (3, 1), 0, false, &[]);
    planted.expect(
        "two_blocks",
        (3, 1),
        1,
        false,
        &["race", "block 1, thread 0", "of block 0", "planted.cu:41"],
    );
    blocks("chain", 0, &[]);
    for how in [1, 2, 3] {
        blocks(
            "chain",
            how,
            &["race", "of block ", "no fences and a flag between"],
        );
    }
    blocks("last_block", 0, &[]);
    for how in [1, 2] {
        blocks(
            "last_block",
            how,
            &["race", "of block ", "no fences and a flag between"],
        );
    }

    of_block("copy", 0, &[]);
    of_block("copy", 1, &["race", "no __syncthreads between", "planted.cu:79"]);
    planted.expect("matrix", (1, 32), 0, false, &[]);
    planted.expect(
        "matrix",
        (1, 32),
        1,
        false,
        &["race", "no __syncwarp between", "planted.cu:88"],
    );
}

#[test]
fn shared_memory_ends_where_its_variables_end() {
    let Some(device) = checked() else { return };
    let planted = Planted::new(device, POINTER, &["pointer"]);
    planted.expect("pointer", (1, 64), 0, false, &[]);
    planted.expect(
        "pointer",
        (1, 64),
        1,
        false,
        &[
            "after the end of the block's 256 bytes of shared memory",
            "planted.cu:5",
        ],
    );
    planted.expect(
        "pointer",
        (1, 64),
        2,
        false,
        &["begin 4 bytes before the block's 256 bytes of shared memory"],
    );
}

/// The message of what is wrong beside buffers that another kernel has, and that the next launch is fine.
#[test]
fn a_launch_that_fails_leaves_nothing_behind() {
    let Some(device) = checked() else { return };
    let planted = Planted::new(device, PLANTED, NAMES);
    for _ in 0..3 {
        assert!(planted.run("chain", (4, 64), 1, false).is_err());
        planted.run("chain", (4, 64), 0, false).unwrap();
        assert!(planted.run("read", (1, 64), 0, true).is_err());
        planted.run("read", (1, 64), 0, false).unwrap();
    }
}

// --- splatcore's kernels.

type Said = Result<(), BackendError>;

/// Something to run, with its name.
type Job = (String, Box<dyn Fn(&CudaBackend) -> Said + Send + Sync>);

fn options(pipeline: Pipeline) -> RenderOptions {
    RenderOptions {
        pipeline,
        ..RenderOptions::default()
    }
}

fn all_ones(width: u32, height: u32) -> Image {
    Image::filled(width, height, [1.0; 3])
}

/// Gaussians of all kinds, some in more tiles than fit one list, so many that several blocks share them, and so many of them
/// out of view that some blocks have none.
fn scene() -> Gaussians {
    let mut scene = random_scene(5, 600, 1);
    for mean in &mut scene.means[320..] {
        *mean = [4.0, -2.0, -12.0];
    }
    for i in [3, 20, 77] {
        scene.means[i] = [0.1, -0.2, 0.01 * i as f32];
        scene.log_scales[i] = [0.7; 3];
    }
    scene
}

/// Of a picture with lists that are long where kernels tell them from others.
fn size(pipeline: Pipeline) -> [u32; 2] {
    match (pipeline.intersect, pipeline.blend) {
        (Intersect::Exact, Blend::Scalar | Blend::Splatcore | Blend::TensorGs2x2 | Blend::TensorGs4x4) => {
            [150, 100]
        }
        _ => [70, 45],
    }
}

fn picture(pipeline: Pipeline, change: fn(&mut RenderOptions)) -> Job {
    let run = move |backend: &CudaBackend| {
        let mut options = options(pipeline);
        change(&mut options);
        let [width, height] = size(pipeline);
        let mut renderer = backend.renderer(&scene())?;
        renderer
            .render(&odd_camera(width, height, 0.3), &options)
            .map(drop)
    };
    (format!("picture by {pipeline}"), Box::new(run))
}

fn gradients(pipeline: Pipeline, change: fn(&mut RenderOptions)) -> Job {
    let run = move |backend: &CudaBackend| {
        let mut options = options(pipeline);
        change(&mut options);
        let [width, height] = size(pipeline);
        let mut renderer = backend.renderer(&scene())?;
        let camera = odd_camera(width, height, 0.3);
        renderer
            .gradients(&camera, &options, &all_ones(width, height))
            .map(drop)
    };
    (format!("gradients by {pipeline}"), Box::new(run))
}

fn counts(blend: Blend) -> Job {
    let pipeline = Pipeline {
        intersect: Intersect::Exact,
        blend,
        backward: blend.backward(),
    };
    let run = move |backend: &CudaBackend| {
        let mut renderer = backend.renderer(&scene())?;
        renderer
            .counts(&odd_camera(70, 45, 0.3), &options(pipeline))
            .map(drop)
    };
    (format!("counts by {pipeline}"), Box::new(run))
}

/// Steps and refinements.
fn steps(
    name: &str,
    views: fn() -> Vec<View>,
    before: fn(&mut dyn Learner) -> Said,
    change: fn(&mut StepPlan),
    after: fn(&mut dyn Learner) -> Said,
) -> Job {
    let run = move |backend: &CudaBackend| {
        let mut learner = backend.learner(&scene(), Arc::new(views()))?;
        before(learner.as_mut())?;
        for step in 1..=3 {
            let mut plan = plan(Pipeline::AUTO, step, step as usize % 3);
            change(&mut plan);
            learner.step(&plan)?;
        }
        after(learner.as_mut())?;
        let state: LearnerState = learner.snapshot()?;
        learner.restore(&state)?;
        let mut plan = plan(Pipeline::AUTO, 4, 0);
        change(&mut plan);
        learner.step(&plan)?;
        learner.last_loss().map(drop)
    };
    (format!("steps {name}"), Box::new(run))
}

fn nothing(_: &mut dyn Learner) -> Said {
    Ok(())
}

fn scoring(exposure: bool) -> Scoring {
    Scoring {
        views: 2,
        render: options(Pipeline::AUTO),
        scale: 1,
        exposure,
        error_threshold: 0.25,
        seed: 3,
        step: 100,
    }
}

fn adc(learner: &mut dyn Learner) -> Said {
    let refine = |max_gaussians, consistency| Refine::Adc {
        gradient_threshold: 1e-6,
        split_scale: 0.1,
        min_opacity: 0.005,
        max_scale: Some(10.0),
        max_gaussians,
        consistency,
        seed: 7,
        step: 100,
    };
    learner.refine(&refine(1000, None))?;
    learner.step(&plan(Pipeline::AUTO, 4, 1))?;
    let consistency = Consistency {
        scoring: scoring(false),
        min_bad: 0.1,
    };
    let limit = learner.count() + 20;
    learner.refine(&refine(limit, Some(consistency)))?;
    learner.refine(&Refine::Prune {
        scoring: scoring(false),
        min_importance: 0.5,
        max_bad_share: 0.9,
    })?;
    learner.refine(&Refine::ResetOpacity { ceiling: 0.01 })?;
    Ok(())
}

fn mcmc(learner: &mut dyn Learner) -> Said {
    for step in [100, 200] {
        learner.refine(&Refine::Mcmc {
            min_opacity: 0.2,
            growth: 0.2,
            max_gaussians: 1000,
            seed: 7,
            step,
        })?;
    }
    Ok(())
}

fn jobs() -> Vec<Job> {
    let all = std::env::var("SPLATCORE_PIPELINES").is_ok_and(|wish| wish == "all");
    let with = |intersect, blend: Blend| Pipeline {
        intersect,
        blend,
        backward: blend.backward(),
    };
    let mut jobs = vec![
        steps("plain", views, nothing, |_| {}, adc),
        steps(
            "mcmc",
            views,
            nothing,
            |plan| {
                plan.noise = Some(0.05);
                (
                    plan.opacity_regulariser,
                    plan.scale_regulariser,
                    plan.sh_regulariser,
                ) = (0.01, 0.01, 0.1);
                plan.statistics = None;
            },
            mcmc,
        ),
        steps(
            "exposure",
            transparent_views,
            nothing,
            |plan| plan.exposure = Some(0.01),
            |learner| {
                learner.refine(&Refine::Prune {
                    scoring: scoring(true),
                    min_importance: 0.5,
                    max_bad_share: 0.9,
                })?;
                Ok(())
            },
        ),
        steps(
            "sparse, reduced",
            views,
            nothing,
            |plan| (plan.sparse_adam, plan.scale) = (true, 2),
            |learner| {
                learner.refine(&Refine::PruneFloaters {
                    render: options(Pipeline::AUTO),
                    depth_share: 0.8,
                })?;
                Ok(())
            },
        ),
        steps(
            "antialiased",
            views,
            |learner| learner.refine(&Refine::SmoothingFilter).map(drop),
            |plan| {
                plan.render.antialias = true;
                plan.statistics = Some(Statistic::Absolute);
            },
            |learner| {
                learner.refine(&Refine::LimitScales { share: 0.02 })?;
                learner.refine(&Refine::ResetOpacity { ceiling: 0.01 }).map(drop)
            },
        ),
    ];
    jobs.extend(
        Blend::ALL
            .iter()
            .map(|&blend| picture(with(Intersect::Exact, blend), |_| {})),
    );
    jobs.extend([Blend::Splatcore, Blend::Scalar, Blend::Subtile].map(|blend| {
        picture(with(Intersect::Exact, blend), |options| {
            options.inverse_depth = true
        })
    }));
    jobs.push(picture(Pipeline::AUTO, |options| options.antialias = true));
    jobs.extend(Backward::ALL.iter().map(|&backward| {
        let pipeline = Pipeline {
            backward,
            ..with(Intersect::Exact, Blend::Scalar)
        };
        gradients(pipeline, |_| {})
    }));
    jobs.push(gradients(
        Pipeline {
            backward: Backward::GaussianParallel,
            ..with(Intersect::Exact, Blend::Subtile)
        },
        |_| {},
    ));
    jobs.extend([Blend::Scalar, Blend::Subtile].map(counts));
    for &intersect in Intersect::ALL {
        if intersect != Intersect::Exact {
            jobs.push(picture(with(intersect, Blend::Scalar), |_| {}));
        }
        if all {
            let blends = [Blend::Splatcore, Blend::TensorGs2x2, Blend::TensorGs4x4];
            jobs.extend(blends.map(|blend| picture(with(intersect, blend), |_| {})));
        }
    }
    if all {
        jobs.extend(Blend::ALL.iter().map(|&blend| counts(blend)));
    }
    let half = |backend: &CudaBackend| {
        let mut renderer = backend.clone().with_half_scene(true).renderer(&scene())?;
        renderer
            .render(&camera(40, 30), &options(Pipeline::AUTO))
            .map(drop)
    };
    jobs.push(("picture of a half scene".into(), Box::new(half)));
    for inverse_depth in [false, true] {
        let large = move |backend: &CudaBackend| {
            let backend = backend.clone().with_large_pictures_from(0);
            let mut options = options(Pipeline::AUTO);
            options.inverse_depth = inverse_depth;
            let mut renderer = backend.renderer(&scene())?;
            renderer.render(&camera(40, 30), &options).map(drop)
        };
        let name = format!("picture as if it were large, depth {inverse_depth}");
        jobs.push((name, Box::new(large)));
    }
    let compact = |backend: &CudaBackend| {
        let backend = backend.clone().with_moments(Moments::Compact);
        let mut learner = backend.learner(&scene(), Arc::new(views()))?;
        for step in 1..=2 {
            learner.step(&plan(Pipeline::AUTO, step, 0))?;
        }
        adc(learner.as_mut())?;
        learner.snapshot().map(drop)
    };
    jobs.push(("steps with compact moments".into(), Box::new(compact)));
    jobs
}

/// `SPLATCORE_PIPELINES=all` for more pairs of methods, `SPLATCORE_CHECK=mcmc` for the jobs with that in their names.
#[test]
fn no_kernel_of_splatcore_makes_one() {
    let Some(device) = checked() else { return };
    let backend = CudaBackend::on(Arc::new(device), false);
    let only = std::env::var("SPLATCORE_CHECK").unwrap_or_default();
    let jobs = jobs();
    let left = Mutex::new(jobs.iter().filter(|(name, _)| name.contains(&only)));
    let failures = Mutex::new(Vec::new());
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    // Threads of their own: one of rayon's could begin a second job while it waits in the first.
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let Some((name, job)) = left.lock().unwrap().next() else {
                        break;
                    };
                    let start = std::time::Instant::now();
                    let said = job(&backend);
                    let words = said.as_ref().err().map_or("ok".into(), ToString::to_string);
                    eprintln!("{:6.1} s  {name}: {words}", start.elapsed().as_secs_f64());
                    if said.is_err() {
                        failures.lock().unwrap().push(format!("{name}: {words}"));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
