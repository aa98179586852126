//! Time of each op of a training step, on one thread with the widest instruction set: 20,000 random
//! Gaussians of SH degree 3, 640x480 pixels.
//!
//! ```sh
//! cargo bench -p splatcore-cpu                      # all, a minute or two
//! cargo bench -p splatcore-cpu -- blend/            # those whose name holds this
//! cargo bench -p splatcore-cpu -- --save-baseline before   # and later: --baseline before
//! ```

use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};
use splatcore_core::backend::{BETAS, RenderOptions, Statistic};
use splatcore_core::pipeline::{Backward, Blend, Intersect, Pipeline};
use splatcore_core::random::Rng;
use splatcore_core::semantics::TILE;
use splatcore_core::{Camera, Gaussians, Photo, sh};
use splatcore_cpu::adam::{Correction, Group, adam};
use splatcore_cpu::blend::{self, Target, Tile};
use splatcore_cpu::blend_backward::{self, BackwardScratch, Pixels, SumRow};
use splatcore_cpu::blend_scalar;
use splatcore_cpu::camera::KernelCamera;
use splatcore_cpu::frame::{Frame, ROWS};
use splatcore_cpu::intersect::Lists;
use splatcore_cpu::loss::Loss;
use splatcore_cpu::project::{self, Output, Scene, Splat};
use splatcore_cpu::project_backward::{GradientRows, project_backward};
use splatcore_cpu::shared::Disjoint;
use splatcore_cpu::simd::Level;
use splatcore_cpu::sort::sort;

const GAUSSIANS: usize = 20_000;
const DEGREE: u8 = 3;
const SIZE: [u32; 2] = [640, 480];

/// A rendered frame of the scene, and what its ops take.
struct Fixture {
    level: Level,
    scene: Gaussians,
    camera: Camera,
    options: RenderOptions,
    kernel_camera: KernelCamera,
    frame: Frame,
    /// Positions of the splats, in the order of the Gaussians and in that of depth.
    visible: Vec<u32>,
    order: Vec<u32>,
    photo: Photo,
    /// Of the loss with respect to the image.
    gradient: [Vec<f32>; 3],
}

/// Gaussians about the origin, most of them a few pixels wide.
fn random_scene() -> Gaussians {
    let mut rng = Rng::new(1, 0);
    let mut scene = Gaussians::zeros(GAUSSIANS, DEGREE);
    for i in 0..GAUSSIANS {
        scene.means[i] = [0; 3].map(|_| 0.8 * rng.normal());
        scene.log_scales[i] = [0; 3].map(|_| -3.9 + 0.6 * rng.normal());
        scene.rotations[i] = [0; 4].map(|_| rng.normal());
        scene.opacity_logits[i] = 2.0 * rng.normal();
    }
    let per_gaussian = sh::coefficients(DEGREE);
    for (j, coefficient) in scene.sh.iter_mut().enumerate() {
        let spread = if j % per_gaussian == 0 { 1.2 } else { 0.25 };
        *coefficient = [0; 3].map(|_| spread * rng.normal());
    }
    scene
}

impl Fixture {
    fn new() -> Self {
        let (level, scene) = (Level::best(), random_scene());
        let [width, height] = SIZE;
        let up = [0.0, -1.0, 0.0];
        let camera = Camera::look_at([0.5, -0.5, -4.0], [0.0; 3], up, 0.8, width, height);
        let options = RenderOptions {
            pipeline: Pipeline {
                intersect: Intersect::Exact,
                blend: Blend::Splatcore,
                backward: Backward::Splatcore,
            },
            ..RenderOptions::default()
        };
        let mut frame = Frame::default();
        let borrowed = Scene::new(&scene, DEGREE);
        let rendered = frame.forward(level, borrowed, &camera, &options, true);
        assert!(rendered.is_ok(), "the frame cannot be rendered");
        let photo = Photo {
            width,
            height,
            rgb: vec![128; 3 * (width * height) as usize],
            ..Photo::default()
        };
        let mut loss = Loss::default();
        loss.fill(level, &frame.colour, &photo, 0.2);
        let backward = frame.backward(
            level,
            &camera,
            &options,
            loss.gradient.each_ref().map(Vec::as_slice),
        );
        assert!(backward.is_ok(), "the frame has no gradients");
        let of_chunk = |(chunk, &count): (usize, &u32)| {
            let first = (chunk * ROWS) as u32;
            first..first + count
        };
        let visible: Vec<u32> = frame.counts.iter().enumerate().flat_map(of_chunk).collect();
        let mut order = Vec::new();
        sort(&frame.splats, &visible, &mut order, &mut Vec::new());
        Self {
            kernel_camera: KernelCamera::new(&camera, &options),
            level,
            scene,
            camera,
            options,
            frame,
            visible,
            order,
            photo,
            gradient: loss.gradient,
        }
    }

