//! ops/bin/bin.cuh, deal_far.cu and sort_lists.cu: pairs dealt to groups of tiles in no order, and
//! the tiles' lists made of them, against a plain computation from each splat's own tiles.
//!
//! The card of this machine is used if `SPLATCORE_TEST_DEVICE=card`, else the emulator.

use crate::CudaBackend;
use crate::device::queue::Queue;
use crate::device::{Buffer, Device};
use crate::ops::camera::KernelCamera;
use crate::ops::counters::Counters;
use crate::ops::intersect::macro_tiles;
use crate::ops::{self, bin, project};
use crate::tests::support::groups::{Group, groups_of};
use crate::tests::support::splats::{
    Splat, device, launch_on_splats, many_shapes, tile_lists, zeros,
};
use splatcore_core::Backend;
use splatcore_core::backend::RenderOptions;
use splatcore_core::metrics::psnr_between;
use splatcore_core::pipeline::Intersect;
use splatcore_core::random::Rng;
use splatcore_cpu::CpuBackend;
use splatcore_reference::conformance::scenes::{plain_camera, random_scene};
use std::sync::Arc;

/// A box, slanted and curved shapes.
const METHODS: [Intersect; 3] = [Intersect::Aabb, Intersect::Obb, Intersect::Exact];
/// What no kernel writes.
const UNTOUCHED: u32 = 0xcdcd_cdcd;

/// A pair that is dealt: depth, slot, mask of the group's tiles.
type Pair = (f32, u32, u32);

/// Groups, what is dealt to them, and what is left to `deal_far`.
struct Case<'a> {
    device: &'a Arc<dyn Device>,
    view: &'a KernelCamera,
    method: Intersect,
    side: u32,
    splats: &'a [Splat],
    /// Pairs that are dealt already, of each group.
    dealt: Vec<Vec<Pair>>,
    /// Slot, depth's bits, first row of groups and one past the last.
    far: Vec<[u32; 4]>,
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
    /// Each tile's slots.
    lists: Vec<Vec<u32>>,
    /// Tiles in the order in which they are to be blended, of small groups.
    order: Vec<u32>,
    /// Pairs of each group, as they lie in the group's room.
    pairs: Vec<Vec<Pair>>,
}

