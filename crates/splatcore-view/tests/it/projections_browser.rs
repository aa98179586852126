//! Projections in the page. Skipped where there is no browser.

use crate::browser::{PICTURE, RESTS};
use crate::support::Viewer;
use splatcore_test_support::chromium::in_browser;

/// Chooses a projection.
fn choose(kind: &str) -> String {
    format!(
        "(() => {{ const s = document.getElementById('projection'); s.value = '{kind}'; \
         s.dispatchEvent(new Event('input')); return s.value; }})()"
    )
}

const TOOLS: &str = "[...document.querySelectorAll('#tools button[id^=tool-]')] \
    .filter((b) => !b.disabled).map((b) => b.id.slice(5)).join(' ')";
const SHAPE: &str = "(() => { const c = document.getElementById('view'); \
    return Math.round(100 * c.width / c.height); })()";

#[test]
fn the_panel_changes_the_projection() {
    let viewer = Viewer::start(true);
    in_browser(async |mut browser| {
        for (size, mobile) in [([1280, 720], false), ([390, 844], true)] {
            browser.screen(size, mobile).await;
            browser.open("about:blank").await;
            browser.open(&viewer.url()).await;
            browser.until(RESTS).await;
            let all = browser.value(TOOLS).await;
            assert_eq!(all, "move brush box sphere measure level");
            let window = browser.value(SHAPE).await;
            let mut before = browser.value(PICTURE).await;
            let note = "document.getElementById('projection-note').textContent";
            let fixed = "document.getElementById('fov').disabled";
            for (kind, shape, angle_is_fixed) in [
                ("fisheye", window.clone(), false),
                ("equirect", 200.into(), true),
                ("ortho", window.clone(), false),
                // The photo is a square, and is laid over its own camera's picture.
                ("photo", 100.into(), true),
            ] {
                assert_eq!(browser.value(&choose(kind)).await, kind);
                browser
                    .until(&format!("{RESTS} && {PICTURE} !== {before}"))
                    .await;
                assert_eq!(browser.value(SHAPE).await, shape, "{kind}");
                assert_eq!(browser.value(TOOLS).await, "move", "{kind}");
                assert_eq!(browser.value(fixed).await, angle_is_fixed, "{kind}");
                let note = browser.value(note).await;
                assert!(note.as_str().unwrap().contains("measuring"), "{note}");
                before = browser.value(PICTURE).await;
            }
            browser
                .until("!document.getElementById('photo').hidden")
                .await;
            // A double click centres through a lens too.
            browser
                .double_click([f64::from(size[0]) / 2.0, 300.0])
                .await;
            browser.value(&choose("pinhole")).await;
            browser
                .until(&format!("{RESTS} && {PICTURE} !== {before}"))
                .await;
            assert_eq!(browser.value(SHAPE).await, window);
            assert_eq!(browser.value(TOOLS).await, all);
            assert_eq!(browser.value(note).await, "");
        }
        assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    });
}
