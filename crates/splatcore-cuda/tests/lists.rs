//! kernels/lists.cu: pairs with groups of tiles, and the tiles' lists split from them, against a
//! plain computation from each splat's own tiles.
//!
//! The card of this machine is used if `SPLATCORE_TEST_DEVICE=card`, else the emulator.
#![allow(clippy::unwrap_used)] // helpers of tests

#[path = "support/groups.rs"]
mod in_groups;
#[path = "support/splats.rs"]
mod splats;

use in_groups::{Group, groups_of};

use splatcore_core::Backend;
use splatcore_core::backend::RenderOptions;
use splatcore_core::metrics::psnr_between;
use splatcore_core::pipeline::{Intersect, Pipeline};
use splatcore_core::random::Rng;
use splatcore_cpu::CpuBackend;
use splatcore_cpu::conformance::scenes::{plain_camera, random_scene};
use splatcore_cuda::CudaBackend;
use splatcore_cuda::camera::KernelCamera;
use splatcore_cuda::device::emulated::Emulated;
use splatcore_cuda::device::{Buffer, Device, Program};
use splatcore_cuda::frame::Counters;
use splatcore_cuda::launch::Queue;
use splatcore_cuda::{groups, lists, programs};
use splats::{Splat, device, launch_on_splats, many_shapes, tile_lists, zeros};
use std::sync::Arc;

/// A box, slanted and curved shapes.
const METHODS: [Intersect; 3] = [Intersect::Aabb, Intersect::Obb, Intersect::Exact];
/// More pairs than these are a long list (LONG_LIST of kernels/splat.cuh).
const LONG: usize = 64;
/// More pairs than these that are to be written row by row are many (MANY_PAIRS of
/// kernels/lists.cu).
const MANY: usize = 1024;
/// What no kernel writes.
const UNTOUCHED: u32 = 0xcdcd_cdcd;

/// What `project` says of each splat's groups, and how many pairs it counts. In blocks of 256
/// threads.
const COUNT: &str = r#"
extern "C" __global__ void counts(const Splat* splats, u32 count, Camera camera, u32* counts, Reach* reaches) {
    __shared__ Counting counting[256 / WARP];
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    Footprint f = {};
    Reach reach;
    float left = 0.0f;
    if (i < count) {
        Splat s = splats[i];
        f = make_footprint(s);
        left = s.mean_x - make_ellipse(s.c, s.b, s.a, s.log2_opacity).half_height;
    }
    u32 pairs = count_pairs(f, i < count, left, camera, counting[threadIdx.x / WARP], threadIdx.x % WARP, reach);
    if (i >= count) return;
    counts[i] = pairs;
    reaches[i] = reach;
}"#;

fn count_groups(
    device: &Arc<dyn Device>,
    (method, side): (Intersect, u32),
    splats: &[Splat],
    view: &KernelCamera,
) -> (Vec<u32>, Vec<Reach>) {
    let like = programs::project(0, 0, method, Some(side));
    let program = Program {
        op: "counts",
        files: like
            .files
            .into_iter()
            .chain([("counts.cu", COUNT)])
            .collect(),
        constants: like.constants,
        kernels: &["counts"],
    };
    let kernel = device.load(&program).unwrap()[0];
    let counts = Buffer::new(device, "test", 4 * splats.len()).unwrap();
    let words = lists::reach_bytes(side) / 4;
    let reaches = Buffer::new(device, "test", 4 * words * splats.len()).unwrap();
    launch_on_splats(device, kernel, splats, view, [&counts, &reaches]);
    (
        counts.to_vec(splats.len()).unwrap(),
        reaches
            .to_vec(words * splats.len())
            .unwrap()
            .chunks(words)
            .map(<[u32]>::to_vec)
            .collect(),
    )
}

/// What a reach says: the number of the first of 2x2 groups and the tiles in all four, in one word
/// or two (of four; the last says nothing), or pairs and 0.
type Reach = Vec<u32>;

/// The pairs that a near splat's reach stands for.
fn near_groups(reach: &Reach, view: &KernelCamera, side: u32) -> Vec<Group> {
    let columns = view.tiles[0].div_ceil(side);
    let in_group = side * side;
    let group = |g: u32| {
        let bit = (in_group * g) as usize;
        let mask = reach[1 + bit / 32] >> (bit % 32) & ((1 << in_group) - 1);
        (reach[0] + g / 2 * columns + g % 2, mask)
    };
    (0..4).map(group).filter(|(_, mask)| *mask != 0).collect()
}

