//! Who is drawn next: requests of all browsers, and the thread that owns the renderer.

use crate::budget::Budget;
use crate::drawing::{self, Copies};
use crate::edit::{Edit, EditStatus, NotSaved, Saved};
use crate::protocol::{Action, Look, Status};
use splatcore_core::backend::{BackendError, Learner, RenderOptions, Renderer};
use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, watch};

/// Browsers at a time.
const MAX_CLIENTS: usize = 16;
/// Requests of a browser that may wait, beside that for a view.
const MAX_TASKS: usize = 32;
/// While a run is paused, how long to wait for a request before looking whether it goes on.
const PAUSE_POLL: Duration = Duration::from_millis(100);

/// What a browser waits for.
#[derive(Clone, Debug, PartialEq)]
pub enum Work {
    /// A frame.
    View(Look),
    /// The world point at a pixel position, and the request's tag.
    Pick(Look, [f64; 2], u32),
    /// A picture to keep.
    Picture(Look),
    /// What hides what in a view, before a stroke over it ends.
    Sight(Look),
    /// A change of the scene.
    Edit(Edit),
    /// Write the scene under this name; a file of the name may be replaced or not.
    Save(String, bool),
}

impl Work {
    /// The view that is to be drawn, if there is one.
    pub fn look(&self) -> Option<&Look> {
        match self {
            Work::View(look) | Work::Pick(look, ..) | Work::Picture(look) => Some(look),
            Work::Sight(_) | Work::Edit(_) | Work::Save(..) => None,
        }
    }
}

/// What the drawing thread has made for a browser.
#[derive(Debug)]
pub(crate) enum Made {
    Frame(Vec<u8>),
    Picked(u32, Option<[f64; 3]>),
    Saved(Saved),
    Exists { name: String, opened: bool },
    Failed(String),
}

/// A run between two steps.
pub struct Moment<'a> {
    /// The scene that learns.
    pub learner: &'a mut dyn Learner,
    /// How the run renders now.
    pub options: &'a RenderOptions,
    /// Steps taken.
    pub step: u32,
}

/// Where sessions and the drawing thread meet.
pub struct Hub {
    state: Mutex<State>,
    wake: Condvar,
    /// Something waits to be drawn; read between steps without taking the lock.
    waiting: AtomicBool,
    status: watch::Sender<Status>,
    edits: watch::Sender<EditStatus>,
}

#[derive(Default)]
struct State {
    clients: BTreeMap<u64, Client>,
    joined: u64,
    turn: u64,
    paused: bool,
    stop: bool,
}

struct Client {
    view: Option<Look>,
    /// What was asked for beside a view, the oldest first.
    tasks: VecDeque<Work>,
    /// A frame was sent and has not been acknowledged.
    in_flight: bool,
    /// When it was last drawn.
    turn: u64,
    made: mpsc::Sender<Made>,
}

impl Client {
    fn ready(&self) -> bool {
        !self.tasks.is_empty() || self.view.is_some() && !self.in_flight
    }
}

impl State {
    /// Whether the run's thread has something to do between two steps.
    fn wants_attention(&self) -> bool {
        self.paused || self.stop || self.clients.values().any(Client::ready)
    }
}

impl Default for Hub {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            wake: Condvar::new(),
            waiting: AtomicBool::new(false),
            status: watch::Sender::new(Status::default()),
            edits: watch::Sender::new(EditStatus::default()),
        }
    }
}

