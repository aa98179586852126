//! Does a CUDA graph make a training step faster? `graph_times [GAUSSIANS WIDTHxHEIGHT]`; without
//! arguments 220,000 Gaussians at 1080x1920, where kernels dominate, and 100,000 at 400x266, where
//! launches do. Synthetic scenes, no data set needed.
//!
//! A step is some 25 launches and fills in one stream. Between two of them a card stands still for
//! about a microsecond, and the host needs two or so to issue one. Measured, microseconds of the
//! clock a step, and those in which the host is busy (whatever is left of the step, it has for
//! other work):
//!
//! - *as in training*: steps one after the other, with the look at the counters every 16 steps;
//! - *launched one by one*: bursts of 15 steps and a wait, as the next two, so that the three
//!   compare;
//! - *one graph, always the same*: a step captured once, launched again and again with the
//!   arguments it was captured with: the most that a graph can gain;
//! - *captured and updated anew*: each step captured, the graph of the last one updated with it
//!   (`cuGraphExecUpdate`), and launched: what a graph gains without a change to any kernel;
//! - *sum of the stages*, each step waited for, by events: what the kernels take, with the gaps
//!   within stages.
//!
//! Then what one launch of an empty kernel costs, by itself and as a node of a graph; what the
//! driver takes of the host's time, and what is ours (a device that does nothing takes the card's
//! place; that part needs no card).
//!
//! PREDICTION for an H200: gaps of 1 to 2 us shrink to about 1 us in a graph, so 25 launches gain
//! 15 to 30 us a step: of 900 us at 1080x1920 not worth its complexity (3 %), of 150 us at 400x266
//! up to a fifth. Host: 25 x 2 us = 50 us a step one by one, 5 to 10 us for a graph always the
//! same, about 60 us for one captured and updated anew (capturing costs what launching does). So
//! the host is no bound unless a step takes less than 50 us. Measured on an H200: 1119 us as in
//! training, 1123 one by one, 1095 as one graph, 1101 captured anew; at 400x266 258, 259, 232 and
//! 234. Host 82, 5 and 31 us (at full size). An empty kernel 3.2 us, 0.55 as a node. Not taken up:
//!      2 % of a full-size step.
//!
//! # If it gains: a graph without updates
//!
//! What differs from step to step: the camera (152 bytes, by value to eight kernels), Adam's rates
//! with step and seed (64 bytes, to two), the photo with its mask and the number of its pixels that
//! count (to the loss). What differs after a refinement or a larger frame: addresses, capacities,
//! grids. The graph is captured anew then, every 100 steps at most: some 100 us, 1 us a step.
//!
//! 1. The three become one `struct Step` of 256 bytes in device memory, and kernels take its
//!    address. They read the camera with uniform loads from there in place of the constant bank: a
//!    latency of some 500 cycles once a block, unseen in kernels of many blocks.
//! 2. A copy a step from pinned memory costs as much as the gap that it saves twice over. So the
//!    host writes the struct into a ring of 64 places in pinned memory, which the card can read by
//!    itself, and the first node, a kernel of one block, copies place `steps % 64` to the device
//!    and does the two fills of a frame on the way. The host is at most 32 steps ahead
//!    (`LOOK_EVERY`), so no place is overwritten before it was read.
//! 3. A halted device goes on counting launches but not `Counters::steps`: the ring needs a counter
//!    of its own that counts launches, and taking steps again writes them to the places that come
//!    next.
//! 4. Photos of different sizes have different grids: a graph a size (scenes have one to four), or
//!    the largest grid, whose surplus blocks leave at once as those beyond `Counters::pairs` do.
//! 5. A ring of photos (they do not fit on the card) and profiled steps (events between stages)
//!    stay out of graphs.
//!
//! Cheaper and with less gain: launches that may begin while the kernel before them ends
//! (programmatic dependent launch, sm_90 on) need `griddepcontrol.wait` at the top of each kernel
//! and no graph; they hide the launch, not the tail.

