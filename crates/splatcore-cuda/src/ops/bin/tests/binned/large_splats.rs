//! Splats of many shapes: the pairs of those with a small footprint are binned as `project` does
//! it, those of the others by `bin_large_splats`.

use super::*;
use crate::ops::{self, project};
use crate::tests::support::macro_tiles::{MacroTile, macro_tiles_of};
use crate::tests::support::splats::{launch_on_splats, many_shapes, tile_lists};

/// A box, slanted and curved shapes.
const METHODS: [Intersect; 3] = [Intersect::Aabb, Intersect::Obb, Intersect::Exact];

/// What `project` says of each splat: the first of 2x2 macro-tiles, the tiles in the upper and the
/// lower ones, rows of macro-tiles, whether it goes farther.
const NEAR: &str = r#"
extern "C" __global__ void near_groups(const Splat* splats, u32 count, Camera camera,
                                       uint4* near, uint2* rows) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    Splat s = splats[i];
    float left = s.mean_x - make_ellipse(s.c, s.b, s.a, s.log2_opacity).half_height;
    Near n = find_near(make_footprint(s), left, camera);
    near[i] = make_uint4(n.macro_tile, n.tiles[0], n.tiles[1], n.is_far);
    rows[i] = n.rows;
}"#;

/// Each splat's pairs near by, or the entries of the queue if it goes farther.
fn small_or_large(
    device: &Arc<dyn Device>,
    method: Intersect,
    kinds: bin::MacroTiles,
    splats: &[Splat],
    view: &KernelCamera,
) -> Vec<Result<Vec<MacroTile>, [u32; 2]>> {
    let like = project::project_binned(0, 0, method, kinds);
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
    let columns = view.tiles_x.div_ceil(kinds.side);
    let tiles = kinds.side * kinds.side;
    let of = |(&[macro_tile, upper, lower, is_far], rows): (&[u32; 4], &[u32; 2])| match is_far {
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
    near.iter().zip(&rows).map(of).collect()
}

fn by_slot(pairs: &[Pair]) -> Vec<Pair> {
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
            case.far.len(),
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

/// Splats of many shapes: near ones are binned here, as `project` does it; the others' pairs find
/// their lists, and all are sorted.
#[test]
fn far_splats_are_dealt() {
    let Some(device) = device() else { return };
    let camera = plain_camera(1100, 420);
    let view = KernelCamera::new(&camera, &RenderOptions::default());
    let splats = many_shapes(&camera);
    let mut rng = Rng::new(11, 98);
    let depths: Vec<f32> = splats.iter().map(|_| 1.0 + rng.below(200) as f32).collect();
    for side in bin::SIDES {
        let count = macro_tiles::count(&view, side);
        let kinds = bin::MacroTiles::new(side, count).unwrap();
        let (mut nears, mut fars, mut gaps) = (0, 0, 0);
        for method in METHODS {
            let what = format!("{method}, macro_tiles of {side}x{side}");
            let tiles = tile_lists(&device, method, &splats, &view);
            let wanted: Vec<Vec<MacroTile>> = tiles
                .iter()
                .map(|list| macro_tiles_of(list, &view, side))
                .collect();
            let (mut binned, mut all, mut far) =
                (vec![Vec::new(); count], vec![Vec::new(); count], Vec::new());
            for (i, own) in small_or_large(&device, method, kinds, &splats, &view)
                .into_iter()
                .enumerate()
            {
                let (splat_index, depth) = (i as u32, depths[i]);
                let mut bin = |pairs: &[MacroTile], now: bool| {
                    for &(macro_tile, mask) in pairs {
                        all[macro_tile as usize].push((depth, splat_index, mask));
                        if now {
                            binned[macro_tile as usize].push((depth, splat_index, mask));
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
                        bin(&own, true);
                        nears += 1;
                    }
                    Err([first, end]) => {
                        for row in (first..end).step_by(bin::LARGE_ROWS as usize) {
                            far.push([
                                splat_index,
                                depth.to_bits(),
                                row,
                                end.min(row + bin::LARGE_ROWS),
                            ]);
                        }
                        bin(&wanted[i], false);
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
                binned,
                far,
            };
            let lengths: Vec<usize> = all.iter().map(Vec::len).collect();
            let got = case.run(&lengths, Missing::default());
            assert_eq!(got.counters.overflowed, 0, "{what}");
            for (macro_tile, (got, wanted)) in got.pairs.iter().zip(&all).enumerate() {
                assert_eq!(
                    by_slot(got),
                    by_slot(wanted),
                    "{what}, macro_tile {macro_tile}"
                );
            }
            assert_eq!(got.lists, case.lists_of(&all), "{what}");
            without_room_nothing_is_split(&case, &lengths, &what);
        }
        assert!(
            nears > 200 && fars > 200 && gaps > 0,
            "{nears} near, {fars} far, {gaps} gaps"
        );
    }
}
