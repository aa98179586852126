//! Writes `compile_commands.json` beside the workspace, from which clangd and other editors resolve
//! every name in the kernel files. Kernels are parsed as the emulator compiles them: as C++ behind
//! its headers, so that no CUDA is needed.
//!
//! Usage: `cargo run -p splatcore-cuda --example compile_commands`

use splatcore_cuda::ops;
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;

/// The emulator's headers, in the order in which it puts them in front of a kernel.
const EMULATOR: [&str; 6] = [
    "emulator.hpp",
    "fibers.hpp",
    "checks.hpp",
    "collectives.hpp",
    "intrinsics.hpp",
    "matrix.hpp",
];

fn main() -> Result<(), Box<dyn Error>> {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let ops_folder = package.join("src/ops");
    let mut headers = Vec::new();
    let mut kernel_files = BTreeMap::new();
    for folder in std::fs::read_dir(&ops_folder)? {
        let folder = folder?.path();
        if !folder.is_dir() {
            continue;
        }
        for file in folder.read_dir()? {
            let file = file?.path();
            if file.extension().is_some_and(|ending| ending == "cu") {
                kernel_files.insert(file.file_name().unwrap_or_default().to_owned(), file);
            }
        }
        headers.push(folder);
    }
    headers.sort();
    // An editor shows one variant of each file: the first that is listed.
    let mut commands = BTreeMap::new();
    for program in ops::all_programs() {
        let Some(file) = kernel_files.get(std::ffi::OsStr::new(program.root.0)) else {
            continue;
        };
        commands.entry(program.root.0).or_insert_with(|| {
            let mut arguments = vec!["c++".to_string()];
            arguments.extend(["-x", "c++", "-std=c++17", "-w"].map(String::from));
            arguments.extend(["-DEMULATED=1", "-DCHECKED=0"].map(String::from));
            for header in EMULATOR {
                arguments.push("-include".into());
                arguments.push(package.join("emulator").join(header).display().to_string());
            }
            for folder in &headers {
                arguments.push(format!("-I{}", folder.display()));
            }
            let constants = program.constants.iter();
            arguments.extend(constants.map(|(name, value)| format!("-D{name}={value}")));
            arguments.extend(["-c".into(), file.display().to_string()]);
            serde_json::json!({
                "directory": package,
                "file": file,
                "arguments": arguments,
            })
        });
    }
    let commands: Vec<_> = commands.into_values().collect();
    let path = package.join("../../compile_commands.json");
    std::fs::write(&path, serde_json::to_string_pretty(&commands)?)?;
    eprintln!("compile_commands.json: {} kernel files", commands.len());
    Ok(())
}
