//! Numbers and layout of Atomic Aggregation.
//!
//! Its figures print no numbers; those beside ours are the means and maxima of its sections 3 and
//! 5. Figures 4, 10 and 11 are statistics of a profiler: in their place stand the atomic additions
//! that each method makes, which follow from counted fragments and warps.

use crate::about::About;
use crate::metric::{Format, Metric};
use crate::run::Run;
use crate::spec::{Here, Line, Spec};
use crate::training::TrainingSpec;

/// The paper.
pub const ABOUT: About = About {
    name: "Atomic Aggregation",
    title: "Atomic Aggregation on 3D Gaussian Splatting",
    reference: "Chen, Zhang, Peng; the text that the numbers come from names no venue",
    card: "NVIDIA RTX 4090 and RTX 3060",
};

/// The rows, and their backward methods.
const METHODS: [(&str, &str); 4] = [
    ("Baseline (atomic)", BASELINE),
    ("reduction (warp-reduce, figure 7)", "warp-reduce"),
    ("Ours in the paper (warp-reduce-skip, figure 8)", OURS),
    ("not in the paper: gaussian-parallel", "gaussian-parallel"),
];
const BASELINE: &str = "atomic";
const OURS: &str = "warp-reduce-skip";

/// The paper's lists: INRIA's boxes. Its own baseline.
const BOXES: &str = "aabb+scalar";
/// Lists of the pairs that a pixel sees.
const TIGHT: &str = "exact+scalar";

/// Heading of the speed-up of tight lists over the baseline with boxes.
const TIGHT_OVER_BOXES: &str = "tight over boxes";

/// Section 5, on an RTX 4090, then on an RTX 3060: mean and greatest speed-up.
const GRADIENT_SPEED_UP: [f64; 4] = [3.04, 5.2, 2.04, 2.92];
/// Likewise, of a whole step.
const STEP_SPEED_UP: [f64; 4] = [1.58, 2.05, 1.37, 1.61];
/// Section 3.1: mean and greatest share of gradient computation in a training on an RTX 4090.
const GRADIENT_SHARE: [f64; 2] = [47.0, 59.2];
/// Section 3.1: stalls on the load-store unit, in percent of all, are above this.
const LSU_STALLS: f64 = 60.0;
/// Section 3.1: mean and greatest speed-up with plain additions, whose sums are wrong.
const PLAIN_ADD: [f64; 2] = [17.16, 34.21];
/// Section 5: by how much warp stalls fall, and those on the load-store unit; mean and greatest.
const FEWER_STALLS: [f64; 4] = [4.28, 7.38, 3.6, 6.41];
/// Section 5: use of the load-store unit over the baseline's; mean and greatest.
const LSU_USE: [f64; 2] = [8.05, 15.94];

/// Table 1, as printed.
const PROCESSOR: [(&str, &str); 5] = [
    (
        "CPU",
        "3.6GHz Rocket-lake-like, OOO 4-wide dispatch window, 128-entry ROB; 32 entry LSQ",
    ),
    (
        "L1D + L1I Cache",
        "2.3MB, 4 way LRU, 1 cycle; 64 Byte line; MSHR size: 10; stride prefetcher",
    ),
    (
        "L2 Cache",
        "32MB, 8 way LRU, 4 cycle; 64 Byte line; MSHR size: 10; stride prefetcher",
    ),
    (
        "L3 Cache",
        "36MB, 16 way LRU, 20 cycle; 64 Byte line; MSHR size: 64; stride prefetcher",
    ),
    ("DRAM", "2-channel; 16-bank; open-row policy, 4GB DDR4"),
];

/// Table 2, and table 3: PSNR of baseline and "Ours" on an RTX 4090, then on an RTX 3060.
const DATASETS: [(&str, &str, [f64; 4]); 6] = [
    (
        "lego",
        "NerfSynthetic-Lego",
        [35.793, 35.682, 33.708, 34.264],
    ),
    (
        "drums",
        "NerfSynthetic-Drums",
        [29.990, 30.124, 28.856, 29.034],
    ),
    (
        "playroom",
        "DB COLMAP Playroom",
        [32.843, 34.975, 29.988, 30.195],
    ),
    (
        "drjohnson",
        "DB COLMAP DR. Johnson",
        [29.549, 32.160, 28.025, 29.076],
    ),
    (
        "truck",
        "Tanks and Temples-Truck",
        [24.779, 25.851, 23.723, 24.170],
    ),
    (
        "train",
        "Tanks and Temples-Train",
        [23.591, 23.638, 19.393, 21.371],
    ),
];

