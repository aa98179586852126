//! The inference pass: an image that nothing is learned from, or counts of its fragments.

use super::binned_lists::BinnedLists;
use super::gathered::Gathered;
use super::kernels::{Loaded, Op, SceneKind, without_background};
use super::sort_layout::ListsOf;
use super::sorted_lists::SortedLists;
use super::tile_lists::TileLists;
use super::work::Work;
use crate::device::{Buffer, Device, Program};
use crate::ops::bin::{self, MacroTiles};
use crate::ops::blend::interpolated;
use crate::ops::blend::{self, BlendParams, InferenceRows};
use crate::ops::camera::KernelCamera;
use crate::ops::intersect::{self, macro_tiles};
use crate::ops::lens::LensKind;
use crate::ops::scene::SceneAddresses;
use crate::ops::{clear, gather_splats, project};
use bytemuck::Zeroable;
use splatcore_core::backend::RenderOptions;
use splatcore_core::pipeline::Blend;
use splatcore_core::{BackendError, checks};
use std::sync::Arc;

/// How the lists of a frame are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lists {
    /// By sorting pairs.
    Sorted(ListsOf),
    /// By binning to macro-tiles.
    Binned(MacroTiles),
}

impl Lists {
    /// By sorting, for a blend.
    fn sorted(blend: Blend) -> Self {
        Lists::Sorted(match macro_tiles::side(blend) {
            Some(side) => ListsOf::MacroTiles(side),
            None => ListsOf::Tiles,
        })
    }
}

/// Everything that decides which kernels the pass runs.
#[derive(Clone, PartialEq)]
pub struct Kind {
    scene: SceneKind,
    options: RenderOptions,
    /// Fragments are counted in place of making an image.
    counting: bool,
    rows: InferenceRows,
    lists: Lists,
    /// What the camera is.
    lens: LensKind,
    /// The scene lies in parts on several devices.
    in_parts: bool,
}

impl Kind {
    fn is_interpolated(&self) -> bool {
        interpolated::is_interpolated(&self.options, self.rows)
    }
}

/// A frame of the pass: what is rendered, and how.
pub struct InferenceFrame {
    scene: SceneAddresses,
    /// The camera.
    pub view: KernelCamera,
    kind: Kind,
}

impl InferenceFrame {
    /// How its lists are made.
    pub fn lists(&self) -> Lists {
        self.kind.lists
    }

    /// Whether its blend reads what depths along rays follow from.
    pub fn needs_rays(&self) -> bool {
        blend::needs_rays(self.kind.options.pipeline.blend)
    }

    /// The same with lists that are made by sorting.
    pub fn sorted(mut self) -> Self {
        self.kind.lists = Lists::sorted(self.kind.options.pipeline.blend);
        self
    }

    /// The same of a scene that lies in parts on several devices.
    pub fn in_parts(self) -> Self {
        let mut frame = self.sorted();
        frame.kind.in_parts = true;
        frame
    }
}

/// The buffers of the pass. Content lives from one frame to the next.
pub struct InferencePass {
    /// Pixels from which on images are blended as large ones.
    pub large_image: usize,
    /// Planar rgb, `[3][height * width]` f32.
    pub image: Buffer,
    /// `[height * width]` f32.
    pub transmittance: Buffer,
    /// `[height * width]` f32, if asked for.
    pub inverse_depth: Buffer,
    /// Lists of binned frames.
    pub binned: BinnedLists,
    /// Tiles of an interpolated image that are not all interpolated.
    refined_tiles: Buffer,
    /// `[height * width]` u32, of blends that count contributors.
    contributors: Buffer,
    pub(super) loaded: Loaded<Kind>,
}

impl InferencePass {
    /// Empty buffers.
    ///
    /// # Errors
    /// If not even that fits.
    pub fn new(device: &Arc<dyn Device>) -> Result<Self, BackendError> {
        let empty = |name| Buffer::new(device, name, 0);
        Ok(Self {
            large_image: blend::LARGE_IMAGE,
            image: empty("image")?,
            transmittance: empty("transmittance")?,
            inverse_depth: empty("inverse depth of the image")?,
            binned: BinnedLists::new(device)?,
            refined_tiles: empty("tiles that are not interpolated")?,
            contributors: empty("contributors of the image")?,
            loaded: Loaded::default(),
        })
    }

