//! SOG out.

use crate::scene_support::{names_in, random, shared};
use splatcore_core::Gaussians;
use splatcore_core::gaussians::sigmoid;
use splatcore_data::scene::{self, ReadOptions, SceneFile, WriteOptions, Written, morton_order};
use std::path::{Path, PathBuf};
use std::process::Command;

fn write(path: &Path, scene: &Gaussians) -> Written {
    scene::write(path, scene, &WriteOptions::default(), &|_, _, _| ()).unwrap()
}

/// Coefficients above degree 0.
fn higher(g: &Gaussians) -> Vec<f32> {
    let rows = (0..g.len()).map(|i| g.sh_of(i)[1..].as_flattened());
    rows.flatten().copied().collect()
}

/// Writes and reads back; and the Gaussians that were written, in the file's order.
fn round_trip(scene: &Gaussians, name: &str) -> (SceneFile, Gaussians, Written) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let written = write(&path, scene);
    let back = scene::read(&path).unwrap();
    assert_eq!(back.bytes, written.bytes);
    (back, scene.in_order(&morton_order(scene).unwrap()), written)
}

fn range(values: impl Iterator<Item = f32>) -> f64 {
    let bounds = values.fold((f32::MAX, f32::MIN), |b, v| (b.0.min(v), b.1.max(v)));
    (f64::from(bounds.1) - f64::from(bounds.0)).max(0.0)
}

fn rms(pairs: impl Iterator<Item = (f32, f32)>) -> f64 {
    let (mut sum, mut count) = (0.0, 0);
    for (a, b) in pairs {
        sum += f64::from(a - b).powi(2);
        count += 1;
    }
    (sum / f64::from(count.max(1))).sqrt()
}

fn log(x: f32) -> f64 {
    let x = f64::from(x);
    x.abs().ln_1p().copysign(x)
}

/// Compares with the format's precision. No optimal codebook is worse than 256 cells of equal
/// width, whose largest error is a 512th of the range.
fn within_bounds(got: &Gaussians, want: &Gaussians) {
    assert_eq!((got.len(), got.sh_degree), (want.len(), want.sh_degree));
    let means = |i: usize| want.means.iter().map(move |m| m[i]);
    for c in 0..3 {
        let logs = means(c).map(log);
        let (low, high) = logs.fold((f64::MAX, f64::MIN), |b, v| (b.0.min(v), b.1.max(v)));
        let step = (high - low) / 65535.0;
        for (a, b) in got.means.iter().zip(&want.means) {
            let off = (log(a[c]) - log(b[c])).abs();
            assert!(
                off <= 0.5 * step + 1e-6 * log(b[c]).abs().max(1.0),
                "{a:?} {b:?}"
            );
        }
    }
    for i in 0..want.len() {
        let alphas = [got, want].map(|g| sigmoid(g.opacity_logits[i]));
        assert!(
            (alphas[0] - alphas[1]).abs() <= 0.5 / 255.0 + 1e-6,
            "{alphas:?}"
        );
        let unit = |q: [f32; 4]| {
            let length = q.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>().sqrt();
            q.map(|v| f64::from(v) / length)
        };
        let (a, b) = (unit(got.rotations[i]), unit(want.rotations[i]));
        let sign = (0..4).map(|c| a[c] * b[c]).sum::<f64>().signum();
        let largest = (0..4)
            .max_by(|&i, &j| b[i].abs().total_cmp(&b[j].abs()))
            .unwrap();
        for c in (0..4).filter(|&c| c != largest) {
            let off = (a[c] - sign * b[c]).abs();
            assert!(off <= 0.5 / (127.5 * 2f64.sqrt()) + 1e-6, "{a:?} {b:?}");
        }
    }
    let scales = |g: &Gaussians| g.log_scales.as_flattened().to_vec();
    let off = rms(scales(got).into_iter().zip(scales(want)));
    assert!(
        off <= range(scales(want).into_iter()) / 512.0 + 1e-6,
        "{off}"
    );
    let colours =
        |g: &Gaussians| -> Vec<f32> { (0..g.len()).flat_map(|i| g.sh_of(i)[0]).collect() };
    let off = rms(colours(got).into_iter().zip(colours(want)));
    assert!(
        off <= range(colours(want).into_iter()) / 512.0 + 1e-6,
        "{off}"
    );
}

/// Up to 1,024 Gaussians the palette has an entry for each, so only the codebook rounds.
#[test]
fn scenes_come_back_within_the_format_s_precision() {
    for (degree, count) in [(0, 500), (1, 1024), (2, 700), (3, 1000)] {
        let scene = random(count, degree, 7);
        for name in ["a.sog", "meta.json", "new/deep/meta.json"] {
            let (back, want, written) = round_trip(&scene, name);
            assert_eq!(
                (written.notes.len(), back.notes.len(), back.dropped),
                (0, 0, 0)
            );
            assert!(!back.antialiased);
            within_bounds(&back.gaussians, &want);
            let off = rms(higher(&back.gaussians).into_iter().zip(higher(&want)));
            assert!(
                off <= range(higher(&want).into_iter()) / 512.0,
                "{degree}: {off}"
            );
        }
    }
}