impl Case<'_> {
    /// With as much room as `all`, the pairs of each group, take.
    fn run(&self, all: &[usize], missing: Missing) -> Outcome {
        let (device, count) = (self.device, self.dealt.len());
        let kinds = bin::Groups::new(self.side, count).unwrap();
        let (total, longest) = (all.iter().sum::<usize>(), all.iter().max().unwrap().max(&1));
        let (room, capacity) = (longest - missing.in_lists, total - missing.in_all);
        let queue_room = self.far.len() - missing.in_queue;
        let mut pairs = vec![[UNTOUCHED; 2]; count * room];
        let mut masks = vec![UNTOUCHED as u16; count * room];
        for (group, own) in self.dealt.iter().enumerate() {
            for (place, &(depth, slot, mask)) in own.iter().enumerate().take(room) {
                let low = if self.side == 2 {
                    slot << 4 | mask
                } else {
                    slot
                };
                pairs[group * room + place] = [low, depth.to_bits()];
                masks[group * room + place] = mask as u16;
            }
        }
        let counts: Vec<u32> = self.dealt.iter().map(|own| own.len() as u32).collect();
        let counters = Counters {
            far: self.far.len() as u32,
            ..Counters::default()
        };
        let upload = |words: &[u32]| Buffer::from_slice(device, "test", words).unwrap();
        let splats = Buffer::from_slice(device, "test", self.splats).unwrap();
        let far = upload(self.far[..queue_room].as_flattened());
        let counters = Buffer::from_slice(device, "test", &[counters]).unwrap();
        let (counts, pairs) = (upload(&counts), upload(pairs.as_flattened()));
        let masks = Buffer::from_slice(device, "test", &masks).unwrap();
        let items = upload(&vec![UNTOUCHED; 4 * bin::most_items(count, capacity)]);
        let group_places = zeros(device, 4 * count);
        let tile_lists = upload(&vec![UNTOUCHED; bin::places(self.side) * capacity]);
        let tiles = self.view.tile_count();
        let has_entries = bin::has_entries(self.side);
        let places = match has_entries {
            true => upload(&vec![UNTOUCHED; 4 * tiles]),
            false => zeros(device, 8 * tiles),
        };
        let at = bin::Buffers {
            splats: splats.address(),
            far: far.address(),
            far_room: queue_room as u32,
            counts: counts.address(),
            pairs: pairs.address(),
            masks: masks.address(),
            room: room as u32,
            counters: counters.address(),
            items: items.address(),
            group_places: group_places.address(),
            tile_lists: tile_lists.address(),
            places: places.address(),
        };
        let deal_far = device.load(&bin::far_program(self.method, kinds)).unwrap();
        let sort_lists = device.load(&bin::sort_program(kinds)).unwrap();
        let queue = Queue::new(device.clone());
        // Fewer entries and items than there are.
        bin::deal_far(&queue, &deal_far, self.view, [count, capacity], 1, at).unwrap();
        bin::sort(&queue, &sort_lists, self.view, count, 7, at).unwrap();
        device.synchronize().unwrap();

        let mut read = [Counters::default()];
        counters.read(0, &mut read).unwrap();
        let tile_lists: Vec<u32> = tile_lists
            .to_vec(bin::places(self.side) * capacity)
            .unwrap();
        let words: Vec<u32> = places
            .to_vec(if has_entries { 4 } else { 2 } * tiles)
            .unwrap();
        if read[0].halted != 0 {
            assert!(
                tile_lists.iter().all(|&word| word == UNTOUCHED),
                "halted and went on"
            );
            return Outcome {
                counters: read[0],
                lists: Vec::new(),
                order: Vec::new(),
                pairs: Vec::new(),
            };
        }
        let list = |begin: u32, end: u32| tile_lists[begin as usize..end as usize].to_vec();
        let (mut lists, mut order) = (vec![None; tiles], Vec::new());
        match has_entries {
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
        let counts: Vec<u32> = counts.to_vec(count).unwrap();
        let pairs: Vec<[u32; 2]> = pairs.to_vec(count * room).unwrap();
        let masks: Vec<u16> = masks.to_vec(count * room).unwrap();
        let pair = |at: usize| {
            let [low, depth] = pairs[at];
            match self.side {
                2 => (f32::from_bits(depth), low >> 4, low & 15),
                _ => (f32::from_bits(depth), low, masks[at].into()),
            }
        };
        let of_group = |group: usize| {
            (0..counts[group] as usize)
                .map(|k| pair(group * room + k))
                .collect()
        };
        Outcome {
            counters: read[0],
            lists: lists.into_iter().map(Option::unwrap).collect(),
            order,
            pairs: (0..count).map(of_group).collect(),
        }
    }

    /// The tiles' lists of all groups' pairs.
    fn lists_of(&self, pairs: &[Vec<Pair>]) -> Vec<Vec<u32>> {
        let columns = self.view.tiles[0].div_ceil(self.side) as usize;
        let mut lists = vec![Vec::new(); self.view.tile_count()];
        for (group, own) in pairs.iter().enumerate() {
            let mut own = own.clone();
            own.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            let first = [group % columns, group / columns].map(|at| at as u32 * self.side);
            for (_, slot, mask) in own {
                for t in (0..self.side * self.side).filter(|t| mask >> t & 1 == 1) {
                    let (x, y) = (first[0] + t % self.side, first[1] + t / self.side);
                    lists[(y * self.view.tiles[0] + x) as usize].push(slot);
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
fn mask_in(view: &KernelCamera, side: u32, group: u32) -> u32 {
    let columns = view.tiles[0].div_ceil(side);
    let inside = |t: &u32| {
        group % columns * side + t % side < view.tiles[0]
            && group / columns * side + t / side < view.tiles[1]
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
            // Every length, spread over the groups; a slot has one pair a group, and masks may be
            // empty.
            let mut dealt = vec![Vec::new(); count];
            for (group, own) in dealt.iter_mut().enumerate() {
                let length = lengths[(group * 5 + n) % lengths.len()];
                let all = mask_in(&view, side, group as u32);
                let mut slots: Vec<u32> =
                    (0..length as u32).map(|k| 3 * k + group as u32).collect();
                rng.shuffle(&mut slots);
                for (k, slot) in slots.into_iter().enumerate() {
                    own.push((depth(&mut rng, k), slot, rng.next_u32() & all));
                }
            }
            let case = Case {
                device: &device,
                view: &view,
                method: Intersect::Exact,
                side,
                splats: &[],
                dealt,
                far: Vec::new(),
            };
            let all: Vec<usize> = case.dealt.iter().map(Vec::len).collect();
            let total: usize = all.iter().sum();
            let got = case.run(&all, Missing::default());
            let what = format!("{name}, groups of {side}x{side}");
            assert_eq!(got.counters.halted, 0, "{what}");
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
            for (tile, (got, wanted)) in
                got.lists.iter().zip(case.lists_of(&case.dealt)).enumerate()
            {
                assert!(
                    *got == wanted,
                    "{what}, tile {tile} of {} pairs",
                    wanted.len()
                );
            }
            // Tiles of groups with more than half of an average list come first.
            let columns = view.tiles[0].div_ceil(side);
            let group_of =
                |tile: u32| tile / view.tiles[0] / side * columns + tile % view.tiles[0] / side;
            let is_long = |&tile: &u32| 2 * all[group_of(tile) as usize] * count > total;
            let firsts = got.order.iter().filter(|tile| is_long(tile)).count();
            assert!(got.order[..firsts].iter().all(is_long), "{what}");
        }
    }
}

/// What `project` says of each splat: the first of 2x2 groups, the tiles in the upper and the lower
/// ones, rows of groups, whether it goes farther.
const NEAR: &str = r#"
extern "C" __global__ void near_groups(const Splat* splats, u32 count, Camera camera, uint4* near, uint2* rows) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    Splat s = splats[i];
    Near n = find_near(make_footprint(s), s.mean_x - make_ellipse(s.c, s.b, s.a, s.log2_opacity).half_height, camera);
    near[i] = make_uint4(n.group, n.tiles[0], n.tiles[1], n.is_far);
    rows[i] = n.rows;
}"#;

/// Each splat's pairs near by, or the entries of the queue if it goes farther.
fn near_or_far(
    device: &Arc<dyn Device>,
    method: Intersect,
    kinds: bin::Groups,
    splats: &[Splat],
    view: &KernelCamera,
) -> Vec<Result<Vec<Group>, [u32; 2]>> {
    let like = project::project_dealt(0, 0, method, kinds);
    let text = ("near.cu", NEAR);
    let program = ops::program_of_text(text, &["project.cu"], like.constants, &["near_groups"]);
    let kernel = device.load(&program).unwrap()[0];
    let (near, rows) = (
        zeros(device, 16 * splats.len()),
        zeros(device, 8 * splats.len()),
    );
    launch_on_splats(device, kernel, splats, view, [&near, &rows]);
    let near: Vec<[u32; 4]> = near.to_vec(splats.len()).unwrap();
    let rows: Vec<[u32; 2]> = rows.to_vec(splats.len()).unwrap();
    let columns = view.tiles[0].div_ceil(kinds.side);
    let tiles = kinds.side * kinds.side;
    let of = |(&[group, upper, lower, is_far], rows): (&[u32; 4], &[u32; 2])| match is_far {
        0 => Ok((0..4)
            .map(|g| {
                let row = if g < 2 { upper } else { lower };
                (
                    group + g / 2 * columns + g % 2,
                    row >> (g % 2 * tiles) & ((1 << tiles) - 1),
                )
            })
            .filter(|&(_, mask)| mask != 0)
            .collect()),
        _ => Err(*rows),
    };
    near.iter().zip(&rows).map(of).collect()
}

/// Splats of many shapes: near ones are dealt here, as `project` does it; the others' pairs find
/// their lists, and all are sorted.
#[test]
fn far_splats_are_dealt() {
    let Some(device) = device() else { return };
    let camera = plain_camera(1100, 420);
    let view = KernelCamera::new(&camera, &RenderOptions::default());
    let splats = many_shapes(&camera);
    let mut rng = Rng::new(11, 98);
    let depths: Vec<f32> = splats
        .iter()
        .map(|_| 1.0 + (rng.below(200) as f32))
        .collect();
    for side in bin::SIDES {
        let count = macro_tiles::count(&view, side);
        let kinds = bin::Groups::new(side, count).unwrap();
        let (mut nears, mut fars, mut gaps) = (0, 0, 0);
        for method in METHODS {
            let what = format!("{method}, groups of {side}x{side}");
            let tiles = tile_lists(&device, method, &splats, &view);
            let wanted: Vec<Vec<Group>> = tiles
                .iter()
                .map(|list| groups_of(list, &view, side))
                .collect();
            let (mut dealt, mut all, mut far) =
                (vec![Vec::new(); count], vec![Vec::new(); count], Vec::new());
            for (i, own) in near_or_far(&device, method, kinds, &splats, &view)
                .into_iter()
                .enumerate()
            {
                let (slot, depth) = (i as u32, depths[i]);
                let mut deal = |pairs: &[Group], now: bool| {
                    for &(group, mask) in pairs {
                        all[group as usize].push((depth, slot, mask));
                        if now {
                            dealt[group as usize].push((depth, slot, mask));
                        }
                    }
                };
                match own {
                    Ok(own) => {
                        let with_tiles = wanted[i].iter().copied().filter(|(_, mask)| *mask != 0);
                        assert!(
                            own.iter().copied().eq(with_tiles),
                            "{what}, splat {i}: {own:?}"
                        );
                        deal(&own, true);
                        nears += 1;
                    }
                    Err([first, end]) => {
                        for row in (first..end).step_by(bin::FAR_ROWS as usize) {
                            far.push([slot, depth.to_bits(), row, end.min(row + bin::FAR_ROWS)]);
                        }
                        deal(&wanted[i], false);
                        fars += 1;
                        gaps += wanted[i].iter().filter(|(_, mask)| *mask == 0).count();
                    }
                }
            }
            rng.shuffle(&mut far);
            let case = Case {
                device: &device,
                view: &view,
                method,
                side,
                splats: &splats,
                dealt,
                far,
            };
            let lengths: Vec<usize> = all.iter().map(Vec::len).collect();
            let got = case.run(&lengths, Missing::default());
            assert_eq!(got.counters.halted, 0, "{what}");
            for (group, (got, wanted)) in got.pairs.iter().zip(&all).enumerate() {
                let sorted = |pairs: &[Pair]| {
                    let mut pairs = pairs.to_vec();
                    pairs.sort_by_key(|&(_, slot, _)| slot);
                    pairs
                };
                assert_eq!(sorted(got), sorted(wanted), "{what}, group {group}");
            }
            assert_eq!(got.lists, case.lists_of(&all), "{what}");

            // Without room for one more nothing is split, and what there should have been room for
            // is known.
            let (total, longest) = (lengths.iter().sum::<usize>(), lengths.iter().max().unwrap());
            let missing = [
                Missing {
                    in_lists: 1,
                    ..Missing::default()
                },
                Missing {
                    in_queue: 1,
                    ..Missing::default()
                },
                Missing {
                    in_all: 1,
                    ..Missing::default()
                },
            ];
            for (k, missing) in missing.into_iter().enumerate() {
                let halted = case.run(&lengths, missing).counters;
                assert_eq!(halted.halted, 1, "{what}, {k}");
                assert_eq!(halted.most_far as usize, case.far.len(), "{what}, {k}");
                if k != 1 {
                    assert_eq!(
                        (halted.needed, halted.longest),
                        (total as u64, *longest as u32),
                        "{what}, {k}"
                    );
                }
            }
        }
        assert!(
            nears > 200 && fars > 200 && gaps > 0,
            "{nears} near, {fars} far, {gaps} gaps"
        );
    }
}

/// A renderer launches for as many pairs as it takes a picture to have. Forty Gaussians that cover
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