    fn tile(&self, tile: usize) -> Tile {
        let columns = self.kernel_camera.tiles[0];
        Tile {
            origin: [tile % columns * TILE, tile / columns * TILE],
            size: self.kernel_camera.size,
            background: self.options.background,
            alpha_max: self.options.semantics.alpha_max,
        }
    }

    fn tiles(&self) -> usize {
        self.kernel_camera.tiles[0] * self.kernel_camera.tiles[1]
    }
}

fn bench_project(c: &mut Criterion, f: &Fixture) {
    let scene = Scene::new(&f.scene, DEGREE);
    let mut splats = vec![Splat::default(); GAUSSIANS];
    let mut in_view = vec![0; GAUSSIANS];
    c.bench_function("project", |b| {
        b.iter(|| {
            let mut output = Output {
                splats: &mut splats,
                in_view: &mut in_view,
                count: 0,
            };
            project::project(f.level, scene, &f.kernel_camera, 0, &mut output);
            output.count
        })
    });
}

fn bench_sort(c: &mut Criterion, f: &Fixture) {
    let (mut order, mut scratch) = (Vec::new(), Vec::new());
    c.bench_function("sort", |b| {
        b.iter(|| sort(&f.frame.splats, &f.visible, &mut order, &mut scratch))
    });
}

fn bench_intersect(c: &mut Criterion, f: &Fixture) {
    let mut group = c.benchmark_group("intersect");
    for &method in Intersect::ALL {
        let mut lists = Lists::default();
        group.bench_function(BenchmarkId::from_parameter(method), |b| {
            let (splats, tiles) = (&f.frame.splats, f.kernel_camera.tiles);
            b.iter(|| lists.fill(f.level, method, splats, &f.order, tiles))
        });
    }
}

fn bench_blend(c: &mut Criterion, f: &Fixture) {
    let pixels = (SIZE[0] * SIZE[1]) as usize;
    let mut planes = [(); 4].map(|()| vec![0.0; pixels]);
    let [red, green, blue, transmittance] = planes.each_mut().map(|plane| Disjoint::new(plane));
    let target = Target {
        colour: [red, green, blue],
        transmittance,
        inverse_depth: None,
    };
    let (splats, lists) = (&f.frame.splats, &f.frame.lists);
    let mut scratch = BackwardScratch::default().scratch;
    let mut group = c.benchmark_group("blend");
    group.bench_function(BenchmarkId::from_parameter(Blend::Splatcore), |b| {
        b.iter(|| {
            for tile in 0..f.tiles() {
                let (place, pairs) = (f.tile(tile), lists.of_tile(tile));
                blend::blend(f.level, splats, pairs, &place, &mut scratch, &target);
            }
        })
    });
    group.bench_function(BenchmarkId::from_parameter(Blend::Scalar), |b| {
        b.iter(|| {
            for tile in 0..f.tiles() {
                let (place, pairs) = (f.tile(tile), lists.of_tile(tile));
                blend_scalar::blend(splats, pairs, &place, &target);
            }
        })
    });
}

fn bench_loss(c: &mut Criterion, f: &Fixture) {
    let mut loss = Loss::default();
    c.bench_function("loss", |b| {
        b.iter(|| loss.fill(f.level, &f.frame.colour, &f.photo, 0.2))
    });
}

