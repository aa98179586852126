//! Real programs on real photos: the poses agree with those that the data brings along.

use crate::fake::Ear;
use crate::similarity::difference;
use splatcore_data::dataset::{Dataset, OpenOptions};
use splatcore_poses::{Job, find_poses};
use splatcore_test_support::shared;
use std::path::{Path, PathBuf};

/// Largest differences between the poses of two programs. Features of photos scaled to 400 pixels
/// are located to some pixels of 1416, which is a tenth of a degree, and another focal length and
/// lens move cameras by some per mille of the scene. A photo with a wrong pose is off by many
/// degrees, and by as much as its distance from the next one: a third.
const DEGREES: f64 = 1.0;
const SHARE: f64 = 0.02;
/// So many photos of the set are posed: more take long.
const PHOTOS: usize = 6;

fn agrees(job: &Job, given: &Path) {
    let outcome = find_poses(job, &mut Ear::default()).unwrap();
    let report = &outcome.report;
    assert_eq!(
        (report.registered, report.photos),
        (PHOTOS, PHOTOS),
        "{report:?}"
    );
    assert!(
        report.mean_error > 0.0 && report.mean_error < 1.5,
        "{report:?}"
    );
    let open = |path: &Path| Dataset::open(path, &OpenOptions::default()).unwrap();
    let found = difference(&open(&job.dataset), &open(given));
    eprintln!(
        "{}, {}: {found:?}, {:.2} px",
        outcome.program, outcome.mapper, report.mean_error
    );
    assert_eq!(found.photos, PHOTOS);
    assert!(
        found.rotation < DEGREES && found.position < SHARE,
        "{found:?}"
    );
}

fn on_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&folders)
        .map(|f| f.join(name))
        .find(|p| p.is_file());
    if found.is_none() {
        eprintln!("skipped: no program {name} on PATH");
    }
    found
}

fn sceaux(job: Job) {
    let Some(given) = shared("posed/sceaux") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let photos = folder.path().join("photos");
    std::fs::create_dir(&photos).unwrap();
    for i in 0..PHOTOS {
        let name = format!("100_710{i}.jpg");
        std::fs::copy(given.join("images").join(&name), photos.join(name)).unwrap();
    }
    let job = Job {
        input: photos,
        dataset: folder.path().join("posed"),
        max_size: Some(400),
        ..job
    };
    agrees(&job, &given);
}

#[test]
fn colmap_agrees_with_the_given_poses() {
    if let Some(colmap) = on_path("colmap") {
        sceaux(Job {
            colmap: Some(colmap),
            ..Job::default()
        });
    }
}

/// `SPLATCORE_PYCOLMAP` names a Python that has pycolmap.
#[test]
fn pycolmap_agrees_with_the_given_poses() {
    match std::env::var_os("SPLATCORE_PYCOLMAP") {
        Some(python) => sceaux(Job {
            python: Some(python.into()),
            ..Job::default()
        }),
        None => eprintln!("skipped: SPLATCORE_PYCOLMAP names no Python"),
    }
}
