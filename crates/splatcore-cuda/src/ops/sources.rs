//! The text of every kernel file, built into the crate.

use super::adam::rates::Rates;
use super::camera::KernelCamera;
use super::colour::rows::ColourRows;
use super::columns::kernels::{LearnedColumn, ShapeColumns};
use super::counters::Counters;
use super::lens::KernelLens;
use super::row_blocks::RowBlocks;
use crate::device::program::File;
use crate::device::{Layout, Program, Replacements, Signature};

/// All kernel files and headers in the folders of `ops/` and `tensors/`, as build.rs finds them. No
/// two share a name.
pub static SOURCES: &[File] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// The folder of `ops/` or `tensors/` that a kernel file lies in: its op, or `shared`.
pub fn op_of(file: &str) -> Option<&'static str> {
    static FOLDERS: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/folders.rs"));
    let found = FOLDERS.iter().find(|(name, _)| *name == file);
    found.map(|(_, op)| *op)
}

/// Structs of headers that Rust declares too, by the header.
static SHARED: &[(&str, &Layout)] = &[
    ("splat.cuh", KernelCamera::LAYOUT),
    ("splat.cuh", Counters::LAYOUT),
    ("lens.cuh", KernelLens::LAYOUT),
    ("row_blocks.cuh", RowBlocks::LAYOUT),
    ("adam.cu", Rates::LAYOUT),
    ("columns.cuh", LearnedColumn::LAYOUT),
    ("shape_columns.cuh", ShapeColumns::LAYOUT),
    ("colour_rows.cuh", ColourRows::LAYOUT),
];

/// The program of a kernel file.
///
/// # Panics
/// If no file is called so: names are literals in this crate.
pub(crate) fn program(
    root: &str,
    constants: Vec<(&'static str, String)>,
    kernels: impl Into<Vec<Signature>>,
) -> Program {
    match SOURCES.iter().find(|(known, _)| *known == root) {
        Some(&root) => Program {
            root,
            headers: SOURCES,
            constants,
            kernels: kernels.into(),
            shared: SHARED,
            replacements: Replacements::default(),
        },
        None => panic!("no kernel file is called {root}"),
    }
}

/// The program of a kernel file that is not built in, with these headers in front: for tests and
/// experiments. Its text stays in memory for the life of the process.
pub fn program_of_text(
    (name, text): File,
    headers: &[&str],
    constants: Vec<(&'static str, String)>,
    kernels: &[&'static str],
) -> Program {
    let includes = headers.iter().chain([&name]);
    let root: String = includes
        .map(|name| format!("#include \"{name}\"\n"))
        .collect();
    let mut files = SOURCES.to_vec();
    files.push((name, text));
    Program {
        root: (name.trim_end_matches(".cu"), root.leak()),
        headers: files.leak(),
        constants,
        kernels: kernels
            .iter()
            .map(|name| Signature::unchecked(name))
            .collect(),
        shared: SHARED,
        replacements: Replacements::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// What the build generates would name files of the clone that was built first.
    #[test]
    fn the_generated_list_holds_no_path() {
        let list = include_str!(concat!(env!("OUT_DIR"), "/sources.rs"));
        assert!(!list.contains("include_str!"));
    }

    #[test]
    fn every_kernel_file_has_a_name_of_its_own() {
        let names: BTreeSet<&str> = SOURCES.iter().map(|(name, _)| *name).collect();
        assert!(names.contains("blend.cuh") && names.contains("blend_scalar.cu"));
        assert_eq!(names.len(), SOURCES.len());
        assert_eq!(op_of("blend_scalar.cu"), Some("blend"));
        assert_eq!(op_of("splat.cuh"), Some("shared"));
        assert!(SOURCES.iter().all(|(name, _)| op_of(name).is_some()));
    }
}
