//! Any bytes as the lod-meta.json of a streamed SOG, in an archive whose chunks are other bytes
//! behind a zero byte, each of them one whole bundled SOG: a scene or a one-line error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use splatcore_data::scene::sog;
use std::io::{Cursor, Write};
use std::path::Path;
use zip::write::{SimpleFileOptions, ZipWriter};

fn archive(meta: &[u8], chunk: &[u8]) -> zip::result::ZipResult<Vec<u8>> {
    let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    writer.start_file("lod-meta.json", stored)?;
    writer.write_all(meta)?;
    for name in ["a.sog", "b.sog"] {
        writer.start_file(name, stored)?;
        writer.write_all(chunk)?;
    }
    Ok(writer.finish()?.into_inner())
}

fuzz_target!(|bytes: &[u8]| {
    let mut parts = bytes.splitn(2, |&b| b == 0);
    if let Some(meta) = parts.next()
        && let Ok(file) = archive(meta, parts.next().unwrap_or_default())
    {
        match sog::parse(&file, Path::new("fuzz.zip")) {
            Ok(scene) => assert!((0..scene.gaussians.len()).all(|i| scene.gaussians.is_sound(i))),
            Err(error) => assert!(!error.to_string().contains('\n')),
        }
    }
});
