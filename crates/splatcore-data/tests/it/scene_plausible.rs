//! What hardly is a scene is said, with its cause, by whatever reads it.

use splatcore_core::Gaussians;
use splatcore_data::scene::{self, ReadOptions, write_ply};
use std::path::Path;

fn notes(path: &Path) -> Vec<String> {
    let read = scene::read(path).unwrap();
    // A scene that stays in its file says the same.
    let open = scene::open(path, &ReadOptions::default()).unwrap();
    assert_eq!((read.dropped, &read.notes), (open.dropped, &open.notes));
    let info = scene::info(path).unwrap();
    assert_eq!(read.notes, info.notes);
    read.notes
}

/// Five sound Gaussians, changed.
fn written(folder: &Path, change: impl Fn(&mut Gaussians)) -> Vec<String> {
    let mut scene = Gaussians::zeros(5, 0);
    for i in 0..scene.len() {
        scene.means[i] = [i as f32, 0.0, 1.0];
        scene.rotations[i] = [1.0, 0.0, 0.0, 0.0];
    }
    change(&mut scene);
    let path = folder.join("scene.ply");
    write_ply(&path, &scene, false).unwrap();
    notes(&path)
}

#[test]
fn a_splat_file_of_zeros_is_called_by_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zeros.splat");
    std::fs::write(&path, [0; 320]).unwrap();
    let notes = notes(&path);
    for words in [
        "all 10 Gaussians are at one place, (0, 0, 0)",
        "opacity",
        "size 0",
    ] {
        assert!(
            notes.iter().any(|note| note.contains(words)),
            "{words}: {notes:?}"
        );
    }
}

#[test]
fn what_is_unsound_is_said_by_parameter() {
    let folder = tempfile::tempdir().unwrap();
    let transparent = written(folder.path(), |scene| {
        scene.opacity_logits.fill(f32::NEG_INFINITY);
    });
    let [cause, empty] = &transparent[..] else {
        panic!("{transparent:?}")
    };
    assert!(
        cause.contains("opacity of 5") && !cause.contains("scale"),
        "{cause}"
    );
    assert_contains!(empty, "no Gaussian is left");
    let some = written(folder.path(), |scene| {
        scene.means[1][0] = f32::NAN;
        scene.rotations[2] = [0.0; 4];
    });
    let [cause] = &some[..] else {
        panic!("{some:?}")
    };
    assert_contains!(cause, "position of 1, rotation of 1");
}

#[test]
fn what_nobody_can_see_is_said() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(written(folder.path(), |_| ()), [""; 0]);
    let one = |change: fn(&mut Gaussians), words: &str| {
        let notes = written(folder.path(), change);
        let [note] = &notes[..] else {
            panic!("{words}: {notes:?}")
        };
        assert_contains!(note, words);
    };
    one(
        |scene| scene.opacity_logits.fill(-9.0),
        "opacity of all 5 Gaussians is below 1/255",
    );
    one(
        |scene| scene.log_scales.fill([-87.3; 3]),
        "all 5 Gaussians have size 0",
    );
    one(
        |scene| scene.log_scales[3][1] = 1e30f32.ln(),
        "1 of 5 Gaussians are larger than 1e9",
    );
    one(
        |scene| scene.means[0][2] = 1e30,
        "1 of 5 Gaussians are farther than 1e9",
    );
    one(
        |scene| scene.means.fill([7.0, 0.5, 0.0]),
        "at one place, (7, 0.5, 0)",
    );
}
