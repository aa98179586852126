//! `splatcore view` and `train --view`: a browser's side by hand.

use crate::common::{Arguments, json, photos, program, splatcore, succeeds, text, write_scene};
use splatcore::data::picture;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::handshake::client::Request;
use tokio_tungstenite::tungstenite::stream::MaybeTlsStream;
use tokio_tungstenite::tungstenite::{Message, WebSocket, connect};

/// The program, which shows something.
pub struct Program {
    pub child: Child,
    /// Address of the page, without the secret.
    pub page: String,
    pub token: String,
    /// What it says after the address.
    rest: std::thread::JoinHandle<String>,
}

impl Program {
    pub fn start(args: &(impl Arguments + ?Sized)) -> Self {
        let mut child = Command::new(program())
            .args(args.list())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = Vec::new();
        let url = lines.by_ref().map_while(Result::ok).find_map(|line| {
            said.push(line.clone());
            line.strip_prefix("watch it: ").map(str::to_owned)
        });
        let url = url.unwrap_or_else(|| panic!("no address: {said:?}"));
        let rest = lines.map_while(Result::ok);
        let rest = std::thread::spawn(move || rest.map(|line| line + "\n").collect());
        let (page, token) = url.split_once("/#").unwrap();
        Self {
            child,
            page: page.into(),
            token: token.into(),
            rest,
        }
    }

    /// What asks for the socket, as a browser does that shows the page.
    pub fn request(&self) -> Request {
        let address = format!("{}/socket", self.page.replace("http", "ws"));
        let mut request = address.into_client_request().unwrap();
        let origin = self.page.parse().unwrap();
        request.headers_mut().insert("origin", origin);
        request
    }

    /// Ctrl-C; returns the exit code.
    pub fn interrupt(self) -> Option<i32> {
        self.end().0
    }

    /// Ctrl-C; returns the exit code and what was said after the address.
    fn end(mut self) -> (Option<i32>, String) {
        let killed = Command::new("kill")
            .args(["-INT", &self.child.id().to_string()])
            .status();
        assert!(killed.unwrap().success());
        let code = self.child.wait().unwrap().code();
        (code, self.rest.join().unwrap())
    }
}

/// The program and a connection that has said the secret.
struct Watched {
    program: Program,
    socket: WebSocket<MaybeTlsStream<std::net::TcpStream>>,
}

impl Watched {
    fn start(args: &(impl Arguments + ?Sized)) -> Self {
        let program = Program::start(args);
        let (socket, _) = connect(program.request()).unwrap();
        let hello = serde_json::json!({"type": "hello", "token": program.token});
        let mut watched = Self { program, socket };
        watched.say(hello);
        watched
    }

    fn say(&mut self, message: serde_json::Value) {
        self.socket
            .send(Message::text(message.to_string()))
            .unwrap();
    }

    fn ask(&mut self, seq: u32) {
        self.ask_for(seq, "colour", "splats");
    }

    fn ask_for(&mut self, seq: u32, channel: &str, style: &str) {
        self.say(serde_json::json!({
            "type": "view", "seq": seq, "channel": channel, "style": style,
            "position": [0, 0, -6], "fov": 50, "width": 64, "height": 48,
            "rotation": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        }));
    }

    /// The next text, or the step of the next frame.
    fn next(&mut self) -> Result<serde_json::Value, u32> {
        loop {
            match self.socket.read().unwrap() {
                Message::Text(text) => return Ok(serde_json::from_str(&text).unwrap()),
                Message::Binary(bytes) => {
                    return Err(u32::from_le_bytes(bytes[28..32].try_into().unwrap()));
                }
                _ => continue,
            }
        }
    }
}

#[test]
fn a_scene_is_shown_until_ctrl_c() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let mut watched =
        Watched::start(&["view", text(&scene), "--no-browser", "--dataset", photos()]);
    let info = watched.next().unwrap();
    assert_eq!(
        (&info["type"], &info["title"]),
        (&"scene".into(), &"scene.ply".into())
    );
    assert_eq!(info["cameras"].as_array().unwrap().len(), 10);
    watched.ask(1);
    while watched.next().is_ok() {}
    watched.say(serde_json::json!({"type": "photo", "index": 3, "size": 32}));
    while watched.next().is_ok() {}
    assert_eq!(watched.program.interrupt(), Some(0));
}

