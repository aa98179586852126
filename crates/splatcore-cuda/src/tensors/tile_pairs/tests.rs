//! Pairs, their order and the tiles' lists against plain code.

mod reach;

use super::{Order, Pairs, PairsOut, Splats, Tiles, Touched, Waited};
use super::{count, count_and_sum, fill, offsets, order};
use crate::tensors::tests::{Fixture, Numbers, fixture};
use splatcore_tensors::intersect as plain;

const TILES: Tiles = Tiles {
    images: 3,
    size: 16,
    width: 5,
    height: 3,
};

struct Scene {
    means2d: Vec<f64>,
    radii: Vec<i32>,
    depths: Vec<f64>,
    image_ids: Option<Vec<i64>>,
}

impl Scene {
    /// Splats in and beside the images, a few depths several times.
    fn new(per_image: usize) -> Self {
        let mut numbers = Numbers::new(3);
        let splats = TILES.images * per_image;
        let means2d = numbers.many(2 * splats, -30.0, 110.0);
        let mut radii: Vec<i32> = (0..2 * splats)
            .map(|_| numbers.between(0.0, 40.0) as i32)
            .collect();
        radii.iter_mut().step_by(7).for_each(|radius| *radius = 0);
        let depths = (0..splats).map(|i| 0.5 + (i * 7 % 5) as f64).collect();
        Self {
            means2d,
            radii,
            depths,
            image_ids: None,
        }
    }

    /// Columns and rows of tiles of a splat.
    fn touched(&self, splat: usize) -> Vec<usize> {
        let at = |axis: usize, tiles: usize| {
            let (mean, radius) = (self.means2d[2 * splat + axis], self.radii[2 * splat + axis]);
            let edge = |at: f64| (at / 16.0).clamp(0.0, tiles as f64);
            edge(mean - f64::from(radius)).floor() as usize
                ..edge(mean + f64::from(radius)).ceil() as usize
        };
        if self.radii[2 * splat] <= 0 || self.radii[2 * splat + 1] <= 0 {
            return vec![];
        }
        let (columns, rows) = (at(0, TILES.width), at(1, TILES.height));
        rows.flat_map(|row| {
            columns
                .clone()
                .map(move |column| row * TILES.width + column)
        })
        .collect()
    }

    /// The pairs as they are without a sort: id and splat.
    fn pairs(&self) -> Vec<(i64, i32)> {
        let splats = self.depths.len();
        let mut all = vec![];
        for splat in 0..splats {
            let image = match &self.image_ids {
                Some(ids) => ids[splat],
                None => (splat / (splats / TILES.images)) as i64,
            };
            let depth = i64::from((self.depths[splat] as f32).to_bits());
            // 15 tiles take four bits.
            for tile in self.touched(splat) {
                all.push((image << 36 | (tile as i64) << 32 | depth, splat as i32));
            }
        }
        all
    }
}

