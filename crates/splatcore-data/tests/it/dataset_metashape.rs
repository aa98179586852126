//! Metashape's XML: cameras against the manual's formula, what is left out, and files that are
//! wrong.

use crate::dataset_support::{
    IN_VIEW, assert_projects, open, open_error, pattern, plus, ply, rotation, save, times,
};
use splatcore_core::Lens;
use splatcore_data::dataset::{Format, metashape};
use std::path::Path;

/// f, cx, cy, b1, b2 in pixels, and k1 to k4, p1, p2.
const F: f64 = 60.4;
const C: [f64; 2] = [1.25, -0.75];
const B: [f64; 2] = [0.9, -1.7];
const K: [f64; 4] = [-0.06, 0.02, -0.004, 0.0011];
const P: [f64; 2] = [0.0031, -0.0017];
/// Camera to chunk, and chunk to world.
const EYE: [f64; 3] = [0.5, 1.5, -0.25];
const SCALE: f64 = 2.5;
const SHIFT: [f64; 3] = [10.0, -20.0, 5.0];

fn camera_to_chunk() -> [[f64; 3]; 3] {
    rotation([0.7, 0.1, -0.5], 2.1)
}

fn chunk_to_world() -> [[f64; 3]; 3] {
    rotation([-0.3, 0.6, 0.2], 0.4)
}

fn join(values: &[f64]) -> String {
    let words: Vec<String> = values.iter().map(f64::to_string).collect();
    words.join(" ")
}

fn sensor(id: u32, kind: &str) -> String {
    let names = ["k1", "k2", "k3", "k4"]
        .iter()
        .zip(K)
        .chain(["p1", "p2"].iter().zip(P));
    let lens: String = names
        .map(|(name, v)| format!("<{name}>{v}</{name}>"))
        .collect();
    format!(
        "<sensor id=\"{id}\" label=\"a\" type=\"{kind}\"><resolution width=\"64\" height=\"48\"/>\
         <calibration type=\"{kind}\" class=\"initial\"><f>1</f></calibration>\
         <calibration type=\"{kind}\" class=\"adjusted\"><resolution width=\"64\" height=\"48\"/>\
         <f>{F}</f><cx>{}</cx><cy>{}</cy><b1>{}</b1><b2>{}</b2>{lens}</calibration></sensor>",
        C[0], C[1], B[0], B[1]
    )
}

fn transform() -> String {
    let r = camera_to_chunk();
    let mut values = Vec::new();
    for i in 0..3 {
        values.extend(r[i]);
        values.push(EYE[i]);
    }
    values.extend([0.0, 0.0, 0.0, 1.0]);
    format!("<transform>{}</transform>", join(&values))
}

fn camera(label: &str, sensor: u32, more: &str, inside: &str) -> String {
    format!("<camera id=\"0\" sensor_id=\"{sensor}\" label=\"{label}\" {more}>{inside}</camera>")
}

fn placement(shift: [f64; 3]) -> String {
    format!(
        "<transform><rotation locked=\"true\">{}</rotation><translation>{}</translation>\
         <scale>{SCALE}</scale></transform>",
        join(&chunk_to_world().concat()),
        join(&shift)
    )
}

pub fn document(sensors: &str, components: &str, cameras: &str, chunk: &str) -> String {
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<document version=\"2.0.0\">\n  <chunk \
         label=\"Chunk 1\" enabled=\"true\">\n<sensors next_id=\"1\">{sensors}</sensors>\n\
         <components next_id=\"1\" active_id=\"0\">{components}</components>\n\
         <cameras next_id=\"9\" next_group_id=\"0\">{cameras}</cameras>\n{chunk}</chunk></document>"
    )
}

/// Small and whole, for tests of bad input.
pub fn small() -> String {
    document(
        &sensor(0, "frame"),
        "",
        &camera("a", 0, "", &transform()),
        &placement(SHIFT),
    )
}

fn world(p: [f64; 3]) -> [f64; 3] {
    let chunk = plus(times(camera_to_chunk(), p), EYE);
    plus(times(chunk_to_world(), chunk).map(|v| SCALE * v), SHIFT)
}

/// The manual's equations for a point of a camera (x right, y down, z forward): frame, and fisheye.
fn pixel(p: [f64; 3], fisheye: bool) -> [f64; 2] {
    let (mut x, mut y) = (p[0] / p[2], p[1] / p[2]);
    if fisheye {
        let r0 = x.hypot(y);
        let by = if r0 > 0.0 { r0.atan() / r0 } else { 1.0 };
        (x, y) = (x * by, y * by);
    }
    let r = x.hypot(y);
    let radial = 1.0 + K[0] * r.powi(2) + K[1] * r.powi(4) + K[2] * r.powi(6) + K[3] * r.powi(8);
    let xd = x * radial + (P[0] * (r * r + 2.0 * x * x) + 2.0 * P[1] * x * y);
    let yd = y * radial + (P[1] * (r * r + 2.0 * y * y) + 2.0 * P[0] * x * y);
    [
        64.0 * 0.5 + C[0] + xd * F + xd * B[0] + yd * B[1],
        48.0 * 0.5 + C[1] + yd * F,
    ]
}