    /// What a frame with these options will be, of a camera with a lens or without.
    ///
    /// # Errors
    /// Depth by a blend that sums none.
    pub fn frame(
        &self,
        scene: SceneAddresses,
        (view, lens): (KernelCamera, LensKind),
        options: &RenderOptions,
        counting: bool,
    ) -> Result<InferenceFrame, BackendError> {
        let mut options = without_background(options);
        options.inverse_depth &= !counting;
        options.interpolate &= !counting;
        let blend = options.pipeline.blend;
        if options.inverse_depth {
            checks::inverse_depth("cuda", blend)?;
        }
        let (rows, side) = match view.pixels() >= self.large_image {
            true => (InferenceRows::Eight, bin::SIDES[1]),
            false => (InferenceRows::Four, bin::SIDES[0]),
        };
        let binned = match blend {
            Blend::Splatcore if !counting => self.binned.macro_tiles(scene, &view, side),
            _ => None,
        };
        Ok(InferenceFrame {
            scene,
            view,
            kind: Kind {
                scene: SceneKind::of(scene),
                options,
                counting,
                rows,
                lists: binned.map_or(Lists::sorted(blend), Lists::Binned),
                lens,
                in_parts: false,
            },
        })
    }

    /// Makes room for a frame, whose lists have theirs.
    ///
    /// # Errors
    /// If memory is short.
    pub fn reserve(&mut self, frame: &InferenceFrame) -> Result<(), BackendError> {
        let (kind, pixels) = (&frame.kind, frame.view.pixels());
        self.image.reserve_exactly(12 * pixels)?;
        self.transmittance.reserve_exactly(4 * pixels)?;
        if kind.is_interpolated() {
            self.refined_tiles
                .reserve_exactly(interpolated::refined_bytes(&frame.view))?;
        }
        if blend::counts_contributors(kind.options.pipeline.blend) {
            self.contributors.reserve_exactly(4 * pixels)?;
        }
        if kind.options.inverse_depth {
            self.inverse_depth.reserve_exactly(4 * pixels)?;
        }
        Ok(())
    }

    /// Puts a frame into the queue, for which there is room; that of a scene in parts with the
    /// splats that have come.
    ///
    /// # Errors
    /// If a kernel does not compile or a launch failed.
    pub fn launch(
        &mut self,
        work: &Work,
        sorted: &mut SortedLists,
        frame: &InferenceFrame,
        parts: Option<&Gathered>,
    ) -> Result<(), BackendError> {
        self.load(work, sorted, frame)?;
        let InferenceFrame { scene, view, kind } = frame;
        let lists = match kind.lists {
            Lists::Binned(MacroTiles { side, .. }) => {
                let binned = &self.binned;
                binned.build(work, &self.loaded, *scene, view, side)?
            }
            Lists::Sorted(of) => {
                let numbered = matches!(of, ListsOf::MacroTiles(_));
                match parts {
                    Some(parts) => parts.gather(work, sorted, &self.loaded, scene.count)?,
                    None => sorted.project(work, &self.loaded, *scene, view)?,
                }
                sorted.build(work, &self.loaded, scene.count, view, of, numbered)?
            }
        };
        self.blend(work, frame, lists)
    }

    fn blend(
        &self,
        work: &Work,
        frame: &InferenceFrame,
        lists: TileLists,
    ) -> Result<(), BackendError> {
        let kind = &frame.kind;
        let params = BlendParams {
            splats: work.splats(),
            pairs: lists.pairs,
            pair_splats: lists.pair_splats,
            ranges: lists.ranges,
            entries: lists.entries,
            masks: lists.masks,
            camera: frame.view,
            counters: work.counters(),
            image: self.image.address(),
            transmittances: self.transmittance.address(),
            inverse_depths: self.inverse_depth.address(),
            refined_tiles: self.refined_tiles.address(),
            rays: work.rays(),
            stops: match blend::counts_contributors(kind.options.pipeline.blend) {
                true => self.contributors.address(),
                false => 0,
            },
            ..BlendParams::zeroed()
        };
        if kind.is_interpolated() {
            interpolated::launch(&work.queue, self.loaded.of(Op::Blend), &params)?;
        } else {
            let [kernel] = self.loaded.get(Op::Blend)?;
            let how = (kind.options.pipeline.blend, kind.rows);
            match kind.counting {
                true => blend::launch(&work.queue, kernel, lists.count, &params)?,
                false => blend::launch_inference(&work.queue, kernel, how, lists.count, &params)?,
            }
        }
        work.queue.mark("blend")
    }

