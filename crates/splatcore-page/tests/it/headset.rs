//! A headset that the test makes: there is none on the machines that run tests.

use crate::support::{SIZE, Written, ball, plain, pose, psnr, rendered, small_window};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;
use splatcore_core::Camera;
use splatcore_test_support::chromium::{Chromium, in_webgl};

/// `navigator.xr` with a session whose frames the test calls, and a framebuffer of two eyes.
const FAKE: &str = include_str!("headset.js");

/// The eyes' positions in front of the place where the session began, metres.
const EYES: [f64; 2] = [-0.5, 0.5];

#[test]
fn both_eyes_are_drawn_and_the_session_ends() {
    let scene = ball();
    let [width, height] = SIZE;
    let see = |x: f64| {
        Camera::look_at(
            [x, 0.0, -4.0],
            [x, 0.0, 0.0],
            [0.0, -1.0, 0.0],
            0.9,
            width,
            height,
        )
    };
    let start = see(0.0);
    let mut page = plain(&scene);
    page.start = Some(pose(&start));
    let page = Written::new(&page.to_html().unwrap());
    in_webgl(async |mut browser| {
        small_window(&mut browser).await;
        assert_eq!(page.open(&mut browser).await, "");
        let hidden = "document.getElementById('headset').hidden";
        assert_eq!(browser.value(hidden).await, true, "no headset, no button");

        let source = json!({"source": FAKE});
        browser
            .call("Page.addScriptToEvaluateOnNewDocument", source)
            .await;
        assert_eq!(page.open(&mut browser).await, "");
        browser.until(&format!("!{hidden}")).await;
        browser
            .value("splatcore.adapt = false, document.getElementById('headset').click()")
            .await;
        browser.until("fake.frames.length === 1").await;
        // A metre is half of the distance to what the camera turned about.
        let units = browser
            .value("splatcore.distance / 2")
            .await
            .as_f64()
            .unwrap();
        let tangent = start.tan_half_fov();
        let frame = format!("fake.frame({EYES:?}, {:?})", tangent);
        browser.value(&frame).await;
        browser.until("fake.frames.length === 1").await;
        // The order of the view has come by the second frame.
        browser.until("splatcore.sorted > 0").await;
        browser.value(&frame).await;
        for (eye, x) in EYES.into_iter().enumerate() {
            let bytes = browser.value(&format!("fake.eye({eye})")).await;
            let bytes = STANDARD.decode(bytes.as_str().unwrap()).unwrap();
            let picture = rows_from_top(&bytes, width as usize);
            let found = psnr(&picture, &rendered(&scene, &see(x * units)));
            let other = psnr(&picture, &rendered(&scene, &see(-x * units)));
            eprintln!("eye {eye}: {found:.1} dB, against the other eye {other:.1} dB");
            assert!(found > 45.0 && other < 35.0, "{found:.1} dB, {other:.1} dB");
        }
        walk(&mut browser, &frame).await;

        browser
            .value("document.getElementById('headset').click(), 1")
            .await;
        browser.until("fake.ended").await;
        let drawn = browser.value("splatcore.drawn").await.as_u64().unwrap();
        browser.until(&format!("splatcore.drawn > {drawn}")).await;
        assert_eq!(
            browser
                .value("document.getElementById('message').textContent")
                .await,
            ""
        );
        assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    });
}

/// The left stick moves the head.
async fn walk(browser: &mut Chromium, frame: &str) {
    browser.value("fake.stick([0, 0, 1, 0])").await;
    let before = browser.value("fake.eye(0)").await;
    for _ in 0..2 {
        tokio::time::sleep(std::time::Duration::from_millis(80)).await;
        browser.value(frame).await;
    }
    assert_ne!(browser.value("fake.eye(0)").await, before);
}

/// RGB rows from the top, of RGBA rows from the bottom.
fn rows_from_top(bytes: &[u8], width: usize) -> Vec<u8> {
    let rows = bytes.chunks_exact(4 * width).rev();
    let pixels = rows.flat_map(|row| row.chunks_exact(4));
    pixels.flat_map(|pixel| pixel[..3].to_vec()).collect()
}