fn write(root: &Path, text: &str) {
    std::fs::write(root.join("cameras.xml"), text).unwrap();
}

#[test]
fn a_metashape_camera_sees_points_where_the_manual_says() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    save(pattern(64, 48), &root.join("images/DSC_1.PNG"));
    save(pattern(64, 48), &root.join("images/left/fish.png"));
    let sensors = sensor(0, "frame") + &sensor(1, "fisheye");
    // Photos may be in groups, and labels may have an ending.
    let cameras = format!(
        "<group id=\"0\" label=\"g\">{}</group>{}",
        camera("DSC_1", 0, "component_id=\"0\"", &transform()),
        camera("fish.JPG", 1, "component_id=\"0\"", &transform())
    );
    let component = format!(
        "<component id=\"0\" label=\"c\">{}</component>",
        placement(SHIFT)
    );
    // The component's own transformation is used, not the chunk's.
    write(
        root,
        &document(&sensors, &component, &cameras, &placement([9.0; 3])),
    );
    let points: Vec<[f64; 3]> = IN_VIEW.map(world).to_vec();
    std::fs::write(root.join("cameras.ply"), ply(&points)).unwrap();
    std::fs::write(root.join("other.ply"), "no points").unwrap();
    let dataset = open(root);
    assert_eq!(dataset.format, Format::Metashape);
    // Both photos have one pose, and nothing else is odd.
    let [warning] = &dataset.warnings[..] else {
        panic!("{:?}", dataset.warnings)
    };
    assert!(warning.starts_with("the pose is the same for all 2 photos"));
    let names: Vec<&str> = dataset.entries.iter().map(|e| e.name.as_str()).collect();
    assert_eq!(names, ["DSC_1.PNG", "left/fish.png"]);
    for (entry, fisheye) in dataset.entries.iter().zip([false, true]) {
        assert_projects(
            &entry.camera,
            IN_VIEW.map(|p| (world(p), pixel(p, fisheye))),
        );
        // And back.
        for p in IN_VIEW {
            let ray = entry.camera.ray(pixel(p, fisheye)).unwrap();
            assert!(
                (ray[0] - p[0] / p[2]).hypot(ray[1] - p[1] / p[2]) < 1e-8,
                "{ray:?}"
            );
        }
    }
    assert_eq!(dataset.info().lenses, ["brown", "brown-fisheye"]);
    assert_eq!(dataset.points.positions.len(), 5);
    assert!(!dataset.points.random);
}

#[test]
fn what_is_left_out_is_said() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for name in ["a", "b", "c", "d", "e"] {
        save(pattern(64, 48), &root.join(format!("{name}.png")));
    }
    let first = "component_id=\"0\"";
    let cameras = [
        camera("a", 0, first, &transform()),
        camera("b", 0, &format!("{first} enabled=\"false\""), &transform()),
        camera("c", 0, first, ""),
        camera("d", 0, &format!("{first} master_id=\"0\""), ""),
        camera("e", 0, "component_id=\"1\"", &transform()),
        camera("gone", 0, first, &transform()),
    ]
    .concat();
    let rolling = "<rolling_shutter>full</rolling_shutter>";
    let text = document(&sensor(0, "frame"), "", &cameras, rolling);
    write(root, &text.replace("</document>", "<chunk/></document>"));
    let dataset = open(root);
    assert_eq!(dataset.entries.len(), 1);
    assert_eq!(dataset.missing, ["gone"]);
    let said = dataset.warnings.join("; ");
    for part in [
        "first of 2 chunks",
        "rolling shutter",
        "1 photos are disabled",
        "1 photos were not aligned",
        "1 photos hang on the master camera of a rig",
        "1 photos belong to smaller components",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    // No transformation at all: the chunk's axes are the world's.
    let position = dataset.entries[0].camera.position();
    assert!(
        (0..3).all(|i| (position[i] - EYE[i]).abs() < 1e-12),
        "{position:?}"
    );
}

#[test]
fn a_georeferenced_chunk_keeps_its_own_axes() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    save(pattern(64, 48), &root.join("a.png"));
    save(pattern(64, 48), &root.join("b.png"));
    let moved = transform().replace("1.5", "2.5");
    let cameras = camera("a", 0, "", &transform()) + &camera("b", 0, "", &moved);
    let earth = [3.9e6, 8.0e5, 4.9e6];
    write(
        root,
        &document(&sensor(0, "frame"), "", &cameras, &placement(earth)),
    );
    let dataset = open(root);
    assert_contains!(dataset.warnings[0], "georeferenced");
    let position = dataset.entries[0].camera.position();
    assert!(
        (0..3).all(|i| (position[i] - EYE[i]).abs() < 1e-12),
        "{position:?}"
    );
    // Points in the coordinates of the earth do not fit then.
    std::fs::write(root.join("cloud.ply"), ply(&[earth])).unwrap();
    let dataset = open(root);
    let said = dataset.warnings.join("; ");
    assert_contains!(said, "none of the points", "Local Coordinates");
    assert!(dataset.points.random);
}

