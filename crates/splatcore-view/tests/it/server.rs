//! The server as browsers and attackers meet it, without a browser.

use crate::client::{self, browser, connect, hangs_up, hear, image, next, say, view};
use crate::support::{Viewer, scene};
use futures_util::SinkExt;
use serde_json::{Value, json};
use splatcore_core::Camera;
use splatcore_core::backend::{Backend, RenderOptions};
use splatcore_cpu::CpuBackend;
use splatcore_view::drawing::Copies;
use splatcore_view::protocol::Status;
use splatcore_view::{Budget, Moment};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio_tungstenite::MaybeTlsStream;
use tokio_tungstenite::tungstenite::{Error, Message};

/// The camera of [`view`].
fn camera() -> Camera {
    let focal = 32.0 / 20f64.to_radians().tan();
    Camera {
        fx: focal,
        fy: focal,
        ..Camera::look_at([0.0, 0.0, -6.0], [0.0; 3], [0.0, -1.0, 0.0], 1.0, 96, 64)
    }
}

/// What the browser is sent is what the renderer makes.
#[test]
fn a_still_view_is_the_render_and_a_moving_one_is_near() {
    let viewer = Viewer::start(true);
    let backend = CpuBackend::new(Some(1));
    let mut renderer = backend.renderer(&scene()).unwrap();
    let want = renderer
        .render(&camera(), &RenderOptions::default())
        .unwrap();
    let want = want.image.to_bytes();
    Runtime::new().unwrap().block_on(async {
        let mut socket = browser(&viewer).await;
        say(&mut socket, view(1, true)).await;
        let (header, picture) = image(&mut socket).await;
        assert_eq!(header[..5], [1, 1, 2, 96, 64]);
        assert!(picture.into_raw() == want);
        say(&mut socket, json!({"type": "ack", "seq": 1})).await;
        say(&mut socket, view(2, false)).await;
        let (header, picture) = image(&mut socket).await;
        assert_eq!(header[..3], [1, 2, 1]);
        let pairs = picture.as_raw().iter().zip(&want);
        let squares: f64 = pairs.map(|(a, b)| f64::from(a.abs_diff(*b)).powi(2)).sum();
        let psnr = 10.0 * (255f64.powi(2) / (squares / want.len() as f64)).log10();
        assert!(psnr > 28.0, "{psnr}");
        say(&mut socket, json!({"type": "ack", "seq": 2})).await;

        // Other channels and styles differ; a pick in the middle hits the cloud.
        for (key, value) in [
            ("channel", "depth"),
            ("channel", "alpha"),
            ("style", "points"),
            ("style", "ellipsoids"),
        ] {
            let mut other = view(3, true);
            other[key] = value.into();
            say(&mut socket, other).await;
            let (_, picture) = image(&mut socket).await;
            assert!(picture.into_raw() != want, "{value}");
            say(&mut socket, json!({"type": "ack", "seq": 3})).await;
        }
        let mut look = view(4, false);
        look.as_object_mut().unwrap().remove("type");
        say(
            &mut socket,
            json!({"type": "pick", "view": look, "x": 48.5, "y": 32.5}),
        )
        .await;
        let picked = loop {
            let reply = hear(&mut socket).await;
            if reply["type"] == "picked" {
                break reply;
            }
        };
        let z = picked["point"][2].as_f64().unwrap();
        assert!(z > -5.0 && z < 3.0, "{picked}");
    });
}

