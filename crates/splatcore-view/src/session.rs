//! One browser's connection.

use crate::connections::Guest;
use crate::drawing;
use crate::hub::{Hub, Made, Work};
use crate::protocol::{Reply, Request, SceneInfo, ViewRequest};
use crate::shared::{Photos, Shared};
use axum::body::Bytes;
use axum::extract::ws::{Message, WebSocket};
use splatcore_page::Pose;
use std::sync::{Arc, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

/// A browser says who it is within this time.
const HELLO: Duration = Duration::from_secs(5);
/// A browser that takes longer to read a message is given up.
const SLOWEST_READER: Duration = Duration::from_secs(20);
/// How often a silent connection is asked whether it lives.
const PING: Duration = Duration::from_secs(15);
/// Silence after which a connection is given up.
const SILENCE: Duration = Duration::from_secs(45);
/// Frames and answers that may wait for the socket.
const QUEUE: usize = 16;
/// Longest side of a photo that is sent, pixels.
const MAX_PHOTO: u32 = 2048;

/// Serves a browser until it leaves, breaks the rules, or the server ends.
pub async fn run(mut socket: WebSocket, shared: Arc<Shared>, guest: Arc<Guest>) {
    if !knows_token(&mut socket, &shared).await {
        return;
    }
    guest.is_known();
    let (sender, made) = mpsc::channel(QUEUE);
    let Some(id) = shared.hub.join(sender) else {
        let message = "too many browsers look at this already; close one".into();
        let _ = say(&mut socket, &Reply::Error { message }).await;
        return;
    };
    let _leaves = Leaves(&shared.hub, id);
    // An error means that the browser is gone.
    let _ = Session {
        socket,
        shared: &shared,
        id,
        made,
    }
    .talk()
    .await;
}

/// Leaves the hub however the session ends.
struct Leaves<'a>(&'a Hub, u64);

impl Drop for Leaves<'_> {
    fn drop(&mut self) {
        self.0.leave(self.1);
    }
}

/// The browser is gone, or is sent away.
struct Gone;

impl From<axum::Error> for Gone {
    fn from(_: axum::Error) -> Self {
        Gone
    }
}

async fn knows_token(socket: &mut WebSocket, shared: &Shared) -> bool {
    let Ok(Some(Ok(Message::Text(text)))) = timeout(HELLO, socket.recv()).await else {
        return false;
    };
    match serde_json::from_str(&text) {
        Ok(Request::Hello { token }) => shared.token.matches(&token),
        _ => false,
    }
}

struct Session<'a> {
    socket: WebSocket,
    shared: &'a Shared,
    id: u64,
    made: mpsc::Receiver<Made>,
}

