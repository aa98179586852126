//! Editing in a real browser, at a desktop's and a phone's size. Skipped where there is none.

use crate::support::{Viewer, scene};
use serde_json::json;
use splatcore_test_support::chromium::{Chromium, in_browser};

/// The picture that rests is there.
const RESTS: &str = "document.getElementById('view').dataset.lossless === 'true'";
/// What the page says of the scene.
const FACTS: &str = "document.getElementById('facts').textContent";

pub fn click(id: &str) -> String {
    format!("document.getElementById('{id}').click()")
}

/// Opens the page at a size; the mouse works at both.
pub async fn open(browser: &mut Chromium, viewer: &Viewer, [width, height]: [u32; 2]) {
    browser.screen([width, height], width < 700).await;
    // The same address again would not load the page again.
    browser.open("about:blank").await;
    // Where the page asks first, the next address would be lost before it is left.
    browser.until("location.href === 'about:blank'").await;
    browser.open(&viewer.url()).await;
    let tools = "!document.getElementById('tool-brush').disabled";
    browser.until(&format!("{RESTS} && {tools}")).await;
}

/// How many Gaussians the page says are selected.
pub async fn selected(browser: &mut Chromium) -> usize {
    browser
        .until(&format!("{FACTS}.includes('selected')"))
        .await;
    let count = "Number(document.getElementById('selected').textContent.split(' ')[0])";
    browser.value(count).await.as_u64().unwrap() as usize
}

/// Paint, delete, undo, delete again, save: the file on disk has the right Gaussians.
#[test]
fn what_is_painted_over_is_deleted_and_the_rest_saved() {
    let viewer = Viewer::start(true);
    in_browser(async |mut browser| {
        for (size, name) in [([1280, 720], "desktop"), ([390, 844], "phone")] {
            open(&mut browser, &viewer, size).await;
            let middle = size.map(|side| f64::from(side) / 2.0);
            browser.value(&click("tool-brush")).await;
            let from = [middle[0] - 140.0, middle[1] - 20.0];
            browser
                .drag(from, [middle[0] + 140.0, middle[1] + 20.0])
                .await;
            let count = selected(&mut browser).await;
            assert!(count > 0 && count < 200, "{name}: {count}");
            let left = format!("{FACTS}.startsWith('{} Gaussians')", 200 - count);
            browser.value(&click("delete")).await;
            browser.until(&left).await;
            browser.value(&click("undo")).await;
            let back = format!("{FACTS} === '200 Gaussians, {count} selected'");
            browser.until(&back).await;
            browser.value(&click("redo")).await;
            browser.until(&left).await;
            let save = format!(
                "document.getElementById('save-name').value = '{name}'; {}",
                click("save-scene")
            );
            browser.value(&save).await;
            let result = "document.getElementById('save-result').textContent";
            browser
                .until(&format!("{result}.startsWith('Saved: {name}.ply')"))
                .await;
            let file = viewer.folder.path().join(format!("{name}.ply"));
            let read = splatcore_data::scene::read(&file).unwrap().gaussians;
            assert_eq!(read.len(), 200 - count, "{name}");
            let known = scene().means;
            assert!(read.means.iter().all(|mean| known.contains(mean)));

            // The same name again asks first.
            browser.value(&click("save-scene")).await;
            browser
                .until("document.getElementById('replace').open")
                .await;
            let no = "document.querySelector('#replace [value=no]').click()";
            browser.value(no).await;
            for _ in 0..2 {
                browser.value(&click("undo")).await;
            }
            browser.until(&format!("{FACTS} === '200 Gaussians'")).await;
        }
        assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    });
}

