//! Images, gradients and indices against plain loops in f64, and central differences of these.

use super::{
    Colors, ImageGradients, Images, IndexRange, Indices, Lists, Raster, SplatGradients, backward,
    count_indices, fill_indices, forward,
};
use crate::tensors::tests::{Fixture, Numbers, Tensor, assert_close, differences, fixture};
use crate::tests::support::checked::checked;
use std::sync::Arc;

const ALPHA_MAX: f64 = 0.9;

/// Splats of several images and their lists.
#[derive(Clone)]
struct Scene {
    images: usize,
    width: usize,
    height: usize,
    tile_size: usize,
    channels: usize,
    means2d: Vec<f64>,
    conics: Vec<f64>,
    colors: Vec<f64>,
    opacities: Vec<f64>,
    backgrounds: Option<Vec<f64>>,
    masks: Option<Vec<u8>>,
    offsets: Vec<i32>,
    ids: Vec<i32>,
}

impl Scene {
    /// Two images of 37x23 pixels with `per_image` splats each, every one in the lists of all
    /// tiles but the tiles of the last column of the first image.
    fn new(tile_size: usize, channels: usize, per_image: usize) -> Self {
        let (images, width, height) = (2, 37_usize, 23_usize);
        let mut numbers = Numbers::new(7);
        let mut between = |low, high| numbers.between(low, high);
        let splats = images * per_image;
        let (mut means2d, mut conics, mut opacities) = (vec![], vec![], vec![]);
        for _ in 0..splats {
            means2d.extend([between(-3.0, 40.0), between(-3.0, 26.0)]);
            let (a, c) = (between(0.01, 0.2), between(0.01, 0.2));
            let b = between(-0.9, 0.9) * (a * c).sqrt();
            conics.extend([a, f64::from(b as f32), c]);
            opacities.push(between(0.1, 1.0));
        }
        let colors = numbers.many(splats * channels, -0.5, 1.0);
        let backgrounds = numbers.many(images * channels, 0.0, 1.0);
        let columns = width.div_ceil(tile_size);
        let tiles = columns * height.div_ceil(tile_size);
        let (mut offsets, mut ids) = (vec![], vec![]);
        for tile in 0..images * tiles {
            offsets.push(ids.len() as i32);
            if tile < tiles && tile % columns == columns - 1 {
                continue;
            }
            let first = tile / tiles * per_image;
            ids.extend((first..first + per_image).map(|id| id as i32));
        }
        Self {
            images,
            width,
            height,
            tile_size,
            channels,
            means2d,
            conics,
            colors,
            opacities,
            backgrounds: Some(backgrounds),
            masks: None,
            offsets,
            ids,
        }
    }

    fn pixels(&self) -> usize {
        self.images * self.width * self.height
    }

    /// The tile of a pixel of all images, and the pixel's centre.
    fn place(&self, pixel: usize) -> (usize, f64, f64) {
        let (image, rest) = (
            pixel / (self.width * self.height),
            pixel % (self.width * self.height),
        );
        let (x, y) = (rest % self.width, rest / self.width);
        let columns = self.width.div_ceil(self.tile_size);
        let rows = self.height.div_ceil(self.tile_size);
        let tile = (image * rows + y / self.tile_size) * columns + x / self.tile_size;
        (tile, x as f64 + 0.5, y as f64 + 0.5)
    }

    /// Places in the list that count, each with its weight, and the transmittance behind them.
    fn fragments(&self, pixel: usize) -> (Vec<(usize, f64)>, f64) {
        let (tile, x, y) = self.place(pixel);
        let (mut found, mut transmittance) = (vec![], 1.0);
        if self.masks.as_ref().is_some_and(|masks| masks[tile] == 0) {
            return (found, transmittance);
        }
        let end = self.offsets.get(tile + 1);
        let end = end.map_or(self.ids.len(), |&end| end as usize);
        for place in self.offsets[tile] as usize..end {
            let id = self.ids[place] as usize;
            let (dx, dy) = (self.means2d[2 * id] - x, self.means2d[2 * id + 1] - y);
            let [a, b, c] = [0, 1, 2].map(|k| self.conics[3 * id + k]);
            let sigma = 0.5 * (a * dx * dx + c * dy * dy) + b * dx * dy;
            let alpha = (self.opacities[id] * (-sigma).exp()).min(ALPHA_MAX);
            if sigma < 0.0 || alpha < 1.0 / 255.0 {
                continue;
            }
            let behind = transmittance * (1.0 - alpha);
            if behind <= 1e-4 {
                break;
            }
            found.push((place, alpha * transmittance));
            transmittance = behind;
        }
        (found, transmittance)
    }

