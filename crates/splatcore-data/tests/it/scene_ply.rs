//! PLY in and out.

use crate::scene_support::{names, plain_ply, random, shared, value};
use proptest::prelude::*;
use splatcore_core::{Gaussians, random::Rng};
use splatcore_data::scene::{self, ply, write_ply};
use std::path::Path;

fn parse(bytes: &[u8]) -> scene::SceneFile {
    ply::parse(bytes, Path::new("test.ply")).unwrap()
}

#[test]
fn the_real_model_is_rewritten_byte_for_byte() {
    let Some(path) = shared("formats/splat22k/model.ply") else {
        return;
    };
    let scene = scene::read(&path).unwrap();
    assert_eq!(scene.format, "PLY, binary little-endian");
    assert_eq!(
        (
            scene.gaussians.len(),
            scene.gaussians.sh_degree,
            scene.dropped
        ),
        (22_575, 3, 0)
    );
    assert!(scene.notes.is_empty(), "{:?}", scene.notes);
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.ply");
    write_ply(&copy, &scene.gaussians, false).unwrap();
    assert!(std::fs::read(copy).unwrap() == std::fs::read(path).unwrap());
}

#[test]
fn all_variants_hold_the_same_gaussians() {
    let Some(model) = shared("formats/splat22k/model.ply") else {
        return;
    };
    let mut want = scene::read(&model).unwrap().gaussians;
    want.retain(|i| i < 500);
    for (name, degree, format) in [
        ("binary", 3, "PLY, binary little-endian"),
        ("big_endian", 3, "PLY, binary big-endian"),
        ("double", 3, "PLY, binary little-endian"),
        ("extra_props_comments", 3, "PLY, binary little-endian"),
        ("reordered_no_normals", 3, "PLY, binary little-endian"),
        ("ascii", 3, "PLY, ascii"),
        ("sh0", 0, "PLY, binary little-endian"),
        ("sh1", 1, "PLY, binary little-endian"),
        ("sh2", 2, "PLY, binary little-endian"),
    ] {
        let Some(path) = shared(&format!("formats/ply_variants/first500.{name}.ply")) else {
            return;
        };
        let scene = scene::read(&path).unwrap();
        assert_eq!(scene.format, format, "{name}");
        assert!(
            scene.notes.is_empty() && scene.dropped == 0,
            "{name}: {:?}",
            scene.notes
        );
        assert!(
            scene.gaussians == want.with_sh_degree(degree),
            "{name} differs"
        );
    }
}

/// Any bits that are sound: also denormals, negative zeros and the largest numbers.
fn any_bits(count: usize, sh_degree: u8, seed: u64) -> Gaussians {
    let mut rng = Rng::new(seed, 2);
    let mut finite = || {
        let value = f32::from_bits(rng.next_u32());
        if value.is_finite() { value } else { -0.0 }
    };
    let mut g = Gaussians::zeros(count, sh_degree);
    g.means
        .iter_mut()
        .for_each(|v| *v = std::array::from_fn(|_| finite()));
    g.log_scales
        .iter_mut()
        .for_each(|v| *v = std::array::from_fn(|_| finite()));
    g.rotations
        .iter_mut()
        .for_each(|v| *v = [1.0, finite(), finite(), finite()]);
    g.opacity_logits.iter_mut().for_each(|v| *v = finite());
    g.sh.iter_mut()
        .for_each(|v| *v = std::array::from_fn(|_| finite()));
    g
}

fn bits(g: &Gaussians) -> Vec<u32> {
    let parts: [&[f32]; 5] = [
        g.means.as_flattened(),
        g.log_scales.as_flattened(),
        g.rotations.as_flattened(),
        &g.opacity_logits,
        g.sh.as_flattened(),
    ];
    parts.concat().into_iter().map(f32::to_bits).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn written_and_read_again_every_bit_is_the_same(
        count in 0usize..200,
        degree in 0u8..4,
        seed: u64,
    ) {
        let g = any_bits(count, degree, seed);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scene.ply");
        let antialiased = seed % 2 == 0;
        write_ply(&path, &g, antialiased).unwrap();
        let back = scene::read(&path).unwrap();
        prop_assert_eq!(back.antialiased, antialiased);
        prop_assert_eq!(back.dropped, 0);
        prop_assert_eq!(back.gaussians.sh_degree, degree);
        prop_assert!(bits(&back.gaussians) == bits(&g));
    }

    /// Random types, order, byte order, extra columns and lists, before and inside the element.
    #[test]
    fn any_layout_is_read(
        degree in 0u8..4,
        seed: u64,
        encoding in 0usize..3,
        lists: bool,
        crlf: bool,
    ) {
        let g = random(7, degree, seed);
        let mut rng = Rng::new(seed, 3);
        let mut columns: Vec<(String, &str)> = names(degree)
            .into_iter()
            .map(|name| (name, ["float", "float32", "double", "float64"][rng.below(4)]))
            .collect();
        for kind in ["uchar", "int8", "ushort", "int16", "uint", "int32", "double"] {
            columns.push((format!("extra_{kind}"), kind));
        }
        if lists {
            columns.push(("list_short".into(), "list uchar short"));
            columns.push(("list_double".into(), "list int double"));
        }
        rng.shuffle(&mut columns);
        let end = if crlf { "\r\n" } else { "\n" };
        let mut file = Foreign { encoding, end, bytes: Vec::new() };
        file.header(&columns);
        file.row(&[(2.0, "uchar"), (8.0, "int"), (9.0, "int")]);
        file.row(&[(0.0, "uchar")]);
        for i in 0..g.len() {
            let row: Vec<(f64, &str)> = columns
                .iter()
                .flat_map(|(name, kind)| match name.as_str() {
                    "list_short" => vec![(2.0, "uchar"), (1.0, "short"), (5.0, "short")],
                    "list_double" => vec![(0.0, "int")],
                    name if name.starts_with("extra_") => vec![(i as f64, *kind)],
                    name => vec![(f64::from(value(&g, i, name)), *kind)],
                })
                .collect();
            file.row(&row);
        }
        file.row(&[(0.5, "float")]);
        let scene = parse(&file.bytes);
        prop_assert!(scene.notes.is_empty());
        prop_assert!(bits(&scene.gaussians) == bits(&g));
    }
}

