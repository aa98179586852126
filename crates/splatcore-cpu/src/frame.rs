//! One frame from Gaussians to pixels, and back to the splats' sums: runs the ops in order and owns
//! the buffers between them, which are reused from frame to frame.

use crate::blend::{self, Counted, Target, Tile};
use crate::blend_backward::{self, BackwardScratch, Pixels, SumRow};
use crate::blend_scalar;
use crate::camera::{self, KernelCamera};
use crate::intersect::{Lists, Pair};
use crate::project::{self, Splat};
use crate::scene::Scene;
use crate::shared::Disjoint;
use crate::simd::Level;
use crate::sort;
use rayon::prelude::*;
use splatcore_core::backend::{
    BackendError, FrameCounts, RenderOptions, Rendered, StageTimes, StripCounts, TileCounts,
    Visibility,
};
use splatcore_core::pipeline::{Backward, Blend};
use splatcore_core::semantics::TILE;
use splatcore_core::sky::Rays;
use splatcore_core::{Camera, Choice, Image, checks};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Gaussians that are projected, differentiated and updated together: their gradients stay in the
/// second-level cache.
pub const ROWS: usize = 256;

/// What a rendered pixel takes at least: planes of colour, transmittance and depth, and the image,
/// transmittance and depth that are handed out, all f32.
const BYTES_A_PIXEL: usize = 2 * 5 * size_of::<f32>();

/// Buffers of a frame.
#[derive(Default)]
pub struct Frame {
    /// Splats of Gaussians `ROWS * c ..` start at `ROWS * c`; the first `counts[c]` of them are
    /// valid.
    pub splats: Vec<Splat>,
    /// See `splats`.
    pub counts: Vec<u32>,
    /// 1 where INRIA would count the Gaussian as visible.
    pub in_view: Vec<u8>,
    /// The tiles' lists.
    pub lists: Lists,
    /// Rendered colour, a plane a channel.
    pub colour: [Vec<f32>; 3],
    /// Transmittance behind the last fragment.
    pub transmittance: Vec<f32>,
    /// Sums of 1/z, empty if not asked for.
    pub inverse_depth: Vec<f32>,
    /// Sums of every pair, in the order of the lists.
    pub sums: Vec<SumRow>,
    /// dL/d(1/z) of every pair; empty if the loss is of the image alone.
    pub depth_sums: Vec<f32>,
    /// Rays of the camera of the last image with a sky.
    pub(crate) rays: Rays,
    visible: Vec<u32>,
    order: Vec<u32>,
    sort_scratch: Vec<u64>,
    tile_order: Vec<u32>,
    scratch: Vec<Mutex<BackwardScratch>>,
    scalar_sums: Vec<Mutex<Vec<SumRow>>>,
    /// Stage names and seconds of the last frame, when asked for.
    times: Option<StageTimes>,
}

impl Frame {
    /// Starts collecting stage times; [`Frame::take_times`] returns them.
    pub fn collect_times(&mut self) {
        self.times = Some(Vec::new());
    }

    /// The times collected, in order.
    pub fn take_times(&mut self) -> StageTimes {
        self.times.take().unwrap_or_default()
    }

    /// Runs `work` and notes its time when asked to.
    pub fn timed<T>(&mut self, stage: &'static str, work: impl FnOnce(&mut Self) -> T) -> T {
        let start = Instant::now();
        let result = work(self);
        if let Some(times) = &mut self.times {
            times.push((stage, start.elapsed().as_secs_f64()));
        }
        result
    }

    /// Projects, sorts, intersects and, if `blend` is true, blends. Call inside the thread
    /// pool.
    pub fn forward(
        &mut self,
        level: Level,
        scene: Scene<'_>,
        camera: &Camera,
        options: &RenderOptions,
        blend: bool,
    ) -> Result<(), BackendError> {
        if blend {
            self.check_room([camera.width, camera.height].map(|side| side as usize))?;
        }
        self.project(level, scene, camera, options)?;
        self.lists(level, camera, options)?;
        if blend {
            self.image(level, camera, options)?;
        }
        Ok(())
    }

    /// From Gaussians to splats. Call inside the thread pool, as what follows.
    pub fn project(
        &mut self,
        level: Level,
        scene: Scene<'_>,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<(), BackendError> {
        camera::check(camera)?;
        let camera = KernelCamera::new(camera, options);
        self.timed("project", |frame| {
            frame.project_chunks(level, scene, &camera)
        });
        Ok(())
    }