/// The colours of the tiles follow from the backend's counts and the legend that the page is told.
#[test]
fn heat_is_the_number_of_gaussians_in_each_tile() {
    let viewer = Viewer::start(true);
    let backend = CpuBackend::new(Some(1));
    let mut renderer = backend.renderer(&scene()).unwrap();
    let counts = renderer.tile_counts(&camera(), &RenderOptions::default());
    let counts = counts.unwrap();
    assert_eq!(counts.tiles, [6, 4]);
    Runtime::new().unwrap().block_on(async {
        let (mut socket, info) = client::informed_browser(&viewer).await;
        let scale = &info["heat"];
        assert_eq!(scale["tile"], 16);
        let colours = scale["colours"].as_array().unwrap();
        let mut heat = view(1, true);
        heat["channel"] = "heat".into();
        say(&mut socket, heat).await;
        let (_, picture) = image(&mut socket).await;
        let most = scale["most"].as_f64().unwrap();
        for (x, y, pixel) in picture.enumerate_pixels() {
            let count = counts.counts[(y / 16 * 6 + x / 16) as usize];
            let at = (1.0 + f64::from(count)).log(1.0 + most) * (colours.len() - 1) as f64;
            for c in 0..3 {
                let of = |i: f64| colours[i as usize][c].as_f64().unwrap();
                let want = of(at.floor()) + at.fract() * (of(at.ceil()) - of(at.floor()));
                let off = (f64::from(pixel.0[c]) - want).abs();
                assert!(off < 0.51, "{x} {y}: {pixel:?} of {count}");
            }
        }
    });
    let mut different = counts.counts;
    different.sort_unstable();
    different.dedup();
    assert!(different.len() > 8, "{different:?}");
}

#[test]
fn photos_come_by_index_and_nothing_else() {
    let viewer = Viewer::start(false);
    Runtime::new().unwrap().block_on(async {
        let mut socket = browser(&viewer).await;
        say(
            &mut socket,
            json!({"type": "photo", "index": 0, "size": 40}),
        )
        .await;
        let (header, picture) = image(&mut socket).await;
        assert_eq!(header[..5], [2, 0, 1, 40, 40]);
        assert!(picture.get_pixel(20, 20).0[0].abs_diff(200) < 3);
        say(
            &mut socket,
            json!({"type": "photo", "index": 7, "size": 40}),
        )
        .await;
        let error = loop {
            let reply = hear(&mut socket).await;
            if reply["type"] == "error" {
                break reply;
            }
        };
        assert!(error["message"].as_str().unwrap().contains("no photo 7"));
        // A path is no index.
        say(
            &mut socket,
            json!({"type": "photo", "index": "../x", "size": 40}),
        )
        .await;
        assert!(hangs_up_eventually(&mut socket).await);
    });
}

async fn hangs_up_eventually(socket: &mut client::Socket) -> bool {
    while next(socket).await.is_some() {}
    true
}

#[test]
fn strangers_learn_nothing() {
    let viewer = Viewer::start(true);
    let address = viewer.address();
    let own = format!("http://{address}");
    Runtime::new().unwrap().block_on(async {
        for origin in [
            None,
            Some("http://evil.example"),
            Some("null"),
            Some("https://127.0.0.1"),
        ] {
            let refused = connect(address, origin).await;
            assert!(
                matches!(refused, Err(Error::Http(r)) if r.status() == 403),
                "{origin:?}"
            );
        }
        // The right origin, but not the token.
        let token = viewer.token();
        for first in [
            json!({"type": "hello", "token": ""}).to_string(),
            json!({"type": "hello", "token": &token[1..]}).to_string(),
            json!({"type": "hello", "token": format!("{token}0")}).to_string(),
            view(1, true).to_string(),
            json!({"type": "control", "action": "stop"}).to_string(),
            "{".into(),
            " ".repeat(70_000),
        ] {
            let mut socket = connect(address, Some(&own)).await.unwrap();
            // The server may hang up while the message is under way.
            let _ = socket.send(Message::text(first.clone())).await;
            assert!(hangs_up(&mut socket).await, "{first:.80}");
        }
        assert_eq!(viewer.hub.clients(), 0);
    });
}

