//! A scene that arrives in chunks.

use crate::server::Server;
use crate::support::{Stored, opened, pictured, plain, psnr, rendered, small_window};
use splatcore_core::random::Rng;
use splatcore_core::{Camera, Gaussians};
use splatcore_data::scene::{self, SogOptions, WriteOptions};
use splatcore_page::{Pose, Source, Stream};
use splatcore_test_support::chromium::in_webgl;
use std::path::Path;

const LEVELS: u32 = 3;

/// Two balls of small Gaussians, far apart along x.
fn two_balls(each: usize) -> Gaussians {
    let mut random = Rng::new(7, 0);
    let mut gaussians = Gaussians::zeros(2 * each, 0);
    for i in 0..2 * each {
        let middle = if i < each { -6.0 } else { 6.0 };
        let offset: [f32; 3] = std::array::from_fn(|_| random.normal());
        let length = offset.iter().map(|v| v * v).sum::<f32>().sqrt().max(1e-3);
        let at = offset.map(|v| v / length);
        gaussians.means[i] = [at[0] + middle, at[1], at[2]];
        gaussians.log_scales[i] = [-3.2; 3];
        gaussians.rotations[i] = [1.0, 0.0, 0.0, 0.0];
        gaussians.opacity_logits[i] = 2.0;
        // Patches of colours, which a coarse level blurs.
        let patch = (at[0] * 9.0).sin() * (at[1] * 9.0).sin();
        gaussians.sh[i] = [patch.signum(), at[2], -patch.signum()].map(|v| v * 1.2);
    }
    gaussians
}

/// Writes a site of the scene, and returns what its finest level holds.
fn write_site(folder: &Path, gaussians: &Gaussians, budget: u32, start: &Camera) -> Stored {
    let options = WriteOptions {
        sog: SogOptions {
            levels: LEVELS,
            chunk_gaussians: 4000,
            chunk_extent: f32::MAX,
            ..SogOptions::default()
        },
        ..WriteOptions::default()
    };
    let index = folder.join("scene/lod-meta.json");
    scene::write(&index, gaussians, &options, &|_, _, _| {}).unwrap();
    let stored = Stored {
        sog: Vec::new(),
        gaussians: scene::read(&index).unwrap().gaussians,
        antialiased: false,
    };
    let mut page = plain(&stored);
    page.scene = Source::Beside(Stream {
        index: "scene/lod-meta.json",
        budget,
    });
    page.bounds = [[-7.0, -1.0, -1.0], [7.0, 1.0, 1.0]];
    page.start = Some(crate::support::pose(start));
    std::fs::write(folder.join("index.html"), page.to_html().unwrap()).unwrap();
    stored
}

fn camera(eye: [f64; 3], target: [f64; 3]) -> Camera {
    let [width, height] = crate::support::SIZE;
    Camera::look_at(eye, target, [0.0, -1.0, 0.0], 0.9, width, height)
}

fn json(pose: &Pose) -> String {
    serde_json::to_string(pose).unwrap()
}

/// All chunks that the view wants are there.
const COMPLETE: &str = "(s => s.wanted > 0 && s.there === s.wanted && s.settled)\
                        (splatcore.stream) && document.getElementById('loading').hidden && \
                        splatcore.resting";

