//! A scene whose Gaussians lie in parts on several devices of one process, for scenes that one of
//! them does not hold. For a frame each device makes the splats of its own Gaussians, the first one
//! gets those of all and renders: the image has the bits that it has from one device.
//!
//! Parts are blocks of rows that devices take in turns, as ranks do in training
//! ([`crate::ops::shards`]), of the order in which one device would have the scene
//! (`spatial_order.rs`). In contrast to training every array is divided, and nothing waits
//! for numbers that only a device knows: the host reads how many splats each part has.

mod exchanged;

use crate::backend::{CudaBackend, OpenError, Options};
use crate::device::error::failed;
use crate::device::{Buffer, Device};
use crate::learner::memory::first_splats;
use crate::ops::row_blocks::RowBlocks;
use crate::ops::scene;
use crate::ops::shards::Shards;
use crate::passes::{Gathered, PartFrame, Passes, SHARD_COUNTS, SPLAT_ROWS, ShardSplats};
use crate::peers::loopback::Loopback;
use crate::peers::nccl::{Id, nccl};
use crate::peers::{Peers, Piece, exchange, piece};
use crate::renderer::CudaRenderer;
use crate::spatial_order::spatial_order;
use exchanged::{at_once, exchanged};
use splatcore_core::backend::{
    Backend, BackendError, Cotangents, FrameCounts, Learner, MemoryPlan, Ranks, RenderOptions,
    Rendered, Renderer, Scored, StageTimes, TileCounts, Timed, Visibility,
};
use splatcore_core::{Camera, Choice, Gaussians, View};
use std::sync::Arc;
use std::time::Duration;

/// How long devices may take to come together, or for an exchange.
const DEADLINE: Duration = Duration::from_secs(300);

/// A device, and what moves its splats to the others.
type Linked = (CudaBackend, Arc<dyn Peers>);

/// Several devices that hold a scene together.
pub struct PartsBackend {
    devices: Vec<Linked>,
    /// How splats go from one to another, in words.
    way: &'static str,
}

impl PartsBackend {
    /// Opens cards. Splats go from one to another by NCCL, or through the computer's memory where
    /// there is none, or it fails.
    ///
    /// # Errors
    /// As [`CudaBackend::open`].
    pub fn open(cards: &[Options]) -> Result<Self, OpenError> {
        let joined = nccl().and_then(|nccl| nccl.new_id());
        if let Ok(devices) = joined.map_err(drop).and_then(|id| Self::join(cards, id)) {
            let way = "by NCCL";
            return Ok(Self { devices, way });
        }
        let opened: Result<Vec<_>, _> = cards.iter().map(|&card| CudaBackend::open(card)).collect();
        Ok(Self::on(opened?))
    }

    /// Cards that meet by NCCL: each by a thread of its own, as all of them wait for the others.
    fn join(cards: &[Options], id: Id) -> Result<Vec<Linked>, ()> {
        let count = cards.len();
        let join = |(rank, &options): (usize, &Options)| {
            let backend = CudaBackend::open_rank(options, Ranks::of(rank, count), id, DEADLINE);
            let backend = backend.map_err(drop)?;
            let peers = backend.peers().cloned().ok_or(())?;
            Ok((backend.alone(), peers))
        };
        let mut cards: Vec<_> = cards.iter().enumerate().collect();
        at_once(&mut cards, |card| join(*card))
    }

    /// These devices; splats go through the host's memory.
    pub fn on(backends: Vec<CudaBackend>) -> Self {
        let peers = Loopback::new(backends.len(), DEADLINE).into_iter();
        let peers = peers.map(|peers| Arc::new(peers) as Arc<dyn Peers>);
        Self {
            devices: backends.into_iter().zip(peers).collect(),
            way: "through the computer's memory",
        }
    }

    fn first(&self) -> &CudaBackend {
        &self.devices[0].0
    }
}

impl Backend for PartsBackend {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn describe(&self) -> String {
        format!(
            "{} cards with a part of the scene each (splats go {}), card 0: {}",
            self.devices.len(),
            self.way,
            self.first().describe()
        )
    }

    fn renderer(&self, scene: &Gaussians) -> Result<Box<dyn Renderer>, BackendError> {
        scene::check(scene)?;
        Ok(Box::new(PartsRenderer::new(scene, &self.devices)?))
    }