    /// The channels of a pixel, then its alpha.
    fn pixel(&self, pixel: usize) -> Vec<f64> {
        let (fragments, transmittance) = self.fragments(pixel);
        let channels = self.channels;
        let image = pixel / (self.width * self.height);
        let mut values: Vec<f64> = match &self.backgrounds {
            Some(all) => (0..channels)
                .map(|c| transmittance * all[image * channels + c])
                .collect(),
            None => vec![0.0; channels],
        };
        for (place, weight) in fragments {
            let id = self.ids[place] as usize;
            for (c, value) in values.iter_mut().enumerate() {
                *value += weight * self.colors[id * channels + c];
            }
        }
        values.push(1.0 - transmittance);
        values
    }
}

/// A scene on the device.
struct Uploaded {
    raster: Raster,
    colors: Colors,
    _floats: Vec<Tensor<f32>>,
    _ints: [Tensor<i32>; 2],
    _masks: Option<Tensor<u8>>,
}

fn upload(on: &Fixture, scene: &Scene) -> Uploaded {
    let mut floats: Vec<Tensor<f32>> = [
        &scene.means2d,
        &scene.conics,
        &scene.opacities,
        &scene.colors,
    ]
    .map(|values| on.floats(values))
    .into();
    let backgrounds = scene.backgrounds.as_ref().map(|values| {
        floats.push(on.floats(values));
        floats[4].slice()
    });
    let ints = [on.tensor(&scene.offsets), on.tensor(&scene.ids)];
    let masks = scene.masks.as_ref().map(|masks| on.tensor(masks));
    let raster = Raster {
        means2d: floats[0].slice(),
        conics: floats[1].slice(),
        opacities: floats[2].slice(),
        lists: Lists {
            tile_offsets: ints[0].slice(),
            flatten_ids: ints[1].slice(),
            masks: masks.as_ref().map(Tensor::slice),
        },
        images: scene.images,
        width: scene.width,
        height: scene.height,
        tile_size: scene.tile_size,
        tile_width: scene.width.div_ceil(scene.tile_size),
        tile_height: scene.height.div_ceil(scene.tile_size),
        alpha_max: ALPHA_MAX as f32,
    };
    let colors = Colors {
        channels: scene.channels,
        colors: floats[3].slice(),
        backgrounds,
    };
    Uploaded {
        raster,
        colors,
        _floats: floats,
        _ints: ints,
        _masks: masks,
    }
}

/// `render_colors`, `render_alphas` and `last_ids` of the device.
fn rendered(on: &Fixture, scene: &Scene) -> (Tensor<f32>, Tensor<f32>, Tensor<i32>) {
    let uploaded = upload(on, scene);
    let pixels = scene.pixels();
    let (render_colors, render_alphas) = (on.out(pixels * scene.channels), on.out(pixels));
    let last_ids = on.out(pixels);
    let images = Images {
        render_colors: render_colors.slice(),
        render_alphas: render_alphas.slice(),
        last_ids: last_ids.slice(),
    };
    forward(&on.stream(), &uploaded.raster, &uploaded.colors, &images).unwrap();
    (render_colors, render_alphas, last_ids)
}

fn check_images(on: &Fixture, scene: &Scene) {
    let (colors, alphas, last_ids) = rendered(on, scene);
    let (mut expected_colors, mut expected_alphas, mut expected_ids) = (vec![], vec![], vec![]);
    for pixel in 0..scene.pixels() {
        let mut values = scene.pixel(pixel);
        expected_alphas.extend(values.pop());
        expected_colors.extend(values);
        let last = scene.fragments(pixel).0.last().map_or(0, |last| last.0);
        expected_ids.push(last as i32);
    }
    assert_close("colors", &colors.written(), &expected_colors, 1e-5);
    assert_close("alphas", &alphas.written(), &expected_alphas, 1e-5);
    assert_eq!(last_ids.read(), expected_ids);
}

#[test]
fn images_are_those_of_plain_loops() {
    let Some(on) = fixture() else { return };
    for (tile_size, channels) in [(16, 3), (8, 1), (5, 4), (12, 2), (16, 7), (16, 35), (1, 1)] {
        check_images(&on, &Scene::new(tile_size, channels, 12));
    }
    let mut scene = Scene::new(16, 3, 12);
    scene.backgrounds = None;
    check_images(&on, &scene);
    let masks = (0..scene.offsets.len())
        .map(|tile| u8::from(tile % 3 != 1))
        .collect();
    scene.masks = Some(masks);
    check_images(&on, &scene);
}

