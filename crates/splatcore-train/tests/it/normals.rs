//! Maps of normals on the real CPU backend: they straighten a wall that photos tell nothing of, and
//! a resumed run ends bit for bit where it would have.

use crate::blobs::resumed;
use splatcore_core::backend::{Backend, RenderOptions};
use splatcore_core::camera::dot;
use splatcore_core::depth::DepthMap;
use splatcore_core::depth::normals::{NEIGHBOURS, PixelRays, inverse_depth};
use splatcore_core::random::Rng;
use splatcore_core::{Camera, Gaussians, Photo, View};
use splatcore_cpu::CpuBackend;
use splatcore_train::config::{Config, Depths};
use splatcore_train::{Trainer, init};
use std::sync::Arc;

/// Of the wall, and two directions in it.
const NORMAL: [f64; 3] = [0.36, -0.48, -0.8];
const ALONG: [[f64; 3]; 2] = [[0.8, 0.6, 0.0], [-0.48, 0.64, -0.6]];
const SIZE: [u32; 2] = [40, 30];

/// A wall of one colour, its Gaussians off by up to so much.
fn wall(off: f64) -> Gaussians {
    let mut rng = Rng::new(4, 5);
    let side = 24;
    let positions: Vec<[f32; 3]> = (0..side * side)
        .map(|i| {
            let [a, b] = [i % side, i / side].map(|v| 0.2 * f64::from(v) - 2.3);
            let away = off * (2.0 * f64::from(rng.uniform()) - 1.0);
            [0, 1, 2].map(|k| (a * ALONG[0][k] + b * ALONG[1][k] + away * NORMAL[k]) as f32)
        })
        .collect();
    let colours = vec![[140, 150, 160]; positions.len()];
    let mut scene =
        init::from_points(&positions, &colours, &Config::UNSET.complete(), 1.0).gaussians;
    scene.opacity_logits.fill(2.0);
    scene.log_scales.fill([(0.15f32).ln(); 3]);
    scene.with_sh_degree(1)
}

fn views(backend: &CpuBackend) -> Vec<View> {
    let mut renderer = backend.renderer(&wall(0.0)).unwrap();
    let view = |i: usize| {
        let x = i as f64 - 1.5;
        let camera = Camera::look_at([x, 0.3, -4.0], [0.0; 3], [0.0, -1.0, 0.0], 0.6, 40, 30);
        let rendered = renderer.render(&camera, &RenderOptions::default()).unwrap();
        let normal = camera.rotation.map(|row| dot(row, NORMAL) as f32);
        let known = rendered.transmittance.iter();
        View {
            name: format!("{i}.png"),
            photo: Photo {
                depth: Some(Arc::new(DepthMap {
                    width: SIZE[0],
                    height: SIZE[1],
                    inverse: vec![0.0; 1200],
                    normals: known
                        .map(|&t| if t < 0.05 { normal } else { [0.0; 3] })
                        .collect(),
                })),
                ..Photo::opaque(SIZE[0], SIZE[1], rendered.image.to_bytes())
            },
            camera,
        }
    };
    (0..4).map(view).collect()
}

fn config(weight: f64) -> Config {
    Config {
        iterations: Some(300),
        sh_degree: Some(1),
        seed: Some(3),
        densify_until: Some(0),
        prune_floaters: Some(0.0),
        checkpoint_every: Some(0),
        normals: Some(Depths::Auto),
        normal_weight: Some(weight),
        ..Config::UNSET
    }
}

fn trainer(backend: &CpuBackend, config: &Config, views: &Arc<Vec<View>>) -> Trainer {
    Trainer::new(&config.complete(), backend, Arc::clone(views), wall(0.15)).unwrap()
}

/// Mean of one minus the cosine to the wall's normal, over the pixels that show it.
fn off(backend: &CpuBackend, scene: &Gaussians, views: &[View]) -> f64 {
    let mut renderer = backend.renderer(scene).unwrap();
    let options = RenderOptions {
        inverse_depth: true,
        ..RenderOptions::default()
    };
    let (mut sum, mut count) = (0.0, 0);
    for view in views {
        let rendered = renderer.render(&view.camera, &options).unwrap();
        let sums = rendered.inverse_depth.unwrap();
        let map = view.photo.depth.as_ref().unwrap();
        for i in 41..1200 - 41 {
            let at = |[dx, dy]: [i32; 2]| (i as i32 + dx + 40 * dy) as usize;
            let frame = |i: usize| [sums[i], 1.0 - rendered.transmittance[i]].map(f64::from);
            let q = NEIGHBOURS.map(|neighbour| inverse_depth(frame(at(neighbour))));
            if map.normals[i] == [0.0; 3] || q.contains(&None) || !(1..39).contains(&(i % 40)) {
                continue;
            }
            let pixel = [i as u32 % 40, i as u32 / 40];
            let q = q.map(Option::unwrap_or_default);
            sum += PixelRays::of(&view.camera).normal_loss(pixel, q, map.normals[i])[0];
            count += 1;
        }
    }
    assert!(count > 1000, "{count}");
    sum / f64::from(count)
}

#[test]
fn normals_straighten_a_plain_wall() {
    let backend = CpuBackend::new(None);
    let views = Arc::new(views(&backend));
    let right = off(&backend, &wall(0.0), &views);
    let run = |weight| {
        let mut trainer = trainer(&backend, &config(weight), &views);
        trainer.run(&mut ()).unwrap();
        off(&backend, &trainer.scene().unwrap(), &views)
    };
    let (start, without, with) = (off(&backend, &wall(0.15), &views), run(0.0), run(0.05));
    eprintln!("off by {right:.4} in truth, {start:.4} at first, {without:.4} without, {with:.4}");
    assert!(right < 0.1 * start, "{right} {start}");
    assert!(with < 0.6 * without, "{with} {without}");
}

#[test]
fn resuming_with_normals_is_bit_exact() {
    let backend = CpuBackend::new(Some(2));
    let (config, views) = (config(0.05), Arc::new(views(&backend)));
    resumed(|| trainer(&backend, &config, &views), &views, &[133]);
}
