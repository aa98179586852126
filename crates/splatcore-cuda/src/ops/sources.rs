//! The text of every kernel file, built into the crate.

use super::adam::rates::Rates;
use super::camera::KernelCamera;
use super::counters::Counters;
use crate::device::program::File;
use crate::device::{Layout, Program, Signature};

/// `name, name, ...` in a folder of `ops/`.
macro_rules! sources {
    ($($folder:literal: $($name:literal)+;)+) => {
        &[$($(($name, include_str!(concat!($folder, "/", $name)))),+),+]
    };
}

/// All kernel files and headers. No two share a name.
pub static SOURCES: &[File] = sources! {
    "shared": "antialias.cuh" "block_scan.cuh" "device.cuh" "footprint.cuh" "matrix.cuh"
        "random.cuh" "smoothing.cuh" "splat.cuh";
    "adam": "adam.cu" "moments.cuh";
    "bin": "bin.cuh" "bin_large_splats.cu" "macro_tile_rows.cuh" "sort_bins.cu";
    "blend": "blend.cuh" "blend_early_cull.cu" "blend_gemm_gs.cu" "blend_interpolated.cu"
        "blend_refined.cu" "blend_scalar.cu" "blend_splatcore_inference.cu"
        "blend_splatcore_training.cu" "blend_subtile.cu" "blend_tc_gs.cu" "blend_tensor_gs.cu"
        "half_rows.cuh" "inference.cuh" "subtile.cuh" "training_weights.cuh";
    "blend_backward": "blend_backward.cuh" "blend_backward_atomic.cu"
        "blend_backward_gaussian_parallel.cu" "blend_backward_splatcore.cu"
        "blend_backward_subtile.cu" "sum_pairs.cu";
    "clear": "clear.cu";
    "densify": "adc_choose.cuh" "adc_split.cuh" "copy_rows.cuh" "densify.cu" "gaussian_actions.cuh"
        "list_gaussians.cuh" "mcmc.cuh" "prune.cuh" "refinement_totals.cuh" "reset_opacity.cuh";
    "exposure": "exposure.cu";
    "floaters": "floaters.cu";
    "intersect": "intersect.cu" "intersect_macro_tiles.cu";
    "limit_scales": "limit_scales.cu";
    "loss": "loss.cu";
    "photo": "photo.cu";
    "project": "project.cu";
    "project_backward": "project_backward.cu" "project_backward.cuh" "write_gradients.cu";
    "score": "score.cu";
    "smoothing": "smoothing.cu";
    "sort": "sort.cu";
};

/// Structs of headers that Rust declares too, by the header.
static SHARED: &[(&str, &Layout)] = &[
    ("splat.cuh", KernelCamera::LAYOUT),
    ("splat.cuh", Counters::LAYOUT),
    ("adam.cu", Rates::LAYOUT),
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
    }
}

/// A constant that is 0 or 1.
pub(crate) fn flag(name: &'static str, set: bool) -> (&'static str, String) {
    (name, (set as u8).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;
    use std::path::Path;

    #[test]
    fn every_kernel_file_is_built_in_under_a_name_of_its_own() {
        let ops = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ops");
        let mut found = BTreeSet::new();
        for folder in std::fs::read_dir(ops).unwrap() {
            let folder = folder.unwrap().path();
            for file in folder.read_dir().into_iter().flatten() {
                let name = file.unwrap().file_name().into_string().unwrap();
                if name.ends_with(".cu") || name.ends_with(".cuh") {
                    assert!(found.insert(name.clone()), "two files are called {name}");
                }
            }
        }
        let built_in = SOURCES.iter().map(|(name, _)| name.to_string());
        assert_eq!(found, built_in.collect());
    }
}