#[test]
fn antialiasing_is_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sog");
    let options = WriteOptions {
        antialiased: true,
        ..WriteOptions::default()
    };
    scene::write(&path, &random(9, 1, 1), &options, &|_, _, _| ()).unwrap();
    assert!(scene::read(&path).unwrap().antialiased);
}

#[test]
fn counts_at_the_edges_are_written() {
    for count in [0, 1, 2, 15, 16, 17, 255, 256, 65_537] {
        let (back, want, _) = round_trip(&random(count, 0, 3), "a.sog");
        within_bounds(&back.gaussians, &want);
    }
    for count in [0, 1, 1025, 4097] {
        let (back, want, _) = round_trip(&random(count, 1, 3), "meta.json");
        // Without Gaussians there is no palette that could tell the degree.
        let want = want.with_sh_degree(if count == 0 { 0 } else { 1 });
        within_bounds(&back.gaussians, &want);
    }
}

#[test]
fn equal_and_extreme_values_are_written() {
    let mut equal = Gaussians::empty(3);
    let one = random(1, 3, 8);
    (0..3000).for_each(|_| equal.push_from(&one, 0));
    let (back, want, _) = round_trip(&equal, "a.sog");
    within_bounds(&back.gaussians, &want);
    for i in 0..3000 {
        for (a, b) in back.gaussians.sh_of(i).iter().zip(want.sh_of(i)) {
            (0..3).for_each(|c| assert!((a[c] - b[c]).abs() < 1e-6));
        }
    }

    let mut scene = random(2000, 1, 8);
    scene.means[3] = [f32::MAX, f32::MIN, 0.0];
    scene.means[4] = [1e-30, -1e-30, f32::MIN_POSITIVE];
    scene.log_scales[5] = [f32::MAX, f32::MIN, -0.0];
    scene.rotations[6] = [f32::MAX, f32::MAX, f32::MIN, f32::MAX];
    scene.rotations[7] = [1e-40, 0.0, -1e-40, 0.0];
    scene.opacity_logits[8] = f32::MAX;
    scene.opacity_logits[9] = f32::MIN;
    scene.sh[40] = [f32::MAX, f32::MIN, 1e30];
    scene.sh[41] = [f32::MAX, f32::MIN, 1e30];
    let (back, want, written) = round_trip(&scene, "a.sog");
    assert_eq!((back.gaussians.len(), written.notes.len()), (2000, 0));
    let at = |mean: [f32; 3]| want.means.iter().position(|m| *m == mean).unwrap();
    let turned = back.gaussians.rotations[at(scene.means[6])];
    // Three are off by 1/(255 √2) at most, the fourth, as large as they are, by three times that.
    turned
        .iter()
        .for_each(|v| assert!((v.abs() - 0.5).abs() < 0.0084, "{turned:?}"));
    let turned = back.gaussians.rotations[at(scene.means[7])];
    assert!(
        (turned[0] + turned[2]).abs() < 0.004 && turned[0].abs() > 0.7,
        "{turned:?}"
    );
}

#[test]
fn what_the_format_cannot_hold_is_noted() {
    let mut scene = random(300, 4, 8);
    scene.means[3][1] = f32::NAN;
    scene.sh[25 * 4 + 7][2] = f32::INFINITY;
    scene.opacity_logits[5] = f32::INFINITY;
    let (back, want, written) = round_trip(&scene, "a.sog");
    let [unsound, degree] = &written.notes[..] else {
        panic!("{:?}", written.notes);
    };
    assert!(
        unsound.starts_with("2 Gaussians with values that are not finite"),
        "{unsound}"
    );
    assert_contains!(degree, "degree 4 are cut to 3");
    let g = back.gaussians;
    assert_eq!((g.len(), g.sh_degree), (300, 3));
    let visible = |i: usize| sigmoid(g.opacity_logits[i]) > 1e-4;
    for i in 0..300 {
        let sound = want.means[i].iter().all(|v| v.is_finite())
            && want.sh_of(i).as_flattened().iter().all(|v| v.is_finite());
        assert!(sound || !visible(i));
    }
    let solid = want
        .opacity_logits
        .iter()
        .position(|o| o.is_infinite())
        .unwrap();
    assert!(sigmoid(g.opacity_logits[solid]) > 0.999);
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let scene = random(6000, 2, 5);
    let folder = tempfile::tempdir().unwrap();
    let bytes = [1, 4].map(|threads| {
        let path = folder.path().join(format!("{threads}.sog"));
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        pool.install(|| write(&path, &scene));
        std::fs::read(path).unwrap()
    });
    assert!(bytes[0] == bytes[1]);
}

