//! Browsers, well-behaved ones and others.

use crate::view::Program;
use serde_json::{Value, json};
use splatcore_core::random::Rng;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::{Error, Message, WebSocket, client};

/// An answer that takes longer has not come: the browser hangs.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a browser that does not read, or says nothing, stays.
const LINGERS: [f32; 2] = [0.3, 25.0];
const FILES: [&str; 4] = ["", "main.js", "panel.js", "shared.css"];
/// What sends a browser away.
const NONSENSE: [&str; 6] = [
    "{",
    "[]",
    r#"{"type":"view"}"#,
    r#"{"type":"view","seq":1,"position":[0,0,1e999]}"#,
    r#"{"type":"photo","index":"../../etc/passwd","size":4}"#,
    r#"{"type":"hello","token":""}"#,
];

/// What a browser does over and over.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// Loads the page, looks around, reads photos, pauses and goes on, and leaves.
    Ordinary,
    /// Asks, and is gone before the answer.
    Cut,
    /// Asks for large pictures and reads none.
    Slow,
    /// Says what no browser says.
    Malformed,
    /// Connects and says nothing, or half of something.
    Silent,
}

/// What happened so far.
#[derive(Debug, Default)]
pub struct Tally {
    frames: AtomicU64,
    picks: AtomicU64,
    photos: AtomicU64,
    pages: AtomicU64,
    pauses: AtomicU64,
    sessions: AtomicU64,
    cut: AtomicU64,
    slow: AtomicU64,
    malformed: AtomicU64,
    silent: AtomicU64,
    ended: AtomicBool,
    stop: AtomicBool,
    failure: Mutex<Option<String>>,
}

impl Tally {
    pub fn ended(&self) -> bool {
        self.ended.load(Relaxed)
    }

    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    pub fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap().clone()
    }

    fn fail(&self, what: String) {
        self.failure.lock().unwrap().get_or_insert(what);
    }

    /// Everything by name.
    pub fn counts(&self) -> Value {
        let all = self.all().into_iter();
        all.map(|(name, count)| (name, count.load(Relaxed)))
            .collect()
    }

    /// Whether every kind of thing happened.
    pub fn is_broad(&self) -> bool {
        self.all().iter().all(|(_, count)| count.load(Relaxed) > 0)
    }

    fn all(&self) -> [(&'static str, &AtomicU64); 10] {
        [
            ("frames", &self.frames),
            ("picks", &self.picks),
            ("photos", &self.photos),
            ("pages", &self.pages),
            ("pauses", &self.pauses),
            ("sessions", &self.sessions),
            ("cut", &self.cut),
            ("slow", &self.slow),
            ("malformed", &self.malformed),
            ("silent", &self.silent),
        ]
    }
}

/// One browser.
pub struct Client {
    request: Request,
    host: String,
    token: String,
    kind: Kind,
    rng: Rng,
    tally: Arc<Tally>,
}

impl Client {
    pub fn new(program: &Program, kind: Kind, seed: u64, tally: Arc<Tally>) -> Self {
        Self {
            request: program.request(),
            host: program.page.trim_start_matches("http://").into(),
            token: program.token.clone(),
            kind,
            rng: Rng::new(seed, 77),
            tally,
        }
    }

    /// Until all stop. What goes wrong with an ordinary browser is noted.
    pub fn go_on(mut self) {
        while !self.tally.stop.load(Relaxed) {
            let (done, count) = match self.kind {
                Kind::Ordinary => (self.look_around(), &self.tally.sessions),
                Kind::Cut => (self.vanish(), &self.tally.cut),
                Kind::Slow => (self.read_nothing(), &self.tally.slow),
                Kind::Malformed => (self.talk_nonsense(), &self.tally.malformed),
                Kind::Silent => (self.say_nothing(), &self.tally.silent),
            };
            count.fetch_add(1, Relaxed);
            // The others are sent away, as they should be.
            if let (Err(error), Kind::Ordinary) = (done, self.kind) {
                self.tally.fail(format!("{:?}: {error}", self.kind));
                return;
            }
        }
    }

