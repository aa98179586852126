//! Lists by reach against plain code in f64, and lists whose counts are of other splats.

use crate::tensors::tests::{Fixture, Numbers, Tensor, fixture};
use crate::tensors::tile_pairs::{Pairs, PairsOut, Reach, Splats, Tiles, Touched};
use crate::tensors::tile_pairs::{count, fill, offsets};

/// Cameras that share opacities.
const CAMERAS: usize = 2;
const IMAGES: usize = 4;

/// Splats of every kind.
struct Scene {
    tiles: Tiles,
    means2d: Vec<f32>,
    radii: Vec<i32>,
    conics: Vec<f32>,
    /// Of Gaussians.
    opacities: Vec<f32>,
    factors: Vec<f32>,
    depths: Vec<f32>,
}

/// A scene's tensors.
struct OnDevice {
    means2d: Tensor<f32>,
    radii: Tensor<i32>,
    conics: Tensor<f32>,
    opacities: Tensor<f32>,
    factors: Tensor<f32>,
    depths: Tensor<f32>,
}

/// The conic of a splat with these standard deviations along its axes, and its radii.
fn shape([long, short]: [f64; 2], angle: f64) -> ([f64; 3], [f64; 2]) {
    let (sin, cos) = angle.sin_cos();
    let of = |long: f64, short: f64| {
        let (l, s) = (long * long, short * short);
        [
            l * cos * cos + s * sin * sin,
            (l - s) * sin * cos,
            l * sin * sin + s * cos * cos,
        ]
    };
    let variances = of(long, short);
    let radii = [variances[0], variances[2]].map(|variance| (3.33 * variance.sqrt()).ceil());
    (of(1.0 / long, 1.0 / short), radii)
}

impl Scene {
    fn new(tiles: Tiles, per_image: usize) -> Self {
        let splats = tiles.images * per_image;
        let mut numbers = Numbers::new(tiles.size as u64);
        let mut scene = Self {
            tiles,
            means2d: vec![],
            radii: vec![],
            conics: vec![],
            opacities: vec![],
            factors: vec![],
            depths: vec![],
        };
        for k in 0..splats / CAMERAS {
            // A few that are nowhere, as 1/255 is 0.0039.
            let lowest = if k % 7 == 0 { 0.002 } else { 0.005 };
            let opacity = numbers.between(lowest, if k % 7 == 0 { 0.006 } else { 1.0 });
            scene.opacities.push(opacity as f32);
        }
        for k in 0..splats {
            scene.add(k, &mut numbers);
        }
        scene
    }

    /// Adds a splat of kind `k % 8`.
    fn add(&mut self, k: usize, numbers: &mut Numbers) {
        let (mut long, mut short) = (numbers.between(0.3, 3.0), numbers.between(0.3, 3.0));
        let mut away = 20.0;
        match k % 8 {
            // As large as the image.
            1 => (long, short) = (numbers.between(10.0, 90.0), numbers.between(10.0, 90.0)),
            2 | 3 => (long, short) = (numbers.between(20.0, 150.0), numbers.between(0.3, 3.0)),
            // Far larger than it, and far away.
            4 => (long, short, away) = (long * 3e3, short * 3e3, 1e4),
            // Conics whose squares are not taken in floats.
            5 => (long, short, away) = (long * 3e6, short * 3e6, 1e7),
            _ => {}
        }
        let (mut conic, mut radii) = shape([long, short], numbers.between(0.0, 3.2));
        if k % 8 == 7 {
            // No ellipses.
            let [a, b, c] = conic;
            conic = match k / 8 % 4 {
                0 => [-a, b, c],
                1 => [a, 2.0 * (a * c).sqrt(), c],
                2 => [a, b, f64::NAN],
                _ => [0.0; 3],
            };
            radii = [numbers.between(1.0, 90.0).floor(), 30.0];
        }
        if k.is_multiple_of(11) {
            radii[k % 2] = 0.0;
        }
        let side = (self.tiles.size * self.tiles.width) as f64;
        for radius in radii {
            self.means2d
                .push(numbers.between(-away, side + away) as f32);
            self.radii.push(radius as i32);
        }
        self.conics.extend(conic.map(|value| value as f32));
        self.factors.push(numbers.between(0.7, 1.0) as f32);
        self.depths.push(match k % 50 {
            13 => f32::from_bits(u32::MAX),
            14 => -1.0,
            _ => 0.5 + (k * 7 % 40) as f32,
        });
    }

    fn count(&self) -> usize {
        self.depths.len()
    }

    fn image(&self, splat: usize) -> usize {
        splat / (self.count() / self.tiles.images)
    }

    fn ellipse(&self, splat: usize) -> Ellipse {
        let per_image = self.count() / self.tiles.images;
        let of = splat / (per_image * CAMERAS) * per_image + splat % per_image;
        Ellipse {
            mean: [0, 1].map(|axis| f64::from(self.means2d[2 * splat + axis])),
            conic: [0, 1, 2].map(|at| f64::from(self.conics[3 * splat + at])),
            opacity: f64::from(self.opacities[of] * self.factors[splat]),
        }
    }

