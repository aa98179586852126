//! Numbers and layout of TC-GS.
//!
//! LPIPS of its table 3 is left out: here images are compared by PSNR and SSIM, with vanilla's,
//! which says more about a renderer, and with the photos.

use crate::about::About;
use crate::metric::{Format, Metric};
use crate::part::{PARTS, part_of};
use crate::run::Run;
use crate::spec::{Here, Line, Spec};

/// The paper.
pub const ABOUT: About = About {
    name: "TC-GS",
    title: "A Faster Gaussian Splatting Module Utilizing Tensor Cores",
    reference: "Liao, Ding, Cui, Gong, Hu, Wang, Li, Wang, Zhang, Fu; SIGGRAPH Asia 2025 \
                Conference Papers",
    card: "NVIDIA A800",
};

/// As `tc-gs`, with the transmittance in halves.
const HALF: &str = "tc-gs-half";

const DATASETS: [&str; 3] = ["Tanks & Temple", "Deep-Blending", "Mip-NeRF360"];

/// A row of table 3: frames a second, PSNR and SSIM on each dataset.
type Quality = [(f64, f64, f64); 3];

/// A renderer that TC-GS was put into, and its intersection method.
struct Base {
    name: &'static str,
    intersect: &'static str,
    /// Table 3, without.
    without: Quality,
    /// Table 3, with.
    with: Quality,
    /// Table 3, the speed-ups as printed.
    speed_up: [f64; 3],
    /// Table 4: drjohnson, train, flowers; milliseconds of alpha blending with TC-GS, speed-up as
    /// printed, milliseconds without.
    blend: [[f64; 3]; 3],
}

impl Base {
    /// Its name with what is added to it, and which part of it runs here.
    fn label(&self, added: &str) -> String {
        format!("{}{added}{}", self.name, part_of(self.name))
    }
}

const BASES: [Base; 4] = [
    Base {
        name: "3DGS",
        intersect: "aabb",
        without: [
            (161.548, 23.687, 0.851),
            (131.373, 29.803, 0.907),
            (128.88, 26.546, 0.785),
        ],
        with: [
            (323.423, 23.682, 0.851),
            (286.819, 29.803, 0.906),
            (258.809, 26.544, 0.785),
        ],
        speed_up: [2.13, 2.185, 2.01],
        blend: [
            [1.348, 3.49, 4.705],
            [1.217, 3.57, 4.348],
            [0.880, 3.68, 3.236],
        ],
    },
    Base {
        name: "FlashGS",
        intersect: "exact",
        without: [
            (326.835, 23.706, 0.851),
            (563.590, 29.789, 0.907),
            (399.772, 26.551, 0.786),
        ],
        with: [
            (539.387, 23.684, 0.851),
            (735.777, 29.806, 0.906),
            (479.338, 26.508, 0.785),
        ],
        speed_up: [1.65, 1.305, 1.199],
        blend: [
            [0.540, 2.18, 1.179],
            [0.609, 2.03, 1.234],
            [0.625, 2.38, 1.487],
        ],
    },
    Base {
        name: "Speedy-Splat",
        intersect: "accutile",
        without: [
            (268.602, 23.687, 0.852),
            (315.822, 29.803, 0.907),
            (264.23, 26.546, 0.785),
        ],
        with: [
            (521.284, 23.684, 0.852),
            (579.988, 29.802, 0.906),
            (465.308, 26.544, 0.785),
        ],
        speed_up: [1.94, 1.84, 1.76],
        blend: [
            [0.510, 3.86, 1.969],
            [0.672, 3.46, 2.326],
            [0.592, 3.52, 2.083],
        ],
    },
    Base {
        name: "AdR-Gaussian",
        intersect: "adaptive-radius",
        without: [
            (278.65, 23.635, 0.852),
            (324.18, 29.814, 0.907),
            (261.339, 26.52, 0.785),
        ],
        with: [
            (545.154, 23.632, 0.851),
            (612.063, 29.815, 0.906),
            (467.310, 26.519, 0.785),
        ],
        speed_up: [1.955, 1.89, 1.78],
        blend: [
            [0.406, 4.76, 1.931],
            [0.518, 4.23, 2.191],
            [0.469, 4.39, 2.061],
        ],
    },
];