    fn below(&mut self, n: u32) -> u32 {
        (self.rng.uniform() * n as f32) as u32
    }

    fn connect(&self) -> Result<Socket, Error> {
        self.connect_with(&self.token)
    }

    fn connect_with(&self, token: &str) -> Result<Socket, Error> {
        let stream = self.stream()?;
        stream.set_nodelay(true)?;
        let (mut socket, _) = match client(self.request.clone(), stream) {
            Ok(done) => done,
            Err(error) => return Err(self.refused(error.to_string())),
        };
        say(&mut socket, json!({"type": "hello", "token": token}))?;
        Ok(socket)
    }

    fn stream(&self) -> Result<TcpStream, Error> {
        let stream = TcpStream::connect(&self.host);
        let stream = stream.map_err(|error| self.refused(error.to_string()))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        Ok(stream)
    }

    /// The server takes every connection, whoever it is from.
    fn refused(&self, error: String) -> Error {
        self.tally
            .fail(format!("{:?} cannot connect: {error}", self.kind));
        Error::Io(std::io::Error::other(error))
    }

    fn view(&mut self, seq: u32, size: [u32; 2]) -> Value {
        let channels = ["colour", "colour", "depth", "alpha", "heat"];
        let styles = ["splats", "splats", "splats", "points", "ellipsoids"];
        json!({
            "type": "view", "seq": seq, "position": [self.rng.normal(), self.rng.normal(), -6],
            "rotation": [[1, 0, 0], [0, 1, 0], [0, 0, 1]], "fov": 50,
            "width": size[0], "height": size[1], "still": self.below(4) == 0,
            "channel": channels[self.below(5) as usize], "style": styles[self.below(5) as usize],
        })
    }

    fn look_around(&mut self) -> Result<(), Error> {
        for file in FILES {
            self.load(file)?;
        }
        let mut socket = self.connect()?;
        let looks = 10 + self.below(120);
        for seq in 1..=looks {
            let size = [16 + self.below(80), 16 + self.below(80)];
            let view = self.view(seq, size);
            match self.below(60) {
                0 => {
                    let mut look = view;
                    look.as_object_mut().unwrap().remove("type");
                    say(
                        &mut socket,
                        json!({"type": "pick", "view": look, "x": 8, "y": 8}),
                    )?;
                    self.wait(&mut socket, |message| says(message, "type", "picked"))?;
                    self.tally.picks.fetch_add(1, Relaxed);
                }
                1 => {
                    let index = self.below(10);
                    say(
                        &mut socket,
                        json!({"type": "photo", "index": index, "size": 40}),
                    )?;
                    self.wait(&mut socket, |message| word(message, 0) == Some(2))?;
                    self.tally.photos.fetch_add(1, Relaxed);
                }
                2 => {
                    for action in ["pause", "resume"] {
                        say(&mut socket, json!({"type": "control", "action": action}))?;
                    }
                    self.tally.pauses.fetch_add(1, Relaxed);
                }
                _ => {
                    say(&mut socket, view)?;
                    self.wait(&mut socket, |message| word(message, 1) == Some(seq))?;
                    say(&mut socket, json!({"type": "ack", "seq": seq}))?;
                    self.tally.frames.fetch_add(1, Relaxed);
                }
            }
            if self.tally.stop.load(Relaxed) {
                break;
            }
        }
        socket.close(None)
    }

    /// Reads until the message that is waited for.
    fn wait(&self, socket: &mut Socket, wanted: impl Fn(&Message) -> bool) -> Result<(), Error> {
        loop {
            let message = socket.read()?;
            if let Message::Text(text) = &message {
                let known: Value = serde_json::from_str(text).unwrap();
                assert!(known["type"] != "error", "{known}");
                if known["ended"] == true {
                    self.tally.ended.store(true, Relaxed);
                }
            }
            if wanted(&message) {
                return Ok(());
            }
        }
    }

