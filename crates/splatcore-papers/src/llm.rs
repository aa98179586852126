//! Numbers and layout of the paper on language models as kernel programmers.
//!
//! What it measures of kernels that it did not change is measured here too. Everything else comes
//! from searches and from questions to models, which `splatcore lab` makes: those rows say so.

use crate::about::About;
use crate::metric::{Format, Metric};
use crate::run::Run;
use crate::spec::{Here, Line, Spec};

/// The paper.
pub const ABOUT: About = About {
    name: "LLM",
    title: "LLM-Powered Code Analysis and Optimization for Gaussian Splatting Kernels",
    reference: "Hu, Zhou; arXiv 2509.25626",
    card: "NVIDIA RTX 4060",
};

/// Table I: 3DGS, Seele and TC-GS, and the pipeline of each here.
const KERNELS: [(&str, &str); 3] = [
    ("3DGS ms", "aabb+literal"),
    ("Seele ms", "exact+seele"),
    ("TC-GS ms", "accutile+tc-gs"),
];
const ORIGIN: [f64; 3] = [4.71, 1.26, 0.43];
/// Table I: models and their kernels' times; those that failed have none.
const MODELS: [(&str, [Option<f64>; 3]); 4] = [
    ("GPT-5", [Some(3.76), Some(1.19), Some(0.44)]),
    ("Deepseek", [Some(4.01), None, None]),
    ("Gemini", [Some(4.34), None, None]),
    ("Claude", [None, None, None]),
];
const NO_MODEL: &str = "not run: no model was asked with this kernel alone";

/// Table II: Dr Johnson, Mip-NeRF 360.
const SYSTEM: [(&str, [f64; 2]); 15] = [
    (
        "Arithmetic intensity of turning point (FLOP/byte)",
        [42.63, 42.63],
    ),
    ("Performance of turning point (1e12 FLOP/s)", [11.24, 11.24]),
    (
        "Arithmetic intensity of GS kernel (FLOP/byte)",
        [253.68, 235.35],
    ),
    ("Performance of GS kernel (1e12 FLOP/s)", [2.34, 2.22]),
    ("Warp cycles per issued instruction", [12.88, 12.95]),
    ("Theoretical occupancy (%)", [100.0, 100.0]),
    ("Achieved occupancy (%)", [94.77, 95.25]),
    ("Block limit warps", [6.0, 6.0]),
    ("Stall not selected", [4.55, 4.21]),
    ("Stall wait", [2.59, 2.59]),
    ("Stall barrier", [0.91, 1.45]),
    ("Stall short scoreboard", [1.19, 1.18]),
    ("Selected", [1.0, 1.0]),
    ("Stall math pipe throttle", [0.95, 0.85]),
    (
        "Highest pipe utilization of active cycles: ALU (%)",
        [57.1, 57.1],
    ),
];
const NO_PROFILE: &str = "not run: Nsight Compute was not run on literal";

/// Table III.
const WORKLOAD: [(&str, f64, Option<Metric>); 4] = [
    (
        "Average of Gaussians for each tile",
        1189.0,
        Some(Metric::ListMean),
    ),
    (
        "Variance of Gaussians for each tile",
        614_608.0,
        Some(Metric::ListVariance),
    ),
    (
        "Average of calculated Gaussians per thread (%)",
        95.0,
        Some(Metric::EvaluatedShare),
    ),
    ("Variance of calculated Gaussians per thread", 0.02, None),
];
const NO_THREADS: &str = "not run: bench counts no fragments by thread";

/// Table IV: whether a model sees that a kernel is wrong; kernels of GPT-5, Deepseek, Gemini and
/// Claude.
const CHECKERS: [(&str, [f64; 4]); 4] = [
    ("GPT-5", [1.0, 1.0, 1.0, 1.0]),
    ("Deepseek", [0.0, 1.0, 1.0, 0.0]),
    ("Gemini", [0.0, 0.0, 1.0, 0.0]),
    ("Claude", [0.0, 1.0, 0.0, 0.0]),
];
const NO_CHECK: &str = "not run: no journal holds a cross-check";

