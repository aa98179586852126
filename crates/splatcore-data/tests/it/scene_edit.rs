//! Edits of scenes, against what they mean: covariances and colours, rows and columns.

use crate::scene_hostile::peak_of;
use crate::scene_support::{names, plain_ply, random, shared, value};
use splatcore_core::camera::rotation_from_quaternion;
use splatcore_core::{Gaussians, sh};
use splatcore_data::scene::edit::{Merged, Moved, Selected, Similarity, WithDegree, matching};
use splatcore_data::scene::rows::whole;
use splatcore_data::scene::{self, ReadOptions, Rows, WriteOptions};
use std::path::Path;

/// A covariance, world units squared.
fn covariance(g: &Gaussians, i: usize) -> [[f64; 3]; 3] {
    let r = rotation_from_quaternion(g.rotations[i].map(f64::from)).unwrap();
    let squares = g.log_scales[i].map(|s| (2.0 * f64::from(s)).exp());
    std::array::from_fn(|a| {
        std::array::from_fn(|b| (0..3).map(|k| r[a][k] * squares[k] * r[b][k]).sum())
    })
}

/// The colour seen along a unit direction, before the clamp.
fn colour(g: &Gaussians, i: usize, d: [f64; 3]) -> [f64; 3] {
    let values = [&sh::basis(d)[..], &sh::basis_4(d)].concat();
    std::array::from_fn(|c| {
        let terms = g.sh_of(i).iter().zip(&values);
        terms.map(|(k, v)| f64::from(k[c]) * v).sum()
    })
}

#[test]
fn a_moved_scene_is_the_same_seen_from_the_moved_place() {
    for degree in 0..=4 {
        let before = random(40, degree, 7);
        let map = Similarity::rotation([1.0, -2.0, 0.5], 130.0)
            .then(&Similarity::scale(2.5))
            .then(&Similarity::translation([10.0, -3.0, 0.25]));
        let after = whole(&Moved::new(Box::new(before.clone()), map)).unwrap();
        let linear: [[f64; 3]; 3] = map.rotation.map(|row| row.map(|v| map.scale * v));
        for i in 0..before.len() {
            let want = map.point(before.means[i].map(f64::from));
            for c in 0..3 {
                assert!((f64::from(after.means[i][c]) - want[c]).abs() < 1e-5);
            }
            // M Σ Mᵀ.
            let (was, is) = (covariance(&before, i), covariance(&after, i));
            let size = is.iter().flatten().fold(0.0f64, |a, v| a.max(v.abs()));
            for a in 0..3 {
                for b in 0..3 {
                    let want: f64 = (0..9)
                        .map(|k| linear[a][k / 3] * was[k / 3][k % 3] * linear[b][k % 3])
                        .sum();
                    assert!((is[a][b] - want).abs() < 3e-6 * size, "{i}");
                }
            }
            let d = [0.48, -0.6, 0.64];
            let turned = map
                .rotation
                .map(|row| (0..3).map(|c| row[c] * d[c]).sum::<f64>());
            let (was, is) = (colour(&before, i, d), colour(&after, i, turned));
            for c in 0..3 {
                assert!((was[c] - is[c]).abs() < 2e-6, "degree {degree}");
            }
            assert_eq!(before.opacity_logits[i], after.opacity_logits[i]);
        }
    }
}

#[test]
fn selections_merges_and_degrees_keep_every_bit() {
    let (a, b) = (random(70_000, 1, 1), random(5, 2, 2));
    let order: Vec<u32> = (0..70_000).rev().step_by(3).collect();
    let selected = Selected::new(Box::new(a.clone()), order.clone());
    assert_eq!(whole(&selected).unwrap(), a.in_order(&order));

    let parts: Vec<Box<dyn Rows>> = vec![
        Box::new(selected),
        Box::new(Gaussians::empty(0)),
        Box::new(b.clone()),
    ];
    let merged = Merged::new(parts).unwrap();
    let mut want = a.in_order(&order).with_sh_degree(2);
    (0..b.len()).for_each(|i| want.push_from(&b, i));
    assert_eq!(whole(&merged).unwrap(), want);
    // Any order across the parts.
    let which = [23_335, 0, 23_334, 23_338, 1];
    let mut some = Gaussians::empty(2);
    merged.gather(&which, &mut some).unwrap();
    assert_eq!(some, want.in_order(&which));
    assert_eq!(
        whole(&WithDegree::new(Box::new(want.clone()), 0)).unwrap(),
        want.with_sh_degree(0)
    );
    let red = matching(&want, |g, i| g.sh_of(i)[0][0] > 0.1).unwrap();
    assert!(!red.is_empty() && red.len() < want.len());
    assert!(red.iter().all(|&i| want.sh_of(i as usize)[0][0] > 0.1));
}

