//! The turn that ends with the first touch, and what a phone shows.

use crate::support::{Written, ball, plain, small_window};
use serde_json::json;
use splatcore_test_support::chromium::{Chromium, in_webgl};
use std::time::Duration;

const POSITION: &str = "splatcore.pose().position.join()";
const PRESSED: &str = "document.getElementById('turn').ariaPressed";

/// Whether the camera is elsewhere after a while: at once, or never. A frame of a loaded machine
/// takes its time.
async fn moves(browser: &mut Chromium, wanted: bool) -> bool {
    let before = browser.value(POSITION).await;
    for _ in 0..if wanted { 100 } else { 7 } {
        tokio::time::sleep(Duration::from_millis(100)).await;
        if browser.value(POSITION).await != before {
            return true;
        }
    }
    false
}

#[test]
fn it_turns_until_it_is_touched() {
    let scene = ball();
    let mut page = plain(&scene);
    page.turn = true;
    let page = Written::new(&page.to_html().unwrap());
    in_webgl(async |mut browser| {
        small_window(&mut browser).await;
        assert_eq!(page.open(&mut browser).await, "");
        assert!(moves(&mut browser, true).await, "turns by itself");
        let away = "Math.hypot(...splatcore.pose().position)";
        let before = browser.value(away).await.as_f64().unwrap();
        browser.drag([100.0, 60.0], [101.0, 60.0]).await;
        assert!(!moves(&mut browser, false).await, "a touch stops it");
        let after = browser.value(away).await.as_f64().unwrap();
        assert!((before - after).abs() < 1e-6, "about the middle");
        assert_eq!(browser.value(PRESSED).await, "false");
        browser
            .value("document.getElementById('turn').click(), 1")
            .await;
        assert!(
            moves(&mut browser, true).await,
            "the button starts it again"
        );
        browser
            .value("document.getElementById('turn').click(), 1")
            .await;
        assert!(!moves(&mut browser, false).await, "and stops it");

        let calm = json!({"features": [{"name": "prefers-reduced-motion", "value": "reduce"}]});
        browser.call("Emulation.setEmulatedMedia", calm).await;
        assert_eq!(page.open(&mut browser).await, "");
        assert!(
            !moves(&mut browser, false).await,
            "not for those who want no motion"
        );
        assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    });
}

#[test]
fn a_phone_shows_once_what_fingers_do() {
    let scene = ball();
    let page = Written::new(&plain(&scene).to_html().unwrap());
    in_webgl(async |mut browser| {
        browser.screen([390, 844], true).await;
        let touch = json!({"enabled": true, "maxTouchPoints": 2});
        browser
            .call("Emulation.setTouchEmulationEnabled", touch)
            .await;
        assert_eq!(page.open(&mut browser).await, "");
        let hidden = "document.getElementById('touch-help').hidden";
        assert_eq!(browser.value(hidden).await, false);
        // Controls are as large as a finger, and all are on the screen.
        let small = "[...document.querySelectorAll('#bar button:not([hidden])')].filter((b) => { \
            const { width, height, left, right } = b.getBoundingClientRect(); \
            return width < 40 || height < 40 || left < 0 || right > innerWidth; }).length";
        assert_eq!(browser.value(small).await, 0);

        let before = browser.value(POSITION).await;
        fingers(&mut browser, &[[195.0, 300.0]], &[[255.0, 320.0]]).await;
        assert_ne!(browser.value(POSITION).await, before, "one finger turns");
        assert_eq!(browser.value(hidden).await, true);
        let away = "Math.hypot(...splatcore.pose().position)";
        let before = browser.value(away).await.as_f64().unwrap();
        let [from, to] = [
            [[150.0, 300.0], [240.0, 300.0]],
            [[100.0, 300.0], [290.0, 300.0]],
        ];
        fingers(&mut browser, &from, &to).await;
        let after = browser.value(away).await.as_f64().unwrap();
        assert!(
            after < 0.8 * before,
            "{before} to {after}: a pinch comes nearer"
        );

        assert_eq!(page.open(&mut browser).await, "");
        assert_eq!(browser.value(hidden).await, true);
        assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    });
}

/// Fingers that go from one place to another.
async fn fingers(browser: &mut Chromium, from: &[[f64; 2]], to: &[[f64; 2]]) {
    let points = |places: &[[f64; 2]]| {
        let point = |(id, [x, y]): (usize, &[f64; 2])| json!({"x": x, "y": y, "id": id});
        let points: Vec<_> = places.iter().enumerate().map(point).collect();
        json!(points)
    };
    for (kind, places) in [("touchStart", from), ("touchMove", to), ("touchEnd", &[])] {
        let params = json!({"type": kind, "touchPoints": points(places)});
        browser.call("Input.dispatchTouchEvent", params).await;
    }
}
