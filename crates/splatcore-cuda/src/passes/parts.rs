//! The inference pass of a scene that lies in parts on several devices ([`crate::parts`]): each
//! makes the splats of its own Gaussians, and one renders the frame from the splats of all.

use super::both::Passes;
use super::gathered::Gathered;
use super::inference::InferenceFrame;
use super::kernels::Op;
use super::shard::ShardSplats;
use crate::device::Address;
use crate::ops::project::{self, ProjectParams};
use crate::ops::row_blocks::OwnRows;
use crate::ops::scene::SceneAddresses;
use splatcore_core::backend::{RenderOptions, Rendered};
use splatcore_core::{BackendError, Camera, Choice};

/// A frame of all parts, for the device that renders it.
#[derive(Clone, Copy)]
pub struct PartFrame {
    /// Its own part.
    pub scene: SceneAddresses,
    /// Gaussians of all parts.
    pub gaussians: usize,
    /// Splats and pairs of all parts in this frame.
    pub counts: (usize, u64),
}

impl Passes {
    /// The splats of a part, all of whose Gaussians `scene` has; returns how many they are, and
    /// their pairs with tiles. At first there is room for so many. Waits for the device.
    ///
    /// # Errors
    /// As [`Passes::infer`], and for methods that read more of a splat than is exchanged.
    pub fn project_part(
        &mut self,
        scene: SceneAddresses,
        camera: &Camera,
        options: &RenderOptions,
        (to, first): (&mut ShardSplats, usize),
    ) -> Result<(usize, u64), BackendError> {
        let frame = self.frame_in_parts(scene, camera, options)?;
        let mut room = to.room().max(first).min(scene.count);
        loop {
            self.inference.load(&self.work, &mut self.sorted, &frame)?;
            to.begin(scene.count, room)?;
            self.work.reset_counters()?;
            let [splats, splat_of, _] = to.own();
            let [_, depths, pair_counts] = to.given();
            let params = ProjectParams {
                depths,
                pair_counts,
                splat_of,
                splat_room: room as u32,
                blocks: OwnRows::all(scene.count).blocks,
                shard: to.counts(),
                lens: self.work.kernel_lens(),
                ..project::params(scene, &frame.view, splats, self.work.counters())
            };
            if scene.count > 0 {
                let [project] = self.inference.loaded.get(Op::Project)?;
                project::launch(&self.work.queue, project, scene.count, &params)?;
            }
            let (splats, pairs) = to.counted()?;
            if splats <= room {
                return Ok((splats, pairs));
            }
            room = (splats + splats / 4).min(scene.count);
        }
    }

    /// Makes room for a frame on the device that renders it, and for the splats of all parts.
    /// Returns where these come, and how many pairs each has, row 0 of each.
    ///
    /// # Errors
    /// As [`Passes::infer`].
    pub fn reserve_parts(
        &mut self,
        of: PartFrame,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<[Address; 2], BackendError> {
        let frame = self.frame_in_parts(of.scene, camera, options)?;
        let (splats, pairs) = of.counts;
        self.inference.binned.last = None;
        // A frame without splats has lists too.
        self.work.shared_room = Some(splats.max(1));
        self.reserve_pairs(pairs.max(1))?;
        self.reserve_inference(of.gaussians, &frame)?;
        Ok(self.arrivals(self.work.set()))
    }

    /// An image on the host, from the splats that have come, for which
    /// [`Passes::reserve_parts`] made room.
    ///
    /// # Errors
    /// As [`Passes::infer`].
    pub fn render_parts(
        &mut self,
        of: PartFrame,
        camera: &Camera,
        options: &RenderOptions,
        parts: &Gathered,
    ) -> Result<Rendered, BackendError> {
        self.infer_parts(of, camera, options, parts)?;
        self.rendered(camera, options)
    }

    /// As [`Passes::render_parts`], as bytes: see [`Passes::render_bytes`].
    ///
    /// # Errors
    /// As there.
    pub fn render_parts_bytes(
        &mut self,
        of: PartFrame,
        camera: &Camera,
        options: &RenderOptions,
        parts: &Gathered,
    ) -> Result<Vec<u8>, BackendError> {
        self.infer_parts(of, camera, options, parts)?;
        self.rendered_bytes(camera)
    }

    fn infer_parts(
        &mut self,
        of: PartFrame,
        camera: &Camera,
        options: &RenderOptions,
        parts: &Gathered,
    ) -> Result<(), BackendError> {
        self.until_it_fits(|passes| {
            passes.reserve_parts(of, camera, options)?;
            let scene = SceneAddresses {
                count: of.gaussians,
                ..of.scene
            };
            let frame = passes.frame_in_parts(scene, camera, options)?;
            let (work, sorted) = (&passes.work, &mut passes.sorted);
            passes.inference.launch(work, sorted, &frame, Some(parts))?;
            passes.put_given_sky(camera, frame.view, options)?;
            Ok(frame.view)
        })
        .map(drop)
    }

    fn frame_in_parts(
        &mut self,
        scene: SceneAddresses,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<InferenceFrame, BackendError> {
        let view = self.view_of(camera, options)?;
        let lens = self.work.lens_kind();
        let frame = self.inference.frame(scene, (view, lens), options, false)?;
        match frame.needs_rays() {
            true => Err(BackendError::Unsupported {
                backend: "cuda",
                what: format!(
                    "blend method '{}' of a scene that is divided over several cards",
                    options.pipeline.blend
                ),
                depends_on: &[Choice::Pipeline],
            }),
            false => Ok(frame.in_parts()),
        }
    }
}