    /// Columns and rows of the tiles of a splat's box.
    fn touched(&self, splat: usize) -> [std::ops::Range<usize>; 2] {
        let radii = &self.radii[2 * splat..][..2];
        if radii.iter().any(|&radius| radius <= 0) {
            return [0..0, 0..0];
        }
        [(0, self.tiles.width), (1, self.tiles.height)].map(|(axis, tiles)| {
            let (mean, radius) = (self.means2d[2 * splat + axis], radii[axis] as f32);
            let size = self.tiles.size as f32;
            let edge = |at: f32| at.clamp(0.0, tiles as f32) as usize;
            let (mean, radius) = (mean / size, radius / size);
            edge((mean - radius).floor())..edge((mean + radius).ceil())
        })
    }

    fn on(&self, on: &Fixture) -> OnDevice {
        OnDevice {
            means2d: on.tensor(&self.means2d),
            radii: on.tensor(&self.radii),
            conics: on.tensor(&self.conics),
            opacities: on.tensor(&self.opacities),
            factors: on.tensor(&self.factors),
            depths: on.tensor(&self.depths),
        }
    }
}

impl OnDevice {
    fn splats(&self) -> Splats {
        Splats {
            means2d: self.means2d.slice(),
            radii: self.radii.slice(),
            reach: Some(Reach {
                conics: self.conics.slice(),
                opacities: self.opacities.slice(),
                cameras: CAMERAS,
                factors: Some(self.factors.slice()),
            }),
        }
    }

    /// Ids and splats of so many pairs, from the ends of each splat's pairs.
    fn pairs(
        &self,
        on: &Fixture,
        tiles: &Tiles,
        (ends, total): (&[i64], usize),
        sort: bool,
    ) -> (Tensor<i64>, Tensor<i32>) {
        let (ids, flat) = (on.out(total), on.out(total));
        let ends = on.tensor(ends);
        let pairs = Pairs {
            splats: self.splats(),
            depths: self.depths.slice(),
            image_ids: None,
            touched: Touched::Ends(ends.slice()),
            sort,
            order: None,
        };
        let out = PairsOut {
            isect_ids: ids.slice(),
            flatten_ids: flat.slice(),
        };
        fill(&on.stream(), tiles, &pairs, &out).unwrap();
        (ids, flat)
    }
}

struct Ellipse {
    mean: [f64; 2],
    conic: [f64; 3],
    opacity: f64,
}

impl Ellipse {
    fn sigma(&self, [dx, dy]: [f64; 2]) -> f64 {
        let [a, b, c] = self.conic;
        0.5 * (a * dx * dx + c * dy * dy) + b * dx * dy
    }

    /// Whether some pixel of a tile of `size` pixels has alpha 1/255 or more.
    fn counts(&self, [column, row]: [usize; 2], size: usize) -> bool {
        (0..size * size).any(|at| {
            let x = (column * size + at % size) as f64 + 0.5 - self.mean[0];
            let y = (row * size + at / size) as f64 + 0.5 - self.mean[1];
            let sigma = self.sigma([x, y]);
            sigma >= 0.0 && self.opacity * (-sigma).exp() >= 1.0 / 255.0
        })
    }

    /// The least sigma in the rectangle of a tile's pixel centres, and the sum of its terms in the
    /// corner farthest from the mean.
    fn least(&self, tile: [usize; 2], size: usize) -> (f64, f64) {
        let [a, b, c] = self.conic;
        let [x, y] = [0, 1].map(|axis| {
            let first = (tile[axis] * size) as f64 + 0.5 - self.mean[axis];
            [first, first + (size - 1) as f64]
        });
        let within = |at: f64, [first, last]: [f64; 2]| at.clamp(first, last);
        let mut least = match within(0.0, x) == 0.0 && within(0.0, y) == 0.0 {
            true => 0.0,
            false => f64::INFINITY,
        };
        for end in 0..2 {
            least = least.min(self.sigma([x[end], within(-b * x[end] / c, y)]));
            least = least.min(self.sigma([within(-b * y[end] / a, x), y[end]]));
        }
        let far = [x, y].map(|[first, last]| last.max(-first));
        (least, a * far[0] * far[0] + c * far[1] * far[1])
    }

    /// Whether a tile is to be listed; `None` if rounding may decide.
    fn reaches(&self, tile: [usize; 2], size: usize) -> Option<bool> {
        let [a, b, c] = self.conic;
        if !(a > 0.0 && c > 0.0 && a * c > b * b) {
            return Some(true);
        }
        let (least, terms) = self.least(tile, size);
        let beyond = least - ((255.0 * self.opacity).ln() + 1e-3 + 1e-6 * terms);
        (beyond.abs() > 1e-5 + 7e-7 * terms).then_some(beyond < 0.0)
    }
}

fn sums(counts: &[i32]) -> Vec<i64> {
    let mut sum = 0;
    let ends = counts.iter().map(|&count| {
        sum += i64::from(count);
        sum
    });
    ends.collect()
}