fn is_near(reach: &Reach) -> bool {
    reach[1..].iter().any(|&tiles| tiles != 0)
}

/// Whether all groups lie in 2x2 of them.
fn are_near(groups: &[Group], view: &KernelCamera, side: u32) -> bool {
    let columns = view.tiles[0].div_ceil(side);
    let places = groups
        .iter()
        .map(|(group, _)| (group % columns, group / columns));
    let (xs, ys): (Vec<u32>, Vec<u32>) = places.unzip();
    let width = |of: &[u32]| {
        of.iter()
            .max()
            .zip(of.iter().min())
            .map_or(0, |(max, min)| max - min + 1)
    };
    !groups.is_empty() && width(&xs) <= 2 && width(&ys) <= 2
}

/// What a frame has for these kernels.
struct Frame<'a> {
    device: &'a Arc<dyn Device>,
    method: Intersect,
    /// Tiles along a side of a group.
    side: u32,
    splats: &'a [Splat],
    /// Slots, front to back.
    order: &'a [u32],
    /// Pairs of all.
    pairs: usize,
    /// What `project` said of each slot.
    reaches: &'a [Reach],
    view: &'a KernelCamera,
}

/// What `expand` wrote, in the order in which it is numbered.
struct Expanded {
    /// Keys and values.
    pairs: Vec<[u32; 2]>,
    /// Places in the order of splats with long lists, in any order.
    longs: Vec<u32>,
    counters: Counters,
}

