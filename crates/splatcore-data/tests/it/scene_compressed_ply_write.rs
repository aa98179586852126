//! PlayCanvas's compressed PLY out.

use crate::scene_support::{normalised, of_bits, random, shared, write_rows, written};
use proptest::prelude::*;
use splatcore_core::Gaussians;
use splatcore_core::gaussians::sigmoid;
use splatcore_data::scene::{self, WriteOptions, morton_order, rows::PIECE};

const NAME: &str = "scene.compressed.ply";

fn in_scene_order() -> WriteOptions {
    WriteOptions {
        keep_order: true,
        ..WriteOptions::default()
    }
}

/// Half a step of each attribute over its chunk's extent, and what f32 adds.
fn within_rounding(got: &Gaussians, want: &Gaussians) {
    assert_eq!((got.len(), got.sh_degree), (want.len(), want.sh_degree));
    for start in (0..want.len()).step_by(256) {
        let chunk = start..(start + 256).min(want.len());
        let extent = |value: &dyn Fn(usize) -> f32| {
            let values = chunk.clone().map(value);
            let low = values.clone().fold(f32::MAX, f32::min);
            values.fold(f32::MIN, f32::max) - low
        };
        for c in 0..3 {
            let steps = [2047.0, 1023.0, 2047.0][c];
            let mean = extent(&|i| want.means[i][c]);
            let scale = extent(&|i| want.log_scales[i][c]);
            let colour = extent(&|i| want.sh_of(i)[0][c]);
            for i in chunk.clone() {
                let close = |a: f32, b: f32, bound: f32| {
                    let float = 1e-6 * b.abs().max(1.0);
                    assert!((a - b).abs() <= bound + float, "{i} {c}: {a} {b}");
                };
                close(got.means[i][c], want.means[i][c], 0.5 / steps * mean);
                close(
                    got.log_scales[i][c],
                    want.log_scales[i][c],
                    0.5 / steps * scale,
                );
                close(
                    got.sh_of(i)[0][c],
                    want.sh_of(i)[0][c],
                    0.5 / 255.0 * colour,
                );
                for k in 1..want.coefficients() {
                    // Middles of 256 parts of [-4, 4], but for the first and the last, which stand
                    // for the ends.
                    let v = want.sh_of(i)[k][c].clamp(-4.0, 4.0);
                    let bound = if v.abs() < 4.0 - 8.0 / 256.0 {
                        0.5
                    } else {
                        1.0
                    };
                    close(got.sh_of(i)[k][c], v, bound * 8.0 / 256.0);
                }
            }
        }
        for i in chunk {
            let alphas = [got, want].map(|g| sigmoid(g.opacity_logits[i]));
            assert!((alphas[0] - alphas[1]).abs() <= 0.5 / 255.0 + 1e-6);
            rotation_within_rounding(got.rotations[i], want.rotations[i]);
        }
    }
}

/// Three components are off by half a step of √2 / 1023 at most, the largest makes the length 1.
fn rotation_within_rounding(got: [f32; 4], want: [f32; 4]) {
    let (got, want) = (got.map(f64::from), normalised(want));
    // The first of equally large ones.
    let largest = (0..4)
        .rev()
        .max_by(|&a, &b| want[a].abs().total_cmp(&want[b].abs()));
    let largest = largest.unwrap();
    let want = want.map(|v| v * want[largest].signum());
    for i in (0..4).filter(|&i| i != largest) {
        let error = (got[i] - want[i]).abs();
        assert!(
            error <= 0.5 * 2.0f64.sqrt() / 1023.0 + 1e-6,
            "{got:?} {want:?}"
        );
    }
    assert!((got.iter().map(|v| v * v).sum::<f64>() - 1.0).abs() < 1e-6);
}

#[test]
fn what_is_written_is_read_within_half_a_step() {
    for degree in 0..=3 {
        for count in [0, 1, 256, 257, 1000] {
            let scene = random(count, degree, 21);
            let options = WriteOptions {
                antialiased: count == 257,
                ..WriteOptions::default()
            };
            let (file, notes) = written(NAME, &scene, &options);
            assert_eq!((file.format.as_str(), file.dropped), ("compressed PLY", 0));
            assert_eq!(file.antialiased, count == 257);
            assert!(file.notes.is_empty() && notes.is_empty(), "{notes:?}");
            within_rounding(
                &file.gaussians,
                &scene.in_order(&morton_order(&scene).unwrap()),
            );
            let (file, _) = written(NAME, &scene, &in_scene_order());
            within_rounding(&file.gaussians, &scene);
        }
    }
}

