//! A page whose scene is damaged says so, and stays quiet otherwise.

use crate::support::{Written, plain, rounded, small_window};
use splatcore_core::Gaussians;
use splatcore_page::Source;
use splatcore_test_support::chromium::in_webgl;

#[test]
fn a_damaged_scene_is_told() {
    let mut gaussians = Gaussians::zeros(300, 1);
    gaussians.rotations.fill([1.0, 0.0, 0.0, 0.0]);
    for (i, mean) in gaussians.means.iter_mut().enumerate() {
        *mean = [i as f32 * 0.01, 0.0, 0.0];
    }
    let scene = rounded(&gaussians, false);
    let damaged = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = scene.sog.clone();
        change(&mut bytes);
        let mut page = plain(&scene);
        page.scene = Source::Inside(&bytes);
        page.to_html().unwrap()
    };
    let sound = plain(&scene).to_html().unwrap();
    let cases = [
        ("a bit", damaged(&|bytes| bytes[200] ^= 1), "wrong checksum"),
        (
            "cut",
            damaged(&|bytes| bytes.truncate(900)),
            "no zip archive",
        ),
        ("empty", damaged(&|bytes| bytes.clear()), "no zip archive"),
        (
            "text",
            sound.replace("\"scene\">UEsD", "\"scene\">??UE"),
            "no base64",
        ),
    ];
    in_webgl(async |mut browser| {
        small_window(&mut browser).await;
        for (name, html, wanted) in cases {
            let page = Written::new(&html);
            let message = page.open(&mut browser).await;
            assert!(
                message.contains("damaged") && message.contains(wanted),
                "{name}: {message}"
            );
            assert!(page.path().exists());
        }
        assert_eq!(Written::new(&sound).open(&mut browser).await, "");
    });
}