#[test]
fn an_open_scene_has_the_rows_of_a_read_one() {
    let folder = tempfile::tempdir().unwrap();
    let mut g = random(5000, 2, 3);
    // Unsound rows first, last, and side by side.
    for i in [0, 7, 8, 9, 2500, 4999] {
        g.means[i][1] = f32::NAN;
    }
    let path = folder.path().join("a.ply");
    std::fs::write(&path, plain_ply(&g)).unwrap();
    let mut files = vec![path];
    if let Some(variants) = shared("formats/ply_variants") {
        let entries = std::fs::read_dir(variants).unwrap();
        files.extend(entries.map(|entry| entry.unwrap().path()));
    }
    for name in [
        "model.ply",
        "model.compressed.ply",
        "model.sog",
        "model.sog_dir",
    ] {
        files.extend(shared(&format!("formats/splat22k/{name}")));
    }
    for file in files {
        let read = scene::read(&file).unwrap();
        let open = scene::open(&file, &ReadOptions::default()).unwrap();
        assert_eq!(
            whole(&*open.rows).unwrap(),
            read.gaussians,
            "{}",
            file.display()
        );
        assert_eq!(
            (
                open.format,
                open.bytes,
                open.dropped,
                open.notes,
                open.antialiased
            ),
            (
                read.format,
                read.bytes,
                read.dropped,
                read.notes,
                read.antialiased
            ),
        );
    }
}

/// A PLY with two properties of its own between the usual ones, big-endian.
fn labelled(g: &Gaussians, labels: &[u8]) -> Vec<u8> {
    let names = names(g.sh_degree);
    let mut file = format!(
        "ply\nformat binary_big_endian 1.0\nelement vertex {}\nproperty uchar label\n",
        g.len()
    )
    .into_bytes();
    for name in &names {
        file.extend(format!("property float {name}\n").bytes());
    }
    file.extend(b"property double time\nend_header\n");
    for i in 0..g.len() {
        file.push(labels[i]);
        for name in &names {
            file.extend(value(g, i, name).to_be_bytes());
        }
        file.extend((i as f64 * 0.5).to_be_bytes());
    }
    file
}

fn write(path: &Path, rows: &dyn Rows, keep_extras: bool) -> Vec<u8> {
    let options = WriteOptions {
        keep_extras,
        ..WriteOptions::default()
    };
    scene::write(path, rows, &options, &|_, _, _| ()).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn properties_of_others_are_kept_if_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let mut g = random(300, 1, 4);
    g.rotations[10] = [0.0; 4];
    let labels: Vec<u8> = (0..300).map(|i| (i * 7) as u8).collect();
    std::fs::write(path("a.ply"), labelled(&g, &labels)).unwrap();
    let open = |name: &str| scene::open(&path(name), &ReadOptions::default()).unwrap();

    let plain = write(&path("b.ply"), &*open("a.ply").rows, false);
    let mut sound = g.clone();
    sound.drop_unsound();
    assert!(plain == write(&path("c.ply"), &sound, true));

    // Selected, merged with a scene that has none, written, opened again.
    let picked = Selected::new(open("a.ply").rows, vec![250, 9, 10]);
    let parts: Vec<Box<dyn Rows>> = vec![Box::new(random(2, 0, 5)), Box::new(picked)];
    write(&path("d.ply"), &Merged::new(parts).unwrap(), true);
    let rows = open("d.ply").rows;
    let named: Vec<&str> = rows.extras().iter().map(|extra| &*extra.name).collect();
    assert_eq!(named, ["label", "time"]);
    let mut values = Vec::new();
    rows.gather_extras(&[4, 0, 2, 3], &mut values).unwrap();
    let rows: Vec<(u8, f64)> = values
        .chunks(9)
        .map(|row| (row[0], f64::from_le_bytes(row[1..].try_into().unwrap())))
        .collect();
    // Row 10 of the file was left out: Gaussian 10 is row 11, Gaussian 250 row 251.
    let want = [
        (labels[11], 5.5),
        (0, 0.0),
        (labels[251], 125.5),
        (labels[9], 4.5),
    ];
    assert_eq!(rows, want);
}

/// 47 MB of Gaussians pass through two pieces of 16 MB and a list of what is kept.
#[test]
fn a_large_ply_is_edited_in_pieces() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("a.ply"), folder.path().join("b.ply"));
    let count = 200_000;
    std::fs::write(&from, plain_ply(&random(count, 3, 6))).unwrap();
    let (kept, peak) = peak_of(|| {
        let map = Similarity::rotation([0.0, 0.0, 1.0], 30.0);
        let moved = Moved::new(
            scene::open(&from, &ReadOptions::default()).unwrap().rows,
            map,
        );
        let order = matching(&moved, |g, i| g.means[i][0] > -20.0).unwrap();
        let rows = Selected::new(Box::new(moved), order);
        scene::write(&to, &rows, &WriteOptions::default(), &|_, _, _| ()).unwrap();
        rows.len()
    });
    assert!(peak < 24 << 20, "{peak} bytes");
    assert!(kept > count * 9 / 10 && kept < count);
    assert_eq!(scene::read(&to).unwrap().gaussians.len(), kept);
}