use cudarc::driver::{result, sys};
use splatcore_core::backend::{Backend, Learner, StageTimes, StepPlan};
use splatcore_core::random::Rng;
use splatcore_core::{Camera, Gaussians, Photo, Pipeline, View};
use splatcore_cpu::conformance::step;
use splatcore_cuda::device::driver::Card;
use splatcore_cuda::device::{Device, DeviceError, Event, Kernel, Program};
use splatcore_cuda::{CudaBackend, Moments};
use std::error::Error;
use std::ffi::c_void;
use std::sync::Arc;
use std::time::Instant;

type Answer<T> = Result<T, Box<dyn Error>>;

/// Steps between two waits: fewer than a learner takes before it looks at the device's counters,
/// which a graph must not hold.
const BURST: u32 = 15;
const BURSTS: u32 = 20;
/// Launches of an empty kernel in a graph, about those of a step.
const EMPTY_NODES: u32 = 25;

/// A camera at the origin that looks along z.
fn camera(width: u32, height: u32) -> Camera {
    let focal = 1.2 * width.max(height) as f64;
    Camera {
        width,
        height,
        fx: focal,
        fy: focal,
        cx: width as f64 / 2.0,
        cy: height as f64 / 2.0,
        rotation: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        translation: [0.0; 3],
    }
}

/// Gaussians all over the view and somewhat beyond, most a few pixels wide, some many; at 1080x1920
/// each in some six tiles, as trained scenes have it.
fn scene(count: usize, camera: &Camera) -> Gaussians {
    let mut rng = Rng::new(7, 0);
    let mut scene = Gaussians::zeros(count, 3);
    let half = camera.tan_half_fov();
    // Half the Gaussians of a picture of half the pixels are as wide as before.
    let spread = (camera.width as f32 * camera.height as f32 / count as f32).sqrt();
    for i in 0..count {
        let depth = 2.0 + 10.0 * rng.uniform();
        let across = [0, 1].map(|k| (1.15 * (2.0 * rng.uniform() - 1.0)) * half[k] as f32 * depth);
        scene.means[i] = [across[0], across[1], depth];
        let pixels = 1.3 * spread * (0.7 * rng.normal()).exp();
        let size = (pixels * depth / camera.fx as f32).ln();
        scene.log_scales[i] = [0; 3].map(|_| size + 0.5 * rng.normal());
        scene.rotations[i] = [0; 4].map(|_| rng.normal());
        scene.opacity_logits[i] = 1.5 * rng.normal() - 1.0;
        for k in 0..16 {
            let scale = if k == 0 { 1.0 } else { 0.1 };
            scene.sh[16 * i + k] = [0; 3].map(|_| scale * rng.normal());
        }
    }
    scene
}

/// Two views of one camera with photos of their own, so that arguments differ and work does not.
fn views(camera: &Camera) -> Vec<View> {
    let pixels = camera.width as usize * camera.height as usize;
    let photo = |seed: usize| Photo {
        width: camera.width,
        height: camera.height,
        rgb: (0..3 * pixels)
            .map(|i| ((i / 3 % camera.width as usize + seed) * 200 / camera.width as usize) as u8)
            .collect(),
        mask: None,
        alpha: None,
    };
    let view = |seed: usize| View {
        name: format!("{seed}.png"),
        camera: camera.clone(),
        photo: photo(seed),
    };
    vec![view(0), view(37)]
}

/// A step that changes nothing, so that every one has the same work.
fn plan(number: u32) -> StepPlan {
    let mut plan = step::plan(Pipeline::AUTO, number, number as usize % 2);
    plan.rates = Default::default();
    plan
}

/// Microseconds a step of the clock and of the host alone.
#[derive(Clone, Copy)]
struct Cost {
    clock: f64,
    host: f64,
}

