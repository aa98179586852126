//! Markers in the scene and their texts.

use crate::support::{Written, ball, plain, small_window};
use serde_json::json;
use splatcore_core::Camera;
use splatcore_page::Hotspot;
use splatcore_test_support::chromium::in_webgl;

fn hotspot(title: &str, text: &str, position: [f64; 3]) -> Hotspot {
    Hotspot {
        position,
        title: title.into(),
        text: text.into(),
        view: None,
    }
}

#[test]
fn markers_follow_the_scene_and_texts_stay_texts() {
    let scene = ball();
    let front = Camera::look_at([0.0, 0.0, -5.0], [0.0; 3], [0.0, -1.0, 0.0], 0.9, 240, 160);
    let side = Camera::look_at([5.0, 0.0, 0.0], [0.0; 3], [0.0, -1.0, 0.0], 0.9, 240, 160);
    let mut page = plain(&scene);
    page.start = Some(crate::support::pose(&front));
    page.hotspots = vec![
        hotspot(
            "near <b>side</b>",
            "one\n<img src=x onerror=alert(1)>",
            [0.0, 0.0, -1.1],
        ),
        hotspot("far side", "", [0.0, 0.0, 1.1]),
        Hotspot {
            view: Some(crate::support::pose(&side)),
            ..hotspot("above", "from the side", [0.0, -1.4, 0.0])
        },
    ];
    let page = Written::new(&page.to_html().unwrap());
    in_webgl(async |mut browser| {
        small_window(&mut browser).await;
        assert_eq!(page.open(&mut browser).await, "");
        browser.until("splatcore.resting").await;
        let middle = "(r => [r.x + r.width / 2, r.y + r.height / 2])\
                      (document.querySelector('.marker').getBoundingClientRect())";
        let at = browser.value(middle).await;
        for (c, wanted) in [120.0, 80.0].into_iter().enumerate() {
            let found = at[c].as_f64().unwrap();
            assert!((found - wanted).abs() < 1.5, "{at}");
        }
        let behind = "[...document.querySelectorAll('.marker')]\
                      .map((m) => m.classList.contains('behind'))";
        assert_eq!(browser.value(behind).await, json!([false, true, false]));

        // By keyboard: focus, Enter, Escape.
        browser
            .value("document.querySelector('.marker').focus(), 1")
            .await;
        browser.key("Enter").await;
        let card = "[document.getElementById('card').hidden, \
                    document.querySelector('#card .title').textContent, \
                    document.querySelector('#card .text').textContent, \
                    document.querySelectorAll('#card b, #card img').length]";
        let text = "one\n<img src=x onerror=alert(1)>";
        assert_eq!(
            browser.value(card).await,
            json!([false, "near <b>side</b>", text, 0])
        );
        browser.key("Escape").await;
        assert_eq!(
            browser
                .value("document.getElementById('card').hidden")
                .await,
            true
        );

        // The third has a view: the camera flies there.
        browser
            .value("document.querySelectorAll('.marker')[2].click(), 1")
            .await;
        let there = "(p => Math.hypot(p[0] - 5, p[2]) < 1e-6)(splatcore.pose().position)";
        browser.until(there).await;
        assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    });
}
