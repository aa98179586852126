//! The scene seen otherwise than by a camera without distortion.

use crate::client::{browser, hear, image, say, view};
use crate::support::{Viewer, scene};
use serde_json::{Value, json};
use splatcore_core::backend::{Backend, RenderOptions};
use splatcore_core::{Camera, ProjectionKind, panorama};
use splatcore_cpu::CpuBackend;
use tokio::runtime::Runtime;

/// A view with another projection.
fn seen(projection: Value, fov: f64) -> Value {
    let mut view = view(1, true);
    view["projection"] = projection;
    view["fov"] = fov.into();
    view["focus"] = 6.0.into();
    view
}

/// The camera of [`view`], of a fov.
fn camera(fov: f64) -> Camera {
    let fov = fov.to_radians();
    Camera::look_at([0.0, 0.0, -6.0], [0.0; 3], [0.0, -1.0, 0.0], fov, 96, 64)
}

/// What the browser is sent is what `render --projection` makes.
#[test]
fn a_still_view_is_the_render() {
    let viewer = Viewer::start(true);
    let backend = CpuBackend::new(Some(1));
    let mut renderer = backend.renderer(&scene()).unwrap();
    let ortho = ProjectionKind::Ortho.of(&camera(40.0), [0.0; 3]);
    let around = panorama::whole(&camera(40.0), 96, 48);
    let fisheye = ProjectionKind::fisheye(&camera(40.0), 200f64.to_radians());
    Runtime::new().unwrap().block_on(async {
        let mut socket = browser(&viewer).await;
        for (name, fov, camera) in [
            ("ortho", 40.0, ortho),
            ("equirect", 40.0, around),
            ("fisheye", 200.0, fisheye),
        ] {
            let options = RenderOptions::default();
            let want = panorama::render(&mut *renderer, &camera, &options).unwrap();
            say(&mut socket, seen(name.into(), fov)).await;
            let (header, picture) = image(&mut socket).await;
            assert_eq!(header[3..5], [camera.width, camera.height], "{name}");
            assert!(picture.into_raw() == want.image.to_bytes(), "{name}");
            say(&mut socket, json!({"type": "ack", "seq": 1})).await;
        }
        // Through the photo's own lens, in its shape.
        say(&mut socket, seen(0.into(), 40.0)).await;
        let (header, through) = image(&mut socket).await;
        assert_eq!(header[3..5], [64, 64]);
        say(&mut socket, json!({"type": "ack", "seq": 1})).await;
        let mut without = view(1, true);
        without["width"] = 64.into();
        without["fov"] = 0.7f64.to_degrees().into();
        say(&mut socket, without).await;
        let (_, without) = image(&mut socket).await;
        assert!(through != without);
    });
}

/// A click finds the same point through each, where there is one at all.
#[test]
fn a_click_finds_what_is_there() {
    let viewer = Viewer::start(true);
    Runtime::new().unwrap().block_on(async {
        let mut socket = browser(&viewer).await;
        let mut points = Vec::new();
        for projection in ["pinhole", "fisheye", "equirect", "ortho"] {
            let mut view = seen(projection.into(), 40.0);
            view.as_object_mut().unwrap().remove("type");
            // In the middle all look along the axis.
            let pick = json!({"type": "pick", "view": view, "x": 48.0, "y": 32.0});
            say(&mut socket, pick).await;
            let picked = loop {
                let reply = hear(&mut socket).await;
                if reply["type"] == "picked" {
                    break reply;
                }
            };
            let point: [f64; 3] = serde_json::from_value(picked["point"].clone()).unwrap();
            points.push((projection, point));
        }
        let (_, first) = points[0];
        for (projection, point) in &points {
            // Pixels of a panorama are large, and show what lies about their middle.
            let off = (0..2)
                .map(|k| (point[k] - first[k]).abs())
                .fold(0.0, f64::max);
            assert!(off < 0.3, "{projection}: {point:?} {first:?}");
            assert!((-5.0..3.0).contains(&point[2]), "{projection}: {point:?}");
        }
    });
}

/// What works on pictures without distortion alone is refused in words.
#[test]
fn tools_are_refused_through_a_lens() {
    let viewer = Viewer::start(true);
    Runtime::new().unwrap().block_on(async {
        let mut socket = browser(&viewer).await;
        let mut view = seen("fisheye".into(), 180.0);
        view.as_object_mut().unwrap().remove("type");
        let stroke = json!({"do": "select-stroke", "view": view.clone(), "points": [[48, 32]],
            "radius": 9});
        for request in [
            json!({"type": "sight", "view": view.clone()}),
            json!({"type": "start", "view": view.clone()}),
            json!({"type": "edit", "edit": stroke}),
        ] {
            say(&mut socket, request.clone()).await;
            let refused = loop {
                let reply = hear(&mut socket).await;
                if reply["type"] == "error" {
                    break reply;
                }
            };
            let message = refused["message"].as_str().unwrap();
            assert!(message.contains("distortion"), "{request}: {message}");
        }
        let mut heat = seen("equirect".into(), 40.0);
        heat["channel"] = "heat".into();
        say(&mut socket, heat).await;
        let refused = loop {
            let reply = hear(&mut socket).await;
            if reply["type"] == "error" {
                break reply;
            }
        };
        assert!(refused["message"].as_str().unwrap().contains("360 degrees"));
    });
}
