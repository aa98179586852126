//! Numbers and layout of GEMM-GS.
// A scene that renders in 6.28 ms has nothing to do with circles.
#![allow(clippy::approx_constant)]

use crate::about::About;
use crate::compression::Compression;
use crate::metric::{Format, Metric};
use crate::part::{PARTS, part_of};
use crate::run::Run;
use crate::spec::{Here, Line, Spec};

/// The paper.
pub const ABOUT: About = About {
    name: "GEMM-GS",
    title: "Accelerating 3D Gaussian Splatting on Tensor Cores with GEMM-Compatible Blending",
    reference: "Li, Zhu, Liu, Wang, Liang, Jiang, Guan; DAC 2026",
    card: "NVIDIA A100 (and H100 where the table says so)",
};

const SCENES: [&str; 13] = [
    "truck",
    "train",
    "drjohnson",
    "playroom",
    "bicycle",
    "bonsai",
    "counter",
    "flowers",
    "garden",
    "kitchen",
    "room",
    "stump",
    "treehill",
];

/// A renderer that GEMM-GS was put into.
struct Base {
    name: &'static str,
    /// Its intersection method; vanilla's of a renderer that changes the model instead.
    intersect: &'static str,
    /// How it changes the model, if it does.
    model: Option<Compression>,
    /// Table 2: milliseconds an image on each of [`SCENES`].
    without: [f64; 13],
    /// Table 2, with GEMM-GS.
    with: [f64; 13],
    /// Table 2, the speed-ups as printed.
    speed_up: [f64; 13],
    /// Section 4.2: mean speed-up on an A100.
    mean_a100: f64,
    /// Section 4.2 and figure 5: on an H100.
    mean_h100: Option<f64>,
}

impl Base {
    /// Its name with what is added to it, and which part of it runs here.
    fn label(&self, added: &str) -> String {
        format!("{}{added}{}", self.name, part_of(self.name))
    }

    /// A row of its intersection with a blend, compared with its own.
    fn line(&self, label: &str, blend: &str) -> Line {
        let run = |blend| Run::new(self.intersect, blend);
        Line::new(label, run(blend), run("scalar")).on(self.model)
    }
}

/// StopThePop with its hierarchical order of each pixel, behind its tile test.
fn per_pixel_order() -> Line {
    let run = Run::new("tile-cull", "stop-the-pop");
    Line::new(
        "StopThePop, per-pixel order too",
        run,
        Run::new("tile-cull", "scalar"),
    )
}

const BASES: [Base; 6] = [
    Base {
        name: "Vanilla 3DGS",
        intersect: "aabb",
        model: None,
        without: [
            4.28, 4.51, 6.16, 4.37, 9.64, 3.77, 5.17, 4.22, 6.49, 5.97, 5.32, 4.73, 5.02,
        ],
        with: [
            2.78, 3.01, 4.16, 2.86, 6.87, 2.7, 3.72, 2.99, 4.81, 4.33, 3.97, 3.47, 3.63,
        ],
        speed_up: [
            1.54, 1.50, 1.48, 1.53, 1.40, 1.40, 1.39, 1.41, 1.35, 1.38, 1.34, 1.36, 1.38,
        ],
        mean_a100: 1.42,
        mean_h100: Some(1.37),
    },
    Base {
        name: "FlashGS",
        intersect: "exact",
        model: None,
        without: [
            2.53, 2.6, 2.08, 1.51, 4.16, 1.52, 2.08, 2.31, 3.74, 2.84, 2.02, 2.71, 2.48,
        ],
        with: [
            2.29, 2.15, 1.58, 1.23, 3.69, 1.27, 1.73, 1.93, 3.21, 2.39, 1.72, 2.28, 2.15,
        ],
        speed_up: [
            1.10, 1.21, 1.32, 1.23, 1.13, 1.20, 1.20, 1.20, 1.17, 1.19, 1.17, 1.19, 1.15,
        ],
        mean_a100: 1.19,
        mean_h100: Some(1.21),
    },
    Base {
        name: "StopThePop",
        intersect: "tile-cull",
        model: None,
        without: [
            3.52, 3.86, 5.49, 3.53, 8.91, 2.91, 4.31, 3.62, 5.74, 5.31, 4.72, 4.12, 4.28,
        ],
        with: [
            2.56, 2.67, 3.75, 2.23, 6.28, 2.016, 3.11, 2.63, 4.324, 3.83, 3.35, 2.928, 3.048,
        ],
        speed_up: [
            1.38, 1.45, 1.46, 1.58, 1.42, 1.45, 1.39, 1.38, 1.33, 1.39, 1.41, 1.41, 1.40,
        ],
        mean_a100: 1.42,
        mean_h100: Some(1.33),
    },
    Base {
        name: "Speedy-Splat",
        intersect: "accutile",
        model: None,
        without: [
            2.83, 2.93, 2.85, 2.01, 4.7, 1.91, 2.5, 2.61, 4.16, 3.37, 2.31, 2.99, 2.82,
        ],
        with: [
            1.86, 1.88, 1.79, 1.26, 3.38, 1.25, 1.59, 1.78, 2.79, 2.44, 1.44, 2.09, 2.04,
        ],
        speed_up: [
            1.52, 1.56, 1.59, 1.60, 1.39, 1.53, 1.57, 1.47, 1.49, 1.38, 1.60, 1.43, 1.38,
        ],
        mean_a100: 1.50,
        mean_h100: Some(1.44),
    },
    Base {
        name: "c3dgs",
        intersect: "aabb",
        model: Some(Compression::C3dgs),
        without: [
            4.3, 4.93, 6.22, 4.35, 10.85, 4.37, 5.92, 4.71, 7.83, 7.37, 6.0, 5.53, 6.09,
        ],
        with: [
            2.53, 2.89, 3.49, 2.44, 6.29, 2.55, 3.4, 2.87, 4.56, 4.18, 3.37, 3.18, 3.61,
        ],
        speed_up: [
            1.70, 1.71, 1.78, 1.78, 1.72, 1.71, 1.74, 1.64, 1.72, 1.76, 1.78, 1.74, 1.69,
        ],
        mean_a100: 1.73,
        mean_h100: None,
    },
    Base {
        name: "LightGaussian",
        intersect: "aabb",
        model: Some(Compression::LightGaussian),
        without: [
            2.9, 2.29, 3.55, 2.7, 5.96, 2.95, 3.94, 3.38, 5.14, 4.17, 4.0, 3.85, 4.18,
        ],
        with: [
            1.85, 1.51, 2.2, 1.68, 3.67, 1.88, 2.48, 2.18, 3.23, 2.62, 2.49, 2.47, 2.6,
        ],
        speed_up: [
            1.57, 1.52, 1.61, 1.61, 1.62, 1.57, 1.59, 1.55, 1.59, 1.59, 1.61, 1.56, 1.61,
        ],
        mean_a100: 1.58,
        mean_h100: None,
    },
];

