//! The results for people.

use super::result::{Bench, Skipped};
use crate::output;
use splatcore_papers::Row;

/// Everything, and a line for each pipeline at the end, if wanted also for those that the backend
/// lacks.
pub fn table(bench: &Bench, with_skipped: bool) -> String {
    let [w, h] = bench.size;
    let mut lines = vec![format!(
        "{}: {} Gaussians, {w}x{h}, {} views, median of {} passes, {}",
        bench.scene,
        output::thousands(bench.gaussians as u64),
        bench.views,
        bench.passes,
        bench.device
    )];
    for row in &bench.rows {
        describe(row, &mut lines);
    }
    let skipped = if with_skipped {
        &bench.skipped[..]
    } else {
        &[]
    };
    if bench.rows.len() + skipped.len() > 1 {
        lines.push(String::new());
        lines.extend(summary(bench, skipped));
    }
    lines.join("\n")
}

fn describe(row: &Row, lines: &mut Vec<String>) {
    let behind = row
        .backward_ms
        .map_or(String::new(), |ms| format!(", backward {ms:.2} ms"));
    lines.push(format!(
        "\n{}: {:.2} ms a frame{behind}",
        row.name(),
        row.gpu_ms
    ));
    for (stage, ms) in &row.stages {
        lines.push(format!("  {stage:18}{ms:>9.3} ms"));
    }
    lines.push(format!(
        "  {:18}{:>9.3} ms by the clock",
        "whole frame", row.frame_ms
    ));
    if let Some(ms) = row.step_ms {
        lines.push(format!(
            "  {:18}{ms:>9.3} ms by the clock, of which",
            "training step"
        ));
        for (stage, ms) in &row.step_stages {
            lines.push(format!("    {stage:16}{ms:>9.3} ms"));
        }
    }
    if let Some((mean, worst)) = row.psnr_vs_reference.zip(row.psnr_vs_reference_worst) {
        lines.push(format!(
            "  against vanilla   {mean:>9.2} dB, at worst {worst:.2}"
        ));
    }
    if let Some(psnr) = row.psnr_vs_photos {
        lines.push(format!("  against photos    {psnr:>9.2} dB"));
    }
    for (name, count) in [
        ("visible", Some(row.visible)),
        ("pairs", Some(row.pairs)),
        ("evaluated", row.fragments_evaluated),
        ("blended", row.fragments_blended),
    ] {
        let count = count.map_or("-".to_owned(), output::thousands);
        lines.push(format!("  {name:14}{count:>13}"));
    }
    if let Some(ns) = row.ns_per_blended {
        let behind = row
            .ns_per_blended_backward
            .map_or(String::new(), |ns| format!(", backward {ns:.3}"));
        lines.push(format!("  ns per blended fragment: {ns:.3}{behind}"));
    }
}

/// A line for each pipeline.
fn summary(bench: &Bench, skipped: &[Skipped]) -> Vec<String> {
    let names = bench.rows.iter().map(Row::name);
    let names = names.chain(skipped.iter().map(|s| s.pipeline.to_string()));
    let width = names.map(|name| name.len()).max().unwrap_or(0);
    let backward = bench.rows.iter().any(|row| row.backward_ms.is_some());
    let mut lines = vec![format!(
        "{:width$}    device     frame    frame/device     blend",
        "ms"
    )];
    if backward {
        lines[0].push_str("  backward      step");
    }
    for row in &bench.rows {
        let mut line = format!(
            "{:width$}{:>10.3}{:>10.3}{:>16.2}{:>10.3}",
            row.name(),
            row.gpu_ms,
            row.frame_ms,
            row.frame_ms / row.gpu_ms.max(f64::MIN_POSITIVE),
            row.stage("blend")
        );
        for ms in [row.backward_ms, row.step_ms].into_iter().flatten() {
            line.push_str(&format!("{ms:>10.3}"));
        }
        lines.push(line);
    }
    for skipped in skipped {
        lines.push(format!(
            "{:width$}  skipped: {}",
            skipped.pipeline.to_string(),
            skipped.reason
        ));
    }
    lines
}
