//! Handles of the box and the sphere in a real browser, with mouse and finger. Skipped where there
//! is none.

use crate::browser::{PICTURE, RESTS};
use crate::edit_browser::{click, open, selected};
use crate::support::Viewer;
use serde_json::json;
use splatcore_test_support::chromium::{Chromium, in_browser};

/// Where a handle is drawn, pixels.
async fn handle(browser: &mut Chromium, name: &str) -> [f64; 2] {
    let find = format!(
        "JSON.parse(document.getElementById('overlay').dataset.handles || '[]') \
         .find((handle) => handle[0] === '{name}')"
    );
    browser.until(&format!("Boolean({find})")).await;
    let found = browser.value(&find).await;
    [1, 2].map(|i| found[i].as_f64().unwrap())
}

/// The numbers of the volume that the page shows.
async fn numbers(browser: &mut Chromium) -> Vec<f64> {
    let command = browser
        .value("document.getElementById('command').value")
        .await;
    let (_, numbers) = command.as_str().unwrap().rsplit_once(':').unwrap();
    numbers.split(',').map(|v| v.parse().unwrap()).collect()
}

async fn drag(browser: &mut Chromium, phone: bool, from: [f64; 2], by: [f64; 2]) {
    let to = [0, 1].map(|c| from[c] + by[c]);
    match phone {
        true => browser.touch_drag(from, to).await,
        false => browser.drag(from, to).await,
    }
}

/// Both volumes are moved and resized by their handles, and the camera stays where it is.
#[test]
fn boxes_and_spheres_are_dragged() {
    let viewer = Viewer::start(true);
    in_browser(async |mut browser| {
        for (size, phone) in [([1280, 720], false), ([390, 844], true)] {
            open(&mut browser, &viewer, size).await;
            let touch = json!({"enabled": phone});
            browser
                .call("Emulation.setTouchEmulationEnabled", touch)
                .await;
            browser.value(&click("tool-box")).await;
            // A click on a handle is one on the scene: the box goes there and becomes small.
            let whole = numbers(&mut browser).await;
            let middle = handle(&mut browser, "move").await;
            let command = "document.getElementById('command').value";
            let before = browser.value(command).await;
            browser.click(middle).await;
            browser.until(&format!("{command} !== {before}")).await;
            let placed = numbers(&mut browser).await;
            assert!(
                placed[3] - placed[0] < 0.5 * (whole[3] - whole[0]),
                "{placed:?}"
            );

            let from = handle(&mut browser, "move").await;
            drag(&mut browser, phone, from, [30.0, 0.0]).await;
            let moved = numbers(&mut browser).await;
            let shift = moved[0] - placed[0];
            assert!(shift > 0.05, "{placed:?} {moved:?}");
            for i in [1, 2, 4, 5] {
                assert!((moved[i] - placed[i]).abs() < 1e-3, "{placed:?} {moved:?}");
            }
            assert!((moved[3] - placed[3] - shift).abs() < 1e-3);
            let now = handle(&mut browser, "move").await;
            // The camera did not turn, and the handle is where the pointer let it go.
            assert!((now[0] - from[0] - 30.0).abs() <= 2.0 && (now[1] - from[1]).abs() <= 2.0);

            let from = handle(&mut browser, "facex1").await;
            drag(&mut browser, phone, from, [40.0, 0.0]).await;
            let wider = numbers(&mut browser).await;
            assert!(wider[3] > moved[3] + 0.05, "{moved:?} {wider:?}");
            assert!([0, 1, 2, 4, 5].iter().all(|&i| wider[i] == moved[i]));
            let slider = "Number([...document.querySelectorAll('#box input')][1].value)";
            let slider = browser.value(slider).await.as_f64().unwrap();
            assert!((slider - wider[3]).abs() < 1e-3, "{slider} {wider:?}");

            browser.value(&click("tool-sphere")).await;
            let before = numbers(&mut browser).await;
            let from = handle(&mut browser, "radius").await;
            drag(&mut browser, phone, from, [30.0, 10.0]).await;
            let after = numbers(&mut browser).await;
            assert!(
                after[3] > before[3] + 0.05 && after[..3] == before[..3],
                "{after:?}"
            );
            let from = handle(&mut browser, "move").await;
            drag(&mut browser, phone, from, [0.0, -25.0]).await;
            let up = numbers(&mut browser).await;
            assert!(
                up[1] < after[1] - 0.02 && up[3] == after[3],
                "{after:?} {up:?}"
            );
            browser.value(&click("select-sphere")).await;
            assert!(selected(&mut browser).await > 0);
            browser.value(&click("clear")).await;
        }
        assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    });
}

/// A click on the end of an axis looks along it.
#[test]
fn axes_turn_the_view() {
    let viewer = Viewer::start(false);
    in_browser(async |mut browser| {
        for phone in [false, true] {
            let [width, height] = if phone { [390, 844] } else { [1280, 720] };
            browser.screen([width, height], phone).await;
            browser.open("about:blank").await;
            browser.open(&viewer.url()).await;
            browser.until(RESTS).await;
            let before = browser.value(PICTURE).await;
            let place = "(() => { const r = document.getElementById('axes') \
                .getBoundingClientRect(); return [r.left, r.top, r.width / 2]; })()";
            let place = browser.value(place).await;
            let [left, top, half] = [0, 1, 2].map(|i| place[i].as_f64().unwrap());
            // The view is along z: x is at the right.
            browser.click([left + 2.0 * half - 13.0, top + half]).await;
            browser
                .until(&format!("{RESTS} && {PICTURE} !== {before}"))
                .await;
        }
        assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    });
}
