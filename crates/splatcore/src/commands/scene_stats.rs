//! Statistics of a scene as `info --stats` and `convert --stats` print them.

use crate::output::{counted, quote, thousands};
use crate::table::Table;
use splatcore_data::scene::edit::{PropertyStats, Stats};
use std::path::Path;

/// Percentiles, mean and deviation of each property; distributions; a box to crop to. `scene` is
/// what was typed.
pub fn stats_text(stats: &Stats, scene: &Path) -> String {
    let mut numbers = Table::headed(&[
        "property",
        "min",
        "1 %",
        "5 %",
        "50 %",
        "95 %",
        "99 %",
        "max",
        "mean",
        "deviation",
    ]);
    let mut shapes = Table::headed(&["property", "from min to max"]);
    for p in &stats.properties {
        let of = &p.percentiles;
        let cells = [
            p.min,
            of.p1,
            of.p5,
            of.p50,
            of.p95,
            of.p99,
            p.max,
            p.mean,
            p.deviation,
        ];
        let name = std::iter::once(p.name.to_owned());
        numbers.row(name.chain(cells.into_iter().map(number)));
        shapes.row([p.name.to_owned(), bars(p)]);
    }
    let mut lines = numbers.lines(false);
    lines.push(String::new());
    lines.extend(shapes.lines(true));
    if let Some(crop) = &stats.crop {
        let share = 100.0 * crop.kept as f64 / stats.gaussians.max(1) as f64;
        lines.push(String::new());
        lines.push(format!(
            "crop         splatcore convert {} -o cropped.ply --crop {}",
            quote(&scene.to_string_lossy()),
            crop.shape
        ));
        lines.push(format!(
            "             keeps {} of {} ({share:.1} %)",
            thousands(crop.kept as u64),
            counted(stats.gaussians, "Gaussian")
        ));
    }
    lines.join("\n")
}

/// Four digits; with a power of ten where a number is very small or large.
fn number(v: f64) -> String {
    let size = v.abs();
    if v == 0.0 {
        return "0".into();
    }
    if !(1e-3..1e6).contains(&size) {
        return format!("{v:.2e}");
    }
    let decimals = (3 - size.log10().floor() as i32).max(0) as usize;
    format!("{v:.decimals$}")
}

/// The histogram, a character a range.
fn bars(p: &PropertyStats) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = p.histogram.iter().copied().max().unwrap_or(1).max(1);
    let bar = |&n: &u64| match n {
        0 => ' ',
        n => BARS[((n * 8 - 1) / most).min(7) as usize],
    };
    p.histogram.iter().map(bar).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::Gaussians;
    use splatcore_data::scene::edit::stats;

    #[test]
    fn columns_stand_apart_and_fit_a_terminal() {
        let mut scene = Gaussians::zeros(9, 0);
        for (i, mean) in scene.means.iter_mut().enumerate() {
            *mean = [-123_456.7 * i as f32, 1e20, -1e-20];
        }
        scene.log_scales.fill([20.0, -30.0, 1.0]);
        let text = stats_text(&stats(&scene).unwrap(), Path::new("my scene.ply"));
        for line in text.lines() {
            assert!(
                line.chars().count() <= 110 || line.starts_with("crop"),
                "{line}"
            );
        }
        let rows = text.lines().take(15);
        assert!(
            rows.clone()
                .all(|row| row.split("  ").filter(|c| !c.is_empty()).count() == 10),
            "{text}"
        );
        assert_contains!(text, "convert 'my scene.ply' -o cropped.ply --crop box:-");
    }

    #[test]
    fn numbers_have_four_digits() {
        let cases = [
            (0.0, "0"),
            (1.0, "1.000"),
            (-12.345_6, "-12.35"),
            (123_456.0, "123456"),
        ];
        for (v, want) in cases {
            assert_eq!(number(v), want);
        }
        assert_eq!(number(1.5e-7), "1.50e-7");
    }
}
