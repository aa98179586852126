//! Numbers and layout of TensorGS.

use crate::about::About;
use crate::metric::{Format, Metric};
use crate::part::{PARTS, part_of};
use crate::run::Run;
use crate::spec::{Here, Line, Spec};

/// The paper.
pub const ABOUT: About = About {
    name: "TensorGS",
    title: "Accelerating 3D Gaussian Splatting using Tensor Cores",
    reference: "its authors and venue are not named in the text that the numbers come from",
    card: "NVIDIA A100, 40 GB",
};

/// The default group of section 5.1, coefficients as plain halves as the paper has them.
const GROUPED: &str = "tensor-gs-2x2-half";
/// The same with split halves: each coefficient's rounding error has a column of its own.
const GROUPED_SPLIT: &str = "tensor-gs-2x2";
/// Section 4.2 without groups: "naive tensorization"; plain halves.
const NAIVE: &str = "tensor-gs-1x1-half";
/// The same with split halves.
const NAIVE_SPLIT: &str = "tensor-gs-1x1";
/// Said where both stand.
const HALVES: &str = "Plain halves are what the paper describes. Split halves fill columns of the \
                      product that the paper leaves zero with the halves' rounding errors.";
/// Said of gsplat's rows.
const GSPLAT: &str = "an implementation, not a method: the paper's numbers alone";

/// Table 4: speed-up, use of the tensor cores and of memory bandwidth in percent.
const NAIVE_LIMITS: [(&str, &str, Option<[f64; 3]>); 3] = [
    ("Original 3DGS", "scalar", Some([1.00, 0.0, 38.0])),
    ("Naive Tensorization", NAIVE, Some([1.29, 31.0, 76.0])),
    ("Naive Tensorization, split halves", NAIVE_SPLIT, None),
];

/// Table 2: use of the card's parts by rasterization of 3DGS, percent, and what stands for it here.
const UTILISATION: [(&str, f64, &str); 3] = [
    (
        "SM utilization",
        77.0,
        "a profiler's number: not measured here",
    ),
    (
        "DRAM bandwidth utilization",
        38.0,
        "a profiler's number: not measured here",
    ),
    (
        "Tensor Core utilization",
        0.0,
        "aabb+scalar issues no matrix instruction here either",
    ),
];

/// Figure 4: mean speed-up, from section 5.2.
const MAIN: [(&str, &str, Option<f64>); 5] = [
    ("3DGS", "scalar", Some(1.0)),
    ("Naive Tensorization", NAIVE, Some(1.29)),
    ("Naive Tensorization, split halves", NAIVE_SPLIT, None),
    ("TensorGS", GROUPED, Some(1.65)),
    ("TensorGS, split halves", GROUPED_SPLIT, None),
];

/// Figure 5: renderers, their intersection method, the mean speed-up that TensorGS adds, from
/// section 5.2.
const BASES: [(&str, Option<&str>, f64); 4] = [
    ("gsplat", None, 1.58),
    ("AdR-Gaussian", Some("adaptive-radius"), 1.40),
    ("FlashGS", Some("exact"), 1.45),
    ("GSCore", Some("obb"), 1.51),
];

/// Table 6: speed-up over 3DGS by group; plain halves, then split.
const GROUPS: [(&str, &str, Option<f64>); 6] = [
    ("1x1", NAIVE, Some(1.29)),
    ("2x2", GROUPED, Some(1.56)),
    ("4x4", "tensor-gs-4x4-half", Some(1.43)),
    ("1x1, split halves", NAIVE_SPLIT, None),
    ("2x2, split halves", GROUPED_SPLIT, None),
    ("4x4, split halves", "tensor-gs-4x4", None),
];

/// Figure 3: loads saved by groups, percent; the mean of section 4.4.1.
const LOADS_SAVED: f64 = 70.0;

const SCENES: [&str; 6] = ["Train", "Truck", "Playroom", "DrJohnson", "Lego", "Palace"];

/// Table 3: PSNR in FP32 and FP16 on each of [`SCENES`].
const PRECISION: [(&str, &str, Option<[f64; 6]>); 3] = [
    (
        "FP32",
        "scalar",
        Some([24.17, 26.46, 29.89, 35.19, 34.47, 33.75]),
    ),
    (
        "FP16 (plain halves)",
        GROUPED,
        Some([24.22, 26.49, 29.82, 35.10, 34.40, 33.78]),
    ),
    ("split halves", GROUPED_SPLIT, None),
];

/// Section 3.1 and figure 1(a): rasterization in percent of the time to render.
const RASTERIZATION: f64 = 75.0;
/// Section 3.1 and figure 1(b): the exponents in percent of rasterization, and of the time to
/// render.
const POWER: [f64; 2] = [68.0, 51.0];

/// The tables.
pub fn specs() -> Vec<Spec> {
    vec![
        figure_4(),
        figure_5(),
        table_6(),
        table_4(),
        table_2(),
        table_3(),
        figure_1(),
        figure_1b(),
        figure_3(),
    ]
}

/// On top of the boxes of 3DGS.
fn plain(label: &'static str, blend: &str) -> Line {
    Line::new(label, Run::new("aabb", blend), Run::vanilla(1))
}

