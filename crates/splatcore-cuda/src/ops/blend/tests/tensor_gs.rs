//! TensorGS: the lists and masks of macro-tiles of tiles against what follows from the tiles' own
//! lists, and in `bounds` images against the CPU's in f32 and the f64 twin.
//!
//! The card of this machine is used if `SPLATCORE_TEST_DEVICE=card`, else the emulator.

mod bounds;

use crate::CudaBackend;
use crate::device::emulated::Emulated;
use crate::device::queue::launch;
use crate::device::{Buffer, Device};
use crate::ops::camera::KernelCamera;
use crate::ops::counters::Counters;
use crate::ops::intersect::macro_tiles::{self, ExpandMacroTilesParams};
use crate::tests::support::splats::{Splat, device, many_shapes, tile_lists, zeros};
use splatcore_core::backend::{Backend, FrameCounts, RenderOptions, Rendered};
use splatcore_core::gaussians::logit;
use splatcore_core::pipeline::{Backward, Blend, Intersect};
use splatcore_core::random::Rng;
use splatcore_core::{Camera, Gaussians, Pipeline};
use splatcore_reference::conformance::scenes::{odd_camera, plain_camera, random_scene};
use std::sync::Arc;

const METHODS: [Blend; 3] = [Blend::TensorGs1x1, Blend::TensorGs2x2, Blend::TensorGs4x4];
const HALVES: [Blend; 3] = [
    Blend::TensorGs1x1Half,
    Blend::TensorGs2x2Half,
    Blend::TensorGs4x4Half,
];

fn options(intersect: Intersect, blend: Blend) -> RenderOptions {
    RenderOptions {
        pipeline: Pipeline {
            intersect,
            blend,
            backward: Backward::Subtile,
        },
        background: [0.3, 0.6, 0.1],
        ..RenderOptions::default()
    }
}

/// (macro-tile, mask) of every macro-tile that holds one of these tiles, row by row.
fn merged(tiles: &[u32], side: u32, view: &KernelCamera) -> Vec<(u32, u16)> {
    let macro_tiles_x = view.tiles_x.div_ceil(side);
    let mut macro_tiles = std::collections::BTreeMap::new();
    for tile in tiles {
        let (x, y) = (tile % view.tiles_x, tile / view.tiles_x);
        let bit = 1u16 << (y % side * side + x % side);
        *macro_tiles
            .entry(y / side * macro_tiles_x + x / side)
            .or_insert(0) |= bit;
    }
    macro_tiles.into_iter().collect()
}

/// What the kernels wrote.
struct Expanded {
    /// (macro-tile, splat, mask, number) of each pair.
    pairs: Vec<(u32, u32, u16, u32)>,
    first_pairs: Vec<u32>,
    counters: Counters,
}