impl Hub {
    /// The next work, of the browser that has waited longest; waits at most `wait` for one.
    pub fn take(&self, wait: Duration) -> Option<(u64, Work)> {
        let mut state = self.lock();
        if !state.clients.values().any(Client::ready) && !wait.is_zero() {
            let idle = |state: &mut State| !state.clients.values().any(Client::ready);
            let waited = self.wake.wait_timeout_while(state, wait, idle);
            state = waited.unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
        state.turn += 1;
        let turn = state.turn;
        let ready = state
            .clients
            .iter_mut()
            .filter(|(_, client)| client.ready());
        let next = ready.min_by_key(|(_, client)| client.turn);
        let taken = next.and_then(|(&id, client)| {
            client.turn = turn;
            if let Some(task) = client.tasks.pop_front() {
                return Some((id, task));
            }
            client.in_flight = true;
            client.view.take().map(|look| (id, Work::View(look)))
        });
        self.waiting
            .store(state.wants_attention(), Ordering::Relaxed);
        taken
    }

    /// Draws work that was taken and hands it to its browser. An edit is refused: what learns is
    /// not edited.
    pub fn draw(
        &self,
        (client, work): (u64, Work),
        renderer: &mut dyn Renderer,
        options: &RenderOptions,
        step: u32,
    ) {
        let made = match &work {
            Work::View(look) => drawing::draw(renderer, options, look, step).map(Made::Frame),
            Work::Pick(look, at, tag) => {
                drawing::pick(renderer, options, look, *at).map(|point| Made::Picked(*tag, point))
            }
            Work::Picture(look) => {
                drawing::picture_to_keep(renderer, options, look, step).map(Made::Frame)
            }
            Work::Sight(_) | Work::Edit(_) | Work::Save(..) => {
                let message = "the scene cannot be edited while it is trained";
                Ok(Made::Failed(message.into()))
            }
        };
        self.deliver(
            client,
            made.unwrap_or_else(|error| Made::Failed(error.to_string())),
        );
    }

    /// Says that work could not be drawn.
    pub fn fail(&self, (client, _): (u64, Work), error: &BackendError) {
        self.refuse(client, error.to_string());
    }

    /// Says why nothing was done for a browser.
    pub(crate) fn refuse(&self, client: u64, message: String) {
        self.deliver(client, Made::Failed(message));
    }

    /// Says how a save ended.
    pub(crate) fn tell_saved(&self, client: u64, name: &str, end: Result<Saved, NotSaved>) {
        let name = name.into();
        let made = match end {
            Ok(saved) => Made::Saved(saved),
            Err(NotSaved::Exists { opened }) => Made::Exists { name, opened },
            Err(NotSaved::Failed(message)) => Made::Failed(message),
        };
        self.deliver(client, made);
    }

    fn deliver(&self, client: u64, made: Made) {
        let mut state = self.lock();
        let Some(found) = state.clients.get_mut(&client) else {
            return;
        };
        if !matches!(made, Made::Frame(_)) {
            found.in_flight = false;
        }
        // A full queue means that the browser does not read: it loses this one.
        if found.made.try_send(made).is_err() {
            found.in_flight = false;
        }
    }

    /// Draws what browsers wait for, between two steps of a run: at most one view, and only while
    /// viewing stays within its `budget`. While the run is paused, draws until it goes on or
    /// `interrupted` says so. Returns whether a browser asked the run to stop.
    pub fn draw_between_steps(
        &self,
        mut moment: Moment,
        copies: &mut Copies,
        budget: &mut Budget,
        interrupted: &dyn Fn() -> bool,
    ) -> bool {
        loop {
            let (paused, stop) = {
                let state = self.lock();
                (state.paused, state.stop)
            };
            if stop {
                return true;
            }
            self.status.send_if_modified(|status| {
                let changed = status.paused != paused;
                status.paused = paused;
                changed
            });
            if interrupted() || !paused && !budget.allows() {
                return false;
            }
            let begun = Instant::now();
            let wait = if paused { PAUSE_POLL } else { Duration::ZERO };
            if let Some(work) = self.take(wait) {
                self.draw_moment(work, &mut moment, copies);
                budget.spend(begun.elapsed());
            }
            if !paused {
                return false;
            }
        }
    }

    fn draw_moment(&self, work: (u64, Work), moment: &mut Moment, copies: &mut Copies) {
        let (options, step) = (moment.options, moment.step);
        let Some(look) = work.1.look() else {
            return self.draw(work, moment.learner, options, step);
        };
        match copies.of(look, moment.learner, step) {
            Ok((renderer, step)) => self.draw(work, renderer, options, step),
            Err(error) => self.fail(work, &error),
        }
    }

    /// Whether [`Hub::draw_between_steps`] would do anything. Quick: asked after every step.
    pub fn wants_attention(&self, budget: &Budget) -> bool {
        self.waiting.load(Ordering::Relaxed) && budget.allows()
    }

    /// Tells all browsers where the run is.
    pub fn publish(&self, status: Status) {
        self.status.send_if_modified(|known| {
            // Whether the run is paused is known here alone.
            let paused = known.paused;
            let now = Status { paused, ..status };
            let changed = *known != now;
            *known = now;
            changed
        });
    }

    /// Tells all browsers what was changed of the scene.
    pub(crate) fn publish_edits(&self, edits: EditStatus) {
        self.edits.send_if_modified(|known| {
            let changed = *known != edits;
            *known = edits;
            changed
        });
    }

    /// Browsers that are connected.
    pub fn clients(&self) -> usize {
        self.lock().clients.len()
    }

    pub(crate) fn status(&self) -> watch::Receiver<Status> {
        self.status.subscribe()
    }

    pub(crate) fn edits(&self) -> watch::Receiver<EditStatus> {
        self.edits.subscribe()
    }

    /// A new browser; none if there are too many.
    pub(crate) fn join(&self, made: mpsc::Sender<Made>) -> Option<u64> {
        let mut state = self.lock();
        if state.clients.len() >= MAX_CLIENTS {
            return None;
        }
        state.joined += 1;
        let id = state.joined;
        let client = Client {
            view: None,
            tasks: VecDeque::new(),
            in_flight: false,
            turn: 0,
            made,
        };
        state.clients.insert(id, client);
        Some(id)
    }

    pub(crate) fn leave(&self, id: u64) {
        self.lock().clients.remove(&id);
    }

    /// Takes a request. Returns false if too many of the browser's wait.
    pub(crate) fn ask(&self, id: u64, work: Work) -> bool {
        let mut taken = true;
        self.change(id, |client| match work {
            Work::View(look) => client.view = Some(look),
            task if client.tasks.len() < MAX_TASKS => client.tasks.push_back(task),
            _ => taken = false,
        });
        taken
    }

    pub(crate) fn acknowledge(&self, id: u64) {
        self.change(id, |client| client.in_flight = false);
    }

    pub(crate) fn act(&self, action: Action) {
        let mut state = self.lock();
        match action {
            Action::Pause => state.paused = true,
            Action::Resume => state.paused = false,
            Action::Stop => state.stop = true,
        }
        self.waiting.store(true, Ordering::Relaxed);
        self.wake.notify_all();
    }

    fn change(&self, id: u64, change: impl FnOnce(&mut Client)) {
        let mut state = self.lock();
        if let Some(client) = state.clients.get_mut(&id) {
            change(client);
            if client.ready() {
                self.waiting.store(true, Ordering::Relaxed);
                self.wake.notify_all();
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics while it holds the lock.
        self.state
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use splatcore_core::Camera;

    fn look(seq: u32) -> Look {
        Look {
            seq,
            camera: Camera::look_at([0.0; 3], [0.0, 0.0, 1.0], [0.0, -1.0, 0.0], 1.0, 16, 16),
            channel: Default::default(),
            style: Default::default(),
            background: [0.0; 3],
            sh_degree: 3,
            scale: 1.0,
            still: false,
        }
    }

    #[test]
    fn the_newest_request_wins_and_one_frame_is_under_way() {
        let hub = Hub::default();
        let (sender, mut made) = mpsc::channel(2);
        let id = hub.join(sender).unwrap();
        assert_eq!(hub.take(Duration::ZERO), None);
        hub.ask(id, Work::View(look(1)));
        hub.ask(id, Work::View(look(2)));
        assert_eq!(hub.take(Duration::ZERO), Some((id, Work::View(look(2)))));
        hub.deliver(id, Made::Frame(vec![7]));
        hub.ask(id, Work::View(look(3)));
        assert_eq!(hub.take(Duration::ZERO), None);
        // A pick does not wait for the frame.
        hub.ask(id, Work::Pick(look(4), [1.0, 2.0], 0));
        assert!(matches!(
            hub.take(Duration::ZERO),
            Some((_, Work::Pick(..)))
        ));
        hub.acknowledge(id);
        assert_eq!(hub.take(Duration::ZERO), Some((id, Work::View(look(3)))));
        assert!(matches!(made.try_recv(), Ok(Made::Frame(_))));
        hub.leave(id);
        hub.deliver(id, Made::Picked(0, None));
        assert_eq!(hub.clients(), 0);
    }

    #[test]
    fn requests_keep_their_order_and_their_number_is_bounded() {
        let hub = Hub::default();
        let (sender, _made) = mpsc::channel(2);
        let id = hub.join(sender).unwrap();
        for tag in 0..MAX_TASKS as u32 {
            assert!(hub.ask(id, Work::Pick(look(1), [0.0; 2], tag)));
        }
        assert!(!hub.ask(id, Work::Edit(Edit::Undo)));
        assert!(hub.ask(id, Work::View(look(2))));
        for tag in 0..MAX_TASKS as u32 {
            let work = Work::Pick(look(1), [0.0; 2], tag);
            assert_eq!(hub.take(Duration::ZERO), Some((id, work)));
        }
        assert!(hub.ask(id, Work::Edit(Edit::Undo)));
    }

    #[test]
    fn browsers_take_turns_and_their_number_is_bounded() {
        let hub = Hub::default();
        let (sender, _made) = mpsc::channel(2);
        let ids: Vec<u64> = (0..MAX_CLIENTS)
            .map(|_| hub.join(sender.clone()).unwrap())
            .collect();
        assert_eq!(hub.join(sender), None);
        let mut drawn = Vec::new();
        for round in 0..3 {
            for &id in &ids[..3] {
                hub.ask(id, Work::View(look(round)));
                hub.acknowledge(id);
            }
            drawn.extend(hub.take(Duration::ZERO).map(|(id, _)| id));
        }
        assert_eq!(drawn, ids[..3]);
    }

    #[test]
    fn a_waiting_thread_wakes_up() {
        let hub = std::sync::Arc::new(Hub::default());
        let (sender, _made) = mpsc::channel(2);
        let id = hub.join(sender).unwrap();
        let other = std::sync::Arc::clone(&hub);
        let asked = std::thread::spawn(move || other.ask(id, Work::View(look(1))));
        assert!(hub.take(Duration::from_secs(20)).is_some());
        asked.join().unwrap();
    }
}
