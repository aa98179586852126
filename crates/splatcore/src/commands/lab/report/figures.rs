//! Figures 9 to 13 and table IV of Hu & Zhou 2025, the paper's numbers beside those of journals.
//! The paper prints numbers of figures in its text only (section VI-B); where it prints none, none
//! stands here. What no journal has is called "not measured".

use crate::report::chart::{Chart, Line};
use splatcore_lab::candidate::Guided;
use splatcore_lab::figures::{self, Bars, Curve, Source};
use splatcore_papers::page::{Bar, BarChart, escape};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

const NOT_MEASURED: &str = "<p><b>Here: not measured.</b></p>\n";

pub(super) fn section(sources: &[Source]) -> String {
    let mut out = String::from(
        "<h2>The figures of Hu &amp; Zhou 2025</h2>\n<p class=\"note\">arXiv 2509.25626. Its \
         speed-ups are those of one kernel by Nsight Compute, on an RTX 4060 but for figure 12; \
         those from here are of whole frames.</p>\n",
    );
    out += &figure_9(sources);
    out += &figure_10(sources);
    out += &figure_11(sources);
    out += &figure_12(sources);
    out += &figure_13(sources);
    out + &table_4(sources)
}

fn mode(mode: Option<Guided>) -> &'static str {
    match mode {
        Some(Guided::PlannerAndProfile) => "planner and profile",
        Some(Guided::Planner) => "planner",
        Some(Guided::Nothing) => "neither",
        Some(Guided::Agent) => "coding agent",
        None => "search without a model",
    }
}

/// A heading, what the paper prints, and what was found here.
fn figure(title: &str, paper: &str, here: &str) -> String {
    let here = if here.is_empty() { NOT_MEASURED } else { here };
    format!("<h3>{title}</h3>\n<p>Paper: {paper}</p>\n{here}")
}

fn curves(title: &str, curves: &[Curve]) -> String {
    let line = |curve: &Curve| {
        let points = curve.mean.iter().enumerate();
        Line {
            name: format!("{}, {} runs", mode(curve.mode), curve.runs),
            points: points.map(|(n, &y)| ((n + 1) as f64, y)).collect(),
        }
    };
    let chart = Chart {
        title: title.into(),
        x_label: "candidates".into(),
        lines: curves.iter().map(line).collect(),
    };
    let mut out = chart.to_svg();
    if out.is_empty() {
        return out;
    }
    out += "<table class=\"numbers\"><tr><th>guidance</th><th>runs</th><th>candidates</th>\
            <th>at the end</th></tr>\n";
    for curve in curves {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td>{:.3}</td></tr>",
            mode(curve.mode),
            curve.runs,
            curve.mean.len(),
            curve.mean.last().copied().unwrap_or(f64::NAN)
        );
    }
    out + "</table>\n"
}

fn figure_9(sources: &[Source]) -> String {
    let found = figures::best_so_far(sources);
    figure(
        "Figure 9: speed-up of the best so far, by iteration",
        "1.68 at the end with planner and profile, on the search's scene. The other two curves end \
         lower; no number is printed.",
        &curves("Speed-up of the best so far", &found),
    )
}

fn figure_10(sources: &[Source]) -> String {
    let found = figures::error_rate(sources);
    figure(
        "Figure 10: error rate, by iteration",
        "no number is printed. Candidates count that do not compile or do not run to the end; here \
         those count that any gate stopped.",
        &curves("Share of candidates that a gate stopped", &found),
    )
}

/// Bars of each scene, a series for each of `bars`, and a table with the means.
fn bars(bars: &[Bars]) -> String {
    let mut scenes: BTreeSet<(bool, &str)> = BTreeSet::new();
    for one in bars {
        let names = one.scenes.iter();
        scenes.extend(names.map(|(scene, search, _)| (!search, scene.as_str())));
    }
    let group = |(held_out, scene): (bool, &str)| {
        let bar = |one: &Bars| {
            let mut all = one.scenes.iter();
            let (.., value) = all.find(|(name, search, _)| name == scene && *search != held_out)?;
            Some(Bar {
                value: *value,
                text: format!("{value:.3}"),
            })
        };
        let name = match held_out {
            true => format!("{scene} (held out)"),
            false => scene.to_owned(),
        };
        (name, bars.iter().map(bar).collect())
    };
    let chart = BarChart {
        series: bars.iter().map(|one| one.name.clone()).collect(),
        groups: scenes.into_iter().map(group).collect(),
    };
    let mut out = chart.to_svg();
    if out.is_empty() {
        return out;
    }
    out += "<table class=\"numbers\"><tr><th>speed-up</th><th>scenes</th><th>mean</th></tr>\n";
    for one in bars {
        let held_out = one.scenes.iter().any(|(_, search, _)| !search);
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{:.3} ({})</td></tr>",
            escape(&one.name),
            one.scenes.len(),
            one.mean().unwrap_or(f64::NAN),
            match held_out {
                true => "held-out scenes",
                false => "scenes of the search",
            }
        );
    }
    out + "</table>\n"
}

