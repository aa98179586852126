//! A learned sky on the real CPU backend: it is found where photos show one, masks keep the scene
//! out of it, and a resumed run ends bit for bit where it would have.

use crate::blobs::{blobs, psnr, psnr_of, resumed};
use crate::common::points;
use splatcore_core::backend::{Backend, RenderOptions, Rendered, Renderer};
use splatcore_core::depth::{DepthMap, SKY};
use splatcore_core::random::normal3;
use splatcore_core::sky::direction;
use splatcore_core::{Camera, Gaussians, Photo, View};
use splatcore_cpu::CpuBackend;
use splatcore_train::config::{Config, Strategy};
use splatcore_train::{Trainer, init};
use std::sync::Arc;

const WIDTH: u32 = 64;
const HEIGHT: u32 = 48;

/// Orange at the horizon, blue above, brighter on one side: no sum of harmonics.
fn sky([x, up, z]: [f64; 3]) -> [f64; 3] {
    let high = ((0.3 - up) / 1.0).clamp(0.0, 1.0);
    let high = high * high * (3.0 - 2.0 * high);
    let sun = 0.12 * (0.8 * x + 0.6 * z).max(0.0).powi(2);
    let mix = |low: f64, top: f64| low + high * (top - low) + sun;
    [mix(0.9, 0.15), mix(0.6, 0.35), mix(0.4, 0.85)]
}

fn truth() -> Gaussians {
    let mut scene = blobs(60, |i| [i * 4, 240 - i * 4, (i % 7) * 30], 3.0);
    for log_scale in scene.log_scales.as_flattened_mut() {
        *log_scale -= 1.6;
    }
    scene
}

/// The truth's points, and as many all around it, of which the sky could be made.
fn start() -> Gaussians {
    let mut positions: Vec<[f32; 3]> = points(60).iter().map(|p| p.map(|v| 1.05 * v)).collect();
    positions.extend((0..60).map(|i| normal3(12, 1, i).map(|v| 4.0 * v)));
    init::from_points(&positions, &[], &Config::UNSET.complete(), 1.0).gaussians
}

fn render(renderer: &mut dyn Renderer, angle: f64) -> (Camera, Rendered) {
    let eye = [5.0 * angle.cos(), -0.5, 5.0 * angle.sin()];
    let target = [0.0, -0.6, 0.0];
    let camera = Camera::look_at(eye, target, [0.0, -1.0, 0.0], 1.0, WIDTH, HEIGHT);
    let rendered = renderer.render(&camera, &RenderOptions::default());
    (camera, rendered.unwrap())
}

/// Photos of the cloud before the sky; with masks of the sky as depths.
fn views(backend: &CpuBackend, first: f64, count: u32, masks: bool) -> Vec<View> {
    let mut renderer = backend.renderer(&truth()).unwrap();
    let mut view = |i: u32| {
        let angle = first + f64::from(i) * std::f64::consts::TAU / f64::from(count);
        let (camera, mut rendered) = render(&mut *renderer, angle);
        for (i, pixel) in (0u32..).zip(&mut rendered.image.data) {
            let behind = sky(direction(&camera, [i % WIDTH, i / WIDTH]));
            let left = f64::from(rendered.transmittance[i as usize]);
            *pixel = [0, 1, 2].map(|c: usize| pixel[c] + (left * behind[c]) as f32);
        }
        let shown = |left: &f32| if *left > 0.99 { SKY } else { 0.0 };
        let map = DepthMap {
            width: WIDTH,
            height: HEIGHT,
            inverse: rendered.transmittance.iter().map(shown).collect(),
            normals: Vec::new(),
        };
        View {
            name: format!("{angle}.png"),
            camera,
            photo: Photo {
                depth: masks.then(|| Arc::new(map)),
                ..Photo::opaque(WIDTH, HEIGHT, rendered.image.to_bytes())
            },
        }
    };
    (0..count).map(&mut view).collect()
}

fn config(sky: bool, masks: bool) -> Config {
    Config {
        iterations: Some(600),
        sh_degree: Some(1),
        seed: Some(3),
        test_every: Some(0),
        checkpoint_every: Some(0),
        sky: Some(sky),
        sky_masks: masks.then(|| "sky".into()),
        ..Config::UNSET
    }
}