/// Table 5: EarlyCull, Frag2Mat with G2L, our name; frames a second of 3DGS on truck and drjohnson,
/// of Speedy-Splat on truck and drjohnson.
const ABLATION: [(&str, &str, [f64; 4]); 4] = [
    ("neither", "scalar", [169.834, 108.123, 366.457, 349.673]),
    (
        "EarlyCull",
        "early-cull",
        [210.110, 163.967, 406.434, 371.605],
    ),
    (
        "Frag2Mat with G2L",
        "frag2mat",
        [351.965, 242.993, 732.008, 688.217],
    ),
    ("both", "tc-gs", [361.839, 253.770, 727.647, 701.254]),
];

/// Table 6: what runs, our name; PSNR and frames a second on drjohnson, then on truck.
const PRECISION: [(&str, &str, [f64; 4]); 4] = [
    (
        "FP32, no Frag2Mat",
        "scalar",
        [29.48, 108.123, 25.44, 169.834],
    ),
    (
        "Frag2Mat, FP16",
        "tc-gs-global-fp16",
        [8.85, 253.79, 6.24, 356.619],
    ),
    (
        "Frag2Mat, TF32",
        "tc-gs-global-tf32",
        [20.02, 181.429, 14.27, 290.047],
    ),
    (
        "Frag2Mat, G2L, FP16",
        "tc-gs",
        [29.46, 253.77, 25.44, 361.839],
    ),
];

/// Figure 3's renderers, then others: intersection and blend.
const FRAGMENTS: [(&str, &str, &str); 9] = [
    ("3DGS", "aabb", "scalar"),
    ("AdR-Gaussian", "adaptive-radius", "scalar"),
    ("Speedy-Splat", "accutile", "scalar"),
    ("FlashGS", "exact", "scalar"),
    ("Speedy-Splat, SnugBox only", "snugbox", "scalar"),
    ("GSCore", "obb", "scalar"),
    (
        "GSCore, sub-tiles of 8x8 too, size not checked",
        "obb",
        "gscore",
    ),
    ("StopThePop", "tile-cull", "scalar"),
    (
        "StopThePop, per-pixel order too",
        "tile-cull",
        "stop-the-pop",
    ),
];

/// The tables.
pub fn specs() -> Vec<Spec> {
    vec![table_3(), table_4(), table_5(), table_6(), figure_3()]
}

fn table_3() -> Spec {
    let columns = || {
        vec![
            ("FPS", Format::Fps),
            ("speed-up", Format::Times),
            ("PSNR", Format::Decibels),
            ("SSIM", Format::Ssim),
        ]
    };
    let mut lines = Vec::new();
    for base in &BASES {
        let scalar = || Run::new(base.intersect, "scalar");
        let without = base
            .without
            .iter()
            .flat_map(|&(fps, psnr, ssim)| [Some(fps), None, Some(psnr), Some(ssim)]);
        let with = base.with.iter().zip(base.speed_up);
        let with = with.flat_map(|(&(fps, psnr, ssim), times)| {
            [Some(fps), Some(times), Some(psnr), Some(ssim)]
        });
        let (without, with): (Vec<_>, Vec<_>) = (without.collect(), with.collect());
        lines.push(Line::new(base.label(""), scalar(), scalar()).paper_some(&without));
        let of = |added: &str, blend: &str| {
            Line::new(base.label(added), Run::new(base.intersect, blend), scalar())
        };
        lines.push(of("(+TC-GS)", "tc-gs").paper_some(&with));
        lines.push(of("(+TC-GS, T in halves)", HALF));
    }
    lines.push(Line::splatcore(1));
    Spec {
        name: "Table 3",
        caption: "comparison with/without the TC-GS module",
        remarks: vec![
            "speed-up: over the renderer's row without TC-GS, splatcore's over 3DGS. PSNR and SSIM \
             in the paper: against the photos.",
            "T in halves: the transmittance as in the authors' code, of which the paper says \
             nothing; +TC-GS has it in f32.",
            PARTS,
            "The paper prints 2.13× for 3DGS on Tanks & Temple; its frame rates give 2.00×.",
        ],
        paper: DATASETS
            .iter()
            .map(|&dataset| (dataset, columns()))
            .collect(),
        here: [
            Metric::Fps,
            Metric::SpeedUp,
            Metric::OverVanilla,
            Metric::Psnr,
            Metric::Ssim,
            Metric::PsnrPhotos,
            Metric::SsimPhotos,
        ]
        .map(Here::from)
        .to_vec(),
        lines,
        plot: (1, vec![1, 5, 9]),
    }
}

