//! Editing, saving and pictures over the socket.

use crate::client::{Socket, browser, hear, next, say, view};
use crate::support::{Viewer, scene};
use serde_json::{Value, json};
use splatcore_core::backend::{Backend, RenderOptions};
use splatcore_core::{Camera, Pipeline};
use splatcore_cpu::CpuBackend;
use tokio::runtime::Runtime;
use tokio_tungstenite::tungstenite::Message;

/// The next text of a kind.
async fn reply(socket: &mut Socket, kind: &str) -> Value {
    loop {
        let reply = hear(socket).await;
        if reply["type"] == kind {
            return reply;
        }
        assert_ne!(reply["type"], "error", "{reply} in place of {kind}");
    }
}

async fn error(socket: &mut Socket) -> String {
    loop {
        let reply = hear(socket).await;
        if reply["type"] == "error" {
            return reply["message"].as_str().unwrap().to_owned();
        }
    }
}

/// What is changed once an edit is done.
async fn edits(socket: &mut Socket, wanted: impl Fn(&Value) -> bool) -> Value {
    loop {
        let status = reply(socket, "edits").await;
        if wanted(&status) {
            return status;
        }
    }
}

async fn edit(socket: &mut Socket, edit: Value) {
    say(socket, json!({"type": "edit", "edit": edit})).await;
}

/// The view of the tests without its type, as other requests hold it.
fn bare_view() -> Value {
    let mut view = view(1, true);
    view.as_object_mut().unwrap().remove("type");
    view
}

fn inside(radius: f32) -> Vec<usize> {
    let scene = scene();
    let near = |mean: &[f32; 3]| mean.iter().map(|v| v * v).sum::<f32>() <= radius * radius;
    (0..scene.len())
        .filter(|&i| near(&scene.means[i]))
        .collect()
}

/// Select, delete, undo, redo, save: the file holds what is left, scaled.
#[test]
fn a_scene_is_edited_and_saved() {
    let viewer = Viewer::start(true);
    let gone = inside(1.0);
    assert!(gone.len() > 20 && gone.len() < 180);
    Runtime::new().unwrap().block_on(async {
        let mut socket = browser(&viewer).await;
        let first = edits(&mut socket, |status| status["enabled"] == true).await;
        assert_eq!(
            (&first["left"], &first["proposal"]),
            (&json!(200), &json!("scene-edited.ply"))
        );
        let sphere = json!({"do": "select-sphere", "centre": [0, 0, 0], "radius": 1});
        edit(&mut socket, sphere).await;
        edits(&mut socket, |status| status["selected"] == gone.len()).await;
        edit(&mut socket, json!({"do": "delete"})).await;
        let left = 200 - gone.len();
        let status = edits(&mut socket, |status| status["left"] == left).await;
        assert_eq!(
            (&status["undo"], &status["unsaved"]),
            (&json!(2), &json!(1))
        );
        edit(&mut socket, json!({"do": "undo"})).await;
        edits(&mut socket, |status| status["left"] == 200).await;
        edit(&mut socket, json!({"do": "redo"})).await;
        edits(&mut socket, |status| status["left"] == left).await;
        let metric = json!({"do": "metric", "points": [[0, 0, 0], [0, 0, 2]], "length": 5});
        edit(&mut socket, metric).await;
        let status = edits(&mut socket, |status| status["scale"] == 2.5).await;
        assert!(
            status["command"]
                .as_str()
                .unwrap()
                .starts_with("--metric 0.000000,")
        );

        say(&mut socket, json!({"type": "save", "name": "a.ply"})).await;
        let saved = reply(&mut socket, "saved").await;
        assert_eq!(saved["gaussians"], left);
        let file = viewer.folder.path().join("a.ply");
        let read = splatcore_data::scene::read(&file).unwrap().gaussians;
        let scene = scene();
        let want = (0..200).filter(|i| !gone.contains(i));
        let want: Vec<[f32; 3]> = want.map(|i| scene.means[i].map(|v| 2.5 * v)).collect();
        assert_eq!(read.means, want);

        // It is not replaced until somebody says so.
        edit(&mut socket, json!({"do": "undo"})).await;
        edit(&mut socket, json!({"do": "undo"})).await;
        let before = std::fs::read(&file).unwrap();
        say(&mut socket, json!({"type": "save", "name": "a.ply"})).await;
        let exists = reply(&mut socket, "exists").await;
        assert_eq!(
            (&exists["name"], &exists["opened"]),
            (&json!("a.ply"), &json!(false))
        );
        assert!(std::fs::read(&file).unwrap() == before);
        say(
            &mut socket,
            json!({"type": "save", "name": "a.ply", "replace": true}),
        )
        .await;
        assert_eq!(reply(&mut socket, "saved").await["gaussians"], 200);
        let read = splatcore_data::scene::read(&file).unwrap().gaussians;
        assert!(read == scene);
    });
}