/// Held-out PSNR, mean alpha where a held-out photo shows the sky, how far the sky is from the
/// truth there at most, and Gaussians.
fn outcome(config: &Config, backend: &CpuBackend, train: Vec<View>, test: &[View]) -> [f64; 4] {
    let train = Arc::new(train);
    let mut trainer = Trainer::new(&config.complete(), backend, train, start()).unwrap();
    trainer.run(&mut ()).unwrap();
    let learned = trainer.sky().unwrap();
    let (renderer, options) = trainer.renderer().unwrap();
    let psnr = psnr(renderer, test, &options);
    let (mut alpha, mut off, mut count) = (0.0, 0.0f64, 0u32);
    for view in test {
        let rendered = renderer.render(&view.camera, &options).unwrap();
        let map = view.photo.depth.as_ref().unwrap();
        for (i, known) in (0u32..).zip(&map.inverse) {
            if *known == SKY {
                alpha += 1.0 - f64::from(rendered.transmittance[i as usize]);
                count += 1;
                let towards = direction(&view.camera, [i % WIDTH, i / WIDTH]);
                let found = learned.map_or([0.5; 3], |sky| sky.colour(towards));
                let want = sky(towards);
                off = (0..3).fold(off, |off, c| off.max((found[c] - want[c]).abs()));
            }
        }
    }
    assert!(count > WIDTH * HEIGHT, "the views show no sky: {count}");
    let gaussians = renderer.count() as f64;
    [psnr, alpha / f64::from(count), off, gaussians]
}

#[test]
fn a_sky_is_found_and_masks_clear_it() {
    let backend = CpuBackend::new(None);
    let test = views(&backend, 0.1, 5, true);
    for strategy in [Strategy::Splatcore, Strategy::Mcmc] {
        let run = |sky, masks| {
            let config = Config {
                strategy: Some(strategy),
                max_gaussians: Some(400),
                ..config(sky, masks)
            };
            outcome(&config, &backend, views(&backend, 0.0, 16, masks), &test)
        };
        let without = run(false, false);
        let (with, masked) = (run(true, false), run(true, true));
        for (name, [psnr, alpha, off, gaussians]) in [
            ("without", without),
            ("with a sky", with),
            ("with masks", masked),
        ] {
            eprintln!(
                "{strategy:?} {name}: {psnr:.2} dB, alpha {alpha:.4}, off {off:.3}, {gaussians}"
            );
        }
        let [psnr, alpha, off, _] = masked;
        assert!(alpha <= 0.02 && off < 0.15, "{strategy:?}");
        assert!(
            psnr > without[0] - 0.3 && with[0] > without[0] - 0.3,
            "{strategy:?}"
        );
    }
}

#[test]
fn resuming_with_a_sky_is_bit_exact() {
    let backend = CpuBackend::new(Some(2));
    let config = Config {
        iterations: Some(120),
        batch: Some(2),
        ..config(true, true)
    };
    let views = Arc::new(views(&backend, 0.0, 6, true));
    let resolved = config.complete();
    let new = || Trainer::new(&resolved, &backend, Arc::clone(&views), start()).unwrap();
    let (end, stopped) = resumed(new, &views, &[53]);
    assert_eq!([end, stopped].map(|at| at.state.sky.seen), [[120], [53]]);
}

/// A run that learns no sky can stand before one, and the scene fits it.
#[test]
fn a_scene_stands_before_a_given_sky() {
    let backend = CpuBackend::new(None);
    let views = Arc::new(views(&backend, 0.0, 8, true));
    let learned = {
        let config = config(true, true).complete();
        let mut trainer = Trainer::new(&config, &backend, Arc::clone(&views), start()).unwrap();
        trainer.run(&mut ()).unwrap();
        Arc::new(trainer.sky().unwrap().unwrap())
    };
    let config = Config {
        iterations: Some(60),
        ..config(false, false)
    };
    let psnr = |sky| {
        let mut trainer =
            Trainer::new(&config.complete(), &backend, Arc::clone(&views), truth()).unwrap();
        trainer.stand_before(sky);
        trainer.run(&mut ()).unwrap();
        assert_eq!(trainer.sky().unwrap(), None);
        psnr_of(&mut trainer, &views)
    };
    let (before, nothing) = (psnr(Some(learned)), psnr(None));
    eprintln!("{before:.2} dB before the sky, {nothing:.2} dB before nothing");
    assert!(before > nothing + 10.0);
}