/// Checks which tiles a splat's pairs name, in order.
fn check_tiles(scene: &Scene, splat: usize, listed: &[usize]) {
    let tiles = &scene.tiles;
    let (ellipse, [columns, rows]) = (scene.ellipse(splat), scene.touched(splat));
    let mut left = listed.iter().copied().peekable();
    for row in rows {
        for column in columns.clone() {
            let is_listed = left.next_if_eq(&(row * tiles.width + column)).is_some();
            let tile = [column, row];
            let name = || format!("splat {splat} in {tile:?} of tiles of {}", tiles.size);
            if let Some(expected) = ellipse.reaches(tile, tiles.size) {
                assert_eq!(is_listed, expected, "{}", name());
            }
            let counts = ellipse.counts(tile, tiles.size);
            assert!(is_listed || !counts, "{} counts", name());
        }
    }
    assert_eq!(left.next(), None, "splat {splat}: not in its box, or twice");
}

fn check(on: &Fixture, scene: &Scene) {
    let (tiles, of_device) = (&scene.tiles, scene.on(on));
    let counts = on.out::<i32>(scene.count());
    let splats = of_device.splats();
    count(&on.stream(), tiles, &splats, counts.slice()).unwrap();
    let counts = counts.read();
    let ends = sums(&counts);
    let total = ends[ends.len() - 1] as usize;

    let (ids, flat) = of_device.pairs(on, tiles, (&ends, total), false);
    let mut pairs: Vec<(i64, i32)> = ids.read().into_iter().zip(flat.read()).collect();
    let tile_bits = (tiles.width * tiles.height).ilog2() + 1;
    for splat in 0..scene.count() {
        let end = ends[splat] as usize;
        let of_splat = &pairs[end - counts[splat] as usize..end];
        assert!(of_splat.iter().all(|(_, of)| *of == splat as i32));
        let depth = scene.depths[splat].to_bits();
        assert!(of_splat.iter().all(|(id, _)| *id as u32 == depth));
        let image = scene.image(splat) << tile_bits;
        let keys = of_splat.iter().map(|(id, _)| (id >> 32) as usize);
        let listed: Vec<usize> = keys.map(|key| key - image).collect();
        check_tiles(scene, splat, &listed);
    }

    let (ids, flat) = of_device.pairs(on, tiles, (&ends, total), true);
    pairs.sort_by_key(|(id, _)| *id);
    let sorted: Vec<(i64, i32)> = ids.read().into_iter().zip(flat.read()).collect();
    let wrong = (0..total).find(|&at| sorted[at] != pairs[at]);
    assert_eq!(wrong.map(|at| (at, sorted[at], pairs[at])), None);
    let begins = on.out::<i32>(tiles.images * tiles.of_image());
    offsets(&on.stream(), tiles, ids.slice(), begins.slice()).unwrap();
    for (list, begin) in begins.read().into_iter().enumerate() {
        let (image, tile) = (list / tiles.of_image(), list % tiles.of_image());
        let least = (image << tile_bits | tile) as i64;
        let expected = pairs.partition_point(|(id, _)| id >> 32 < least);
        assert_eq!(begin as usize, expected, "list {list}");
    }
}

fn tiles(size: usize, width: usize, height: usize) -> Tiles {
    Tiles {
        images: IMAGES,
        size,
        width,
        height,
    }
}

#[test]
fn lists_hold_the_tiles_that_splats_reach() {
    let Some(on) = fixture() else { return };
    check(&on, &Scene::new(tiles(16, 13, 10), 350));
    check(&on, &Scene::new(tiles(7, 25, 20), 100));
    // More rows than a warp has lanes.
    check(&on, &Scene::new(tiles(3, 50, 70), 60));
    check(&on, &Scene::new(tiles(1, 40, 90), 20));
}

#[test]
fn no_place_stays_unwritten_if_counts_are_of_other_splats() {
    let Some(on) = fixture() else { return };
    let scene = Scene::new(tiles(16, 13, 10), 50);
    let of_device = scene.on(&on);
    let mut numbers = Numbers::new(5);
    let counts: Vec<i32> = (0..scene.count())
        .map(|_| numbers.between(0.0, 40.0) as i32)
        .collect();
    let ends = sums(&counts);
    let last = ends[ends.len() - 1] as usize;
    let (mut falling, mut vast) = (ends.clone(), ends.clone());
    falling.reverse();
    vast.iter_mut().for_each(|end| *end *= 1 << 40);
    for ends in [ends, falling, vast] {
        for total in [last, last / 2, last + 300] {
            for sort in [false, true] {
                let given = (&ends[..], total);
                let (ids, flat) = of_device.pairs(&on, &scene.tiles, given, sort);
                for (id, splat) in ids.read().into_iter().zip(flat.read()) {
                    assert!((0..scene.count() as i32).contains(&splat), "{splat}");
                    assert_eq!(id as u32, scene.depths[splat as usize].to_bits());
                    let (image, tile) = ((id >> 40) as usize, (id >> 32) as usize & 255);
                    assert!(image < IMAGES && tile < 130, "{image} {tile}");
                }
            }
        }
    }
}
