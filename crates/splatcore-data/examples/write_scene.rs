//! Writes a scene in the format that a file's name tells, and prints what the formats could not
//! keep.
//!
//! ```sh
//! cargo run --release -p splatcore-data --example write_scene -- scene.ply scene.spz
//! cargo run --release -p splatcore-data --example write_scene -- scene.ply scene.spz spz=4
//! ```

use splatcore_data::scene::{self, ReadOptions, WriteOptions};
use std::error::Error;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let usage = "usage: write_scene IN OUT [spz=2|3|4]";
    let [from, to, rest @ ..] = &args[..] else {
        return Err(usage.into());
    };
    let mut options = WriteOptions::default();
    for option in rest {
        let version = option.strip_prefix("spz=").ok_or(usage)?;
        options.spz.version = version.parse()?;
    }
    // A file may hold degree 4, which nothing renders.
    let all = ReadOptions {
        sh_degree_limit: 4,
        ..ReadOptions::default()
    };
    let scene = scene::read_with(Path::new(from), &all)?;
    options.antialiased = scene.antialiased;
    let written = scene::write(Path::new(to), &scene.gaussians, &options, &|_, _, _| ())?;
    println!(
        "{} Gaussians of {} as {} bytes",
        scene.gaussians.len(),
        scene.format,
        written.bytes
    );
    for note in scene.notes.iter().chain(&written.notes) {
        println!("note: {note}");
    }
    Ok(())
}