/// What `train` leaves in a folder is not taken for the points of its photos.
#[test]
fn points_may_be_called_scene_but_gaussians_are_none() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    save(pattern(64, 48), &root.join("a.png"));
    let cameras = camera("a", 0, "", &transform());
    write(
        root,
        &document(&sensor(0, "frame"), "", &cameras, &placement(SHIFT)),
    );
    let points: Vec<[f64; 3]> = IN_VIEW.map(world).to_vec();
    std::fs::write(root.join("scene.ply"), ply(&points)).unwrap();
    let dataset = open(root);
    assert_eq!(dataset.points.positions.len(), points.len());
    assert!(!dataset.points.random);
    let gaussians = "ply\nformat ascii 1.0\nelement vertex 0\nproperty float f_dc_0\nend_header\n";
    std::fs::write(root.join("scene.ply"), gaussians).unwrap();
    let dataset = open(root);
    assert!(dataset.points.random);
    let said = dataset.warnings.join("; ");
    assert!(!said.contains("scene.ply"), "{said}");
}

/// It has a size, and needs no calibration.
#[test]
fn a_spherical_sensor_is_a_panorama() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    save(pattern(64, 48), &root.join("a.png"));
    let spherical = document(
        &sensor(0, "spherical"),
        "",
        &camera("a", 0, "", &transform()),
        "",
    );
    write(root, &spherical);
    let found = open(root).entries.remove(0).camera;
    assert_eq!(found.lens, Lens::Equirectangular);
    let focal = 64.0 / std::f64::consts::TAU;
    assert_eq!((found.fx, found.fy, found.cx), (focal, focal, 32.0));
}

#[test]
fn what_is_wrong_with_a_metashape_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    save(pattern(64, 48), &root.join("a.png"));
    let good = small();
    write(root, &good);
    assert_eq!(open(root).entries.len(), 1);
    let says = |text: &str, parts: &[&str]| {
        write(root, text);
        let error = open_error(root);
        assert!(parts.iter().all(|part| error.contains(part)), "{error}");
    };
    says(
        &document(
            &sensor(0, "cylindrical"),
            "",
            &camera("a", 0, "", &transform()),
            "",
        ),
        &["camera 'a'", "cylindrical", "panorama"],
    );
    says(
        &good.replace("sensor id=\"0\"", "sensor id=\"7\""),
        &["not in the file"],
    );
    says(&good.replace("<f>60.4</f>", ""), &["no focal length f"]);
    says(&good.replace("<f>60.4</f>", "<f>x</f>"), &[r#"f is "x""#]);
    says(
        &good.replace("<f>60.4</f>", "<f>NaN</f>"),
        &["no image with a usable camera"],
    );
    says(
        &good.replace("width=\"64\"", "width=\"99999999\""),
        &["width is 99999999"],
    );
    says(
        &good.replace(" 0 0 0 1</transform>", "</transform>"),
        &["fewer than 16", "line 6"],
    );
    says(
        &good.replace(" 0 0 0 1</transform>", " 0 0 0 1 2</transform>"),
        &["more than 16"],
    );
    says(
        &good.replace("<scale>2.5", "<scale>big"),
        &[r#"scale has "big""#],
    );
    says(&good.replace("</cameras>", ""), &["no sound XML", "line"]);
    for cut in (0..good.len()).step_by(7) {
        assert!(
            metashape::parse(&good.as_bytes()[..cut], Path::new("a")).is_err(),
            "{cut}"
        );
    }
    let parse = |text: &str| metashape::parse(text.as_bytes(), Path::new("a")).unwrap_err();
    assert_contains!(parse("<html><chunk/></html>"), "no chunk");
    // Nested deeply, and entities that would grow.
    let deep = "<a>".repeat(200_000);
    assert_contains!(parse(&format!("<document><chunk>{deep}")), "no sound XML");
    // Whole, and as deep: nothing in it is a camera.
    let whole = format!(
        "<document><chunk>{deep}{}</chunk></document>",
        "</a>".repeat(200_000)
    );
    let chunk = metashape::parse(whole.as_bytes(), Path::new("a")).unwrap();
    assert!(chunk.cameras.is_empty());
    let entities = "<!DOCTYPE document [<!ENTITY a \"aaaa\">]><document>&a;</document>";
    assert!(parse(entities).to_string().contains("no sound XML"));
}