#[test]
fn a_folder_keeps_what_is_not_the_scene_s() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("meta.json");
    std::fs::write(folder.path().join("notes.txt"), "mine").unwrap();
    write(&path, &random(50, 2, 5));
    write(&path, &random(40, 0, 6));
    let names = names_in(folder.path());
    let images = ["means_l", "means_u", "quats", "scales", "sh0"];
    let mut want: Vec<String> = images.iter().map(|name| format!("{name}.webp")).collect();
    want.insert(2, "meta.json".into());
    want.insert(3, "notes.txt".into());
    assert_eq!(names, want);
    assert_eq!(scene::read(&path).unwrap().gaussians.len(), 40);
    // A file where the folder should be.
    let error = scene::write(
        &folder.path().join("notes.txt/meta.json"),
        &random(4, 0, 6),
        &WriteOptions::default(),
        &|_, _, _| (),
    );
    assert!(error.unwrap_err().to_string().contains("cannot be written"));
    assert_eq!(
        std::fs::read(folder.path().join("notes.txt")).unwrap(),
        b"mine"
    );
}

/// splat-transform's own file of the same scene has 0.0005 (shared/data's README).
#[test]
fn the_palette_of_a_real_scene_is_no_worse_than_a_peer_s() {
    let Some(path) = shared("formats/splat22k/model.ply") else {
        return;
    };
    let scene = scene::read(&path).unwrap().gaussians;
    let (back, want, _) = round_trip(&scene, "a.sog");
    within_bounds(&back.gaussians, &want);
    let off = rms(higher(&back.gaussians).into_iter().zip(higher(&want)));
    assert!(off < 0.0005, "{off}");
}

/// PlayCanvas's program, named by $SPLAT_TRANSFORM: an executable, or its cli.mjs.
fn splat_transform(from: &Path, to: &Path) -> bool {
    let Some(program) = std::env::var_os("SPLAT_TRANSFORM").map(PathBuf::from) else {
        eprintln!("skipped: splat-transform not found; name it in SPLAT_TRANSFORM");
        return false;
    };
    let mut command = match program.extension().is_some_and(|e| e == "mjs") {
        true => {
            let mut node = Command::new("node");
            node.arg(program);
            node
        }
        false => Command::new(program),
    };
    let status = command.arg("-w").arg(from).arg(to).output().unwrap();
    assert!(
        status.status.success(),
        "{}",
        String::from_utf8_lossy(&status.stderr)
    );
    true
}

#[test]
fn splat_transform_reads_what_is_written_here() {
    let scene = random(2000, 3, 4);
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.sog", "b/meta.json"] {
        let (path, ply) = (folder.path().join(name), folder.path().join("peer.ply"));
        write(&path, &scene);
        if !splat_transform(&path, &ply) {
            return;
        }
        let peer = scene::read_with(&ply, &ReadOptions::default())
            .unwrap()
            .gaussians;
        let ours = scene::read(&path).unwrap().gaussians;
        assert_eq!((peer.len(), peer.sh_degree), (ours.len(), ours.sh_degree));
        let all = |g: &Gaussians| -> Vec<f32> {
            let mut values = g.means.as_flattened().to_vec();
            values.extend(g.log_scales.as_flattened());
            values.extend(g.sh.as_flattened());
            values
        };
        for (a, b) in all(&peer).into_iter().zip(all(&ours)) {
            assert!((a - b).abs() <= 1e-5 * b.abs().max(1.0), "{a} {b}");
        }
    }
}

/// A smaller palette has as many different rows of harmonics at most, in a smaller file, and leaves
/// all else as it was.
#[test]
fn the_palette_has_no_more_entries_than_asked_for() {
    let scene = random(5000, 3, 11);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sog");
    let write = |palette: u32| {
        let options = with_palette(palette, None);
        let written = scene::write(&path, &scene, &options, &|_, _, _| ()).unwrap();
        let back = scene::read(&path).unwrap().gaussians;
        let bits = |i: usize| -> Vec<u32> {
            let rest = back.sh_of(i)[1..].as_flattened();
            rest.iter().map(|v| v.to_bits()).collect()
        };
        let mut rows: Vec<Vec<u32>> = (0..back.len()).map(bits).collect();
        rows.sort_unstable();
        rows.dedup();
        (written.bytes, rows.len(), back)
    };
    let (whole, few, one) = (write(1 << 16), write(100), write(1));
    assert!(whole.1 > 3000 && few.1 <= 100 && few.1 > 50 && one.1 == 1);
    assert!(
        one.0 < few.0 && few.0 < whole.0 / 2,
        "{} {}",
        few.0,
        whole.0
    );
    assert_eq!(
        (&few.2.means, &few.2.rotations),
        (&whole.2.means, &whole.2.rotations)
    );
    let base = |scene: &Gaussians| (0..5000).map(|i| scene.sh_of(i)[0]).collect::<Vec<_>>();
    assert_eq!(base(&few.2), base(&whole.2));
}

