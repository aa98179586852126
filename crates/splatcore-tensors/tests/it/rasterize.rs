use crate::support::{Numbers, check_gradient_by, dot};
use splatcore_tensors::rasterize::{
    Backward, Drawn, Gradients, Lists, Pixels, Steps, backward, count_indices, fill_indices,
    forward,
};

const IMAGES: usize = 2;
const WIDTH: usize = 21;
const HEIGHT: usize = 13;
const TILE: usize = 8;
const ACROSS: usize = 3;
const DOWN: usize = 2;
const PIXELS: usize = IMAGES * WIDTH * HEIGHT;

/// Splats that every tile lists, in an order of its own.
#[derive(Clone)]
struct World {
    channels: usize,
    means2d: Vec<f64>,
    conics: Vec<f64>,
    colors: Vec<f64>,
    opacities: Vec<f64>,
    backgrounds: Option<Vec<f64>>,
    masks: Option<Vec<u8>>,
    offsets: Vec<i32>,
    flatten: Vec<i32>,
    alpha_max: f64,
}

impl World {
    fn new(m: usize, channels: usize) -> Self {
        let mut numbers = Numbers::new(30);
        let diagonal = numbers.within(2 * m, 0.02, 0.2);
        let slant = numbers.within(m, -0.9, 0.9);
        let conics = (0..m).flat_map(|i| {
            let (a, c) = (diagonal[2 * i], diagonal[2 * i + 1]);
            [a, slant[i] * (a * c).sqrt(), c]
        });
        let conics = conics.collect();
        let tiles = IMAGES * ACROSS * DOWN;
        let mut world = Self {
            channels,
            means2d: numbers.within(2 * m, -2.0, 20.0),
            conics,
            colors: numbers.within(m * channels, 0.0, 1.0),
            opacities: numbers.within(m, 0.1, 0.9),
            backgrounds: Some(numbers.within(IMAGES * channels, 0.0, 1.0)),
            masks: None,
            offsets: Vec::new(),
            flatten: Vec::new(),
            alpha_max: 0.999,
        };
        let order = numbers.within(tiles * m, 0.0, 1.0);
        for keys in order.chunks(m) {
            world.offsets.push(world.flatten.len() as i32);
            let mut ids: Vec<i32> = (0..m as i32).collect();
            ids.sort_by(|&a, &b| keys[a as usize].total_cmp(&keys[b as usize]));
            world.flatten.extend(ids);
        }
        world
    }

    fn drawn(&self) -> Drawn<'_, f64> {
        Drawn {
            lists: Lists {
                images: IMAGES,
                width: WIDTH,
                height: HEIGHT,
                tile_size: TILE,
                tile_width: ACROSS,
                tile_height: DOWN,
                means2d: &self.means2d,
                conics: &self.conics,
                opacities: &self.opacities,
                tile_offsets: &self.offsets,
                flatten_ids: &self.flatten,
                alpha_max: self.alpha_max,
            },
            channels: self.channels,
            colors: &self.colors,
            backgrounds: self.backgrounds.as_deref(),
            masks: self.masks.as_deref(),
        }
    }

    fn image(&self) -> Image {
        let mut out = Image {
            colors: vec![f64::NAN; PIXELS * self.channels],
            alphas: vec![f64::NAN; PIXELS],
            last_ids: vec![-1; PIXELS],
        };
        let pixels = Pixels {
            colors: &mut out.colors,
            alphas: &mut out.alphas,
            last_ids: &mut out.last_ids,
        };
        forward(&self.drawn(), pixels).unwrap();
        out
    }
}

#[derive(Debug)]
struct Image {
    colors: Vec<f64>,
    alphas: Vec<f64>,
    last_ids: Vec<i32>,
}

/// A fragment of a pixel, found by a plain loop: place in `flatten_ids`, splat, alpha,
/// transmittance in front.
type Fragment = (usize, usize, f64, f64);

