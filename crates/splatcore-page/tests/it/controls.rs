//! Views, keyframes and the mouse.

use crate::support::{Written, around, plain, pose, stored};
use serde_json::{Value, json};
use splatcore_page::{Keyframe, View};
use splatcore_test_support::chromium::in_webgl;

const POSITION: &str = "splatcore.pose().position";

fn distance(a: &Value, b: [f64; 3]) -> f64 {
    let squares = (0..3).map(|c| (a[c].as_f64().unwrap() - b[c]).powi(2));
    squares.sum::<f64>().sqrt()
}

#[test]
fn views_paths_and_the_mouse_move_the_camera() {
    let Some(scene) = stored("formats/splat22k/model.ply", false) else {
        return;
    };
    let cameras = around(&scene.gaussians, &[0.0, 1.0, 2.0]);
    let at: Vec<[f64; 3]> = cameras.iter().map(|camera| camera.position()).collect();
    let mut page = plain(&scene);
    let view = |(name, camera)| View {
        name: String::from(name),
        pose: pose(camera),
    };
    page.views = ["front", "</select> side"]
        .into_iter()
        .zip(&cameras)
        .map(view)
        .collect();
    let key = |(time, camera)| Keyframe {
        time,
        pose: pose(camera),
        easing: "through",
    };
    // Unevenly: half a second, then a quarter.
    page.path = [0.0, 0.5, 0.75]
        .into_iter()
        .zip(&cameras)
        .map(key)
        .collect();
    let html = page.to_html().unwrap();
    in_webgl(async |mut browser| {
        let written = Written::new(&html);
        assert_eq!(written.open(&mut browser).await, "");
        assert_eq!(browser.value("document.title").await, "test & <scene>");
        assert!(distance(&browser.value(POSITION).await, at[0]) < 1e-9);
        let choose = "(() => { const s = document.getElementById('views'); s.value = '1'; \
            s.dispatchEvent(new Event('change')); return s.selectedOptions[0].textContent; })()";
        assert_eq!(browser.value(choose).await, "</select> side");
        assert!(distance(&browser.value(POSITION).await, at[1]) < 1e-9);

        browser.drag([200.0, 300.0], [330.0, 330.0]).await;
        let turned = browser.value(POSITION).await;
        assert!(distance(&turned, at[1]) > 0.1, "{turned}");
        browser.until("splatcore.resting").await;
        browser
            .value("document.getElementById('frame').click(); true")
            .await;
        let framed = browser.value(POSITION).await;
        let near = |v: &Value| distance(v, [0.0; 3]);
        assert!((near(&framed) - near(&turned)).abs() > 0.1, "{framed}");
        browser.value(choose).await;
        browser.double_click([450.0, 300.0]).await;
        let focused = browser.value(POSITION).await;
        // Double click goes to 60 % of the way to what is seen there.
        assert!(distance(&focused, at[1]) > 0.1, "{focused}");

        let play = "document.getElementById('play').click(); true";
        browser.value(play).await;
        let [x, y, z] = at[2];
        let there = format!(
            "Math.hypot({POSITION}[0] - {x}, {POSITION}[1] - {y}, {POSITION}[2] - {z}) < 1e-6"
        );
        browser.until(&there).await;

        // A keyframe more survives a reload.
        browser
            .value("document.getElementById('add').click(); true")
            .await;
        assert_eq!(written.open(&mut browser).await, "");
        let keyframes = "document.querySelectorAll('#keyframes li').length";
        browser.until(&format!("{keyframes} === 4")).await;
        let kept = "JSON.parse(Object.values(localStorage)[0]).map((key) => key.time)";
        assert_eq!(browser.value(kept).await, json!([0, 0.5, 0.75, 2.75]));
        assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    });
}
