//! Lists the kernel files and headers in the folders of `src/ops` and `src/tensors`, and which
//! folder each lies in, for `ops/sources.rs`, and passes on the file of compiled kernels that is to
//! be built in.

use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// Names a file of `scripts/embed-kernels`.
const EMBEDDED: &str = "SPLATCORE_EMBEDDED_KERNELS";

/// Folders of folders with kernels.
const PLACES: [&str; 2] = ["src/ops", "src/tensors"];

fn main() -> Result<(), Box<dyn Error>> {
    let root = env::var("CARGO_MANIFEST_DIR")?;
    let mut files: Vec<PathBuf> = Vec::new();
    for place in PLACES {
        println!("cargo::rerun-if-changed={place}");
        for op in fs::read_dir(Path::new(&root).join(place))? {
            let op = op?.path();
            if op.is_dir() {
                for file in fs::read_dir(op)? {
                    files.push(file?.path());
                }
            }
        }
    }
    files.retain(|file| matches!(file.extension(), Some(end) if end == "cu" || end == "cuh"));
    files.sort();
    // The texts themselves: a path would be that of this clone, and the target folder may be moved,
    // or be another clone's too.
    let mut list = String::from("&[\n");
    for file in &files {
        let name = file.file_name().ok_or("a file without a name")?;
        let text = fs::read_to_string(file)?;
        list += &format!("({name:?}, {text:?}),\n");
    }
    list += "]\n";
    let mut folders = String::from("&[\n");
    for file in &files {
        let name = file.file_name().ok_or("a file without a name")?;
        let folder = file.parent().and_then(Path::file_name);
        folders += &format!(
            "({name:?}, {:?}),\n",
            folder.ok_or("a file without a folder")?
        );
    }
    folders += "]\n";
    let output = env::var("OUT_DIR")?;
    fs::write(Path::new(&output).join("sources.rs"), list)?;
    fs::write(Path::new(&output).join("folders.rs"), folders)?;
    embed(Path::new(&output))
}

/// Compiled kernels to build in, from the file that the variable names; none without it.
fn embed(output: &Path) -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed={EMBEDDED}");
    let mut content = Vec::new();
    if let Some(file) = env::var_os(EMBEDDED) {
        let file = PathBuf::from(file);
        println!("cargo::rerun-if-changed={}", file.display());
        let name = file.display();
        content = fs::read(&file).map_err(|error| format!("{EMBEDDED}: {name}: {error}"))?;
    }
    fs::write(output.join("kernels.bin"), content)?;
    Ok(())
}