fn figure_11(sources: &[Source]) -> String {
    figure(
        "Figure 11: generality over scenes",
        "mean 1.38 and best 1.42 with planner and profile, mean 1.16 with planner, wrong on every \
         scene with neither; by hand mean 1.39 and best 1.48. One query without a search, scene \
         room: GPT-5 1.25, Deepseek 1.17 (table I).",
        &bars(&figures::scenes(sources)),
    )
}

fn figure_12(sources: &[Source]) -> String {
    figure(
        "Figure 12: generality over cards",
        "at least 1.30 with planner and profile on an RTX 2060 Super, an RTX A4000 and an RTX \
         A5000, five scenes each; the search ran on an RTX 4060.",
        &bars(&figures::cards(sources)),
    )
}

fn figure_13(sources: &[Source]) -> String {
    figure(
        "Figure 13: Seele on several scenes",
        "mean 1.06, the model's code corrected by hand. No speed-up for TC-GS.",
        &bars(&figures::seele(sources)),
    )
}

/// Who found what in table IV: checkers in rows, versions in columns.
const TABLE_4: [(&str, [bool; 4]); 4] = [
    ("GPT-5", [true, true, true, true]),
    ("Deepseek_r1", [false, true, true, false]),
    ("Gemini", [false, false, true, false]),
    ("Claude", [false, true, false, false]),
];

fn table_4(sources: &[Source]) -> String {
    let mut out = String::from(
        "<h3>Table IV: does a checker find that a version is not equivalent?</h3>\n<p>Paper: four \
         wrong versions of Seele.</p>\n<table class=\"numbers\"><tr><th>checker</th>",
    );
    for (model, _) in TABLE_4 {
        let _ = write!(out, "<th>{model} version</th>");
    }
    out += "</tr>\n";
    for (checker, found) in TABLE_4 {
        let cells = found.map(|found| if found { "<td>Yes</td>" } else { "<td>No</td>" });
        let _ = writeln!(out, "<tr><td>{checker}</td>{}</tr>", cells.concat());
    }
    out += "</table>\n";
    let table = figures::checkers(sources);
    if table.is_empty() {
        return out + NOT_MEASURED;
    }
    let coders: BTreeSet<&String> = table.keys().map(|(_, coder)| coder).collect();
    let mut rows: BTreeMap<&String, Vec<String>> = BTreeMap::new();
    for checker in table.keys().map(|(checker, _)| checker) {
        rows.entry(checker).or_insert_with(|| {
            let cell = |coder: &&String| match table.get(&(checker.clone(), (*coder).clone())) {
                Some(o) => format!(
                    "{} objected to, {} missed, {} passed",
                    o.objected, o.missed, o.passed
                ),
                None => "not measured".into(),
            };
            coders.iter().map(cell).collect()
        });
    }
    out += "<p>Here: missed are candidates that the checker found equivalent and a gate on results \
            stopped. Those that it objected to are evaluated no further.</p>\n\
            <table class=\"numbers\"><tr><th>checker</th>";
    for coder in &coders {
        let _ = write!(out, "<th>{} version</th>", escape(coder));
    }
    out += "</tr>\n";
    for (checker, cells) in rows {
        let _ = write!(out, "<tr><td>{}</td>", escape(checker));
        for cell in cells {
            let _ = write!(out, "<td>{cell}</td>");
        }
        out += "</tr>\n";
    }
    out + "</table>\n"
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_lab::summary::Summary;

    #[test]
    fn what_no_journal_has_is_not_measured() {
        let empty = Source {
            name: "one".into(),
            pipeline: "aabb+literal".into(),
            summary: Summary::default(),
            accepted: vec![],
        };
        let page = section(&[empty]);
        // Five figures and a table, and not one chart.
        assert_eq!(page.matches("not measured").count(), 6, "{page}");
        assert!(!page.contains("<svg") && !page.contains("NaN"), "{page}");
        assert!(page.contains("1.68") && page.contains("<td>Yes</td>"));
    }

    #[test]
    fn bars_name_what_was_held_out() {
        let one = Bars {
            name: "a<b".into(),
            scenes: vec![("room".into(), true, 1.5), ("attic".into(), false, 1.25)],
        };
        let text = bars(&[one]);
        assert_contains!(text, "attic (held out)", "1.250", "1.250 (held-out scenes)");
        assert!(!text.contains("a<b"), "{text}");
    }
}
