//! How ranks meet: every other rank calls rank 0 and says who it is.

use super::super::frames::{self, Kind};
use super::super::world::World;
use super::hello::Hello;
use anyhow::{Context, Result, anyhow, bail};
use std::net::{TcpListener, TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

/// How long rank 0 may take to answer a call, before it is called again.
const CALL: Duration = Duration::from_secs(1);

/// Rank 0 waits for all others, unless it hears that one of them has ended.
pub fn gather(
    world: &World,
    own: &Hello,
    (deadline, ended): (Duration, &dyn Fn() -> Option<usize>),
) -> Result<Vec<(TcpStream, String)>> {
    let (count, port) = (world.ranks.count, world.port);
    let any = match world.host.as_str() {
        "127.0.0.1" | "localhost" => "127.0.0.1",
        _ => "0.0.0.0",
    };
    let listener = TcpListener::bind((any, port)).with_context(|| {
        format!(
            "{}: port {port} cannot be had, at which the ranks meet; SPLATCORE_PORT names another",
            world.launcher
        )
    })?;
    listener.set_nonblocking(true)?;
    let until = Instant::now() + deadline;
    let mut found: Vec<Option<(TcpStream, Hello)>> = (1..count).map(|_| None).collect();
    while found.iter().any(Option::is_none) {
        if Instant::now() >= until {
            let missing = (1..count).filter(|&rank| found[rank - 1].is_none());
            let missing: Vec<String> = missing.map(|rank| rank.to_string()).collect();
            let problem = format!(
                "{}: of {count} ranks {} did not come within {} s",
                world.launcher,
                missing.join(", "),
                deadline.as_secs()
            );
            return Err(refused(&found, problem));
        }
        if let Some(rank) = ended() {
            let problem = format!("rank {rank} ended at the start; its own message says why");
            return Err(refused(&found, problem));
        }
        let Ok((stream, _)) = listener.accept() else {
            thread::sleep(Duration::from_millis(5));
            continue;
        };
        let Some(hello) = greeted(&stream, until) else {
            // Not a rank.
            continue;
        };
        let came = found.iter().flatten().map(|(_, hello)| hello);
        let problem = own.refuses(&hello).or_else(|| {
            let others = [own].into_iter().chain(came);
            others.filter_map(|other| other.shares_with(&hello)).next()
        });
        if let Some(problem) = problem {
            let _ = frames::write(&stream, Kind::Failed, problem.as_bytes());
            return Err(refused(&found, problem));
        }
        let place = &mut found[hello.rank - 1];
        if place.is_some() {
            let problem = format!("two processes say that they are rank {}", hello.rank);
            let _ = frames::write(&stream, Kind::Failed, problem.as_bytes());
            return Err(refused(&found, problem));
        }
        *place = Some((stream, hello));
    }
    let found = found.into_iter().flatten().map(|(stream, hello)| {
        frames::write(&stream, Kind::Agreed, own.described().as_bytes())?;
        Ok((stream, hello.described()))
    });
    found.collect()
}

/// Tells the ranks that came why nothing comes of it.
fn refused(found: &[Option<(TcpStream, Hello)>], problem: String) -> anyhow::Error {
    for (stream, _) in found.iter().flatten() {
        let _ = frames::write(stream, Kind::Failed, problem.as_bytes());
    }
    anyhow!(problem)
}

fn greeted(stream: &TcpStream, until: Instant) -> Option<Hello> {
    stream.set_nonblocking(false).ok()?;
    stream.set_nodelay(true).ok()?;
    let left = until.saturating_duration_since(Instant::now());
    let patience = left.clamp(Duration::from_millis(10), Duration::from_secs(2));
    stream.set_read_timeout(Some(patience)).ok()?;
    let frame = frames::read(&mut &*stream).ok()??;
    let hello: Hello = serde_json::from_slice(&frame.content).ok()?;
    (frame.kind == Kind::Hello).then_some(hello)
}

/// Another rank calls rank 0.
pub fn call(world: &World, own: &Hello, deadline: Duration) -> Result<(TcpStream, String)> {
    let until = Instant::now() + deadline;
    let place = format!("{}:{}", world.host, world.port);
    let stream = loop {
        let address = place.to_socket_addrs().ok().and_then(|mut all| all.next());
        let connected = address.map(|address| TcpStream::connect_timeout(&address, CALL));
        match connected {
            Some(Ok(stream)) => break stream,
            _ if Instant::now() >= until => bail!(
                "{}: rank 0 was not found at {place} within {} s; MASTER_ADDR and MASTER_PORT say \
                 where it is",
                world.launcher,
                deadline.as_secs()
            ),
            _ => thread::sleep(Duration::from_millis(50)),
        }
    };
    stream.set_nodelay(true)?;
    frames::write(&stream, Kind::Hello, &serde_json::to_vec(own)?)?;
    stream.set_read_timeout(Some(until.saturating_duration_since(Instant::now()) + CALL))?;
    let answer = frames::read(&mut &stream).context("rank 0 does not answer")?;
    match answer {
        Some(frame) if frame.kind == Kind::Agreed => Ok((stream, frame.text())),
        Some(frame) => bail!("rank 0 refuses this rank: {}", frame.text()),
        None => bail!("rank 0 ended"),
    }
}
