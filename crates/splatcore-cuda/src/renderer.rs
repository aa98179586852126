//! A scene on the device.

use crate::device::error::failed;
use crate::device::{Buffer, Place};
use crate::learner::memory;
use crate::ops::columns::kernels::ShapeColumns;
use crate::ops::project::half;
use crate::ops::scene::SceneAddresses;
use crate::ops::state;
use crate::passes::Passes;
use crate::spatial_order::spatial_order;
use splatcore_core::backend::{
    Cotangents, FrameCounts, RenderOptions, Rendered, Renderer, Scored, StageTimes, TileCounts,
    Timed, Visibility,
};
use splatcore_core::{BackendError, Camera, Choice, Gaussians, sh};

/// Bytes of a Gaussian's mean, scales, rotation and opacity.
const GEOMETRY_BYTES: usize = 44;

/// Renders a scene that stays as it is.
pub struct CudaRenderer {
    arrays: [Buffer; 5],
    /// The Gaussian of each place in them, if they lie in another order than the scene's.
    order: Option<Vec<u32>>,
    count: usize,
    sh_degree: u8,
    /// Degree whose rows are stored: 3 for 2, whose rows of 27 floats can only be copied one by one
    /// (halves are filled up).
    stored_degree: u8,
    /// Harmonics are stored as halves.
    half: bool,
    passes: Passes,
    /// What the device has no memory for may lie in the host's.
    offloads: bool,
    /// The last frame was rendered without checking whether there was room for its pairs.
    unchecked: Option<(Camera, RenderOptions)>,
}

/// Whether harmonics of a scene are stored as halves, and the degree whose rows are.
fn stored(sh_degree: u8, half: bool) -> (bool, u8) {
    let half = half && sh_degree > 0;
    match sh_degree {
        2 if !half => (half, 3),
        degree => (half, degree),
    }
}

/// Bytes of a device's memory with which a renderer of so many Gaussians keeps all of them there,
/// and frames have some room.
pub(crate) fn whole_bytes(gaussians: usize, sh_degree: u8, half: bool) -> u64 {
    let (half, degree) = stored(sh_degree, half);
    let harmonics = match half {
        true => 2 * half::row(degree),
        false => 4 * 3 * sh::coefficients(degree),
    };
    let rows = (GEOMETRY_BYTES + harmonics) as u64 * gaussians as u64;
    rows + memory::headroom(0).of(gaussians)
}

impl CudaRenderer {
    /// `offloads`: what the device has no memory for lies in the host's.
    pub(crate) fn new(
        scene: &Gaussians,
        passes: Passes,
        half: bool,
        offloads: bool,
    ) -> Result<Self, BackendError> {
        let order = spatial_order(&scene.means);
        let ordered = order.as_ref().map(|order| scene.in_order(order));
        let scene = ordered.as_ref().unwrap_or(scene);
        let renderer = Self::in_this_order(scene, passes, half, offloads)?;
        Ok(Self { order, ..renderer })
    }

    /// As [`CudaRenderer::new`], of Gaussians that stay in their order.
    pub(crate) fn in_this_order(
        scene: &Gaussians,
        passes: Passes,
        half: bool,
        offloads: bool,
    ) -> Result<Self, BackendError> {
        let device = &passes.queue().device;
        let [a, b, c, d, e] = state::flat(scene);
        let (half, stored_degree) = stored(scene.sh_degree, half);
        let wide = (stored_degree != scene.sh_degree).then(|| {
            let mut rows = vec![[0.0f32; 3]; scene.len() * sh::coefficients(stored_degree)];
            let own = scene.coefficients();
            for (row, from) in rows
                .chunks_exact_mut(sh::coefficients(stored_degree))
                .zip(scene.sh.chunks_exact(own))
            {
                row[..own].copy_from_slice(from);
            }
            rows
        });
        let e = wide.as_ref().map_or(e, |rows| rows.as_flattened());
        let upload = |k: usize, data: &[f32]| Buffer::from_slice(device, state::GROUPS[k], data);
        let [means, log_scales, rotations, opacities] =
            [upload(0, a)?, upload(1, b)?, upload(2, c)?, upload(3, d)?];
        let halves = half.then(|| half::harmonics(scene));
        let harmonics = match &halves {
            Some(halves) => bytemuck::cast_slice::<_, u8>(halves),
            None => bytemuck::cast_slice(e),
        };
        let headroom = memory::headroom(0).of(scene.len());
        let is_short = device.memory().0 < headroom.saturating_add(harmonics.len() as u64);
        let place = match offloads && is_short {
            true => Place::Host,
            false => Place::Device,
        };
        let of_scene = Buffer::new_in(place, device, state::GROUPS[state::SH], harmonics.len())?;
        of_scene.write(0, harmonics)?;
        Ok(Self {
            arrays: [means, log_scales, rotations, opacities, of_scene],
            order: None,
            count: scene.len(),
            sh_degree: scene.sh_degree,
            stored_degree,
            half,
            passes,
            offloads,
            unchecked: None,
        })
    }