/// Runs the two kernels on splats in this depth order, with room for `room` pairs.
fn expand(
    device: &Arc<dyn Device>,
    method: Intersect,
    side: u32,
    (splats, order): (&[Splat], &[u32]),
    view: &KernelCamera,
    (tile_pairs, room): (usize, usize),
) -> Expanded {
    let kernels = device.load(&macro_tiles::program(method, side)).unwrap();
    let count = splats.len();
    let all = Buffer::from_slice(device, "test", splats).unwrap();
    let order = Buffer::from_slice(device, "test", order).unwrap();
    let counters = Counters {
        visible: count as u32,
        pairs: tile_pairs as u64,
        ..Counters::default()
    };
    let counters = Buffer::from_slice(device, "test", &[counters]).unwrap();
    let new = |bytes| Buffer::new(device, "test", bytes).unwrap();
    let [macro_tiles, splat_order, numbers, masks] = [4, 4, 4, 2].map(|bytes| new(bytes * room));
    let (first_pairs, longs) = (new(4 * count), new(4 * count));
    let states = zeros(device, 4 * count.div_ceil(256));
    let params = ExpandMacroTilesParams {
        splats: all.address(),
        order: order.address(),
        camera: *view,
        pair_capacity: room as u32,
        macro_tiles: macro_tiles.address(),
        pair_splats: splat_order.address(),
        pair_numbers: numbers.address(),
        masks: masks.address(),
        first_pairs: first_pairs.address(),
        long_splats: longs.address(),
        states: states.address(),
        counters: counters.address(),
    };
    launch(
        &**device,
        kernels[0],
        count.div_ceil(256) as u32,
        256,
        &params,
    )
    .unwrap();
    // Fewer blocks than long lists.
    launch(&**device, kernels[1], 3, 256, &params).unwrap();
    let counters: Counters = counters.to_vec(1).unwrap()[0];
    let n = (counters.pairs as usize).min(room);
    let [macro_tiles, splat_order, numbers] =
        [&macro_tiles, &splat_order, &numbers].map(|b| b.to_vec::<u32>(n).unwrap());
    let masks: Vec<u16> = masks.to_vec(n).unwrap();
    Expanded {
        pairs: (0..n)
            .map(|i| (macro_tiles[i], splat_order[i], masks[i], numbers[i]))
            .collect(),
        first_pairs: first_pairs.to_vec(count).unwrap(),
        counters,
    }
}

/// Whether the macro-tiles of a row of macro-tiles are not all neighbours.
fn has_gap(macro_tiles: &[(u32, u16)], macro_tiles_x: u32) -> bool {
    macro_tiles.windows(2).any(|pair| {
        pair[0].0 / macro_tiles_x == pair[1].0 / macro_tiles_x && pair[1].0 > pair[0].0 + 1
    })
}

#[test]
fn lists_of_macro_tiles_are_the_tiles_lists_joined() {
    let Some(device) = device() else { return };
    // 63 x 25 tiles: no multiple of 2 or 4.
    let camera = plain_camera(1000, 392);
    let view = KernelCamera::new(&camera, &RenderOptions::default());
    assert_eq!([view.tiles_x, view.tiles_y], [63, 25]);
    let splats = many_shapes(&camera);
    let mut order: Vec<u32> = (0..splats.len() as u32).collect();
    Rng::new(3, 98).shuffle(&mut order);
    let (mut gaps, mut empty) = (0, 0);
    // A box, slanted and curved shapes.
    for method in [Intersect::Aabb, Intersect::Obb, Intersect::Exact] {
        let tiles = tile_lists(&device, method, &splats, &view);
        let total: usize = tiles.iter().map(Vec::len).sum();
        empty += tiles.iter().filter(|list| list.is_empty()).count();
        for side in [2, 4] {
            let what = format!("{method}, macro_tiles of {side}");
            let (mut expected, mut longs) = (Vec::new(), 0);
            let mut first_pairs = vec![0; splats.len()];
            for &splat_index in &order {
                let macro_tiles = merged(&tiles[splat_index as usize], side, &view);
                first_pairs[splat_index as usize] = expected.len() as u32;
                longs += (macro_tiles.len() > 64) as u32;
                gaps += has_gap(&macro_tiles, view.tiles_x.div_ceil(side)) as u32;
                for (macro_tile, mask) in macro_tiles {
                    expected.push((macro_tile, splat_index, mask, expected.len() as u32));
                }
            }
            assert!(
                longs > 3 && expected.len() < total,
                "{what}: {longs} long lists"
            );
            let got = expand(
                &device,
                method,
                side,
                (&splats, &order),
                &view,
                (total, total),
            );
            assert_eq!(got.counters.pairs as usize, expected.len(), "{what}");
            let different = (0..expected.len()).find(|&i| got.pairs[i] != expected[i]);
            if let Some(i) = different {
                panic!(
                    "{what}, pair {i}: {:?}, not {:?}",
                    got.pairs[i], expected[i]
                );
            }
            assert_eq!(got.first_pairs, first_pairs, "{what}");
            assert_eq!(got.counters.longs, longs, "{what}");
            assert_eq!(
                (got.counters.overflowed, got.counters.needed),
                (0, total as u64)
            );
            eprintln!(
                "{what}: {total} pairs of tiles, {} of macro_tiles, {longs} long lists",
                expected.len()
            );

            let overflowed = expand(
                &device,
                method,
                side,
                (&splats, &order),
                &view,
                (total, total - 1),
            );
            assert_eq!(
                (overflowed.counters.overflowed, overflowed.counters.needed),
                (1, total as u64)
            );
            assert_eq!(overflowed.counters.longs, 0, "{what}: went on without room");
        }
    }
    assert!(
        gaps > 0,
        "no list had a gap, so nothing shows that gaps get no pairs"
    );
    assert!(empty > 0, "every splat touched a tile");
}