/// More splats than a batch, and pixels that end at several places.
#[test]
fn a_list_of_several_batches_is_blended_in_order() {
    let Some(on) = fixture() else { return };
    let mut scene = Scene::new(16, 3, 300);
    for opacity in &mut scene.opacities {
        *opacity = f64::from((*opacity * 0.05) as f32);
    }
    check_images(&on, &scene);
    let last = |pixel| scene.fragments(pixel).0.last().map_or(0, |last| last.0);
    let first_tile = (0..scene.tile_size).map(last).max();
    assert!(first_tile > Some(256), "{first_tile:?}");
}

#[test]
fn without_splats_images_are_the_background() {
    let Some(on) = fixture() else { return };
    let mut scene = Scene::new(16, 3, 0);
    check_images(&on, &scene);
    check_gradients(&on, &scene);
    scene.images = 0;
    scene.offsets.clear();
    scene.backgrounds = None;
    check_images(&on, &scene);
}

/// Gradients on the device: means, absolute means, conics, opacities, colours.
fn gradients(on: &Fixture, scene: &Scene, v: &[f64]) -> [Vec<f64>; 5] {
    let (pixels, channels, splats) = (scene.pixels(), scene.channels, scene.opacities.len());
    let (_, render_alphas, last_ids) = rendered(on, scene);
    let uploaded = upload(on, scene);
    let rows = v.chunks_exact(channels + 1);
    let v_colors: Vec<f64> = rows
        .clone()
        .flat_map(|row| &row[..channels])
        .copied()
        .collect();
    let v_alphas: Vec<f64> = rows.map(|row| row[channels]).collect();
    let v_images = [on.floats(&v_colors), on.floats(&v_alphas)];
    let images = ImageGradients {
        render_alphas: render_alphas.slice(),
        last_ids: last_ids.slice(),
        v_render_colors: v_images[0].slice(),
        v_render_alphas: Some(v_images[1].slice()),
    };
    assert_eq!(v_alphas.len(), pixels);
    let outs = [2, 2, 3, 1, channels].map(|width| on.out::<f32>(splats * width));
    let [means, absolute, conics, opacities, colors] = outs.each_ref().map(Tensor::slice);
    let out = SplatGradients {
        v_means2d: means,
        v_means2d_abs: Some(absolute),
        v_conics: conics,
        v_colors: colors,
        v_opacities: opacities,
    };
    let on = on.stream();
    backward(&on, &uploaded.raster, &uploaded.colors, &images, &out).unwrap();
    outs.map(|out| out.written())
}

fn check_gradients(on: &Fixture, scene: &Scene) {
    let rows = scene.pixels() * (scene.channels + 1);
    let v = Numbers::new(11).many(rows, -0.4, 0.6);
    let [means, absolute, conics, opacities, colors] = gradients(on, scene, &v);
    let row = scene.channels + 1;
    let of_pixel = |scene: &Scene, pixel: usize| -> f64 {
        let values = scene.pixel(pixel);
        let v = &v[pixel * row..(pixel + 1) * row];
        values.iter().zip(v).map(|(value, v)| value * v).sum()
    };
    let loss = |scene: &Scene| {
        (0..scene.pixels())
            .map(|pixel| of_pixel(scene, pixel))
            .sum()
    };
    let by = |values: &[f64], place: fn(&mut Scene) -> &mut Vec<f64>| {
        let mut moved = scene.clone();
        differences(values, 1e-7, |values| {
            place(&mut moved).copy_from_slice(values);
            loss(&moved)
        })
    };
    let close = |name: &str, got: &[f64], expected: &[f64]| {
        assert_close(name, got, expected, 2e-4);
    };
    close("v_means2d", &means, &by(&scene.means2d, |s| &mut s.means2d));
    close("v_conics", &conics, &by(&scene.conics, |s| &mut s.conics));
    close(
        "v_opacities",
        &opacities,
        &by(&scene.opacities, |s| &mut s.opacities),
    );
    close("v_colors", &colors, &by(&scene.colors, |s| &mut s.colors));
    let mut expected = vec![0.0; scene.means2d.len()];
    let mut moved = scene.clone();
    for (i, expected) in expected.iter_mut().enumerate() {
        let mut at = |offset: f64| -> Vec<f64> {
            moved.means2d[i] = scene.means2d[i] + offset;
            let all = (0..scene.pixels()).map(|pixel| of_pixel(&moved, pixel));
            all.collect()
        };
        let (above, below) = (at(1e-7), at(-1e-7));
        moved.means2d[i] = scene.means2d[i];
        let pixels = above.iter().zip(&below);
        *expected = pixels
            .map(|(above, below)| (above - below).abs() / 2e-7)
            .sum();
    }
    close("v_means2d_abs", &absolute, &expected);
}