/// Pipelines that table 3 compares.
const TRAINED: [(&str, &str); 7] = [
    ("boxes: atomic", "aabb+scalar+atomic"),
    ("boxes: skip", "aabb+scalar+warp-reduce-skip"),
    ("tight: atomic", "exact+scalar+atomic"),
    ("tight: reduce", "exact+scalar+warp-reduce"),
    ("tight: skip", "exact+scalar+warp-reduce-skip"),
    ("tight: gaussian-parallel", "exact+scalar+gaussian-parallel"),
    ("splatcore", "exact+splatcore+splatcore"),
];

/// The tables but for that of trainings.
pub fn specs() -> Vec<Spec> {
    vec![
        table_1(),
        table_2(),
        figure_2(),
        figure_4(),
        figure_5(),
        figure_6(),
        figure_9_gradient(),
        figure_9_step(),
        figure_10(),
        figure_11(),
    ]
}

/// Table 3.
pub fn trainings() -> TrainingSpec {
    let both = || vec!["Baseline", "Ours"];
    TrainingSpec {
        name: "Table 3",
        caption: "PSNR after a training of fixed time, 300 s in the paper",
        remarks: vec![
            "`--trainings DIR` reads the runs: DIR/DATASET/RUN with metrics.json and config.toml, \
             as `train --time-limit 300` leaves them. Several runs of one method, such as seeds: \
             their mean.",
            "boxes: aabb+scalar, the paper's lists; tight: exact+scalar. A run ends at the latest \
             when it has taken all its steps, whatever time is left.",
        ],
        methods: TRAINED.to_vec(),
        paper: vec![("4090", both()), ("3060", both())],
        datasets: DATASETS
            .iter()
            .map(|(name, _, psnr)| (*name, psnr.to_vec()))
            .collect(),
    }
}

/// A method with boxes, with tight lists, and with those over the baseline with boxes.
fn method(label: &str, backward: &str) -> Line {
    let of = |lists: &str, backward: &str| Run::of(format!("{lists}+{backward}"));
    let (boxes, tight) = (of(BOXES, backward), of(TIGHT, backward));
    Line::new(label, boxes, of(BOXES, BASELINE))
        .and(tight.clone(), of(TIGHT, BASELINE))
        .and(tight, of(BOXES, BASELINE))
}

/// The rows of all tables with times: the paper's numbers stand in that of its own method.
fn methods(paper_of: &str, paper: &[f64]) -> Vec<Line> {
    let mut lines: Vec<Line> = METHODS
        .iter()
        .map(|&(label, backward)| {
            let line = method(label, backward);
            match backward == paper_of {
                true => line.paper(paper),
                false => line,
            }
        })
        .collect();
    let baseline = |lists: &str| Run::of(format!("{lists}+{BASELINE}"));
    let ours = Line::splatcore(1)
        .and(Run::splatcore(1), baseline(TIGHT))
        .and(Run::splatcore(1), baseline(BOXES));
    lines.push(ours);
    lines
}

/// A column.
fn here(heading: &'static str, metric: Metric, variant: usize) -> Here {
    Here {
        heading: Some(heading),
        metric,
        variant,
    }
}

/// Both lists.
const LISTS: &str = "boxes: aabb+scalar, INRIA's lists, which the paper starts from; tight: \
                     exact+scalar, the pairs that a pixel sees. splatcore: exact+splatcore in \
                     both.";
/// What stands in place of a profiler's statistics.
const COUNTED: &str = "A profiler's statistic in the paper, not measured here. Counted in its \
                       place: atomic additions, nine for each fragment (atomic), for each Gaussian \
                       that a warp walks (reduction) or adds to (reduction and skip), none where \
                       each (tile, Gaussian) pair has a row of its own. `-`: the backend counts no \
                       warps.";

fn mean_and_max(format: Format) -> Vec<(&'static str, Format)> {
    vec![("mean", format), ("max", format)]
}

