//! antimatter15's .splat in.

use crate::scene_support::{
    agrees_with_peer, error_of, gzip, plain_ply, random, shared, shared_all,
};
use splatcore_core::gaussians::sigmoid;
use splatcore_data::scene;
use std::path::Path;

fn row(position: [f32; 3], scale: [f32; 3], colour: [u8; 4], rotation: [u8; 4]) -> Vec<u8> {
    let floats = position.into_iter().chain(scale).flat_map(f32::to_le_bytes);
    floats.chain(colour).chain(rotation).collect()
}

fn error(bytes: &[u8]) -> String {
    error_of("test.splat", bytes)
}

#[test]
fn a_real_file_decodes_as_a_peer_decodes_it() {
    let Some(path) = shared("formats/splat22k/model.splat") else {
        return;
    };
    let Some(expected) = shared("formats/expected/model.splat.every50.ply") else {
        return;
    };
    let scene = scene::read(&path).unwrap();
    assert_eq!(scene.format, "antimatter15 .splat");
    assert_eq!(
        (scene.gaussians.len(), scene.dropped, scene.notes.len()),
        (22_575, 0, 0)
    );
    assert_eq!(scene.bytes, 722_400);
    agrees_with_peer(&scene.gaussians, &expected);
}

/// The writer sorted them by size times opacity; positions and scales it kept bit for bit.
#[test]
fn a_real_file_holds_the_model_in_another_order() {
    let Some([path, model]) =
        shared_all(["formats/splat22k/model.splat", "formats/splat22k/model.ply"])
    else {
        return;
    };
    let got = scene::read(&path).unwrap().gaussians;
    let want = scene::read(&model).unwrap().gaussians;
    let sorted = |g: &splatcore_core::Gaussians| {
        let mut order: Vec<usize> = (0..g.len()).collect();
        order.sort_by_key(|&i| {
            (
                g.means[i].map(f32::to_bits),
                (sigmoid(g.opacity_logits[i]) * 255.0) as u8,
            )
        });
        order
    };
    let (a, b) = (sorted(&got), sorted(&want));
    assert_eq!(a.len(), b.len());
    for (i, j) in a.into_iter().zip(b) {
        assert_eq!(got.means[i], want.means[j]);
        for c in 0..3 {
            assert!((got.log_scales[i][c] - want.log_scales[j][c]).abs() < 1e-5);
        }
        let alphas = [got.opacity_logits[i], want.opacity_logits[j]].map(sigmoid);
        assert!((alphas[0] - alphas[1]).abs() < 0.004, "{alphas:?}");
    }
}

#[test]
fn bytes_become_parameters() {
    let file = [
        row(
            [1.0, -2.0, 3.5],
            [0.5, 1.0, 0.0],
            [255, 0, 51, 51],
            [255, 0, 0, 255],
        ),
        row([0.0; 3], [0.1; 3], [0; 4], [255, 128, 127, 0]),
        row([f32::NAN, 0.0, 0.0], [0.1; 3], [0; 4], [255; 4]),
    ];
    let mut file = file.concat();
    // Enough good rows to make up for a bad one.
    file.extend(row([0.0; 3], [1.0; 3], [128; 4], [255; 4]).repeat(10));
    let scene = scene::parse(&file, Path::new("a.SPLAT")).unwrap();
    assert_eq!((scene.gaussians.len(), scene.dropped), (12, 1));
    let g = scene.gaussians;
    assert_eq!(g.means[0], [1.0, -2.0, 3.5]);
    assert_eq!(g.log_scales[0][..2], [0.5f32.ln(), 0.0]);
    assert!(g.log_scales[0][2] < -87.0 && g.log_scales[0][2].is_finite());
    assert_eq!(g.rotations[0], [0.5, -0.5, -0.5, 0.5]);
    assert!((sigmoid(g.opacity_logits[0]) - 0.2).abs() < 1e-6);
    let colour = g.sh_of(0)[0].map(|c| c * 0.282_094_8 + 0.5);
    for (got, want) in colour.into_iter().zip([1.0, 0.0, 0.2]) {
        assert!((got - want).abs() < 1e-6, "{got} {want}");
    }
    assert!(sigmoid(g.opacity_logits[1]) < 1e-6);
}

#[test]
fn what_is_no_splat_is_refused() {
    let good = row([1.0; 3], [1.0; 3], [9; 4], [200; 4]).repeat(20);
    assert_eq!(
        scene::parse(&good, Path::new("a.splat"))
            .unwrap()
            .gaussians
            .len(),
        20
    );
    // Only the name tells.
    let unnamed = scene::parse(&good, Path::new("a.bin")).unwrap_err();
    assert_contains!(unnamed, "no known scene format");
    assert!(error(&good[..good.len() - 1]).contains("639 bytes are not a multiple"));
    assert!(error(b"").contains("empty"));
    assert!(
        error(&b"These are 32 bytes of prose, you.".repeat(320)[..3200])
            .contains("not rows of 32 bytes")
    );
    assert!(error(&row([1.0; 3], [-1.0; 3], [9; 4], [200; 4]).repeat(20)).contains("not rows"));
    let mut random_bytes = splatcore_core::random::Rng::new(1, 0);
    let noise: Vec<u8> = (0..3200).map(|_| random_bytes.next_u32() as u8).collect();
    assert!(error(&noise).contains("not rows"));
    // Other formats under this name are still told by content.
    let ply = plain_ply(&random(32, 3, 1));
    assert_eq!(
        scene::parse(&ply, Path::new("a.splat")).unwrap().format,
        "PLY, binary little-endian"
    );
    assert!(error(&gzip(&[0; 99])).contains("SPZ"));
    // And a coordinate may start with gzip's magic number.
    let mut file = good;
    file[..2].copy_from_slice(&[0x1f, 0x8b]);
    assert_eq!(
        scene::parse(&file, Path::new("a.splat"))
            .unwrap()
            .gaussians
            .len(),
        20
    );
}
