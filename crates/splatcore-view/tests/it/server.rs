//! The server as browsers and attackers meet it, without a browser.

use crate::support::{Viewer, scene};
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use splatcore_core::Camera;
use splatcore_core::backend::{Backend, RenderOptions};
use splatcore_cpu::CpuBackend;
use splatcore_view::protocol::Status;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

type Socket = WebSocketStream<MaybeTlsStream<tokio::net::TcpStream>>;

/// A connection that names an origin; `None` sends none.
async fn connect(address: SocketAddr, origin: Option<&str>) -> Result<Socket, Error> {
    let mut request = format!("ws://{address}/socket").into_client_request()?;
    if let Some(origin) = origin {
        request
            .headers_mut()
            .insert("origin", origin.parse().unwrap());
    }
    connect_async(request).await.map(|(socket, _)| socket)
}

/// A browser that has said the token and was told of the scene.
async fn browser(viewer: &Viewer) -> Socket {
    let origin = format!("http://{}", viewer.address());
    let mut socket = connect(viewer.address(), Some(&origin)).await.unwrap();
    say(
        &mut socket,
        json!({"type": "hello", "token": viewer.token()}),
    )
    .await;
    assert_eq!(hear(&mut socket).await["type"], "scene");
    socket
}

async fn say(socket: &mut Socket, message: Value) {
    socket
        .send(Message::text(message.to_string()))
        .await
        .unwrap();
}

/// The next text.
async fn hear(socket: &mut Socket) -> Value {
    loop {
        match next(socket).await.expect("the connection ended") {
            Message::Text(text) => return serde_json::from_str(&text).unwrap(),
            _ => continue,
        }
    }
}

/// The next image: its header's eight words, and the picture.
async fn image(socket: &mut Socket) -> ([u32; 8], image::RgbImage) {
    loop {
        if let Message::Binary(bytes) = next(socket).await.expect("the connection ended") {
            let word = |i: usize| u32::from_le_bytes(bytes[4 * i..4 * i + 4].try_into().unwrap());
            let picture = image::load_from_memory(&bytes[32..]).unwrap().into_rgb8();
            return (std::array::from_fn(word), picture);
        }
    }
}

/// The next message; none when the server has hung up.
async fn next(socket: &mut Socket) -> Option<Message> {
    let message = tokio::time::timeout(Duration::from_secs(60), socket.next());
    match message.await.expect("no answer in a minute") {
        None | Some(Err(_) | Ok(Message::Close(_))) => None,
        Some(Ok(message)) => Some(message),
    }
}

/// Whether the server hangs up without a word of the scene.
async fn hangs_up(socket: &mut Socket) -> bool {
    while let Some(message) = next(socket).await {
        if !matches!(message, Message::Ping(_) | Message::Pong(_)) {
            return false;
        }
    }
    true
}

fn view(seq: u32, still: bool) -> Value {
    json!({
        "type": "view", "seq": seq, "position": [0, 0, -6],
        "rotation": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        "fov": 40, "width": 96, "height": 64, "still": still,
    })
}

/// What the browser is sent is what the renderer makes.
#[test]
fn a_still_view_is_the_render_and_a_moving_one_is_near() {
    let viewer = Viewer::start(true);
    let backend = CpuBackend::new(Some(1));
    let focal = 32.0 / 20f64.to_radians().tan();
    let camera = Camera {
        fx: focal,
        fy: focal,
        ..Camera::look_at([0.0, 0.0, -6.0], [0.0; 3], [0.0, -1.0, 0.0], 1.0, 96, 64)
    };
    let mut renderer = backend.renderer(&scene()).unwrap();
    let want = renderer.render(&camera, &RenderOptions::default()).unwrap();
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

async fn hangs_up_eventually(socket: &mut Socket) -> bool {
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
            let mut renderer = backend.renderer(&scene()).unwrap();
            let mut budget = splatcore_view::Budget::new(1.0);
            let options = RenderOptions::default();
            let mut stops = || {
                viewer
                    .hub
                    .draw_between_steps(&mut *renderer, &options, 1, &mut budget, &|| false)
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