fn table_1() -> Spec {
    let line = |&(label, text): &(&'static str, &'static str)| Line::elsewhere(label, text);
    Spec {
        name: "Table 1",
        caption: "the paper's processor",
        remarks: vec!["The device here stands at the head."],
        paper: vec![],
        here: vec![],
        lines: PROCESSOR.iter().map(line).collect(),
        plot: (0, vec![]),
    }
}

fn table_2() -> Spec {
    let mut lines: Vec<Line> = DATASETS
        .iter()
        .map(|&(label, dataset, _)| Line::elsewhere(label, dataset))
        .collect();
    let baseline = |lists: &str| Run::of(format!("{lists}+{BASELINE}"));
    for (label, lists) in [("here: boxes", BOXES), ("here: tight lists", TIGHT)] {
        lines.push(Line::new(label, baseline(lists), baseline(BOXES)));
    }
    lines.push(Line::splatcore(1));
    Spec {
        name: "Table 2",
        caption: "workloads and datasets",
        remarks: vec![
            "The paper gives no counts of its scenes. Ours: Gaussians in view, (tile, Gaussian) \
             pairs and fragments that change their pixel, means over the views.",
        ],
        paper: vec![],
        here: [Metric::Visible, Metric::Pairs, Metric::Blended]
            .map(Here::from)
            .to_vec(),
        lines,
        plot: (2, vec![]),
    }
}

fn figure_2() -> Spec {
    Spec {
        name: "Figure 2",
        caption: "where a training step's time goes, percent",
        remarks: vec![
            "The figure prints no numbers; these are the share of gradient computation in section \
             3.1, for an RTX 4090. update: gradients of parameters and the optimiser.",
            LISTS,
        ],
        paper: vec![("4090, gradient %", mean_and_max(Format::Percent))],
        here: vec![
            here("boxes: forward", Metric::ForwardShare, 0),
            here("loss", Metric::LossShare, 0),
            here("gradient", Metric::GradientShare, 0),
            here("update", Metric::UpdateShare, 0),
            here("tight: forward", Metric::ForwardShare, 1),
            here("loss", Metric::LossShare, 1),
            here("gradient", Metric::GradientShare, 1),
            here("update", Metric::UpdateShare, 1),
        ],
        lines: methods(BASELINE, &GRADIENT_SHARE),
        plot: (2, vec![0]),
    }
}

fn figure_4() -> Spec {
    Spec {
        name: "Figure 4",
        caption: "breakdown of warp stalls",
        remarks: vec![
            "Section 3.1: over 60% of all stalls are on the load-store unit.",
            COUNTED,
            LISTS,
        ],
        paper: vec![("", vec![("LSU stalls %, over", Format::Percent)])],
        here: vec![
            here("boxes: additions M", Metric::Updates, 0),
            here("tight: additions M", Metric::Updates, 1),
        ],
        lines: methods(BASELINE, &[LSU_STALLS]),
        plot: (0, vec![]),
    }
}

fn figure_5() -> Spec {
    let mut lines = methods("", &[]);
    let plain = Line::elsewhere(
        "atomic_add replaced by add",
        "wrong sums: not a method here",
    );
    lines.insert(1, plain.paper(&PLAIN_ADD));
    Spec {
        name: "Figure 5",
        caption: "gain of gradient computation without atomic additions",
        remarks: vec![
            "The figure prints no numbers; these are those of section 3.1. gaussian-parallel and \
             splatcore add nothing atomically either, and their sums are right.",
            LISTS,
        ],
        paper: vec![("speed-up", mean_and_max(Format::Times))],
        here: vec![
            here("boxes: speed-up", Metric::GradientSpeedUp, 0),
            here("tight: speed-up", Metric::GradientSpeedUp, 1),
        ],
        lines,
        plot: (0, vec![0]),
    }
}

fn figure_6() -> Spec {
    Spec {
        name: "Figure 6",
        caption: "threads of a warp, of 32, that take part in atomic updates",
        remarks: vec![
            "The figure prints no numbers and the text gives none. Counted: fragments over (warp, \
             Gaussian) pairs, of the warps that add anything, and of all that look at the \
             Gaussian. The same for every method; a warp is 16x2 pixels. `-`: the backend counts \
             no warps.",
            LISTS,
        ],
        paper: vec![],
        here: vec![
            here("boxes: lanes, warps that add", Metric::ActiveLanes, 0),
            here("all warps", Metric::ActiveLanesOfAll, 0),
            here("tight: lanes, warps that add", Metric::ActiveLanes, 1),
            here("all warps", Metric::ActiveLanesOfAll, 1),
        ],
        lines: methods("", &[]),
        plot: (0, vec![]),
    }
}