/// A writer of unusual files.
struct Foreign {
    /// 0 ascii, 1 little-endian, 2 big-endian.
    encoding: usize,
    end: &'static str,
    bytes: Vec<u8>,
}

impl Foreign {
    /// Elements: two faces with lists, three rows of nothing, seven Gaussians, one more.
    fn header(&mut self, columns: &[(String, &str)]) {
        let format = ["ascii", "binary_little_endian", "binary_big_endian"][self.encoding];
        let mut lines = vec![
            "ply".into(),
            format!("format {format} 1.0"),
            "comment caf\u{e9} end_header".into(),
        ];
        lines.extend(
            [
                "element face 2",
                "property list uchar int vertex_indices",
                "element empty 3",
            ]
            .map(String::from),
        );
        lines.extend(["obj_info something", "", "element vertex 7"].map(String::from));
        lines.extend(
            columns
                .iter()
                .map(|(name, kind)| format!("property {kind} {name}")),
        );
        lines.extend(["element last 1", "property float q", "end_header"].map(String::from));
        for line in lines {
            self.bytes.extend(format!("{line}{}", self.end).bytes());
        }
    }

    /// A row of numbers with their types.
    fn row(&mut self, numbers: &[(f64, &str)]) {
        for &(v, kind) in numbers {
            let mut bytes = match (self.encoding, kind) {
                (0, "float" | "float32") => format!("{} ", v as f32).into_bytes(),
                (0, _) => format!(" {v:e}\t").into_bytes(),
                (_, "float" | "float32") => (v as f32).to_le_bytes().to_vec(),
                (_, "double" | "float64") => v.to_le_bytes().to_vec(),
                (_, "uchar" | "int8") => vec![v as u8],
                (_, "ushort" | "int16" | "short") => (v as u16).to_le_bytes().to_vec(),
                _ => (v as u32).to_le_bytes().to_vec(),
            };
            if self.encoding == 2 {
                bytes.reverse();
            }
            self.bytes.extend(bytes);
        }
        if self.encoding == 0 {
            // An empty line now and then does no harm.
            self.bytes
                .extend(self.end.repeat(1 + numbers.len() % 2).bytes());
        }
    }
}

#[test]
fn integer_types_keep_their_sign_and_size() {
    let mut file = b"ply\nformat binary_little_endian 1.0\nelement vertex 1\n".to_vec();
    let kinds = [
        ("x", "char"),
        ("y", "uchar"),
        ("z", "short"),
        ("f_dc_0", "ushort"),
        ("f_dc_1", "int"),
        ("f_dc_2", "uint"),
        ("opacity", "double"),
    ];
    for (name, kind) in kinds {
        file.extend(format!("property {kind} {name}\n").bytes());
    }
    for name in &names(0)[7..] {
        file.extend(format!("property int8 {name}\n").bytes());
    }
    file.extend(b"end_header\n");
    file.extend([0xff, 0xff]);
    file.extend((-300i16).to_le_bytes());
    file.extend(65_000u16.to_le_bytes());
    file.extend((-70_000i32).to_le_bytes());
    file.extend(4_000_000_000u32.to_le_bytes());
    file.extend((-2.5f64).to_le_bytes());
    file.extend([1, 2, 3, 4, 5, 6, 0xf9]);
    let g = parse(&file).gaussians;
    assert_eq!(g.means, [[-1.0, 255.0, -300.0]]);
    assert_eq!(g.sh, [[65_000.0, -70_000.0, 4e9]]);
    assert_eq!(g.opacity_logits, [-2.5]);
    assert_eq!(g.log_scales, [[1.0, 2.0, 3.0]]);
    assert_eq!(g.rotations, [[4.0, 5.0, 6.0, -7.0]]);
}

