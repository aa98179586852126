//! Any bytes as a bundled SOG; and as a meta.json, a zero byte, and what is then every image, in a
//! bundle whose checksums are right: a scene or a one-line error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use splatcore_data::scene::sog;
use std::io::{Cursor, Write};
use std::path::Path;
use zip::write::{SimpleFileOptions, ZipWriter};

const IMAGES: [&str; 7] = [
    "means_l.webp",
    "means_u.webp",
    "quats.webp",
    "scales.webp",
    "sh0.webp",
    "shN_centroids.webp",
    "shN_labels.webp",
];

fn check(bytes: &[u8]) {
    match sog::parse(bytes, Path::new("fuzz.sog")) {
        Ok(scene) => assert!((0..scene.gaussians.len()).all(|i| scene.gaussians.is_sound(i))),
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
}

fn bundle(meta: &[u8], image: &[u8]) -> zip::result::ZipResult<Vec<u8>> {
    let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file("meta.json", stored)?;
    writer.write_all(meta)?;
    for name in IMAGES {
        writer.start_file(name, stored)?;
        writer.write_all(image)?;
    }
    Ok(writer.finish()?.into_inner())
}

fuzz_target!(|bytes: &[u8]| {
    check(bytes);
    let mut parts = bytes.splitn(2, |&b| b == 0);
    if let (Some(meta), Some(image)) = (parts.next(), parts.next())
        && let Ok(file) = bundle(meta, image)
    {
        check(&file);
    }
});