/// Bursts of steps and a wait after each: the median of the bursts.
fn bursts(
    learner: &mut dyn Learner,
    mut take: impl FnMut(&mut dyn Learner, u32) -> Answer<()>,
) -> Answer<Cost> {
    let (mut clock, mut host) = (Vec::new(), Vec::new());
    for burst in 0..BURSTS {
        learner.finish()?;
        let start = Instant::now();
        for k in 1..=BURST {
            take(learner, burst * BURST + k)?;
        }
        host.push(start.elapsed().as_secs_f64());
        learner.finish()?;
        clock.push(start.elapsed().as_secs_f64());
    }
    let median = |times: &mut Vec<f64>| {
        times.sort_by(f64::total_cmp);
        1e6 * times[times.len() / 2] / BURST as f64
    };
    Ok(Cost {
        clock: median(&mut clock),
        host: median(&mut host),
    })
}

fn one_by_one(learner: &mut dyn Learner) -> Answer<Cost> {
    bursts(learner, |learner, number| Ok(learner.step(&plan(number))?))
}

/// Steps as the trainer takes them.
fn in_a_row(learner: &mut dyn Learner) -> Answer<Cost> {
    let steps = BURST * BURSTS;
    learner.finish()?;
    let start = Instant::now();
    for number in 1..=steps {
        learner.step(&plan(number))?;
    }
    learner.finish()?;
    Ok(Cost {
        clock: 1e6 * start.elapsed().as_secs_f64() / steps as f64,
        host: f64::NAN,
    })
}

/// What a stream was given between two moments, and the same ready to launch.
struct Graph {
    graph: sys::CUgraph,
    ready: sys::CUgraphExec,
    stream: sys::CUstream,
}

impl Graph {
    /// Puts down what `work` launches, which does not run.
    fn capture(card: &Card, work: impl FnOnce() -> Answer<()>) -> Answer<sys::CUgraph> {
        let stream = card.stream();
        // SAFETY: the stream is the card's, and capturing ends whatever `work` answers.
        let (done, graph) = unsafe {
            result::stream::begin_capture(
                stream,
                sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED,
            )?;
            (work(), result::stream::end_capture(stream))
        };
        done?;
        Ok(graph?)
    }

    fn new(card: &Card, work: impl FnOnce() -> Answer<()>) -> Answer<Self> {
        let graph = Self::capture(card, work)?;
        // SAFETY: the graph is whole.
        let ready = unsafe { result::graph::instantiate(graph, no_flags())? };
        Ok(Self {
            graph,
            ready,
            stream: card.stream(),
        })
    }

    fn launch(&self) -> Answer<()> {
        // SAFETY: both are alive.
        unsafe { result::graph::launch(self.ready, self.stream)? };
        Ok(())
    }

    /// Takes the arguments of another graph of the same nodes.
    fn update(&mut self, graph: sys::CUgraph) -> Answer<()> {
        let mut info = std::mem::MaybeUninit::<sys::CUgraphExecUpdateResultInfo>::zeroed();
        // SAFETY: both graphs are alive; the driver writes the answer; the new graph is not needed
        // after that.
        unsafe {
            let updated = sys::cuGraphExecUpdate_v2(self.ready, graph, info.as_mut_ptr()).result();
            result::graph::destroy(graph)?;
            Ok(updated?)
        }
    }

    fn nodes(&self) -> Answer<usize> {
        let mut count = 0;
        // SAFETY: no list is given, so the driver only counts.
        unsafe { sys::cuGraphGetNodes(self.graph, std::ptr::null_mut(), &mut count) }.result()?;
        Ok(count)
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: nobody else has them. Nothing helps if the driver refuses.
        unsafe {
            let _ = result::graph::exec_destroy(self.ready);
            let _ = result::graph::destroy(self.graph);
        }
    }
}

fn no_flags() -> sys::CUgraphInstantiate_flags {
    // SAFETY: a number, of which 0 means no flag.
    unsafe { std::mem::zeroed() }
}

