//! The results for people.

use super::result::{Bench, Skipped};
use crate::output;
use crate::table::Table;
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
    let mut table = Table::default();
    let mut add = |name: String, value: String, unit: &str| {
        table.row([format!("  {name}"), value, unit.to_owned()]);
    };
    for (stage, ms) in &row.stages {
        add(stage.to_string(), format!("{ms:.3}"), "ms");
    }
    add(
        "whole frame".into(),
        format!("{:.3}", row.frame_ms),
        "ms by the clock",
    );
    if let Some(ms) = row.step_ms {
        add(
            "training step".into(),
            format!("{ms:.3}"),
            "ms by the clock, of which",
        );
        for (stage, ms) in &row.step_stages {
            add(format!("  {stage}"), format!("{ms:.3}"), "ms");
        }
    }
    if let Some((mean, worst)) = row.psnr_vs_reference.zip(row.psnr_vs_reference_worst) {
        let unit = format!("dB, at worst {worst:.2}");
        add("against vanilla".into(), format!("{mean:.2}"), &unit);
    }
    if let Some(psnr) = row.psnr_vs_photos {
        add("against photos".into(), format!("{psnr:.2}"), "dB");
    }
    for (name, count) in [
        ("visible", Some(row.visible)),
        ("pairs", Some(row.pairs)),
        ("evaluated", row.fragments_evaluated),
        ("blended", row.fragments_blended),
    ] {
        let count = count.map_or("-".to_owned(), output::thousands);
        add(name.into(), count, "");
    }
    lines.extend(table.lines(true));
    if let Some(ns) = row.ns_per_blended {
        let behind = row
            .ns_per_blended_backward
            .map_or(String::new(), |ns| format!(", backward {ns:.3}"));
        lines.push(format!("  ns per blended fragment: {ns:.3}{behind}"));
    }
}

/// A line for each pipeline.
fn summary(bench: &Bench, skipped: &[Skipped]) -> Vec<String> {
    let mut headings = vec!["ms", "device", "frame", "frame/device", "blend"];
    if bench.rows.iter().any(|row| row.backward_ms.is_some()) {
        headings.extend(["backward", "step"]);
    }
    let mut table = Table::headed(&headings);
    for row in &bench.rows {
        let mut cells = vec![
            row.name(),
            format!("{:.3}", row.gpu_ms),
            format!("{:.3}", row.frame_ms),
            format!("{:.2}", row.frame_ms / row.gpu_ms.max(f64::MIN_POSITIVE)),
            format!("{:.3}", row.stage("blend")),
        ];
        let more = [row.backward_ms, row.step_ms].into_iter().flatten();
        cells.extend(more.map(|ms| format!("{ms:.3}")));
        table.row(cells);
    }
    let mut lines = table.lines(false);
    let mut reasons = Table::default();
    for Skipped { pipeline, reason } in skipped {
        reasons.row([pipeline.to_string(), format!("skipped: {reason}")]);
    }
    lines.extend(reasons.lines(true));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::Pipeline;

    /// Names and numbers as long as they come: what is a column stays one.
    #[test]
    fn long_names_and_large_numbers_do_not_touch() {
        let row = Row {
            pipeline: Pipeline::AUTO,
            intersect: String::new(),
            blend: String::new(),
            backward: String::new(),
            interpolate: false,
            gpu_ms: 1_234_567.0,
            frame_ms: 1_234_567.0,
            backward_ms: None,
            step_ms: Some(7_654_321.0),
            stages: vec![("a stage of a long name", 123_456.789)],
            step_stages: Vec::new(),
            psnr_vs_reference: None,
            psnr_vs_reference_worst: None,
            psnr_vs_photos: None,
            ssim_vs_reference: None,
            ssim_vs_photos: None,
            lpips_vs_photos: None,
            visible: 98_765_432_100,
            pairs: 1,
            list_lengths: [1.0, 0.0],
            fragments_evaluated: None,
            fragments_blended: None,
            warps_visited: None,
            warps_blended: None,
            ns_per_blended: None,
            ns_per_blended_backward: None,
        };
        let mut lines = Vec::new();
        describe(&row, &mut lines);
        let text = lines.join("\n");
        for words in [
            "a stage of a long name  ",
            "  123456.789  ms",
            "  98,765,432,100",
            "visible  ",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }
}