fn figure_4() -> Spec {
    let mut lines: Vec<Line> = MAIN
        .iter()
        .map(|(label, blend, speed_up)| plain(label, blend).paper_some(&[*speed_up]))
        .collect();
    lines.push(Line::splatcore(1));
    Spec {
        name: "Figure 4",
        caption: "speed-up over the original pipeline",
        remarks: vec![
            "The figure prints no numbers; these are the means of section 5.2.",
            HALVES,
        ],
        paper: vec![("", vec![("speed-up", Format::Times)])],
        here: [Metric::Ms, Metric::SpeedUp, Metric::Psnr]
            .map(Here::from)
            .to_vec(),
        lines,
        plot: (1, vec![0]),
    }
}

fn figure_5() -> Spec {
    let mut lines = Vec::new();
    for (name, intersect, speed_up) in BASES {
        let Some(intersect) = intersect else {
            let label = format!("{name} + TensorGS");
            lines.push(Line::elsewhere(label, GSPLAT).paper(&[speed_up]));
            continue;
        };
        let of = |added: &str, blend: &str| {
            let label = format!("{name}{added}{}", part_of(name));
            let scalar = Run::new(intersect, "scalar");
            Line::new(label, Run::new(intersect, blend), scalar)
        };
        lines.push(of("", "scalar"));
        lines.push(of(" + TensorGS", GROUPED).paper(&[speed_up]));
        lines.push(of(" + TensorGS with split halves", GROUPED_SPLIT));
        if name == "GSCore" {
            let skipping = Run::new(intersect, "gscore");
            let label = "GSCore, sub-tiles of 8x8 too, size not checked";
            lines.push(Line::new(label, skipping, Run::new(intersect, "scalar")));
        }
    }
    lines.push(Line::splatcore(1));
    Spec {
        name: "Figure 5",
        caption: "speed-up over each base method",
        remarks: vec![
            "speed-up: over the renderer's first row, splatcore's over 3DGS.",
            "The figure prints no numbers; these are the means of section 5.2.",
            PARTS,
            HALVES,
        ],
        paper: vec![("", vec![("speed-up", Format::Times)])],
        here: [Metric::Ms, Metric::SpeedUp, Metric::OverVanilla]
            .map(Here::from)
            .to_vec(),
        lines,
        plot: (1, vec![0]),
    }
}

fn table_6() -> Spec {
    let mut lines: Vec<Line> = GROUPS
        .iter()
        .map(|(label, blend, speed_up)| plain(label, blend).paper_some(&[*speed_up]))
        .collect();
    lines.push(Line::splatcore(1));
    Spec {
        name: "Table 6",
        caption: "size of the group of tiles",
        remarks: vec![
            "The paper gives 1.56× here and 1.65× in section 5.2 for its default, 2x2.",
            HALVES,
        ],
        paper: vec![("", vec![("speed-up", Format::Times)])],
        here: [
            Metric::Ms,
            Metric::SpeedUp,
            Metric::SortMs,
            Metric::BlendMs,
            Metric::BlendSpeedUp,
        ]
        .map(Here::from)
        .to_vec(),
        lines,
        plot: (1, vec![0]),
    }
}

fn table_4() -> Spec {
    let mut lines: Vec<Line> = NAIVE_LIMITS
        .iter()
        .map(|(label, blend, values)| {
            plain(label, blend).paper(values.as_ref().map_or(&[], |values| values))
        })
        .collect();
    lines.push(Line::splatcore(1));
    Spec {
        name: "Table 4",
        caption: "naive tensorization, and blending alone",
        remarks: vec![
            "How busy tensor cores and memory are is a profiler's to say; it is not measured here. \
             Counted in its place: entries of lists, each of which is loaded once.",
            HALVES,
        ],
        paper: vec![(
            "",
            vec![
                ("speed-up", Format::Times),
                ("tensor cores %", Format::Percent),
                ("bandwidth %", Format::Percent),
            ],
        )],
        here: vec![
            Metric::SpeedUp.into(),
            Metric::BlendMs.into(),
            Here {
                heading: Some("blend speed-up"),
                ..Metric::BlendSpeedUp.into()
            },
            Here {
                heading: Some("loads M"),
                ..Metric::Pairs.into()
            },
        ],
        lines,
        plot: (0, vec![0]),
    }
}

fn table_3() -> Spec {
    let mut lines: Vec<Line> = PRECISION
        .iter()
        .map(|(label, blend, psnr)| {
            plain(label, blend).paper(psnr.as_ref().map_or(&[], |psnr| psnr))
        })
        .collect();
    lines.push(Line::splatcore(1));
    Spec {
        name: "Table 3",
        caption: "PSNR in FP32 and FP16",
        remarks: vec![
            "The paper also trains the FP16 row's model in FP16; here all rows render the same \
             model. FP16: TensorGS, 2x2. LPIPS of this table is left out.",
            HALVES,
        ],
        paper: vec![(
            "PSNR",
            SCENES
                .iter()
                .map(|&scene| (scene, Format::Decibels))
                .collect(),
        )],
        here: [Metric::PsnrPhotos, Metric::Psnr].map(Here::from).to_vec(),
        lines,
        plot: (0, (0..SCENES.len()).collect()),
    }
}