impl Frame<'_> {
    /// Writes all pairs, with room for `capacity` of them.
    fn expand(&self, capacity: usize) -> Expanded {
        let (device, count) = (self.device, self.splats.len());
        let counters = Counters {
            visible: count as u32,
            pairs: self.pairs as u64,
            ..Counters::default()
        };
        let splats = Buffer::from_slice(device, "test", self.splats).unwrap();
        let order = Buffer::from_slice(device, "test", self.order).unwrap();
        let reaches = Buffer::from_slice(device, "test", &self.reaches.concat()).unwrap();
        let counters = Buffer::from_slice(device, "test", &[counters]).unwrap();
        let untouched =
            |length| Buffer::from_slice(device, "test", &vec![UNTOUCHED; length]).unwrap();
        let [keys, values] = [0; 2].map(|_| untouched(self.pairs));
        let longs = untouched(count);
        let ordered_reaches = untouched(count * lists::reach_bytes(self.side) / 4);
        let block_pairs = zeros(device, 4 * lists::sums(count + 300));
        let buffers = lists::Buffers {
            splats: splats.address(),
            order: order.address(),
            reaches: reaches.address(),
            keys: keys.address(),
            values: values.address(),
            longs: longs.address(),
            ordered_reaches: ordered_reaches.address(),
            block_pairs: block_pairs.address(),
            counters: counters.address(),
        };
        let kernels = device
            .load(&programs::lists(self.method, self.side))
            .unwrap();
        let queue = Queue::new(device.clone());
        // Fewer blocks than long lists; more threads than splats.
        lists::expand(
            &queue,
            &kernels,
            self.view,
            [count + 300, capacity],
            3,
            buffers,
        )
        .unwrap();
        Expanded {
            pairs: keys
                .to_vec(self.pairs)
                .unwrap()
                .into_iter()
                .zip(values.to_vec(self.pairs).unwrap())
                .map(<[u32; 2]>::from)
                .collect(),
            longs: longs.to_vec(count).unwrap(),
            counters: counters.to_vec(1).unwrap()[0],
        }
    }

    /// The tiles' lists, from pairs sorted by group.
    fn split(&self, sorted: &[[u32; 2]], ranges: &[[u32; 2]], halted: bool) -> Vec<Vec<u32>> {
        let (device, tiles) = (self.device, self.view.tile_count());
        let counters = Counters {
            halted: halted.into(),
            pairs: sorted.len() as u64,
            ..Counters::default()
        };
        let counters = Buffer::from_slice(device, "test", &[counters]).unwrap();
        let word = |k: usize| sorted.iter().map(|pair| pair[k]).collect::<Vec<u32>>();
        let [keys, values] = [0, 1].map(|k| Buffer::from_slice(device, "test", &word(k)).unwrap());
        // As the sort notes them: a list without pairs has no place.
        let noted = |&[begin, end]: &[u32; 2]| if begin == end { [0, 0] } else { [!begin, end] };
        let ranges: Vec<[u32; 2]> = ranges.iter().map(noted).collect();
        let group_ranges = Buffer::from_slice(device, "test", &ranges).unwrap();
        let room = lists::places(self.side) * sorted.len();
        let tile_lists = Buffer::from_slice(device, "test", &vec![UNTOUCHED; room]).unwrap();
        let entries = Buffer::from_slice(device, "test", &vec![[UNTOUCHED; 4]; tiles]).unwrap();
        let tile_ranges = zeros(device, 8 * tiles);
        let kernels = device
            .load(&programs::lists(self.method, self.side))
            .unwrap();
        let state_bytes = lists::split_state_bytes(self.side, sorted.len());
        let states = if lists::has_entries(self.side) {
            zeros(device, state_bytes)
        } else {
            Buffer::from_slice(device, "test", &vec![UNTOUCHED; state_bytes / 4]).unwrap()
        };
        let split = lists::Split {
            pairs: [keys.address(), values.address()],
            group_ranges: group_ranges.address(),
            counters: counters.address(),
            states: states.address(),
            tile_lists: tile_lists.address(),
            places: if lists::has_entries(self.side) {
                &entries
            } else {
                &tile_ranges
            }
            .address(),
        };
        let most = [ranges.len(), sorted.len()];
        lists::split(
            &Queue::new(device.clone()),
            &kernels,
            self.view,
            most,
            split,
        )
        .unwrap();
        let tile_lists: Vec<u32> = tile_lists.to_vec(room).unwrap();
        let mut entries: Vec<[u32; 4]> = entries.to_vec(tiles).unwrap();
        if !lists::has_entries(self.side) {
            let ranges: Vec<[u32; 2]> = tile_ranges.to_vec(tiles).unwrap();
            for (tile, &[not_begin, end]) in ranges.iter().enumerate() {
                entries[tile] = match (end, halted) {
                    (0, true) => [UNTOUCHED; 4],
                    (0, false) => [0, 0, tile as u32, 0],
                    (_, _) => [!not_begin, end, tile as u32, 0],
                };
            }
        }
        if halted {
            assert!(
                entries.iter().flatten().all(|&word| word == UNTOUCHED),
                "halted and went on"
            );
            return Vec::new();
        }
        if !lists::has_entries(self.side) {
            let placed = counters.to_vec::<Counters>(1).unwrap()[0].placed;
            let in_lists: u32 = entries.iter().map(|&[begin, end, ..]| end - begin).sum();
            assert_eq!(placed, u64::from(in_lists));
        }
        let mut lists = vec![None; tiles];
        for &[begin, end, tile, _] in &entries {
            let list = tile_lists[begin as usize..end as usize].to_vec();
            assert!(
                lists[tile as usize].replace(list).is_none(),
                "tile {tile} twice"
            );
        }
        lists.into_iter().map(Option::unwrap).collect()
    }
}

/// Pairs in a stable order by group, and where each group's begin and end.
fn sorted(pairs: &[[u32; 2]], side: u32, count: usize) -> (Vec<[u32; 2]>, Vec<[u32; 2]>) {
    let mut lists = vec![Vec::new(); count];
    for &pair in pairs {
        lists[(pair[0] >> lists::key_shift(side)) as usize].push(pair);
    }
    let mut end = 0;
    let range = |list: &Vec<[u32; 2]>| {
        let begin = end;
        end += list.len() as u32;
        [begin, end]
    };
    let ranges = lists.iter().map(range).collect();
    (lists.concat(), ranges)
}

/// What a case must have had for the test to mean something.
#[derive(Default)]
struct Seen {
    /// Splats with more pairs than [`LONG`].
    longs: usize,
    /// Splats whose reach says all.
    near: usize,
    /// Splats that would have done so too, with the method `exact`.
    missed: usize,
    /// Others with pairs, neither near nor long.
    far: usize,
    /// Pairs with a group none of whose tiles is touched.
    gaps: usize,
    /// Pairs of the group with the most.
    longest: usize,
    /// Groups without a pair.
    empty: usize,
    /// Parts of blocks that have many pairs to write row by row.
    parts: usize,
}

