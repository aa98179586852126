//! Images, gradients and indices against the functions of splatcore-tensors in f64.

use super::{
    Colors, ImageGradients, Images, IndexRange, Indices, Lists, Raster, SplatGradients, backward,
    count_indices, fill_indices, forward,
};
use crate::tensors::tests::{Fixture, Numbers, Tensor, assert_close, fixture};
use crate::tests::support::device::emulator_with;
use splatcore_tensors::rasterize as plain;
use std::sync::Arc;

mod halves;

const ALPHA_MAX: f64 = 0.9;

/// Splats of several images and their lists.
struct Scene {
    images: usize,
    width: usize,
    height: usize,
    tile_size: usize,
    channels: usize,
    alpha_max: f64,
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
            alpha_max: ALPHA_MAX,
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

    /// As the CPU takes it.
    fn drawn(&self) -> plain::Drawn<'_, f64> {
        plain::Drawn {
            lists: plain::Lists {
                images: self.images,
                width: self.width,
                height: self.height,
                tile_size: self.tile_size,
                tile_width: self.width.div_ceil(self.tile_size),
                tile_height: self.height.div_ceil(self.tile_size),
                means2d: &self.means2d,
                conics: &self.conics,
                opacities: &self.opacities,
                tile_offsets: &self.offsets,
                flatten_ids: &self.ids,
                alpha_max: self.alpha_max,
            },
            channels: self.channels,
            colors: &self.colors,
            backgrounds: self.backgrounds.as_deref(),
            masks: self.masks.as_deref(),
        }
    }

    /// Colours, alphas and last ids by the CPU.
    fn image(&self) -> (Vec<f64>, Vec<f64>, Vec<i32>) {
        let pixels = self.pixels();
        let (mut colors, mut alphas) = (
            vec![f64::NAN; pixels * self.channels],
            vec![f64::NAN; pixels],
        );
        let mut last_ids = vec![-1; pixels];
        let out = plain::Pixels {
            colors: &mut colors,
            alphas: &mut alphas,
            last_ids: &mut last_ids,
        };
        plain::forward(&self.drawn(), out).unwrap();
        (colors, alphas, last_ids)
    }

    /// Gradients of means, absolute means, conics, opacities and colours by the CPU.
    fn gradients(&self, [v_colors, v_alphas]: &[Vec<f64>; 2]) -> [Vec<f64>; 5] {
        let splats = self.opacities.len();
        let mut out = [2, 2, 3, 1, self.channels].map(|width| vec![f64::NAN; splats * width]);
        let [v_means2d, absolute, v_conics, v_opacities, of_colors] = &mut out;
        let input = plain::Backward {
            last_ids: &self.image().2,
            v_colors,
            v_alphas: Some(v_alphas),
        };
        let gradients = plain::Gradients {
            v_means2d,
            v_means2d_abs: Some(absolute),
            v_conics,
            v_colors: of_colors,
            v_opacities,
        };
        plain::backward(&self.drawn(), &input, gradients).unwrap();
        out
    }

    /// Leaves out every third tile.
    fn masked(mut self) -> Self {
        let masks = (0..self.offsets.len()).map(|tile| u8::from(tile % 3 != 1));
        self.masks = Some(masks.collect());
        self
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
        alpha_max: scene.alpha_max as f32,
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
    let (expected_colors, expected_alphas, expected_ids) = scene.image();
    assert_close("colors", &colors.written(), &expected_colors, 1e-5);
    assert_close("alphas", &alphas.written(), &expected_alphas, 1e-5);
    assert_eq!(last_ids.read(), expected_ids);
}

