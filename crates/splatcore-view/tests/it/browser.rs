//! The page in a real browser. Skipped where there is none.

use crate::support::Viewer;
use serde_json::json;
use splatcore_test_support::chromium::in_browser;
use splatcore_view::protocol::Status;
use std::io::{Read, Write};
use std::net::TcpListener;

/// A number that tells pictures apart: a checksum of the canvas's pixels.
pub const PICTURE: &str = "(() => { const c = document.getElementById('view'); \
    const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; \
    let s = 0; for (let i = 0; i < d.length; i++) s = (s * 31 + d[i]) % 1000003; return s; })()";
/// The picture that rests is there.
pub const RESTS: &str = "document.getElementById('view').dataset.lossless === 'true'";

/// Presses a key.
fn key(key: &str) -> String {
    format!("dispatchEvent(new KeyboardEvent('keydown', {{ key: '{key}' }})); true")
}

#[test]
fn waiting_for_a_page_outlasts_the_page_before() {
    let viewer = Viewer::start(true);
    in_browser(async |mut browser| {
        // The expression waits for ever in the page that it makes the browser leave.
        let leaves = format!(
            "location.protocol === 'http:' || \
             (location.href = '{}', new Promise(() => {{}}))",
            viewer.url()
        );
        browser.until(&leaves).await;
    });
}

#[test]
fn the_page_shows_the_scene_and_follows_the_mouse() {
    let viewer = Viewer::start(true);
    in_browser(async |mut browser| {
        browser.open(&viewer.url()).await;
        browser.until(RESTS).await;
        let first = browser.value(PICTURE).await;
        let bright = "(() => { const c = document.getElementById('view'); \
            const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; \
            return d.some((v, i) => i % 4 < 3 && v > 60); })()";
        assert_eq!(browser.value(bright).await, true, "a black picture");
        // It begins at the photo's camera, and lacks nothing.
        assert_eq!(browser.value("document.title").await, "test");
        let facts = browser
            .value("document.getElementById('facts').textContent")
            .await;
        assert_eq!(facts, "200 Gaussians");

        browser.drag([300.0, 300.0], [420.0, 340.0]).await;
        browser
            .until(&format!("{RESTS} && {PICTURE} !== {first}"))
            .await;
        let turned = browser.value(PICTURE).await;
        browser.double_click([450.0, 300.0]).await;
        browser
            .until(&format!("{RESTS} && {PICTURE} !== {turned}"))
            .await;
        let focused = browser.value(PICTURE).await;
        let depth = "document.getElementById('channel').value = 'depth'; \
            document.getElementById('channel').dispatchEvent(new Event('input')); true";
        browser.value(depth).await;
        browser
            .until(&format!("{RESTS} && {PICTURE} !== {focused}"))
            .await;

        // A photo is laid over the render of its camera.
        let visit = "(() => { const s = document.getElementById('camera'); s.value = '0'; \
            s.dispatchEvent(new Event('change')); return true; })()";
        browser.value(visit).await;
        browser
            .until("!document.getElementById('photo').hidden")
            .await;

        // Keyframes survive a reload.
        for id in ["add", "add"] {
            browser
                .value(&format!("document.getElementById('{id}').click(); true"))
                .await;
        }
        browser.call("Page.reload", serde_json::json!({})).await;
        browser
            .until(&format!("document.readyState === 'complete' && {RESTS}"))
            .await;
        browser
            .until("document.querySelectorAll('#keyframes li').length === 2")
            .await;

        // The run is paused by the page.
        browser
            .value("document.getElementById('pause').click(); true")
            .await;

        let own = viewer.address().to_string();
        let foreign: Vec<&String> = browser
            .requests
            .iter()
            .filter(|url| {
                !url.contains(&own) && !url.starts_with("data:") && !url.starts_with("blob:")
            })
            .collect();
        assert!(foreign.is_empty(), "{foreign:?}");
        assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    });
}

/// Tiles as colours come with a legend, which goes with them.
#[test]
fn tiles_have_a_legend() {
    let viewer = Viewer::start(true);
    in_browser(async |mut browser| {
        browser.open(&viewer.url()).await;
        browser.until(RESTS).await;
        let shown = "getComputedStyle(document.getElementById('heat')).display";
        assert_eq!(browser.value(shown).await, "none");
        let before = browser.value(PICTURE).await;
        browser.value(&key("4")).await;
        browser
            .until(&format!("{RESTS} && {PICTURE} !== {before}"))
            .await;
        assert_eq!(browser.value(shown).await, "block");
        let legend = browser
            .value("document.getElementById('heat').innerText")
            .await;
        let legend = legend.as_str().unwrap();
        assert!(
            legend.contains("16x16") && legend.contains("4,095+"),
            "{legend}"
        );
        let bar = "document.getElementById('heat-bar').style.background";
        let bar = browser.value(bar).await;
        assert!(
            bar.as_str().unwrap().contains("rgb(255, 255, 224)"),
            "{bar}"
        );
        browser.value(&key("1")).await;
        assert_eq!(browser.value(shown).await, "none");
        assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    });
}

