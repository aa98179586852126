//! A splat whose exponent is not a number counts as nothing, in every blend and every backward
//! pass. `project` lets none through today; nothing else would show if a blend took the cap on
//! alpha for one.
//!
//! The card of this machine is used if `SPLATCORE_TEST_DEVICE=card`, else the emulator.

use crate::device::queue::Queue;
use crate::device::queue::launch;
use crate::device::{Buffer, Device, Program};
use crate::ops::blend::BlendParams;
use crate::ops::blend::InferenceRows;
use crate::ops::blend::{self, interpolated};
use crate::ops::blend_backward;
use crate::ops::blend_backward::{BlendBackwardParams, GatherSumsParams};
use crate::ops::camera::KernelCamera;
use crate::ops::counters::Counters;
use crate::tests::support::splats::{Splat, device, zeros};
use bytemuck::Zeroable;
use splatcore_core::backend::RenderOptions;
use splatcore_core::pipeline::{Backward, Blend};
use splatcore_reference::conformance::scenes::plain_camera;
use std::sync::Arc;

/// One tile.
const SIDE: u32 = 16;
const PIXELS: usize = (SIDE * SIDE) as usize;
/// Splats of a bucket (ops/blend_backward/blend_backward_gaussian_parallel.cu); as many splats are
/// a tile's list at most, here.
const BUCKET: usize = 32;
/// Floats of a row of sums.
const SUMS: usize = 12;

fn sound(gaussian: u32) -> Splat {
    Splat {
        mean: [5.0 + 2.0 * gaussian as f32, 9.0],
        log2_opacity: -0.7,
        gaussian,
        power: [-0.03, 0.005, -0.02],
        radius: 20.0,
        colour: [
            0.9 - 0.2 * gaussian as f32,
            0.3,
            0.2 + 0.3 * gaussian as f32,
        ],
        clamped: 0,
    }
}

/// By what the exponent is not a number; whether the distance from the mean still is one.
fn unsound() -> Vec<(&'static str, Splat, bool)> {
    let good = sound(1);
    let mut all = vec![
        (
            "mean",
            Splat {
                mean: [f32::NAN; 2],
                ..good
            },
            false,
        ),
        (
            "opacity",
            Splat {
                log2_opacity: f32::NAN,
                ..good
            },
            true,
        ),
        (
            "infinities",
            Splat {
                power: [f32::NEG_INFINITY, f32::INFINITY, f32::NEG_INFINITY],
                mean: [0.0; 2],
                ..good
            },
            true,
        ),
    ];
    for (k, name) in ["a", "b", "c"].into_iter().enumerate() {
        let mut splat = good;
        splat.power[k] = f32::NAN;
        all.push((name, splat, true));
    }
    all
}

fn view() -> KernelCamera {
    let options = RenderOptions {
        background: [0.1, 0.2, 0.3],
        ..RenderOptions::default()
    };
    KernelCamera::new(&plain_camera(SIDE, SIDE), &options)
}

/// What a blend's third argument says.
#[derive(Clone, Copy)]
enum Third {
    /// PairSplats of the pairs.
    PairSplats,
    /// An image's tiles and their lists, in the order in which they are to be blended.
    Entries,
    /// Nothing: an image's lists are where the sort noted them.
    Nothing,
}

/// A tile's list and what is rendered from it.
struct Tile {
    device: Arc<dyn Device>,
    splats: Buffer,
    rays: Buffer,
    numbers: Buffer,
    splat_order: Buffer,
    entries: Buffer,
    ranges: Buffer,
    image: Buffer,
    transmittances: Buffer,
    bucket_tiles: Buffer,
    checkpoints: Buffer,
    stops: Buffer,
}

impl Tile {
    fn new(device: &Arc<dyn Device>, splats: &[Splat]) -> Self {
        assert!(splats.len() <= BUCKET);
        let all: Vec<u32> = (0..splats.len() as u32).collect();
        let upload = |words: &[u32]| Buffer::from_slice(device, "test", words).unwrap();
        // RayShape: the depth is the fourth number, and the same along all rays.
        let depth = |i: usize| [0.0, 0.0, 0.0, 1.0 + i as f32, 0.0, 0.0, 0.0, 0.0];
        let rays: Vec<[f32; 8]> = (0..splats.len()).map(depth).collect();
        Self {
            device: device.clone(),
            splats: Buffer::from_slice(device, "test", splats).unwrap(),
            rays: Buffer::from_slice(device, "test", &rays).unwrap(),
            numbers: upload(&all),
            splat_order: upload(&all),
            entries: upload(&[0, splats.len() as u32, 0, 0]),
            // Not the first pair, one past the last: as the sort notes them.
            ranges: upload(&[!0, splats.len() as u32]),
            image: zeros(device, 12 * PIXELS),
            transmittances: zeros(device, 4 * PIXELS),
            bucket_tiles: zeros(device, 4 * 3),
            checkpoints: zeros(device, 16 * PIXELS),
            stops: zeros(device, 4 * PIXELS),
        }
    }

