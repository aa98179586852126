//! SPZ out.

use crate::scene_support::{normalised, of_bits, random, shared, write_rows, written};
use flate2::read::GzDecoder;
use proptest::prelude::*;
use splatcore_core::Gaussians;
use splatcore_core::gaussians::sigmoid;
use splatcore_data::scene::spz::{Axes, MAX_LOGIT, SpzOptions};
use splatcore_data::scene::{self, SceneFile, WriteOptions};
use std::io::Read;

fn options(version: u32) -> WriteOptions {
    WriteOptions {
        spz: SpzOptions {
            version,
            ..SpzOptions::default()
        },
        ..WriteOptions::default()
    }
}

/// Writes and reads again, without a cut of degree 4.
fn round_trip(scene: &Gaussians, options: &WriteOptions) -> (SceneFile, Vec<String>) {
    written("scene.spz", scene, options)
}

/// The attributes of a file before compression, and its first 16 bytes.
fn streams(file: &[u8], sh_degree: u8) -> (Vec<u8>, Vec<Vec<u8>>) {
    let mut plain = Vec::new();
    if file.starts_with(b"NGSP") {
        let word = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
        let contents = word(16) & 0xffff_ffff;
        let mut at = contents + 16 * usize::from(file[15]);
        let mut streams = Vec::new();
        for i in 0..usize::from(file[15]) {
            let packed = word(contents + 16 * i);
            let mut decoder =
                ruzstd::decoding::StreamingDecoder::new(&file[at..at + packed]).unwrap();
            streams.push(Vec::new());
            decoder.read_to_end(&mut streams[i]).unwrap();
            assert_eq!(streams[i].len(), word(contents + 16 * i + 8));
            at += packed;
        }
        assert_eq!(at, file.len());
        return (file[..16].to_vec(), streams);
    }
    GzDecoder::new(file).read_to_end(&mut plain).unwrap();
    let count = u32::from_le_bytes(plain[8..12].try_into().unwrap()) as usize;
    let rotation = if plain[4] < 3 { 3 } else { 4 };
    let higher = 3 * ((sh_degree as usize + 1).pow(2) - 1);
    let mut at = 16;
    let strides = [9, 1, 3, 3, rotation, higher];
    let streams = strides.map(|stride| {
        at += stride * count;
        plain[at - stride * count..at].to_vec()
    });
    (plain[..16].to_vec(), streams.into())
}

/// Half a step of each attribute, and what f32 adds when a value is computed.
fn within_rounding(got: &Gaussians, want: &Gaussians, version: u32, bits: u8, sh_bits: [u8; 2]) {
    assert_eq!((got.len(), got.sh_degree), (want.len(), want.sh_degree));
    let step = 0.5 * (-f32::from(bits)).exp2();
    for i in 0..want.len() {
        for c in 0..3 {
            let (a, b) = (got.means[i][c], want.means[i][c]);
            assert!((a - b).abs() <= step * (1.0 + 1e-6), "mean {a} {b}");
            let b = want.log_scales[i][c].clamp(-10.0, 5.9375);
            let a = got.log_scales[i][c];
            assert!((a - b).abs() <= 0.5 / 16.0 + 1e-6, "log scale {a} {b}");
            // Bytes 0 to 255 are colours of -3.33 to 3.33 with 0.15 a unit.
            let b = want.sh_of(i)[0][c].clamp(-0.5 / 0.15, 0.5 / 0.15);
            let a = got.sh_of(i)[0][c];
            assert!((a - b).abs() <= 0.5 / 255.0 / 0.15 + 1e-5, "colour {a} {b}");
        }
        let (a, b) = (
            sigmoid(got.opacity_logits[i]),
            sigmoid(want.opacity_logits[i]),
        );
        assert!((a - b).abs() <= 0.5 / 255.0 + 1e-6, "alpha {a} {b}");
        for k in 1..want.coefficients() {
            // Levels are 2^(8 - bits) / 128 apart; rounding to 128ths comes first, and the last
            // level is cut by 1/128.
            let level = f32::from(8 - sh_bits[usize::from(k > 3)]).exp2();
            let bound = (0.5 * level + 0.5).max(1.0) / 128.0;
            for c in 0..3 {
                let (a, b) = (got.sh_of(i)[k][c], want.sh_of(i)[k][c].clamp(-1.0, 1.0));
                assert!((a - b).abs() <= bound + 1e-6, "coefficient {k}: {a} {b}");
            }
        }
        rotation_within_rounding(got.rotations[i], want.rotations[i], version);
    }
}