/// Ctrl-C writes edits that nobody saved beside the scene, and says so; once they are saved it
/// writes nothing.
#[test]
fn edits_outlive_ctrl_c() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let whole = splatcore_data::scene::read(&scene).unwrap().gaussians;
    let files = || {
        let entries = std::fs::read_dir(folder.path()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".ply")).collect();
        names.sort();
        names
    };
    let half = serde_json::json!({"do": "select-box", "min": [-1e9, -1e9, -1e9],
        "max": [0.0, 1e9, 1e9]});
    for saves in [false, true] {
        let mut watched = Watched::start(&["view", text(&scene), "--no-browser"]);
        watched.say(serde_json::json!({"type": "edit", "edit": half}));
        watched.say(serde_json::json!({"type": "edit", "edit": {"do": "delete"}}));
        let wanted = if saves { "saved" } else { "edits" };
        if saves {
            watched.say(serde_json::json!({"type": "save", "name": "own.ply"}));
        }
        loop {
            match watched.next() {
                Ok(reply) if reply["type"] == wanted && (saves || reply["unsaved"] == 1) => break,
                _ => continue,
            }
        }
        let (code, said) = watched.program.end();
        assert_eq!(code, Some(0), "{said}");
        assert_eq!(said.contains("1 edit is not saved"), !saves, "{said}");
        assert_eq!(said.contains("scene-unsaved.ply: "), !saves, "{said}");
    }
    assert_eq!(files(), ["own.ply", "scene-unsaved.ply", "scene.ply"]);
    let rest = folder.path().join("scene-unsaved.ply");
    let rest = splatcore_data::scene::read(&rest).unwrap().gaussians;
    assert!(!rest.is_empty() && rest.len() < whole.len());
    assert!(rest.means.iter().all(|mean| mean[0] > 0.0));
}

/// A view that a browser stores is where the viewer, a page and an orbit begin from then on.
#[test]
fn a_view_that_is_stored_is_begun_with() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    // Alone, the scene has another name than that of a run.
    let alone = folder.path().join("alone.ply");
    std::fs::rename(&scene, &alone).unwrap();
    let show = ["view", text(&alone), "--no-browser"];
    let mut watched = Watched::start(&show);
    let info = watched.next().unwrap();
    assert_eq!(info["stores_start"], true);
    // It begins at the view that shows most, outside the cloud.
    let eye: Vec<f64> = serde_json::from_value(info["start"]["position"].clone()).unwrap();
    assert!(eye.iter().map(|v| v * v).sum::<f64>() > 1.0, "{info}");
    let view = serde_json::json!({
        "seq": 1, "position": [1, -2, -6], "fov": 50, "width": 64, "height": 48,
        "rotation": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    });
    watched.say(serde_json::json!({"type": "start", "view": view}));
    let reply = loop {
        match watched.next() {
            Ok(reply) if reply["type"] != "status" && reply["type"] != "edits" => break reply,
            _ => continue,
        }
    };
    assert_eq!(reply["type"], "stored", "{reply}");
    assert_eq!(watched.program.interrupt(), Some(0));
    let stored = folder.path().join("alone.ply.view.json");
    let stored = json(&std::fs::read_to_string(&stored).unwrap());
    assert_eq!(
        stored["start"]["position"],
        serde_json::json!([1.0, -2.0, -6.0])
    );

    let mut watched = Watched::start(&show);
    assert_eq!(watched.next().unwrap()["start"], stored["start"]);
    assert_eq!(watched.program.interrupt(), Some(0));

    let page = folder.path().join("page.html");
    let start = |more: &[&str]| {
        succeeds(&[&["export", text(&alone), "-o", text(&page)][..], more].concat());
        let html = std::fs::read_to_string(&page).unwrap();
        let (_, rest) = html.split_once("id=\"settings\">").unwrap();
        json(rest.split_once("</script>").unwrap().0)["start"].clone()
    };
    assert_eq!(start(&[]), stored["start"]);
    let typed = start(&["--start", "0,0,-9:0,0,1"]);
    assert_eq!(typed["position"], serde_json::json!([0.0, 0.0, -9.0]));
    assert_eq!(typed["rotation"][2], serde_json::json!([0.0, 0.0, 1.0]));
    assert_ne!(start(&["--start", "auto"]), stored["start"]);
    assert_ne!(start(&["--distance", "2"]), stored["start"]);

    // An orbit begins there; a picture is made of a view that is typed.
    let (orbit, one) = (folder.path().join("orbit"), folder.path().join("one"));
    let size = ["--size", "64x48"];
    let render = |out: &Path, more: &[&str]| {
        let first = ["render", text(&alone), "-o", text(out)];
        succeeds(&[&first[..], &size, more].concat());
    };
    render(&orbit, &["--orbit", "2"]);
    render(&one, &["--start", "1,-2,-6:1,-2,0"]);
    let read = |file: PathBuf| picture::read(file).unwrap().into_rgb8().into_raw();
    let (first, typed) = (
        read(orbit.join("orbit_0000.png")),
        read(one.join("start.png")),
    );
    let most = first.iter().zip(&typed).map(|(a, b)| a.abs_diff(*b)).max();
    assert!(most <= Some(2), "{most:?}");
    assert!(typed.iter().any(|v| *v > 30));
    let wrong = format!("render {} -o {} --start a.jpg", text(&alone), text(&one));
    splatcore(&wrong).assert().code(2);
}

