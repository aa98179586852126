//! Which format is read where there are several; what the book says of them; hostile files of all.

use crate::dataset_bundler;
use crate::dataset_support::{edited, edits, npy_file, open, open_error, pattern, save};
use crate::{dataset_metashape, dataset_phones, dataset_realityscan};
use proptest::prelude::*;
use splatcore_data::dataset::{
    Dataset, Format, OpenOptions, arkit, bundler, llff, metashape, npy, polycam, realityscan,
    record3d,
};
use std::path::Path;

#[test]
fn the_first_of_several_datasets_is_read_and_the_others_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    save(pattern(64, 48), &root.join("a.png"));
    let row = vec![0u8; 17 * 8];
    let poses = npy_file(1, "<f8", false, "(1, 17)", &row);
    std::fs::write(root.join("poses_bounds.npy"), poses).unwrap();
    assert_contains!(open_error(root), "no image with a usable camera");
    let header = "#name,x,y,alt,heading,pitch,roll,f\n";
    std::fs::write(
        root.join("c.csv"),
        format!("{header}a.png,0,0,0,0,90,0,30\n"),
    )
    .unwrap();
    let dataset = open(root);
    assert_eq!(dataset.format, Format::RealityScan);
    assert_eq!(dataset.others, ["llff (poses_bounds.npy)"]);
    std::fs::write(root.join("m.xml"), dataset_metashape::small()).unwrap();
    let dataset = open(root);
    assert_eq!(dataset.format, Format::Metashape);
    assert_eq!(
        dataset.info().others,
        ["realityscan (c.csv)", "llff (poses_bounds.npy)"]
    );
    let frame = r#"{"file_path": "a.png", "transform_matrix": [[1,0,0,0],[0,1,0,0],[0,0,1,4]]}"#;
    let text = format!("{{\"fl_x\": 50, \"frames\": [{frame}]}}");
    std::fs::write(root.join("transforms.json"), text).unwrap();
    assert_eq!(open(root).format, Format::Transforms);
    // A file that is named is read, whatever lies beside it.
    let file = Dataset::open(&root.join("m.xml"), &OpenOptions::default()).unwrap();
    assert_eq!((file.format, file.others.len()), (Format::Metashape, 0));
}

/// The table in the book is written by [`Format::table`].
#[test]
fn the_book_lists_the_formats_that_are_read() {
    let page = Path::new("../../docs/guide/files.md");
    let Ok(text) = std::fs::read_to_string(page) else {
        println!("skipped: {} not found", page.display());
        return;
    };
    let table = Format::table();
    assert!(
        text.contains(&format!("\n\n{table}\n")),
        "docs/guide/files.md must hold this table:\n\n{table}"
    );
}

/// Feeds one input to every parser of these formats that takes bytes.
fn parse_everything(bytes: &[u8]) {
    let path = Path::new("hostile");
    let errors = [
        bundler::parse(bytes, path).err(),
        bundler::parse_list(bytes, path).err(),
        npy::parse(bytes, path).err(),
        llff::parse(bytes, path).err(),
        metashape::parse(bytes, path).err(),
        realityscan::parse(bytes, path).err(),
        polycam::parse(bytes, path).err(),
        record3d::parse(bytes, path).err(),
        arkit::parse(bytes, path).err(),
    ];
    for error in errors.into_iter().flatten() {
        let line = error.to_string();
        let one_line = !line.contains(char::is_control) && line.len() < 1000;
        assert!(one_line, "{line:?}");
    }
    if let Ok(camera) = polycam::parse(bytes, path) {
        let _ = camera.camera();
    }
    if let Ok(frame) = arkit::parse(bytes, path) {
        let _ = frame.camera((64, 48));
    }
    if let Ok(metadata) = record3d::parse(bytes, path) {
        (0..metadata.poses.len()).for_each(|frame| drop(metadata.camera(frame)));
    }
    for row in realityscan::parse(bytes, path).unwrap_or_default() {
        let _ = row.camera((64, 48));
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let header = "#name,x,y,alt,heading,pitch,roll,f,px,py,k1,k2,k3,k4,t1,t2\n";
    vec![
        dataset_bundler::bundle().into_bytes(),
        b"a.jpg 0 1500.5\nb c.jpg\n".to_vec(),
        npy_file(1, "<f8", false, "(1, 17)", &[7; 136]),
        npy_file(2, ">f4", true, "(17, 17)", &[9; 1156]),
        dataset_metashape::small().into_bytes(),
        format!("{header}{}", dataset_realityscan::row("a.png")).into_bytes(),
        dataset_phones::polycam_camera(3.0).into_bytes(),
        dataset_phones::metadata("").into_bytes(),
    ]
}

/// A message that quotes the file stays one line, and gives a terminal no commands.
#[test]
fn errors_about_control_characters_are_one_line() {
    for seed in seeds() {
        for at in 0..=seed.len() {
            for control in *b"\n\r\x1b" {
                let mut bytes = seed.clone();
                bytes.insert(at, control);
                parse_everything(&bytes);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn mutated_files_never_panic_nor_take_much_memory(
        which in 0usize..64,
        edits in edits(),
    ) {
        thread_local!(static SEEDS: Vec<Vec<u8>> = seeds());
        let bytes = edited(SEEDS.with(|seeds| seeds[which % seeds.len()].clone()), edits);
        let ((), peak) = crate::scene_hostile::peak_of(|| parse_everything(&bytes));
        prop_assert!(peak < 400_000 + 400 * bytes.len(), "{} bytes took {peak}", bytes.len());
    }
}
