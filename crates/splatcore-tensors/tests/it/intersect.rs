use crate::support::Numbers;
use splatcore_tensors::intersect::{Boxes, Reach, Splats, Tiles, count, fill, offsets};

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

impl World {
    fn boxes(&self) -> Boxes<'_, f32> {
        Boxes {
            means2d: &self.means2d,
            radii: &self.radii,
            reach: None,
        }
    }
}

fn ends(tiles: &Tiles, boxes: &Boxes<'_, f32>) -> Vec<i64> {
    let mut counts = vec![-1; boxes.radii.len() / 2];
    count(tiles, boxes, &mut counts).unwrap();
    let sums = counts.iter().scan(0i64, |sum, &count| {
        *sum += i64::from(count);
        Some(*sum)
    });
    sums.collect()
}

fn listed(world: &World, image_ids: Option<&[i64]>, sort: bool) -> (Vec<i64>, Vec<i32>) {
    let ends = ends(&TILES, &world.boxes());
    let total = *ends.last().unwrap() as usize;
    let (mut ids, mut flat) = (vec![-1; total], vec![-1; total]);
    let splats = Splats {
        boxes: world.boxes(),
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
    let right = ends(&TILES, &world.boxes());
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
            boxes: world.boxes(),
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
    let boxes = |means2d, radii| Boxes::<f32> {
        means2d,
        radii,
        reach: None,
    };
    assert!(count(&many, &boxes(&[], &[]), &mut []).is_err());
    let none = Tiles { size: 0, ..TILES };
    assert!(count(&none, &boxes(&[], &[]), &mut []).is_err());
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
    count(&TILES, &boxes(&means2d, &[i32::MAX; 10]), &mut counts).unwrap();
    // The last reaches every tile; the fourth is too far off for its radius.
    assert_eq!(counts, [0, 0, 0, 0, 20]);
}

/// Splats of all shapes, long and thin ones among them, with boxes around what counts.
struct Shapes {
    means2d: Vec<f64>,
    radii: Vec<i32>,
    conics: Vec<f64>,
    opacities: Vec<f64>,
}

fn shapes(m: usize) -> Shapes {
    let mut numbers = Numbers::new(21);
    let means2d = numbers.within(2 * m, -10.0, 50.0);
    let opacities = numbers.within(m, 0.0, 1.0);
    let (mut radii, mut conics) = (vec![], vec![]);
    for row in numbers.within(3 * m, 0.0, 1.0).chunks(3) {
        // Standard deviations from a tenth of a pixel to 30 pixels.
        let [long, short] = [row[0], row[1]].map(|unit| 0.1 * 300f64.powf(unit));
        let (sin, cos) = (row[2] * 3.2).sin_cos();
        let (p, q) = (1.0 / (long * long), 1.0 / (short * short));
        conics.extend([
            p * cos * cos + q * sin * sin,
            (p - q) * sin * cos,
            p * sin * sin + q * cos * cos,
        ]);
        radii.extend([(3.4 * long.max(short)).ceil() as i32; 2]);
    }
    Shapes {
        means2d,
        radii,
        conics,
        opacities,
    }
}

impl Shapes {
    /// The largest alpha of a splat at the pixels of a tile.
    fn alpha(&self, splat: usize, column: u32, row: u32) -> f64 {
        let [a, b, c] = [0, 1, 2].map(|k| self.conics[3 * splat + k]);
        let mut most = 0f64;
        for pixel in 0..64 {
            let x = f64::from(column * 8 + pixel % 8) + 0.5 - self.means2d[2 * splat];
            let y = f64::from(row * 8 + pixel / 8) + 0.5 - self.means2d[2 * splat + 1];
            let sigma = 0.5 * (a * x * x + c * y * y) + b * x * y;
            most = most.max(self.opacities[splat] * (-sigma).exp());
        }
        most
    }

    fn count(&self, reach: Option<Reach<'_, f64>>) -> Vec<i32> {
        let mut counts = vec![-1; self.opacities.len()];
        let boxes = Boxes {
            means2d: &self.means2d,
            radii: &self.radii,
            reach,
        };
        count(&TILES, &boxes, &mut counts).unwrap();
        counts
    }
}

#[test]
fn with_its_shape_a_splat_touches_the_tiles_where_it_counts() {
    let shapes = shapes(2000);
    let reach = Reach {
        conics: &shapes.conics,
        opacities: &shapes.opacities,
        cameras: 0,
        factors: None,
    };
    let (exact, boxes) = (shapes.count(Some(reach)), shapes.count(None));
    let (mut listed, mut needed) = (0, 0);
    for splat in 0..2000 {
        let tiles = (0..20).filter(|&tile| shapes.alpha(splat, tile % 5, tile / 5) >= 1.0 / 255.0);
        let tiles = tiles.count() as i32;
        assert!(
            exact[splat] >= tiles && exact[splat] <= boxes[splat],
            "{splat}"
        );
        listed += exact[splat];
        needed += tiles;
    }
    // Thin splats pass between the centres of pixels; no other tile is listed for nothing.
    assert!(
        f64::from(listed) < 1.1 * f64::from(needed),
        "{listed} for {needed}"
    );
    assert!(3 * listed < 2 * boxes.iter().sum::<i32>(), "{listed}");

    // Opacities of 1000 Gaussians, which two cameras see, and factors.
    let halves = vec![0.5; 2000];
    let reach = Reach {
        opacities: &shapes.opacities[..1000],
        cameras: 2,
        factors: Some(&halves),
        ..reach
    };
    let spread: Vec<f64> = (0..2000)
        .map(|m| shapes.opacities[m % 1000] * 0.5)
        .collect();
    let same = Reach {
        opacities: &spread,
        cameras: 0,
        factors: None,
        ..reach
    };
    assert_eq!(shapes.count(Some(reach)), shapes.count(Some(same)));
}
