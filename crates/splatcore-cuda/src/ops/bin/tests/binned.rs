//! ops/bin/bin.cuh, bin_large_splats.cu and sort_bins.cu: pairs binned to macro-tiles of tiles in
//! no order, and the tiles' lists made of them, against a plain computation from each splat's own
//! tiles.
//!
//! The card of this machine is used if `SPLATCORE_TEST_DEVICE=card`, else the emulator.

mod large_splats;

use crate::CudaBackend;
use crate::device::queue::Queue;
use crate::device::{Buffer, Device};
use crate::ops::bin::{self, BinLargeSplatsParams, SortBinsParams};
use crate::ops::camera::KernelCamera;
use crate::ops::counters::Counters;
use crate::ops::intersect::macro_tiles;
use crate::tests::support::splats::{Splat, device, zeros};
use splatcore_core::Backend;
use splatcore_core::backend::RenderOptions;
use splatcore_core::metrics::psnr_between;
use splatcore_core::pipeline::Intersect;
use splatcore_core::random::Rng;
use splatcore_cpu::CpuBackend;
use splatcore_reference::conformance::scenes::{plain_camera, random_scene};
use std::sync::Arc;

/// What no kernel writes.
const UNTOUCHED: u32 = 0xcdcd_cdcd;

/// A pair that is binned: depth, splat, mask of the macro-tile's tiles.
type Pair = (f32, u32, u32);

/// Macro-tiles, what is binned to them, and what is left to `bin_large_splats`.
struct Case<'a> {
    device: &'a Arc<dyn Device>,
    view: &'a KernelCamera,
    method: Intersect,
    side: u32,
    splats: &'a [Splat],
    /// Pairs that are binned already, of each macro-tile.
    binned: Vec<Vec<Pair>>,
    /// Compacted index, depth's bits, first row of macro-tiles and one past the last.
    large: Vec<[u32; 4]>,
}

/// Room for less than there is, by so much.
#[derive(Clone, Copy, Default)]
struct Missing {
    in_lists: usize,
    in_queue: usize,
    in_all: usize,
}

/// What the kernels made of a case.
struct Outcome {
    counters: Counters,
    /// Each tile's splats.
    lists: Vec<Vec<u32>>,
    /// Tiles in the order in which they are to be blended, of small macro-tiles.
    order: Vec<u32>,
    /// Pairs of each macro-tile, as they lie in the macro-tile's room.
    pairs: Vec<Vec<Pair>>,
}

/// A case's buffers on the device.
struct Uploaded {
    splats: Buffer,
    large: Buffer,
    counts: Buffer,
    pairs: Buffer,
    masks: Buffer,
    counters: Buffer,
    items: Buffer,
    macro_tile_places: Buffer,
    tile_lists: Buffer,
    places: Buffer,
    /// Entries of the queue that there is room for.
    queue_room: usize,
    /// Pairs that a macro-tile has room for.
    room: usize,
    /// Pairs that there is room for in all.
    capacity: usize,
}

impl Uploaded {
    /// What the two kernels take, for `macro_tiles` macro-tiles.
    fn params(
        &self,
        camera: KernelCamera,
        macro_tiles: usize,
    ) -> (BinLargeSplatsParams, SortBinsParams) {
        let (items, places) = (self.items.address(), self.places.address());
        let large = BinLargeSplatsParams {
            splats: self.splats.address(),
            queue: self.large.address(),
            queue_room: self.queue_room as u32,
            camera,
            macro_tile_counts: self.counts.address(),
            pairs: self.pairs.address(),
            masks: self.masks.address(),
            room: self.room as u32,
            macro_tiles: macro_tiles as u32,
            capacity: self.capacity as u32,
            counters: self.counters.address(),
            items,
            places,
        };
        let sort = SortBinsParams {
            items,
            all_pairs: self.pairs.address(),
            all_masks: self.masks.address(),
            room: self.room as u32,
            macro_tiles: macro_tiles as u32,
            camera,
            counters: self.counters.address(),
            macro_tile_places: self.macro_tile_places.address(),
            tile_lists: self.tile_lists.address(),
            places,
        };
        (large, sort)
    }
}