#[test]
fn pieces_are_put_together() {
    let scene = random(2 * PIECE + 300, 1, 22);
    let (file, _) = written(NAME, &scene, &WriteOptions::default());
    within_rounding(
        &file.gaussians,
        &scene.in_order(&morton_order(&scene).unwrap()),
    );
    // Neighbours share chunks: their boxes are small.
    let volume = |g: &Gaussians| {
        let side = |chunk: &[[f32; 3]], c: usize| {
            let values = chunk.iter().map(|m| m[c]);
            values.clone().fold(f32::MIN, f32::max) - values.fold(f32::MAX, f32::min)
        };
        let boxes = g.means.chunks(256);
        boxes
            .map(|chunk| (0..3).map(|c| side(chunk, c)).product::<f32>())
            .sum::<f32>()
    };
    assert!(volume(&file.gaussians) < volume(&scene) / 50.0);
}

#[test]
fn degree_4_is_cut() {
    let scene = random(300, 4, 23);
    let (file, notes) = written(NAME, &scene, &in_scene_order());
    within_rounding(&file.gaussians, &scene.with_sh_degree(3));
    assert_eq!(notes, ["spherical harmonics of degree 4 are cut to 3"]);
}

/// The same bytes as splat-transform's for the same scene.
#[test]
fn bytes_are_those_of_splat_transform() {
    let Some(model) = shared("formats/splat22k/model.ply") else {
        return;
    };
    let model = scene::read(&model).unwrap().gaussians;
    for (name, degree) in [("model", 3), ("model.sh2", 2), ("model.sh0", 0)] {
        let Some(path) = shared(&format!("formats/splat22k/{name}.compressed.ply")) else {
            return;
        };
        let theirs = std::fs::read(path).unwrap();
        let ours = write_rows(NAME, &model.with_sh_degree(degree), &in_scene_order()).0;
        let split = |file: &[u8]| {
            let end = file.windows(11).position(|w| w == b"end_header\n").unwrap() + 11;
            let header = String::from_utf8(file[..end].to_vec()).unwrap();
            let lines = header.lines().filter(|line| !line.starts_with("comment"));
            (
                lines.map(String::from).collect::<Vec<_>>(),
                file[end..].to_vec(),
            )
        };
        let ((want_header, want), (header, got)) = (split(&theirs), split(&ours));
        assert_eq!(header, want_header);
        assert_eq!(got.len(), want.len());
        let (chunks, vertices) = (22_575usize.div_ceil(256) * 72, 22_575 * 16);
        let different = |range: std::ops::Range<usize>| {
            let pairs = got[range.clone()].iter().zip(&want[range]);
            pairs.filter(|(a, b)| a != b).count()
        };
        assert_eq!(different(0..chunks), 0, "{name}: bounds");
        assert_eq!(different(chunks..chunks + vertices), 0, "{name}: words");
        assert_eq!(different(chunks + vertices..got.len()), 0, "{name}: sh");
    }
}

#[test]
fn extremes_are_clamped_and_noted() {
    let mut scene = random(6, 1, 24);
    scene.means[1] = [f32::MAX, -f32::MAX, 1e-40];
    scene.log_scales[0] = [f32::NEG_INFINITY, 88.0, 0.0];
    scene.opacity_logits[0] = f32::INFINITY;
    scene.opacity_logits[1] = f32::NEG_INFINITY;
    scene.rotations[2] = [1e-30, 0.0, 0.0, -1e-30];
    scene.rotations[3] = [0.0; 4];
    scene.rotations[4] = [f32::MAX, f32::MAX, 0.0, 0.0];
    scene.sh[5] = [f32::MAX, -4.0, 4.0];
    let (file, notes) = written(NAME, &scene, &in_scene_order());
    let got = file.gaussians;
    assert_eq!((got.len(), file.dropped), (6, 0));
    assert_eq!(got.means[1][..2], [f32::MAX, -f32::MAX]);
    assert_eq!(got.log_scales[0][..2], [-20.0, 20.0]);
    assert_eq!(got.opacity_logits[..2], [16.0, -16.0]);
    assert_eq!(got.sh[5], [4.0, -4.0, 4.0]);
    rotation_within_rounding(got.rotations[2], scene.rotations[2]);
    rotation_within_rounding(got.rotations[3], [1.0, 0.0, 0.0, 0.0]);
    rotation_within_rounding(got.rotations[4], scene.rotations[4]);
    assert_eq!(
        notes,
        [
            "1 Gaussian has a log scale outside [-20, 20], which was clamped",
            "1 Gaussian has a higher coefficient outside [-4, 4], which was clamped",
        ]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any bits of an f32 as parameters: no panic, and what is read is sound and as many.
    #[test]
    fn any_gaussians_are_written_and_read(bits in prop::collection::vec(any::<u32>(), 0..40 * 23)) {
        let scene = of_bits(&bits, 1);
        let (file, _) = written(NAME, &scene, &WriteOptions::default());
        prop_assert_eq!((file.gaussians.len(), file.dropped), (scene.len(), 0));
    }
}
