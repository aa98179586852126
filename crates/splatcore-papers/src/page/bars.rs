//! Horizontal bars in groups as inline SVG text. No scripts, no fonts of its own.

use super::escape::escape;
use std::fmt::Write;

/// One bar.
pub struct Bar {
    /// Its length; bars that are not finite or below 0 are left out.
    pub value: f64,
    /// Written at its end.
    pub text: String,
}

/// A chart of bars that start at 0, all to the same scale.
pub struct BarChart {
    /// What the bars of a group are, in order: a colour each (there are six). Named in the legend.
    pub series: Vec<String>,
    /// Name of each group and a bar for each series, where there is one.
    pub groups: Vec<(String, Vec<Option<Bar>>)>,
}

const WIDTH: f64 = 760.0;
/// Where bars start; names of groups are left of it.
const LEFT: f64 = 210.0;
/// Left free for the text at the end of the longest bar.
const RIGHT: f64 = 70.0;
const BAR: f64 = 13.0;
const GAP: f64 = 9.0;
const COLOURS: usize = 6;

impl BarChart {
    /// The chart as a `<figure>`; empty text when there is no bar.
    pub fn to_svg(&self) -> String {
        let groups: Vec<(&str, Vec<(usize, &Bar)>)> = self
            .groups
            .iter()
            .map(|(name, bars)| (name.as_str(), drawn(bars)))
            .filter(|(_, bars)| !bars.is_empty())
            .collect();
        let all = || groups.iter().flat_map(|(_, bars)| bars);
        let Some(longest) = all().map(|(_, bar)| bar.value).max_by(f64::total_cmp) else {
            return String::new();
        };
        let scale = (WIDTH - LEFT - RIGHT) / longest.max(f64::MIN_POSITIVE);
        let height = all().count() as f64 * BAR + groups.len() as f64 * GAP;

        let mut out = String::from("<figure class=\"chart bars\"><figcaption>");
        // Writing to a String cannot fail, so the results are let go.
        for (i, name) in self.series.iter().enumerate() {
            if all().any(|(series, _)| *series == i) {
                let _ = write!(
                    out,
                    "<span class=\"key k{}\">{}</span> ",
                    i % COLOURS,
                    escape(name)
                );
            }
        }
        let _ = writeln!(
            out,
            "</figcaption>\n<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"bars \
             of the table below\">"
        );
        let mut y = GAP / 2.0;
        for (name, bars) in &groups {
            let middle = y + bars.len() as f64 * BAR / 2.0 + 4.0;
            let _ = writeln!(
                out,
                "<text class=\"tick\" x=\"{}\" y=\"{middle:.1}\" text-anchor=\"end\">{}</text>",
                LEFT - 8.0,
                escape(name)
            );
            for (series, bar) in bars {
                let length = bar.value * scale;
                let _ = writeln!(
                    out,
                    "<rect class=\"b{}\" x=\"{LEFT}\" y=\"{y:.1}\" width=\"{length:.1}\" \
                     height=\"{:.1}\"/>\
                     <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                    series % COLOURS,
                    BAR - 2.0,
                    LEFT + length + 5.0,
                    y + BAR - 3.0,
                    escape(&bar.text)
                );
                y += BAR;
            }
            y += GAP;
        }
        out.push_str("</svg></figure>\n");
        out
    }
}

/// The bars that can be drawn, each with the number of its series.
fn drawn(bars: &[Option<Bar>]) -> Vec<(usize, &Bar)> {
    let there = bars
        .iter()
        .enumerate()
        .filter_map(|(i, bar)| Some((i, bar.as_ref()?)));
    there
        .filter(|(_, bar)| bar.value.is_finite() && bar.value >= 0.0)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bar(value: f64) -> Option<Bar> {
        let text = format!("<{value}>");
        Some(Bar { value, text })
    }

    #[test]
    fn bars_are_as_long_as_their_values() {
        let chart = BarChart {
            series: vec!["here".into(), "paper".into(), "nowhere".into()],
            groups: vec![
                ("a & b".into(), vec![bar(2.0), bar(1.0), None]),
                ("empty".into(), vec![None, bar(f64::NAN), None]),
                ("c".into(), vec![bar(0.0), None, None]),
            ],
        };
        let svg = chart.to_svg();
        let after = |text: &str, key: &str| -> Vec<f64> {
            let parts = text.split(key).skip(1);
            parts
                .map(|part| part.split('"').next().unwrap().parse().unwrap())
                .collect()
        };
        assert_eq!(after(&svg, " width=\""), [480.0, 240.0, 0.0]);
        assert_eq!(svg.matches("<rect class=\"b0\"").count(), 2);
        // What is not drawn has no name in the picture either.
        assert!(
            !svg.contains("empty") && !svg.contains("nowhere") && svg.contains("a &amp; b"),
            "{svg}"
        );
        assert!(svg.contains("&lt;2&gt;") && !svg.contains("NaN"), "{svg}");
    }

    #[test]
    fn no_bars_no_picture() {
        let chart = BarChart {
            series: vec!["here".into()],
            groups: vec![("a".into(), vec![None])],
        };
        assert_eq!(chart.to_svg(), "");
    }
}