impl Case<'_> {
    /// With as much room as `all`, the pairs of each macro-tile, take.
    fn run(&self, all: &[usize], missing: Missing) -> Outcome {
        let (device, count) = (self.device, self.binned.len());
        let kinds = bin::MacroTiles::new(self.side, count).unwrap();
        let uploaded = self.upload(all, missing);
        let queue = Queue::new(device.clone());
        let load = |program| device.load(&program).unwrap()[0];
        let (large, sort) = uploaded.params(*self.view, count);
        let bin_large_splats = load(bin::large_program(self.method, kinds));
        // Fewer entries and items than there are.
        bin::launch_large(&queue, bin_large_splats, 1, &large).unwrap();
        let sort_bins = load(bin::sort_program(kinds));
        bin::launch_sort(&queue, sort_bins, 7, &sort).unwrap();
        device.synchronize().unwrap();
        self.outcome(&uploaded)
    }

    fn upload(&self, all: &[usize], missing: Missing) -> Uploaded {
        let (device, count) = (self.device, self.binned.len());
        let (total, longest) = (all.iter().sum::<usize>(), all.iter().max().unwrap().max(&1));
        let (room, capacity) = (longest - missing.in_lists, total - missing.in_all);
        let queue_room = self.large.len() - missing.in_queue;
        let (pairs, masks) = self.binned_into(room);
        let counts: Vec<u32> = self.binned.iter().map(|own| own.len() as u32).collect();
        let counters = Counters {
            large: self.large.len() as u32,
            ..Counters::default()
        };
        let upload = |words: &[u32]| Buffer::from_slice(device, "test", words).unwrap();
        let tiles = self.view.tile_count();
        Uploaded {
            splats: Buffer::from_slice(device, "test", self.splats).unwrap(),
            large: upload(self.large[..queue_room].as_flattened()),
            counts: upload(&counts),
            pairs: upload(pairs.as_flattened()),
            masks: Buffer::from_slice(device, "test", &masks).unwrap(),
            counters: Buffer::from_slice(device, "test", &[counters]).unwrap(),
            items: upload(&vec![UNTOUCHED; 4 * bin::most_items(count, capacity)]),
            macro_tile_places: zeros(device, 4 * count),
            tile_lists: upload(&vec![UNTOUCHED; bin::places(self.side) * capacity]),
            places: match bin::has_entries(self.side) {
                true => upload(&vec![UNTOUCHED; 4 * tiles]),
                false => zeros(device, 8 * tiles),
            },
            queue_room,
            room,
            capacity,
        }
    }

    /// What the buffers say when the kernels have run. After an overflow the lists must be
    /// untouched.
    fn outcome(&self, uploaded: &Uploaded) -> Outcome {
        let (count, room) = (self.binned.len(), uploaded.room);
        let mut read = [Counters::default()];
        uploaded.counters.read(0, &mut read).unwrap();
        let listed = bin::places(self.side) * uploaded.capacity;
        let tile_lists: Vec<u32> = uploaded.tile_lists.to_vec(listed).unwrap();
        let a_tile = if bin::has_entries(self.side) { 4 } else { 2 };
        let places = a_tile * self.view.tile_count();
        let words: Vec<u32> = uploaded.places.to_vec(places).unwrap();
        if read[0].overflowed != 0 {
            assert!(
                tile_lists.iter().all(|&word| word == UNTOUCHED),
                "overflowed and went on"
            );
            return Outcome {
                counters: read[0],
                lists: Vec::new(),
                order: Vec::new(),
                pairs: Vec::new(),
            };
        }
        let (lists, order) = self.lists_and_order(&tile_lists, &words);
        let counts: Vec<u32> = uploaded.counts.to_vec(count).unwrap();
        let pairs: Vec<[u32; 2]> = uploaded.pairs.to_vec(count * room).unwrap();
        let masks: Vec<u16> = uploaded.masks.to_vec(count * room).unwrap();
        Outcome {
            counters: read[0],
            lists,
            order,
            pairs: self.pairs_of(&counts, &pairs, &masks, room),
        }
    }

    /// The pairs that are binned already and their masks, as they lie in `room` places a
    /// macro-tile.
    fn binned_into(&self, room: usize) -> (Vec<[u32; 2]>, Vec<u16>) {
        let mut pairs = vec![[UNTOUCHED; 2]; self.binned.len() * room];
        let mut masks = vec![UNTOUCHED as u16; self.binned.len() * room];
        for (macro_tile, own) in self.binned.iter().enumerate() {
            for (place, &(depth, splat_index, mask)) in own.iter().enumerate().take(room) {
                let low = if self.side == 2 {
                    splat_index << 4 | mask
                } else {
                    splat_index
                };
                pairs[macro_tile * room + place] = [low, depth.to_bits()];
                masks[macro_tile * room + place] = mask as u16;
            }
        }
        (pairs, masks)
    }

    /// Each tile's splats, and the order in which tiles are to be blended, from the buffers of
    /// lists and of their places.
    fn lists_and_order(&self, tile_lists: &[u32], words: &[u32]) -> (Vec<Vec<u32>>, Vec<u32>) {
        let list = |begin: u32, end: u32| tile_lists[begin as usize..end as usize].to_vec();
        let (mut lists, mut order) = (vec![None; self.view.tile_count()], Vec::new());
        match bin::has_entries(self.side) {
            true => {
                for entry in words.chunks(4) {
                    let tile = entry[2];
                    assert!(
                        lists[tile as usize]
                            .replace(list(entry[0], entry[1]))
                            .is_none(),
                        "tile {tile} twice"
                    );
                    order.push(tile);
                }
            }
            false => {
                for (to, range) in lists.iter_mut().zip(words.chunks(2)) {
                    *to = Some(list(if range[1] == 0 { 0 } else { !range[0] }, range[1]));
                }
            }
        }
        (lists.into_iter().map(Option::unwrap).collect(), order)
    }

    /// The pairs of each macro-tile, of `room` places a macro-tile.
    fn pairs_of(
        &self,
        counts: &[u32],
        pairs: &[[u32; 2]],
        masks: &[u16],
        room: usize,
    ) -> Vec<Vec<Pair>> {
        let pair = |at: usize| {
            let [low, depth] = pairs[at];
            match self.side {
                2 => (f32::from_bits(depth), low >> 4, low & 15),
                _ => (f32::from_bits(depth), low, masks[at].into()),
            }
        };
        let of_group = |macro_tile: usize| {
            (0..counts[macro_tile] as usize)
                .map(|k| pair(macro_tile * room + k))
                .collect()
        };
        (0..counts.len()).map(of_group).collect()
    }

    /// The tiles' lists of all macro-tiles' pairs.
    fn lists_of(&self, pairs: &[Vec<Pair>]) -> Vec<Vec<u32>> {
        let columns = self.view.tiles_x.div_ceil(self.side) as usize;
        let mut lists = vec![Vec::new(); self.view.tile_count()];
        for (macro_tile, own) in pairs.iter().enumerate() {
            let mut own = own.clone();
            own.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let first =
                [macro_tile % columns, macro_tile / columns].map(|at| at as u32 * self.side);
            for (_, splat_index, mask) in own {
                for t in (0..self.side * self.side).filter(|t| mask >> t & 1 == 1) {
                    let (x, y) = (first[0] + t % self.side, first[1] + t / self.side);
                    lists[(y * self.view.tiles_x + x) as usize].push(splat_index);
                }
            }
        }
        lists
    }
}