/// Painting takes what the view shows; through takes what is behind it, too.
#[test]
fn a_stroke_takes_what_is_visible() {
    let viewer = Viewer::start(true);
    Runtime::new().unwrap().block_on(async {
        let mut socket = browser(&viewer).await;
        let mut selected = Vec::new();
        for (through, undo) in [(false, 1), (true, 2), (false, 3)] {
            if undo == 3 {
                // As a page does when a stroke begins.
                say(&mut socket, json!({"type": "sight", "view": bare_view()})).await;
            }
            let stroke = json!({
                "do": "select-stroke", "view": bare_view(), "points": [[20, 32], [76, 32]],
                "radius": 12, "through": through,
            });
            edit(&mut socket, stroke).await;
            let status = edits(&mut socket, |status| status["undo"] == undo).await;
            selected.push(status["selected"].as_u64().unwrap());
        }
        assert!(selected[0] > 5 && selected[0] < selected[1], "{selected:?}");
        assert!(selected[1] < 200, "{selected:?}");
        assert_eq!(selected[0], selected[2]);
    });
}

#[test]
fn only_a_browser_with_control_edits() {
    let viewer = Viewer::start(false);
    Runtime::new().unwrap().block_on(async {
        let mut socket = browser(&viewer).await;
        for request in [
            json!({"type": "edit", "edit": {"do": "invert"}}),
            json!({"type": "save", "name": "a.ply"}),
        ] {
            say(&mut socket, request).await;
            assert!(error(&mut socket).await.contains("--allow-control"));
        }
        assert_eq!(std::fs::read_dir(viewer.folder.path()).unwrap().count(), 0);
    });
}

/// Nonsense changes nothing, writes nothing, and leaves the server as it was.
#[test]
fn nonsense_is_refused() {
    let viewer = Viewer::start(true);
    Runtime::new().unwrap().block_on(async {
        let mut socket = browser(&viewer).await;
        for request in [
            json!({"type": "save", "name": "../a.ply"}),
            json!({"type": "save", "name": "/a.ply"}),
            json!({"type": "save", "name": "a.txt"}),
            json!({"type": "save", "name": "a/b/meta.json"}),
            json!({"type": "save", "name": "../meta.json"}),
            json!({"type": "save", "name": ""}),
            json!({"type": "edit", "edit": {"do": "delete"}}),
            json!({"type": "edit", "edit": {"do": "up-from-selection", "towards": [0, 0, 0]}}),
            json!({"type": "edit", "edit": {"do": "up", "direction": [0, 0, 0]}}),
            json!({"type": "edit", "edit":
                {"do": "metric", "points": [[1, 1, 1], [1, 1, 1]], "length": 1}}),
        ] {
            say(&mut socket, request.clone()).await;
            let message = error(&mut socket).await;
            assert!(!message.contains('\n'), "{request}: {message}");
        }
        assert_eq!(std::fs::read_dir(viewer.folder.path()).unwrap().count(), 0);
        // What is no message at all ends the connection, and nothing else.
        for request in [
            json!({"type": "edit", "edit": {"do": "format-disk"}}),
            json!({"type": "save", "name": 7}),
            json!({"type": "save", "name": "a.ply", "folder": "/"}),
            json!({"type": "picture", "view": {"seq": 1}}),
        ] {
            let mut socket = browser(&viewer).await;
            say(&mut socket, request).await;
            while next(&mut socket).await.is_some() {}
        }
        edit(&mut socket, json!({"do": "invert"})).await;
        edits(&mut socket, |status| status["selected"] == 200).await;
    });
}

/// A picture has the size that was asked for and the reference's cut-offs, without the highlight.
#[test]
fn a_picture_is_what_the_program_renders() {
    let viewer = Viewer::start(true);
    Runtime::new().unwrap().block_on(async {
        let mut socket = browser(&viewer).await;
        edit(&mut socket, json!({"do": "invert"})).await;
        edits(&mut socket, |status| status["selected"] == 200).await;
        let mut wanted = bare_view();
        wanted["width"] = 200.into();
        wanted["height"] = 120.into();
        say(&mut socket, json!({"type": "picture", "view": wanted})).await;
        let bytes = loop {
            if let Some(Message::Binary(bytes)) = next(&mut socket).await {
                break bytes;
            }
        };
        assert_eq!(bytes[..12], [3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0]);
        assert_eq!(bytes[32..36], *b"\x89PNG");
        let picture = image::load_from_memory(&bytes[32..]).unwrap().into_rgb8();
        assert_eq!(picture.dimensions(), (200, 120));
        let focal = 60.0 / 20f64.to_radians().tan();
        let camera = Camera {
            fx: focal,
            fy: focal,
            ..Camera::look_at([0.0, 0.0, -6.0], [0.0; 3], [0.0, -1.0, 0.0], 1.0, 200, 120)
        };
        let options = RenderOptions {
            pipeline: Pipeline::MEASURED,
            ..RenderOptions::default()
        };
        let backend = CpuBackend::new(Some(1));
        let mut renderer = backend.renderer(&scene()).unwrap();
        let want = renderer.render(&camera, &options).unwrap().image.to_bytes();
        assert!(picture.into_raw() == want);
    });
}