/// At a phone's size nothing stands out of the screen, and all that is touched is large enough; at
/// both sizes each control says what it is.
#[test]
fn the_panel_fits_a_desktop_and_a_phone() {
    let viewer = Viewer::start(true);
    in_browser(async |mut browser| {
        for (width, height, mobile, least) in [(1280, 720, false, 26), (390, 844, true, 44)] {
            browser.screen([width, height], mobile).await;
            browser.open("about:blank").await;
            browser.open(&viewer.url()).await;
            browser.until(RESTS).await;
            let closed = "document.getElementById('panel').classList.contains('closed')";
            assert_eq!(browser.value(closed).await, mobile);
            if mobile {
                browser
                    .value("document.getElementById('menu').click()")
                    .await;
            }
            browser
                .value("document.querySelectorAll('details').forEach((d) => (d.open = true))")
                .await;
            let shown = "[...document.querySelectorAll('button, select, summary, .button, label')]\
                .filter((e) => e.offsetParent && !e.disabled)";
            let small = format!(
                "{shown}.filter((e) => e.getBoundingClientRect().height < {least}) \
                 .map((e) => e.outerHTML)"
            );
            assert_eq!(browser.value(&small).await, json!([]), "{width}");
            let outside = format!(
                "{shown}.filter((e) => {{ const r = e.getBoundingClientRect(); \
                 return r.left < 0 || r.right > {width}; }}).map((e) => e.outerHTML)"
            );
            assert_eq!(browser.value(&outside).await, json!([]), "{width}");
            let nameless = "[...document.querySelectorAll('button, select, input')] \
                .filter((e) => !(e.textContent.trim() || e.ariaLabel || e.labels?.length)) \
                .map((e) => e.outerHTML)";
            assert_eq!(browser.value(nameless).await, json!([]));
        }
        // The groups have headings.
        let headings = "[...document.querySelectorAll('summary')] \
            .filter((e) => e.offsetParent).map((e) => e.textContent.trim())";
        let headings = browser.value(headings).await.to_string();
        assert!(
            headings.contains("Training") && headings.contains("Photos"),
            "{headings}"
        );
        // Dark and light: by the system, then by the button, which is remembered.
        let dark = "getComputedStyle(document.body).colorScheme === 'dark'";
        for (value, shown) in [("dark", dark.into()), ("light", format!("!({dark})"))] {
            let media = json!({"features": [{"name": "prefers-color-scheme", "value": value}]});
            browser.call("Emulation.setEmulatedMedia", media).await;
            browser.until(&shown).await;
        }
        browser
            .value("document.getElementById('theme').click()")
            .await;
        assert_eq!(browser.value(dark).await, true);
        browser.call("Page.reload", json!({})).await;
        browser.until(&format!("{RESTS} && {dark}")).await;
        assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    });
}

/// The curves of a run have axes with numbers and units.
#[test]
fn curves_have_axes() {
    let viewer = Viewer::start(true);
    viewer.hub.publish(Status {
        step: 80,
        iterations: 100,
        loss: Some(0.1),
        losses: (1..=8).map(|i| (10 * i, 0.8 / f64::from(i))).collect(),
        psnr: vec![(40, 18.0), (80, 24.5)],
        ..Status::default()
    });
    in_browser(async |mut browser| {
        browser.open(&viewer.url()).await;
        browser.until(RESTS).await;
        browser
            .until("document.getElementById('legend').textContent.includes('24.50 dB')")
            .await;
        // What is written onto the canvas when it is drawn again.
        let words = "(() => { const said = []; const proto = CanvasRenderingContext2D.prototype; \
            const fill = proto.fillText; proto.fillText = function (text, ...rest) { \
            said.push(text); fill.call(this, text, ...rest); }; \
            dispatchEvent(new Event('resize')); proto.fillText = fill; return said.join(' '); })()";
        let words = browser.value(words).await;
        let words = words.as_str().unwrap();
        for wanted in ["steps", "loss", "PSNR, dB", "0 50 100 steps", "0.5", "20"] {
            assert!(words.contains(wanted), "{wanted}: {words}");
        }
        assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    });
}

/// A page of another origin, open in the same browser, gets nothing from the viewer.
#[test]
fn a_page_of_another_origin_gets_nothing() {
    let viewer = Viewer::start(true);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let evil = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let page = "<!doctype html><title>evil</title>";
            let _ = write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\n\
                 Connection: close\r\n\r\n{page}",
                page.len()
            );
        }
    });
    in_browser(async |mut browser| {
        browser.open(&format!("http://{evil}/")).await;
        browser.until("document.title === 'evil'").await;
        let own = viewer.address();
        let socket = format!(
            "new Promise((done) => {{ const s = new WebSocket('ws://{own}/socket'); \
             s.onopen = () => done('open'); s.onerror = () => done('refused'); }})"
        );
        assert_eq!(browser.value(&socket).await, "refused");
        for mode in ["cors", "no-cors"] {
            let fetch = format!(
                "fetch('http://{own}/main.js', {{ mode: '{mode}' }}).then(() => 'read', () => 'refused')"
            );
            assert_eq!(browser.value(&fetch).await, "refused", "{mode}");
        }
        let frame = format!(
            "new Promise((done) => {{ const f = document.createElement('iframe'); \
             f.src = 'http://{own}/'; f.onload = () => {{ let seen = 'hidden'; \
             try {{ const page = f.contentDocument; if (page && page.title) seen = page.title; }} \
             catch {{ }} done(seen); }}; document.body.append(f); }})"
        );
        assert_eq!(browser.value(&frame).await, "hidden");
        assert_eq!(viewer.hub.clients(), 0);
    });
}