    /// Image, transmittances and counters.
    fn blend(
        &self,
        blend: Blend,
        count: bool,
        checkpoints: bool,
    ) -> (Vec<f32>, Vec<f32>, Counters) {
        let program = blend::blend(blend, count, checkpoints);
        self.blend_by(&(program, blend::BLEND_BLOCK, Third::PairSplats))
    }

    /// Image and transmittances as of a large image with so many entries of lists: one that is
    /// sampled, or of details.
    fn blend_interpolated(&self, entries: u64) -> (Vec<f32>, Vec<f32>) {
        self.image.fill(0xff, 12 * PIXELS).unwrap();
        self.transmittances.fill(0xff, 4 * PIXELS).unwrap();
        let kernels = self.device.load(&interpolated::program()).unwrap();
        let counted = Counters {
            placed: entries,
            ..Counters::zeroed()
        };
        let counters = Buffer::from_slice(&self.device, "test", &[counted]).unwrap();
        let refined_tiles = zeros(&self.device, interpolated::refined_bytes(&view()));
        let params = BlendParams {
            splats: self.splats.address(),
            pairs: self.numbers.address(),
            ranges: self.ranges.address(),
            camera: view(),
            counters: counters.address(),
            image: self.image.address(),
            transmittances: self.transmittances.address(),
            refined_tiles: refined_tiles.address(),
            ..BlendParams::zeroed()
        };
        let queue = Queue::new(self.device.clone());
        interpolated::launch(&queue, &kernels, &params).unwrap();
        (
            self.image.to_vec(3 * PIXELS).unwrap(),
            self.transmittances.to_vec(PIXELS).unwrap(),
        )
    }

    fn blend_by(
        &self,
        (program, block, third): &(Program, u32, Third),
    ) -> (Vec<f32>, Vec<f32>, Counters) {
        // Nothing of the blend before this one may be taken for this one's.
        self.image.fill(0xff, 12 * PIXELS).unwrap();
        self.transmittances.fill(0xff, 4 * PIXELS).unwrap();
        let kernel = self.device.load(program).unwrap()[0];
        let counters = Buffer::from_slice(&self.device, "test", &[Counters::zeroed()]).unwrap();
        // Every pair touches the first tile of its group.
        let masks = Buffer::from_slice(&self.device, "test", &[1u16; BUCKET]).unwrap();
        let (pair_splats, entries) = match third {
            Third::PairSplats => (self.splat_order.address(), 0),
            Third::Entries => (0, self.entries.address()),
            Third::Nothing => (0, 0),
        };
        let params = BlendParams {
            splats: self.splats.address(),
            rays: self.rays.address(),
            pairs: self.numbers.address(),
            pair_splats,
            ranges: self.ranges.address(),
            entries,
            masks: masks.address(),
            camera: view(),
            counters: counters.address(),
            image: self.image.address(),
            transmittances: self.transmittances.address(),
            bucket_tiles: self.bucket_tiles.address(),
            checkpoints: self.checkpoints.address(),
            stops: self.stops.address(),
            ..BlendParams::zeroed()
        };
        launch(&*self.device, kernel, 1, *block, &params).unwrap();
        let counters: Vec<Counters> = counters.to_vec(1).unwrap();
        (
            self.image.to_vec(3 * PIXELS).unwrap(),
            self.transmittances.to_vec(PIXELS).unwrap(),
            counters[0],
        )
    }

    /// Rows of sums, a splat or a pair each: here that is the same.
    fn backward(&self, method: Backward) -> Vec<[f32; SUMS]> {
        self.blend(Blend::Scalar, false, true);
        let kernel = self
            .device
            .load(&blend_backward::blend_backward(method))
            .unwrap()[0];
        let counters = Counters {
            visible: BUCKET as u32,
            ..Counters::zeroed()
        };
        let counters = Buffer::from_slice(&self.device, "test", &[counters]).unwrap();
        let gradient: Vec<f32> = (0..3 * PIXELS).map(|i| (0.37 * i as f32).sin()).collect();
        let gradient = Buffer::from_slice(&self.device, "test", &gradient).unwrap();
        let sums = zeros(&self.device, 4 * SUMS * BUCKET);
        let params = BlendBackwardParams {
            splats: self.splats.address(),
            pairs: self.numbers.address(),
            pair_splats: self.splat_order.address(),
            ranges: self.ranges.address(),
            camera: view(),
            counters: counters.address(),
            image: self.image.address(),
            gradient: gradient.address(),
            sums: sums.address(),
            splat_capacity: BUCKET as u32,
            pair_sums: sums.address(),
            bucket_tiles: self.bucket_tiles.address(),
            checkpoints: self.checkpoints.address(),
            stops: self.stops.address(),
        };
        let block = match method {
            Backward::GaussianParallel => BUCKET as u32,
            _ => 256,
        };
        launch(&*self.device, kernel, 1, block, &params).unwrap();
        launch(&*self.device, kernel, 1, block, &params).unwrap();
        if blend_backward::has_pair_rows(method) {
            return sums.to_vec(BUCKET).unwrap();
        }
        let rows = zeros(&self.device, 4 * SUMS * BUCKET);
        let gather = self.device.load(&blend_backward::gather_sums()).unwrap()[0];
        let params = GatherSumsParams {
            from: sums.address(),
            splat_capacity: BUCKET as u32,
            counters: counters.address(),
            sums: rows.address(),
        };
        launch(&*self.device, gather, 1, BUCKET as u32, &params).unwrap();
        rows.to_vec(BUCKET).unwrap()
    }
}