fn with_palette(palette: u32, weights: Option<Vec<f32>>) -> WriteOptions {
    WriteOptions {
        weights,
        sog: scene::SogOptions {
            palette,
            ..scene::SogOptions::default()
        },
        ..WriteOptions::default()
    }
}

/// What training leaves alone after it was rounded is not rounded again: few different rows of
/// harmonics are entries of the palette as they are, whatever the sample of a clustering would be.
#[test]
fn a_file_that_is_written_again_keeps_what_was_rounded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sog");
    let options = with_palette(300, None);
    let again = |scene: &Gaussians| {
        scene::write(&path, scene, &options, &|_, _, _| ()).unwrap();
        scene::read(&path).unwrap().gaussians
    };
    let mut first = again(&random(6000, 2, 12));
    // What goes on learning.
    first
        .opacity_logits
        .iter_mut()
        .for_each(|logit| *logit += 0.1);
    let second = again(&first);
    let sorted = |scene: &Gaussians| {
        let row = |i: usize| {
            let harmonics = scene.sh_of(i)[1..].as_flattened();
            let values = harmonics.iter().chain(&scene.log_scales[i]);
            values.copied().map(f32::to_bits).collect::<Vec<_>>()
        };
        let mut rows: Vec<_> = (0..scene.len()).map(row).collect();
        rows.sort_unstable();
        rows
    };
    assert_eq!(sorted(&first), sorted(&second));
}

#[test]
fn the_scenes_order_is_kept_on_request() {
    let scene = random(3000, 1, 17);
    let options = WriteOptions {
        keep_order: true,
        ..WriteOptions::default()
    };
    let folder = tempfile::tempdir().unwrap();
    for name in ["a.sog", "meta.json"] {
        let path = folder.path().join(name);
        scene::write(&path, &scene, &options, &|_, _, _| ()).unwrap();
        let back = scene::read(&path).unwrap().gaussians;
        for (old, new) in scene.means.iter().zip(&back.means) {
            assert!(
                (0..3).all(|i| (old[i] - new[i]).abs() < 0.01),
                "{old:?} {new:?}"
            );
        }
    }
}

/// The square error of the harmonics of some Gaussians, of which the file has a palette of 200.
fn error_of(scene: &Gaussians, chosen: &dyn Fn(usize) -> bool, weights: Option<Vec<f32>>) -> f64 {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.sog");
    scene::write(&path, scene, &with_palette(200, weights), &|_, _, _| ()).unwrap();
    let back = scene::read(&path).unwrap().gaussians;
    // In Morton order a file's row is not the scene's.
    let order = scene::morton_order(scene).unwrap();
    let rows = order.iter().map(|&from| from as usize).enumerate();
    rows.filter(|&(_, from)| chosen(from))
        .map(|(to, from)| {
            let [old, new] = [scene.sh_of(from), back.sh_of(to)].map(|row| row[1..].as_flattened());
            let differences = old.iter().zip(new).map(|(a, b)| f64::from(a - b).powi(2));
            differences.sum::<f64>()
        })
        .sum()
}

/// Weights move the palette and the codebooks to what matters.
#[test]
fn what_weighs_more_is_rounded_less() {
    let scene = random(6000, 2, 13);
    let heavy = |i: usize| scene.means[i][0] > 0.0;
    let weights = (0..scene.len()).map(|i| if heavy(i) { 100.0 } else { 1.0 });
    let weighted = error_of(&scene, &heavy, Some(weights.collect()));
    let even = error_of(&scene, &heavy, Some(vec![1.0; scene.len()]));
    assert!(weighted < 0.98 * even, "{weighted} {even}");
}

/// Without weights, harmonics of large and opaque Gaussians are.
#[test]
fn what_is_large_and_opaque_is_rounded_less() {
    let mut scene = random(6000, 2, 14);
    for i in 0..scene.len() {
        let (logit, log_scale) = if i.is_multiple_of(2) {
            (4.0, -1.0)
        } else {
            (-3.0, -6.0)
        };
        scene.opacity_logits[i] = logit;
        scene.log_scales[i] = [log_scale, log_scale, -9.0];
    }
    let large = |i: usize| i.is_multiple_of(2);
    let by_itself = error_of(&scene, &large, None);
    let even = error_of(&scene, &large, Some(vec![1.0; scene.len()]));
    assert!(by_itself < 0.98 * even, "{by_itself} {even}");
}