    /// From splats to the lists of the tiles. After [`Frame::project`] of the same camera and
    /// options.
    pub fn lists(
        &mut self,
        level: Level,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<(), BackendError> {
        let kernel_camera = KernelCamera::new(camera, options);
        self.timed("sort", |frame| {
            frame.visible.clear();
            for (chunk, &count) in frame.counts.iter().enumerate() {
                frame
                    .visible
                    .extend((0..count).map(|i| (chunk * ROWS) as u32 + i));
            }
            sort::sort(
                &frame.splats,
                &frame.visible,
                &mut frame.order,
                &mut frame.sort_scratch,
            );
        });
        self.timed("intersect", |frame| {
            frame.lists.fill(
                level,
                options.pipeline.intersect,
                &frame.splats,
                &frame.order,
                kernel_camera.tiles,
            )
        })
        .map_err(|pairs| BackendError::OutOfMemory {
            backend: "cpu",
            buffer: format!("{} (tile, Gaussian) pairs", pairs.0),
            bytes: pairs.0 * size_of::<Pair>() as u64,
            free: None,
            depends_on: &[Choice::ImageSize, Choice::Pipeline],
        })?;
        self.prepare_tiles(kernel_camera.tiles);
        Ok(())
    }

    /// From lists to pixels. After [`Frame::lists`] of the same camera and options.
    pub fn image(
        &mut self,
        level: Level,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<(), BackendError> {
        let kernel_camera = KernelCamera::new(camera, options);
        self.check_room(kernel_camera.size)?;
        self.timed("blend", |frame| frame.blend(level, &kernel_camera, options))?;
        if let Some(sky) = options.sky.as_deref() {
            self.timed("sky", |frame| frame.put_sky(level, camera, sky));
        }
        Ok(())
    }

    /// Refuses an image for which the system has no memory, before buffers grow: the program would
    /// end in the middle.
    fn check_room(&self, [width, height]: [usize; 2]) -> Result<(), BackendError> {
        let pixels = width * height;
        if self.transmittance.capacity() >= pixels {
            return Ok(());
        }
        let bytes = pixels.saturating_mul(BYTES_A_PIXEL);
        // In one piece: a system that overcommits refuses what is more than all of its memory, and
        // takes the same amount in parts.
        let mut all: Vec<u8> = Vec::new();
        let tried = all.try_reserve_exact(bytes);
        // An allocation that nobody sees may be optimised away.
        std::hint::black_box(&all);
        tried.map_err(|_| BackendError::OutOfMemory {
            backend: "cpu",
            buffer: format!("an image of {width}x{height} pixels"),
            bytes: bytes as u64,
            free: None,
            depends_on: &[Choice::ImageSize],
        })
    }

    fn project_chunks(&mut self, level: Level, scene: Scene<'_>, camera: &KernelCamera) {
        let count = scene.opacity_logits.len();
        self.splats.resize(count, Splat::default());
        self.in_view.resize(count, 0);
        self.counts.resize(count.div_ceil(ROWS), 0);
        self.splats
            .par_chunks_mut(ROWS)
            .zip(self.in_view.par_chunks_mut(ROWS))
            .zip(&mut self.counts)
            .enumerate()
            .with_min_len(4)
            .for_each(|(chunk, ((splats, in_view), written))| {
                let mut output = project::Output {
                    splats,
                    in_view,
                    count: 0,
                };
                project::project(level, scene, camera, chunk * ROWS, &mut output);
                *written = output.count as u32;
            });
    }

    /// Longest lists first, so that no thread is left with a long one at the end.
    fn prepare_tiles(&mut self, tiles: [usize; 2]) {
        self.tile_order.clear();
        self.tile_order.extend(0..(tiles[0] * tiles[1]) as u32);
        let start = &self.lists.tile_start;
        self.tile_order
            .sort_by_key(|&t| std::cmp::Reverse(start[t as usize + 1] - start[t as usize]));
        let threads = rayon::current_num_threads();
        self.scratch.resize_with(threads, Mutex::default);
        self.scalar_sums.resize_with(threads, Mutex::default);
    }

    fn blend(
        &mut self,
        level: Level,
        camera: &KernelCamera,
        options: &RenderOptions,
    ) -> Result<(), BackendError> {
        let pixels = camera.size[0] * camera.size[1];
        for plane in self.colour.iter_mut().chain([&mut self.transmittance]) {
            plane.resize(pixels, 0.0);
        }
        let with_depth = options.inverse_depth;
        let places = if with_depth { pixels } else { 0 };
        self.inverse_depth.resize(places, 0.0);
        let target = Target {
            colour: self.colour.each_mut().map(|plane| Disjoint::new(plane)),
            transmittance: Disjoint::new(&mut self.transmittance),
            inverse_depth: with_depth.then(|| Disjoint::new(&mut self.inverse_depth)),
        };
        let (splats, lists) = (&self.splats, &self.lists);
        match options.pipeline.blend {
            Blend::Subtile | Blend::Splatcore => {
                for_tiles(&self.tile_order, &self.scratch, |tile, scratch| {
                    let (place, pairs) = (place(tile, camera, options), lists.of_tile(tile));
                    blend::blend(level, splats, pairs, &place, &mut scratch.scratch, &target);
                })
            }
            Blend::Scalar => for_tiles(&self.tile_order, &self.scratch, |tile, _| {
                let (place, pairs) = (place(tile, camera, options), lists.of_tile(tile));
                blend_scalar::blend(splats, pairs, &place, &target);
            }),
            other => return Err(no_blend(other)),
        }
        Ok(())
    }

    /// Fills `sums` from the gradient of the rendered planes. After [`Frame::forward`] of the same
    /// camera and options.
    pub fn backward(
        &mut self,
        level: Level,
        camera: &Camera,
        options: &RenderOptions,
        gradient: [&[f32]; 3],
    ) -> Result<(), BackendError> {
        checks::gradients("cpu", options.pipeline)?;
        let camera = &KernelCamera::new(camera, options);
        self.timed("blend_backward", |frame| {
            frame
                .sums
                .resize(frame.lists.pairs.len(), SumRow::default());
            frame.depth_sums.clear();
            let all_sums = Disjoint::new(&mut frame.sums);
            let pixels = Pixels {
                colour: frame.colour.each_ref().map(|plane| plane.as_slice()),
                gradient,
            };
            let (splats, lists) = (&frame.splats, &frame.lists);
            match options.pipeline.backward {
                Backward::Subtile | Backward::Splatcore => {
                    for_tiles(&frame.tile_order, &frame.scratch, |tile, scratch| {
                        let place = place(tile, camera, options);
                        let (pairs, first) = (lists.of_tile(tile), lists.tile_start[tile] as usize);
                        blend_backward::blend_backward(
                            level, splats, pairs, &place, &pixels, scratch, first, &all_sums,
                        );
                    })
                }
                Backward::Atomic => {
                    for_tiles(&frame.tile_order, &frame.scalar_sums, |tile, sums| {
                        let place = place(tile, camera, options);
                        let (pairs, first) = (lists.of_tile(tile), lists.tile_start[tile] as usize);
                        blend_scalar::blend_backward(
                            splats, pairs, &place, &pixels, sums, first, &all_sums,
                        );
                    })
                }
                // A processor has no warps.
                Backward::WarpReduce
                | Backward::WarpReduceSkip
                | Backward::PlainAdd
                | Backward::GaussianParallel => {
                    return Err(BackendError::Unsupported {
                        backend: "cpu",
                        what: format!(
                            "backward method '{}' (only the cuda backend has it); use atomic, \
                             subtile or splatcore",
                            options.pipeline.backward
                        ),
                        depends_on: &[],
                    });
                }
            }
            Ok(())
        })
    }

    /// Counts the frame's work. After [`Frame::forward`].
    pub fn count(
        &mut self,
        level: Level,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<FrameCounts, BackendError> {
        let camera = &KernelCamera::new(camera, options);
        let (splats, lists) = (&self.splats, &self.lists);
        let total = Mutex::new(Counted::default());
        let add = |counted: Counted| {
            let mut total = lock(&total);
            total.evaluated += counted.evaluated;
            total.blended += counted.blended;
        };
        let strips = Mutex::new(StripCounts::default());
        match options.pipeline.blend {
            Blend::Subtile | Blend::Splatcore => {
                for_tiles(&self.tile_order, &self.scratch, |tile, scratch| {
                    let (place, pairs) = (place(tile, camera, options), lists.of_tile(tile));
                    let mut counted = Counted::default();
                    blend::blend_counted(
                        level,
                        splats,
                        pairs,
                        &place,
                        &mut scratch.scratch,
                        &mut counted,
                    );
                    add(counted);
                })
            }
            Blend::Scalar => for_tiles(&self.tile_order, &self.scratch, |tile, _| {
                let (place, pairs) = (place(tile, camera, options), lists.of_tile(tile));
                let mut counted = Counted::default();
                let of_tile = blend_scalar::count(splats, pairs, &place, &mut counted);
                add(counted);
                let mut strips = lock(&strips);
                strips.visited += of_tile.visited;
                strips.blended += of_tile.blended;
            }),
            other => return Err(no_blend(other)),
        }
        let total = *lock(&total);
        Ok(FrameCounts {
            visible: self.order.len() as u64,
            pairs: self.lists.pairs.len() as u64,
            fragments_evaluated: Some(total.evaluated),
            fragments_blended: Some(total.blended),
            strips: (options.pipeline.blend == Blend::Scalar).then(|| *lock(&strips)),
        })
    }

    /// Sums over the fragments of each of `count` Gaussians. After [`Frame::forward`].
    pub fn visibility(&self, camera: &Camera, options: &RenderOptions, count: usize) -> Visibility {
        let camera = &KernelCamera::new(camera, options);
        let (splats, lists) = (&self.splats, &self.lists);
        let mut rows = vec![blend_scalar::Shown::default(); lists.pairs.len()];
        let all = Disjoint::new(&mut rows);
        for_tiles(&self.tile_order, &self.scratch, |tile, _| {
            let (place, pairs) = (place(tile, camera, options), lists.of_tile(tile));
            let first = lists.tile_start[tile] as usize;
            blend_scalar::visibility(splats, pairs, &place, first, &all);
        });
        // In the order of the lists, so that the sums do not depend on the threads.
        let mut visibility = Visibility::unseen(count);
        for (pair, [weight, transmittance, fragments]) in lists.pairs.iter().zip(rows) {
            let i = splats[*pair as usize].gaussian as usize;
            visibility.weights[i] += weight as f64;
            visibility.transmittances[i] += transmittance as f64;
            visibility.fragments[i] += fragments as u64;
        }
        visibility
    }

    /// Lengths of the tiles' lists. After [`Frame::forward`].
    pub fn tile_counts(&self, camera: &Camera) -> TileCounts {
        let starts = self.lists.tile_start.windows(2);
        TileCounts {
            tiles: [camera.width, camera.height].map(|side| (side as usize).div_ceil(TILE)),
            counts: starts.map(|start| start[1] - start[0]).collect(),
        }
    }

    /// The image, interleaved.
    pub fn rendered(&self, camera: &Camera) -> Rendered {
        let [r, g, b] = &self.colour;
        let data = r
            .iter()
            .zip(g)
            .zip(b)
            .map(|((&r, &g), &b)| [r, g, b])
            .collect();
        let image = Image {
            width: camera.width,
            height: camera.height,
            data,
        };
        Rendered {
            image,
            transmittance: self.transmittance.clone(),
            inverse_depth: (!self.inverse_depth.is_empty()).then(|| self.inverse_depth.clone()),
        }
    }
}

/// The methods that need a GPU's warps or matrix units.
fn no_blend(blend: Blend) -> BackendError {
    BackendError::Unsupported {
        backend: "cpu",
        what: format!(
            "blend method '{blend}' (only the cuda backend has it); use scalar or splatcore"
        ),
        depends_on: &[],
    }
}

fn place(tile: usize, camera: &KernelCamera, options: &RenderOptions) -> Tile {
    Tile {
        origin: [tile % camera.tiles[0] * TILE, tile / camera.tiles[0] * TILE],
        size: camera.size,
        background: options.background,
        alpha_max: options.semantics.alpha_max,
    }
}

/// Runs `work` for every tile in the given order, each thread with its own scratch.
fn for_tiles<S: Send>(order: &[u32], scratch: &[Mutex<S>], work: impl Fn(usize, &mut S) + Sync) {
    let next = AtomicUsize::new(0);
    rayon::broadcast(|context| {
        let mut scratch = lock(&scratch[context.index()]);
        while let Some(&tile) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(tile as usize, &mut scratch);
        }
    });
}

/// A scratch buffer left half-written by a panic is as good as any other.
fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}
