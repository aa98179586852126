//! Images and gradients on the matrix units against the functions of splatcore-tensors in f64, at
//! the bounds of the engine's blend in halves.

use super::super::halves::{ImageGradients, Images, backward, forward};
use super::super::{Colors, Raster, SplatGradients};
use super::{Scene, upload};
use crate::tensors::tests::{Fixture, Numbers, Tensor, fixture};
use crate::tests::support::device::emulator_with;
use splatcore_core::precision::{EQUAL_QUALITY, GRADIENT_IN_HALF};
use std::sync::Arc;

/// gsplat's cap on alpha.
const GSPLAT: f64 = 0.999;

/// What the values of a fourth channel are near.
const DEPTH: f64 = (1 << 20) as f64;

/// What a pixel may be off by: a fragment at the least alpha, which counts here and not there.
const PIXEL: f64 = 1.0 / 255.0;

/// The same where a fragment ends the pixel here and not there, in front of which a tenth of the
/// light is left at most.
const ENDED_PIXEL: f64 = 0.1;

/// On tiles of 16 pixels with three channels.
fn scene(per_image: usize) -> Scene {
    Scene {
        alpha_max: GSPLAT,
        ..Scene::new(16, 3, per_image)
    }
}

/// The same with a fourth channel, of values beyond those of halves.
fn deep_scene(per_image: usize) -> Scene {
    let mut scene = Scene {
        alpha_max: GSPLAT,
        ..Scene::new(16, 4, per_image)
    };
    let backgrounds = scene.backgrounds.as_mut().unwrap();
    for row in scene.colors.chunks_mut(4).chain(backgrounds.chunks_mut(4)) {
        row[3] *= DEPTH;
    }
    scene
}

/// Colours, alphas and planes.
type Rendered = [Tensor<f32>; 3];

/// Runs `work` with a scene's splats, and what it has of the device.
fn with<T>(on: &Fixture, scene: &Scene, work: impl FnOnce(&Raster, &Colors) -> T) -> T {
    let uploaded = upload(on, scene);
    work(&uploaded.raster, &uploaded.colors)
}

fn rendered(on: &Fixture, scene: &Scene) -> Rendered {
    let channels = scene.channels;
    let outs = [channels, 1, channels].map(|values| on.out::<f32>(scene.pixels() * values));
    let [colors, alphas, planes] = outs.each_ref().map(Tensor::slice);
    let images = Images {
        render_colors: colors,
        render_alphas: alphas,
        planes: Some(planes),
    };
    with(on, scene, |raster, of| {
        forward(&on.stream(), raster, of, &images).unwrap();
    });
    outs
}

fn check_values(name: &str, got: &[f64], expected: &[f64], most: f64) {
    assert_eq!(got.len(), expected.len(), "{name}");
    let mut square = 0.0;
    for (i, (g, e)) in got.iter().zip(expected).enumerate() {
        assert!((g - e).abs() <= most, "{name}[{i}] is {g}, expected {e}");
        square += (g - e).powi(2) / got.len() as f64;
    }
    let psnr = -10.0 * square.log10();
    assert!(psnr >= EQUAL_QUALITY, "{name}: {psnr} dB");
}

/// Values with those of the fourth channel multiplied.
fn times_depth(values: &[f64], channels: usize, by: f64) -> Vec<f64> {
    let value = |(i, v): (usize, &f64)| if i % channels == 3 { v * by } else { *v };
    values.iter().enumerate().map(value).collect()
}

fn check_images(on: &Fixture, scene: &Scene) {
    check_images_within(on, scene, PIXEL);
}

fn check_images_within(on: &Fixture, scene: &Scene, most: f64) {
    let [colors, alphas, planes] = rendered(on, scene).map(|out| out.written());
    let (expected, expected_alphas, _) = scene.image();
    let channels = scene.channels;
    let near = |values: &[f64]| times_depth(values, channels, 1.0 / DEPTH);
    check_values("colors", &near(&colors), &near(&expected), most);
    check_values("alphas", &alphas, &expected_alphas, most);
    let area = scene.width * scene.height;
    for (at, value) in planes.iter().enumerate() {
        let (image, channel, pixel) = (at / (channels * area), at / area % channels, at % area);
        assert_eq!(*value, colors[channels * (image * area + pixel) + channel]);
    }
}

/// Gradients of means, conics, opacities and colours.
fn gradients(on: &Fixture, scene: &Scene, v: &[Vec<f64>; 2]) -> [Vec<f64>; 4] {
    let splats = scene.opacities.len();
    let [_, render_alphas, planes] = rendered(on, scene);
    let v_images = v.each_ref().map(|v| on.floats(v));
    let images = ImageGradients {
        planes: planes.slice(),
        render_alphas: render_alphas.slice(),
        v_render_colors: v_images[0].slice(),
        v_render_alphas: Some(v_images[1].slice()),
    };
    let outs = [2, 3, 1, scene.channels].map(|width| on.out::<f32>(splats * width));
    let [means, conics, opacities, colors] = outs.each_ref().map(Tensor::slice);
    let out = SplatGradients {
        v_means2d: means,
        v_means2d_abs: None,
        v_conics: conics,
        v_colors: colors,
        v_opacities: opacities,
    };
    with(on, scene, |raster, of| {
        backward(&on.stream(), raster, of, &images, &out).unwrap();
    });
    outs.map(|out| out.written())
}

