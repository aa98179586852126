//! A web server for a folder, below a path of its own. It counts what it sends, can hold requests
//! back and fail some.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Where the folder lies on the server: not at the root.
pub const BASE: &str = "/shows/mill/";

#[derive(Default)]
pub struct State {
    /// Paths below [`BASE`] that were asked for, in order.
    pub asked: Vec<String>,
    /// Bytes of bodies that were sent.
    pub bytes: usize,
    /// Requests whose path has one of these texts wait.
    pub held: Vec<String>,
    /// Answers 503 so often to paths that have this text.
    pub failures: HashMap<String, usize>,
}

pub struct Server {
    pub address: String,
    pub state: Arc<Mutex<State>>,
}

impl Server {
    /// Serves until the runtime ends.
    pub async fn start(folder: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State::default()));
        let (folder, shared) = (folder.to_owned(), state.clone());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(answer(stream, folder.clone(), shared.clone()));
            }
        });
        Self {
            address: format!("http://127.0.0.1:{port}{BASE}"),
            state,
        }
    }

    /// What was asked for and sent until now.
    pub fn seen(&self) -> (Vec<String>, usize) {
        let state = self.state.lock().unwrap();
        (state.asked.clone(), state.bytes)
    }

    /// Holds back requests for paths with one of these texts; those held before go on.
    pub fn hold(&self, texts: &[&str]) {
        self.state.lock().unwrap().held = texts.iter().map(|&text| text.into()).collect();
    }
}

async fn answer(mut stream: TcpStream, folder: PathBuf, state: Arc<Mutex<State>>) {
    let mut request = Vec::new();
    let mut piece = [0; 4096];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        match stream.read(&mut piece).await {
            Ok(read) if read > 0 => request.extend_from_slice(&piece[..read]),
            _ => return,
        }
    }
    let request = String::from_utf8_lossy(&request).into_owned();
    let path = request.split(' ').nth(1).unwrap_or("");
    let path = path.split('?').next().unwrap_or("").strip_prefix(BASE);
    let path = path.unwrap_or("none").to_owned();
    state.lock().unwrap().asked.push(path.clone());
    let waits = || {
        let state = state.lock().unwrap();
        state.held.iter().any(|text| path.contains(text.as_str()))
    };
    while waits() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let file = folder.join(if path.is_empty() { "index.html" } else { &path });
    let body = {
        let mut state = state.lock().unwrap();
        let fails = state
            .failures
            .iter_mut()
            .find(|(text, left)| path.contains(text.as_str()) && **left > 0);
        match fails {
            Some((_, left)) => {
                *left -= 1;
                Err("503 Service Unavailable")
            }
            None => std::fs::read(file).map_err(|_| "404 Not Found"),
        }
    };
    let (status, body) = match body {
        Ok(body) => ("200 OK", body),
        Err(status) => (status, Vec::new()),
    };
    let kind = if path.is_empty() || path.ends_with(".html") {
        "text/html"
    } else {
        "application/octet-stream"
    };
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n",
        body.len()
    );
    if stream.write_all(head.as_bytes()).await.is_ok() && stream.write_all(&body).await.is_ok() {
        state.lock().unwrap().bytes += body.len();
    }
}