/// The remark below tables with rows of compressed models.
const COMPRESSED: &str = "Rows of c3dgs and LightGaussian are compressed models, rendered by \
                          vanilla 3DGS and with GEMM-GS in its place. \"vs 3DGS\" is over vanilla \
                          3DGS on the full model; dB is against vanilla 3DGS on the same model.";

/// Figure 6: width and height times so many, and the mean speed-up on an A100 that section 4.3 (at
/// 1x section 4.2) states.
const RESOLUTIONS: [(u32, f64); 3] = [(1, 1.42), (2, 1.73), (3, 1.74)];

/// Figure 7: batch sizes, with our names.
const BATCHES: [(&str, &str); 5] = [
    ("b = 32", "gemm-gs-32"),
    ("b = 64", "gemm-gs-64"),
    ("b = 128", "gemm-gs-128"),
    ("b = 256", "gemm-gs"),
    ("b = 512", "gemm-gs-512"),
];

/// The tables.
pub fn specs() -> Vec<Spec> {
    vec![table_2(), figure_5(), blend_alone(), figure_6(), figure_7()]
}

fn table_2() -> Spec {
    let mut lines = Vec::new();
    for base in &BASES {
        let with_mean =
            |values: &[f64; 13]| [&values[..], &[values.iter().sum::<f64>() / 13.0]].concat();
        lines.push(
            base.line(&base.label(""), "scalar")
                .paper(&with_mean(&base.without)),
        );
        lines.push(
            base.line("+ GEMM-GS", "gemm-gs")
                .paper(&with_mean(&base.with)),
        );
        let ratios = base.line("Speedup", "gemm-gs").ratios(Metric::SpeedUp);
        lines.push(ratios.paper(&with_mean(&base.speed_up)));
        if base.name == "StopThePop" {
            lines.push(per_pixel_order());
        }
    }
    lines.push(Line::splatcore(1));
    let paper: Vec<_> = SCENES
        .iter()
        .chain(&["mean"])
        .map(|&name| (name, Format::Ms))
        .collect();
    Spec {
        name: "Table 2",
        caption: "average image rendering latency, ms",
        remarks: vec![
            "Speedup: over the base method's own row. The mean over the 13 scenes is ours.",
            PARTS,
            "The paper does not say whether its StopThePop sorts each pixel's Gaussians; the last \
             of its rows here does, for which GEMM-GS has no form.",
            COMPRESSED,
        ],
        paper: vec![("", paper)],
        here: [
            Metric::Ms,
            Metric::FrameMs,
            Metric::OverVanilla,
            Metric::Psnr,
        ]
        .map(Here::from)
        .to_vec(),
        lines,
        plot: (0, vec![13]),
    }
}

