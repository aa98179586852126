//! Line charts as inline SVG text: axes, round ticks, one or more lines. No scripts, no fonts of
//! its own.

use splatcore_papers::page::escape;
use std::fmt::Write;

/// One line of a chart.
pub struct Line {
    /// Shown in the legend when the chart has several lines.
    pub name: String,
    /// (x, y) in ascending x; points that are not finite are left out.
    pub points: Vec<(f64, f64)>,
}

/// A chart.
pub struct Chart {
    /// Above the plot.
    pub title: String,
    /// Under the x axis.
    pub x_label: String,
    /// At most four lines (there are four colours).
    pub lines: Vec<Line>,
}

const WIDTH: f64 = 520.0;
const HEIGHT: f64 = 260.0;
const LEFT: f64 = 62.0;
const RIGHT: f64 = 26.0;
const TOP: f64 = 12.0;
const BOTTOM: f64 = 42.0;
/// More points than this are averaged in groups: the eye sees no more, and the file stays small.
const MAX_POINTS: usize = 400;

impl Chart {
    /// The chart as a `<figure>`; empty text when no line has a point.
    pub fn to_svg(&self) -> String {
        let lines: Vec<(&str, Vec<(f64, f64)>)> = self
            .lines
            .iter()
            .map(|l| (l.name.as_str(), thin(&l.points)))
            .filter(|l| !l.1.is_empty())
            .collect();
        if lines.is_empty() {
            return String::new();
        }
        let all = || lines.iter().flat_map(|l| l.1.iter());
        let (x_ticks, x_range) = axis(all().map(|p| p.0), 6, false);
        let (y_ticks, y_range) = axis(all().map(|p| p.1), 5, true);
        let x = |v: f64| LEFT + (v - x_range.0) / (x_range.1 - x_range.0) * (WIDTH - LEFT - RIGHT);
        let y = |v: f64| {
            HEIGHT - BOTTOM - (v - y_range.0) / (y_range.1 - y_range.0) * (HEIGHT - TOP - BOTTOM)
        };

        let title = escape(&self.title);
        let mut out = format!(
            "<figure class=\"chart\"><figcaption>{title}{}</figcaption>\n<svg viewBox=\"0 0 \
             {WIDTH} {HEIGHT}\" \
             role=\"img\" aria-label=\"{title}\">\n",
            legend(&lines)
        );
        // Writing to a String cannot fail, so the results are let go.
        for tick in &y_ticks {
            let (at, label) = (y(*tick), number(*tick));
            let _ = writeln!(
                out,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{at:.1}\" y2=\"{at:.1}\"/>\
                 <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
                WIDTH - RIGHT,
                LEFT - 7.0,
                at + 4.0
            );
        }
        let floor = HEIGHT - BOTTOM;
        for tick in &x_ticks {
            let (at, label) = (x(*tick), number(*tick));
            let _ = writeln!(
                out,
                "<line class=\"axis\" x1=\"{at:.1}\" x2=\"{at:.1}\" y1=\"{floor}\" y2=\"{}\"/>\
                 <text class=\"tick\" x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{label}</text>",
                floor + 4.0,
                floor + 18.0
            );
        }
        let _ = writeln!(
            out,
            "<path class=\"axis\" d=\"M{LEFT} {TOP}V{floor}H{}\"/>\
             <text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            WIDTH - RIGHT,
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 6.0,
            escape(&self.x_label)
        );
        plot(&mut out, &lines, x, y);
        out.push_str("</svg></figure>\n");
        out
    }
}

/// The lines; of one point a circle.
fn plot(
    out: &mut String,
    lines: &[(&str, Vec<(f64, f64)>)],
    x: impl Fn(f64) -> f64,
    y: impl Fn(f64) -> f64,
) {
    for (i, (_, points)) in lines.iter().enumerate() {
        let colour = i % 4;
        if let [(px, py)] = points[..] {
            let _ = writeln!(
                out,
                "<circle class=\"c{colour}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\"/>",
                x(px),
                y(py)
            );
            continue;
        }
        let path: Vec<String> = points
            .iter()
            .map(|&(px, py)| format!("{:.1},{:.1}", x(px), y(py)))
            .collect();
        let _ = writeln!(
            out,
            "<polyline class=\"line c{colour}\" points=\"{}\"/>",
            path.join(" ")
        );
    }
}