/// With small groups and with large ones.
fn check(device: &Arc<dyn Device>, what: &str, splats: &[Splat], size: [u32; 2]) -> [Seen; 2] {
    lists::SIDES.map(|side| check_side(device, what, splats, size, side))
}

fn check_side(
    device: &Arc<dyn Device>,
    what: &str,
    splats: &[Splat],
    size: [u32; 2],
    side: u32,
) -> Seen {
    let camera = plain_camera(size[0], size[1]);
    let view = KernelCamera::new(&camera, &RenderOptions::default());
    let groups = groups::count(&view, side);
    assert_eq!(
        groups as u32,
        view.tiles[0].div_ceil(side) * view.tiles[1].div_ceil(side)
    );
    let mut order: Vec<u32> = (0..splats.len() as u32).collect();
    Rng::new(3, 98).shuffle(&mut order);
    let mut seen = Seen::default();
    for method in METHODS {
        let what = format!("{what}, {method}, groups of {side}x{side}");
        let tiles = tile_lists(device, method, splats, &view);
        let pairs: Vec<Vec<Group>> = tiles
            .iter()
            .map(|list| groups_of(list, &view, side))
            .collect();
        let (counts, reaches) = count_groups(device, (method, side), splats, &view);
        let (mut near, mut missed) = (0, 0);
        for (i, (reach, own)) in reaches.iter().zip(&pairs).enumerate() {
            // A shape wider than the ellipse begins to its left, a needle's first tile may lie
            // right of it.
            missed += (method == Intersect::Exact && !is_near(reach) && are_near(own, &view, side))
                as usize;
            near += is_near(reach) as usize;
            match is_near(reach) {
                true => assert_eq!(&near_groups(reach, &view, side), own, "{what}, splat {i}"),
                false => assert_eq!(reach[0] as usize, own.len(), "{what}, splat {i}"),
            }
            assert_eq!(counts[i] as usize, own.len(), "{what}, splat {i}");
        }
        let (mut longs, mut wanted) = (Vec::new(), Vec::new());
        for (place, &slot) in order.iter().enumerate() {
            if pairs[slot as usize].len() > LONG {
                longs.push(place as u32);
            }
            wanted.extend(
                pairs[slot as usize]
                    .iter()
                    .map(|&(group, mask)| match side {
                        2 => [group, slot | mask << 28],
                        _ => [group << 16 | mask, slot],
                    }),
            );
        }
        let frame = Frame {
            device,
            method,
            side,
            splats,
            order: &order,
            pairs: wanted.len(),
            reaches: &reaches,
            view: &view,
        };
        let mut got = frame.expand(wanted.len());
        let both = got.pairs.iter().zip(&wanted);
        if let Some((i, (got, wanted))) = both.enumerate().find(|(_, (a, b))| a != b) {
            panic!("{what}, pair {i}: {got:x?}, not {wanted:x?}");
        }
        let long_splats = longs.len();
        // Behind the splats with long lists come the parts of blocks that have many other pairs.
        for (block, places) in order.chunks(256).enumerate() {
            let own = |&slot: &u32| pairs[slot as usize].len();
            let by_rows = |slot: &&u32| own(slot) <= LONG && !is_near(&reaches[**slot as usize]);
            if places.iter().filter(by_rows).map(own).sum::<usize>() > MANY {
                longs.extend((0..4).map(|part| 1 << 31 | (4 * block as u32 + part)));
                seen.parts += 4;
            }
        }
        got.longs[..longs.len()].sort_unstable();
        assert_eq!(got.longs[..longs.len()], longs, "{what}");
        assert_eq!(got.counters.longs as usize, longs.len(), "{what}");
        assert_eq!(
            (got.counters.halted, got.counters.needed),
            (0, wanted.len() as u64)
        );

        let (pairs_by_group, ranges) = sorted(&got.pairs, side, groups);
        let lists = frame.split(&pairs_by_group, &ranges, false);
        let mut expected = vec![Vec::new(); view.tile_count()];
        for &slot in &order {
            for &tile in &tiles[slot as usize] {
                expected[tile as usize].push(slot);
            }
        }
        for (tile, (got, expected)) in lists.iter().zip(&expected).enumerate() {
            assert_eq!(got, expected, "{what}, tile {tile}");
        }
        frame.split(&pairs_by_group, &ranges, true);

        if wanted.is_empty() {
            continue;
        }
        let halted = frame.expand(wanted.len() - 1);
        assert_eq!(
            (halted.counters.halted, halted.counters.needed),
            (1, wanted.len() as u64)
        );
        assert_eq!(halted.counters.longs, 0, "{what}: went on without room");
        assert!(
            halted.pairs.iter().all(|&pair| pair == [UNTOUCHED; 2]),
            "{what}: went on without room"
        );

        seen.longs += long_splats;
        seen.near += near;
        seen.missed += missed;
        seen.far += pairs.iter().filter(|own| !own.is_empty()).count() - near - long_splats;
        seen.gaps += pairs
            .iter()
            .flatten()
            .filter(|(_, mask)| *mask == 0)
            .count();
        seen.empty += ranges.iter().filter(|[begin, end]| begin == end).count();
        let longest = ranges
            .iter()
            .map(|[begin, end]| (end - begin) as usize)
            .max();
        seen.longest = seen.longest.max(longest.unwrap_or(0));
    }
    seen
}

