//! A headless Chromium, driven by its DevTools protocol. Its methods panic where a test should
//! fail.
#![allow(clippy::unwrap_used)] // a helper of tests

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::runtime::Runtime;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];
/// A loaded machine draws a frame without a graphics card in seconds.
const PATIENCE: Duration = Duration::from_secs(300);
/// WebGL 2 computed by the processor, which new versions want to be asked for twice.
const WEBGL: [&str; 2] = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"];

/// The browser with one page.
pub struct Chromium {
    child: Child,
    _profile: tempfile::TempDir,
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    session: String,
    sent: u64,
    /// Addresses that pages asked for.
    pub requests: Vec<String>,
    /// What pages wrote to the console, and their uncaught errors.
    pub complaints: Vec<String>,
    /// Kinds of the dialogues that pages opened; each is answered with yes.
    pub dialogs: Vec<String>,
}

/// Runs a test in a browser; where none is installed it says so in a line and does nothing.
pub fn in_browser(test: impl AsyncFnOnce(Chromium)) {
    run(&["--disable-gpu"], test);
}

/// As [`in_browser`], with WebGL 2.
pub fn in_webgl(test: impl AsyncFnOnce(Chromium)) {
    run(&WEBGL, test);
}

fn run(graphics: &[&str], test: impl AsyncFnOnce(Chromium)) {
    Runtime::new().unwrap().block_on(async {
        if let Some(browser) = Chromium::start(graphics).await {
            test(browser).await;
        }
    });
}

