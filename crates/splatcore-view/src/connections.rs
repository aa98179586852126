//! The server's connections: how many there are, and when one is cut.
//!
//! Who reaches the port can open connections without knowing the secret, and a training run needs
//! file descriptors for its results. So connections are few, a request's head comes soon or not at
//! all, and a connection on which nothing moves is cut. When there is no room, the oldest *guest*
//! goes: a connection that has not shown the secret.

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::collections::BTreeMap;
use std::future::Future;
use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, Sleep, sleep, timeout};

/// Connections at a time, if the process may open enough files.
const MAX_CONNECTIONS: usize = 128;
/// The share of the process's file descriptors that connections may take: one of so many.
const SHARE: usize = 4;
/// The head of a request comes within this time, also the head of the next request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(5);
/// A connection is cut when for so long no byte was read or written. A browser that looks answers a
/// ping more often.
const STILL_TIMEOUT: Duration = Duration::from_secs(60);
/// The longest head of a request, bytes. Other programs of this machine may have left cookies.
const MAX_HEAD: usize = 64 << 10;
/// How long a new connection waits for the room that a guest leaves.
const ROOM_TIMEOUT: Duration = Duration::from_secs(1);
/// The pause after the system refused a connection, for want of descriptors for example.
const REFUSED_PAUSE: Duration = Duration::from_millis(100);

/// Serves connections until `ended` is ready.
pub async fn serve(listener: TcpListener, router: Router, ended: impl Future<Output = ()>) {
    let room = Arc::new(Semaphore::new(most_connections()));
    let guests = Arc::new(Guests::default());
    let service = TowerToHyperService::new(router);
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD);
    let mut ended = std::pin::pin!(ended);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut ended => return,
        };
        let Ok((stream, _)) = accepted else {
            sleep(REFUSED_PAUSE).await;
            continue;
        };
        let Some(permit) = take_room(&room, &guests).await else {
            continue;
        };
        let (guest, leave) = Guests::enter(&guests);
        let guest = Arc::new(guest);
        let line = Line {
            stream,
            still: Box::pin(sleep(STILL_TIMEOUT)),
            leave: Some(leave),
            _guest: Arc::clone(&guest),
            _permit: permit,
        };
        let service = service.clone();
        let service = service_fn(move |mut request: Request<Incoming>| {
            request.extensions_mut().insert(Arc::clone(&guest));
            service.call(request)
        });
        let connection = http.serve_connection(TokioIo::new(line), service);
        tokio::spawn(async move {
            // An error means that the browser is gone, or was cut off.
            let _ = connection.with_upgrades().await;
        });
    }
}

/// Room for one connection, that of the oldest guest if there is no other.
async fn take_room(room: &Arc<Semaphore>, guests: &Guests) -> Option<OwnedSemaphorePermit> {
    if let Ok(permit) = Arc::clone(room).try_acquire_owned() {
        return Some(permit);
    }
    guests.send_oldest_away();
    let freed = timeout(ROOM_TIMEOUT, Arc::clone(room).acquire_owned()).await;
    freed.ok()?.ok()
}

/// Connections at a time: a quarter of the files that the process may have open.
fn most_connections() -> usize {
    #[cfg(unix)]
    {
        use rustix::process::{Resource, getrlimit};
        if let Some(files) = getrlimit(Resource::Nofile).current {
            let share = usize::try_from(files).unwrap_or(usize::MAX) / SHARE;
            return share.clamp(1, MAX_CONNECTIONS);
        }
    }
    MAX_CONNECTIONS
}

/// Connections that have not shown the secret, in the order in which they came.
#[derive(Default)]
struct Guests(Mutex<Entered>);

#[derive(Default)]
struct Entered {
    count: u64,
    /// What sends each away.
    present: BTreeMap<u64, oneshot::Sender<()>>,
}

impl Guests {
    /// A new guest, and what becomes ready when it is to go.
    fn enter(guests: &Arc<Self>) -> (Guest, oneshot::Receiver<()>) {
        let (send_away, leave) = oneshot::channel();
        let mut entered = guests.lock();
        entered.count += 1;
        let number = entered.count;
        entered.present.insert(number, send_away);
        let guests = Arc::clone(guests);
        (Guest { guests, number }, leave)
    }

    fn send_oldest_away(&self) {
        if let Some((_, send_away)) = self.lock().present.pop_first() {
            // An error means that it has gone already.
            let _ = send_away.send(());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Entered> {
        self.0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A connection, until it has shown the secret.
pub struct Guest {
    guests: Arc<Guests>,
    number: u64,
}

impl Guest {
    /// It has shown the secret: no other takes its place.
    pub fn is_known(&self) {
        self.guests.lock().present.remove(&self.number);
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.is_known();
    }
}

/// A connection's bytes, which end when the connection is cut.
struct Line {
    stream: TcpStream,
    still: Pin<Box<Sleep>>,
    /// None once nobody can send the connection away.
    leave: Option<oneshot::Receiver<()>>,
    _guest: Arc<Guest>,
    _permit: OwnedSemaphorePermit,
}

impl Line {
    /// What came of reading or writing, unless the connection is cut.
    fn unless_cut<T>(
        &mut self,
        context: &mut Context<'_>,
        moved: Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if let Some(leave) = &mut self.leave {
            match Pin::new(leave).poll(context) {
                Poll::Ready(Ok(())) => {
                    return Poll::Ready(Err(ErrorKind::ConnectionAborted.into()));
                }
                Poll::Ready(Err(_)) => self.leave = None,
                Poll::Pending => {}
            }
        }
        if moved.is_ready() {
            self.still.as_mut().reset(Instant::now() + STILL_TIMEOUT);
        } else if self.still.as_mut().poll(context).is_ready() {
            return Poll::Ready(Err(ErrorKind::TimedOut.into()));
        }
        moved
    }
}

impl AsyncRead for Line {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let moved = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.unless_cut(context, moved)
    }
}

impl AsyncWrite for Line {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let moved = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.unless_cut(context, moved)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