/// Columns of a time and its speed-up for each variant of [`method`].
fn times(ms: Metric, speed_up: Metric) -> Vec<Here> {
    vec![
        here("boxes: ms", ms, 0),
        here("speed-up", speed_up, 0),
        here("tight: ms", ms, 1),
        here("speed-up", speed_up, 1),
        here(TIGHT_OVER_BOXES, speed_up, 2),
    ]
}

fn speed_ups() -> Vec<(&'static str, Vec<(&'static str, Format)>)> {
    vec![
        ("4090, speed-up", mean_and_max(Format::Times)),
        ("3060, speed-up", mean_and_max(Format::Times)),
    ]
}

fn figure_9_gradient() -> Spec {
    Spec {
        name: "Figure 9, gradient computation",
        caption: "time of gradient computation, and speed-up over the baseline",
        remarks: vec![
            "The figure prints no numbers; these are those of section 5.",
            LISTS,
            "speed-up: over the baseline with the same lists; tight over boxes: over the baseline \
             with INRIA's boxes.",
        ],
        paper: speed_ups(),
        here: times(Metric::GradientMs, Metric::GradientSpeedUp),
        lines: methods(OURS, &GRADIENT_SPEED_UP),
        plot: (1, vec![0, 2]),
    }
}

fn figure_9_step() -> Spec {
    Spec {
        name: "Figure 9, end to end",
        caption: "time of a training step, and speed-up over the baseline",
        remarks: vec![
            "The figure prints no numbers; these are those of section 5. A step here is one of \
             training without refinements, by the wall clock.",
            LISTS,
        ],
        paper: speed_ups(),
        here: times(Metric::StepMs, Metric::StepSpeedUp),
        lines: methods(OURS, &STEP_SPEED_UP),
        plot: (1, vec![0, 2]),
    }
}

fn figure_10() -> Spec {
    Spec {
        name: "Figure 10",
        caption: "warp stalls in gradient computation",
        remarks: vec![COUNTED, "The figure prints no numbers.", LISTS],
        paper: vec![
            ("stalls, fewer by", mean_and_max(Format::Times)),
            ("LSU stalls, fewer by", mean_and_max(Format::Times)),
        ],
        here: vec![
            here("boxes: fewer additions", Metric::FewerUpdates, 0),
            here("tight: fewer additions", Metric::FewerUpdates, 1),
        ],
        lines: methods(OURS, &FEWER_STALLS),
        plot: (0, vec![]),
    }
}

fn figure_11() -> Spec {
    Spec {
        name: "Figure 11",
        caption: "use of the load-store unit",
        remarks: vec![COUNTED, "The figure prints no numbers.", LISTS],
        paper: vec![("times the baseline's", mean_and_max(Format::Times))],
        here: vec![
            here("boxes: additions/us", Metric::UpdateRate, 0),
            here("tight: additions/us", Metric::UpdateRate, 1),
        ],
        lines: methods(OURS, &LSU_USE),
        plot: (0, vec![]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Section 5 states mean and greatest gain of table 3, over both cards.
    #[test]
    fn psnrs_are_what_the_text_says() {
        let gains = DATASETS
            .iter()
            .flat_map(|(_, _, p)| [p[1] - p[0], p[3] - p[2]]);
        let gains: Vec<f64> = gains.collect();
        let mean = gains.iter().sum::<f64>() / gains.len() as f64;
        assert!((mean - 0.858).abs() < 1e-3, "{mean}");
        let most = gains.iter().copied().fold(f64::MIN, f64::max);
        assert!((most - 2.611).abs() < 1e-9, "{most}");
    }

    #[test]
    fn speed_ups_are_over_the_baseline_with_the_same_lists() {
        let spec = figure_9_gradient();
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

    #[test]
    fn table_3_trains_with_pipelines() {
        for (_, pipeline) in TRAINED {
            let parsed = pipeline.parse::<splatcore_core::Pipeline>().unwrap();
            assert_eq!(parsed.to_string(), pipeline);
        }
    }
}
