//! The parameters of every blend.

use crate::device::params::{Address, kernel_params};
use crate::ops::camera::KernelCamera;

kernel_params! {
    /// Parameters of every blend (blend.cuh).
    pub struct BlendParams {
        splats: Address,
        pairs: Address,
        pair_splats: Address,
        ranges: Address,
        entries: Address,
        masks: Address,
        camera: KernelCamera,
        counters: Address,
        image: Address,
        transmittances: Address,
        inverse_depths: Address,
        bucket_tiles: Address,
        checkpoints: Address,
        stops: Address,
        refined_tiles: Address,
        rays: Address,
    }
}
