//! A profile as people and models read it.

use super::data::{Kernel, Profile, Spread, Tiles};
use std::fmt::Write;

/// The profile as Markdown tables: stages, kernels, system information (the paper's Table II) and
/// workload distribution (its Table III). What was not measured is left out.
pub fn to_markdown(profile: &Profile) -> String {
    let mut text = String::new();
    for (name, line) in [("Card", &profile.device), ("Workload", &profile.workload)] {
        if !line.is_empty() {
            let _ = writeln!(text, "{name}: {line}\n");
        }
    }
    stages(profile, &mut text);
    kernels(profile, &mut text);
    for kernel in &profile.kernels {
        metrics(kernel, &mut text);
    }
    if let Some(roofline) = &profile.roofline {
        let _ = writeln!(
            text,
            "Roofline: {:.1} FLOP a byte and {:.2} TFLOP/s; the card's limits meet at {:.1} FLOP \
             a byte and {:.2} TFLOP/s.\n",
            roofline.intensity,
            roofline.tflops,
            roofline.turning_intensity,
            roofline.turning_tflops
        );
    }
    if let Some(tiles) = &profile.tiles {
        distribution(tiles, &mut text);
    }
    if !profile.counters.is_empty() {
        let rows = profile.counters.iter();
        let rows = rows.map(|(name, value)| (name.clone(), short(*value)));
        table("| counter | value |", rows, &mut text);
    }
    text
}

fn stages(profile: &Profile, text: &mut String) {
    if profile.stages.is_empty() {
        return;
    }
    let _ = writeln!(text, "One frame takes {:.1} us.\n", profile.frame_us);
    text.push_str("| stage | us | % of the frame | files |\n| --- | ---: | ---: | --- |\n");
    for stage in &profile.stages {
        let share = 100.0 * stage.us / profile.frame_us.max(f64::MIN_POSITIVE);
        let files = stage.files.join(", ");
        let _ = writeln!(
            text,
            "| {} | {:.1} | {share:.1} | {files} |",
            stage.name, stage.us
        );
    }
    text.push('\n');
}

fn kernels(profile: &Profile, text: &mut String) {
    if profile.kernels.is_empty() {
        return;
    }
    text.push_str(
        "| kernel | threads a block | registers | shared bytes | bytes of stack |\n\
         | --- | ---: | ---: | ---: | ---: |\n",
    );
    let shown = |value: Option<u32>| value.map_or("?".to_owned(), |value| value.to_string());
    for kernel in &profile.kernels {
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} |",
            kernel.name,
            shown(kernel.block_threads),
            shown(kernel.registers),
            shown(kernel.shared_bytes),
            shown(kernel.spill_bytes)
        );
    }
    text.push('\n');
}

fn metrics(kernel: &Kernel, text: &mut String) {
    let measured = &kernel.metrics;
    let plain = [
        ("duration (us)", measured.duration_us),
        ("theoretical occupancy (%)", measured.theoretical_occupancy),
        ("achieved occupancy (%)", measured.achieved_occupancy),
        ("block limit warps", measured.block_limit_warps),
        ("block limit registers", measured.block_limit_registers),
        ("block limit shared memory", measured.block_limit_shared),
        (
            "warp cycles per issued instruction",
            measured.cycles_per_issue,
        ),
        ("compute throughput (% of peak)", measured.compute_percent),
        ("DRAM throughput (% of peak)", measured.dram_percent),
        ("L2 throughput (% of peak)", measured.l2_percent),
        ("L2 hit rate (%)", measured.l2_hit_percent),
    ];
    let plain = plain
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), short(value?))));
    let stalls = measured.stalls.iter();
    let stalls = stalls.map(|(name, value)| (format!("stall {name}"), short(*value)));
    let busiest = measured.busiest().map(|pipe| {
        let value = format!("{} ({})", pipe.name, short(pipe.percent));
        (
            "pipeline with the highest utilisation (%)".to_owned(),
            value,
        )
    });
    let rows: Vec<_> = plain.chain(stalls).chain(busiest).collect();
    if !rows.is_empty() {
        table(&format!("| {} | value |", kernel.name), rows, text);
    }
}

/// The paper's Table III.
fn distribution(tiles: &Tiles, text: &mut String) {
    let mut rows = vec![
        ("tiles".to_owned(), tiles.tiles.to_string()),
        ("Gaussians a tile, mean".into(), short(tiles.splats.mean)),
        (
            "Gaussians a tile, variance".into(),
            short(tiles.splats.variance),
        ),
        (
            "Gaussians in the longest tile".into(),
            tiles.longest.to_string(),
        ),
    ];
    let mut share = |name: &str, spread: Option<Spread>| {
        if let Some(spread) = spread {
            let percent = short(100.0 * spread.mean);
            rows.push((format!("{name} Gaussians a thread, mean (%)"), percent));
            rows.push((
                format!("{name} Gaussians a thread, variance"),
                short(spread.variance),
            ));
        }
    };
    share("evaluated", tiles.evaluated);
    share("blended", tiles.blended);
    table("| workload distribution | value |", rows, text);
}

fn table(header: &str, rows: impl IntoIterator<Item = (String, String)>, text: &mut String) {
    let _ = writeln!(text, "{header}\n| --- | ---: |");
    for (name, value) in rows {
        let _ = writeln!(text, "| {name} | {value} |");
    }
    text.push('\n');
}

/// At most two digits after the point, none that say nothing.
fn short(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    text.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_tables_are_written() {
        let text = r#"{
            "device": "RTX 4060, 24 multiprocessors", "frame_us": 4710,
            "stages": [{"name": "blend", "us": 4000, "files": ["blend.cu"]}],
            "kernels": [{"name": "blend", "registers": 40, "metrics": {
                "achieved_occupancy": 95.25, "stalls": {"barrier": 1.45},
                "pipes": {"alu": 57.1}}}],
            "roofline": {"turning_intensity": 42.63, "turning_tflops": 11.24,
                "intensity": 235.35, "tflops": 2.22},
            "tiles": {"tiles": 1617, "splats": {"mean": 1189, "variance": 614608},
                "longest": 5000, "evaluated": {"mean": 0.95, "variance": 0.02}},
            "counters": {"pairs": 1e6}
        }"#;
        let text = to_markdown(&serde_json::from_str(text).unwrap());
        for line in [
            "Card: RTX 4060, 24 multiprocessors",
            "| blend | 4000.0 | 84.9 | blend.cu |",
            "| blend | ? | 40 | ? | ? |",
            "| achieved occupancy (%) | 95.25 |",
            "| stall barrier | 1.45 |",
            "| pipeline with the highest utilisation (%) | alu (57.1) |",
            "| Gaussians a tile, variance | 614608 |",
            "| evaluated Gaussians a thread, mean (%) | 95 |",
            "| evaluated Gaussians a thread, variance | 0.02 |",
            "| pairs | 1000000 |",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
        assert_eq!(to_markdown(&Profile::default()), "");
    }
}
