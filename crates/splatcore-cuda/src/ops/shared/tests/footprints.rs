//! ops/shared/footprint.cuh finds, for every `intersect` method, the pairs that it should and that
//! the portable backend finds.
//!
//! The card of this machine is used if `SPLATCORE_TEST_DEVICE=card`, else the emulator.

use crate::device::{Buffer, Device};
use crate::ops::camera::KernelCamera;
use crate::ops::{self, project};
use crate::tests::support::device::device;
use splatcore_core::backend::RenderOptions;
use splatcore_core::pipeline::Intersect;
use splatcore_cpu::project::Splat;
use splatcore_cpu::simd::Level;
use splatcore_reference::conformance::footprints::{Field, Tiles, footprints_hold};
use splatcore_test_support::footprints::{as_stored, project_field, tiles_of};
use std::ffi::c_void;
use std::sync::Arc;

/// A bit for each tile of each splat, and what `count_pairs` says. In blocks of 128 threads.
const KERNEL: &str = r#"
extern "C" __global__ void mark_tiles(const Splat* splats, u32 count, Camera camera,
                                      u32 words, u32* bits, u32* counts) {
    __shared__ Counting counting[128 / WARP];
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    Footprint f = {};
    if (i < count) f = make_footprint(splats[i]);
    u32 pairs = count_pairs(f, i < count, camera, counting[threadIdx.x / WARP], threadIdx.x % WARP);
    if (i >= count) return;
    counts[i] = pairs;
    uint2 rows = footprint_rows(f, camera);
    for (u32 row = rows.x; row < rows.y; ++row) {
        uint2 span = footprint_row(f, row, camera);
        for (u32 column = span.x; column < span.y; ++column) {
            u32 tile = row * camera.tiles_x + column;
            bits[i * words + tile / 32] |= 1u << tile % 32;
        }
    }
}
"#;

/// `Splat` of ops/shared/splat.cuh, as words.
fn on_device(splat: &Splat) -> [u32; 12] {
    let [a, b, c] = splat.power;
    let [x, y] = splat.mean;
    let [red, green, blue] = splat.colour;
    let [x, y, l, a, b, c, radius, red, green, blue] = [
        x,
        y,
        splat.log2_opacity,
        a,
        b,
        c,
        splat.radius,
        red,
        green,
        blue,
    ]
    .map(f32::to_bits);
    [
        x,
        y,
        l,
        splat.gaussian,
        a,
        b,
        c,
        radius,
        red,
        green,
        blue,
        splat.clamped,
    ]
}

fn tiles_on_device(
    device: &Arc<dyn Device>,
    field: &Field,
    splats: &[Splat],
    method: Intersect,
) -> Tiles {
    let like = project::project(0, 0, method);
    let text = ("mark_tiles.cu", KERNEL);
    let program = ops::program_of_text(text, &["project.cu"], like.constants, &["mark_tiles"]);
    let kernel = device.load(&program).unwrap()[0];
    let count = splats.len() as u32;
    let words = (field.tiles[0] * field.tiles[1]).div_ceil(32) as u32;
    let rows: Vec<[u32; 12]> = splats.iter().map(on_device).collect();
    let splats = Buffer::from_slice(device, "splats", &rows).unwrap();
    let bits = Buffer::from_slice(device, "bits", &vec![0u32; (count * words) as usize]).unwrap();
    let counts = Buffer::from_slice(device, "counts", &vec![u32::MAX; count as usize]).unwrap();
    let camera = KernelCamera::new(&field.camera, &RenderOptions::default());
    let (splats, bits_at, counts_at) = (splats.address(), bits.address(), counts.address());
    fn pointer<T>(value: &T) -> *mut c_void {
        std::ptr::from_ref(value).cast_mut().cast()
    }
    let mut arguments = [
        pointer(&splats),
        pointer(&count),
        pointer(&camera),
        pointer(&words),
        pointer(&bits_at),
        pointer(&counts_at),
    ];
    // SAFETY: these are the kernel's arguments, and the buffers are as long as it says above.
    unsafe { device.launch(kernel, count.div_ceil(128), 128, &mut arguments) }.unwrap();
    let (mut marked, mut counted) = (
        vec![0u32; (count * words) as usize],
        vec![0u32; count as usize],
    );
    bits.read(0, &mut marked).unwrap();
    counts.read(0, &mut counted).unwrap();
    let of_splat = |(own, &counted): (&[u32], &u32)| {
        let tiles = 0..32 * words;
        let list: Vec<u32> = tiles
            .filter(|&t| own[t as usize / 32] >> (t % 32) & 1 != 0)
            .collect();
        assert_eq!(list.len() as u32, counted, "{method}: count_pairs");
        list
    };
    marked
        .chunks(words as usize)
        .zip(&counted)
        .map(of_splat)
        .collect()
}

#[test]
fn every_method_finds_the_pairs_that_it_should() {
    let Some(device) = device() else { return };
    let field = Field::new();
    let splats = project_field(&field);
    let found: Vec<Tiles> = Intersect::ALL
        .iter()
        .map(|&method| tiles_on_device(&device, &field, &splats, method))
        .collect();
    for (&method, found) in Intersect::ALL.iter().zip(&found) {
        let here = tiles_of(&field, &splats, Level::Portable, method);
        let (mut pairs, mut differing) = (0, 0);
        for (a, b) in found.iter().zip(&here) {
            pairs += a.len();
            differing += a.iter().filter(|tile| !b.contains(tile)).count();
            differing += b.iter().filter(|tile| !a.contains(tile)).count();
        }
        eprintln!("{method}: {pairs} pairs, {differing} not as on the processor");
        assert!(
            differing <= pairs / 10_000,
            "{method}: of {pairs} pairs {differing} are not as on the processor"
        );
    }
    let of = |method| Intersect::ALL.iter().position(|&m| m == method).unwrap();
    if let Err(message) = footprints_hold(&field, &as_stored(&splats), |method| {
        found[of(method)].clone()
    }) {
        panic!("{message}");
    }
}
