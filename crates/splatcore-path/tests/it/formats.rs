//! Files of every format, written by hand from their documentation.

use crate::support::{difference, winding};
use splatcore_core::camera::dot;
use splatcore_path::files::{Format, Read, WorldTransform, parse, write};
use splatcore_path::{Curve, Easing, Motion, Pose};
use std::io::Write as _;
use std::path::Path;

fn read(text: &str) -> Read {
    parse(text.as_bytes(), Path::new("path.json"), None).unwrap()
}

fn refused(text: &str) -> String {
    let line = parse(text.as_bytes(), Path::new("path.json"), None)
        .unwrap_err()
        .to_string();
    assert!(
        line.starts_with("path.json") && line.contains(';') && !line.contains('\n'),
        "{line}"
    );
    line
}

pub const OWN: &str = r#"{"splatcore": "camera path 1", "seconds": 2, "keyframes": [
  {"time": 0, "position": [0, 0, -3], "rotation": [[1,0,0],[0,1,0],[0,0,1]], "fov": 50},
  {"time": 2, "position": [3, 0, 0], "rotation": [[0,0,1],[0,1,0],[-1,0,0]], "fov": 40,
   "easing": "rest"}]}"#;

/// A camera at (1, 2, 3) that looks along -z with y up, and one turned by 90 degrees to the left.
pub const NERFSTUDIO: &str = r#"{"camera_type": "perspective", "render_height": 480,
  "render_width": 640, "fps": 2, "seconds": 1, "camera_path": [
  {"camera_to_world": [1,0,0,1, 0,1,0,2, 0,0,1,3, 0,0,0,1], "fov": 60, "aspect": 1.33},
  {"camera_to_world": [0,0,1,4, 0,1,0,2, -1,0,0,3, 0,0,0,1], "fov": 50, "aspect": 1.33}]}"#;

pub const SETTINGS: &str = r#"{"version": 2, "animTracks": [{"name": "a", "duration": 2,
  "frameRate": 10, "loopMode": "none", "interpolation": "spline", "smoothness": 0,
  "keyframes": {"times": [0, 10], "values": {"position": [0,0,5, 10,0,5], "target": [0,0,0, 10,0,0],
  "fov": [60, 40]}}}], "cameras": [], "annotations": [], "startMode": "animTrack"}"#;

pub const DOCUMENT: &str = r#"{"camera": {"fov": 65}, "timeline": {"frames": 40, "frameRate": 20,
  "smoothness": 1, "loop": true}, "poseSets": [{"name": "set0", "poses": [
  {"name": "b", "frame": 20, "position": [0, 1, -5], "target": [3, 1, 0]},
  {"name": "a", "frame": 0, "position": [0, 1, 5], "target": [3, 1, 0], "fov": 55},
  {"name": "late", "frame": 90, "position": [9, 9, 9], "target": [0, 1, 0]}]}]}"#;

pub const TRACK: &str = r#"{"frameRate": 4, "frames": [
  {"position": [0, 0, 5], "target": [0, 0, 0], "fov": 45},
  {"position": [5, 0, 0], "target": [0, 0, 0], "up": [0, 0, 2]}]}"#;

#[test]
fn our_own_file() {
    let Read { path, format, .. } = read(OWN);
    assert_eq!(
        (format, path.seconds, path.looped),
        (Format::Own, 2.0, false)
    );
    let [first, second] = path.keyframes[..] else {
        panic!()
    };
    assert_eq!((first.time, first.pose.position), (0.0, [0.0, 0.0, -3.0]));
    assert_eq!(first.pose.fov, 50.0_f64.to_radians());
    assert_eq!(second.pose.rotation[2], [-1.0, 0.0, 0.0]);
    assert_eq!(
        (first.easing, second.easing),
        (Easing::Through, Easing::Rest)
    );
}