fn fragments(world: &World, image: usize, x: usize, y: usize) -> Vec<Fragment> {
    let tile = (image * DOWN + y / TILE) * ACROSS + x / TILE;
    let end = world
        .offsets
        .get(tile + 1)
        .map_or(world.flatten.len(), |&end| end as usize);
    let mut light = 1.0;
    let mut out = Vec::new();
    if world.masks.as_ref().is_some_and(|masks| masks[tile] == 0) {
        return out;
    }
    for place in world.offsets[tile] as usize..end {
        let i = world.flatten[place] as usize;
        let dx = world.means2d[2 * i] - (x as f64 + 0.5);
        let dy = world.means2d[2 * i + 1] - (y as f64 + 0.5);
        let [a, b, c] = [0, 1, 2].map(|k| world.conics[3 * i + k]);
        let sigma = 0.5 * (a * dx * dx + c * dy * dy) + b * dx * dy;
        let alpha = world.alpha_max.min(world.opacities[i] * (-sigma).exp());
        if sigma < 0.0 || alpha < 1.0 / 255.0 {
            continue;
        }
        if light * (1.0 - alpha) <= 1e-4 {
            break;
        }
        out.push((place, i, alpha, light));
        light *= 1.0 - alpha;
    }
    out
}

fn each_pixel(mut see: impl FnMut(usize, usize, usize, usize)) {
    for image in 0..IMAGES {
        for y in 0..HEIGHT {
            for x in 0..WIDTH {
                see((image * HEIGHT + y) * WIDTH + x, image, x, y);
            }
        }
    }
}

fn compare_with_loop(world: &World) {
    let found = world.image();
    let d = world.channels;
    each_pixel(|pixel, image, x, y| {
        let mut color = vec![0.0; d];
        let (mut light, mut last) = (1.0, 0);
        for (place, i, alpha, before) in fragments(world, image, x, y) {
            for (sum, c) in color.iter_mut().zip(&world.colors[i * d..]) {
                *sum += c * alpha * before;
            }
            (light, last) = (before * (1.0 - alpha), place as i32);
        }
        for k in 0..d {
            let behind = world
                .backgrounds
                .as_ref()
                .map_or(0.0, |all| all[image * d + k]);
            let expected = color[k] + light * behind;
            assert!((found.colors[pixel * d + k] - expected).abs() < 1e-12);
        }
        assert!((found.alphas[pixel] - (1.0 - light)).abs() < 1e-12);
        assert_eq!(found.last_ids[pixel], last);
    });
}

#[test]
fn pixels_are_those_of_a_plain_loop() {
    for channels in [1, 3, 5] {
        compare_with_loop(&World::new(25, channels));
    }
}

#[test]
fn dark_pixels_masked_tiles_and_odd_conics_are_those_of_a_plain_loop() {
    let mut world = World::new(60, 3);
    world.opacities.iter_mut().for_each(|v| *v += 0.5);
    compare_with_loop(&world);
    let ended = world
        .image()
        .alphas
        .iter()
        .filter(|&&alpha| alpha > 0.999)
        .count();
    assert!(ended > PIXELS / 4, "{ended} pixels are dark");
    world.alpha_max = 0.6;
    world.masks = Some((0..12).map(|tile| u8::from(tile % 3 != 0)).collect());
    world.backgrounds = None;
    compare_with_loop(&world);
    // Neither an ellipse: a hyperbola, and an endless band.
    world.conics[..3].copy_from_slice(&[0.1, 0.3, 0.1]);
    world.conics[3..6].copy_from_slice(&[0.1, 0.1, 0.1]);
    // A needle.
    world.conics[6..9].copy_from_slice(&[1.0, 0.999, 1.0]);
    compare_with_loop(&world);
}

/// Gradients of means, absolute, conics, colours, opacities.
fn gradients(world: &World, v_colors: &[f64], v_alphas: &[f64]) -> [Vec<f64>; 5] {
    let m = world.opacities.len();
    let mut out = [2 * m, 2 * m, 3 * m, m * world.channels, m].map(|len| vec![f64::NAN; len]);
    let [means, absolute, conics, colors, opacities] = &mut out;
    let input = Backward {
        last_ids: &world.image().last_ids,
        v_colors,
        v_alphas: Some(v_alphas),
    };
    let gradients = Gradients {
        v_means2d: means,
        v_means2d_abs: Some(absolute),
        v_conics: conics,
        v_colors: colors,
        v_opacities: opacities,
    };
    backward(&world.drawn(), &input, gradients).unwrap();
    out
}

