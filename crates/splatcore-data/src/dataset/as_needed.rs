//! Photos that are decoded when they are needed: a few of them ahead, on threads of their own.

use super::Entry;
use crate::DataError;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use splatcore_core::image::PhotoSource;
use splatcore_core::{Photo, View};
use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

/// The pixels of an entry's views.
type Decoded = Result<Vec<Arc<Photo>>, String>;

/// Decodes the photo of an entry: its views.
pub(super) type Decode = Box<dyn Fn(&Entry) -> Result<Vec<View>, DataError> + Send + Sync>;

/// The photos of some entries of a dataset. A view's number is its entry's place times
/// [`MAX_PARTS`], plus its place among the entry's views.
struct Photos {
    inner: Arc<Inner>,
    /// Made when first needed; `None` where no threads can be had: then whoever asks decodes.
    pool: OnceLock<Option<ThreadPool>>,
}

/// Of the limit, the share that is kept for photos that are decoded ahead is one of so many.
const AHEAD: u64 = 4;

/// More than the views of any panorama.
const MAX_PARTS: usize = 16;

struct Inner {
    entries: Vec<Entry>,
    decode: Decode,
    /// Of each entry, once it is known: the bytes and the hashes of its views.
    known: Vec<OnceLock<(usize, Vec<u64>)>>,
    /// Most bytes that are decoded ahead.
    room: usize,
    slots: Mutex<HashMap<usize, Option<Decoded>>>,
    /// An entry is decoded.
    done: Condvar,
}

impl fmt::Debug for Photos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = &self.inner.entries;
        f.debug_struct("Photos")
            .field("entries", &entries.len())
            .finish()
    }
}

impl Photos {
    /// Of these entries, of which at most `room` bytes are decoded ahead.
    fn new(entries: Vec<Entry>, decode: Decode, room: usize) -> Self {
        Self {
            inner: Arc::new(Inner {
                known: entries.iter().map(|_| OnceLock::new()).collect(),
                entries,
                decode,
                room,
                slots: Mutex::default(),
                done: Condvar::new(),
            }),
            pool: OnceLock::new(),
        }
    }

    /// The views of an entry without their pixels, which must be the same when they are decoded
    /// again.
    fn release(self: &Arc<Self>, entry: usize, views: Vec<View>) -> Vec<View> {
        let release = |(part, view): (usize, View)| View {
            photo: view.photo.released(self.clone(), MAX_PARTS * entry + part),
            ..view
        };
        let views: Vec<View> = views.into_iter().enumerate().map(release).collect();
        let bytes = views.iter().map(|view| view.photo.bytes()).sum();
        let hashes = views.iter().map(|view| view.photo.fingerprint()).collect();
        let _ = self.inner.known[entry].set((bytes, hashes));
        views
    }

    fn pool(&self) -> Option<&ThreadPool> {
        let made = self.pool.get_or_init(|| {
            let pool = ThreadPoolBuilder::new().num_threads(rayon::current_num_threads());
            pool.thread_name(|i| format!("photos {i}")).build().ok()
        });
        made.as_ref()
    }
}

/// Which of the photos that are loaded are held.
pub(super) struct Holding {
    /// Most bytes.
    limit: u64,
    source: Arc<Photos>,
    /// Bytes that are held.
    held: AtomicU64,
}

impl Holding {
    /// Of these entries at most so many bytes.
    pub fn new(entries: Vec<Entry>, decode: Decode, limit: u64) -> Self {
        let room = usize::try_from(limit / AHEAD).unwrap_or(usize::MAX);
        Self {
            limit,
            source: Arc::new(Photos::new(entries, decode, room)),
            held: AtomicU64::new(0),
        }
    }

    /// The views of the entry at a place, without their pixels if the limit is reached.
    pub fn keep(&self, place: usize, views: Vec<View>) -> Vec<View> {
        let bytes = bytes(&views);
        let before = self.held.fetch_add(bytes, Ordering::Relaxed);
        match before.saturating_add(bytes) <= self.limit {
            true => views,
            false => self.source.release(place, views),
        }
    }