/// OpenGL's axes: the third column points backwards, the second up.
#[test]
fn nerfstudios_cameras_look_along_minus_z() {
    let Read {
        path,
        format,
        notes,
        world,
    } = read(NERFSTUDIO);
    assert_eq!(world, None);
    assert_eq!(
        (format, path.fps, path.size),
        (Format::Nerfstudio, Some(2.0), Some([640, 480]))
    );
    let [first, second] = path.keyframes[..] else {
        panic!()
    };
    assert_eq!(first.pose.position, [1.0, 2.0, 3.0]);
    assert_eq!(
        first.pose.rotation,
        [[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]]
    );
    assert_eq!(second.pose.rotation[2], [-1.0, 0.0, 0.0]);
    assert_eq!(second.pose.fov, 50.0_f64.to_radians());
    assert!(
        notes
            .iter()
            .any(|note| note.contains("dataparser_transforms.json")),
        "{notes:?}"
    );
}

/// A place goes to nerfstudio's world by the formula of its dataparser, and comes back.
#[test]
fn nerfstudios_world_is_undone() {
    // A turn by 90 degrees about x, an offset and a scale.
    let text = r#"{"transform": [[1,0,0,1],[0,0,-1,2],[0,1,0,3]], "scale": 0.5}"#;
    let world = WorldTransform::parse(text.as_bytes(), Path::new("t.json")).unwrap();
    let place = [0.3, -0.7, 1.9];
    let theirs = [
        0.5 * (place[0] + 1.0),
        0.5 * (-place[2] + 2.0),
        0.5 * (place[1] + 3.0),
    ];
    let file = serde_json::json!({"camera_path": [{"fov": 60, "camera_to_world": [
        1.0, 0.0, 0.0, theirs[0], 0.0, 1.0, 0.0, theirs[1], 0.0, 0.0, 1.0, theirs[2],
        0.0, 0.0, 0.0, 1.0]}]});
    let bytes = file.to_string().into_bytes();
    let pose = parse(&bytes, Path::new("p.json"), Some(&world))
        .unwrap()
        .path
        .keyframes[0]
        .pose;
    for (found, wanted) in pose.position.iter().zip(place) {
        assert!((found - wanted).abs() < 1e-12, "{:?}", pose.position);
    }
    // Their -z, turned back about x: R^T (0, 0, -1) = (0, -1, 0).
    assert!(
        dot(pose.rotation[2], [0.0, -1.0, 0.0]) > 1.0 - 1e-12,
        "{:?}",
        pose.rotation
    );
    let bad = r#"{"transform": [[2,0,0,1],[0,0,-1,2],[0,1,0,3]], "scale": 0.5}"#;
    let line = WorldTransform::parse(bad.as_bytes(), Path::new("t.json"))
        .unwrap_err()
        .to_string();
    assert!(
        line.contains("transform") && line.contains("orthonormal"),
        "{line}"
    );
}

#[test]
fn the_settings_of_supersplats_viewer() {
    let Read { path, format, .. } = read(SETTINGS);
    assert_eq!(
        (format, path.fps, path.seconds),
        (Format::Settings, Some(10.0), 2.0)
    );
    assert_eq!(path.keyframes.len(), 20);
    // PlayCanvas' (x, y, z) is the scene's (-x, -y, z); at its z = 5 one looks along -z.
    let first = path.keyframes[0].pose;
    assert_eq!(first.position, [0.0, 0.0, 5.0]);
    assert!(dot(first.rotation[2], [0.0, 0.0, -1.0]) > 1.0 - 1e-12);
    assert!(
        dot(first.rotation[1], [0.0, 1.0, 0.0]) > 1.0 - 1e-12,
        "the scene's y is down"
    );
    // Without smoothness a segment is 3t^2 - 2t^3: 0.028 after a tenth, and the end is held.
    assert!((path.keyframes[1].pose.position[0] + 0.28).abs() < 1e-9);
    assert_eq!(path.keyframes[5].pose.position[0], -5.0);
    assert!((path.keyframes[5].pose.fov - 50.0_f64.to_radians()).abs() < 1e-12);
    assert_eq!(path.keyframes[15].pose.position[0], -10.0);
    let step = read(&SETTINGS.replace("\"spline\"", "\"step\"")).path;
    assert_eq!(step.keyframes[9].pose.position[0], 0.0);
    assert_eq!(step.keyframes[10].easing, Easing::Hold);
    // A last key at the very end: not closed in the frames that are shown, and held all the same.
    let repeated = SETTINGS
        .replace("\"spline\"", "\"step\"")
        .replace("\"none\"", "\"repeat\"");
    let repeated = read(&repeated.replace("\"duration\": 2", "\"duration\": 1")).path;
    assert!(!repeated.looped);
    assert_eq!(repeated.keyframes[5].easing, Easing::Hold);
    let line = refused(&SETTINGS.replace("[0,0,5, 10,0,5]", "[0,0,5, 10,0]"));
    assert!(
        line.contains("animTracks[0].keyframes.values.position"),
        "{line}"
    );
}

