//! Splats on a device, and the tiles that they touch, for tests of single kernels.
//!
//! The card of this machine is used if `SPLATCORE_TEST_DEVICE=card`, else the emulator.

use crate::device::{Buffer, Device, Kernel};
use crate::ops;
use crate::ops::camera::KernelCamera;
use crate::ops::intersect::macro_tiles;
pub use crate::tests::support::device::device;
use bytemuck::{Pod, Zeroable};
use splatcore_core::backend::RenderOptions;
use splatcore_core::pipeline::Intersect;
use splatcore_core::random::Rng;
use splatcore_core::{Camera, Gaussians};
use splatcore_reference::conformance::scenes::random_scene;
use splatcore_reference::twin::{self, Scene};
use std::ffi::c_void;
use std::sync::Arc;

/// `Splat` of ops/shared/splat.cuh.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Splat {
    pub mean: [f32; 2],
    pub log2_opacity: f32,
    pub gaussian: u32,
    pub power: [f32; 3],
    pub radius: f32,
    pub colour: [f32; 3],
    pub clamped: u32,
}

/// The splats that the f64 twin sees, front to back.
pub fn splats(scene: &Gaussians, camera: &Camera) -> Vec<Splat> {
    let log2_e = std::f64::consts::LOG2_E;
    twin::visible_splats(&Scene::from(scene), camera, &RenderOptions::default())
        .iter()
        .map(|splat| {
            let [a, b, c] = splat.conic;
            Splat {
                mean: splat.mean.map(|v| v as f32),
                log2_opacity: splat.opacity.log2() as f32,
                gaussian: splat.index as u32,
                power: [-0.5 * log2_e * a, -log2_e * b, -0.5 * log2_e * c].map(|v| v as f32),
                radius: splat.three_sigma.ceil() as f32,
                colour: splat.colour.map(|v| v as f32),
                clamped: 0,
            }
        })
        .collect()
}

/// Of all shapes and sizes, some over the whole image, some so flat and faint that they leave gaps
/// between rows of tiles.
pub fn many_shapes(camera: &Camera) -> Vec<Splat> {
    let mut rng = Rng::new(5, 98);
    let mut scene = random_scene(14, 500, 0);
    for i in 0..60 {
        scene.log_scales[i] = [rng.normal() + 1.0, rng.normal(), rng.normal()];
    }
    let mut splats = splats(&scene, camera);
    for i in 0..90u32 {
        // Almost level, wide, and at its opacity thinner than the step from one row of pixels to
        // the next.
        let (slope, y) = (
            0.008 + 0.0001 * i as f32,
            16.0 * (1 + i % 20) as f32 + 0.1 * rng.normal(),
        );
        splats.push(Splat {
            mean: [500.0 + 200.0 * rng.normal(), y],
            log2_opacity: -7.9,
            gaussian: 500 + i,
            power: [-1e-7 - 2.4 * slope * slope, 2.0 * 2.4 * slope, -2.4],
            radius: 300.0,
            colour: [0.5; 3],
            clamped: 0,
        });
    }
    splats
}

/// Each splat's tiles by two plain loops over the interface that all kernels share.
pub const TILES: &str = r#"
extern "C" __global__ void tiles(const Splat* splats, u32 count, Camera camera,
                                 u32* counts, u32* lists) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    u32* list = lists + i * camera.tiles_x * camera.tiles_y;
    Footprint f = make_footprint(splats[i]);
    uint2 rows = footprint_rows(f, camera);
    u32 n = 0;
    for (u32 row = rows.x; row < rows.y; ++row) {
        uint2 span = footprint_row(f, row, camera);
        for (u32 x = span.x; x < span.y; ++x) list[n++] = row * camera.tiles_x + x;
    }
    counts[i] = n;
}"#;

/// Launches `count` threads at least, in blocks of 256.
pub fn launch(
    device: &Arc<dyn Device>,
    kernel: Kernel,
    count: usize,
    arguments: &mut [*mut c_void],
) {
    let grid = count.div_ceil(256) as u32;
    // SAFETY: the callers give each kernel the arguments of its signature.
    unsafe { device.launch(kernel, grid, 256, arguments) }.unwrap();
}

/// Launches a kernel of (splats, their number, view, two buffers), a thread a splat.
pub fn launch_on_splats(
    device: &Arc<dyn Device>,
    kernel: Kernel,
    splats: &[Splat],
    view: &KernelCamera,
    buffers: [&Buffer; 2],
) {
    let count = splats.len() as u32;
    let all = Buffer::from_slice(device, "test", splats).unwrap();
    let (all, [a, b]) = (all.address(), buffers.map(Buffer::address));
    let mut arguments = [
        pointer(&all),
        pointer(&count),
        pointer(view),
        pointer(&a),
        pointer(&b),
    ];
    launch(device, kernel, splats.len(), &mut arguments);
}

/// A value as a launch wants it.
pub fn pointer<T>(value: &T) -> *mut c_void {
    std::ptr::from_ref(value).cast_mut().cast()
}

/// Zeroed memory.
pub fn zeros(device: &Arc<dyn Device>, bytes: usize) -> Buffer {
    let buffer = Buffer::new(device, "test", bytes).unwrap();
    buffer.fill(0, bytes).unwrap();
    buffer
}

/// Each splat's tiles, row by row.
pub fn tile_lists(
    device: &Arc<dyn Device>,
    method: Intersect,
    splats: &[Splat],
    view: &KernelCamera,
) -> Vec<Vec<u32>> {
    let like = macro_tiles::program(method, 2);
    let text = ("tiles.cu", TILES);
    let program = ops::program_of_text(text, &["footprint.cuh"], like.constants, &["tiles"]);
    let kernel = device.load(&program).unwrap()[0];
    let room = view.tile_count();
    let counts = Buffer::new(device, "test", 4 * splats.len()).unwrap();
    let lists = Buffer::new(device, "test", 4 * splats.len() * room).unwrap();
    launch_on_splats(device, kernel, splats, view, [&counts, &lists]);
    let counts: Vec<u32> = counts.to_vec(splats.len()).unwrap();
    let lists: Vec<u32> = lists.to_vec(splats.len() * room).unwrap();
    let of = |(i, &n): (usize, &u32)| lists[i * room..i * room + n as usize].to_vec();
    counts.iter().enumerate().map(of).collect()
}