fn measure(card: &Arc<Card>, count: usize, width: u32, height: u32) -> Answer<()> {
    let backend = CudaBackend::on(card.clone(), false).with_moments(Moments::Compact);
    let camera = camera(width, height);
    let mut learner = backend.learner(&scene(count, &camera), Arc::new(views(&camera)))?;
    let learner = learner.as_mut();
    // Compiles, makes room, wakes the card.
    in_a_row(learner)?;
    let counts = learner.counts(&camera, &plan(1).render)?;
    let one_by_one = one_by_one(learner)?;
    let in_a_row = in_a_row(learner)?;

    learner.finish()?;
    let mut graph = Graph::new(card, || Ok(learner.step(&plan(1))?))?;
    let same = bursts(learner, |_, _| graph.launch())?;
    let updated = bursts(learner, |learner, number| {
        let next = Graph::capture(card, || Ok(learner.step(&plan(number))?))?;
        graph.update(next)?;
        graph.launch()
    })?;
    let nodes = graph.nodes()?;
    drop(graph);

    let mut stages = StageTimes::new();
    for number in 1..=BURST {
        for (stage, seconds) in learner.timed_step(&plan(number))? {
            match stages.iter_mut().find(|(name, _)| *name == stage) {
                Some((_, sum)) => *sum += seconds,
                None => stages.push((stage, seconds)),
            }
        }
    }
    let of_a_step = |seconds: f64| 1e6 * seconds / BURST as f64;
    let sum = of_a_step(stages.iter().map(|(_, seconds)| seconds).sum());

    println!(
        "\n{count} Gaussians at {width}x{height}: {} visible, {} pairs, {nodes} launches and fills \
         a step",
        counts.visible, counts.pairs
    );
    println!("{:<36} {:>10} {:>10}", "us a step", "clock", "host");
    let row = |name: &str, cost: Cost| match cost.host.is_nan() {
        true => println!("{name:<36} {:>10.1} {:>10}", cost.clock, "-"),
        false => println!("{name:<36} {:>10.1} {:>10.1}", cost.clock, cost.host),
    };
    row("as in training", in_a_row);
    row("launched one by one", one_by_one);
    row("one graph, always the same", same);
    row("captured and updated anew", updated);
    let unknown = f64::NAN;
    row(
        "sum of the stages",
        Cost {
            clock: sum,
            host: unknown,
        },
    );
    let parts = stages
        .iter()
        .map(|&(name, seconds)| format!("{name} {:.1}", of_a_step(seconds)));
    println!("stages: {}", parts.collect::<Vec<_>>().join(", "));
    Ok(())
}

/// What a launch of a kernel that does nothing costs, by itself and in a graph.
fn empty_launches(card: &Arc<Card>) -> Answer<()> {
    let kernel = card.load(&Program {
        op: "empty",
        files: vec![("empty.cu", "extern \"C\" __global__ void empty() {}\n")],
        constants: Vec::new(),
        kernels: &["empty"],
    })?[0];
    let all = || -> Answer<()> {
        for _ in 0..EMPTY_NODES {
            // SAFETY: the kernel has no arguments.
            unsafe { card.launch(kernel, 1, 32, &mut [])? };
        }
        Ok(())
    };
    let time = |work: &dyn Fn() -> Answer<()>| -> Answer<Cost> {
        let (mut clock, mut host) = (f64::MAX, f64::MAX);
        for _ in 0..30 {
            card.synchronize()?;
            let start = Instant::now();
            for _ in 0..20 {
                work()?;
            }
            host = host.min(start.elapsed().as_secs_f64());
            card.synchronize()?;
            clock = clock.min(start.elapsed().as_secs_f64());
        }
        let each = 1e6 / (20 * EMPTY_NODES) as f64;
        Ok(Cost {
            clock: clock * each,
            host: host * each,
        })
    };
    let plain = time(&all)?;
    let graph = Graph::new(card, all)?;
    let in_graph = time(&|| graph.launch())?;
    println!(
        "\nan empty kernel: {:.2} us launched (host {:.2}), {:.2} us as one of {EMPTY_NODES} nodes \
         of a graph (host {:.2})",
        plain.clock, plain.host, in_graph.clock, in_graph.host
    );
    Ok(())
}

/// A device that does nothing: what is left of a step is the host's own work.
struct Idle;