#[test]
fn images_are_those_of_the_cpu() {
    let Some(on) = fixture() else { return };
    for (tile_size, channels) in [(16, 3), (8, 1), (5, 4), (12, 2), (16, 7), (16, 35), (1, 1)] {
        check_images(&on, &Scene::new(tile_size, channels, 12));
    }
    let mut scene = Scene::new(16, 3, 12);
    scene.backgrounds = None;
    check_images(&on, &scene);
    check_images(&on, &scene.masked());
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
    let first_tile = scene.image().2[..scene.tile_size].iter().max().copied();
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

/// Gradients on the device, in the order of [`Scene::gradients`].
fn gradients(on: &Fixture, scene: &Scene, v: &[Vec<f64>; 2]) -> [Vec<f64>; 5] {
    let (channels, splats) = (scene.channels, scene.opacities.len());
    let (_, render_alphas, last_ids) = rendered(on, scene);
    let uploaded = upload(on, scene);
    let v_images = v.each_ref().map(|v| on.floats(v));
    let images = ImageGradients {
        render_alphas: render_alphas.slice(),
        last_ids: last_ids.slice(),
        v_render_colors: v_images[0].slice(),
        v_render_alphas: Some(v_images[1].slice()),
    };
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
    let mut numbers = Numbers::new(11);
    let v = [scene.channels, 1].map(|width| numbers.many(scene.pixels() * width, -0.4, 0.6));
    let (got, expected) = (gradients(on, scene, &v), scene.gradients(&v));
    let names = [
        "v_means2d",
        "v_means2d_abs",
        "v_conics",
        "v_opacities",
        "v_colors",
    ];
    for ((name, got), expected) in names.iter().zip(&got).zip(&expected) {
        assert_close(name, got, expected, 2e-4);
    }
}

#[test]
fn gradients_are_those_of_the_cpu() {
    let Some(on) = fixture() else { return };
    for (tile_size, channels) in [(16, 3), (5, 4), (8, 11), (16, 35)] {
        check_gradients(&on, &Scene::new(tile_size, channels, 6));
    }
    let mut scene = Scene::new(16, 3, 6);
    scene.backgrounds = None;
    check_gradients(&on, &scene.masked());
}

#[test]
fn indices_are_those_of_the_cpu() {
    let Some(on) = fixture() else { return };
    let scene = Scene::new(4, 1, 40);
    let (uploaded, lists) = (upload(&on, &scene), scene.drawn().lists);
    let pixels = scene.pixels();
    let light = vec![1.0; pixels];
    // All but the first 16 splats of each tile.
    let steps = plain::Steps {
        start: 1,
        end: 9,
        transmittances: &light,
    };
    let transmittances = on.floats(&light);
    let range = IndexRange {
        range_start: steps.start,
        range_end: steps.end,
        transmittances: transmittances.slice(),
    };
    let (counts, mut expected) = (on.out::<i32>(pixels), vec![-1; pixels]);
    count_indices(&on.stream(), &uploaded.raster, &range, counts.slice()).unwrap();
    plain::count_indices(&lists, &steps, &mut expected).unwrap();
    assert_eq!(counts.read(), expected);

    let mut found = 0;
    let starts = expected.iter().map(|&count| {
        found += i64::from(count);
        found - i64::from(count)
    });
    let starts: Vec<i64> = starts.collect();
    let found = found as usize;
    assert!(found > 0);
    let on_device = on.tensor(&starts);
    let (gaussian_ids, pixel_ids) = (on.out(found), on.out(found));
    let out = Indices {
        starts: on_device.slice(),
        gaussian_ids: gaussian_ids.slice(),
        pixel_ids: pixel_ids.slice(),
    };
    fill_indices(&on.stream(), &uploaded.raster, &range, &out).unwrap();
    let (mut ids, mut places) = (vec![-1; found], vec![-1; found]);
    plain::fill_indices(&lists, &steps, 40, &starts, &mut ids, &mut places).unwrap();
    assert_eq!((gaussian_ids.read(), pixel_ids.read()), (ids, places));
}

/// Every access is in a buffer and ordered.
#[test]
fn accesses_are_right() {
    let Some(device) = emulator_with(true) else {
        return;
    };
    let on = Fixture::on(Arc::new(device));
    let scene = Scene::new(5, 35, 70);
    let v = [35, 1].map(|width| vec![0.5; scene.pixels() * width]);
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
    assert_contains!(error.unwrap_err(), "render_colors has 10 values");
    let mut raster = uploaded.raster;
    raster.tile_size = 17;
    let error = forward(&on.stream(), &raster, &uploaded.colors, &images);
    assert!(error.unwrap_err().to_string().contains("tile_size is 17"));
}