fn table_4() -> Spec {
    let columns = || {
        vec![
            ("with TC-GS", Format::Ms),
            ("speed-up", Format::Times),
            ("original", Format::Ms),
        ]
    };
    let mut lines: Vec<Line> = BASES
        .iter()
        .map(|base| {
            let scalar = || Run::new(base.intersect, "scalar");
            Line::new(base.label(""), Run::new(base.intersect, "tc-gs"), scalar())
                .and(scalar(), scalar())
                .paper(base.blend.as_flattened())
        })
        .collect();
    let original = (Run::vanilla(1), Run::vanilla(1));
    lines.push(Line::splatcore(1).and(original.0, original.1));
    Spec {
        name: "Table 4",
        caption: "time of alpha blending alone, ms",
        remarks: vec!["original of splatcore: 3DGS.", PARTS],
        paper: ["drjohnson", "train", "flowers"]
            .map(|scene| (scene, columns()))
            .to_vec(),
        here: vec![
            Here {
                heading: Some("with TC-GS"),
                metric: Metric::BlendMs,
                variant: 0,
            },
            Metric::BlendSpeedUp.into(),
            Here {
                heading: Some("original"),
                metric: Metric::BlendMs,
                variant: 1,
            },
        ],
        lines,
        plot: (1, vec![1, 4, 7]),
    }
}

fn table_5() -> Spec {
    let mut lines: Vec<Line> = ABLATION
        .iter()
        .map(|(label, blend, fps)| {
            let of = |intersect| (Run::new(intersect, blend), Run::new(intersect, "scalar"));
            let ((a, over_a), (b, over_b)) = (of("aabb"), of("accutile"));
            Line::new(*label, a, over_a).and(b, over_b).paper(fps)
        })
        .collect();
    let ours = (Run::splatcore(1), Run::new("accutile", "scalar"));
    lines.push(Line::splatcore(1).and(ours.0, ours.1));
    let here = |heading, metric, variant| Here {
        heading: Some(heading),
        metric,
        variant,
    };
    Spec {
        name: "Table 5",
        caption: "rendering FPS; ablation of EarlyCull and of Frag2Mat with G2L",
        remarks: vec![
            "speed-up: over the renderer's row without either; splatcore's frame rate is the same \
             in both columns.",
        ],
        paper: vec![
            (
                "3DGS",
                vec![("truck", Format::Fps), ("drjohnson", Format::Fps)],
            ),
            (
                "SpeedySplat",
                vec![("truck", Format::Fps), ("drjohnson", Format::Fps)],
            ),
        ],
        here: vec![
            here("3DGS FPS", Metric::Fps, 0),
            here("speed-up", Metric::SpeedUp, 0),
            here("SpeedySplat FPS", Metric::Fps, 1),
            here("speed-up", Metric::SpeedUp, 1),
        ],
        lines,
        plot: (0, vec![0, 1]),
    }
}