    /// Tries until there is memory, or nothing more can be done for it: first frames have room for
    /// the splats that they show and no longer for all, then the harmonics leave the device.
    pub(crate) fn with_memory<T>(
        &mut self,
        mut attempt: impl FnMut(&mut Passes, SceneAddresses) -> Result<T, BackendError>,
    ) -> Result<T, BackendError> {
        loop {
            let scene = self.scene();
            let error = match attempt(&mut self.passes, scene) {
                Err(error @ BackendError::OutOfMemory { free: Some(_), .. }) if self.offloads => {
                    error
                }
                done => return done,
            };
            let harmonics = &mut self.arrays[state::SH];
            match (self.passes.work.is_narrow(), harmonics.place()) {
                (false, _) => self.passes.narrow(memory::first_splats(self.count))?,
                (true, Place::Device) => harmonics.move_to_host(harmonics.bytes())?,
                (true, Place::Host) => return Err(error),
            }
        }
    }

    /// No more degrees than the scene has, whatever its rows are stored as.
    pub(crate) fn limited(&self, options: &RenderOptions) -> RenderOptions {
        RenderOptions {
            sh_degree: options.sh_degree.min(self.sh_degree),
            ..options.clone()
        }
    }

    /// For what needs the harmonics in f32.
    fn refuse_halves(&self) -> Result<(), BackendError> {
        match self.half {
            true => Err(BackendError::Unsupported {
                backend: "cuda",
                what: "gradients of a scene in half precision".into(),
                depends_on: &[Choice::HalfScene],
            }),
            false => Ok(()),
        }
    }

    /// What runs on the device.
    pub(crate) fn passes(&self) -> &Passes {
        &self.passes
    }

    /// The same, to render with.
    pub(crate) fn passes_mut(&mut self) -> &mut Passes {
        &mut self.passes
    }

    /// Where the scene's arrays are.
    pub(crate) fn scene(&self) -> SceneAddresses {
        SceneAddresses {
            count: self.count,
            count_at: 0,
            sh_degree: self.stored_degree,
            half: self.half,
            is_spatial: true,
            arrays: self.arrays.each_ref().map(Buffer::address),
            shape: ShapeColumns::default(),
        }
    }
}

impl Scored for CudaRenderer {
    fn visibility(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Visibility, BackendError> {
        self.unchecked = None;
        let options = self.limited(options);
        let rows = self.with_memory(|passes, scene| passes.visibility(scene, camera, &options))?;
        let Some(order) = &self.order else {
            return Ok(rows);
        };
        let mut visibility = Visibility::unseen(self.count);
        for (place, &i) in order.iter().enumerate() {
            let i = i as usize;
            visibility.weights[i] = rows.weights[place];
            visibility.transmittances[i] = rows.transmittances[place];
            visibility.fragments[i] = rows.fragments[place];
        }
        Ok(visibility)
    }

    fn tile_counts(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<TileCounts, BackendError> {
        self.unchecked = None;
        let options = self.limited(options);
        self.with_memory(|passes, scene| passes.tile_counts(scene, camera, &options))
    }

    fn counts(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<FrameCounts, BackendError> {
        let options = self.limited(options);
        self.with_memory(|passes, scene| passes.counts(scene, camera, &options))
    }
}

impl Renderer for CudaRenderer {
    fn count(&self) -> usize {
        self.count
    }

    fn render(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Rendered, BackendError> {
        self.unchecked = None;
        let options = self.limited(options);
        self.with_memory(|passes, scene| passes.render(scene, camera, &options))
    }

    fn render_bytes(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<Vec<u8>, BackendError> {
        self.unchecked = None;
        let options = self.limited(options);
        self.with_memory(|passes, scene| passes.render_bytes(scene, camera, &options))
    }

    fn render_only(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
    ) -> Result<(), BackendError> {
        let options = self.limited(options);
        self.with_memory(|passes, scene| passes.infer(scene, camera, &options))?;
        self.unchecked = Some((camera.clone(), options));
        Ok(())
    }

    fn finish(&mut self) -> Result<bool, BackendError> {
        let mut complete = true;
        if let Some((camera, options)) = self.unchecked.take() {
            let counters = self.passes.counters()?;
            complete = counters.overflowed == 0;
            if !complete {
                // Room for every frame since the last call, though only the last one is rendered
                // again.
                self.passes.make_room(&counters)?;
                self.with_memory(|passes, scene| passes.infer_fully(scene, &camera, &options))?;
            }
        }
        let device = &self.passes.queue().device;
        device.synchronize().map_err(failed).map(|()| complete)
    }

    fn gradients(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        cotangents: &Cotangents,
    ) -> Result<Gaussians, BackendError> {
        self.refuse_halves()?;
        let options = self.limited(options);
        let mut gradients = self
            .with_memory(|passes, scene| passes.gradients(scene, camera, &options, cotangents))?;
        if self.stored_degree != self.sh_degree {
            let (own, stored) = (
                sh::coefficients(self.sh_degree),
                sh::coefficients(self.stored_degree),
            );
            let rows = gradients.sh.chunks_exact(stored);
            gradients.sh = rows.flat_map(|row| row[..own].iter().copied()).collect();
            gradients.sh_degree = self.sh_degree;
        }
        if let Some(order) = &self.order {
            let mut places = vec![0u32; order.len()];
            for (place, &i) in (0..).zip(order) {
                places[i as usize] = place;
            }
            gradients = gradients.in_order(&places);
        }
        Ok(gradients)
    }

    fn stage_times(
        &mut self,
        camera: &Camera,
        options: &RenderOptions,
        timed: Timed,
    ) -> Result<StageTimes, BackendError> {
        if timed == Timed::TrainingStages {
            self.refuse_halves()?;
        }
        let options = self.limited(options);
        self.with_memory(|passes, scene| passes.stage_times(scene, camera, &options, timed))
    }
}

#[cfg(test)]
mod tests;
