//! `depth_loss`: how far the depths of a frame, and their normals, are from those that its photo
//! knows; launches the kernels of `ops/depth_loss/depth_loss.cuh`, of the loss's file. Which losses
//! there are: [`splatcore_core::depth`].

use crate::device::error::failed;
use crate::device::params::{Address, Params, kernel_params};
use crate::device::queue::{Queue, wrong_program};
use crate::device::{Buffer, Device, Kernel, Kernels, Program};
use crate::ops::constants::float;
use crate::ops::sources;
use splatcore_core::depth::normals::PixelRays;
use splatcore_core::depth::{DepthLoss, DepthMap, DepthPlan, MIN_ALPHA, SMOOTH};
use splatcore_core::image::elsewhere::in_order;
use splatcore_core::{BackendError, View};
use std::sync::Arc;

kernel_params! {
    /// Parameters of `depth_loss` (depth_loss.cuh).
    pub struct DepthLossParams {
        image: Address,
        known: Address,
        gradient: Address,
        partials: Address,
        width: u32,
        height: u32,
        known_width: u32,
        known_height: u32,
        unit: f32,
        share: f32,
        sky_share: f32,
        counters: Address,
    }

    /// Parameters of `add_depth_loss` (depth_loss.cuh).
    pub struct AddDepthLossParams {
        partials: Address,
        value: Address,
        blocks: u32,
        share: f32,
        sky_share: f32,
        normal_share: f32,
        counters: Address,
    }

    /// Parameters of `normal_loss` (normal_loss.cuh).
    pub struct NormalLossParams {
        image: Address,
        normals: Address,
        gradient: Address,
        partials: Address,
        width: u32,
        height: u32,
        known_width: u32,
        known_height: u32,
        focal: [f32; 2],
        centre: [f32; 2],
        share: f32,
        counters: Address,
    }
}

/// Threads of a block.
const BLOCK: u32 = 256;
/// Pixels of a thread.
const BATCH: u32 = 8;

/// Blocks for an image of this width and height.
fn blocks_of([width, height]: [u32; 2]) -> u32 {
    (width * height).div_ceil(BLOCK * BATCH)
}

/// The kernels of a loss.
pub fn program(loss: DepthLoss) -> Program {
    let constants = vec![
        ("BLOCK", BLOCK.to_string()),
        ("BATCH", BATCH.to_string()),
        float("SMOOTH", SMOOTH),
        float("MIN_ALPHA", MIN_ALPHA),
    ];
    let kernels = [
        DepthLossParams::kernel("depth_loss"),
        AddDepthLossParams::kernel("add_depth_loss"),
        NormalLossParams::kernel("normal_loss"),
    ];
    sources::program(&format!("depth_{loss}.cu"), constants, kernels)
}

/// A frame of which inverse depth and alpha are rendered.
#[derive(Clone, Copy, Debug)]
pub struct DepthFrame {
    /// Index into the learner's views.
    pub view: usize,
    /// Width and height.
    pub size: [u32; 2],
    /// Focal lengths and principal point of the frame's camera.
    pub rays: PixelRays,
    /// `[3][height * width]` f32: inverse depth, alpha, nothing.
    pub image: Address,
    /// Where the gradients of these go.
    pub gradient: Address,
    /// The frame's loss, f64, which is added to.
    pub value: Address,
    /// The frame's counters.
    pub counters: Address,
}

struct Map {
    inverse: Buffer,
    /// `None` if none is known.
    normals: Option<Buffer>,
    size: [u32; 2],
}

impl Map {
    fn upload(device: &Arc<dyn Device>, map: &DepthMap) -> Result<Self, BackendError> {
        let normals = map.normals.as_flattened();
        let upload = || Buffer::from_slice(device, "normals of the photos", normals);
        Ok(Self {
            inverse: Buffer::from_slice(device, "depths of the photos", &map.inverse)?,
            normals: (!normals.is_empty()).then(upload).transpose()?,
            size: [map.width, map.height],
        })
    }
}

/// What is known of the views' depths, on the device, and what lies between the kernels.
pub struct Depths {
    maps: Vec<Option<Map>>,
    kernels: Option<(DepthLoss, [Kernel; 3])>,
    partials: Buffer,
}