fn check(on: &Fixture, scene: &Scene, sort: bool) {
    let splats = scene.depths.len();
    let (means2d, radii) = (on.floats(&scene.means2d), on.tensor(&scene.radii));
    let of_device = Splats {
        means2d: means2d.slice(),
        radii: radii.slice(),
        reach: None,
    };
    let counts = on.out::<i32>(splats);
    let stream = on.stream();
    // Two at once, which take two slots; the second is used again.
    let totals = [(); 2].map(|()| count_and_sum(&stream, &TILES, &of_device, counts.slice()));
    let expected: Vec<i32> = (0..splats).map(|i| scene.touched(i).len() as i32).collect();
    assert_eq!(counts.read(), expected);
    let sum = expected.iter().map(|&count| count as u64).sum::<u64>();
    let totals = totals.map(|total| total.unwrap().wait().unwrap());
    let drawn = scene
        .radii
        .chunks_exact(2)
        .filter(|of| of[0] > 0 && of[1] > 0);
    let waited = Waited {
        pairs: sum,
        drawn: drawn.count() as u64,
    };
    assert_eq!(totals, [waited; 2]);

    let mut expected_pairs = scene.pairs();
    let ends: Vec<i64> = expected
        .iter()
        .scan(0, |sum, &count| {
            *sum += i64::from(count);
            Some(*sum)
        })
        .collect();
    let (depths, ends) = (on.floats(&scene.depths), on.tensor(&ends));
    let image_ids = scene.image_ids.as_ref().map(|ids| on.tensor(ids));
    let (ids, flat) = (on.out(expected_pairs.len()), on.out(expected_pairs.len()));
    let mut pairs = Pairs {
        splats: of_device,
        depths: depths.slice(),
        image_ids: image_ids.as_ref().map(|ids| ids.slice()),
        touched: match sort {
            true => Touched::Counts(counts.slice()),
            false => Touched::Ends(ends.slice()),
        },
        sort,
        order: None,
    };
    let out = PairsOut {
        isect_ids: ids.slice(),
        flatten_ids: flat.slice(),
    };
    fill(&on.stream(), &TILES, &pairs, &out).unwrap();
    let got = || ids.read().into_iter().zip(flat.read()).collect::<Vec<_>>();
    if !sort {
        assert_eq!(got(), expected_pairs);
        return;
    }
    expected_pairs.sort_by_key(|(id, _)| *id);
    assert_eq!(got(), expected_pairs);

    let both = on.out::<i32>(2 * splats);
    let known = Order::halves(both.slice());
    order(&on.stream(), depths.slice(), pairs.touched, &known).unwrap();
    let (mut by_depth, mut sums) = (vec![0; splats], vec![0; splats]);
    let of_scene: Vec<f32> = scene.depths.iter().map(|&depth| depth as f32).collect();
    plain::order(&of_scene, &expected, &mut by_depth, &mut sums).unwrap();
    assert_eq!(both.read(), [by_depth, sums].concat());
    pairs.order = Some(known);
    on.stream().zero(ids.slice()).unwrap();
    fill(&on.stream(), &TILES, &pairs, &out).unwrap();
    assert_eq!(got(), expected_pairs);
    let begins = on.out::<i32>(TILES.images * TILES.of_image());
    offsets(&on.stream(), &TILES, ids.slice(), begins.slice()).unwrap();
    let begin = |list: i64| {
        let (image, tile) = (list / 15, list % 15);
        expected_pairs.partition_point(|(id, _)| id >> 32 < image << 4 | tile) as i32
    };
    assert_eq!(begins.read(), (0..45).map(begin).collect::<Vec<_>>());
}

#[test]
fn pairs_are_those_of_plain_code() {
    let Some(on) = fixture() else { return };
    let mut scene = Scene::new(150);
    check(&on, &scene, false);
    check(&on, &scene, true);
    scene.image_ids = Some((0..450).map(|i| i * 5 % 3).collect());
    check(&on, &scene, true);
    check(&on, &Scene::new(0), true);
}

#[test]
fn splats_that_are_no_numbers_are_in_no_tile() {
    let Some(on) = fixture() else { return };
    let mut scene = Scene::new(2);
    let means2d = [f32::NAN, 10.0, f32::INFINITY, 10.0, 10.0, 10.0, 1e30, -1e30];
    scene.radii = vec![5; 12];
    let (means2d, radii) = (
        on.tensor(&[&means2d[..], &[f32::MAX, f32::MIN, 8.0, f32::NEG_INFINITY]].concat()),
        on.tensor(&scene.radii),
    );
    let splats = Splats {
        means2d: means2d.slice(),
        radii: radii.slice(),
        reach: None,
    };
    let counts = on.out::<i32>(6);
    count(&on.stream(), &TILES, &splats, counts.slice()).unwrap();
    assert_eq!(counts.read(), [0, 0, 1, 0, 0, 0]);
}

#[test]
fn more_tiles_than_ids_count_are_refused() {
    let Some(on) = fixture() else { return };
    let (means2d, radii) = (on.floats(&[0.0; 2]), on.tensor(&[1, 1]));
    let splats = Splats {
        means2d: means2d.slice(),
        radii: radii.slice(),
        reach: None,
    };
    let tiles = Tiles {
        images: 1 << 16,
        size: 16,
        width: 300,
        height: 300,
    };
    let error = count(&on.stream(), &tiles, &splats, on.out(1).slice());
    assert!(error.unwrap_err().to_string().contains("32 bits"));
}