/// The components that are stored are off by half a step at most; the other is what makes the
/// length 1.
fn rotation_within_rounding(got: [f32; 4], want: [f32; 4], version: u32) {
    let (got, mut want) = (got.map(f64::from), normalised(want));
    let (derived, step) = match version {
        2 => (0, 1.0 / 127.5),
        _ => {
            let derived = (0..4).max_by(|&a, &b| want[a].abs().total_cmp(&want[b].abs()));
            (derived.unwrap(), 0.5f64.sqrt() / 511.0)
        }
    };
    // Two components may be equally large up to the step; then either may be the derived one.
    let errors = |want: [f64; 4]| {
        (0..4)
            .filter(move |&i| i != derived)
            .map(move |i| (got[i] - want[i]).abs())
    };
    if errors(want).any(|e| e > 0.5 * step + 1e-6) {
        want = want.map(|v| -v);
    }
    assert!(
        errors(want).all(|e| e <= 0.5 * step + 1e-6),
        "{got:?} {want:?}"
    );
    let length = got.iter().map(|v| v * v).sum::<f64>();
    // Version 2 near w = 0: x, y, z alone may be longer than 1.
    assert!((length - 1.0).abs() < if version == 2 { 0.02 } else { 1e-6 });
}

#[test]
fn what_is_written_is_read_within_half_a_step() {
    for version in [2, 3, 4] {
        for degree in 0..=4 {
            for axes in [Axes::Rub, Axes::Rdf] {
                for sh_bits in [[5, 4], [8, 8]] {
                    let mut scene = random(700, degree, 11);
                    scene.sh.iter_mut().flatten().for_each(|v| *v *= 0.7);
                    let mut options = options(version);
                    options.spz.axes = axes;
                    options.spz.sh_bits = sh_bits;
                    options.antialiased = degree == 1;
                    let (file, _) = round_trip(&scene, &options);
                    assert_eq!(file.format, format!("SPZ version {version}"));
                    assert_eq!((file.dropped, file.antialiased), (0, degree == 1));
                    assert!(file.notes.is_empty(), "{:?}", file.notes);
                    within_rounding(&file.gaussians, &scene, version, 12, sh_bits);
                }
            }
        }
    }
}

/// The bytes of Niantic's library for the same scene.
#[test]
fn bytes_are_those_of_niantics_library() {
    let Some(model) = shared("formats/splat22k/model.ply") else {
        return;
    };
    let model = scene::read(&model).unwrap().gaussians;
    for (name, version, degree) in [
        ("model.niantic-v2", 2, 3),
        ("model.niantic-v3", 3, 3),
        ("model.niantic-v4", 4, 3),
        ("model.sh0.niantic-v3", 3, 0),
        ("model.sh1.niantic-v3", 3, 1),
        ("model.sh2.niantic-v3", 3, 2),
    ] {
        let Some(path) = shared(&format!("formats/splat22k/{name}.spz")) else {
            return;
        };
        let theirs = std::fs::read(path).unwrap();
        let ours = write_rows(
            "scene.spz",
            &model.with_sh_degree(degree),
            &options(version),
        )
        .0;
        let ((mut head, want), (ours_head, got)) =
            (streams(&theirs, degree), streams(&ours, degree));
        // Ours names its axes.
        head[14] |= 2;
        assert_eq!(ours_head, head, "{name}");
        assert_eq!(got.len(), want.len());
        for (i, (got, want)) in got.iter().zip(&want).enumerate() {
            let different = got.iter().zip(want).filter(|(a, b)| a != b).count();
            assert_eq!(
                (got.len(), different),
                (want.len(), 0),
                "{name}, stream {i}"
            );
        }
    }
}