#[test]
fn no_blend_takes_them_for_anything() {
    let Some(device) = device() else { return };
    let without = Tile::new(&device, &[sound(0), sound(2)]);
    for &blend in Blend::ALL {
        let thirds: &[Third] = match blend {
            Blend::Splatcore => &[Third::Entries, Third::Nothing],
            _ => &[Third::PairSplats],
        };
        let image = |rows| {
            let program = blend::blend_inference(blend, rows);
            let block = blend::inference_block(blend, rows);
            thirds
                .iter()
                .map(move |&third| (program.clone(), block, third))
        };
        let images: Vec<_> = [InferenceRows::Four, InferenceRows::Eight]
            .into_iter()
            .flat_map(image)
            .collect();
        let (image, transmittances, _) = without.blend(blend, false, false);
        let plain: Vec<_> = images.iter().map(|way| without.blend_by(way)).collect();
        for (image_of_rows, ..) in &plain {
            assert!(
                image_of_rows
                    .iter()
                    .zip(&image)
                    .all(|(a, b)| (a - b).abs() < 2e-3),
                "{blend}: an image is another one"
            );
        }
        // There is something to be wrong about, and every pixel goes on to the last splat.
        assert!(
            transmittances.iter().all(|t| (0.01..0.99).contains(t)),
            "{blend}"
        );
        let (_, _, counts) = without.blend(blend, true, false);
        assert_eq!(counts.blended, 2 * PIXELS as u64, "{blend}");
        for (what, splat, _) in unsound() {
            let tile = Tile::new(&device, &[sound(0), splat, sound(2)]);
            let mut all = vec![(tile.blend(blend, false, false), &image, &transmittances)];
            for (way, (image, transmittances, _)) in images.iter().zip(&plain) {
                all.push((tile.blend_by(way), image, transmittances));
            }
            for (got, image, transmittances) in all {
                assert!(
                    got.0 == *image && got.1 == *transmittances,
                    "{blend}, {what}: pixel 0 is {}, not {}",
                    got.0[0],
                    image[0]
                );
            }
            let (_, _, counts) = tile.blend(blend, true, false);
            assert_eq!(counts.blended, 2 * PIXELS as u64, "{blend}, {what}");
        }
    }
}

#[test]
fn no_interpolated_image_takes_them_for_anything() {
    let Some(device) = device() else { return };
    let expected = Tile::new(&device, &[sound(0), sound(2)]).blend(Blend::Splatcore, false, false);
    for (what, splat) in unsound()
        .into_iter()
        .map(|(what, splat, _)| (what, splat))
        .chain([("nothing", sound(2))])
    {
        // In place of the second one nothing changes, or all of it is there.
        let splats = [sound(0), splat, sound(2)];
        let kept = if what == "nothing" {
            &splats[..2]
        } else {
            &splats[..]
        };
        for entries in [1 << 10, 0] {
            let got = Tile::new(&device, kept).blend_interpolated(entries);
            let pairs = got
                .0
                .iter()
                .zip(&expected.0)
                .chain(got.1.iter().zip(&expected.1));
            for (i, (a, b)) in pairs.enumerate() {
                // `<` is false for what is not a number.
                assert!((a - b).abs() < 4e-3, "{what}: value {i} is {a}, not {b}");
            }
        }
    }
}

#[test]
fn no_gradient_comes_of_them() {
    let Some(device) = device() else { return };
    let without = Tile::new(&device, &[sound(0), sound(2)]);
    for &method in Backward::ALL.iter().filter(|method| method.is_right()) {
        let expected = without.backward(method);
        for (what, splat, has_distance) in unsound() {
            let what = format!("{method}, {what}");
            let got = Tile::new(&device, &[sound(0), splat, sound(2)]).backward(method);
            for (row, wanted) in [(0, 0), (2, 1)] {
                let (got, wanted) = (&got[row][..9], &expected[wanted][..9]);
                assert!(wanted.iter().all(|v| v.abs() > 1e-3), "{what}: {wanted:?}");
                // Atomic additions have no order.
                let close = |(a, b): (&f32, &f32)| (a - b).abs() <= 1e-4 * b.abs();
                assert!(
                    got.iter().zip(wanted).all(close),
                    "{what}: {got:?}, not {wanted:?}"
                );
            }
            // `warp-reduce` multiplies nothing by the distance.
            if has_distance {
                assert_eq!(got[1][..9], [0.0; 9], "{what}");
            }
        }
    }
}