impl Session<'_> {
    async fn talk(mut self) -> Result<(), Gone> {
        let info = self.info();
        say(&mut self.socket, &Reply::Scene(&info)).await?;
        let mut status = self.shared.hub.status();
        status.mark_changed();
        let mut edits = self.shared.hub.edits();
        edits.mark_changed();
        let mut ping = tokio::time::interval(PING);
        let mut heard = Instant::now();
        let mut ended = self.shared.ended.clone();
        loop {
            tokio::select! {
                message = self.socket.recv() => {
                    heard = Instant::now();
                    match message {
                        Some(Ok(Message::Text(text))) => self.hear(&text).await?,
                        Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                        // Browsers send texts only.
                        _ => return Err(Gone),
                    }
                }
                made = self.made.recv() => match made {
                    Some(made) => self.pass_on(made).await?,
                    None => return Err(Gone),
                },
                changed = status.changed() => {
                    changed.map_err(|_| Gone)?;
                    let now = status.borrow_and_update().clone();
                    say(&mut self.socket, &Reply::Status(&now)).await?;
                }
                changed = edits.changed() => {
                    changed.map_err(|_| Gone)?;
                    let now = edits.borrow_and_update().clone();
                    say(&mut self.socket, &Reply::Edits(&now)).await?;
                }
                _ = ping.tick() => {
                    if heard.elapsed() > SILENCE {
                        return Err(Gone);
                    }
                    send(&mut self.socket, Message::Ping(Bytes::new())).await?;
                }
                _ = ended.changed() => return Err(Gone),
            }
        }
    }

    fn info(&self) -> SceneInfo {
        let shared = self.shared;
        let stored = shared.start.lock().unwrap_or_else(PoisonError::into_inner);
        SceneInfo {
            control: shared.control,
            heat: drawing::heat_scale(),
            start: stored.clone().or(shared.info.start.clone()),
            stores_start: shared.control && shared.store_start.is_some(),
            ..shared.info.clone()
        }
    }

    /// Stores the view to begin with, for this browser and those that come.
    async fn store_start(&mut self, pose: Pose) -> Result<(), Gone> {
        let Some(store) = self.shared.store_start.clone() else {
            let message = "there is no scene to store the view with";
            return self.refuse(message.into()).await;
        };
        let kept = pose.clone();
        let stored = tokio::task::spawn_blocking(move || store(pose));
        match stored.await.map_err(|_| Gone)? {
            Ok(message) => {
                self.keep_start(kept);
                say(&mut self.socket, &Reply::Stored { message }).await
            }
            Err(message) => self.refuse(message).await,
        }
    }

    fn keep_start(&self, pose: Pose) {
        let start = self.shared.start.lock();
        *start.unwrap_or_else(PoisonError::into_inner) = Some(pose);
    }

    async fn hear(&mut self, text: &str) -> Result<(), Gone> {
        let request = serde_json::from_str(text).map_err(|_| Gone)?;
        let hub = &self.shared.hub;
        let shared = self.shared;
        let looked = |view: &ViewRequest| view.look(&shared.info.cameras).map_err(|_| Gone);
        let changes = matches!(
            request,
            Request::Control { .. }
                | Request::Edit { .. }
                | Request::Sight { .. }
                | Request::Save { .. }
                | Request::Start { .. }
        );
        if changes && !self.shared.control {
            let message = "this page may look, not control; the program's flag --allow-control \
                           changes that";
            return self.refuse(message.into()).await;
        }
        let work = match request {
            Request::Hello { .. } => return Err(Gone),
            Request::View(view) => Work::View(looked(&view)?),
            Request::Pick { view, x, y, tag } => {
                let look = looked(&view)?;
                let place = view.in_image(&look.camera, [x, y]);
                Work::Pick(look, place, tag)
            }
            Request::Picture { view } => Work::Picture(looked(&view)?),
            Request::Sight { view } | Request::Start { view } if !view.is_pinhole() => {
                let message = "this is not done in a view with distortion; choose the projection \
                               of a camera without one";
                return self.refuse(message.into()).await;
            }
            Request::Sight { view } => Work::Sight(looked(&view)?),
            Request::Edit { edit } => match edit.edit() {
                Ok(edit) => Work::Edit(edit),
                Err(problem) => return self.refuse(problem).await,
            },
            Request::Save { name, replace } => Work::Save(name, replace),
            Request::Ack { .. } => {
                hub.acknowledge(self.id);
                return Ok(());
            }
            Request::Start { view } => {
                looked(&view)?;
                return self.store_start(view.pose()).await;
            }
            Request::Photo {
                index,
                size,
                as_taken,
            } => return self.photo(index, size, as_taken).await,
            Request::Control { action } => {
                hub.act(action);
                return Ok(());
            }
        };
        match hub.ask(self.id, work) {
            true => Ok(()),
            false => {
                self.refuse("too many requests wait; try again".into())
                    .await
            }
        }
    }

    async fn refuse(&mut self, message: String) -> Result<(), Gone> {
        say(&mut self.socket, &Reply::Error { message }).await
    }

    async fn photo(&mut self, index: usize, size: u32, as_taken: bool) -> Result<(), Gone> {
        let Some(photos) = self.shared.photos.clone() else {
            return Err(Gone);
        };
        let size = size.clamp(16, MAX_PHOTO);
        let read = tokio::task::spawn_blocking(move || encoded(&photos, index, size, as_taken));
        match read.await.map_err(|_| Gone)? {
            Ok(bytes) => send(&mut self.socket, Message::Binary(bytes.into())).await,
            Err(message) => say(&mut self.socket, &Reply::Error { message }).await,
        }
    }

    async fn pass_on(&mut self, made: Made) -> Result<(), Gone> {
        match made {
            Made::Frame(bytes) => send(&mut self.socket, Message::Binary(bytes.into())).await,
            Made::Picked(tag, point) => say(&mut self.socket, &Reply::Picked { tag, point }).await,
            Made::Saved(saved) => {
                let reply = Reply::Saved {
                    name: saved.name,
                    gaussians: saved.gaussians,
                    bytes: saved.bytes,
                    notes: saved.notes,
                };
                say(&mut self.socket, &reply).await
            }
            Made::Exists { name, opened } => {
                say(&mut self.socket, &Reply::Exists { name, opened }).await
            }
            Made::Failed(message) => self.refuse(message).await,
        }
    }
}

fn encoded(photos: &Photos, index: usize, size: u32, as_taken: bool) -> Result<Vec<u8>, String> {
    let (rgb, width, height) = photos(index, size, as_taken)?;
    Ok(drawing::photo(index as u32, as_taken, &rgb, width, height))
}

async fn say(socket: &mut WebSocket, reply: &Reply<'_>) -> Result<(), Gone> {
    let text = serde_json::to_string(reply).map_err(|_| Gone)?;
    send(socket, Message::Text(text.into())).await
}

async fn send(socket: &mut WebSocket, message: Message) -> Result<(), Gone> {
    match timeout(SLOWEST_READER, socket.send(message)).await {
        Ok(sent) => Ok(sent?),
        Err(_) => Err(Gone),
    }
}