fn figure_5() -> Spec {
    let mut lines: Vec<Line> = BASES
        .iter()
        .map(|base| {
            let line = base.line(&base.label(" + GEMM-GS"), "gemm-gs");
            line.paper_some(&[Some(base.mean_a100), base.mean_h100])
        })
        .collect();
    lines.push(Line::splatcore(1));
    Spec {
        name: "Figure 5",
        caption: "mean speed-up over each base method, on A100 and H100",
        remarks: vec![
            "The figure prints no numbers; these are those of section 4.2. splatcore's is over \
             vanilla 3DGS.",
            PARTS,
            COMPRESSED,
        ],
        paper: vec![(
            "speed-up",
            vec![("A100", Format::Times), ("H100", Format::Times)],
        )],
        here: [Metric::SpeedUp, Metric::OverVanilla]
            .map(Here::from)
            .to_vec(),
        lines,
        plot: (0, vec![0, 1]),
    }
}

fn blend_alone() -> Spec {
    let mut lines = Vec::new();
    for base in BASES.iter().filter(|base| base.model.is_none()) {
        // Section 2.3: blending is nearly 70% of vanilla's time.
        let share = (base.intersect == "aabb").then_some(70.0);
        lines.push(base.line(&base.label(""), "scalar").paper_some(&[share]));
        lines.push(base.line("+ GEMM-GS", "gemm-gs"));
    }
    lines.push(Line::splatcore(1));
    Spec {
        name: "Figure 3",
        caption: "time of blending alone",
        remarks: vec![
            "Section 2.3: nearly 70% of vanilla's time on an A100; the paper has no other number \
             of blending alone.",
        ],
        paper: vec![("", vec![("blend %", Format::Percent)])],
        here: [Metric::BlendMs, Metric::BlendSpeedUp, Metric::BlendShare]
            .map(Here::from)
            .to_vec(),
        lines,
        plot: (0, vec![]),
    }
}

fn figure_6() -> Spec {
    let mut lines = Vec::new();
    for (scale, speed_up) in RESOLUTIONS {
        let vanilla = || Run::vanilla(scale);
        lines.push(Line::new(
            format!("{scale}x, Vanilla 3DGS"),
            vanilla(),
            vanilla(),
        ));
        let matrix = Run::new("aabb", "gemm-gs").at(scale);
        lines.push(Line::new(format!("{scale}x, GEMM-GS"), matrix, vanilla()).paper(&[speed_up]));
    }
    for (scale, _) in RESOLUTIONS {
        let run = Run::splatcore(scale);
        let label = format!("splatcore ({}), {scale}x", run.pipeline);
        lines.push(Line::new(label, run, Run::vanilla(scale)));
    }
    Spec {
        name: "Figure 6",
        caption: "latency at 1x to 3x the width and height, ms",
        remarks: vec![
            "The figure prints no numbers; the speed-ups are those of sections 4.2 and 4.3.",
        ],
        paper: vec![("A100", vec![("speed-up", Format::Times)])],
        here: [
            Metric::Ms,
            Metric::SpeedUp,
            Metric::BlendMs,
            Metric::BlendSpeedUp,
        ]
        .map(Here::from)
        .to_vec(),
        lines,
        plot: (1, vec![0]),
    }
}

fn figure_7() -> Spec {
    let mut lines = vec![Line::new("Vanilla 3DGS", Run::vanilla(1), Run::vanilla(1))];
    let batch = |&(label, blend): &(&'static str, &'static str)| {
        Line::new(label, Run::new("aabb", blend), Run::vanilla(1))
    };
    lines.extend(BATCHES.iter().map(batch));
    lines.push(Line::splatcore(1));
    Spec {
        name: "Figure 7",
        caption: "latency by batch size b, ms",
        remarks: vec!["The figure prints no numbers; section 4.3 finds smaller batches slower."],
        paper: vec![],
        here: [
            Metric::Ms,
            Metric::SpeedUp,
            Metric::BlendMs,
            Metric::BlendSpeedUp,
        ]
        .map(Here::from)
        .to_vec(),
        lines,
        plot: (0, vec![]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speed_ups_are_what_the_printed_times_give() {
        for base in &BASES {
            for i in 0..13 {
                let found = base.without[i] / base.with[i];
                // Times have two digits after the point: 1 in 120 of the shortest.
                assert!(
                    (found - base.speed_up[i]).abs() <= 0.012,
                    "{}, {}: {found} {}",
                    base.name,
                    SCENES[i],
                    base.speed_up[i]
                );
            }
        }
    }

    #[test]
    fn means_are_those_of_the_text() {
        for base in &BASES {
            let mean = base.speed_up.iter().sum::<f64>() / 13.0;
            assert!(
                (mean - base.mean_a100).abs() <= 0.012,
                "{}: {mean}",
                base.name
            );
        }
    }
}
