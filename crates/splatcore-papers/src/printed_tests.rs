//! The numbers of the papers agree with each other and with what the texts say.

use crate::paper::Paper;
use crate::run::Run;
use crate::spec::{Line, Spec};
use crate::test_data::scene;
use splatcore_core::Pipeline;

fn spec(paper: Paper, name: &str) -> &'static Spec {
    let mut specs = paper.described().specs.iter();
    specs.find(|spec| spec.name == name).unwrap()
}

/// The paper's numbers in a row of a table.
fn numbers(paper: Paper, table: &str, label: &str) -> Vec<Option<f64>> {
    let mut lines = spec(paper, table).lines.iter();
    lines
        .find(|line| line.label == label)
        .unwrap()
        .paper
        .clone()
}

/// As [`numbers`], of a row where none is missing.
fn all(paper: Paper, table: &str, label: &str) -> Vec<f64> {
    numbers(paper, table, label)
        .into_iter()
        .map(Option::unwrap)
        .collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[test]
fn tc_gs_speed_ups_are_what_the_printed_times_give() {
    let renderers = &spec(Paper::Tc, "Table 3").lines[..12];
    for (row, lines) in renderers.chunks(3).enumerate() {
        let (without, with) = (&lines[0].paper, &lines[1].paper);
        for dataset in 0..3 {
            let at = |line: &[Option<f64>], column: usize| line[4 * dataset + column].unwrap();
            let (found, printed) = (at(with, 0) / at(without, 0), at(with, 1));
            // The one that the remark speaks of.
            if (row, dataset) == (0, 0) {
                assert!((found - 2.002).abs() < 1e-3 && printed == 2.13);
                continue;
            }
            // Some are cut after two digits, not rounded.
            let label = &lines[0].label;
            assert!((found - printed).abs() < 0.01, "{label} {dataset}: {found}");
        }
    }
    for Line { label, paper, .. } in &spec(Paper::Tc, "Table 4").lines[..4] {
        for scene in paper.chunks(3) {
            let [with, times, without] = [0, 1, 2].map(|i| scene[i].unwrap());
            assert!((without / with - times).abs() <= 0.006, "{label} {with}");
        }
    }
}

/// Section 5.3 gives the ranges, and both tables measured the same two renderers.
#[test]
fn tc_gs_ablations_agree_with_the_text() {
    let fps = |label| all(Paper::Tc, "Table 5", label);
    let near = |label, low: f64, high: f64| {
        let neither = fps("neither").into_iter();
        let gains = fps(label).into_iter().zip(neither).map(|(a, b)| a / b);
        let (a, b) = gains.fold((f64::MAX, f64::MIN), |r, v| (r.0.min(v), r.1.max(v)));
        assert!(
            (a - low).abs() < 0.01 && (b - high).abs() < 0.01,
            "{label}: {a} to {b}"
        );
    };
    near("EarlyCull", 1.06, 1.51);
    near("Frag2Mat with G2L", 1.97, 2.24);
    for (label, precision) in [
        ("neither", "FP32, no Frag2Mat"),
        ("both", "Frag2Mat, G2L, FP16"),
    ] {
        let precision = all(Paper::Tc, "Table 6", precision);
        assert_eq!([precision[3], precision[1]], fps(label)[..2]);
    }
}

#[test]
fn gemm_gs_speed_ups_are_what_the_printed_times_give() {
    let lines = &spec(Paper::Gemm, "Table 2").lines;
    let printed: Vec<&Line> = lines.iter().filter(|line| !line.paper.is_empty()).collect();
    assert_eq!(printed.len(), 18);
    let figure = spec(Paper::Gemm, "Figure 5").lines.iter();
    for (rows, bar) in printed.chunks(3).zip(figure) {
        let [without, with, speed_up] = [0, 1, 2].map(|i| &rows[i].paper);
        let label = &rows[0].label;
        for i in 0..13 {
            let found = without[i].unwrap() / with[i].unwrap();
            // Times have two digits after the point: 1 in 120 of the shortest.
            let speed_up = speed_up[i].unwrap();
            assert!(
                (found - speed_up).abs() <= 0.012,
                "{label}, {i}: {found} {speed_up}"
            );
        }
        // Section 4.2 states the means on an A100.
        let mean = speed_up[13].unwrap();
        assert!(
            (mean - bar.paper[0].unwrap()).abs() <= 0.012,
            "{label}: {mean}"
        );
    }
}

#[test]
fn tensor_gs_numbers_agree_where_the_paper_gives_them_twice() {
    let of = |table, label| all(Paper::Tensor, table, label);
    // Table 3 prints the differences too.
    let printed = [0.05, 0.03, -0.07, -0.09, -0.07, 0.03];
    let halves = of("Table 3", "FP16 (plain halves)")
        .into_iter()
        .zip(of("Table 3", "FP32"));
    for ((half, full), difference) in halves.zip(printed) {
        assert!((half - full - difference).abs() < 1e-9, "{half} {full}");
    }
    let naive = of("Figure 4", "Naive Tensorization");
    assert_eq!(of("Table 6", "1x1"), naive);
    let limits = of("Table 4", "Naive Tensorization");
    assert_eq!(limits[..1], naive[..]);
    // Section 3.1: 68% of rasterization, which is 75% of the time, are 51% of it.
    let (power, rasterization) = (of("Figure 1(b)", "3DGS"), of("Figure 1(a)", "3DGS"));
    assert!((power[0] / 100.0 * rasterization[0] - power[1]).abs() < 0.1);
    let parts = ["Tensor Core utilization", "DRAM bandwidth utilization"];
    let parts = parts.map(|part| of("Table 2", part)[0]);
    assert_eq!(of("Table 4", "Original 3DGS")[1..], parts);
}

/// Section 5 states mean and greatest gain of table 3, over both cards.
#[test]
fn atomic_aggregation_psnrs_are_what_the_text_says() {
    let trained = Paper::Atomic.described().trainings.as_ref().unwrap();
    let gains = trained
        .datasets
        .iter()
        .flat_map(|(_, p)| [p[1] - p[0], p[3] - p[2]]);
    let gains: Vec<f64> = gains.collect();
    assert_eq!(gains.len(), 12);
    assert!((mean(&gains) - 0.858).abs() < 1e-3, "{gains:?}");
    let most = gains.iter().copied().fold(f64::MIN, f64::max);
    assert!((most - 2.611).abs() < 1e-9, "{most}");
    for (_, pipeline) in &trained.methods {
        assert_eq!(pipeline.parse::<Pipeline>().unwrap().to_string(), *pipeline);
    }
}

#[test]
fn atomic_aggregation_speed_ups_are_over_the_baseline_with_the_same_lists() {
    let spec = spec(Paper::Atomic, "Figure 9, gradient computation");
    for line in &spec.lines {
        let against: Vec<&str> = line.runs.iter().map(|c| &*c.against.pipeline).collect();
        let splatcore = line.label.starts_with("splatcore");
        assert_eq!(against[1..], ["exact+scalar+atomic", "aabb+scalar+atomic"]);
        assert!(line.runs[0].against.same(&Run::vanilla(1)), "{against:?}");
        let prefix = if splatcore { "exact+" } else { "aabb+" };
        assert!(line.runs[0].run.pipeline.starts_with(prefix));
        assert!(line.runs[1].run.pipeline.starts_with("exact+"));
        assert!(line.runs[1].run.same(&line.runs[2].run));
    }
    assert!(spec.runs(None).iter().all(|run| run.also.backward));
}

/// The text says up to 24 % in one query: the reciprocal of table I's times is 25 %.
#[test]
fn the_best_language_model_is_a_quarter_faster() {
    let of = |label| numbers(Paper::Llm, "Table I", label)[0].unwrap();
    let gain = of("Origin") / of("GPT-5");
    assert!((gain - 1.25).abs() < 0.005, "{gain}");
}

#[test]
fn every_checker_has_the_hits_of_the_text() {
    let hits = ["GPT-5", "Deepseek", "Gemini", "Claude"];
    let hits = hits.map(|label| all(Paper::Llm, "Table IV", label).iter().sum::<f64>());
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
        let why = said.starts_with("not run") || said == "not asked";
        assert!(why || !row.pipelines.is_empty(), "{}", row.label);
    }
}