    fn vanish(&mut self) -> Result<(), Error> {
        let mut socket = self.connect()?;
        for seq in 0..self.below(6) {
            let view = self.view(seq, [64, 48]);
            say(&mut socket, view)?;
        }
        if self.below(2) == 0 {
            // Half a message.
            socket.get_mut().write_all(&[0x81, 0xfe])?;
        }
        if self.below(2) == 0 {
            socket.read()?;
        }
        Ok(())
    }

    fn read_nothing(&mut self) -> Result<(), Error> {
        let mut socket = self.connect()?;
        socket
            .get_mut()
            .set_write_timeout(Some(Duration::from_secs(5)))?;
        let until = std::time::Instant::now() + self.linger();
        let mut seq = 0;
        while std::time::Instant::now() < until && !self.tally.stop.load(Relaxed) {
            seq += 1;
            let mut view = self.view(seq, [400, 300]);
            view["still"] = true.into();
            say(&mut socket, view)?;
            say(&mut socket, json!({"type": "ack", "seq": seq}))?;
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn talk_nonsense(&mut self) -> Result<(), Error> {
        let which = self.below(10) as usize;
        match NONSENSE.get(which) {
            Some(text) => {
                let mut socket = self.connect()?;
                socket.send(Message::text(*text))?;
                while socket.read().is_ok() {}
            }
            None if which == 6 => {
                let mut socket = self.connect()?;
                socket.send(Message::binary(vec![7; 100]))?;
                while socket.read().is_ok() {}
            }
            None if which == 7 => {
                let mut socket = self.connect()?;
                socket.send(Message::text(" ".repeat(200_000)))?;
                while socket.read().is_ok() {}
            }
            None if which == 8 => {
                let mut socket = self.connect_with(&self.token[1..])?;
                while socket.read().is_ok() {}
            }
            None => {
                let mut stream = self.stream()?;
                stream.write_all(b"\x16\x03\x01\x02\x00GET\r\n\r\n\r\n")?;
                stream.read_to_end(&mut Vec::new())?;
            }
        }
        Ok(())
    }

    fn say_nothing(&mut self) -> Result<(), Error> {
        let mut stream = self.stream()?;
        let halves = ["", "GET / HTTP/1.1\r\nHost: ", "GET /socket HTTP/1.1\r\n"];
        stream.write_all(halves[self.below(3) as usize].as_bytes())?;
        let until = std::time::Instant::now() + self.linger();
        while std::time::Instant::now() < until && !self.tally.stop.load(Relaxed) {
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Mostly short.
    fn linger(&mut self) -> Duration {
        let share = self.rng.uniform().powi(4);
        Duration::from_secs_f32(LINGERS[0] + share * (LINGERS[1] - LINGERS[0]))
    }

    fn load(&self, file: &str) -> Result<(), Error> {
        let mut stream = self.stream()?;
        let host = &self.host;
        write!(
            stream,
            "GET /{file} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer)?;
        assert!(answer.starts_with(b"HTTP/1.1 200"), "/{file}");
        self.tally.pages.fetch_add(1, Relaxed);
        Ok(())
    }
}

type Socket = WebSocket<TcpStream>;

fn say(socket: &mut Socket, message: Value) -> Result<(), Error> {
    socket.send(Message::text(message.to_string()))
}

/// Whether a text has a value.
fn says(message: &Message, key: &str, value: &str) -> bool {
    match message {
        Message::Text(text) => serde_json::from_str::<Value>(text).unwrap()[key] == value,
        _ => false,
    }
}

/// A word of a picture's header.
fn word(message: &Message, index: usize) -> Option<u32> {
    match message {
        Message::Binary(bytes) => {
            let word = bytes.get(4 * index..4 * index + 4)?;
            Some(u32::from_le_bytes(word.try_into().unwrap()))
        }
        _ => None,
    }
}