impl Device for Idle {
    fn describe(&self) -> String {
        "nothing".into()
    }
    fn capability(&self) -> u32 {
        90
    }
    fn multiprocessors(&self) -> u32 {
        132
    }
    fn memory(&self) -> (u64, u64) {
        (1 << 40, 1 << 40)
    }
    fn allocate(&self, _: usize) -> Result<u64, DeviceError> {
        Ok(256)
    }
    unsafe fn release(&self, _: u64) {}
    fn allocate_pinned(&self, bytes: usize) -> Result<*mut u8, DeviceError> {
        // Zeroed, and never given back: there are few and this is an example.
        Ok(vec![0u64; bytes.div_ceil(8)].leak().as_mut_ptr().cast())
    }
    unsafe fn release_pinned(&self, _: *mut u8) {}
    unsafe fn upload(&self, _: u64, _: &[u8]) -> Result<(), DeviceError> {
        Ok(())
    }
    unsafe fn upload_pinned(&self, _: u64, _: *const u8, _: usize) -> Result<(), DeviceError> {
        Ok(())
    }
    unsafe fn download(&self, to: &mut [u8], _: u64) -> Result<(), DeviceError> {
        to.fill(0);
        Ok(())
    }
    unsafe fn download_pinned(&self, _: *mut u8, _: u64, _: usize) -> Result<(), DeviceError> {
        Ok(())
    }
    unsafe fn copy(&self, _: u64, _: u64, _: usize) -> Result<(), DeviceError> {
        Ok(())
    }
    unsafe fn fill(&self, _: u64, _: u8, _: usize) -> Result<(), DeviceError> {
        Ok(())
    }
    fn load(&self, program: &Program) -> Result<Vec<Kernel>, DeviceError> {
        Ok(vec![
            Kernel {
                address: 1,
                awaits: false
            };
            program.kernels.len()
        ])
    }
    unsafe fn launch(
        &self,
        _: Kernel,
        _: u32,
        _: u32,
        _: &mut [*mut c_void],
    ) -> Result<(), DeviceError> {
        Ok(())
    }
    fn synchronize(&self) -> Result<(), DeviceError> {
        Ok(())
    }
    fn record(&self) -> Result<Event, DeviceError> {
        Ok(Event(0))
    }
    fn record_again(&self, _: &Event) -> Result<(), DeviceError> {
        Ok(())
    }
    fn passed(&self, _: &Event) -> Result<bool, DeviceError> {
        Ok(true)
    }
    fn wait(&self, _: &Event) -> Result<(), DeviceError> {
        Ok(())
    }
    fn seconds(&self, _: &Event, _: &Event) -> Result<f64, DeviceError> {
        Ok(0.0)
    }
    fn discard(&self, _: Event) {}
}

fn host_alone() -> Answer<()> {
    let camera = camera(400, 266);
    let backend = CudaBackend::on(Arc::new(Idle), false).with_moments(Moments::Compact);
    let mut learner = backend.learner(&scene(1000, &camera), Arc::new(views(&camera)))?;
    one_by_one(learner.as_mut())?;
    let cost = one_by_one(learner.as_mut())?;
    println!(
        "the host without a driver: {:.2} us a step of its own work",
        cost.host
    );
    Ok(())
}

fn main() -> Answer<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let wrong = || "usage: graph_times [GAUSSIANS WIDTHxHEIGHT]";
    let scenes = match &arguments[..] {
        [] => vec![(220_000, 1080, 1920), (100_000, 400, 266)],
        [count, size] => {
            let (width, height) = size.split_once('x').ok_or_else(wrong)?;
            vec![(count.parse()?, width.parse()?, height.parse()?)]
        }
        _ => return Err(wrong().into()),
    };
    host_alone()?;
    let card = Arc::new(Card::open(None)?);
    println!("{}", card.describe());
    empty_launches(&card)?;
    for (count, width, height) in scenes {
        measure(&card, count, width, height)?;
    }
    Ok(())
}
