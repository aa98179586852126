//! The view in the address, links, embedding, the whole screen.

use crate::server::Server;
use crate::support::{Written, around, ball, opened, plain, pose};
use serde_json::{Value, json};
use splatcore_test_support::chromium::in_webgl;

fn numbers(value: &Value) -> Vec<f64> {
    let list = value.as_array().unwrap().iter();
    list.map(|v| v.as_f64().unwrap()).collect()
}

/// All numbers of the camera.
const POSE: &str = "(p => [...p.position, ...p.rotation.flat(), p.fov])(splatcore.pose())";

#[test]
fn the_address_has_the_view() {
    let scene = ball();
    let start = pose(&around(&scene.gaussians, &[0.5])[0]);
    let mut page = plain(&scene);
    page.start = Some(start.clone());
    let page = Written::new(&page.to_html().unwrap());
    in_webgl(async |mut browser| {
        assert_eq!(page.open(&mut browser).await, "");
        let begun = numbers(&browser.value(POSE).await);
        let wrong = (0..3)
            .map(|c| (begun[c] - start.position[c]).abs())
            .sum::<f64>();
        assert!(wrong < 1e-9, "{begun:?}");
        browser.until("splatcore.resting").await;
        assert_eq!(browser.value("location.hash").await, "");
        let entries = browser.value("history.length").await;

        browser.drag([300.0, 300.0], [380.0, 330.0]).await;
        browser.drag([300.0, 300.0], [280.0, 330.0]).await;
        browser
            .until("splatcore.resting && location.hash.startsWith('#v=')")
            .await;
        assert_eq!(browser.value("history.length").await, entries);
        let left = numbers(&browser.value(POSE).await);
        let hash = browser.value("location.hash").await;
        let linked = format!("{}{}", page.address(), hash.as_str().unwrap());
        assert_eq!(opened(&mut browser, &linked).await, "");
        let found = numbers(&browser.value(POSE).await);
        let far = found
            .iter()
            .zip(&left)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f64::max);
        assert!(far < 1e-4, "{left:?} {found:?}");
        // It turns about the same point as before.
        browser.drag([300.0, 300.0], [360.0, 300.0]).await;
        let away = "Math.hypot(...splatcore.pose().position)";
        let distance = browser.value(away).await.as_f64().unwrap();
        let before = left[..3].iter().map(|v| v * v).sum::<f64>().sqrt();
        assert!((distance - before).abs() < 0.3, "{before} {distance}");

        // What is no view is let be.
        for bad in [
            "#v=1,2,3",
            "#v=a,b,c,d,e,f,g,h,i,j",
            "#v=0,0,0,0,0,0,0,50,1,1",
        ] {
            let address = format!("{}{bad}", page.address());
            assert_eq!(opened(&mut browser, &address).await, "");
            assert_eq!(numbers(&browser.value(POSE).await), begun);
        }
        assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    });
}

#[test]
fn links_and_embed_code_need_an_address() {
    let scene = ball();
    let mut page = plain(&scene);
    page.title = "\"mill\" <b>&amp;";
    let html = page.to_html().unwrap();
    let page = Written::new(&html);
    std::fs::copy(page.path(), page.path().with_file_name("index.html")).unwrap();
    in_webgl(async |mut browser| {
        let share = "document.getElementById('share').click(), \
                     [document.getElementById('no-link').hidden, \
                      document.getElementById('link').value, \
                      document.getElementById('embed').value]";
        assert_eq!(page.open(&mut browser).await, "");
        assert_eq!(browser.value(share).await, json!([false, "", ""]));

        let server = Server::start(page.path().parent().unwrap()).await;
        assert_eq!(opened(&mut browser, &server.address).await, "");
        let found = browser.value(share).await;
        assert_eq!(found[0], true);
        let link = found[1].as_str().unwrap();
        assert!(
            link.starts_with(&format!("{}#v=", server.address)),
            "{link}"
        );
        let code = found[2].as_str().unwrap().to_owned();
        assert!(
            code.starts_with("<iframe ") && !code.contains("<b>\""),
            "{code}"
        );

        // The code in another page shows the scene, without panel and title.
        let other = page.path().with_file_name("other.html");
        std::fs::write(&other, format!("<!doctype html><title>o</title>{code}")).unwrap();
        let address = format!("{}other.html", server.address);
        browser.open(&address).await;
        let inside = "document.querySelector('iframe').contentWindow";
        browser
            .until(&format!("{inside}.splatcore.drawn > 0"))
            .await;
        let title = "document.querySelector('iframe').title";
        assert_eq!(browser.value(title).await, "\"mill\" <b>&amp;");
        let shown = |id: &str| {
            format!("{inside}.getComputedStyle({inside}.document.getElementById('{id}')).display")
        };
        for (id, display) in [("menu", "none"), ("head", "none"), ("fullscreen", "none")] {
            let found = browser.value(&shown(id)).await;
            // The browser may allow the whole screen to frames.
            assert!(found == display || id == "fullscreen", "{id}: {found}");
        }
        assert_ne!(browser.value(&shown("bar")).await, "none");
    });
}

#[test]
fn the_button_fills_the_screen_and_leaves_it() {
    let scene = ball();
    let page = Written::new(&plain(&scene).to_html().unwrap());
    in_webgl(async |mut browser| {
        assert_eq!(page.open(&mut browser).await, "");
        let place = "(r => [r.x + r.width / 2, r.y + r.height / 2])\
                     (document.getElementById('fullscreen').getBoundingClientRect())";
        for full in [true, false] {
            let at = numbers(&browser.value(place).await);
            browser.click([at[0], at[1]]).await;
            let wanted = format!("Boolean(document.fullscreenElement) === {full}");
            browser.until(&wanted).await;
        }
        assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    });
}