#[test]
fn a_project_of_supersplat() {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    archive
        .start_file("document.json", zip::write::SimpleFileOptions::default())
        .unwrap();
    archive.write_all(DOCUMENT.as_bytes()).unwrap();
    let bytes = archive.finish().unwrap().into_inner();
    let Read { path, format, .. } = parse(&bytes, Path::new("a.ssproj"), None).unwrap();
    assert_eq!(
        (format, path.keyframes.len(), path.looped),
        (Format::Ssproj, 40, true)
    );
    assert_eq!((path.fps, path.seconds), (Some(20.0), 2.0));
    // Poses are in the order of their frames, and the late one is left out.
    assert_eq!(path.keyframes[0].pose.position, [0.0, -1.0, 5.0]);
    assert_eq!(path.keyframes[20].pose.position, [0.0, -1.0, -5.0]);
    assert!((path.keyframes[20].pose.fov - 65.0_f64.to_radians()).abs() < 1e-12);
    // The closed spline is symmetric: a quarter in is as three quarters.
    let [a, b] = [10, 30].map(|i| path.keyframes[i].pose.position);
    assert!((0..3).all(|k| (a[k] - b[k]).abs() < 1e-9), "{a:?} {b:?}");
    assert_eq!(read(DOCUMENT).path, path);
    assert!(parse(b"PK\x03\x04junk", Path::new("a"), None).is_err());
}

#[test]
fn a_camera_track_of_splat_transform() {
    let Read { path, format, .. } = read(TRACK);
    assert_eq!(
        (format, path.fps, path.seconds),
        (Format::Track, Some(4.0), 0.5)
    );
    let [first, second] = path.keyframes[..] else {
        panic!()
    };
    assert_eq!(
        (first.pose.fov, second.pose.fov),
        (45.0_f64.to_radians(), 60.0_f64.to_radians())
    );
    assert_eq!(second.pose.position, [-5.0, 0.0, 0.0]);
    // Its up of z stays z in the scene, and down is the other way.
    assert!(dot(second.pose.rotation[1], [0.0, 0.0, -1.0]) > 1.0 - 1e-12);
}

