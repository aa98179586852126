//! Writes `compile_commands.json` beside the workspace, from which clangd and other editors resolve
//! every name in the kernel files. Kernels are parsed as the emulator compiles them: as C++ behind
//! its headers, so that no CUDA is needed.
//!
//! Usage: `cargo run -p splatcore-cuda --example compile_commands [--check]`; with `--check` each
//! command is run, and the first that fails is printed.

use splatcore_cuda::device::emulated::PRELUDE;
use splatcore_cuda::programs;
use std::collections::BTreeMap;
use std::error::Error;

/// Runs each command for its errors alone.
fn check(commands: &[serde_json::Value]) -> Result<(), Box<dyn Error>> {
    for command in commands {
        let arguments = command["arguments"].as_array().into_iter().flatten();
        let arguments: Vec<&str> = arguments.filter_map(|word| word.as_str()).collect();
        let status = std::process::Command::new(arguments[0])
            .args(&arguments[1..])
            .arg("-fsyntax-only")
            .status()?;
        if !status.success() {
            return Err(format!("{} cannot be parsed", command["file"]).into());
        }
    }
    eprintln!("{} kernel files can be parsed", commands.len());
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    // Without Cargo in the repository's root.
    let package = std::env::var_os("CARGO_MANIFEST_DIR");
    let package = std::path::absolute(package.unwrap_or("crates/splatcore-cuda".into()))?;
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
    let constants_folder = package.join("../../target/compile_commands");
    std::fs::create_dir_all(&constants_folder)?;
    // An editor shows one variant of each file: the first that is listed.
    let mut commands = BTreeMap::new();
    for program in programs::all_programs() {
        let Some(file) = kernel_files.get(std::ffi::OsStr::new(program.root.0)) else {
            continue;
        };
        if commands.contains_key(program.root.0) {
            continue;
        }
        // Not as -D, which would hold in the emulator's headers too.
        let constants = constants_folder.join(program.root.0).with_extension("hpp");
        let defines = program.constants.iter();
        let defines: String = defines
            .map(|(name, value)| format!("#define {name} {value}\n"))
            .collect();
        std::fs::write(&constants, defines)?;
        let mut arguments = vec!["c++".to_string()];
        arguments.extend(["-x", "c++", "-std=c++17", "-w"].map(String::from));
        arguments.extend(["-DEMULATED=1", "-DCHECKED=0", "-DRUNTIME=0"].map(String::from));
        for (header, _) in PRELUDE {
            arguments.push("-include".into());
            arguments.push(package.join("emulator").join(header).display().to_string());
        }
        for folder in &headers {
            arguments.push(format!("-I{}", folder.display()));
        }
        arguments.extend(["-include".into(), constants.display().to_string()]);
        arguments.extend(["-c".into(), file.display().to_string()]);
        let command = serde_json::json!({
            "directory": package,
            "file": file,
            "arguments": arguments,
        });
        commands.insert(program.root.0, command);
    }
    let commands: Vec<_> = commands.into_values().collect();
    if std::env::args().any(|argument| argument == "--check") {
        return check(&commands);
    }
    let path = package.join("../../compile_commands.json");
    std::fs::write(&path, serde_json::to_string_pretty(&commands)?)?;
    eprintln!("compile_commands.json: {} kernel files", commands.len());
    Ok(())
}