    fn learner(&self, _: &Gaussians, _: Arc<Vec<View>>) -> Result<Box<dyn Learner>, BackendError> {
        Err(refused("training"))
    }

    fn memory_plan(&self, gaussians: usize, sh_degree: u8, largest_view: [u32; 2]) -> MemoryPlan {
        let first = self.first();
        first.memory_plan(gaussians, sh_degree, largest_view)
    }
}

/// What a scene in parts cannot do.
fn refused(what: &str) -> BackendError {
    BackendError::Unsupported {
        backend: "cuda",
        what: format!("{what} of a scene that is divided over several cards"),
        depends_on: &[Choice::Backend],
    }
}

/// The Gaussians of a device, and the splats that it makes of them.
struct Part {
    renderer: CudaRenderer,
    peers: Arc<dyn Peers>,
    splats: ShardSplats,
    /// Splats and pairs of the last frame.
    counts: (usize, u64),
}

impl Part {
    fn project(&mut self, camera: &Camera, options: &RenderOptions) -> Result<(), BackendError> {
        let (splats, first) = (&mut self.splats, first_splats(self.renderer.count()));
        self.counts = self.renderer.with_memory(|passes, scene| {
            passes.project_part(scene, camera, options, (splats, first))
        })?;
        Ok(())
    }

    /// Gives the own splats to the first device, which also takes those of all, and waits until
    /// that is done.
    fn exchange(&self, take: &[Piece]) -> Result<(), BackendError> {
        let splats = self.splats.given().into_iter().zip(SPLAT_ROWS);
        let mut give = vec![piece(0, (self.splats.counts(), SHARD_COUNTS))];
        give.extend(splats.map(|(at, bytes)| piece(0, (at, bytes * self.counts.0))));
        let take = match self.peers.ranks().rank {
            0 => take,
            _ => &[],
        };
        let queue = self.renderer.passes().queue();
        // SAFETY: the pieces are of buffers of this renderer, which are released behind the queue.
        unsafe { exchange(&*self.peers, queue, &give, take)? };
        // Here it is known whether the exchange ends at all, in front of what waits for it.
        let passed = queue.device.record().map_err(failed)?;
        let waited = queue.device.wait(&passed).map_err(failed);
        queue.device.discard(passed);
        waited
    }
}

/// A scene in parts.
struct PartsRenderer {
    parts: Vec<Part>,
    gaussians: usize,
    /// The first part's rows.
    blocks: RowBlocks,
    /// On the first device: where each part's compacted indices begin, splats and pairs of each,
    /// depth keys of all splats.
    firsts: Buffer,
    counts: Buffer,
    keys: Buffer,
}

impl PartsRenderer {
    fn new(scene: &Gaussians, devices: &[Linked]) -> Result<Self, BackendError> {
        let (gaussians, count) = (scene.len(), devices.len());
        let block = Shards::new(gaussians, count).block_rows();
        let shards = Shards::divided(gaussians, count, block);
        let order = spatial_order(&scene.means);
        let mut numbered: Vec<_> = devices.iter().enumerate().collect();
        let parts = at_once(&mut numbered, |(rank, (backend, peers))| {
            let places = shards.within(*rank, 0..gaussians).flatten();
            let rows: Vec<u32> = match &order {
                Some(order) => places.map(|place| order[place]).collect(),
                None => places.map(|place| place as u32).collect(),
            };
            Ok::<_, BackendError>(Part {
                renderer: backend.renderer_in_this_order(&scene.in_order(&rows))?,
                peers: Arc::clone(peers),
                splats: ShardSplats::new(backend.device())?,
                counts: (0, 0),
            })
        })?;
        let device: &Arc<dyn Device> = devices[0].0.device();
        Ok(Self {
            parts,
            gaussians,
            blocks: shards.of(0).blocks,
            firsts: Buffer::new(device, "splats of the parts", 4 * (count + 1))?,
            counts: Buffer::new(device, "counts of the parts", SHARD_COUNTS * count)?,
            keys: Buffer::new(device, "depth keys of the parts", 0)?,
        })
    }

