//! A browser's side of the socket, by hand.

use crate::support::Viewer;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::time::Duration;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

pub type Socket = WebSocketStream<MaybeTlsStream<tokio::net::TcpStream>>;

/// A connection that names an origin; `None` sends none.
pub async fn connect(address: SocketAddr, origin: Option<&str>) -> Result<Socket, Error> {
    let mut request = format!("ws://{address}/socket").into_client_request()?;
    if let Some(origin) = origin {
        request
            .headers_mut()
            .insert("origin", origin.parse().unwrap());
    }
    connect_async(request).await.map(|(socket, _)| socket)
}

/// A browser that has said the token and was told of the scene.
pub async fn browser(viewer: &Viewer) -> Socket {
    informed_browser(viewer).await.0
}

/// The same with what it was told.
pub async fn informed_browser(viewer: &Viewer) -> (Socket, Value) {
    let origin = format!("http://{}", viewer.address());
    let mut socket = connect(viewer.address(), Some(&origin)).await.unwrap();
    say(
        &mut socket,
        json!({"type": "hello", "token": viewer.token()}),
    )
    .await;
    let info = hear(&mut socket).await;
    assert_eq!(info["type"], "scene");
    (socket, info)
}

pub async fn say(socket: &mut Socket, message: Value) {
    socket
        .send(Message::text(message.to_string()))
        .await
        .unwrap();
}

/// The next text.
pub async fn hear(socket: &mut Socket) -> Value {
    loop {
        match next(socket).await.expect("the connection ended") {
            Message::Text(text) => return serde_json::from_str(&text).unwrap(),
            _ => continue,
        }
    }
}

/// The next image: its header's eight words, and the picture.
pub async fn image(socket: &mut Socket) -> ([u32; 8], image::RgbImage) {
    loop {
        if let Message::Binary(bytes) = next(socket).await.expect("the connection ended") {
            let word = |i: usize| u32::from_le_bytes(bytes[4 * i..4 * i + 4].try_into().unwrap());
            let picture = image::load_from_memory(&bytes[32..]).unwrap().into_rgb8();
            return (std::array::from_fn(word), picture);
        }
    }
}

/// The next message; none when the server has hung up.
pub async fn next(socket: &mut Socket) -> Option<Message> {
    let message = tokio::time::timeout(Duration::from_secs(60), socket.next());
    match message.await.expect("no answer in a minute") {
        None | Some(Err(_) | Ok(Message::Close(_))) => None,
        Some(Ok(message)) => Some(message),
    }
}

/// Whether the server hangs up without a word of the scene.
pub async fn hangs_up(socket: &mut Socket) -> bool {
    while let Some(message) = next(socket).await {
        if !matches!(message, Message::Ping(_) | Message::Pong(_)) {
            return false;
        }
    }
    true
}

pub fn view(seq: u32, still: bool) -> Value {
    json!({
        "type": "view", "seq": seq, "position": [0, 0, -6],
        "rotation": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        "fov": 40, "width": 96, "height": 64, "still": still,
    })
}
