//! The web server: the page, and a WebSocket for each browser.

use crate::access::{Listen, Names};
use crate::connections::{self, Guest};
use crate::hub::Hub;
use crate::protocol::SceneInfo;
use crate::shared::{Photos, Shared, StoreStart};
use crate::{session, token::Token};
use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{Extension, Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use splatcore_page::shared;
use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::watch;

/// The longest message of a browser, bytes.
const LONGEST_MESSAGE: usize = 64 << 10;
/// What a socket reads at a time, bytes: most messages are shorter.
const READ_BUFFER: usize = 8 << 10;

/// Scripts, styles and sockets come from this server alone; nobody may frame the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' \
                      blob: data:; connect-src 'self'; base-uri 'none'; form-action 'none'; \
                      frame-ancestors 'none'";

/// The page's files: name, type, content.
const FILES: [(&str, &str, &str); 20] = [
    (
        "index.html",
        "text/html; charset=utf-8",
        include_str!("page/index.html"),
    ),
    ("shared.css", CSS, shared::STYLE),
    ("style.css", CSS, include_str!("page/style.css")),
    ("main.js", JS, include_str!("page/main.js")),
    ("connection.js", JS, include_str!("page/connection.js")),
    ("camera.js", JS, shared::CAMERA),
    ("input.js", JS, shared::INPUT),
    ("overlay.js", JS, include_str!("page/overlay.js")),
    ("panel.js", JS, include_str!("page/panel.js")),
    ("projection.js", JS, include_str!("page/projection.js")),
    ("curves.js", JS, include_str!("page/curves.js")),
    ("theme.js", JS, shared::THEME),
    ("tools.js", JS, include_str!("page/tools.js")),
    ("selecting.js", JS, include_str!("page/selecting.js")),
    ("axes.js", JS, include_str!("page/axes.js")),
    ("handles.js", JS, include_str!("page/handles.js")),
    ("measuring.js", JS, include_str!("page/measuring.js")),
    ("saving.js", JS, include_str!("page/saving.js")),
    ("keyframes.js", JS, shared::KEYFRAMES),
    ("path_panel.js", JS, shared::PATH_PANEL),
];
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

/// An address that is listened on, before there is anything to see. Browsers that come early wait.
#[derive(Debug)]
pub struct Port(TcpListener);

impl Port {
    /// Listens on an address.
    ///
    /// # Errors
    /// If that is taken or is not this machine's.
    pub fn bind(listen: Listen) -> Result<Self, ServerError> {
        let address = listen.address();
        let bind = |source| ServerError::Bind { address, source };
        TcpListener::bind(address).map(Self).map_err(bind)
    }
}

/// What a server needs to know.
pub struct ServerOptions {
    /// Where it listens.
    pub port: Port,
    /// Whether browsers may pause and stop a run.
    pub control: bool,
    /// What there is to see.
    pub info: SceneInfo,
    /// Photos of the cameras, if there are any.
    pub photos: Option<Photos>,
    /// Stores a view to begin with, if that is possible.
    pub store_start: Option<StoreStart>,
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// The address is taken or is not this machine's.
    #[error("cannot listen on {address} ({source}); choose another address or port")]
    Bind {
        /// What was asked for.
        address: SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The system refused something else.
    #[error("the viewer cannot start ({0})")]
    System(#[from] std::io::Error),
    /// No secret could be made.
    #[error("the system gives no random numbers ({0})")]
    Random(#[from] getrandom::Error),
}

/// A running server; it ends when this value is dropped.
pub struct Server {
    address: SocketAddr,
    token: Token,
    end: watch::Sender<bool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts a server on threads of its own.
    ///
    /// # Errors
    /// If the system refuses threads or random numbers.
    pub fn start(options: ServerOptions, hub: Arc<Hub>) -> Result<Self, ServerError> {
        let Port(listener) = options.port;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let token = Token::new()?;
        let (end, ended) = watch::channel(false);
        let shared = Arc::new(Shared {
            hub,
            token: token.clone(),
            control: options.control,
            info: options.info,
            photos: options.photos,
            store_start: options.store_start,
            start: Mutex::default(),
            ended: ended.clone(),
            names: Names::new(address),
        });
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("viewer")
            .enable_all()
            .build()?;
        let run = move || {
            runtime.block_on(run(listener, shared, ended));
            // Sockets whose browsers do not read are not waited for.
            runtime.shutdown_timeout(Duration::from_secs(1));
        };
        let thread = std::thread::Builder::new()
            .name("viewer".into())
            .spawn(run)?;
        Ok(Self {
            address,
            token,
            end,
            thread: Some(thread),
        })
    }

    /// The address to open in a browser, with the secret.
    pub fn url(&self) -> String {
        let mut address = self.address;
        if address.ip().is_unspecified() {
            address.set_ip([127, 0, 0, 1].into());
        }
        format!("http://{address}/#{}", self.token.reveal())
    }

    /// Where the server listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.end.send_replace(true);
        if let Some(thread) = self.thread.take() {
            // A panic of the server is no reason to lose a run.
            let _ = thread.join();
        }
    }
}

async fn run(listener: TcpListener, shared: Arc<Shared>, mut ended: watch::Receiver<bool>) {
    let router = Router::new()
        .route("/", get(|| async { file("index.html") }))
        .route("/socket", get(socket))
        .route(
            "/{name}",
            get(|Path(name): Path<String>| async move { file(&name) }),
        )
        .layer(middleware::from_fn_with_state(Arc::clone(&shared), guarded))
        .with_state(shared);
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    let end = async move {
        // An error means that the server was dropped, which is the same.
        let _ = ended.wait_for(|ended| *ended).await;
    };
    connections::serve(listener, router, end).await;
}

/// Refuses requests that are meant for another host, and forbids the page whatever it does not
/// need.
async fn guarded(State(shared): State<Arc<Shared>>, request: Request, next: Next) -> Response {
    let mut response = match host(request.headers()) {
        Some(host) if shared.names.is_own_host(host) => next.run(request).await,
        _ => (StatusCode::MISDIRECTED_REQUEST, "unknown host").into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    for name in ["cross-origin-opener-policy", "cross-origin-resource-policy"] {
        headers.insert(name, HeaderValue::from_static("same-origin"));
    }
    response
}

async fn socket(
    State(shared): State<Arc<Shared>>,
    Extension(guest): Extension<Arc<Guest>>,
    headers: HeaderMap,
    upgrade: WebSocketUpgrade,
) -> Response {
    let origin = headers
        .get(header::ORIGIN)
        .and_then(|value| value.to_str().ok());
    // Browsers always send it; a program that does not has no business here.
    if !origin.is_some_and(|origin| shared.names.is_own_origin(origin)) {
        return (StatusCode::FORBIDDEN, "foreign origin").into_response();
    }
    upgrade
        .max_message_size(LONGEST_MESSAGE)
        .max_frame_size(LONGEST_MESSAGE)
        .read_buffer_size(READ_BUFFER)
        .on_upgrade(|socket| session::run(socket, shared, guest))
}

/// The one `Host` of a request.
fn host(headers: &HeaderMap) -> Option<&str> {
    let mut hosts = headers.get_all(header::HOST).iter();
    match (hosts.next(), hosts.next()) {
        (Some(host), None) => host.to_str().ok(),
        _ => None,
    }
}

fn file(name: &str) -> Response {
    match FILES.iter().find(|(known, _, _)| *known == name) {
        Some(&(_, kind, content)) => ([(header::CONTENT_TYPE, kind)], content).into_response(),
        None => (StatusCode::NOT_FOUND, "no such file").into_response(),
    }
}