#[test]
fn gradients_are_differences() {
    let Some(on) = fixture() else { return };
    for (tile_size, channels) in [(16, 3), (5, 4), (8, 11), (16, 35)] {
        check_gradients(&on, &Scene::new(tile_size, channels, 6));
    }
    let mut scene = Scene::new(16, 3, 6);
    scene.backgrounds = None;
    scene.masks = Some(
        (0..scene.offsets.len())
            .map(|tile| u8::from(tile % 3 != 1))
            .collect(),
    );
    check_gradients(&on, &scene);
}

#[test]
fn indices_are_those_of_plain_loops() {
    let Some(on) = fixture() else { return };
    let scene = Scene::new(4, 1, 40);
    let uploaded = upload(&on, &scene);
    let pixels = scene.pixels();
    let transmittances = on.floats(&vec![1.0; pixels]);
    // All but the first 16 splats of each tile.
    let range = IndexRange {
        range_start: 1,
        range_end: 9,
        transmittances: transmittances.slice(),
    };
    let counts = on.out::<i32>(pixels);
    count_indices(&on.stream(), &uploaded.raster, &range, counts.slice()).unwrap();
    let mut later = scene.clone();
    for (tile, offset) in later.offsets.iter_mut().enumerate() {
        let list = scene
            .offsets
            .get(tile + 1)
            .map_or(scene.ids.len() as i32, |&end| end)
            - *offset;
        *offset += list.min(16);
    }
    // Lists of `later` begin 16 places on and end where those of `scene` do.
    let (mut expected, mut gaussians, mut places) = (vec![], vec![], vec![]);
    for pixel in 0..pixels {
        let (tile, ..) = later.place(pixel);
        let mut one = later.clone();
        let end = scene
            .offsets
            .get(tile + 1)
            .map_or(scene.ids.len(), |&end| end as usize);
        one.ids.truncate(end);
        one.offsets.truncate(tile + 1);
        let (found, _) = one.fragments(pixel);
        expected.push(found.len() as i32);
        gaussians.extend(
            found
                .iter()
                .map(|(place, _)| i64::from(scene.ids[*place]) % 40),
        );
        places.extend(found.iter().map(|_| pixel as i64));
    }
    assert_eq!(counts.read(), expected);
    let starts: Vec<i64> = expected
        .iter()
        .scan(0, |sum, &count| {
            let start = *sum;
            *sum += i64::from(count);
            Some(start)
        })
        .collect();
    let starts = on.tensor(&starts);
    let (gaussian_ids, pixel_ids) = (on.out(gaussians.len()), on.out(gaussians.len()));
    let out = Indices {
        starts: starts.slice(),
        gaussian_ids: gaussian_ids.slice(),
        pixel_ids: pixel_ids.slice(),
    };
    fill_indices(&on.stream(), &uploaded.raster, &range, &out).unwrap();
    assert_eq!(gaussian_ids.read(), gaussians);
    assert_eq!(pixel_ids.read(), places);
}

/// Every access is in a buffer and ordered.
#[test]
fn accesses_are_right() {
    let Some(device) = checked() else { return };
    let on = Fixture::on(Arc::new(device));
    let scene = Scene::new(5, 35, 70);
    let v = vec![0.5; scene.pixels() * 36];
    gradients(&on, &scene, &v);
}

#[test]
fn wrong_shapes_are_told() {
    let Some(on) = fixture() else { return };
    let uploaded = upload(&on, &Scene::new(16, 3, 2));
    let out = on.out::<f32>(10);
    let ids = on.out::<i32>(10);
    let images = Images {
        render_colors: out.slice(),
        render_alphas: out.slice(),
        last_ids: ids.slice(),
    };
    let error = forward(&on.stream(), &uploaded.raster, &uploaded.colors, &images);
    let words = error.unwrap_err().to_string();
    assert!(words.contains("render_colors has 10 values"), "{words}");
    let mut raster = uploaded.raster;
    raster.tile_size = 17;
    let error = forward(&on.stream(), &raster, &uploaded.colors, &images);
    assert!(error.unwrap_err().to_string().contains("tile_size is 17"));
}
