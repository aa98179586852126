//! `splatcore export --site` from the command to the picture: the folder on a web server, in a
//! headless Chromium, in windows of a desk and of a phone.
#![cfg(unix)]

use crate::common::{succeeds, text};
use serde_json::{Value, json};
use splatcore::data::scene::write_ply;
use splatcore_core::Gaussians;
use splatcore_core::random::Rng;
use splatcore_test_support::chromium::in_webgl;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const WINDOWS: [([u32; 2], bool); 2] = [([1024, 640], false), ([390, 844], true)];
/// So many that there are two levels of detail.
const GAUSSIANS: usize = 62_000;

/// A ball of a colour for each of its sides, before nothing.
fn ball(path: &Path) {
    let mut rng = Rng::new(3, 0);
    let mut scene = Gaussians::zeros(GAUSSIANS, 0);
    for i in 0..GAUSSIANS {
        let at: [f32; 3] = std::array::from_fn(|_| rng.normal());
        let length = at.iter().map(|v| v * v).sum::<f32>().sqrt().max(1e-3);
        scene.means[i] = at.map(|v| v / length);
        scene.log_scales[i] = [-4.0; 3];
        scene.rotations[i] = [1.0, 0.0, 0.0, 0.0];
        scene.opacity_logits[i] = 2.0;
        scene.sh[i] = scene.means[i];
    }
    write_ply(path, &scene, false).unwrap();
}

/// Serves a folder; returns its address and how many bytes of bodies were sent.
fn serve(folder: PathBuf) -> (String, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/", listener.local_addr().unwrap());
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (folder, count) = (folder.clone(), Arc::clone(&count));
            std::thread::spawn(move || answer(stream, &folder, &count));
        }
    });
    (address, sent)
}

fn answer(mut stream: TcpStream, folder: &Path, sent: &AtomicUsize) -> Option<()> {
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut piece) {
            Ok(read) if read > 0 => request.extend_from_slice(&piece[..read]),
            _ => return None,
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let path = request.split(' ').nth(1)?.trim_start_matches('/');
    let path = if path.is_empty() { "index.html" } else { path };
    let kind = match path.ends_with(".html") {
        true => "text/html",
        false => "application/octet-stream",
    };
    let (status, body) = match std::fs::read(folder.join(path)) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).ok()?;
    stream.write_all(&body).ok()?;
    sent.fetch_add(body.len(), Ordering::SeqCst);
    Some(())
}

/// Shares of a picture that are not the background: of all of it, and of its middle.
const COVERED: &str = "(async () => { \
    const bitmap = await createImageBitmap(await splatcore.picture(96, 96)); \
    const canvas = new OffscreenCanvas(96, 96); \
    const context = canvas.getContext('2d'); \
    context.drawImage(bitmap, 0, 0); \
    const share = (from, size) => { \
        const { data } = context.getImageData(from, from, size, size); \
        let lit = 0; \
        for (let i = 0; i < data.length; i += 4) lit += data[i] + data[i + 1] + data[i + 2] > 30; \
        return lit / (size * size); \
    }; \
    return [share(0, 96), share(40, 16)]; \
})()";

/// Buttons of the bar that are not on the screen, or too small for a finger on a phone.
const WRONG: &str = "[...document.querySelectorAll('#bar button:not([hidden])')].filter((b) => { \
    const { width, height, left, right, bottom } = b.getBoundingClientRect(); \
    const least = innerWidth < 500 ? 40 : 24; \
    return width < least || height < least || left < 0 || right > innerWidth \
        || bottom > innerHeight; }).map((b) => b.id)";

fn share(value: &Value, at: usize) -> f64 {
    value[at].as_f64().unwrap()
}

#[test]
fn a_site_arrives_and_is_moved_on_a_desk_and_on_a_phone() {
    let folder = tempfile::tempdir().unwrap();
    let (scene, site) = (folder.path().join("ball.ply"), folder.path().join("site"));
    ball(&scene);
    let said = succeeds(&["export", text(&scene), "--site", "-o", text(&site)]);
    assert_contains!(said, "before the first picture");
    let (address, sent) = serve(site.clone());
    for (size, phone) in WINDOWS {
        in_webgl(async |mut browser| {
            browser.screen(size, phone).await;
            let touch = json!({ "enabled": phone });
            let enable = "Emulation.setTouchEmulationEnabled";
            browser.call(enable, touch).await;
            sent.store(0, Ordering::SeqCst);
            browser.open(&address).await;
            let open = "location.href !== 'about:blank' && window.splatcore?.drawn > 0";
            browser.until(open).await;
            let all = "(s => s.wanted > 0 && s.there === s.wanted)(splatcore.stream)";
            browser.until(&format!("{all} && splatcore.resting")).await;
            assert!(sent.load(Ordering::SeqCst) > 0);
            let message = "document.getElementById('message').textContent";
            assert_eq!(browser.value(message).await, "", "{size:?}");

            // It begins with the ball in the middle, at an angle of view that is a usual one.
            let covered = browser.value(COVERED).await;
            assert!(share(&covered, 1) > 0.9, "{size:?}: {covered}");
            let fov = browser.value("splatcore.pose().fov").await;
            assert!(fov.as_f64().unwrap() <= 75.001, "{size:?}: {fov}");
            let wrong = browser.value(WRONG).await;
            assert_eq!(wrong, json!([]), "{size:?}");

            // A drag turns it; F shows all of it again.
            let forward = "splatcore.pose().rotation[2].map((v) => v.toFixed(6)).join()";
            let before = browser.value(forward).await;
            match phone {
                true => browser.touch_drag([195.0, 300.0], [255.0, 330.0]).await,
                false => browser.drag([400.0, 300.0], [500.0, 330.0]).await,
            }
            let turned = browser.value(forward).await;
            assert_ne!(turned, before, "{size:?}");
            browser.key("f").await;
            assert_eq!(browser.value(forward).await, turned, "{size:?}");
            browser.until(&format!("{all} && splatcore.resting")).await;
            let covered = browser.value(COVERED).await;
            let (whole, middle) = (share(&covered, 0), share(&covered, 1));
            assert!((0.05..0.95).contains(&whole) && middle > 0.9, "{covered}");
            assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
        });
    }
}
