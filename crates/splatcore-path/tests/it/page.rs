//! The viewer's page plays the curve that is rendered: its own code, run by Chromium.

use crate::support::{difference, winding};
use splatcore_path::{CameraPath, Curve, Easing, Motion, Pose, files};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Chromium, under a name of the system or in `$CHROMIUM`.
fn chromium() -> Option<PathBuf> {
    if let Some(given) = std::env::var_os("CHROMIUM") {
        return Some(given.into());
    }
    let folders = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome"];
    std::env::split_paths(&folders)
        .flat_map(|folder| names.map(|name| folder.join(name)))
        .find(|path| path.is_file())
}

#[test]
fn the_page_plays_the_same_curve() {
    let Some(chromium) = chromium() else {
        println!("skipped: chromium not found");
        return;
    };
    let mut poses: Vec<Pose> = winding(8, 6, false)
        .keyframes
        .iter()
        .map(|k| k.pose)
        .collect();
    // A wait, a turn on the spot, and two keyframes close together.
    poses.insert(2, poses[2]);
    poses.insert(
        4,
        Pose {
            position: poses[3].position,
            ..poses[4]
        },
    );
    let mut close = poses[5];
    close.position[0] += 0.01;
    poses.insert(6, close);
    let seconds = 2.0 * (poses.len() - 1) as f64;
    let mut path = CameraPath::through(&poses, seconds, false);
    for (i, easing) in [(1, Easing::Rest), (3, Easing::Rest), (5, Easing::Hold)] {
        path.keyframes[i].easing = easing;
    }
    let curve = Curve::new(&path, Motion::default());
    let written = files::write(&path, &curve, files::Format::Own, 30.0, [64, 48], None);
    let (text, _) = written.unwrap();
    let times: Vec<f64> = (0..=400).map(|i| seconds * f64::from(i) / 400.0).collect();

    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("page.html");
    std::fs::write(&page, html(&text, &times)).unwrap();
    let output = Command::new(chromium)
        .args([
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--dump-dom",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.path().join("profile").display()
        ))
        .arg(format!("file://{}", page.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&output.stdout).into_owned();
    let found = dom
        .split("BEGIN")
        .nth(1)
        .and_then(|rest| rest.split("END").next());
    let found = found.unwrap_or_else(|| panic!("no result: {dom}"));
    let found: Vec<Vec<f64>> = serde_json::from_str(found).unwrap();
    assert_eq!(found.len(), times.len());
    for (time, numbers) in times.iter().zip(&found) {
        let played = Pose {
            position: numbers[..3].try_into().unwrap(),
            rotation: std::array::from_fn(|i| numbers[3 * i + 3..3 * i + 6].try_into().unwrap()),
            fov: numbers[12].to_radians(),
        };
        let off = difference(&played, &curve.at(*time));
        assert!(off < 1e-9, "at {time}: {off}");
    }
}

/// A page with the viewer's code, which loads a path's file, saves and loads it again, and prints
/// the pose at each time. Modules of local files may not import each other, so the two are one
/// script.
fn html(path: &str, times: &[f64]) -> String {
    let folder = Path::new("../splatcore-page/src/shared");
    let script = |name: &str| -> String {
        let text = std::fs::read_to_string(folder.join(name)).unwrap();
        let lines = text.lines().filter(|line| !line.starts_with("import "));
        lines
            .map(|line| line.strip_prefix("export ").unwrap_or(line))
            .collect::<Vec<_>>()
            .join("\n")
    };
    format!(
        "<!doctype html><body></body><script type=module>\n{}\n{}\n\
         const keyframes = new Keyframes('test');\n\
         keyframes.fromFile({});\n\
         keyframes.fromFile(keyframes.toFile());\n\
         const shown = {times:?}.map((time) => {{\n\
           const pose = keyframes.at(time);\n\
           return [...pose.position, ...pose.rotation.flat(), pose.fov];\n\
         }});\n\
         document.body.textContent = 'BEGIN' + JSON.stringify(shown) + 'END';\n</script>",
        script("camera.js"),
        script("keyframes.js"),
        serde_json::Value::from(path),
    )
}