fn upstream(scene: &Scene) -> [Vec<f64>; 2] {
    let mut numbers = Numbers::new(11);
    let mut v = [scene.channels, 1].map(|n| numbers.many(scene.pixels() * n, -0.4, 0.6));
    if scene.channels == 4 {
        v[0] = times_depth(&v[0], 4, 1.0 / DEPTH);
    }
    v
}

fn check_gradients(on: &Fixture, scene: &Scene) {
    let v = upstream(scene);
    let mut got = gradients(on, scene, &v);
    let [means, _, conics, opacities, mut colors] = scene.gradients(&v);
    for colors in [&mut got[3], &mut colors] {
        *colors = times_depth(colors, scene.channels, DEPTH);
    }
    let names = ["v_means2d", "v_conics", "v_opacities", "v_colors"];
    let expected = [means, conics, opacities, colors];
    for ((name, got), expected) in names.iter().zip(&got).zip(&expected) {
        let norm =
            |values: &mut dyn Iterator<Item = f64>| values.map(|v| v * v).sum::<f64>().sqrt();
        let off = norm(&mut got.iter().zip(expected).map(|(g, e)| g - e));
        let length = norm(&mut expected.iter().copied());
        let is_close = off <= GRADIENT_IN_HALF * length;
        assert!(is_close, "{name} is off by {off} of {length}");
    }
}

#[test]
fn images_and_gradients_are_those_of_the_cpu() {
    let Some(on) = fixture() else { return };
    let mut small = scene(12);
    check_images(&on, &small);
    check_gradients(&on, &small);
    small.backgrounds = None;
    let masked = small.masked();
    check_images(&on, &masked);
    check_gradients(&on, &masked);
}

#[test]
fn a_fourth_channel_may_be_deep() {
    let Some(on) = fixture() else { return };
    let mut scene = deep_scene(12);
    check_images(&on, &scene);
    check_gradients(&on, &scene);
    scene.backgrounds = None;
    check_images(&on, &scene);
    // A value that is none counts only where its splat does.
    scene.colors[3] = f64::INFINITY;
    scene.opacities[0] = 0.0;
    check_images(&on, &scene);
}

/// More splats than a block takes at a time.
#[test]
fn long_lists_are_blended_in_order() {
    let Some(on) = fixture() else { return };
    for mut scene in [scene(300), deep_scene(300)] {
        for opacity in &mut scene.opacities {
            *opacity = f64::from((*opacity * 0.2) as f32);
        }
        check_images(&on, &scene);
        check_gradients(&on, &scene);
    }
}

/// Nearly all light goes at once at the cap, in front of a bright background.
#[test]
fn opaque_splats_end_pixels() {
    let Some(on) = fixture() else { return };
    for mut scene in [scene(40), deep_scene(40)] {
        scene.opacities.fill(1.0);
        for conic in scene.conics.chunks_mut(3) {
            conic.copy_from_slice(&[1.0 / 512.0, 0.0, 1.0 / 512.0]);
        }
        check_images_within(&on, &scene, ENDED_PIXEL);
        for value in scene.backgrounds.as_mut().unwrap() {
            *value *= 200.0;
        }
        let found = gradients(&on, &scene, &upstream(&scene));
        assert!(found.iter().flatten().all(|value| value.is_finite()));
    }
}

#[test]
fn without_splats_images_are_the_background() {
    let Some(on) = fixture() else { return };
    let mut scene = scene(0);
    check_images(&on, &scene);
    assert!(
        gradients(&on, &scene, &upstream(&scene))
            .concat()
            .is_empty()
    );
    scene.images = 0;
    scene.offsets.clear();
    scene.backgrounds = None;
    assert!(rendered(&on, &scene)[0].read().is_empty());
}

/// Splats that cannot count, among others.
#[test]
fn what_is_no_splat_changes_nothing() {
    let Some(on) = fixture() else { return };
    let mut scene = scene(12);
    for (k, opacity) in [0.0, -0.5, f64::NAN].into_iter().enumerate() {
        scene.opacities[3 * k] = opacity;
    }
    scene.means2d[2] = f64::NAN;
    scene.conics[3 * 4 + 1] = f64::INFINITY;
    check_images(&on, &scene);
    let found = gradients(&on, &scene, &upstream(&scene));
    for [splat, width] in [[0, 3], [3, 3]] {
        let of_splat = &found[3][splat * width..][..width];
        assert_eq!(of_splat, [0.0; 3]);
    }
}

/// Every access is in a buffer and ordered.
#[test]
fn accesses_are_right() {
    let Some(device) = emulator_with(true) else {
        return;
    };
    let on = Fixture::on(Arc::new(device));
    let scene = deep_scene(70);
    gradients(&on, &scene, &upstream(&scene));
}

#[test]
fn what_has_no_kernel_is_told() {
    let Some(on) = fixture() else { return };
    let scenes = [
        Scene::new(8, 3, 2),
        Scene::new(16, 5, 2),
        Scene {
            alpha_max: 0.9999,
            ..scene(2)
        },
    ];
    for scene in scenes {
        let outs = [scene.channels, 1].map(|n| on.out::<f32>(scene.pixels() * n));
        let images = Images {
            render_colors: outs[0].slice(),
            render_alphas: outs[1].slice(),
            planes: None,
        };
        let error = with(&on, &scene, |raster, of| {
            forward(&on.stream(), raster, of, &images).unwrap_err()
        });
        assert!(error.to_string().contains("no kernel in halves"), "{error}");
    }
}