#[test]
fn a_coarse_scene_comes_first_and_a_failed_chunk_again() {
    let folder = tempfile::tempdir().unwrap();
    let whole = camera([0.0, -1.0, -16.0], [0.0; 3]);
    let near = camera([-6.0, -0.5, -3.5], [-6.0, 0.0, 0.0]);
    let stored = write_site(folder.path(), &two_balls(6000), 1_000_000, &whole);
    in_webgl(async |mut browser| {
        small_window(&mut browser).await;
        let server = Server::start(folder.path()).await;
        // All but the coarsest level waits, and one chunk fails at first.
        server.hold(&["scene/0_", "scene/1_"]);
        let failures = ("scene/0_0/means_l.webp".to_owned(), 1);
        server.state.lock().unwrap().failures.extend([failures]);
        assert_eq!(opened(&mut browser, &server.address).await, "");
        let (asked, bytes) = server.seen();
        let early = |path: &&String| path.starts_with("scene/0_") || path.starts_with("scene/1_");
        let all: u64 = bytes_below(folder.path());
        eprintln!("first picture after {bytes} of {all} bytes");
        assert!((bytes as u64) < all / 2, "{bytes} of {all} bytes");
        assert!(!asked.iter().any(|path| path.contains("..")), "{asked:?}");
        let coarse = pictured(&mut browser, &near).await;
        let truth = rendered(&stored, &near);
        let before = psnr(&coarse, &truth);
        let more = "splatcore.stream.wanted > splatcore.stream.there";
        browser.until(more).await;
        assert!(
            server.seen().0.iter().any(|path| early(&path)),
            "asks for more"
        );
        assert_eq!(
            browser
                .value("document.getElementById('loading').hidden")
                .await,
            false
        );

        server.hold(&[]);
        browser.until(COMPLETE).await;
        let after = psnr(&pictured(&mut browser, &near).await, &truth);
        eprintln!("{before:.1} dB at first, {after:.1} dB at last");
        // Leaves that are behind the others may stay coarser where that cannot be seen.
        assert!(
            before < 30.0 && after > 38.0,
            "{before:.1} dB, {after:.1} dB"
        );
        let count = |path: &str| {
            server
                .seen()
                .0
                .iter()
                .filter(|asked| *asked == path)
                .count()
        };
        assert_eq!(count("scene/0_0/means_l.webp"), 2);
        // Only from where the page is.
        let foreign = |url: &&String| !url.starts_with(&server.address) && url.starts_with("http");
        assert!(!browser.requests.iter().any(|url| foreign(&url)));
    });
}

#[test]
fn what_the_view_left_is_cancelled_and_the_budget_holds() {
    let folder = tempfile::tempdir().unwrap();
    let left = camera([-6.0, -0.5, -4.0], [-6.0, 0.0, 0.0]);
    let right = camera([6.0, -0.5, -4.0], [6.0, 0.0, 0.0]);
    write_site(folder.path(), &two_balls(6000), 8000, &left);
    in_webgl(async |mut browser| {
        small_window(&mut browser).await;
        let server = Server::start(folder.path()).await;
        server.hold(&["scene/0_", "scene/1_"]);
        assert_eq!(opened(&mut browser, &server.address).await, "");
        browser
            .until("splatcore.stream.wanted > splatcore.stream.there")
            .await;
        let go = format!(
            "splatcore.goTo({}), true",
            json(&crate::support::pose(&right))
        );
        browser.value(&go).await;
        browser.until("splatcore.stream.cancelled > 0").await;
        server.hold(&[]);
        browser.until(COMPLETE).await;
        let shown = browser
            .value("splatcore.stream.shown")
            .await
            .as_u64()
            .unwrap();
        assert!((3001..=8000).contains(&shown), "{shown} Gaussians");
        assert!(browser.complaints.is_empty(), "{:?}", browser.complaints);
    });
}

/// From a disk the browser loads nothing; the page says what to do.
#[test]
fn a_site_on_a_disk_says_what_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    write_site(
        folder.path(),
        &two_balls(100),
        8000,
        &camera([0.0, 0.0, -9.0], [0.0; 3]),
    );
    in_webgl(async |mut browser| {
        let page = folder.path().join("index.html");
        let message = opened(&mut browser, &format!("file://{}", page.display())).await;
        assert!(message.contains("http.server"), "{message}");
    });
}

fn bytes_below(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).unwrap().map(Result::unwrap);
    let size = |entry: std::fs::DirEntry| match entry.path().is_dir() {
        true => bytes_below(&entry.path()),
        false => entry.metadata().unwrap().len(),
    };
    entries.map(size).sum()
}
