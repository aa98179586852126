//! Splats of many shapes: the pairs of those with a small footprint are binned as `project` does
//! it, those of the others by `bin_large_splats`.

use super::*;
use crate::ops::{self, project};
use crate::tests::support::macro_tiles::{MacroTile, macro_tiles_of};
use crate::tests::support::splats::{launch_on_splats, many_shapes, tile_lists};

/// A box, slanted and curved shapes.
const METHODS: [Intersect; 3] = [Intersect::Aabb, Intersect::Obb, Intersect::Exact];

/// What `project` says of each splat: the first of 2x2 macro-tiles, the tiles in the upper and the
/// lower ones, rows of macro-tiles, whether it is large.
const COVERED: &str = r#"
extern "C" __global__ void covered_macro_tiles(const Splat* splats, u32 count, Camera camera,
                                       uint4* covered, uint2* rows) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    Splat s = splats[i];
    float left = s.mean_x - make_ellipse(s.c, s.b, s.a, s.log2_opacity).half_height;
    CoveredMacroTiles n = cover(make_footprint(s), left, camera);
    covered[i] = make_uint4(n.macro_tile, n.tiles[0], n.tiles[1], n.is_large);
    rows[i] = n.rows;
}"#;

/// Each splat's pairs if it is small, or its entries of the queue if it is large.
fn small_or_large(
    device: &Arc<dyn Device>,
    method: Intersect,
    kinds: bin::MacroTiles,
    splats: &[Splat],
    view: &KernelCamera,
) -> Vec<Result<Vec<MacroTile>, [u32; 2]>> {
    let like = project::project_binned(0, 0, method, kinds);
    let text = ("covered.cu", COVERED);
    let program = ops::program_of_text(
        text,
        &["project.cu"],
        like.constants,
        &["covered_macro_tiles"],
    );
    let kernel = device.load(&program).unwrap()[0];
    let (covered, rows) = (
        zeros(device, 16 * splats.len()),
        zeros(device, 8 * splats.len()),
    );
    launch_on_splats(device, kernel, splats, view, [&covered, &rows]);
    let covered: Vec<[u32; 4]> = covered.to_vec(splats.len()).unwrap();
    let rows: Vec<[u32; 2]> = rows.to_vec(splats.len()).unwrap();
    let columns = view.tiles_x.div_ceil(kinds.side);
    let tiles = kinds.side * kinds.side;
    let of = |(&[macro_tile, upper, lower, is_large], rows): (&[u32; 4], &[u32; 2])| match is_large
    {
        0 => Ok((0..4)
            .map(|g| {
                let row = if g < 2 { upper } else { lower };
                (
                    macro_tile + g / 2 * columns + g % 2,
                    row >> (g % 2 * tiles) & ((1 << tiles) - 1),
                )
            })
            .filter(|&(_, mask)| mask != 0)
            .collect()),
        _ => Err(*rows),
    };
    covered.iter().zip(&rows).map(of).collect()
}

fn by_splat_index(pairs: &[Pair]) -> Vec<Pair> {
    let mut pairs = pairs.to_vec();
    pairs.sort_by_key(|&(_, splat_index, _)| splat_index);
    pairs
}

/// Without room for one more nothing is split, and what there should have been room for is known.
fn without_room_nothing_is_split(case: &Case, lengths: &[usize], what: &str) {
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
        let overflowed = case.run(lengths, missing).counters;
        assert_eq!(overflowed.overflowed, 1, "{what}, {k}");
        assert_eq!(
            overflowed.most_large as usize,
            case.large.len(),
            "{what}, {k}"
        );
        if k != 1 {
            assert_eq!(
                (overflowed.needed, overflowed.longest),
                (total as u64, *longest as u32),
                "{what}, {k}"
            );
        }
    }
}

/// The pairs of splats, by how they are to be binned.
struct Sorted {
    /// Of each macro-tile, those of splats with a small footprint.
    binned: Vec<Vec<Pair>>,
    /// Of each macro-tile, all.
    all: Vec<Vec<Pair>>,
    /// The queue's entries of splats with a large footprint.
    large: Vec<[u32; 4]>,
    /// Splats with a small and with a large footprint.
    splats: [usize; 2],
    /// Macro-tiles in the rows of large splats of which no tile is touched.
    gaps: usize,
}

