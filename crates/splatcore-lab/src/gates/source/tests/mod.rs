//! The gates on the tree's own kernels: unchanged, honestly edited, and attacked.

mod bad;
mod honest;
mod noise;

use super::*;
use std::path::{Path, PathBuf};

/// Every kernel file of the tree.
fn kernels() -> Texts {
    let mut texts = Texts::new();
    let mut folders = vec![PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../splatcore-cuda/src/ops"
    ))];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let is_kernel = |path: &Path| path.extension().is_some_and(|e| e == "cu" || e == "cuh");
            if path.is_dir() {
                folders.push(path);
            } else if is_kernel(&path) {
                let name = path.file_name().unwrap().to_string_lossy().into_owned();
                texts.insert(name, std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    assert!(texts.len() > 40, "{}", texts.len());
    texts
}

/// The verdict on a file with one text in place of another.
fn judge(baseline: &Texts, file: &str, from: &str, to: &str) -> Result<(), Rejection> {
    let old = &baseline[file];
    assert_eq!(old.matches(from).count(), 1, "{file}: {from:?}");
    let changed = Texts::from([(file.to_owned(), old.replacen(from, to, 1))]);
    check(baseline, &[file], &changed)
}