    /// Brings the splats of a frame together, and makes something of them on the first device.
    fn frame<T>(
        &mut self,
        (camera, options): (&Camera, &RenderOptions),
        mut make: impl FnMut(
            &mut Passes,
            PartFrame,
            &RenderOptions,
            &Gathered,
        ) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        let options = self.parts[0].renderer.limited(options);
        at_once(&mut self.parts, |part| part.project(camera, &options))?;
        let firsts: Vec<u32> = std::iter::once(0)
            .chain(self.parts.iter().scan(0, |end, part| {
                *end += part.counts.0 as u32;
                Some(*end)
            }))
            .collect();
        self.firsts.write(0, &firsts)?;
        let splats = self.parts.iter().map(|part| part.counts.0).sum();
        let pairs = self.parts.iter().map(|part| part.counts.1).sum();
        let (gaussians, keys) = (self.gaussians, &mut self.keys);
        let frame = |scene| PartFrame {
            scene,
            gaussians,
            counts: (splats, pairs),
        };
        let to = self.parts[0].renderer.with_memory(|passes, scene| {
            keys.reserve(SPLAT_ROWS[1] * splats)?;
            passes.reserve_parts(frame(scene), camera, &options)
        })?;
        let take = self.arrivals(to, &firsts);
        let peers: Vec<_> = self.parts.iter().map(|part| part.peers.clone()).collect();
        exchanged(&mut self.parts, &peers, DEADLINE, |part| {
            part.exchange(&take)
        })?;
        let gathered = Gathered {
            ranks: self.parts.len(),
            room: splats,
            firsts: self.firsts.address(),
            counts: self.counts.address(),
            keys: self.keys.address(),
            blocks: self.blocks,
        };
        let first = &mut self.parts[0].renderer;
        let scene = first.scene();
        make(first.passes_mut(), frame(scene), &options, &gathered)
    }

    /// Where the first device takes what each part gives.
    fn arrivals(&self, [splats, pair_counts]: [u64; 2], firsts: &[u32]) -> Vec<Piece> {
        let arrays = [splats, self.keys.address(), pair_counts];
        let of_part = |(rank, ends): (usize, &[u32])| {
            let counts = self.counts.address() + (SHARD_COUNTS * rank) as u64;
            let (first, count) = (ends[0] as usize, (ends[1] - ends[0]) as usize);
            let rows = arrays.into_iter().zip(SPLAT_ROWS);
            let rows = rows.map(move |(at, bytes)| (at + (bytes * first) as u64, bytes * count));
            let all = std::iter::once((counts, SHARD_COUNTS)).chain(rows);
            all.map(move |place| piece(rank, place)).collect::<Vec<_>>()
        };
        let parts = firsts.windows(2).enumerate();
        parts.flat_map(of_part).collect()
    }
}

impl Renderer for PartsRenderer {
    fn count(&self) -> usize {
        self.gaussians
    }

    fn render(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Rendered, BackendError> {
        self.frame((camera, options), |passes, frame, options, parts| {
            passes.render_parts(frame, camera, options, parts)
        })
    }

    fn render_bytes(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Vec<u8>, BackendError> {
        self.frame((camera, options), |passes, frame, options, parts| {
            passes.render_parts_bytes(frame, camera, options, parts)
        })
    }

    fn gradients(
        &mut self,
        _: &Camera,
        _: &RenderOptions,
        _: &Cotangents,
    ) -> Result<Gaussians, BackendError> {
        Err(refused("gradients"))
    }

    fn stage_times(
        &mut self,
        _: &Camera,
        _: &RenderOptions,
        _: Timed,
    ) -> Result<StageTimes, BackendError> {
        Err(refused("times of stages"))
    }
}

impl Scored for PartsRenderer {
    fn visibility(&mut self, _: &Camera, _: &RenderOptions) -> Result<Visibility, BackendError> {
        Err(refused("visibility"))
    }

    fn tile_counts(&mut self, _: &Camera, _: &RenderOptions) -> Result<TileCounts, BackendError> {
        Err(refused("lengths of lists"))
    }

    fn counts(&mut self, _: &Camera, _: &RenderOptions) -> Result<FrameCounts, BackendError> {
        Err(refused("counts"))
    }
}

#[cfg(test)]
mod tests;