/// A search's result is not `bench`'s to measure.
const SEARCH: &str = "a search's: splatcore lab run";
const NOT_PRINTED: &str = "The figure prints no numbers; those here are of the text.";

/// The tables.
pub fn specs() -> Vec<Spec> {
    vec![
        table_1(),
        table_2(),
        table_3(),
        table_4(),
        figure_9(),
        figure_10(),
        figure_11(),
        figure_12(),
        figure_13(),
    ]
}

/// A table without numbers of `bench`.
fn quoted(
    name: &'static str,
    caption: &'static str,
    columns: &[(&'static str, Format)],
    lines: Vec<Line>,
) -> Spec {
    Spec {
        name,
        caption,
        remarks: Vec::new(),
        paper: vec![("", columns.to_vec())],
        here: Vec::new(),
        lines,
        plot: (0, Vec::new()),
    }
}

fn table_1() -> Spec {
    let run = |i: usize| Run::of(KERNELS[i].1);
    let origin = Line::new("Origin", run(0), Run::vanilla(1));
    let origin = (1..KERNELS.len()).fold(origin, |line, i| line.and(run(i), Run::vanilla(1)));
    let model = |(label, times): &(&'static str, [Option<f64>; 3])| {
        Line::elsewhere(*label, NO_MODEL).paper_some(times)
    };
    let mut lines = vec![origin.paper(&ORIGIN)];
    lines.extend(MODELS.iter().map(model));
    lines.push(Line::splatcore(KERNELS.len()));
    let here = |(variant, (heading, _)): (usize, &(&'static str, &str))| Here {
        heading: Some(heading),
        metric: Metric::BlendMs,
        variant,
    };
    Spec {
        name: "Table I",
        caption: "time of the blend kernel, one query to each model",
        remarks: vec![
            "The paper's scene is Mip-NeRF 360's room. A model without a time failed; GPT-5's \
             kernels for Seele and TC-GS were mended by hand.",
            "here: aabb+literal, exact+seele and accutile+tc-gs.",
        ],
        paper: vec![("", KERNELS.map(|(name, _)| (name, Format::Ms)).to_vec())],
        here: KERNELS.iter().enumerate().map(here).collect(),
        lines,
        plot: (0, vec![0]),
    }
}

fn table_2() -> Spec {
    let columns = ["Dr Johnson", "Mip-NeRF 360"].map(|name| (name, Format::Hundredths));
    let line = |(label, values): &(&'static str, [f64; 2])| {
        Line::elsewhere(*label, NO_PROFILE).paper(values)
    };
    let lines = SYSTEM.iter().map(line).collect();
    quoted("Table II", "what a profiler says of 3DGS", &columns, lines)
}

fn table_3() -> Spec {
    let line = |&(label, value, metric): &(&'static str, f64, Option<Metric>)| {
        match metric {
            Some(metric) => Line::new(label, Run::vanilla(1), Run::vanilla(1)).ratios(metric),
            None => Line::elsewhere(label, NO_THREADS),
        }
        .paper(&[value])
    };
    let columns = [("3DGS", Format::Hundredths)];
    let own = Line::splatcore(1).ratios(Metric::ListMean);
    let lines = WORKLOAD.iter().map(line).chain([own]).collect();
    Spec {
        remarks: vec![
            "The paper does not name the scene. Its share per thread is a mean over threads, that \
             of the column here over all entries of all lists: long lists weigh more.",
            "The last row is the average for each tile.",
        ],
        here: vec![Metric::ListMean.into()],
        ..quoted("Table III", "work of blocks and threads", &columns, lines)
    }
}

fn table_4() -> Spec {
    let columns =
        ["GPT-5's", "Deepseek's", "Gemini's", "Claude's"].map(|name| (name, Format::Count));
    let line =
        |(label, seen): &(&'static str, [f64; 4])| Line::elsewhere(*label, NO_CHECK).paper(seen);
    let lines = CHECKERS.iter().map(line).collect();
    let caption = "whether a model sees that a kernel of Seele is wrong: 1 yes, 0 no";
    quoted("Table IV", caption, &columns, lines)
}

/// Who guided a search.
const GUIDANCE: [&str; 3] = ["neither", "planner", "planner and profile"];

fn figure_9() -> Spec {
    let ends = [None, None, Some(1.68)];
    let line = |(label, end): (&&'static str, Option<f64>)| {
        Line::elsewhere(*label, SEARCH).paper_some(&[end])
    };
    let lines = GUIDANCE.iter().zip(ends).map(line).collect();
    let columns = [("at the end", Format::Times)];
    let caption = "speed-up of the best kernel so far, on the search's scene";
    Spec {
        remarks: vec![NOT_PRINTED],
        ..quoted("Figure 9", caption, &columns, lines)
    }
}

fn figure_10() -> Spec {
    let line = |label: &&'static str| Line::elsewhere(*label, SEARCH).paper_some(&[None]);
    let columns = [("errors %", Format::Percent)];
    let lines = GUIDANCE.iter().map(line).collect();
    Spec {
        remarks: vec!["The figure prints no numbers, and the text gives none."],
        ..quoted(
            "Figure 10",
            "share of kernels that do not compile or run",
            &columns,
            lines,
        )
    }
}

fn figure_11() -> Spec {
    let line = |label, values: [Option<f64>; 2]| Line::elsewhere(label, SEARCH).paper_some(&values);
    let lines = vec![
        line("search, neither (wrong on every scene)", [None, None]),
        line("search, planner", [Some(1.16), None]),
        line("search, planner and profile", [Some(1.38), Some(1.42)]),
        line("by hand", [Some(1.39), Some(1.48)]),
    ];
    let columns = [("mean", Format::Times), ("best", Format::Times)];
    Spec {
        remarks: vec![NOT_PRINTED],
        ..quoted(
            "Figure 11",
            "speed-up over 3DGS on other scenes",
            &columns,
            lines,
        )
    }
}

fn figure_12() -> Spec {
    let line = |card: &&'static str| Line::elsewhere(*card, SEARCH).paper(&[1.30]);
    let cards = ["RTX 2060 Super", "RTX A4000", "RTX A5000"];
    let columns = [("mean, at least", Format::Times)];
    Spec {
        remarks: vec![NOT_PRINTED],
        ..quoted(
            "Figure 12",
            "speed-up over 3DGS on other cards, planner and profile",
            &columns,
            cards.iter().map(line).collect(),
        )
    }
}

fn figure_13() -> Spec {
    let line = |(label, mean): (&'static str, f64)| Line::elsewhere(label, SEARCH).paper(&[mean]);
    let lines = [("Seele", 1.06), ("TC-GS (in the text)", 1.0)].map(line);
    Spec {
        remarks: vec![NOT_PRINTED],
        ..quoted(
            "Figure 13",
            "speed-up of GPT-5's kernels, mended by hand",
            &[("mean", Format::Times)],
            lines.into(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::Paper;
    use crate::test_data::scene;

    /// The text says up to 24 % in one query: the reciprocal of table I's times is 25 %.
    #[test]
    fn the_best_model_is_a_quarter_faster() {
        let gain = ORIGIN[0] / MODELS[0].1[0].unwrap();
        assert!((gain - 1.25).abs() < 0.005, "{gain}");
    }

    #[test]
    fn every_checker_has_the_hits_of_the_text() {
        let hits: Vec<f64> = CHECKERS.iter().map(|(_, seen)| seen.iter().sum()).collect();
        assert_eq!(hits, [4.0, 2.0, 1.0, 1.0]);
    }

    #[test]
    fn the_unchanged_kernels_are_measured_and_the_rest_says_why_not() {
        let tables = Paper::Llm.tables(&[scene(Paper::Llm, "")], &[]);
        assert_eq!(tables.len(), 9);
        let origin = &tables[0].rows[0];
        assert!(origin.cells[..3].iter().all(Option::is_some));
        for row in tables.iter().flat_map(|table| &table.rows) {
            let said = row.note.as_deref().unwrap_or_default();
            let why = said.starts_with("not run: ") || said.starts_with("a search's");
            assert!(why || !row.pipelines.is_empty(), "{}", row.label);
        }
    }
}
