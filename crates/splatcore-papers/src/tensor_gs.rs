//! Numbers and layout of TensorGS.

use crate::about::About;
use crate::metric::{Format, Metric};
use crate::run::Run;
use crate::spec::{Here, Line, Spec};

/// The paper.
pub const ABOUT: About = About {
    name: "TensorGS",
    title: "Accelerating 3D Gaussian Splatting using Tensor Cores",
    reference: "its authors and venue are not named in the text that the numbers come from",
    card: "NVIDIA A100, 40 GB",
};

/// The default group of section 5.1.
const GROUPED: &str = "tensor-gs-2x2";
/// Section 4.2 without groups: "naive tensorization".
const NAIVE: &str = "tensor-gs-1x1";

/// Table 4: speed-up, use of the tensor cores and of memory bandwidth in percent.
const NAIVE_LIMITS: [(&str, &str, [f64; 3]); 2] = [
    ("Original 3DGS", "scalar", [1.00, 0.0, 38.0]),
    ("Naive Tensorization", NAIVE, [1.29, 31.0, 76.0]),
];

/// Figure 4: mean speed-up, from section 5.2.
const MAIN: [(&str, &str, f64); 3] = [
    ("3DGS", "scalar", 1.0),
    ("Naive Tensorization", NAIVE, 1.29),
    ("TensorGS", GROUPED, 1.65),
];

/// Figure 5: renderers, their intersection method, the mean speed-up that TensorGS adds, from
/// section 5.2.
const BASES: [(&str, Option<&str>, f64); 4] = [
    ("gsplat", None, 1.58),
    ("AdR-Gaussian", Some("adaptive-radius"), 1.40),
    ("FlashGS", Some("exact"), 1.45),
    ("GSCore", Some("obb"), 1.51),
];

/// Table 6: speed-up over 3DGS by group.
const GROUPS: [(&str, &str, f64); 3] = [
    ("1x1", "tensor-gs-1x1", 1.29),
    ("2x2", "tensor-gs-2x2", 1.56),
    ("4x4", "tensor-gs-4x4", 1.43),
];

const SCENES: [&str; 6] = ["Train", "Truck", "Playroom", "DrJohnson", "Lego", "Palace"];

/// Table 3: PSNR in FP32 and FP16 on each of [`SCENES`].
const PRECISION: [(&str, &str, [f64; 6]); 2] = [
    ("FP32", "scalar", [24.17, 26.46, 29.89, 35.19, 34.47, 33.75]),
    ("FP16", GROUPED, [24.22, 26.49, 29.82, 35.10, 34.40, 33.78]),
];

/// Section 3.1 and figure 1(a): rasterization in percent of the time to render.
const RASTERIZATION: f64 = 75.0;

/// The tables.
pub fn specs() -> Vec<Spec> {
    vec![
        figure_4(),
        figure_5(),
        table_6(),
        table_4(),
        table_3(),
        figure_1(),
    ]
}

/// On top of the boxes of 3DGS.
fn plain(label: &'static str, blend: &str) -> Line {
    Line::new(label, Run::new("aabb", blend), Run::vanilla(1))
}

fn figure_4() -> Spec {
    let mut lines: Vec<Line> = MAIN
        .iter()
        .map(|(label, blend, speed_up)| plain(label, blend).paper(&[*speed_up]))
        .collect();
    lines.push(Line::splatcore(1));
    Spec {
        name: "Figure 4",
        caption: "speed-up over the original pipeline",
        remarks: vec!["The figure prints no numbers; these are the means of section 5.2."],
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
        let label = format!("{name} + TensorGS");
        let Some(intersect) = intersect else {
            let why = "an implementation, not a method";
            lines.push(Line::elsewhere(name, why));
            lines.push(Line::elsewhere(label, why).paper(&[speed_up]));
            continue;
        };
        let scalar = || Run::new(intersect, "scalar");
        lines.push(Line::new(name, scalar(), scalar()));
        lines.push(Line::new(label, Run::new(intersect, GROUPED), scalar()).paper(&[speed_up]));
    }
    lines.push(Line::splatcore(1));
    Spec {
        name: "Figure 5",
        caption: "speed-up over each base method",
        remarks: vec![
            "speed-up: over the row above, splatcore's over 3DGS.",
            "The figure prints no numbers; these are the means of section 5.2.",
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
        .map(|(label, blend, speed_up)| plain(label, blend).paper(&[*speed_up]))
        .collect();
    lines.push(Line::splatcore(1));
    Spec {
        name: "Table 6",
        caption: "size of the group of tiles",
        remarks: vec!["The paper gives 1.56× here and 1.65× in section 5.2 for its default, 2x2."],
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
        .map(|(label, blend, values)| plain(label, blend).paper(values))
        .collect();
    lines.push(Line::splatcore(1));
    Spec {
        name: "Table 4",
        caption: "naive tensorization, and blending alone",
        remarks: vec![
            "How busy tensor cores and memory are is a profiler's to say; it is not measured here.",
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
        ],
        lines,
        plot: (0, vec![0]),
    }
}

fn table_3() -> Spec {
    let mut lines: Vec<Line> = PRECISION
        .iter()
        .map(|(label, blend, psnr)| plain(label, blend).paper(psnr))
        .collect();
    lines.push(Line::splatcore(1));
    Spec {
        name: "Table 3",
        caption: "PSNR in FP32 and FP16",
        remarks: vec![
            "The paper also trains the FP16 row's model in FP16; here both rows render the same \
             model. FP16: TensorGS, 2x2.",
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
        Line::splatcore(1),
    ];
    Spec {
        name: "Figure 1",
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 3 prints the differences too.
    #[test]
    fn numbers_agree_where_the_paper_gives_them_twice() {
        let printed = [0.05, 0.03, -0.07, -0.09, -0.07, 0.03];
        for (i, difference) in printed.into_iter().enumerate() {
            let found = PRECISION[1].2[i] - PRECISION[0].2[i];
            assert!((found - difference).abs() < 1e-9, "{}: {found}", SCENES[i]);
        }
        assert_eq!(GROUPS[0].2, MAIN[1].2);
        assert_eq!(NAIVE_LIMITS[1].2[0], MAIN[1].2);
    }
}