impl Sorted {
    /// Of `count` macro-tiles. `wanted` are the macro-tiles of each splat; those of a small one
    /// must be what `own` says.
    fn new(
        own: Vec<Result<Vec<MacroTile>, [u32; 2]>>,
        wanted: &[Vec<MacroTile>],
        depths: &[f32],
        count: usize,
        what: &str,
    ) -> Self {
        let mut sorted = Self {
            binned: vec![Vec::new(); count],
            all: vec![Vec::new(); count],
            large: Vec::new(),
            splats: [0, 0],
            gaps: 0,
        };
        for (i, own) in own.into_iter().enumerate() {
            let (splat_index, depth) = (i as u32, depths[i]);
            match own {
                Ok(own) => {
                    let with_tiles = wanted[i].iter().copied().filter(|(_, mask)| *mask != 0);
                    assert!(
                        own.iter().copied().eq(with_tiles),
                        "{what}, splat {i}: {own:?}"
                    );
                    for (macro_tile, mask) in own {
                        let pair = (depth, splat_index, mask);
                        sorted.all[macro_tile as usize].push(pair);
                        sorted.binned[macro_tile as usize].push(pair);
                    }
                    sorted.splats[0] += 1;
                }
                Err([first, end]) => {
                    for row in (first..end).step_by(bin::LARGE_ROWS as usize) {
                        sorted.large.push([
                            splat_index,
                            depth.to_bits(),
                            row,
                            end.min(row + bin::LARGE_ROWS),
                        ]);
                    }
                    for &(macro_tile, mask) in &wanted[i] {
                        sorted.all[macro_tile as usize].push((depth, splat_index, mask));
                    }
                    sorted.splats[1] += 1;
                    sorted.gaps += wanted[i].iter().filter(|(_, mask)| *mask == 0).count();
                }
            }
        }
        sorted
    }
}

/// Splats of many shapes: small ones are binned here, as `project` does it; the others' pairs find
/// their lists, and all are sorted.
#[test]
fn large_splats_are_binned() {
    let Some(device) = device() else { return };
    let camera = plain_camera(1100, 420);
    let view = KernelCamera::new(&camera, &RenderOptions::default());
    let splats = many_shapes(&camera);
    let mut rng = Rng::new(11, 98);
    let depths: Vec<f32> = splats.iter().map(|_| 1.0 + rng.below(200) as f32).collect();
    for side in bin::SIDES {
        let count = macro_tiles::count(&view, side);
        let kinds = bin::MacroTiles::new(side, count).unwrap();
        let (mut small, mut large, mut gaps) = (0, 0, 0);
        for method in METHODS {
            let what = format!("{method}, macro-tiles of {side}x{side}");
            let tiles = tile_lists(&device, method, &splats, &view);
            let wanted: Vec<Vec<MacroTile>> = tiles
                .iter()
                .map(|list| macro_tiles_of(list, &view, side))
                .collect();
            let own = small_or_large(&device, method, kinds, &splats, &view);
            let mut sorted = Sorted::new(own, &wanted, &depths, count, &what);
            small += sorted.splats[0];
            large += sorted.splats[1];
            gaps += sorted.gaps;
            rng.shuffle(&mut sorted.large);
            let all = sorted.all;
            let case = Case {
                device: &device,
                view: &view,
                method,
                side,
                splats: &splats,
                binned: sorted.binned,
                large: sorted.large,
            };
            let lengths: Vec<usize> = all.iter().map(Vec::len).collect();
            let got = case.run(&lengths, Missing::default());
            assert_eq!(got.counters.overflowed, 0, "{what}");
            for (macro_tile, (got, wanted)) in got.pairs.iter().zip(&all).enumerate() {
                assert_eq!(
                    by_splat_index(got),
                    by_splat_index(wanted),
                    "{what}, macro_tile {macro_tile}"
                );
            }
            assert_eq!(got.lists, case.lists_of(&all), "{what}");
            without_room_nothing_is_split(&case, &lengths, &what);
        }
        assert!(
            small > 200 && large > 200 && gaps > 0,
            "{small} covered, {large} large, {gaps} gaps"
        );
    }
}
