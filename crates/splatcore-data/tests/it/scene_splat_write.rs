//! antimatter15's .splat out.

use crate::scene_support::{normalised, random, shared_all, write_rows, written};
use proptest::prelude::*;
use splatcore_core::gaussians::sigmoid;
use splatcore_core::{Gaussians, sh};
use splatcore_data::scene::{self, WriteOptions, rows::PIECE};
use std::collections::HashMap;

const NAME: &str = "scene.splat";

fn in_scene_order() -> WriteOptions {
    WriteOptions {
        keep_order: true,
        ..WriteOptions::default()
    }
}

fn importance(scene: &Gaussians, i: usize) -> f64 {
    let volume: f64 = scene.log_scales[i].map(f64::from).iter().sum();
    volume.exp() / (1.0 + (-f64::from(scene.opacity_logits[i])).exp())
}

/// The Gaussians in the order of a file, which must hold each once, with the largest volume times
/// opacity first (but for what is equal to an f32's precision).
fn in_order_of(file: &[u8], scene: &Gaussians) -> Gaussians {
    let places = scene.means.iter().map(|m| m.map(f32::to_le_bytes).concat());
    let places: HashMap<Vec<u8>, u32> = places.zip(0..).collect();
    let rows = file.as_chunks::<32>().0.iter();
    let order: Vec<u32> = rows.map(|row| places[&row[..12]]).collect();
    let mut all = order.clone();
    all.sort_unstable();
    assert!(all.into_iter().eq(0..scene.len() as u32));
    let importance = |i: &u32| importance(scene, *i as usize);
    assert!(order.is_sorted_by(|a, b| importance(a) >= importance(b) * (1.0 - 1e-5)));
    scene.in_order(&order)
}

/// A row of the file against a Gaussian: floats kept, bytes to the nearest.
fn within_rounding(file: &[u8], scene: &Gaussians) {
    let (rows, rest) = file.as_chunks::<32>();
    assert_eq!((rows.len(), rest.len()), (scene.len(), 0));
    for (i, row) in rows.iter().enumerate() {
        let float = |at: usize| f32::from_le_bytes(row[4 * at..4 * at + 4].try_into().unwrap());
        for c in 0..3 {
            assert_eq!(float(c), scene.means[i][c]);
            assert_eq!(float(3 + c), scene.log_scales[i][c].exp());
            let colour = f64::from(scene.sh_of(i)[0][c]) * sh::C0 + 0.5;
            let byte = f64::from(row[24 + c]);
            assert!((byte - 255.0 * colour.clamp(0.0, 1.0)).abs() <= 0.5 + 1e-4);
        }
        let alpha = 255.0 * sigmoid(scene.opacity_logits[i]);
        assert!((f32::from(row[27]) - alpha).abs() <= 0.5 + 1e-4);
        for (byte, q) in row[28..].iter().zip(normalised(scene.rotations[i])) {
            let error = (f64::from(*byte) - 128.0 * q - 128.0).abs();
            // 256 does not fit into a byte.
            assert!(error <= if *byte == 255 { 1.0 } else { 0.5 + 1e-9 });
        }
    }
}

#[test]
fn rows_hold_the_nearest_bytes() {
    for degree in 0..=4 {
        for count in [1, 257, PIECE + 3] {
            if degree > 1 && count > 257 {
                continue;
            }
            let scene = random(count, degree, 31);
            let (bytes, notes) = write_rows(NAME, &scene, &in_scene_order());
            within_rounding(&bytes, &scene);
            let cut = format!("spherical harmonics of degree {degree} are cut to 0");
            assert_eq!(notes.contains(&cut), degree > 0);
            let (bytes, _) = write_rows(NAME, &scene, &WriteOptions::default());
            within_rounding(&bytes, &in_order_of(&bytes, &scene));
        }
    }
}

/// Through our reader, which takes rotations as splat-transform does (bytes over [-1, 1], so the
/// middle is 127.5): a component may be off by a step before it is normalised.
#[test]
fn what_is_written_is_read() {
    let mut scene = random(500, 0, 32);
    // Colours inside [0, 1].
    scene
        .sh
        .iter_mut()
        .flatten()
        .for_each(|v| *v = v.clamp(-1.7, 1.7));
    let (file, notes) = written(NAME, &scene, &in_scene_order());
    assert!(notes.is_empty(), "{notes:?}");
    let got = file.gaussians;
    assert_eq!(
        (got.len(), file.dropped, got.means == scene.means),
        (500, 0, true)
    );
    for i in 0..500 {
        for c in 0..3 {
            assert!((got.log_scales[i][c] - scene.log_scales[i][c]).abs() < 1e-6);
            let error = (got.sh[i][c] - scene.sh[i][c]).abs();
            assert!(f64::from(error) <= 0.5 / 255.0 / sh::C0 + 1e-5);
        }
        let dot: f64 = (0..4)
            .map(|c| f64::from(got.rotations[i][c]) * normalised(scene.rotations[i])[c])
            .sum();
        // Four errors of 1/128 are a chord of 2/128.
        assert!(2.0 * dot.abs().min(1.0).acos() <= 4.0 * (1.0f64 / 128.0).asin());
    }
}