#[test]
fn what_is_wrong_is_named() {
    assert!(refused("{").contains("not JSON"));
    assert!(refused("{}").contains("no camera path"));
    assert!(refused("[1]").contains("list of cameras"));
    assert!(refused(r#"{"version":4,"clip_duration":3,"keyframes":[]}"#).contains("LichtFeld"));
    assert!(refused(r#"{"frames":[{"transform_matrix":[]}]}"#).contains("dataset"));
    let cases = [
        (OWN, "\"fov\": 40", "\"fov\": 400", "keyframes[1].fov"),
        (OWN, "[3, 0, 0]", "[3, 0]", "keyframes[1].position"),
        (
            OWN,
            "[0,0,1],[0,1,0],[-1,0,0]",
            "[0,0,1],[0,1,0]",
            "keyframes[1].rotation",
        ),
        (OWN, "\"time\": 2", "\"time\": 0", "keyframe 1"),
        (OWN, "path 1", "path 9", "splatcore"),
        (OWN, "\"rest\"", "\"bounce\"", "keyframes[1].easing"),
        (
            NERFSTUDIO,
            "\"fov\": 50",
            "\"fov\": \"wide\"",
            "camera_path[1].fov",
        ),
        (
            NERFSTUDIO,
            "[1,0,0,1, 0,1,0,2,",
            "[0,0,0,1, 0,1,0,2,",
            "camera_path[0].camera_to_world",
        ),
        (NERFSTUDIO, "640", "0", "render_width"),
        (
            SETTINGS,
            "\"duration\": 2",
            "\"duration\": 1e9",
            "animTracks[0]",
        ),
        (
            SETTINGS,
            "[0, 10]",
            "[10, 10]",
            "animTracks[0].keyframes.times",
        ),
        (
            DOCUMENT,
            "\"frames\": 40",
            "\"frames\": 0",
            "timeline.frames",
        ),
        (
            TRACK,
            "\"up\": [0, 0, 2]",
            "\"up\": [0, 0, 0]",
            "frames[1].up",
        ),
        (TRACK, "[5, 0, 0]", "[0, 0, 0]", "frames[1]"),
    ];
    for (text, from, to, field) in cases {
        assert!(text.contains(from), "{from}");
        let line = refused(&text.replacen(from, to, 1));
        assert!(line.contains(field), "{field}: {line}");
    }
}

/// What is written is read as the same poses, in another format's axes and back.
#[test]
fn written_paths_come_back() {
    let path = winding(6, 5, false);
    let level = |pose: Pose| {
        // Settings hold no roll.
        let target = std::array::from_fn(|k| pose.position[k] + pose.rotation[2][k]);
        Pose::look_at(pose.position, target, [0.0, -1.0, 0.0], pose.fov)
    };
    let curve = Curve::new(&path, Motion::default());
    let text = r#"{"transform": [[1,0,0,1],[0,0,-1,2],[0,1,0,3]], "scale": 0.5}"#;
    let world = WorldTransform::parse(text.as_bytes(), Path::new("t.json")).unwrap();
    let again = |format, world: Option<&WorldTransform>| {
        let (text, _) = write(&path, &curve, format, 10.0, [64, 48], world).unwrap();
        parse(text.as_bytes(), Path::new("p.json"), world)
            .unwrap()
            .path
    };
    let own = again(Format::Own, None);
    assert_eq!(own.keyframes.len(), path.keyframes.len());
    for (a, b) in own.keyframes.iter().zip(&path.keyframes) {
        assert!((a.time - b.time).abs() < 1e-12 && difference(&a.pose, &b.pose) < 1e-12);
    }
    let count = curve.frames(10.0);
    for format in [Format::Nerfstudio, Format::Settings] {
        let world = (format == Format::Nerfstudio).then_some(&world);
        let found = again(format, world);
        assert_eq!(
            (found.keyframes.len() as u64, found.fps),
            (count, Some(10.0))
        );
        for (i, keyframe) in found.keyframes.iter().enumerate() {
            let mut wanted = curve.at(curve.frame_time(i as f64, count));
            if format == Format::Settings {
                wanted = level(wanted);
            }
            let off = difference(&keyframe.pose, &wanted);
            assert!(off < 1e-7, "{format:?}, frame {i}: {off}");
        }
    }
    let notes = write(&path, &curve, Format::Settings, 10.0, [64, 48], None)
        .unwrap()
        .1;
    assert!(notes[0].contains("no roll"), "{notes:?}");
    assert!(write(&path, &curve, Format::Track, 10.0, [64, 48], None).is_err());
}

/// `dataparser_transforms.json` beside the file is found by itself.
#[test]
fn the_world_beside_a_file_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("camera_path.json");
    std::fs::write(&file, NERFSTUDIO).unwrap();
    let plain = splatcore_path::files::read(&file, None).unwrap();
    let text = r#"{"transform": [[1,0,0,0],[0,1,0,0],[0,0,1,0]], "scale": 0.5}"#;
    std::fs::write(folder.path().join("dataparser_transforms.json"), text).unwrap();
    let moved = splatcore_path::files::read(&file, None).unwrap();
    let [a, b] = [&plain, &moved].map(|read| read.path.keyframes[0].pose.position);
    assert_eq!(b, a.map(|v| 2.0 * v));
    assert!(moved.notes[0].contains("dataparser_transforms.json"));
    // A path that is saved for the same run lies in the same world.
    assert!(moved.world.is_some());
}
