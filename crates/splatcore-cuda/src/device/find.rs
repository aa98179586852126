//! Where do NVIDIA's libraries lie that are opened at run time?

use std::path::{Path, PathBuf};

/// Opens the first file of a library that can be opened, by any of its names: in the folders that
/// the environment names, in Python environments, where it lies in one of the folders `wheels`, and
/// in toolkits; then wherever the system looks. `open` says why a file is of no use, or `None` if
/// that is not worth a word.
///
/// # Errors
/// Why files were of no use, in brackets; empty if there are none.
pub fn open_first<T>(
    wheels: &[&str],
    names: &[&str],
    open: impl Fn(&Path) -> Result<T, Option<String>>,
) -> Result<T, String> {
    let explicit = folders(wheels)
        .into_iter()
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
        .filter(|path| path.exists());
    let mut wrong = Vec::new();
    // CUDA_PATH and an active environment are choices; the system's default comes after them.
    for path in explicit.chain(names.iter().map(PathBuf::from)) {
        match open(&path) {
            Ok(library) => return Ok(library),
            Err(why) => wrong.extend(why.map(|why| format!("{}: {why}", path.display()))),
        }
    }
    Err(match wrong.is_empty() {
        true => String::new(),
        false => format!(" ({})", wrong.join("; ")),
    })
}

/// Folders to look in, in order: those that `CUDA_PATH` and `CUDA_HOME` name, Python environments,
/// in which the library lies in one of the folders `wheels`, toolkits.
fn folders(wheels: &[&str]) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for variable in ["CUDA_PATH", "CUDA_HOME"] {
        if let Some(root) = std::env::var_os(variable) {
            let root = PathBuf::from(root);
            folders.extend(["lib64", "lib", "bin", "bin/x64"].map(|sub| root.join(sub)));
        }
    }
    let mut prefixes: Vec<PathBuf> = Vec::new();
    for variable in ["VIRTUAL_ENV", "CONDA_PREFIX"] {
        prefixes.extend(std::env::var_os(variable).map(PathBuf::from));
    }
    if let Some(home) = std::env::home_dir() {
        prefixes.push(home.join(".local"));
    }
    // The interpreter on the path: <prefix>/bin/python3.
    for folder in std::env::var_os("PATH")
        .iter()
        .flat_map(std::env::split_paths)
    {
        if ["python3", "python", "python.exe"]
            .iter()
            .any(|name| folder.join(name).exists())
        {
            prefixes.extend(folder.parent().map(Path::to_path_buf));
            prefixes.push(folder);
        }
    }
    for prefix in prefixes {
        let mut sites = vec![prefix.join("Lib/site-packages")];
        for lib in ["lib", "lib64"] {
            for entry in std::fs::read_dir(prefix.join(lib))
                .into_iter()
                .flatten()
                .flatten()
            {
                if entry.file_name().to_string_lossy().starts_with("python3") {
                    sites.extend(
                        ["site-packages", "dist-packages"].map(|name| entry.path().join(name)),
                    );
                }
            }
        }
        for site in sites {
            for wheel in wheels {
                folders.push(site.join(wheel));
            }
        }
    }
    let mut toolkits: Vec<PathBuf> = std::fs::read_dir("/usr/local")
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with("cuda"))
        })
        .collect();
    toolkits.sort();
    folders.extend(toolkits.into_iter().rev().map(|path| path.join("lib64")));
    folders
}