impl Chromium {
    async fn start(graphics: &[&str]) -> Option<Self> {
        let profile = tempfile::tempdir().unwrap();
        let started = NAMES.iter().find_map(|name| {
            Command::new(name)
                .args([
                    "--headless=new",
                    "--no-sandbox",
                    "--remote-debugging-port=0",
                ])
                .args([
                    "--no-first-run",
                    "--disable-background-networking",
                    "--window-size=900,600",
                ])
                .args(graphics)
                .arg(format!("--user-data-dir={}", profile.path().display()))
                // It is killed in the end, and leaves what it has there.
                .env("TMPDIR", profile.path())
                .arg("about:blank")
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .process_group(0)
                .spawn()
                .ok()
        });
        let Some(mut child) = started else {
            eprintln!("skipped: no Chromium on this machine");
            return None;
        };
        let mut errors = BufReader::new(child.stderr.take().unwrap()).lines();
        let address = errors.by_ref().map_while(Result::ok).find_map(|line| {
            line.strip_prefix("DevTools listening on ")
                .map(str::to_owned)
        });
        // It writes on, and must not wait for a reader.
        std::thread::spawn(move || errors.for_each(drop));
        let address = address.expect("Chromium ended before it listened");
        let (socket, _) = connect_async(address).await.unwrap();
        let mut browser = Self {
            child,
            _profile: profile,
            socket,
            session: String::new(),
            sent: 0,
            requests: Vec::new(),
            complaints: Vec::new(),
            dialogs: Vec::new(),
        };
        let target = browser
            .call("Target.createTarget", json!({"url": "about:blank"}))
            .await;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", attach).await;
        browser.session = session["sessionId"].as_str().unwrap().to_owned();
        for domain in ["Page", "Network", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({})).await;
        }
        Some(browser)
    }

    /// One command of the protocol; returns its result.
    pub async fn call(&mut self, method: &str, params: Value) -> Value {
        let answer = self.answer(method, params).await;
        assert!(answer["error"].is_null(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// One command of the protocol; returns the whole answer, with `result` or `error`.
    async fn answer(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        loop {
            let next = timeout(PATIENCE, self.socket.next())
                .await
                .expect("Chromium is silent");
            let Message::Text(text) = next.unwrap().unwrap() else {
                continue;
            };
            let answer: Value = serde_json::from_str(&text).unwrap();
            if answer["id"] == id {
                return answer;
            }
            self.note(&answer);
            if answer["method"] == "Page.javascriptDialogOpening" {
                let yes = json!({"accept": true});
                self.send("Page.handleJavaScriptDialog", yes).await;
            }
        }
    }

    /// Sends a command; returns its number.
    async fn send(&mut self, method: &str, params: Value) -> u64 {
        self.sent += 1;
        let mut message = json!({"id": self.sent, "method": method, "params": params});
        if !self.session.is_empty() {
            message["sessionId"] = self.session.clone().into();
        }
        let message = Message::text(message.to_string());
        self.socket.send(message).await.unwrap();
        self.sent
    }

    fn note(&mut self, event: &Value) {
        let params = &event["params"];
        match event["method"].as_str() {
            Some("Network.requestWillBeSent") => {
                self.requests
                    .push(params["request"]["url"].as_str().unwrap().into());
            }
            Some("Network.webSocketCreated") => {
                self.requests.push(params["url"].as_str().unwrap().into());
            }
            Some("Page.javascriptDialogOpening") => {
                self.dialogs.push(params["type"].as_str().unwrap().into());
            }
            Some("Runtime.exceptionThrown") => self.complaints.push(params.to_string()),
            Some("Log.entryAdded") if params["entry"]["level"] == "error" => {
                self.complaints.push(params.to_string());
            }
            _ => {}
        }
    }

    /// Gives the window this size in pixels, as a desk's or a phone's.
    pub async fn screen(&mut self, [width, height]: [u32; 2], mobile: bool) {
        let screen = json!({
            "width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile,
        });
        self.call("Emulation.setDeviceMetricsOverride", screen)
            .await;
    }

    /// Opens an address.
    pub async fn open(&mut self, url: &str) {
        self.call("Page.navigate", json!({"url": url})).await;
    }

    /// The value of a JavaScript expression; promises are waited for.
    pub async fn value(&mut self, expression: &str) -> Value {
        let answer = self.evaluate(expression).await;
        let value = &answer["result"];
        assert!(
            answer["error"].is_null() && value["exceptionDetails"].is_null(),
            "{expression}: {answer}"
        );
        value["result"]["value"].clone()
    }

    async fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        self.answer("Runtime.evaluate", params).await
    }

    /// Waits until an expression is true. While the page loads the expression may fail, and the
    /// page that it is asked of may give way to the next one.
    pub async fn until(&mut self, expression: &str) {
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if self.evaluate(expression).await["result"]["result"]["value"] == true {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("never true: {expression}; {:?}", self.complaints);
    }

    /// A drag of the mouse with the left button.
    pub async fn drag(&mut self, from: [f64; 2], to: [f64; 2]) {
        self.mouse("mousePressed", from, 1).await;
        for step in 1..=4 {
            let share = f64::from(step) / 4.0;
            let at = [0, 1].map(|c| from[c] + share * (to[c] - from[c]));
            self.mouse("mouseMoved", at, 1).await;
        }
        self.mouse("mouseReleased", to, 1).await;
    }

    async fn mouse(&mut self, kind: &str, [x, y]: [f64; 2], count: u32) {
        let params = json!({
            "type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": count,
        });
        self.call("Input.dispatchMouseEvent", params).await;
    }

    /// A drag of a finger.
    pub async fn touch_drag(&mut self, from: [f64; 2], to: [f64; 2]) {
        for (kind, share) in [
            ("touchStart", 0.0),
            ("touchMove", 0.3),
            ("touchMove", 0.7),
            ("touchMove", 1.0),
            ("touchEnd", 1.0),
        ] {
            let [x, y] = [0, 1].map(|c| from[c] + share * (to[c] - from[c]));
            let fingers = match kind {
                "touchEnd" => json!([]),
                _ => json!([{"x": x, "y": y}]),
            };
            let params = json!({"type": kind, "touchPoints": fingers});
            self.call("Input.dispatchTouchEvent", params).await;
        }
    }

    /// A click.
    pub async fn click(&mut self, at: [f64; 2]) {
        self.mouse("mousePressed", at, 1).await;
        self.mouse("mouseReleased", at, 1).await;
    }

    /// A key, by its name in `KeyboardEvent.key`: Enter, Escape, Tab, or a letter.
    pub async fn key(&mut self, key: &str) {
        let (code, text) = match key {
            "Enter" => (13, "\r"),
            "Escape" => (27, ""),
            "Tab" => (9, ""),
            letter => (u32::from(letter.to_ascii_uppercase().as_bytes()[0]), letter),
        };
        for kind in ["keyDown", "keyUp"] {
            let params = json!({
                "type": kind, "key": key, "windowsVirtualKeyCode": code,
                "text": if kind == "keyDown" { text } else { "" },
            });
            self.call("Input.dispatchKeyEvent", params).await;
        }
    }

    /// A double click.
    pub async fn double_click(&mut self, at: [f64; 2]) {
        for count in [1, 2] {
            self.mouse("mousePressed", at, count).await;
            self.mouse("mouseReleased", at, count).await;
        }
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        // The program may be a script that starts the browser, which has processes of its own.
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