    /// Loads the kernels of a frame.
    ///
    /// # Errors
    /// If one does not compile.
    pub(super) fn load(
        &mut self,
        work: &Work,
        sorted: &mut SortedLists,
        frame: &InferenceFrame,
    ) -> Result<(), BackendError> {
        let kind = &frame.kind;
        let is_sorted = matches!(kind.lists, Lists::Sorted(_));
        let mut missing = match is_sorted {
            true => sorted.missing_sorts(),
            false => Vec::new(),
        };
        if !self.loaded.is_of(kind) {
            let programs = programs(kind);
            missing.extend(programs.iter().map(|(_, program)| program.clone()));
            work.prepare(&missing)?;
            self.loaded.load(kind.clone(), &programs, &work.kernels)?;
        } else if !missing.is_empty() {
            work.prepare(&missing)?;
        }
        match is_sorted {
            true => sorted.load_sorts(work),
            false => Ok(()),
        }
    }

    /// The programs of an image whose lists are sorted, but for the sorts, if it is not large, of a
    /// camera with a lens or without.
    pub fn programs(
        scene: SceneAddresses,
        options: &RenderOptions,
        lens: LensKind,
    ) -> Vec<Program> {
        let options = without_background(options);
        let kind = Kind {
            scene: SceneKind::of(scene),
            lists: Lists::sorted(options.pipeline.blend),
            options,
            counting: false,
            rows: InferenceRows::Four,
            lens,
            in_parts: false,
        };
        let programs = programs(&kind).into_iter();
        programs.map(|(_, program)| program).collect()
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        let all = [
            &self.image,
            &self.transmittance,
            &self.inverse_depth,
            &self.refined_tiles,
        ];
        let own: u64 = all.map(|buffer| buffer.bytes() as u64).iter().sum();
        own + self.binned.bytes()
    }
}

/// The programs of a kind of frame but for its sorts.
fn programs(kind: &Kind) -> Vec<(Op, Program)> {
    let SceneKind {
        stored,
        half,
        shaped,
    } = kind.scene;
    let (options, pipeline) = (&kind.options, kind.options.pipeline);
    let in_use = options.sh_degree.min(stored);
    let project = match kind.lists {
        Lists::Binned(to) => project::project_binned(in_use, stored, pipeline.intersect, to),
        Lists::Sorted(_) => project::project(in_use, stored, pipeline.intersect),
    };
    let project = project::filtered(project, options.antialias, shaped);
    let project = project::through_lens(project, kind.lens);
    let project = project::with_halves(project, stored, half);
    let project = match blend::needs_rays(pipeline.blend) {
        true => project::with_rays(project),
        false => project,
    };
    let project = match kind.in_parts {
        true => project::of_shard(project),
        false => project,
    };
    let blend = match (kind.counting, options.inverse_depth) {
        _ if kind.is_interpolated() => interpolated::program(),
        (true, _) => blend::blend(pipeline.blend, true, false),
        (false, true) => blend::blend_with_inverse_depth(pipeline.blend, kind.rows),
        (false, false) => blend::blend_inference(pipeline.blend, kind.rows),
    };
    let mut all = vec![
        (Op::Clear, clear::program()),
        (Op::Project, project),
        (Op::Blend, blend),
    ];
    if kind.in_parts {
        all.push((Op::GatherSplats, gather_splats::program()));
    }
    match kind.lists {
        Lists::Sorted(ListsOf::Tiles) => {
            all.push((Op::Intersect, intersect::program(pipeline.intersect)));
        }
        Lists::Sorted(ListsOf::MacroTiles(side)) => {
            let program = macro_tiles::program(pipeline.intersect, side);
            all.push((Op::Intersect, program));
        }
        Lists::Binned(to) => {
            let program = bin::large_program(pipeline.intersect, to);
            all.push((Op::BinLargeSplats, program));
            all.push((Op::SortBins, bin::sort_program(to)));
        }
    }
    all
}