    /// The views of all entries; if some are not held, the others leave room for those that are
    /// decoded ahead.
    pub fn settle(&self, loaded: Vec<Vec<View>>) -> Vec<View> {
        let held = self.held.load(Ordering::Relaxed);
        if held <= self.limit {
            return loaded.into_iter().flatten().collect();
        }
        let mut left = self.limit - self.limit / AHEAD;
        let place = |(place, views): (usize, Vec<View>)| {
            let known = views.iter().all(|view| view.photo.elsewhere.is_none());
            let bytes = bytes(&views);
            let keep = known && bytes <= left;
            left -= if keep { bytes } else { 0 };
            (place, views, keep || !known)
        };
        let placed: Vec<_> = loaded.into_iter().enumerate().map(place).collect();
        let settled = placed
            .into_par_iter()
            .map(|(place, views, done)| match done {
                true => views,
                false => self.source.release(place, views),
            });
        settled.collect::<Vec<_>>().into_iter().flatten().collect()
    }
}

/// Bytes of the pixels of views, held or not.
fn bytes(views: &[View]) -> u64 {
    views.iter().map(|view| view.photo.bytes() as u64).sum()
}

impl PhotoSource for Photos {
    fn pixels(&self, index: usize) -> Result<Arc<Photo>, String> {
        let (entry, part) = (index / MAX_PARTS, index % MAX_PARTS);
        let mut slots = self.inner.slots();
        let decoded = loop {
            match slots.get(&entry) {
                Some(Some(decoded)) => break decoded.clone(),
                Some(None) => {
                    let waited = self.inner.done.wait(slots);
                    slots = waited.unwrap_or_else(PoisonError::into_inner);
                }
                None => {
                    drop(slots);
                    break self.inner.decode(entry);
                }
            }
        };
        let photo = decoded?.get(part).cloned();
        photo.ok_or_else(|| format!("there is no photo {index}"))
    }

    fn expect(&self, now: &[usize], next: &[usize]) {
        let Some(pool) = self.pool() else {
            return;
        };
        let mut slots = self.inner.slots();
        let wanted = self.inner.fitting(now, next);
        slots.retain(|entry, _| wanted.contains(entry));
        for entry in wanted {
            if slots.contains_key(&entry) {
                continue;
            }
            slots.insert(entry, None);
            let inner = Arc::clone(&self.inner);
            pool.spawn_fifo(move || {
                // One that is no longer wanted.
                if !inner.slots().contains_key(&entry) {
                    return;
                }
                let decoded = inner.decode(entry);
                if let Some(slot) = inner.slots().get_mut(&entry) {
                    *slot = Some(decoded);
                }
                inner.done.notify_all();
            });
        }
    }
}

impl Inner {
    fn slots(&self) -> MutexGuard<'_, HashMap<usize, Option<Decoded>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The entries of photos, each once, in their order: all of `now`, and of `next` those for
    /// which there is room, at least one.
    fn fitting(&self, now: &[usize], next: &[usize]) -> Vec<usize> {
        let (mut wanted, mut bytes) = (Vec::new(), 0);
        for (place, &index) in now.iter().chain(next).enumerate() {
            let entry = index / MAX_PARTS;
            if wanted.contains(&entry) {
                continue;
            }
            bytes += self.known[entry].get().map_or(0, |(bytes, _)| *bytes);
            if place > now.len() && bytes > self.room {
                break;
            }
            wanted.push(entry);
        }
        wanted
    }

    /// Decodes the photos of an entry, and refuses those that are others than before.
    fn decode(&self, entry: usize) -> Decoded {
        let Entry { name, image, .. } = &self.entries[entry];
        let read = || (self.decode)(&self.entries[entry]);
        let views = catch_unwind(AssertUnwindSafe(read))
            .map_err(|_| format!("photo '{name}': cannot be decoded"))?
            .map_err(|error| format!("photo '{name}' can no longer be read: {error}"))?;
        let hashes: Vec<u64> = views.iter().map(|view| view.photo.fingerprint()).collect();
        let known = self.known[entry].get();
        if known.is_some_and(|(_, known)| *known != hashes) {
            return Err(format!(
                "{}: photo '{name}' has changed since the run began; put it back as it was",
                image.display()
            ));
        }
        Ok(views.into_iter().map(|view| Arc::new(view.photo)).collect())
    }
}
