use crate::support::Numbers;
use splatcore_tensors::intersect::{Splats, Tiles, count, fill, offsets};

/// Two images of 5 x 4 tiles of 8 pixels.
const TILES: Tiles = Tiles {
    images: 2,
    size: 8,
    width: 5,
    height: 4,
};

struct World {
    means2d: Vec<f32>,
    radii: Vec<i32>,
    depths: Vec<f32>,
}

fn world(m: usize) -> World {
    let mut numbers = Numbers::new(20);
    let single = |values: Vec<f64>| values.into_iter().map(|v| v as f32).collect();
    World {
        means2d: single(numbers.within(2 * m, -10.0, 50.0)),
        radii: numbers
            .within(2 * m, -2.0, 15.0)
            .iter()
            .map(|&v| v as i32)
            .collect(),
        // Few depths, so that many are equal; one is negative.
        depths: single(numbers.within(m, -1.0, 3.0))
            .iter()
            .map(|v: &f32| v.round())
            .collect(),
    }
}

fn ends(tiles: &Tiles, world: &World) -> Vec<i64> {
    let mut counts = vec![-1; world.depths.len()];
    count(tiles, &world.means2d, &world.radii, &mut counts).unwrap();
    let sums = counts.iter().scan(0i64, |sum, &count| {
        *sum += i64::from(count);
        Some(*sum)
    });
    sums.collect()
}

fn listed(world: &World, image_ids: Option<&[i64]>, sort: bool) -> (Vec<i64>, Vec<i32>) {
    let ends = ends(&TILES, world);
    let total = *ends.last().unwrap() as usize;
    let (mut ids, mut flat) = (vec![-1; total], vec![-1; total]);
    let splats = Splats {
        means2d: &world.means2d,
        radii: &world.radii,
        depths: &world.depths,
        image_ids,
        ends: &ends,
    };
    fill(&TILES, &splats, sort, &mut ids, &mut flat).unwrap();
    (ids, flat)
}

/// Pairs by asking each tile whether its square meets the splat's rectangle.
fn plain(world: &World, image_of: impl Fn(usize) -> u64) -> Vec<(u64, u64, u32, i32)> {
    let mut pairs = Vec::new();
    for i in 0..world.depths.len() {
        let (mean, radii) = (&world.means2d[2 * i..][..2], &world.radii[2 * i..][..2]);
        if radii.iter().any(|&radius| radius <= 0) {
            continue;
        }
        for y in 0..4u16 {
            for x in 0..5u16 {
                let meets = |tile: u16, axis: usize| {
                    let (low, high) = (f32::from(tile) * 8.0, f32::from(tile + 1) * 8.0);
                    let reach = radii[axis] as f32;
                    mean[axis] + reach > low && mean[axis] - reach < high
                };
                if meets(x, 0) && meets(y, 1) {
                    let tile = u64::from(y) * 5 + u64::from(x);
                    pairs.push((image_of(i), tile, world.depths[i].to_bits(), i as i32));
                }
            }
        }
    }
    pairs
}

fn encoded(pairs: &[(u64, u64, u32, i32)]) -> (Vec<i64>, Vec<i32>) {
    // 20 tiles take 5 bits.
    let id = |&(image, tile, depth, _): &(u64, u64, u32, i32)| {
        (image << 37 | tile << 32 | u64::from(depth)) as i64
    };
    (
        pairs.iter().map(id).collect(),
        pairs.iter().map(|p| p.3).collect(),
    )
}

#[test]
fn pairs_are_those_of_tiles_that_meet_the_rectangle() {
    let world = world(6000);
    let expected = plain(&world, |i| i as u64 / 3000);
    assert_eq!(listed(&world, None, false), encoded(&expected));
    let mut sorted = expected;
    sorted.sort();
    assert_eq!(listed(&world, None, true), encoded(&sorted));
}

#[test]
fn packed_splats_have_images_of_their_own() {
    let world = world(500);
    let images: Vec<i64> = (0..500).map(|i| i % 2).collect();
    let mut expected = plain(&world, |i| i as u64 % 2);
    expected.sort();
    assert_eq!(listed(&world, Some(&images), true), encoded(&expected));
}

#[test]
fn offsets_are_the_sums_of_the_tiles_before() {
    let world = world(60);
    let (ids, _) = listed(&world, None, true);
    let mut found = vec![-1; 40];
    offsets(&TILES, &ids, &mut found).unwrap();
    let pairs = plain(&world, |i| i as u64 / 30);
    for (i, &offset) in found.iter().enumerate() {
        let before = pairs.iter().filter(|p| (p.0 * 20 + p.1) < i as u64).count();
        assert_eq!(offset, before as i32);
    }
    let mut none = vec![-1; 40];
    offsets(&TILES, &[], &mut none).unwrap();
    assert!(none.iter().all(|&offset| offset == 0));
}

#[test]
fn wrong_ends_are_refused() {
    let world = world(5000);
    let right = ends(&TILES, &world);
    let total = right[right.len() - 1] as usize;
    let changes: [fn(&mut Vec<i64>); 4] = [
        |ends| ends[10] += 1,
        |ends| ends[4095] = i64::MAX,
        |ends| ends[4095] = i64::MIN,
        |ends| ends.iter_mut().for_each(|end| *end += 1),
    ];
    for change in changes {
        let mut ends = right.clone();
        change(&mut ends);
        let total = total.max(ends[ends.len() - 1] as usize);
        let (mut ids, mut flat) = (vec![0; total], vec![0; total]);
        let splats = Splats {
            means2d: &world.means2d,
            radii: &world.radii,
            depths: &world.depths,
            image_ids: None,
            ends: &ends,
        };
        let error = fill(&TILES, &splats, true, &mut ids, &mut flat).unwrap_err();
        assert_eq!(error.argument, "ends");
    }
}

#[test]
fn more_tiles_than_bits_and_odd_splats_are_refused_or_empty() {
    let many = Tiles {
        images: 1 << 20,
        width: 1 << 10,
        height: 1 << 10,
        ..TILES
    };
    assert!(count::<f32>(&many, &[], &[], &mut []).is_err());
    let none = Tiles { size: 0, ..TILES };
    assert!(count::<f32>(&none, &[], &[], &mut []).is_err());
    let nan = f32::NAN;
    let means2d = [
        nan,
        1.0,
        1.0,
        nan,
        f32::INFINITY,
        1.0,
        f32::MAX,
        1.0,
        1.0,
        1.0,
    ];
    let mut counts = [-1; 5];
    count(&TILES, &means2d, &[i32::MAX; 10], &mut counts).unwrap();
    // The last reaches every tile; the fourth is too far off for its radius.
    assert_eq!(counts, [0, 0, 0, 0, 20]);
}
