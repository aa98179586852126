//! The page's picture is the renderer's.

use crate::support::{
    Written, around, pictured, plain, psnr, rendered, rendered_under, rounded, small_window, stored,
};
use splatcore_core::sky::Sky;
use splatcore_page::{LOOK_SIDE, Page};
use splatcore_test_support::chromium::in_webgl;
use splatcore_test_support::shared;

/// Real scenes of degree 0, 2 and 3; their pages differ from the renderer's images, of the values
/// that the page holds, by roundings: 16-bit sums against floats. Goal of the viewer: 40 dB.
const SCENES: [&str; 5] = [
    "formats/splat22k/model.ply",
    "models/massa_59k.sog",
    "models/playbot_125k.sog",
    "models/biker_153k.spz",
    "models/rock_186k_sog_v1/meta.json",
];

#[test]
fn pictures_equal_the_renderers() {
    in_webgl(async |mut browser| {
        small_window(&mut browser).await;
        for name in SCENES {
            let Some(scene) = stored(name, false) else {
                continue;
            };
            let page = Written::new(&plain(&scene).to_html().unwrap());
            assert_eq!(page.open(&mut browser).await, "");
            for camera in around(&scene.gaussians, &[0.3, 2.4]) {
                let picture = pictured(&mut browser, &camera).await;
                let found = psnr(&picture, &rendered(&scene, &camera));
                let mean = picture.iter().map(|v| f64::from(*v)).sum::<f64>();
                eprintln!(
                    "{name}: {found:.1} dB, mean {:.0}",
                    mean / picture.len() as f64
                );
                assert!(found >= 50.0, "{name}: {found:.1} dB");
            }
            let drawn = browser.value("splatcore.times.drawn").await;
            eprintln!("{name}: first picture after {drawn} ms");
        }
        // Nothing was asked of anybody: only the pages, and what they made themselves.
        let own = ["file:///", "data:", "blob:", "about:"];
        let foreign = |url: &&String| !own.iter().any(|begin| url.starts_with(begin));
        let foreign: Vec<&String> = browser.requests.iter().filter(foreign).collect();
        assert!(foreign.is_empty(), "{foreign:?}");
        assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    });
}

/// A sky of all degrees, behind a scene that is translucent at its edges.
#[test]
fn skies_equal_the_renderers() {
    let Some(scene) = stored("formats/splat22k/model.ply", false) else {
        return;
    };
    let number = |k: usize| (0.7 * k as f32).sin() * 0.25;
    let sky = Sky {
        coefficients: std::array::from_fn(|k| [0, 1, 2].map(|c: usize| number(3 * k + c))),
    };
    in_webgl(async |mut browser| {
        small_window(&mut browser).await;
        let page = Page {
            sky: Some(sky.coefficients),
            ..plain(&scene)
        };
        let page = Written::new(&page.to_html().unwrap());
        assert_eq!(page.open(&mut browser).await, "");
        for camera in around(&scene.gaussians, &[0.4, 2.0, 4.1]) {
            let picture = pictured(&mut browser, &camera).await;
            let found = psnr(&picture, &rendered_under(Some(sky), &scene, &camera));
            let without = psnr(&picture, &rendered(&scene, &camera));
            eprintln!("{found:.1} dB; against the image without the sky {without:.1} dB");
            assert!(
                found >= 50.0 && without < 30.0,
                "{found:.1} dB, {without:.1} dB"
            );
        }
        assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    });
}

/// A look that mixes channels and bends them.
#[test]
fn looks_equal_the_renderers() {
    let Some(scene) = stored("formats/splat22k/model.ply", false) else {
        return;
    };
    let seen = |rgb: [f64; 3]| -> [f64; 3] {
        let [r, g, b] = rgb.map(|v| v.clamp(0.0, 1.0).powf(0.8));
        [0.9 * r + 0.1 * g, 0.7 * g, 0.2 * r + 0.6 * b + 0.1]
    };
    let last = (LOOK_SIDE - 1) as f64;
    let places = 0..LOOK_SIDE.pow(3);
    let colours = places.map(|i| {
        let place = [i, i / LOOK_SIDE, i / LOOK_SIDE.pow(2)];
        seen(place.map(|at| (at % LOOK_SIDE) as f64 / last))
    });
    let cube: Vec<u8> = colours
        .flat_map(|rgb| rgb.map(|v| (255.0 * v + 0.5) as u8))
        .collect();
    in_webgl(async |mut browser| {
        small_window(&mut browser).await;
        let page = Page {
            look: Some(&cube),
            ..plain(&scene)
        };
        let page = Written::new(&page.to_html().unwrap());
        assert_eq!(page.open(&mut browser).await, "");
        for camera in around(&scene.gaussians, &[0.4, 2.0]) {
            let picture = pictured(&mut browser, &camera).await;
            let plain = rendered(&scene, &camera);
            let (colours, _) = plain.as_chunks::<3>();
            let want = colours.iter().flat_map(|rgb| {
                seen(rgb.map(|v| f64::from(v) / 255.0)).map(|v| (255.0 * v + 0.5) as u8)
            });
            let found = psnr(&picture, &want.collect::<Vec<u8>>());
            let without = psnr(&picture, &plain);
            eprintln!("{found:.1} dB; against the scene's own colours {without:.1} dB");
            assert!(
                found >= 45.0 && without < 30.0,
                "{found:.1} dB, {without:.1} dB"
            );
        }
        assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    });
}

/// Mip-Splatting's 2D filter, of a scene whose splats are small in the picture.
#[test]
fn antialiased_pictures_equal_the_renderers() {
    let Some(path) = shared("formats/splat22k/model.ply") else {
        return;
    };
    let mut gaussians = splatcore_data::scene::read(&path).unwrap().gaussians;
    for log_scales in &mut gaussians.log_scales {
        *log_scales = log_scales.map(|v| v - 2.0);
    }
    let filtered = rounded(&gaussians, true);
    let plainly = rounded(&gaussians, false);
    in_webgl(async |mut browser| {
        small_window(&mut browser).await;
        let page = Written::new(&plain(&filtered).to_html().unwrap());
        assert_eq!(page.open(&mut browser).await, "");
        for camera in around(&filtered.gaussians, &[1.0]) {
            let picture = pictured(&mut browser, &camera).await;
            let found = psnr(&picture, &rendered(&filtered, &camera));
            let other = psnr(&picture, &rendered(&plainly, &camera));
            eprintln!("{found:.1} dB; against the image without the filter {other:.1} dB");
            assert!(
                found >= 50.0 && other < 40.0,
                "{found:.1} dB, {other:.1} dB"
            );
        }
    });
}