/// The browser asks before it leaves edits that nobody saved, and only then; a scene of several
/// files is saved into a folder.
#[test]
fn edits_that_are_not_saved_are_warned_of() {
    let viewer = Viewer::start(true);
    in_browser(async |mut browser| {
        for (size, name, radius) in [([1280, 720], "desktop", -0.9), ([390, 844], "phone", -0.5)] {
            open(&mut browser, &viewer, size).await;
            let unsaved = "document.getElementById('unsaved')";
            assert_eq!(browser.value(&format!("{unsaved}.hidden")).await, true);
            browser.value(&click("tool-sphere")).await;
            // Browsers ask only on pages that were touched.
            browser.click(size.map(|side| f64::from(side) / 2.0)).await;
            let wider = format!(
                "(() => {{ const slider = document.getElementById('sphere-radius'); \
                 slider.value = {radius}; slider.oninput(); }})()"
            );
            browser.value(&wider).await;
            browser.value(&click("select-sphere")).await;
            selected(&mut browser).await;
            browser.value(&click("delete")).await;
            let said = format!("{unsaved}.textContent === '1 edit is not saved'");
            browser.until(&said).await;
            open(&mut browser, &viewer, size).await;
            assert_eq!(browser.dialogs, ["beforeunload"], "{name}");
            browser.until(&said).await;
            let save = format!(
                "document.getElementById('save-name').value = '{name}'; \
                 document.getElementById('save-ending').value = '/meta.json'; {}",
                click("save-scene")
            );
            browser.value(&save).await;
            let result = "document.getElementById('save-result').textContent";
            let done = format!("{result}.startsWith('Saved: {name}/meta.json')");
            browser.until(&done).await;
            browser.until(&format!("{unsaved}.hidden")).await;
            let file = viewer.folder.path().join(name).join("meta.json");
            let read = splatcore_data::scene::read(&file).unwrap().gaussians;
            assert!(!read.is_empty() && read.len() < 200);
            browser.click(size.map(|side| f64::from(side) / 2.0)).await;
            open(&mut browser, &viewer, size).await;
            assert_eq!(browser.dialogs.len(), 1, "{name}");
            browser.dialogs.clear();
        }
        assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    });
}

/// A picture of the chosen size is downloaded.
#[test]
fn a_picture_is_downloaded() {
    let viewer = Viewer::start(true);
    let folder = tempfile::tempdir().unwrap();
    in_browser(async |mut browser| {
        let allow = json!({"behavior": "allow", "downloadPath": folder.path()});
        browser.call("Page.setDownloadBehavior", allow).await;
        for (size, own) in [([1280, 720], [300, 200]), ([390, 844], [120, 160])] {
            open(&mut browser, &viewer, size).await;
            let [width, height] = own;
            let ask = format!(
                "(() => {{ const set = (id, value) => {{ const e = document.getElementById(id); \
                 e.value = value; e.dispatchEvent(new Event('change')); }}; \
                 set('picture-size', 'own'); set('picture-width', {width}); \
                 set('picture-height', {height}); {} }})()",
                click("picture")
            );
            browser.value(&ask).await;
            let file = folder.path().join(format!("test-{width}x{height}.png"));
            let begun = std::time::Instant::now();
            while !file.exists() {
                assert!(begun.elapsed().as_secs() < 120, "no picture");
                browser.value("1").await;
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
            let picture = splatcore_data::picture::read(&file).unwrap().into_rgb8();
            assert_eq!(picture.dimensions(), (width, height));
            assert!(
                picture
                    .pixels()
                    .any(|pixel| pixel.0.iter().any(|&v| v > 60))
            );
        }
        assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    });
}

/// Two clicks measure a distance, and a typed length sets the scale.
#[test]
fn two_points_measure_and_set_the_scale() {
    let viewer = Viewer::start(true);
    in_browser(async |mut browser| {
        for size in [[1280, 720], [390, 844]] {
            open(&mut browser, &viewer, size).await;
            browser.value(&click("tool-measure")).await;
            let middle = size.map(|side| f64::from(side) / 2.0);
            let distance = "document.getElementById('distance').textContent";
            let first = [middle[0] - 60.0, middle[1]];
            browser.drag(first, first).await;
            browser
                .until(&format!("{distance}.includes('second')"))
                .await;
            let second = [middle[0] + 60.0, middle[1]];
            browser.drag(second, second).await;
            browser.until(&format!("parseFloat({distance}) > 0")).await;
            let set = format!(
                "document.getElementById('real-length').value = '12.5'; {}",
                click("set-scale")
            );
            browser.value(&set).await;
            browser
                .until(&format!("{distance} === '12.5 units (scale set)'"))
                .await;
            let command = "document.getElementById('moves').value";
            let command = browser.value(command).await;
            assert!(
                command.as_str().unwrap().starts_with("--metric "),
                "{command}"
            );
            browser.value(&click("undo")).await;
            browser.until(&format!("!{distance}.includes('set')")).await;
        }
        assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    });
}
