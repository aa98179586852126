//! Pairs, their order and the tiles' lists against the functions of splatcore-tensors.

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
const PLAIN_TILES: plain::Tiles = plain::Tiles {
    images: 3,
    size: 16,
    width: 5,
    height: 3,
};

struct Scene {
    means2d: Vec<f32>,
    radii: Vec<i32>,
    depths: Vec<f32>,
    image_ids: Option<Vec<i64>>,
}

impl Scene {
    /// Splats in and beside the images, a few depths several times.
    fn new(per_image: usize) -> Self {
        let mut numbers = Numbers::new(3);
        let splats = TILES.images * per_image;
        let means2d = numbers.many(2 * splats, -30.0, 110.0);
        let means2d = means2d.into_iter().map(|v| v as f32).collect();
        let mut radii: Vec<i32> = (0..2 * splats)
            .map(|_| numbers.between(0.0, 40.0) as i32)
            .collect();
        radii.iter_mut().step_by(7).for_each(|radius| *radius = 0);
        let depths = (0..splats).map(|i| 0.5 + (i * 7 % 5) as f32).collect();
        Self {
            means2d,
            radii,
            depths,
            image_ids: None,
        }
    }

    fn boxes(&self) -> plain::Boxes<'_, f32> {
        plain::Boxes {
            means2d: &self.means2d,
            radii: &self.radii,
            reach: None,
        }
    }

    /// How many tiles each splat touches, by the CPU.
    fn counts(&self) -> Vec<i32> {
        let mut counts = vec![-1; self.depths.len()];
        plain::count(&PLAIN_TILES, &self.boxes(), &mut counts).unwrap();
        counts
    }

    /// Ids and splats of the pairs whose ends these are, by the CPU.
    fn pairs(&self, ends: &[i64], sort: bool) -> (Vec<i64>, Vec<i32>) {
        let total = ends.last().map_or(0, |&end| end as usize);
        let (mut ids, mut flat) = (vec![-1; total], vec![-1; total]);
        let splats = plain::Splats {
            boxes: self.boxes(),
            depths: &self.depths,
            image_ids: self.image_ids.as_deref(),
            ends,
        };
        plain::fill(&PLAIN_TILES, &splats, sort, &mut ids, &mut flat).unwrap();
        (ids, flat)
    }
}

fn check(on: &Fixture, scene: &Scene, sort: bool) {
    let splats = scene.depths.len();
    let (means2d, radii) = (on.tensor(&scene.means2d), on.tensor(&scene.radii));
    let of_device = Splats {
        means2d: means2d.slice(),
        radii: radii.slice(),
        reach: None,
    };
    let counts = on.out::<i32>(splats);
    let stream = on.stream();
    // Two at once, which take two slots; the second is used again.
    let totals = [(); 2].map(|()| count_and_sum(&stream, &TILES, &of_device, counts.slice()));
    let expected = scene.counts();
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

    let ends: Vec<i64> = expected
        .iter()
        .scan(0, |sum, &count| {
            *sum += i64::from(count);
            Some(*sum)
        })
        .collect();
    let expected_pairs = scene.pairs(&ends, sort);
    let (depths, ends) = (on.tensor(&scene.depths), on.tensor(&ends));
    let image_ids = scene.image_ids.as_ref().map(|ids| on.tensor(ids));
    let (ids, flat) = (on.out(sum as usize), on.out(sum as usize));
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
    assert_eq!((ids.read(), flat.read()), expected_pairs);
    if !sort {
        return;
    }

    let both = on.out::<i32>(2 * splats);
    let known = Order::halves(both.slice());
    order(&on.stream(), depths.slice(), pairs.touched, &known).unwrap();
    let (mut by_depth, mut sums) = (vec![0; splats], vec![0; splats]);
    plain::order(&scene.depths, &expected, &mut by_depth, &mut sums).unwrap();
    assert_eq!(both.read(), [by_depth, sums].concat());
    pairs.order = Some(known);
    on.stream().zero(ids.slice()).unwrap();
    fill(&on.stream(), &TILES, &pairs, &out).unwrap();
    assert_eq!((ids.read(), flat.read()), expected_pairs);
    let begins = on.out::<i32>(TILES.images * TILES.of_image());
    offsets(&on.stream(), &TILES, ids.slice(), begins.slice()).unwrap();
    let mut expected_begins = vec![-1; TILES.images * TILES.of_image()];
    plain::offsets(&PLAIN_TILES, &expected_pairs.0, &mut expected_begins).unwrap();
    assert_eq!(begins.read(), expected_begins);
}

#[test]
fn pairs_are_those_of_the_cpu() {
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