/// A world of splats that stay clear of all thresholds under the steps of finite differences: wide
/// and not too many, so that alphas are above 1/255 everywhere and no pixel ends.
fn smooth(channels: usize) -> World {
    let mut world = World::new(7, channels);
    world.conics.iter_mut().for_each(|v| *v *= 0.04);
    world.opacities.iter_mut().for_each(|v| *v = 0.2 + 0.5 * *v);
    each_pixel(|_, image, x, y| {
        assert_eq!(
            fragments(&world, image, x, y).len(),
            7,
            "a fragment is near 1/255"
        );
    });
    world
}

#[test]
fn gradients_are_those_of_finite_differences() {
    for channels in [1, 3, 4] {
        let mut world = smooth(channels);
        // Alphas of the first splat are at their limit everywhere; they pass nothing on.
        world.alpha_max = 0.7;
        world.opacities[0] = 0.99;
        world.conics[..3].iter_mut().for_each(|v| *v *= 0.01);
        let mut numbers = Numbers::new(31);
        let v_colors = numbers.within(PIXELS * channels, -1.0, 1.0);
        let v_alphas = numbers.within(PIXELS, -1.0, 1.0);
        let loss = |world: &World| {
            let image = world.image();
            dot(&image.colors, &v_colors) + dot(&image.alphas, &v_alphas)
        };
        let [means, _, conics, colors, opacities] = gradients(&world, &v_colors, &v_alphas);
        let check = |name: &str, at: &[f64], v: &[f64], set: fn(&mut World, &[f64])| {
            // Conics are small: a larger step makes hyperbolas of ellipses.
            let step = if name == "conics" { 1e-6 } else { 1e-4 };
            check_gradient_by(step, name, at, v, 1e-7, |at| {
                let mut moved = world.clone();
                set(&mut moved, at);
                loss(&moved)
            });
        };
        check("means2d", &world.means2d, &means, |w, v| {
            w.means2d = v.to_vec()
        });
        check("conics", &world.conics, &conics, |w, v| {
            w.conics = v.to_vec()
        });
        check("colors", &world.colors, &colors, |w, v| {
            w.colors = v.to_vec()
        });
        check("opacities", &world.opacities, &opacities, |w, v| {
            w.opacities = v.to_vec()
        });
    }
}