#[test]
fn extremes_are_clamped_and_noted() {
    let mut scene = random(6, 1, 2);
    scene.means[1] = [1e30, f32::MAX, -1e9];
    scene.log_scales[0] = [f32::NEG_INFINITY, 88.0, 0.0];
    scene.log_scales[2] = [-10.03, 5.96, 0.0];
    scene.opacity_logits[0] = f32::INFINITY;
    scene.opacity_logits[1] = f32::NEG_INFINITY;
    scene.rotations[2] = [1e-30, 0.0, 0.0, -1e-30];
    scene.rotations[3] = [0.0; 4];
    scene.rotations[4] = [f32::MAX, f32::MAX, 0.0, 0.0];
    scene.sh[0] = [1e30, -1e30, 0.0];
    scene.sh[5] = [f32::MAX, -1.0, 1.0];
    for version in [2, 3, 4] {
        let (file, notes) = round_trip(&scene, &options(version));
        let got = file.gaussians;
        assert_eq!((got.len(), file.dropped), (6, 0));
        assert_eq!(got.means[1], [8_388_607.0, 8_388_607.0, -8_388_607.0]);
        assert_eq!(got.log_scales[0], [-10.0, 5.9375, 0.0]);
        assert_eq!(got.log_scales[2], [-10.0, 5.9375, 0.0]);
        assert_eq!(got.opacity_logits[..2], [MAX_LOGIT, -MAX_LOGIT]);
        if version > 2 {
            rotation_within_rounding(got.rotations[2], scene.rotations[2], version);
            rotation_within_rounding(got.rotations[4], scene.rotations[4], version);
            assert_eq!(got.rotations[3], [1.0, 0.0, 0.0, 0.0]);
        }
        assert_eq!(
            notes,
            [
                "1 Gaussian has a mean further than 8388608 along an axis, which was clamped",
                "1 Gaussian has a log scale outside [-10, 5.94], which was clamped",
                "1 Gaussian has a base colour outside SPZ's range, which was clamped",
                "1 Gaussian has a coefficient outside [-1, 1], which was clamped",
            ]
        );
    }
}

#[test]
fn counts_at_the_edges_of_pieces() {
    for count in [0, 1, 257, scene::rows::PIECE + 5] {
        let scene = random(count, 1, 4);
        for version in [2, 3, 4] {
            let (file, _) = round_trip(&scene, &options(version));
            within_rounding(&file.gaussians, &scene, version, 12, [5, 4]);
        }
    }
}

#[test]
fn large_scenes_get_fewer_bits_behind_the_point() {
    let mut scene = random(50, 0, 8);
    scene.means[3] = [20_000.0, -3.0, 5.0];
    let (file, notes) = round_trip(&scene, &options(3));
    assert!(notes.is_empty(), "{notes:?}");
    within_rounding(&file.gaussians, &scene, 3, 8, [5, 4]);
}

#[test]
fn options_out_of_range_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.spz");
    let mut wrong_bits = options(3);
    wrong_bits.spz.sh_bits = [5, 9];
    for (options, says) in [
        (
            options(1),
            "SPZ version 1 is not written; write version 2, 3 or 4",
        ),
        (options(5), "SPZ version 5 is not written"),
        (wrong_bits, "coefficients of 9 bits; give 1 to 8"),
    ] {
        let error = scene::write(&path, &random(1, 0, 1), &options, &|_, _, _| ());
        let message = error.unwrap_err().to_string();
        assert!(
            message.contains(says) && !message.contains('\n'),
            "{message}"
        );
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Any bits of an f32 as parameters: no panic, and what is read is sound and as many.
    #[test]
    fn any_gaussians_are_written_and_read(
        bits in prop::collection::vec(any::<u32>(), 0..40 * 14),
        version in 2u32..=4,
    ) {
        let scene = of_bits(&bits, 0);
        let (file, _) = round_trip(&scene, &options(version));
        prop_assert_eq!((file.gaussians.len(), file.dropped), (scene.len(), 0));
    }
}
