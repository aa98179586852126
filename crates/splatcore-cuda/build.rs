//! Lists the kernel files and headers in the folders of `src/ops`, for `ops/sources.rs`.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=src/ops");
    let ops = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("src/ops");
    let mut files: Vec<PathBuf> = Vec::new();
    for op in fs::read_dir(ops)? {
        let op = op?.path();
        if op.is_dir() {
            for file in fs::read_dir(op)? {
                files.push(file?.path());
            }
        }
    }
    files.retain(|file| matches!(file.extension(), Some(end) if end == "cu" || end == "cuh"));
    files.sort();
    let mut list = String::from("&[\n");
    for file in &files {
        let name = file.file_name().ok_or("a file without a name")?;
        list += &format!("({name:?}, include_str!({file:?})),\n");
    }
    list += "]\n";
    let output = Path::new(&env::var("OUT_DIR")?).join("sources.rs");
    fs::write(output, list)?;
    Ok(())
}