#[test]
fn groups_cover_the_image() {
    let side = |blend| macro_tiles::side(blend);
    assert_eq!(METHODS.map(side), [None, Some(2), Some(4)]);
    assert_eq!(HALVES.map(side), METHODS.map(side));
    let view =
        |width, height| KernelCamera::new(&plain_camera(width, height), &RenderOptions::default());
    for (size, counts) in [
        ([64, 64], [4, 1]),
        ([65, 64], [6, 2]),
        ([1, 1], [1, 1]),
        ([200, 33], [14, 4]),
    ] {
        let view = view(size[0], size[1]);
        assert_eq!(
            [2, 4].map(|side| macro_tiles::count(&view, side)),
            counts,
            "{size:?}"
        );
    }
}

fn render(
    backend: &dyn Backend,
    scene: &Gaussians,
    camera: &Camera,
    options: &RenderOptions,
) -> Rendered {
    backend
        .renderer(scene)
        .unwrap()
        .render(camera, options)
        .unwrap()
}

/// All Gaussians in one corner: what other macro-tiles show is the background, bit for bit.
#[test]
fn empty_groups_show_the_background() {
    let Some(device) = device() else { return };
    let backend = CudaBackend::on(device, false);
    let mut scene = random_scene(6, 50, 0);
    for i in 0..scene.len() {
        scene.means[i] = [-2.2 + 0.004 * i as f32, -1.2, 0.0];
        scene.log_scales[i] = [-3.0; 3];
    }
    let camera = plain_camera(210, 130);
    for blend in METHODS.into_iter().chain(HALVES) {
        let options = options(Intersect::Exact, blend);
        let got = render(&backend, &scene, &camera, &options);
        let of_corner = |i: usize| i % 210 < 64 && i / 210 < 64;
        let background =
            |&(i, pixel): &(usize, &[f32; 3])| !of_corner(i) && *pixel == options.background;
        let all = got.image.data.iter().enumerate();
        assert_eq!(
            all.clone().filter(background).count(),
            210 * 130 - 64 * 64,
            "{blend}"
        );
        let seen = all.filter(|&(i, pixel)| of_corner(i) && *pixel != options.background);
        assert!(seen.count() > 100, "{blend}");
        let empty = render(&backend, &Gaussians::empty(0), &camera, &options);
        assert!(
            empty.image.data.iter().all(|p| *p == options.background),
            "{blend}"
        );
        assert!(empty.transmittance.iter().all(|&t| t == 1.0), "{blend}");
    }
}