/// Splats over the whole image, so flat that rows have gaps, or nowhere; three blocks of them; 63 x
/// 25 tiles.
#[test]
fn lists_are_those_of_each_tile() {
    let Some(device) = device() else { return };
    let splats = many_shapes(&plain_camera(1000, 392));
    assert!(splats.len() > 2 * 256 && !splats.len().is_multiple_of(256));
    let [small, large] = check(&device, "many shapes", &splats, [1000, 392]);
    // Of large groups a splat has fewer.
    for (seen, longs, parts, near) in [(small, 9, 3, 5), (large, 0, 3, 2)] {
        assert!(
            seen.longs > longs
                && seen.parts > parts
                && seen.gaps > 0
                && seen.near > near
                && seen.far > 99,
            "{} long lists, {} parts, {} gaps, {} near splats, {} others",
            seen.longs,
            seen.parts,
            seen.gaps,
            seen.near,
            seen.far
        );
    }
}

/// Most splats of a scene: a few pixels to a few tiles, of any direction; some beyond the image's
/// edges.
#[test]
fn small_splats_have_their_groups_told() {
    let Some(device) = device() else { return };
    let mut rng = Rng::new(6, 98);
    let small = |i: u32| {
        let (size, ratio, angle) = (
            rng.normal().exp2() * 4.0,
            rng.normal().abs().exp2(),
            3.0 * rng.normal(),
        );
        let (along, across) = (0.7 / (size * size), 0.7 * ratio * ratio / (size * size));
        let (sine, cosine) = angle.sin_cos();
        Splat {
            mean: [200.0 + 130.0 * rng.normal(), 150.0 + 100.0 * rng.normal()],
            log2_opacity: -rng.normal().abs(),
            gaussian: i,
            power: [
                -along * cosine * cosine - across * sine * sine,
                2.0 * (across - along) * sine * cosine,
                -along * sine * sine - across * cosine * cosine,
            ],
            radius: (3.0 * size).ceil(),
            colour: [0.5; 3],
            clamped: 0,
        }
    };
    let splats: Vec<Splat> = (0..2000).map(small).collect();
    // Of large groups hardly a splat has others.
    for (seen, others) in check(&device, "small", &splats, [400, 300])
        .into_iter()
        .zip([99, 9])
    {
        let Seen {
            near, missed, far, ..
        } = seen;
        assert!(
            near > 3 * 1000 && 100 * missed < near && far > others,
            "{near} told as near, {missed} near but not told so, {far} others"
        );
    }
}

/// Groups of hundreds of pairs: `split` takes several turns. One tile, a row and a column of them,
/// and an even number.
#[test]
fn long_lists_of_few_tiles_are_in_order() {
    let Some(device) = device() else { return };
    for size in [[16, 16], [70, 9], [5, 40], [64, 32], [33, 48]] {
        let camera = plain_camera(size[0], size[1]);
        let splats = splats::splats(&random_scene(15, 1500, 0), &camera);
        for seen in check(&device, &format!("{size:?}"), &splats, size) {
            assert!(
                seen.longest > 512,
                "{size:?}: at most {} pairs",
                seen.longest
            );
        }
    }
}

