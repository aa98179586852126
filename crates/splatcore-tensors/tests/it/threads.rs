//! Results have the same bits on any number of threads.

use crate::scene::{Projected, World};
use splatcore_tensors::intersect::{Boxes, Splats, Tiles, count, fill, offsets};
use splatcore_tensors::projection::{self, CameraModel, RadiusRule};
use splatcore_tensors::rasterize::{self, Drawn, Lists, Pixels};

const TILES: Tiles = Tiles {
    images: 4,
    size: 8,
    width: 7,
    height: 5,
};

/// Offsets and splats of the tiles' lists.
fn lists_of(splats: &Projected<f64>) -> (Vec<i32>, Vec<i32>) {
    let mut counts = vec![0; splats.depths.len()];
    let boxes = Boxes {
        means2d: &splats.means2d,
        radii: &splats.radii,
        reach: None,
    };
    count(&TILES, &boxes, &mut counts).unwrap();
    let sums = counts.iter().scan(0, |sum, &count| {
        *sum += i64::from(count);
        Some(*sum)
    });
    let ends: Vec<i64> = sums.collect();
    let total = ends[ends.len() - 1] as usize;
    let (mut ids, mut flat) = (vec![0; total], vec![0; total]);
    let pairs = Splats {
        boxes,
        depths: &splats.depths,
        image_ids: None,
        ends: &ends,
    };
    fill(&TILES, &pairs, true, &mut ids, &mut flat).unwrap();
    let mut starts = vec![0; 4 * 35];
    offsets(&TILES, &ids, &mut starts).unwrap();
    (starts, flat)
}

/// The image and the gradients of splats: means, conics, colours, opacities.
fn drawn(splats: &Projected<f64>) -> [Vec<f64>; 5] {
    let (starts, flat) = lists_of(splats);
    let m = splats.depths.len();
    let colors: Vec<f64> = (0..3 * m).map(|i| (i % 7) as f64 / 7.0).collect();
    let opacities = vec![0.2; m];
    let drawn = Drawn {
        lists: Lists {
            images: 4,
            width: 50,
            height: 40,
            tile_size: 8,
            tile_width: 7,
            tile_height: 5,
            means2d: &splats.means2d,
            conics: &splats.conics,
            opacities: &opacities,
            tile_offsets: &starts,
            flatten_ids: &flat,
            alpha_max: 0.999,
        },
        channels: 3,
        colors: &colors,
        backgrounds: None,
        masks: None,
    };
    let mut out = [24_000, 2 * m, 3 * m, 3 * m, m].map(|len| vec![0.0; len]);
    let [image, v_means2d, v_conics, v_colors, v_opacities] = &mut out;
    let (mut alphas, mut last_ids) = (vec![0.0; 8000], vec![0; 8000]);
    let pixels = Pixels {
        colors: image,
        alphas: &mut alphas,
        last_ids: &mut last_ids,
    };
    rasterize::forward(&drawn, pixels).unwrap();
    let input = rasterize::Backward {
        last_ids: &last_ids,
        v_colors: image,
        v_alphas: Some(&alphas),
    };
    let gradients = rasterize::Gradients {
        v_means2d,
        v_means2d_abs: None,
        v_conics,
        v_colors,
        v_opacities,
    };
    rasterize::backward(&drawn, &input, gradients).unwrap();
    out
}

/// The image of a world and the gradients of everything, as bits.
fn results() -> Vec<u64> {
    let world = World::new(60, 3000, CameraModel::Pinhole);
    let splats = Projected::of(&world.scene(), None, RadiusRule::Gsplat15).unwrap();
    let of_splats = drawn(&splats);
    let mut of_world = [9000 * 2, 16 * 4, 9 * 4].map(|len| vec![0.0; len]);
    let [v_means, v_viewmats, v_ks] = &mut of_world;
    let input = projection::Backward {
        radii: &splats.radii,
        conics: &splats.conics,
        compensations: None,
        v_means2d: &of_splats[1],
        v_depths: Some(&splats.depths),
        v_conics: &of_splats[2],
        v_compensations: None,
    };
    let out = projection::Gradients {
        v_means: Some(v_means),
        v_viewmats: Some(v_viewmats),
        v_ks: Some(v_ks),
        ..Default::default()
    };
    projection::backward(&world.scene(), &input, out).unwrap();
    let all = of_splats.into_iter().chain(of_world);
    all.flatten().map(f64::to_bits).collect()
}

#[test]
fn bits_do_not_depend_on_the_number_of_threads() {
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(results)
    };
    let one = on(1);
    assert!(one.iter().filter(|&&bits| bits != 0).count() > one.len() / 2);
    assert!(one == on(3));
    assert!(one == on(8));
    assert!(one == splatcore_tensors::on_this_thread(results));
}