impl Depths {
    /// Uploads what is known.
    ///
    /// # Errors
    /// If memory is short, or depths that are not held cannot be read.
    pub fn new(device: &Arc<dyn Device>, views: &[View]) -> Result<Self, BackendError> {
        let known = |&place: &usize| views[place].photo.known_depths().is_some();
        let with_depths: Vec<usize> = (0..views.len()).filter(known).collect();
        let mut maps: Vec<Option<Map>> = views.iter().map(|_| None).collect();
        in_order(views, &with_depths, true, |place, view| {
            let map = view.photo.depths()?;
            let upload = |map| Map::upload(device, map);
            maps[place] = map.as_deref().map(upload).transpose()?;
            Ok::<_, BackendError>(())
        })?;
        Ok(Self {
            maps,
            kernels: None,
            partials: Buffer::new(device, "partial sums of the loss on depth", 0)?,
        })
    }

    /// Whether something is known of a view.
    pub fn knows(&self, view: usize) -> bool {
        self.maps.get(view).is_some_and(Option::is_some)
    }

    /// Whether nothing is left to compile for a loss.
    pub fn is_compiled(&self, loss: DepthLoss) -> bool {
        self.kernels.is_some_and(|(known, _)| known == loss)
    }

    /// Makes room for the loss of a frame of this size.
    ///
    /// # Errors
    /// If memory is short.
    pub fn reserve(&mut self, size: [u32; 2]) -> Result<(), BackendError> {
        let bytes = 3 * size_of::<f64>() * blocks_of(size) as usize;
        self.partials.reserve_exactly(bytes).map(drop)
    }

    /// Puts the loss of a frame, for which there is room, and its gradients into the queue; nothing
    /// for a view of which nothing is known.
    ///
    /// # Errors
    /// If compiling or a launch failed.
    pub fn launch(
        &mut self,
        (queue, kernels): (&Queue, &Kernels),
        plan: &DepthPlan,
        frame: &DepthFrame,
    ) -> Result<(), BackendError> {
        let [loss, add, normal] = self.kernels(kernels, plan.loss)?;
        let Some(Some(map)) = self.maps.get(frame.view) else {
            return Ok(());
        };
        let pixels = frame.size[0] * frame.size[1];
        let blocks = blocks_of(frame.size);
        let [share, sky_share, normal_share] = [plan.weight, plan.sky_weight, plan.normal_weight]
            .map(|weight| (f64::from(weight) / f64::from(pixels)) as f32);
        let normals = map.normals.as_ref().filter(|_| normal_share > 0.0);
        let (partials, counters) = (self.partials.address(), frame.counters);
        let params = DepthLossParams {
            image: frame.image,
            known: map.inverse.address(),
            gradient: frame.gradient,
            partials,
            width: frame.size[0],
            height: frame.size[1],
            known_width: map.size[0],
            known_height: map.size[1],
            unit: plan.unit,
            share,
            sky_share,
            counters,
        };
        queue.launch(loss, blocks, BLOCK, &params)?;
        if let Some(normals) = normals {
            let PixelRays { focal, centre } = frame.rays;
            let params = NormalLossParams {
                image: frame.image,
                normals: normals.address(),
                gradient: frame.gradient,
                partials: partials + (2 * size_of::<f64>() * blocks as usize) as u64,
                width: frame.size[0],
                height: frame.size[1],
                known_width: map.size[0],
                known_height: map.size[1],
                focal: focal.map(|v| v as f32),
                centre: centre.map(|v| v as f32),
                share: normal_share,
                counters,
            };
            queue.launch(normal, blocks, BLOCK, &params)?;
        }
        let params = AddDepthLossParams {
            partials,
            value: frame.value,
            blocks,
            share,
            sky_share,
            normal_share: normals.map_or(0.0, |_| normal_share),
            counters,
        };
        queue.launch(add, 1, BLOCK, &params)
    }

    fn kernels(&mut self, kernels: &Kernels, loss: DepthLoss) -> Result<[Kernel; 3], BackendError> {
        if let Some((known, loaded)) = self.kernels
            && known == loss
        {
            return Ok(loaded);
        }
        let loaded = kernels.get(&program(loss)).map_err(failed)?;
        let loaded: [Kernel; 3] = loaded[..]
            .try_into()
            .map_err(|_| wrong_program("depth_loss"))?;
        self.kernels = Some((loss, loaded));
        Ok(loaded)
    }
}