fn view_of(size: [u32; 2]) -> KernelCamera {
    KernelCamera::new(&plain_camera(size[0], size[1]), &RenderOptions::default())
}

/// Masks whose tiles lie in the image.
fn mask_in(view: &KernelCamera, side: u32, macro_tile: u32) -> u32 {
    let columns = view.tiles_x.div_ceil(side);
    let inside = |t: &u32| {
        macro_tile % columns * side + t % side < view.tiles_x
            && macro_tile / columns * side + t / side < view.tiles_y
    };
    (0..side * side).filter(inside).map(|t| 1 << t).sum()
}

/// Lists of all lengths that are handled in different ways, with depths spread in ways that are
/// hard on bins.
#[test]
fn lists_are_sorted_and_split() {
    let Some(device) = device() else { return };
    let view = view_of([150, 110]);
    let mut rng = Rng::new(7, 98);
    let lengths = [
        0, 1, 2, 31, 32, 33, 255, 256, 257, 1000, 2047, 2048, 2049, 3072, 3073, 5000, 9000,
    ];
    type Depths = fn(&mut Rng, usize) -> f32;
    let spreads: [(&str, Depths); 7] = [
        ("even", |rng, _| 1.0 + rng.uniform()),
        ("over many octaves", |rng, _| {
            2f32.powf(40.0 * rng.uniform() - 10.0)
        }),
        ("all the same", |_, _| 2.5),
        ("a wall and two that are far off it", |rng, k| match k {
            0 => 1e-3,
            1 => 1e6,
            _ => 3.0 + 1e-4 * rng.uniform(),
        }),
        ("two depths", |rng, _| {
            if rng.uniform() < 0.5 {
                1.0
            } else {
                1.0 + f32::EPSILON
            }
        }),
        ("far to near", |_, k| 1e4 - k as f32),
        ("infinite ones", |rng, _| {
            if rng.uniform() < 0.1 {
                f32::INFINITY
            } else {
                rng.uniform()
            }
        }),
    ];
    for side in bin::SIDES {
        let count = macro_tiles::count(&view, side);
        for (n, (name, depth)) in spreads.iter().enumerate() {
            // Every length, spread over the macro-tiles; a splat has one pair a macro-tile, and
            // masks may be empty.
            let mut binned = vec![Vec::new(); count];
            for (macro_tile, own) in binned.iter_mut().enumerate() {
                let length = lengths[(macro_tile * 5 + n) % lengths.len()];
                let all = mask_in(&view, side, macro_tile as u32);
                let mut splat_order: Vec<u32> = (0..length as u32)
                    .map(|k| 3 * k + macro_tile as u32)
                    .collect();
                rng.shuffle(&mut splat_order);
                for (k, splat_index) in splat_order.into_iter().enumerate() {
                    own.push((depth(&mut rng, k), splat_index, rng.next_u32() & all));
                }
            }
            let case = Case {
                device: &device,
                view: &view,
                method: Intersect::Exact,
                side,
                splats: &[],
                binned,
                large: Vec::new(),
            };
            let all: Vec<usize> = case.binned.iter().map(Vec::len).collect();
            let total: usize = all.iter().sum();
            let got = case.run(&all, Missing::default());
            let what = format!("{name}, macro_tiles of {side}x{side}");
            assert_eq!(got.counters.overflowed, 0, "{what}");
            assert_eq!(
                (got.counters.pairs, got.counters.needed),
                (total as u64, total as u64)
            );
            let parts = |&n: &usize| {
                if n > bin::ROOM {
                    n.div_ceil(bin::SHARE)
                } else {
                    (n > 0).into()
                }
            };
            assert_eq!(
                got.counters.items as usize,
                all.iter().map(parts).sum::<usize>(),
                "{what}"
            );
            for (tile, (got, wanted)) in got
                .lists
                .iter()
                .zip(case.lists_of(&case.binned))
                .enumerate()
            {
                assert!(
                    *got == wanted,
                    "{what}, tile {tile} of {} pairs",
                    wanted.len()
                );
            }
            // Tiles of macro-tiles with more than half of an average list come first.
            let columns = view.tiles_x.div_ceil(side);
            let group_of =
                |tile: u32| tile / view.tiles_x / side * columns + tile % view.tiles_x / side;
            let is_long = |&tile: &u32| 2 * all[group_of(tile) as usize] * count > total;
            let firsts = got.order.iter().filter(|tile| is_long(tile)).count();
            assert!(got.order[..firsts].iter().all(is_long), "{what}");
        }
    }
}

/// A renderer launches for as many pairs as it takes a image to have. Forty Gaussians that cover
/// everything have five times as many.
#[test]
fn pictures_of_more_pairs_than_expected_are_right() {
    let Some(device) = device() else { return };
    let mut scene = random_scene(16, 40, 0);
    scene.log_scales.fill([2.0; 3]);
    let options = RenderOptions::default();
    let (small, large) = (plain_camera(40, 30), plain_camera(1000, 392));
    let mut renderer = CudaBackend::on(device, false).renderer(&scene).unwrap();
    let mut expected = CpuBackend::new(None).renderer(&scene).unwrap();
    for camera in [&small, &large, &small] {
        let got = renderer.render(camera, &options).unwrap().image;
        let wanted = expected.render(camera, &options).unwrap().image;
        let psnr = psnr_between(&got, &wanted);
        assert!(psnr > 60.0, "{}x{}: {psnr} dB", camera.width, camera.height);
    }
}