#[test]
fn unsound_rows_are_dropped_and_counted() {
    let mut g = random(6, 2, 1);
    g.means[0][1] = f32::NAN;
    g.sh[9 * 2 + 8][2] = f32::INFINITY;
    g.rotations[4] = [0.0; 4];
    let scene = parse(&plain_ply(&g));
    assert_eq!(scene.dropped, 3);
    g.retain(|i| [1, 3, 5].contains(&i));
    assert!(scene.gaussians == g);

    let ascii = "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\n\
        property float z\nproperty float f_dc_0\nproperty float f_dc_1\n\
        property float f_dc_2\nproperty float opacity\n\
        property float scale_0\nproperty float scale_1\nproperty float scale_2\n\
        property float rot_0\nproperty float rot_1\nproperty float rot_2\nproperty float rot_3\n\
        end_header\n\
        nan 0 0 0 0 0 0 0 0 0 1 0 0 0\n-nan(ind) 0 0 0 0 0 0 0 0 0 1 0 0 0\n\
        1e3 0 0 0 0 0 0 0 0 0 1 0 0 0";
    let scene = parse(ascii.as_bytes());
    assert_eq!((scene.dropped, scene.gaussians.len()), (2, 1));
    assert_eq!(scene.gaussians.means, [[1000.0, 0.0, 0.0]]);
}

#[test]
fn bytes_behind_the_last_row_are_noted() {
    let mut file = plain_ply(&random(9, 0, 1));
    file.extend([0; 56]);
    let scene = parse(&file);
    assert_eq!(scene.gaussians.len(), 9);
    assert_eq!(
        scene.notes,
        ["56 bytes after the last of 9 Gaussians were ignored"]
    );
}

#[test]
fn info_describes_a_scene() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scene.ply");
    let mut g = random(5, 2, 1);
    g.log_scales = vec![[0.0; 3]; 5];
    g.means = vec![[1.0, 2.0, 3.0]; 5];
    g.means[3] = [-1.0, 4.0, 3.0];
    g.means[4][0] = f32::NAN;
    write_ply(&path, &g, false).unwrap();
    let json = serde_json::to_value(scene::info(&path).unwrap()).unwrap();
    let want = serde_json::json!({
        "kind": "scene", "format": "PLY, binary little-endian", "gaussians": 4, "sh_degree": 2,
        "dropped": 1, "bytes": std::fs::metadata(&path).unwrap().len(), "median_scale": 1.0,
        "antialiased": false,
        "notes": ["left out for what is not finite (or a rotation of 0): position of 1"],
        "bounds": { "min": [-1.0, 2.0, 3.0], "max": [1.0, 4.0, 3.0] },
    });
    assert_eq!(json, want);
    write_ply(&path, &Gaussians::empty(3), false).unwrap();
    let json = serde_json::to_value(scene::info(&path).unwrap()).unwrap();
    assert_eq!(
        (&json["gaussians"], &json["bounds"]),
        (&serde_json::json!(0), &serde_json::Value::Null)
    );
}

/// Brush's and Postshot's ways to say that a scene wants Mip-Splatting's 2D filter; both are
/// written.
#[test]
fn comments_tell_of_the_2d_filter() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scene.ply");
    write_ply(&path, &random(3, 0, 1), false).unwrap();
    let plain = std::fs::read(&path).unwrap();
    let with = |comments: &[&str]| {
        let lines: String = comments.iter().map(|c| format!("comment {c}\n")).collect();
        let at = "ply\nformat binary_little_endian 1.0\n".len();
        let bytes = [&plain[..at], lines.as_bytes(), &plain[at..]].concat();
        ply::parse(&bytes, Path::new("x.ply")).unwrap().antialiased
    };
    for yes in [
        &["SplatRenderMode: mip"][..],
        &["antialiased 1"],
        &["  splatrendermode:   MIP  "],
        &[
            "Exported from Brush",
            "SH degree: 0",
            "SplatRenderMode: mip",
        ],
        &["antialiased 0", "SplatRenderMode: mip"],
        &["antialiased 1", "made by nobody"],
    ] {
        assert!(with(yes), "{yes:?}");
    }
    for no in [
        &[][..],
        &["SplatRenderMode: default"],
        &["SplatRenderMode: 2dgs"],
        &["SplatRenderMode:"],
        &["antialiased 0"],
        &["antialiased"],
        &["not antialiased 1"],
        &["SplatRenderMode: mip", "antialiased 0"],
    ] {
        assert!(!with(no), "{no:?}");
    }
    write_ply(&path, &random(3, 0, 1), true).unwrap();
    let bytes = std::fs::read(&path).unwrap();
    let header = String::from_utf8_lossy(&bytes[..200]).into_owned();
    for comment in [
        "\ncomment SplatRenderMode: mip\n",
        "\ncomment antialiased 1\n",
    ] {
        assert!(header.contains(comment), "{header}");
    }
    let json = serde_json::to_value(scene::info(&path).unwrap()).unwrap();
    assert_eq!(json["antialiased"], true);
}