/// A group whose pairs are more than `split` looks back over at once, between others: the pairs of
/// a block, and of a group that is long.
#[test]
fn lists_of_many_sections_are_in_order() {
    let Some(device) = device() else { return };
    let shape = many_shapes(&plain_camera(64, 64))[0];
    let mut rng = Rng::new(8, 98);
    let at = |centre: [f32; 2], spread: f32, rng: &mut Rng| Splat {
        mean: centre.map(|c| c + spread * rng.normal()),
        power: [-0.05, 0.0, -0.05],
        log2_opacity: -1.0,
        radius: 12.0,
        ..shape
    };
    let mut splats: Vec<Splat> = (0..11_000)
        .map(|_| at([96.0, 32.0], 3.0, &mut rng))
        .collect();
    splats.extend((0..900).map(|_| at([90.0, 32.0], 60.0, &mut rng)));
    let [small, large] = check(&device, "many sections", &splats, [192, 64]);
    assert!(
        small.longest > 9 * 1024 && small.empty == 0,
        "{} pairs",
        small.longest
    );
    assert!(large.longest > 2048, "{} pairs", large.longest);
}

#[test]
fn groups_without_splats_have_empty_lists() {
    let Some(device) = device() else { return };
    let small = |mean| Splat {
        mean,
        power: [-1.0, 0.0, -1.0],
        log2_opacity: -1.0,
        radius: 3.0,
        ..many_shapes(&plain_camera(64, 64))[0]
    };
    let seen = check(&device, "nowhere", &[small([-1e4, -1e4])], [50, 50]);
    assert!(seen.iter().all(|seen| seen.longest == 0));
    // Two tiles of one group in the middle, and the last tile.
    let splats = [[-1e4, 0.0], [40.0, 48.0], [48.5, 48.5]].map(small);
    let [seen, _] = check(&device, "few", &splats, [50, 50]);
    assert_eq!((seen.longest, seen.empty), (2, 3 * METHODS.len()));
    let splats = [[-1e4, 0.0], [80.0, 96.0], [96.5, 96.5]].map(small);
    let [_, seen] = check(&device, "few", &splats, [100, 100]);
    assert_eq!((seen.longest, seen.empty), (2, 3 * METHODS.len()));
}

/// A column of 532 or 266 groups, more than a block takes at once.
#[test]
fn splats_over_more_rows_than_a_block_has_threads() {
    let Some(device) = device() else { return };
    let tall = |y: f32, slope: f32| Splat {
        mean: [20.0, y],
        power: [-1e-3, slope, -1e-7],
        log2_opacity: -0.5,
        radius: 9000.0,
        ..many_shapes(&plain_camera(64, 64))[0]
    };
    let splats = [tall(8500.0, 0.0), tall(8300.0, 1e-5), tall(8700.0, -1e-5)];
    for seen in check(&device, "tall", &splats, [40, 17000]) {
        assert!(seen.longs == 3 * METHODS.len() && seen.longest == 3);
    }
}

/// Where a block's pairs begin is found from sums of blocks and of 256 blocks.
#[test]
fn more_blocks_than_are_added_up_one_by_one() {
    let Some(device) = device() else { return };
    let mut rng = Rng::new(7, 98);
    let shape = many_shapes(&plain_camera(64, 64))[0];
    let small = |i: u32| Splat {
        mean: [32.0 + 20.0 * rng.normal(), 16.0 + 10.0 * rng.normal()],
        power: [-0.1, 0.0, -0.1],
        log2_opacity: -1.0,
        gaussian: i,
        radius: 9.0,
        ..shape
    };
    let splats: Vec<Splat> = (0..2 * 65_536 + 300).map(small).collect();
    for side in lists::SIDES {
        check_side(&device, "many", &splats, [64, 32], side);
    }
}

/// What a barrier too few would show: the emulator lets the threads of a block take turns in either
/// order.
#[test]
fn lists_do_not_depend_on_the_order_of_threads() {
    let Ok(emulated) = Emulated::new() else {
        return;
    };
    emulated.set_backward(true);
    let device: Arc<dyn Device> = Arc::new(emulated);
    let splats = many_shapes(&plain_camera(1000, 392));
    check(&device, "threads backward", &splats, [1000, 392]);
}

/// A renderer launches a picture's sorts for as many pairs as it takes it to have. Forty Gaussians
/// that cover everything have five times as many.
#[test]
fn pictures_of_more_pairs_than_expected_are_right() {
    let Some(device) = device() else { return };
    let mut scene = random_scene(16, 40, 0);
    scene.log_scales.fill([2.0; 3]);
    let options = RenderOptions {
        pipeline: Pipeline::AUTO,
        ..RenderOptions::default()
    };
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
