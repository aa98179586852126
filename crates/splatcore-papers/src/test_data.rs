//! Measurements that never were, for tests.

use crate::compression::Compression;
use crate::paper::Paper;
use crate::row::Row;
use crate::run::Run;
use crate::scene::{CompressedModel, Outcome, Scene};
use splatcore_core::pipeline::Pipeline;

/// A row in which every number follows from `gpu_ms`.
pub fn row(gpu_ms: f64) -> Row {
    Row {
        pipeline: Pipeline::VANILLA,
        intersect: "aabb".into(),
        blend: "scalar".into(),
        backward: "atomic".into(),
        interpolate: false,
        gpu_ms,
        frame_ms: 1.05 * gpu_ms,
        backward_ms: Some(3.5 * gpu_ms),
        step_ms: Some(6.0 * gpu_ms),
        stages: vec![
            ("project", 0.1 * gpu_ms),
            ("intersect", 0.1 * gpu_ms),
            ("sort", 0.2 * gpu_ms),
            ("blend", 0.6 * gpu_ms),
            ("blend_backward", 2.5 * gpu_ms),
            ("sum_pairs", 0.5 * gpu_ms),
            ("project_backward", 0.5 * gpu_ms),
        ],
        step_stages: vec![
            ("project", 0.5 * gpu_ms),
            ("blend", 0.5 * gpu_ms),
            ("loss", 1.0 * gpu_ms),
            ("blend_backward", 2.0 * gpu_ms),
            ("adam", 1.0 * gpu_ms),
        ],
        psnr_vs_reference: Some(70.0),
        psnr_vs_reference_worst: Some(70.0),
        psnr_vs_photos: Some(29.5),
        ssim_vs_reference: Some(0.999),
        ssim_vs_photos: Some(0.9),
        lpips_vs_photos: Some(0.125),
        visible: 100,
        pairs: 1000,
        list_lengths: [250.0, 90.0],
        fragments_evaluated: Some(200_000),
        fragments_blended: Some(50_000),
        warps_visited: Some(8000),
        warps_blended: Some(4000),
        ns_per_blended: Some(1.0),
        ns_per_blended_backward: None,
    }
}

/// Vanilla takes 4 ms, all others 2; those whose name contains `missing` do not exist.
pub fn scene(paper: Paper, missing: &str) -> Scene {
    let outcome = |run: Run| {
        let outcome = if !missing.is_empty() && run.pipeline.contains(missing) {
            Outcome::Missing {
                short: "unknown blend method".into(),
                full: format!("unknown blend method in {}", run.pipeline),
            }
        } else if run.same(&Run::vanilla(run.scale)) {
            Outcome::Row(Box::new(row(4.0)))
        } else {
            Outcome::Row(Box::new(row(2.0)))
        };
        (run, outcome)
    };
    Scene {
        name: "fox".into(),
        file: "models/fox.spz".into(),
        gaussians: 50,
        size: [32, 24],
        views: 2,
        outcomes: paper.runs().into_iter().map(outcome).collect(),
        compressed: Vec::new(),
    }
}

/// GEMM-GS's scene with compressed models: vanilla takes 1 ms on them, all others half of that.
pub fn compressed_scene(compressions: &[Compression]) -> Scene {
    let outcome = |run: Run| {
        let ms = match run.same(&Run::vanilla(1)) {
            true => 1.0,
            false => 0.5,
        };
        let row = Row {
            psnr_vs_photos: Some(29.25),
            ..row(ms)
        };
        (run, Outcome::Row(Box::new(row)))
    };
    let model = |&compression: &Compression| CompressedModel {
        compression,
        file: format!("models/fox-{}.ply", compression.name()),
        gaussians: 20,
        outcomes: Paper::Gemm
            .runs_on(compression)
            .into_iter()
            .map(outcome)
            .collect(),
    };
    Scene {
        compressed: compressions.iter().map(model).collect(),
        ..scene(Paper::Gemm, "")
    }
}
