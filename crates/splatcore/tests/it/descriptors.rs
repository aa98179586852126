//! A run has the file descriptors that its results need, whatever connects to its viewer.

use crate::common::{photos, program, text, write_scene};
use std::io::{BufRead, BufReader, ErrorKind, Lines, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Descriptors of the program, and connections that are kept open to it.
const DESCRIPTORS: &str = "100";
const CONNECTIONS: usize = 150;

/// The program under a limit of the shell's `ulimit`, and what it says.
fn limited(limit: &str, args: &[&str]) -> (Child, Lines<BufReader<ChildStderr>>) {
    let mut child = Command::new("sh")
        .args(["-c", &format!("ulimit {limit}; exec \"$0\" \"$@\"")])
        .arg(program())
        .args(args)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    (child, lines)
}

/// The rest of the line that begins so.
fn after(lines: &mut Lines<BufReader<ChildStderr>>, start: &str) -> String {
    let mut said = Vec::new();
    let found = lines.map_while(Result::ok).find_map(|line| {
        said.push(line.clone());
        line.strip_prefix(start).map(str::to_owned)
    });
    found.unwrap_or_else(|| panic!("no line {start}: {said:?}"))
}

fn interrupted(mut child: Child) -> Option<i32> {
    let process = child.id().to_string();
    let sent = Command::new("kill").args(["-INT", &process]).status();
    assert!(sent.unwrap().success());
    child.wait().unwrap().code()
}

/// A connection that sends half a request; none if the server does not take it.
fn half_sent(address: &str) -> Option<TcpStream> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_nonblocking(true).ok()?;
    stream.write_all(b"GET / HTTP/1.1\r\n").ok()?;
    Some(stream)
}

fn is_open(stream: &mut TcpStream) -> bool {
    matches!(stream.read(&mut [0]), Err(error) if error.kind() == ErrorKind::WouldBlock)
}

#[test]
fn a_run_writes_its_results_while_idle_connections_take_all_they_can() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("run");
    let flags = ["--backend", "cpu", "--threads", "1", "--iterations", "150"];
    let train = [
        "train",
        photos(),
        "-o",
        text(&out),
        "--view",
        "--no-browser",
    ];
    let limit = format!("-n {DESCRIPTORS}");
    let (child, mut lines) = limited(&limit, &[&train[..], &flags].concat());
    let url = after(&mut lines, "watch it: http://");
    let (address, _) = url.split_once('/').unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut open: Vec<TcpStream> = Vec::new();
            while !done.load(Ordering::Relaxed) {
                open.retain_mut(is_open);
                let more = CONNECTIONS - open.len();
                open.extend((0..more).map_while(|_| half_sent(address)));
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let ended = std::panic::AssertUnwindSafe(|| after(&mut lines, "the scene stays in the"));
        let ended = std::panic::catch_unwind(ended);
        done.store(true, Ordering::Relaxed);
        if let Err(panic) = ended {
            std::panic::resume_unwind(panic);
        }
    });
    assert_eq!(interrupted(child), Some(0));
    for name in [
        "checkpoint.safetensors",
        "config.toml",
        "metrics.json",
        "report.html",
        "scene.ply",
    ] {
        assert!(out.join(name).is_file(), "{name}");
    }
}

/// The program may open as many files as the system lets it, not only as many as the shell asks.
#[cfg(target_os = "linux")]
#[test]
fn the_soft_limit_of_files_is_raised() {
    let folder = tempfile::tempdir().unwrap();
    let scene = write_scene(folder.path());
    let args = ["view", text(&scene), "--no-browser", "--backend", "cpu"];
    let (child, mut lines) = limited("-Sn 60", &args);
    after(&mut lines, "watch it: ");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id())).unwrap();
    let files = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"));
    let found: Vec<&str> = files.unwrap().split_whitespace().collect();
    let [soft, hard] = [0, 1].map(|i| found[i].parse().unwrap_or(u64::MAX));
    assert_eq!(soft, hard.min(10_240), "{found:?}");
    assert_eq!(interrupted(child), Some(0));
}