/// The original converter's file of the same model. It cuts what we round, so its bytes are ours or
/// one less; near-equal Gaussians have another order, because it sorts by products, we by
/// logarithms, both f32.
#[test]
fn rows_are_those_of_the_original_converter() {
    let Some([model, path]) =
        shared_all(["formats/splat22k/model.ply", "formats/splat22k/model.splat"])
    else {
        return;
    };
    let model = scene::read(&model).unwrap().gaussians;
    let theirs = std::fs::read(path).unwrap();
    let ours = write_rows(NAME, &model, &WriteOptions::default()).0;
    let [our_order, their_order] = [&ours, &theirs].map(|file| in_order_of(file, &model));
    let (ours, theirs) = (ours.as_chunks::<32>().0, theirs.as_chunks::<32>().0);
    for (i, (a, b)) in ours.iter().zip(theirs).enumerate() {
        if a[..12] != b[..12] {
            let ratio = importance(&our_order, i) / importance(&their_order, i);
            assert!((ratio - 1.0).abs() < 1e-5, "{i}: {ratio}");
            continue;
        }
        for at in [12, 16, 20] {
            let scale = |row: &[u8]| f32::from_le_bytes(row[at..at + 4].try_into().unwrap());
            assert!((scale(a) / scale(b) - 1.0).abs() <= 2.0 * f32::EPSILON);
        }
        for at in 24..32 {
            assert!(
                (0..=1).contains(&(i16::from(a[at]) - i16::from(b[at]))),
                "{a:?} {b:?}"
            );
        }
    }
}

#[test]
fn extremes_stay_readable() {
    let mut scene = random(20, 0, 33);
    scene.log_scales[0] = [f32::NEG_INFINITY, -200.0, 15.0];
    scene.opacity_logits[0] = f32::INFINITY;
    scene.opacity_logits[1] = f32::NEG_INFINITY;
    scene.rotations[2] = [1e-30, 0.0, 0.0, -1e-30];
    scene.rotations[3] = [0.0; 4];
    scene.sh[4] = [1e30, -3.0, 0.0];
    let (file, notes) = written(NAME, &scene, &in_scene_order());
    let got = file.gaussians;
    assert_eq!((got.len(), file.dropped), (20, 0));
    let smallest = f32::MIN_POSITIVE.ln();
    assert_eq!(got.log_scales[0], [smallest, smallest, 15.0]);
    assert_eq!(got.opacity_logits[..2], [16.0, -16.0]);
    assert!((got.rotations[2][0] + got.rotations[2][3]).abs() < 0.02);
    assert!(got.rotations[3][0] > 0.999);
    assert_eq!(
        notes,
        ["1 Gaussian has a colour outside [0, 1], which was clamped"]
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(NAME);
    let none = (Gaussians::empty(0), WriteOptions::default());
    let error = scene::write(&path, &none.0, &none.1, &|_, _, _| ()).unwrap_err();
    assert_contains!(error, "would hold no Gaussians");
    assert!(!path.exists());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Finite parameters of sizes that the reader takes for a scene's.
    #[test]
    fn any_gaussians_are_written_and_read(
        rows in prop::collection::vec(
            (
                prop::array::uniform3(-1e8f32..1e8),
                prop::array::uniform3(-200f32..20.0),
                prop::array::uniform4(any::<f32>()),
                any::<f32>(),
                prop::array::uniform3(any::<f32>()),
            ),
            1..40,
        ),
    ) {
        let mut scene = Gaussians::empty(0);
        for (mean, log_scales, rotation, logit, sh) in rows {
            scene.means.push(mean);
            scene.log_scales.push(log_scales);
            scene.rotations.push(rotation);
            scene.opacity_logits.push(logit);
            scene.sh.push(sh);
        }
        let (file, _) = written(NAME, &scene, &WriteOptions::default());
        prop_assert_eq!((file.gaussians.len(), file.dropped), (scene.len(), 0));
    }
}
