//! Folders of frames: what is kept, and what is not.

use crate::support::{frame, read};
use image::codecs::png::PngEncoder;
use image::{ExtendedColorType, ImageEncoder};
use serde_json::json;
use splatcore_video::FrameFolder;
use std::path::Path;

const SIZE: [u32; 2] = [7, 5];
const SUFFIXES: [&str; 2] = [".png", "_alpha.png"];

fn write(path: &Path, index: u64) {
    let ([width, height], rgb) = (SIZE, ExtendedColorType::Rgb8);
    let encoder = PngEncoder::new(std::fs::File::create(path).unwrap());
    let written = encoder.write_image(&frame(index, SIZE), width, height, rgb);
    written.unwrap();
}

#[test]
fn frames_of_the_same_job_are_kept() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("frames");
    let open = |job: u32, frames| {
        FrameFolder::open(&path, &json!({"scene": job}), frames, &SUFFIXES).unwrap()
    };
    let first = open(1, 3);
    assert!(!first.has(0, &SUFFIXES));
    for suffix in SUFFIXES {
        write(&first.path(0, suffix), 0);
    }
    write(&first.path(1, ".png"), 1);
    let again = open(1, 3);
    assert!(again.has(0, &SUFFIXES));
    assert!(!again.has(1, &SUFFIXES), "one of its files is missing");
    let read = read(&again.path(0, ".png")).into_rgb8();
    assert_eq!(
        (read.dimensions(), read.into_raw()),
        ((7, 5), frame(0, SIZE))
    );

    // Another job's frames go, and what is not the program's stays.
    std::fs::write(path.join("notes.txt"), b"mine").unwrap();
    let other = open(2, 2);
    assert!(!other.has(0, &[".png"]) && !other.path(0, ".png").exists());
    assert!(!other.path(1, ".png").exists());
    assert!(path.join("notes.txt").is_file());
}

/// Pictures that no job recorded are neither replaced nor taken for frames.
#[test]
fn a_folder_of_other_pictures_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let picture = folder.path().join("000002.png");
    std::fs::write(&picture, b"a photo").unwrap();
    let open = || FrameFolder::open(folder.path(), &json!(1), 3, &SUFFIXES);
    let line = open().unwrap_err().to_string();
    assert!(
        line.contains("frame 2") && line.contains("another folder"),
        "{line}"
    );
    assert_eq!(std::fs::read(&picture).unwrap(), b"a photo");
    std::fs::remove_file(&picture).unwrap();
    assert!(!open().unwrap().has(2, &[".png"]));
}

/// Another job's files go, those with endings that the new job has not, too.
#[test]
fn files_of_all_endings_of_another_job_go() {
    let folder = tempfile::tempdir().unwrap();
    let open = |job: u32, suffixes: &[&str]| {
        FrameFolder::open(folder.path(), &json!(job), 2, suffixes).unwrap()
    };
    let first = open(1, &SUFFIXES);
    write(&first.path(1, "_alpha.png"), 1);
    let second = open(2, &[".png"]);
    assert!(!second.path(1, "_alpha.png").exists());
}
