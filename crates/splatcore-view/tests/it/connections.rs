//! Connections of those who do not know the secret: they are cut, and are in nobody's way.

use crate::client::{browser, connect, image, say, view};
use crate::support::Viewer;
use rustix::process::{Resource, getrlimit, setrlimit};
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};
use tokio::runtime::Runtime;

/// Half-sent requests.
const HALVES: usize = 900;
/// They are gone within this time.
const GONE: Duration = Duration::from_secs(10);

/// Lets this process hold both ends of all connections.
fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit
        .maximum
        .map_or(Some(4096), |most| Some(most.min(4096)));
    setrlimit(Resource::Nofile, limit).unwrap();
}

fn is_open(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0; 512]) {
        Ok(read) => read > 0,
        Err(error) => error.kind() == ErrorKind::WouldBlock,
    }
}

fn half_sent(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\n").unwrap();
    stream.set_nonblocking(true).unwrap();
    stream
}

fn page(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(GONE)).unwrap();
    let request = format!("GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    let _ = stream.read_to_string(&mut answer);
    answer
}

/// Beside them the page is served, and who looks goes on looking.
#[test]
fn half_sent_requests_are_gone_within_ten_seconds() {
    raise_file_limit();
    let viewer = Viewer::start(false);
    let address = viewer.address();
    let runtime = Runtime::new().unwrap();
    let mut socket = runtime.block_on(browser(&viewer));
    let mut halves: Vec<TcpStream> = (0..HALVES).map(|_| half_sent(address)).collect();
    let sent = Instant::now();
    assert!(page(address).starts_with("HTTP/1.1 200"));
    while !halves.is_empty() {
        halves.retain_mut(is_open);
        assert!(sent.elapsed() < GONE, "{} are left", halves.len());
        std::thread::sleep(Duration::from_millis(20));
    }
    runtime.block_on(async {
        say(&mut socket, view(1, true)).await;
        assert_eq!(image(&mut socket).await.0[1], 1);
    });
}

/// Slowly sent heads, bytes without an end of the line, and silence end alike; so does a socket on
/// which nobody says the secret.
#[test]
fn heads_that_do_not_end_and_silent_sockets_are_cut() {
    let viewer = Viewer::start(false);
    let address = viewer.address();
    let mut slow = half_sent(address);
    let mut long = half_sent(address);
    let mut silent = TcpStream::connect(address).unwrap();
    silent.set_nonblocking(true).unwrap();
    let begun = Instant::now();
    let mut open = [true; 3];
    while open.contains(&true) {
        assert!(begun.elapsed() < GONE, "{open:?}");
        let _ = slow.write(b"a");
        let _ = long.write(&[b'a'; 4096]);
        for (open, stream) in open.iter_mut().zip([&mut slow, &mut long, &mut silent]) {
            *open = *open && is_open(stream);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Runtime::new().unwrap().block_on(async {
        let origin = format!("http://{address}");
        let mut socket = connect(address, Some(&origin)).await.unwrap();
        let next = futures_util::StreamExt::next(&mut socket);
        let ended = tokio::time::timeout(GONE, next).await;
        assert!(!matches!(ended.expect("it is still open"), Some(Ok(m)) if !m.is_close()));
    });
}