fn table_6() -> Spec {
    let mut lines: Vec<Line> = PRECISION
        .iter()
        .map(|(label, blend, values)| {
            Line::new(*label, Run::new("aabb", blend), Run::vanilla(1)).paper(values)
        })
        .collect();
    lines.push(Line::new(
        "Frag2Mat, G2L, FP16, T in halves",
        Run::new("aabb", HALF),
        Run::vanilla(1),
    ));
    lines.push(Line::splatcore(1));
    let columns = || vec![("PSNR", Format::Decibels), ("FPS", Format::Fps)];
    Spec {
        name: "Table 6",
        caption: "precision and coordinates, on original 3DGS",
        remarks: vec![
            "Without G2L coordinates are those of the image: too large for FP16, too long for \
             TF32.",
            "The speed-ups of the two broken images are artefacts. TF32: exponents have errors far \
             above 1; where one comes out above 0, alpha is capped at 0.99, and two such fragments \
             leave no more than 1e-4 of a pixel's light, so that it stops at the second or third \
             and most of its list is never looked at. FP16: squares of coordinates are infinite \
             from pixel 256 on, and exponents there are NaN or minus infinity; both fail the test \
             against 1/255, so that nothing is blended and no exponential computed, but no pixel \
             stops early either. The columns of fragments show it.",
        ],
        paper: vec![("drjohnson", columns()), ("truck", columns())],
        here: [
            Metric::PsnrPhotos,
            Metric::Psnr,
            Metric::Fps,
            Metric::SpeedUp,
            Metric::Evaluated,
            Metric::Blended,
        ]
        .map(Here::from)
        .to_vec(),
        lines,
        plot: (1, vec![0, 2]),
    }
}

fn figure_3() -> Spec {
    let line = |&(name, intersect, blend): &(&str, &str, &str)| {
        let label = format!("{name}{}", part_of(name));
        Line::new(label, Run::new(intersect, blend), Run::vanilla(1))
    };
    let mut lines: Vec<Line> = FRAGMENTS.iter().map(line).collect();
    lines.push(Line::splatcore(1));
    Spec {
        name: "Figure 3",
        caption: "where the time goes, and fragments blended, culled and skipped, for each \
                  intersection method",
        remarks: vec![
            PARTS,
            "The figure prints no numbers; section 1 says that over 80% of the pairs that remain \
             are culled.",
            "Means over the views. Culled: alpha was computed, and below 1/255 (or the pixel's \
             last). Skipped: 256 a pair, less \
             those computed; also pixels of a tile that are outside the image.",
        ],
        paper: vec![],
        here: [
            Metric::ProjectMs,
            Metric::SortMs,
            Metric::BlendMs,
            Metric::Pairs,
            Metric::Blended,
            Metric::Culled,
            Metric::Skipped,
            Metric::CulledShare,
        ]
        .map(Here::from)
        .to_vec(),
        lines,
        plot: (7, vec![]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speed_ups_are_what_the_printed_times_give() {
        for base in &BASES {
            for (dataset, times) in base.speed_up.iter().enumerate() {
                let found = base.with[dataset].0 / base.without[dataset].0;
                // The one that the remark speaks of.
                if (base.name, dataset) == ("3DGS", 0) {
                    assert!((found - 2.002).abs() < 1e-3 && *times == 2.13);
                    continue;
                }
                // Some are cut after two digits, not rounded.
                assert!(
                    (found - times).abs() < 0.01,
                    "{} {dataset}: {found}",
                    base.name
                );
            }
            for [with, times, without] in base.blend {
                assert!(
                    (without / with - times).abs() <= 0.006,
                    "{} {with}",
                    base.name
                );
            }
        }
    }

    /// Section 5.3 gives the ranges, and both tables measured the same two renderers.
    #[test]
    fn the_ablations_agree_with_the_text() {
        let speed_up = |row: usize| (0..4).map(move |i| ABLATION[row].2[i] / ABLATION[0].2[i]);
        let range =
            |row: usize| speed_up(row).fold((f64::MAX, f64::MIN), |r, v| (r.0.min(v), r.1.max(v)));
        let near = |(a, b): (f64, f64), low: f64, high: f64| {
            (a - low).abs() < 0.01 && (b - high).abs() < 0.01
        };
        assert!(near(range(1), 1.06, 1.51), "{:?}", range(1));
        assert!(near(range(2), 1.97, 2.24), "{:?}", range(2));
        assert_eq!([PRECISION[0].2[3], PRECISION[0].2[1]], ABLATION[0].2[..2]);
        assert_eq!([PRECISION[3].2[3], PRECISION[3].2[1]], ABLATION[3].2[..2]);
    }
}