/// Fragments are those of `scalar` but for the few of which the last digits decide; pairs are the
/// macro-tiles'.
#[test]
fn counts_are_of_the_same_fragments_and_fewer_pairs() {
    let Some(device) = device() else { return };
    let backend = CudaBackend::on(device, false);
    let scene = random_scene(31, 900, 0);
    let camera = odd_camera(210, 130, 0.3);
    let mut renderer = backend.renderer(&scene).unwrap();
    for intersect in [Intersect::Exact, Intersect::Aabb] {
        let mut count = |blend| -> FrameCounts {
            renderer
                .counts(&camera, &options(intersect, blend))
                .unwrap()
        };
        let scalar = count(Blend::Scalar);
        let [one, two, four] = METHODS.map(count);
        for (blend, counts) in METHODS.into_iter().zip([one, two, four]) {
            let near = |a: u64, b: u64| a.abs_diff(b) * 2000 <= b;
            let what = format!("{intersect}+{blend}: {counts:?}, scalar {scalar:?}");
            assert!(
                near(
                    counts.fragments_evaluated.unwrap(),
                    scalar.fragments_evaluated.unwrap()
                ),
                "{what}"
            );
            assert!(
                near(
                    counts.fragments_blended.unwrap(),
                    scalar.fragments_blended.unwrap()
                ),
                "{what}"
            );
            assert_eq!(counts.visible, scalar.visible, "{what}");
        }
        assert_eq!(one.pairs, scalar.pairs, "{intersect}");
        let ratio = |fewer: u64, more: u64| fewer as f64 / more as f64;
        eprintln!(
            "{intersect}: {} pairs, {:.2} of them with 2x2, {:.2} with 4x4",
            scalar.pairs,
            ratio(two.pairs, one.pairs),
            ratio(four.pairs, one.pairs)
        );
        assert!(
            two.pairs < one.pairs && four.pairs < two.pairs,
            "{intersect}"
        );
        assert!(
            4 * two.pairs > one.pairs && 4 * four.pairs > two.pairs,
            "{intersect}"
        );
    }
}

/// Image passes with macro-tiles between training passes without: neither leaves the other anything
/// to trip over.
#[test]
fn training_takes_tiles() {
    let Some(device) = device() else { return };
    let backend = CudaBackend::on(device, true);
    let scene = random_scene(8, 200, 0);
    let camera = odd_camera(90, 70, 0.2);
    let gradient = splatcore_core::Image::filled(90, 70, [1.0, -0.5, 0.25]);
    let with = |blend| options(Intersect::Exact, blend);
    let mut fresh = backend.renderer(&scene).unwrap();
    let expected = fresh
        .gradients(&camera, &with(Blend::Subtile), &gradient.clone().into())
        .unwrap();
    assert!(expected.means.iter().flatten().any(|&v| v != 0.0));
    let mut mixed = backend.renderer(&scene).unwrap();
    let first = mixed.render(&camera, &with(Blend::TensorGs4x4)).unwrap();
    let gradients = mixed
        .gradients(&camera, &with(Blend::Subtile), &gradient.clone().into())
        .unwrap();
    assert_eq!(gradients, expected);
    let again = mixed.render(&camera, &with(Blend::TensorGs4x4)).unwrap();
    assert_eq!(first.image.data, again.image.data);
}

/// What a barrier too few would show: the emulator lets the threads of a block take turns in either
/// order.
#[test]
fn images_do_not_depend_on_the_order_of_threads() {
    let mut scene = random_scene(23, 400, 0);
    for i in 0..3 {
        // 81 macro-tiles of 2x2 each: long lists, which have a kernel of their own.
        scene.log_scales[i] = [2.0; 3];
        scene.opacity_logits[i] = logit(0.2);
    }
    let camera = plain_camera(270, 260);
    for blend in METHODS.into_iter().chain(HALVES) {
        let render = |backward| -> Option<Rendered> {
            let emulated = Emulated::new().ok()?;
            emulated.set_backward(backward);
            let backend = CudaBackend::on(Arc::new(emulated), false);
            Some(render(
                &backend,
                &scene,
                &camera,
                &options(Intersect::Exact, blend),
            ))
        };
        let Some(first) = render(false) else { return };
        let second = render(true).unwrap();
        assert!(first.image.data == second.image.data, "{blend}");
        assert!(first.transmittance == second.transmittance, "{blend}");
    }
}