/// The gradients of a plain loop: for each fragment, the derivatives of the pixel's colour written
/// out with everything behind it.
#[test]
fn gradients_with_thresholds_are_those_of_a_plain_loop() {
    let d = 3;
    let mut world = World::new(60, d);
    world.opacities.iter_mut().for_each(|v| *v += 0.3);
    world.masks = Some((0..12).map(|tile| u8::from(tile != 4)).collect());
    let mut numbers = Numbers::new(32);
    let v_colors = numbers.within(PIXELS * d, -1.0, 1.0);
    let v_alphas = numbers.within(PIXELS, -1.0, 1.0);
    let found = gradients(&world, &v_colors, &v_alphas);
    let mut expected = found.clone().map(|v| vec![0.0; v.len()]);
    let [means, absolute, conics, colors, opacities] = &mut expected;
    each_pixel(|pixel, image, x, y| {
        let all = fragments(&world, image, x, y);
        let v = &v_colors[pixel * d..][..d];
        let light = all.last().map_or(1.0, |last| last.3 * (1.0 - last.2));
        let background = &world.backgrounds.as_ref().unwrap()[image * d..][..d];
        for (n, &(_, i, alpha, before)) in all.iter().enumerate() {
            let behind: f64 = all[n + 1..]
                .iter()
                .map(|&(_, j, alpha, before)| alpha * before * dot(&world.colors[j * d..][..d], v))
                .sum();
            let last = light * (dot(background, v) - v_alphas[pixel]);
            let v_alpha =
                before * dot(&world.colors[i * d..][..d], v) - (behind + last) / (1.0 - alpha);
            for k in 0..d {
                colors[i * d + k] += alpha * before * v[k];
            }
            if alpha == world.alpha_max {
                continue;
            }
            opacities[i] += v_alpha * alpha / world.opacities[i];
            let v_sigma = -alpha * v_alpha;
            let dx = world.means2d[2 * i] - (x as f64 + 0.5);
            let dy = world.means2d[2 * i + 1] - (y as f64 + 0.5);
            let [a, b, c] = [0, 1, 2].map(|k| world.conics[3 * i + k]);
            let slopes = [a * dx + b * dy, b * dx + c * dy];
            for k in 0..2 {
                means[2 * i + k] += v_sigma * slopes[k];
                absolute[2 * i + k] += (v_sigma * slopes[k]).abs();
            }
            conics[3 * i] += 0.5 * v_sigma * dx * dx;
            conics[3 * i + 1] += v_sigma * dx * dy;
            conics[3 * i + 2] += 0.5 * v_sigma * dy * dy;
        }
    });
    for (found, expected) in found.iter().zip(&expected) {
        let most = expected.iter().fold(0.0f64, |most, v| most.max(v.abs()));
        for (a, b) in found.iter().zip(expected) {
            assert!((a - b).abs() < 1e-10 * most, "{a} {b}");
        }
    }
}

#[test]
fn indices_are_those_of_a_plain_loop() {
    let world = World::new(80, 3);
    let drawn = world.drawn();
    // In two parts: a tile's first 64 splats, then the others.
    let mut light = vec![1.0; PIXELS];
    for (start, end) in [(0, 1), (1, 9)] {
        let steps = Steps {
            start,
            end,
            transmittances: &light.clone(),
        };
        let mut counts = vec![-1; PIXELS];
        count_indices(&drawn.lists, &steps, &mut counts).unwrap();
        let mut total = 0;
        let starts: Vec<i64> = counts
            .iter()
            .map(|&count| {
                total += i64::from(count);
                total - i64::from(count)
            })
            .collect();
        let (mut ids, mut pixels) = (vec![-1; total as usize], vec![-1; total as usize]);
        fill_indices(&drawn.lists, &steps, 40, &starts, &mut ids, &mut pixels).unwrap();
        let mut expected = Vec::new();
        each_pixel(|pixel, image, x, y| {
            let tile = (image * DOWN + y / TILE) * ACROSS + x / TILE;
            for (place, i, alpha, before) in fragments(&world, image, x, y) {
                let step = (place - world.offsets[tile] as usize) / (TILE * TILE);
                if (start..end).contains(&step) {
                    expected.push((i as i64 % 40, pixel as i64));
                    light[pixel] = before * (1.0 - alpha);
                }
            }
        });
        assert!(expected.len() > PIXELS / 2);
        let found: Vec<(i64, i64)> = ids.into_iter().zip(pixels).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn wrong_starts_are_refused() {
    let world = World::new(20, 3);
    let drawn = world.drawn();
    let light = vec![1.0; PIXELS];
    let steps = Steps {
        start: 0,
        end: 1,
        transmittances: &light,
    };
    let mut counts = vec![0; PIXELS];
    count_indices(&drawn.lists, &steps, &mut counts).unwrap();
    let total: usize = counts.iter().map(|&count| count as usize).sum();
    for starts in [
        vec![0; PIXELS],
        vec![-1; PIXELS],
        vec![i64::MAX; PIXELS],
        (0..PIXELS as i64).rev().collect(),
        (0..PIXELS as i64).collect(),
    ] {
        let (mut ids, mut pixels) = (vec![0; total], vec![0; total]);
        let found = fill_indices(&drawn.lists, &steps, 20, &starts, &mut ids, &mut pixels);
        assert_eq!(found.unwrap_err().argument, "starts");
    }
}
