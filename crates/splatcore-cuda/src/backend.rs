//! [`CudaBackend`]: the NVIDIA backend's face to the trainer and the commands.

use crate::device::driver::{Card, NoCard};
use crate::device::guarded::{Fresh, Guarded};
use crate::device::machine_code;
use crate::device::nvrtc;
use crate::device::queue::Queue;
use crate::device::replaced;
use crate::device::{Device, Filed, Kernels, Limited, Program, Replacements};
use crate::learner::{CudaLearner, memory};
use crate::ops::SOURCES;
use crate::ops::adam::moments::Moments;
use crate::ops::blend;
use crate::ops::scene;
use crate::passes::Passes;
use crate::peers::Peers;
use crate::peers::nccl::{Id, Nccl};
use crate::renderer::{self, CudaRenderer};
use splatcore_core::backend::{
    Backend, BackendError, Learner, LearnerState, MemoryPlan, Ranks, Renderer,
};
use splatcore_core::{Gaussians, View};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How to open the backend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Sum gradients in a fixed order whatever the pipeline says: equal runs give equal bits.
    pub deterministic: bool,
    /// Which card, as the driver counts them; the first if not given.
    pub device: Option<usize>,
    /// How learners store Adam's moments.
    pub moments: Moments,
    /// Renderers store spherical harmonics as halves: less memory and time, no gradients. Learners
    /// take no notice.
    pub half_scene: bool,
    /// Bytes of the card's memory that may be used; all of it if not given.
    pub memory: Option<u64>,
    /// Learners and renderers keep in the host's memory what the card has no memory for. Takes
    /// time, and changes no bit.
    pub offload: bool,
}

/// Why the backend cannot be used here, and what to do about it.
pub type OpenError = NoCard;

/// An NVIDIA card, or its emulation.
#[derive(Clone)]
pub struct CudaBackend {
    device: Arc<dyn Device>,
    kernels: Arc<Kernels>,
    deterministic: bool,
    moments: Moments,
    half_scene: bool,
    offload: bool,
    large_image: usize,
    peers: Option<Arc<dyn Peers>>,
    /// What counts the memory of a card that this opened.
    used: Option<Arc<Limited>>,
}

impl CudaBackend {
    /// Opens a card.
    ///
    /// # Errors
    /// If there is no driver, no card, neither kernels that are built in for the card nor a
    /// compiler, or the card is too old.
    pub fn open(options: Options) -> Result<Self, OpenError> {
        Ok(Self::within(Self::open_card(options)?, options))
    }

    fn open_card(options: Options) -> Result<Card, OpenError> {
        let card = Card::open(options.device)?;
        machine_code::check(card.capability()).map_err(|_| NoCard {
            reason: "NVIDIA's run-time compiler (libnvrtc) was not found".into(),
            remedy: nvrtc::REMEDY.into(),
        })?;
        Ok(card)
    }

    /// As [`CudaBackend::open`], for a rank that meets the others by this id, for which it waits at
    /// most so long.
    ///
    /// # Errors
    /// As [`CudaBackend::open`]; if there is no NCCL, or the ranks do not come together.
    pub fn open_rank(
        options: Options,
        ranks: Ranks,
        id: Id,
        deadline: Duration,
    ) -> Result<Self, OpenError> {
        let card = Self::open_card(options)?;
        let peers = Nccl::join(&card, ranks, id, deadline).map_err(|error| NoCard {
            reason: error.to_string(),
            remedy: "check that every rank has a card of its own".into(),
        })?;
        Ok(Self::within(card, options).with_peers(Arc::new(peers)))
    }

    /// On a card, of whose memory no more is used than the options say.
    fn within(card: Card, options: Options) -> Self {
        let limit = options.memory.unwrap_or(u64::MAX);
        let used = Arc::new(Limited::new(Arc::new(card), limit));
        let backend = Self::on(used.clone(), options.deterministic)
            .with_moments(options.moments)
            .with_half_scene(options.half_scene)
            .with_offload(options.offload);
        Self {
            used: Some(used),
            ..backend
        }
    }

    /// What counts the memory of the card, if [`CudaBackend::open`] or [`CudaBackend::open_rank`]
    /// opened it.
    pub fn used(&self) -> Option<&Arc<Limited>> {
        self.used.as_ref()
    }

    /// The same, but what lies in the host's memory for want of the card's lies in files of this
    /// folder, of which nothing is left when the process ends.
    ///
    /// # Errors
    /// If there can be no files, or the card does not reach their memory.
    pub fn with_files(self, folder: &Path) -> Result<Self, OpenError> {
        let filed = Filed::new(Arc::clone(&self.device), folder);
        let device = filed.map_err(|error| NoCard {
            reason: error.to_string(),
            remedy: "leave out the folder: the computer's memory takes its place".into(),
        })?;
        let on = Self::on(Arc::new(device), self.deterministic);
        Ok(Self {
            device: on.device,
            kernels: on.kernels,
            ..self
        })
    }

    /// The same card, but learners take their steps alone.
    pub fn alone(&self) -> Self {
        Self {
            peers: None,
            ..self.clone()
        }
    }