/// Names of the lines in their colours, when there is more than one.
fn legend(lines: &[(&str, Vec<(f64, f64)>)]) -> String {
    if lines.len() < 2 {
        return String::new();
    }
    let mut out = String::new();
    for (i, (name, _)) in lines.iter().enumerate() {
        let _ = write!(
            out,
            " <span class=\"key k{}\">{}</span>",
            i % 4,
            escape(name)
        );
    }
    out
}

/// Finite points only, averaged in groups when there are too many.
fn thin(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let finite: Vec<_> = points
        .iter()
        .copied()
        .filter(|p| p.0.is_finite() && p.1.is_finite())
        .collect();
    let group = finite.len().div_ceil(MAX_POINTS).max(1);
    finite
        .chunks(group)
        .map(|c| {
            let n = c.len() as f64;
            (
                c.iter().map(|p| p.0).sum::<f64>() / n,
                c.iter().map(|p| p.1).sum::<f64>() / n,
            )
        })
        .collect()
}

/// Round tick values for the data, and the range the axis spans. With `round_out` the range ends on
/// ticks.
fn axis(
    values: impl Iterator<Item = f64>,
    about: usize,
    round_out: bool,
) -> (Vec<f64>, (f64, f64)) {
    let (mut low, mut high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |r, v| {
        (r.0.min(v), r.1.max(v))
    });
    if high - low <= 1e-12 * high.abs().max(1e-12) {
        let pad = if low == 0.0 { 1.0 } else { low.abs() * 0.1 };
        (low, high) = (low - pad, high + pad);
    }
    let step = round_step((high - low) / about as f64);
    let (first, last) = if round_out {
        ((low / step).floor(), (high / step).ceil())
    } else {
        ((low / step).ceil(), (high / step).floor())
    };
    let count = (last - first).clamp(0.0, 50.0) as usize;
    let ticks: Vec<f64> = (0..=count).map(|i| (first + i as f64) * step).collect();
    let range = if round_out {
        (first * step, last * step)
    } else {
        (low, high)
    };
    (ticks, range)
}

/// The number 1, 2 or 5 times a power of ten that is nearest above `raw`.
fn round_step(raw: f64) -> f64 {
    let power = 10f64.powf(raw.log10().floor());
    let lead = raw / power;
    let round = [1.0, 2.0, 5.0]
        .into_iter()
        .find(|r| lead <= r * 1.0001)
        .unwrap_or(10.0);
    round * power
}

/// A short label: 12k, 1.5M, 0.05.
fn number(v: f64) -> String {
    let trim = |s: String| {
        if s.contains('.') {
            s.trim_end_matches('0').trim_end_matches('.').to_string()
        } else {
            s
        }
    };
    let size = v.abs();
    match size {
        _ if size >= 1e6 => format!("{}M", trim(format!("{:.2}", v / 1e6))),
        _ if size >= 1e4 => format!("{}k", trim(format!("{:.1}", v / 1e3))),
        _ if size < 1e-12 => "0".into(),
        _ if size < 1e-3 => format!("{v:.1e}"),
        _ => trim(format!("{v:.4}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_cover_the_data() {
        let (ticks, range) = axis([0.013, 0.47].into_iter(), 5, true);
        assert_eq!(
            ticks.iter().map(|t| number(*t)).collect::<Vec<_>>(),
            ["0", "0.1", "0.2", "0.3", "0.4", "0.5"]
        );
        assert!(range.0 <= 0.013 && range.1 >= 0.47);
        let (ticks, _) = axis([1.0, 30_000.0].into_iter(), 6, false);
        assert_eq!(
            ticks.iter().map(|t| number(*t)).collect::<Vec<_>>()[..2],
            ["5000", "10k"]
        );
    }

    #[test]
    fn a_flat_or_single_line_still_has_an_axis() {
        for points in [vec![(0.0, 3.0)], vec![(0.0, 0.0), (10.0, 0.0)]] {
            let chart = Chart {
                title: "t".into(),
                x_label: "step".into(),
                lines: vec![Line {
                    name: "a".into(),
                    points,
                }],
            };
            let svg = chart.to_svg();
            assert!(
                svg.contains("<svg") && !svg.contains("NaN") && !svg.contains("inf"),
                "{svg}"
            );
        }
    }

    #[test]
    fn many_points_are_thinned_and_bad_ones_dropped() {
        let mut points: Vec<_> = (0..10_000).map(|i| (i as f64, 1.0)).collect();
        points.push((10_000.0, f64::NAN));
        let thinned = thin(&points);
        assert!(thinned.len() <= MAX_POINTS && thinned.iter().all(|p| p.1 == 1.0));
    }
}