fn bench_blend_backward(c: &mut Criterion, f: &Fixture) {
    let (splats, lists) = (&f.frame.splats, &f.frame.lists);
    let mut sums = vec![SumRow::default(); lists.pairs.len()];
    let all_sums = Disjoint::new(&mut sums);
    let pixels = Pixels {
        colour: f.frame.colour.each_ref().map(Vec::as_slice),
        gradient: f.gradient.each_ref().map(Vec::as_slice),
    };
    let first = |tile: usize| lists.tile_start[tile] as usize;
    let mut group = c.benchmark_group("blend_backward");
    let mut scratch = BackwardScratch::default();
    group.bench_function(BenchmarkId::from_parameter(Backward::Splatcore), |b| {
        b.iter(|| {
            for tile in 0..f.tiles() {
                let (place, pairs) = (f.tile(tile), lists.of_tile(tile));
                blend_backward::blend_backward(
                    f.level,
                    splats,
                    pairs,
                    &place,
                    &pixels,
                    &mut scratch,
                    first(tile),
                    &all_sums,
                );
            }
        })
    });
    let mut tile_sums = Vec::new();
    group.bench_function(BenchmarkId::from_parameter(Backward::Atomic), |b| {
        b.iter(|| {
            for tile in 0..f.tiles() {
                let (place, pairs) = (f.tile(tile), lists.of_tile(tile));
                blend_scalar::blend_backward(
                    splats,
                    pairs,
                    &place,
                    &pixels,
                    &mut tile_sums,
                    first(tile),
                    &all_sums,
                );
            }
        })
    });
}

fn bench_project_backward(c: &mut Criterion, f: &Fixture) {
    let camera = &KernelCamera::new(&f.camera, &f.options);
    let all = Scene::new(&f.scene, DEGREE);
    let mut out = Gaussians::zeros(ROWS, DEGREE);
    let mut ndc_norm = vec![0.0; ROWS];
    c.bench_function("project_backward", |b| {
        b.iter(|| {
            for (chunk, &count) in f.frame.counts.iter().enumerate() {
                let first = chunk * ROWS;
                let rows = ROWS.min(GAUSSIANS - first);
                let row = |stride: usize| first * stride..(first + rows) * stride;
                let scene = Scene {
                    means: &all.means[row(3)],
                    log_scales: &all.log_scales[row(3)],
                    rotations: &all.rotations[row(4)],
                    opacity_logits: &all.opacity_logits[row(1)],
                    sh: &all.sh[row(all.sh_stride)],
                    ..all
                };
                let mut gradients = GradientRows {
                    first,
                    means: out.means.as_flattened_mut(),
                    log_scales: out.log_scales.as_flattened_mut(),
                    rotations: out.rotations.as_flattened_mut(),
                    opacity_logits: &mut out.opacity_logits,
                    sh: out.sh.as_flattened_mut(),
                    ndc_norm: &mut ndc_norm,
                    statistic: Statistic::Mean,
                };
                let own = first..first + count as usize;
                project_backward(
                    f.level,
                    scene,
                    camera,
                    &f.frame.splats[own.clone()],
                    &f.frame.lists.slots[own],
                    &f.frame.lists.pairs_of_splats,
                    &f.frame.sums,
                    &mut gradients,
                );
            }
        })
    });
}

/// The harmonics, by far the most parameters.
fn bench_adam(c: &mut Criterion, f: &Fixture) {
    let mut parameters = f.scene.sh.as_flattened().to_vec();
    let mut first = vec![0.0; parameters.len()];
    let mut second = vec![0.0; parameters.len()];
    let gradients = vec![1e-3; parameters.len()];
    let stride = 3 * sh::coefficients(DEGREE);
    c.bench_function("adam", |b| {
        b.iter(|| {
            let mut group = Group {
                parameters: &mut parameters,
                first: &mut first,
                second: &mut second,
                gradients: &gradients,
                stride,
                used: stride,
                base_rate: 2.5e-3,
                rate: 1.25e-4,
                keep: 1.0,
            };
            adam(f.level, &mut group, Correction::new(100, BETAS));
        })
    });
}

fn ops(c: &mut Criterion) {
    // Ops that share their work among threads find this one alone.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1);
    let built = pool.use_current_thread().build_global();
    assert!(built.is_ok(), "there is a thread pool already");
    let fixture = Fixture::new();
    bench_project(c, &fixture);
    bench_sort(c, &fixture);
    bench_intersect(c, &fixture);
    bench_blend(c, &fixture);
    bench_loss(c, &fixture);
    bench_blend_backward(c, &fixture);
    bench_project_backward(c, &fixture);
    bench_adam(c, &fixture);
}

criterion_group!(
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = ops
);
criterion_main!(benches);