    /// As [`CudaBackend::open`], with the card's memory guarded; [`Guarded::check`] tells what was
    /// written beside it.
    ///
    /// # Errors
    /// As there.
    pub fn open_guarded(
        options: Options,
        fresh: Fresh,
        seed: u64,
    ) -> Result<(Self, Arc<Guarded>), OpenError> {
        let opened = Self::open(options)?;
        let device = Arc::new(Guarded::new(opened.device.clone(), fresh, seed));
        let backend = Self::on(device.clone(), options.deterministic)
            .with_moments(options.moments)
            .with_half_scene(options.half_scene);
        Ok((backend, device))
    }

    /// A backend on a given device, with full moments, and with the kernel files that
    /// [`replaced::KERNELS_VARIABLE`] names.
    pub fn on(device: Arc<dyn Device>, deterministic: bool) -> Self {
        Self {
            kernels: Arc::new(Kernels::replaced(
                device.clone(),
                Replacements::of_environment(SOURCES),
            )),
            device,
            deterministic,
            moments: Moments::Full,
            half_scene: false,
            offload: false,
            large_image: blend::LARGE_IMAGE,
            peers: None,
            used: None,
        }
    }

    /// The same with these kernel files in the place of built-in ones, whatever the environment
    /// says, and nothing compiled yet.
    pub fn with_replacements(self, replacements: Replacements) -> Self {
        let kernels = Kernels::replaced(self.device.clone(), Ok(replacements));
        Self {
            kernels: Arc::new(kernels),
            ..self
        }
    }

    /// The programs that were loaded so far, with the texts that were compiled.
    pub fn loaded_programs(&self) -> Vec<Program> {
        self.kernels.loaded()
    }

    /// The same, but learners store their moments so.
    pub fn with_moments(self, moments: Moments) -> Self {
        Self { moments, ..self }
    }

    /// The same, but renderers store spherical harmonics as halves if `half_scene`.
    pub fn with_half_scene(self, half_scene: bool) -> Self {
        Self { half_scene, ..self }
    }

    /// The same, but learners and renderers keep in the host's memory what the device has no memory
    /// for if `offload`.
    pub fn with_offload(self, offload: bool) -> Self {
        Self { offload, ..self }
    }

    /// The same, but images of so many pixels and more are blended as [`blend::LARGE_IMAGE`]
    /// says; for tests and measurements.
    pub fn with_large_images_from(self, pixels: usize) -> Self {
        Self {
            large_image: pixels,
            ..self
        }
    }

    /// The same, but learners take their steps together with other ranks, each of which has a
    /// backend of its own.
    pub fn with_peers(self, peers: Arc<dyn Peers>) -> Self {
        Self {
            peers: Some(peers),
            ..self
        }
    }

    /// The ranks with which learners take their steps, if there are any.
    pub fn peers(&self) -> Option<&Arc<dyn Peers>> {
        self.peers.as_ref()
    }

    /// The device.
    pub fn device(&self) -> &Arc<dyn Device> {
        &self.device
    }

    /// Whether a renderer of this scene keeps all of it in the device's memory, as far as that is
    /// free now.
    pub fn holds(&self, scene: &Gaussians) -> bool {
        let bytes = renderer::whole_bytes(scene.len(), scene.sh_degree, self.half_scene);
        self.device.memory().0 >= bytes
    }

    /// A renderer of Gaussians that stay in their order.
    pub(crate) fn renderer_in_this_order(
        &self,
        scene: &Gaussians,
    ) -> Result<CudaRenderer, BackendError> {
        CudaRenderer::in_this_order(scene, self.passes()?, self.half_scene, self.offload)
    }

    fn passes(&self) -> Result<Passes, BackendError> {
        let queue = Queue::new(self.device.clone());
        let mut passes = Passes::new(queue, self.kernels.clone(), self.deterministic)?;
        passes.inference.large_image = self.large_image;
        Ok(passes)
    }
}

impl Backend for CudaBackend {
    fn name(&self) -> &'static str {
        "cuda"
    }

    fn describe(&self) -> String {
        let device = self.device.describe();
        match self.kernels.replacements() {
            Ok(files) if files.is_empty() => device,
            Ok(files) => format!("{device}, kernel files replaced: {}", files.described()),
            // The first kernel that is asked for says what is wrong.
            Err(_) => format!("{device}, {} is wrong", replaced::KERNELS_VARIABLE),
        }
    }

    fn renderer(&self, scene: &Gaussians) -> Result<Box<dyn Renderer>, BackendError> {
        scene::check(scene)?;
        Ok(Box::new(CudaRenderer::new(
            scene,
            self.passes()?,
            self.half_scene,
            self.offload,
        )?))
    }

    fn learner(
        &self,
        scene: &Gaussians,
        views: Arc<Vec<View>>,
    ) -> Result<Box<dyn Learner>, BackendError> {
        scene::check(scene)?;
        let state = LearnerState::fresh(scene.clone());
        let passes = self.passes()?;
        let (moments, peers) = (self.moments, self.peers.clone());
        let learner = CudaLearner::new(&state, views, passes, moments, self.offload, peers)?;
        Ok(Box::new(learner))
    }

    fn memory_plan(&self, gaussians: usize, sh_degree: u8, largest_view: [u32; 2]) -> MemoryPlan {
        let free = self.offload.then(|| self.device.memory().0);
        let ranks = self.peers.as_ref().map_or(1, |peers| peers.ranks().count);
        memory::plan(
            gaussians,
            sh_degree,
            largest_view,
            self.moments,
            (free, ranks),
        )
    }
}
