//! "Frame all" and "Start here" in a browser, in windows of a desk and of a phone.

use crate::client::{browser, hear, informed_browser, say, view};
use crate::support::{FRAME, Viewer};
use serde_json::{Value, json};
use splatcore_test_support::chromium::{Chromium, in_browser};
use tokio::runtime::Runtime;

const WINDOWS: [[u32; 2]; 2] = [[1280, 720], [390, 844]];
/// The picture that rests is there.
const RESTS: &str = "document.getElementById('view').dataset.lossless === 'true'";
/// Keeps the views that the page asks for.
const LISTEN: &str = "(() => { const send = WebSocket.prototype.send; \
    WebSocket.prototype.send = function (data) { const message = JSON.parse(data); \
    if (message.type === 'view') window.asked = message; return send.call(this, data); }; \
    return true; })()";

async fn window(browser: &mut Chromium, [width, height]: [u32; 2]) {
    let mobile = width < height;
    browser.screen([width, height], mobile).await;
    let touch = json!({ "enabled": mobile });
    browser
        .call("Emulation.setTouchEmulationEnabled", touch)
        .await;
}

fn numbers(value: &Value) -> [f64; 3] {
    std::array::from_fn(|k| value[k].as_f64().unwrap())
}

/// Of the frame's corners: the largest share of half of the picture away from its middle.
fn reach(asked: &Value) -> f64 {
    let (eye, fov) = (numbers(&asked["position"]), asked["fov"].as_f64().unwrap());
    let down = (fov.to_radians() / 2.0).tan();
    let sides = ["width", "height"].map(|side| asked[side].as_f64().unwrap());
    let across = down * sides[0] / sides[1];
    let mut most = 0.0_f64;
    for corner in 0..8 {
        let offset: [f64; 3] = std::array::from_fn(|k| FRAME[(corner >> k) & 1][k] - eye[k]);
        let [x, y, z] = [0, 1, 2].map(|axis| {
            let row = numbers(&asked["rotation"][axis]);
            (0..3).map(|k| row[k] * offset[k]).sum::<f64>()
        });
        assert!(z > 0.0, "behind the camera");
        most = most.max((x / z / across).abs()).max((y / z / down).abs());
    }
    most
}

#[test]
fn all_is_framed_and_a_view_is_stored_and_begun_with() {
    let viewer = Viewer::start(true);
    in_browser(async |mut browser| {
        for size in WINDOWS {
            window(&mut browser, size).await;
            browser.open("about:blank").await;
            browser.open(&viewer.url()).await;
            browser.until(RESTS).await;
            browser.value(LISTEN).await;
            browser.drag([200.0, 300.0], [260.0, 330.0]).await;
            browser.until("window.asked?.still === true").await;
            let before = browser.value("window.asked").await;
            let framed = "window.asked = null; \
                dispatchEvent(new KeyboardEvent('keydown', { key: 'f' })); true";
            browser.value(framed).await;
            browser.until("window.asked?.still === true").await;
            let asked = browser.value("window.asked").await;
            let forward = |asked: &Value| numbers(&asked["rotation"][2]);
            let (was, is) = (forward(&before), forward(&asked));
            let cosine: f64 = (0..3).map(|k| was[k] * is[k]).sum();
            assert!(cosine > 0.9999, "{size:?}: {was:?} {is:?}");
            let found = reach(&asked);
            assert!((0.85..=1.0).contains(&found), "{size:?}: {found}");

            // Stored, and where a page that is opened anew begins.
            browser
                .value("document.getElementById('start').click(); true")
                .await;
            browser
                .until("document.getElementById('message').textContent === 'stored'")
                .await;
            let stored = viewer.stored.lock().unwrap().clone().unwrap();
            let place = numbers(&asked["position"]);
            assert!(
                (0..3).all(|k| (stored.position[k] - place[k]).abs() < 1e-9),
                "{stored:?}"
            );
            browser.open("about:blank").await;
            let watch = json!({ "source": format!("{LISTEN};") });
            let added = browser
                .call("Page.addScriptToEvaluateOnNewDocument", watch)
                .await;
            browser.open(&viewer.url()).await;
            browser.until(RESTS).await;
            browser.until("window.asked?.still === true").await;
            let begun = browser.value("window.asked").await;
            let found = numbers(&begun["position"]);
            assert!(
                (0..3).all(|k| (found[k] - place[k]).abs() < 1e-9),
                "{begun}"
            );
            let fov = |asked: &Value| asked["fov"].as_f64().unwrap();
            assert!((fov(&begun) - fov(&asked)).abs() < 1e-6, "{begun}");
            browser
                .call("Page.removeScriptToEvaluateOnNewDocument", added)
                .await;
        }
        assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    });
}

#[test]
fn only_who_may_control_stores_a_view() {
    let start = || json!({ "type": "start", "view": view_of(3) });
    for control in [true, false] {
        let viewer = Viewer::start(control);
        Runtime::new().unwrap().block_on(async {
            let (mut socket, info) = informed_browser(&viewer).await;
            assert_eq!(
                (&info["stores_start"], &info["start"]),
                (&control.into(), &Value::Null)
            );
            say(&mut socket, start()).await;
            let reply = loop {
                let reply = hear(&mut socket).await;
                if reply["type"] != "status" && reply["type"] != "edits" {
                    break reply;
                }
            };
            let wanted = if control { "stored" } else { "error" };
            assert_eq!(reply["type"], wanted, "{reply}");
            assert_eq!(viewer.stored.lock().unwrap().is_some(), control);
            // Nonsense ends the connection and is not stored.
            let mut other = browser(&viewer).await;
            let mut wrong = start();
            wrong["view"]["fov"] = 0.into();
            say(&mut other, wrong).await;
            let (_, info) = informed_browser(&viewer).await;
            assert_eq!(info["start"].is_null(), !control);
        });
    }
}

/// A view request without its type.
fn view_of(seq: u32) -> Value {
    let mut request = view(seq, true);
    request.as_object_mut().unwrap().remove("type");
    request
}