/// A raw HTTP request; returns the whole answer.
fn http(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn pages_are_served_to_this_host_only_and_with_a_strict_policy() {
    let viewer = Viewer::start(false);
    let address = viewer.address();
    let get = |path: &str, host: &str| {
        http(
            address,
            &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"),
        )
    };
    let page = get("/", &address.to_string());
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    for wanted in [
        "content-security-policy: default-src 'none'",
        "frame-ancestors 'none'",
        "x-content-type-options: nosniff",
        "cross-origin-resource-policy: same-origin",
    ] {
        assert!(page.contains(wanted), "{wanted}: {page}");
    }
    assert!(!page.contains(&viewer.token()) && !page.contains("access-control-allow"));
    // Every file that the page names is there, and none of them fetches from elsewhere.
    for name in [
        "shared.css",
        "style.css",
        "main.js",
        "connection.js",
        "camera.js",
        "input.js",
        "overlay.js",
        "panel.js",
        "curves.js",
        "theme.js",
        "tools.js",
        "selecting.js",
        "measuring.js",
        "saving.js",
        "keyframes.js",
        "path_panel.js",
    ] {
        let file = get(
            &format!("/{name}"),
            &format!("localhost:{}", address.port()),
        );
        assert!(file.starts_with("HTTP/1.1 200"), "{name}: {file}");
        assert!(
            !file.contains("https://") && !file.contains("http://"),
            "{name}"
        );
    }
    for host in ["evil.example", "127.0.0.1", "evil.example:80", ""] {
        assert!(get("/", host).starts_with("HTTP/1.1 4"), "{host}");
    }
    let twice = format!(
        "GET / HTTP/1.1\r\nHost: {address}\r\nHost: evil.example\r\nConnection: close\r\n\r\n"
    );
    assert!(http(address, &twice).starts_with("HTTP/1.1 4"));
    for path in [
        "/../Cargo.toml",
        "/%2e%2e/Cargo.toml",
        "/a/b",
        "/main.js.map",
        "/etc%2fpasswd",
    ] {
        let answer = get(path, &address.to_string());
        assert!(
            answer.starts_with("HTTP/1.1 404") || answer.starts_with("HTTP/1.1 400"),
            "{path}: {answer}"
        );
    }
    // Without an upgrade the socket is none.
    assert!(get("/socket", &address.to_string()).starts_with("HTTP/1.1 4"));
}

#[test]
fn control_needs_permission_and_status_reaches_everybody() {
    for allowed in [false, true] {
        let viewer = Viewer::start(allowed);
        Runtime::new().unwrap().block_on(async {
            let (mut one, mut two) = (browser(&viewer).await, browser(&viewer).await);
            let step = |reply: &Value| reply["type"] == "status" && reply["step"] == 70;
            viewer.hub.publish(Status {
                step: 70,
                ..Status::default()
            });
            for socket in [&mut one, &mut two] {
                while !step(&hear(socket).await) {}
            }
            say(&mut one, json!({"type": "control", "action": "stop"})).await;
            let backend = CpuBackend::new(Some(1));
            let mut learner = backend.learner(&scene(), Arc::default()).unwrap();
            let mut copies = Copies::new(Arc::new(backend));
            let mut budget = Budget::new(1.0);
            let options = RenderOptions::default();
            let mut stops = || {
                let moment = Moment {
                    learner: &mut *learner,
                    options: &options,
                    step: 1,
                };
                viewer
                    .hub
                    .draw_between_steps(moment, &mut copies, &mut budget, &|| false)
            };
            if allowed {
                let begun = Instant::now();
                while !stops() {
                    assert!(begun.elapsed() < Duration::from_secs(20));
                    std::thread::sleep(Duration::from_millis(10));
                }
            } else {
                let error = loop {
                    let reply = hear(&mut one).await;
                    if reply["type"] == "error" {
                        break reply;
                    }
                };
                assert!(
                    error["message"]
                        .as_str()
                        .unwrap()
                        .contains("--allow-control")
                );
                assert!(!stops());
            }
        });
    }
}

/// Many browsers that come, ask, do not read and vanish: the next one is served as the first.
#[test]
fn cut_connections_leave_nothing_behind() {
    let viewer = Viewer::start(false);
    Runtime::new().unwrap().block_on(async {
        for round in 0..60 {
            let mut socket = browser(&viewer).await;
            for seq in 0..5 {
                say(&mut socket, view(seq, round % 2 == 0)).await;
            }
            match round % 3 {
                0 => drop(socket),
                1 => _ = socket.close(None).await,
                // Half a message, then silence.
                _ => match socket.get_mut() {
                    MaybeTlsStream::Plain(stream) => _ = stream.try_write(&[0x81, 0xfe]),
                    _ => unreachable!("the test speaks without TLS"),
                },
            }
        }
        let begun = Instant::now();
        while viewer.hub.clients() > 0 {
            assert!(
                begun.elapsed() < Duration::from_secs(30),
                "{} left",
                viewer.hub.clients()
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let mut socket = browser(&viewer).await;
        say(&mut socket, view(9, true)).await;
        assert_eq!(image(&mut socket).await.0[1], 9);
    });
}