/// What a browser may ask for.
const MODES: [(&str, &str); 5] = [
    ("colour", "splats"),
    ("heat", "splats"),
    ("colour", "points"),
    ("depth", "ellipsoids"),
    ("alpha", "splats"),
];

/// Looking changes nothing, whatever is looked at: the same bits as without a viewer.
#[test]
fn a_run_that_is_watched_ends_as_one_that_is_not() {
    let folder = tempfile::tempdir().unwrap();
    let (seen, unseen) = (folder.path().join("seen"), folder.path().join("unseen"));
    let train = |out: &Path, more: &str| {
        format!(
            "train {} -o {} --iterations 300 --backend cpu {more}",
            photos(),
            text(out)
        )
    };
    succeeds(&train(&unseen, ""));
    let mut watched = Watched::start(&train(&seen, "--view --no-browser --view-share 1"));
    watched.ask(0);
    let (mut frames, mut ended) = (Vec::new(), false);
    let (mut paused, mut refused) = (0, 0);
    while !ended {
        match watched.next() {
            Err(step) => {
                frames.push(step);
                watched.say(serde_json::json!({"type": "ack", "seq": 0}));
                let (channel, style) = MODES[frames.len() % MODES.len()];
                watched.ask_for(0, channel, style);
                if frames.len() == 3 {
                    watched.say(serde_json::json!({"type": "control", "action": "pause"}));
                    watched.say(serde_json::json!({"type": "edit", "edit": {"do": "invert"}}));
                    watched.say(serde_json::json!({"type": "save", "name": "early.ply"}));
                }
            }
            Ok(reply) => {
                ended = reply["ended"] == true;
                let message = reply["message"].as_str().unwrap_or_default();
                refused += usize::from(message.contains("cannot be edited while it is trained"));
                if reply["paused"] == true && paused == 0 {
                    paused += 1;
                    watched.say(serde_json::json!({"type": "control", "action": "resume"}));
                }
            }
        }
    }
    assert_eq!((paused, refused), (1, 2));
    // What has ended can be edited, and is saved beside the run's scene.
    let half = serde_json::json!({"do": "select-box", "min": [-1e9, -1e9, -1e9],
        "max": [0.0, 1e9, 1e9]});
    watched.say(serde_json::json!({"type": "edit", "edit": half}));
    watched.say(serde_json::json!({"type": "edit", "edit": {"do": "delete"}}));
    watched.say(serde_json::json!({"type": "save", "name": "half.ply"}));
    let saved = loop {
        match watched.next() {
            Ok(reply) if reply["type"] == "saved" => break reply,
            _ => continue,
        }
    };
    let half = splatcore_data::scene::read(&seen.join("half.ply"))
        .unwrap()
        .gaussians;
    assert_eq!(saved["gaussians"], half.len());
    assert!(!half.is_empty() && half.means.iter().all(|mean| mean[0] > 0.0));
    assert!(!seen.join("early.ply").exists());
    let while_training = frames.iter().filter(|&&step| step > 0 && step < 300);
    assert!(while_training.count() > 5, "{frames:?}");
    assert_eq!(watched.program.interrupt(), Some(0));
    let read = |run: &Path| std::fs::read(run.join("scene.ply")).unwrap();
    assert!(read(&seen) == read(&unseen));
}