fn figure_1() -> Spec {
    let lines = vec![
        plain("3DGS", "scalar").paper(&[RASTERIZATION]),
        plain("TensorGS", GROUPED),
        plain("TensorGS, split halves", GROUPED_SPLIT),
        Line::splatcore(1),
    ];
    Spec {
        name: "Figure 1(a)",
        caption: "where the time goes, percent",
        remarks: vec!["Section 3.1: rasterization is about 75% of the time to render."],
        paper: vec![("", vec![("rasterization %", Format::Percent)])],
        here: [
            Metric::ProjectShare,
            Metric::SortShare,
            Metric::BlendShare,
            Metric::BlendMs,
        ]
        .map(Here::from)
        .to_vec(),
        lines,
        plot: (2, vec![0]),
    }
}

fn table_2() -> Spec {
    let line = |&(label, percent, note): &(&'static str, f64, &'static str)| {
        Line::elsewhere(label, note).paper(&[percent])
    };
    Spec {
        name: "Table 2",
        caption: "how busy rasterization of 3DGS keeps the card",
        remarks: vec![],
        paper: vec![("", vec![("3DGS rasterization %", Format::Percent)])],
        here: vec![],
        lines: UTILISATION.iter().map(line).collect(),
        plot: (0, vec![]),
    }
}

fn figure_1b() -> Spec {
    let lines = vec![
        plain("3DGS", "scalar").paper(&POWER),
        plain("TensorGS", GROUPED),
        plain("TensorGS, split halves", GROUPED_SPLIT),
        Line::splatcore(1),
    ];
    Spec {
        name: "Figure 1(b)",
        caption: "power computation within rasterization",
        remarks: vec![
            "The paper's shares of time are of section 3.1. Parts of one kernel are not timed \
             here; counted in their place: exponents that pixels look at, and fragments that \
             change their pixel.",
        ],
        paper: vec![(
            "power computation",
            vec![
                ("rasterization %", Format::Percent),
                ("time to render %", Format::Percent),
            ],
        )],
        here: [Metric::BlendMs, Metric::Evaluated, Metric::Blended]
            .map(Here::from)
            .to_vec(),
        lines,
        plot: (1, vec![]),
    }
}

fn figure_3() -> Spec {
    let group = |label: &str, blend: &str| {
        let of = |intersect: &str, blend: &str| Run::new(intersect, blend);
        Line::new(label, of("aabb", blend), of("aabb", NAIVE_SPLIT))
            .and(of("exact", blend), of("exact", NAIVE_SPLIT))
    };
    let lines = vec![
        group("tile by tile (1x1)", NAIVE_SPLIT),
        group("2x2", GROUPED_SPLIT).paper(&[LOADS_SAVED]),
        group("4x4", "tensor-gs-4x4"),
        Line::splatcore(2),
    ];
    let here = |heading, metric, variant| Here {
        heading: Some(heading),
        metric,
        variant,
    };
    Spec {
        name: "Figure 3",
        caption: "loads of Gaussians that a group of tiles saves",
        remarks: vec![
            "The figure prints no numbers; section 4.4.1 gives the mean and a reuse of more than \
             3. Fewer loads: 1 less entries of the group's lists over those of its tiles' lists. \
             reuse: the latter over the former. boxes: aabb, as the paper; tight: exact.",
            "splatcore blends tile by tile: its numbers are what tight lists save over boxes.",
        ],
        paper: vec![("", vec![("fewer loads %", Format::Percent)])],
        here: vec![
            here("boxes: loads M", Metric::Pairs, 0),
            here("fewer loads %", Metric::LoadsSaved, 0),
            here("reuse", Metric::Reuse, 0),
            here("tight: loads M", Metric::Pairs, 1),
            here("fewer loads %", Metric::LoadsSaved, 1),
            here("reuse", Metric::Reuse, 1),
        ],
        lines,
        plot: (1, vec![0]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 3 prints the differences too.
    #[test]
    fn numbers_agree_where_the_paper_gives_them_twice() {
        let printed = [0.05, 0.03, -0.07, -0.09, -0.07, 0.03];
        for (i, difference) in printed.into_iter().enumerate() {
            let found = PRECISION[1].2.unwrap()[i] - PRECISION[0].2.unwrap()[i];
            assert!((found - difference).abs() < 1e-9, "{}: {found}", SCENES[i]);
        }
        assert_eq!(GROUPS[0].2, MAIN[1].2);
        assert_eq!(NAIVE_LIMITS[1].2.map(|values| values[0]), MAIN[1].2);
        // Section 3.1: 68% of rasterization, which is 75% of the time, are 51% of it.
        assert!((POWER[0] / 100.0 * RASTERIZATION - POWER[1]).abs() < 0.1);
        assert_eq!(
            NAIVE_LIMITS[0].2.unwrap()[1..],
            [UTILISATION[2].1, UTILISATION[1].1]
        );
    }
}
