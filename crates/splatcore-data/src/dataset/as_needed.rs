//! Photos that are decoded when they are needed, with their depths or without: a few of them ahead,
//! on threads of their own.

use super::Entry;
use crate::DataError;
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use splatcore_core::depth::{DepthMap, Known};
use splatcore_core::image::PhotoSource;
use splatcore_core::{Photo, View};
use std::collections::HashMap;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

/// The pixels of an entry's views, with what is known of depths if that was asked for.
type Decoded = Result<Vec<Part>, String>;
type Part = (Arc<Photo>, Option<Arc<DepthMap>>);

/// Decodes the photo of an entry, with its depths or without: its views.
pub(super) type Decode = Box<dyn Fn(&Entry, bool) -> Result<Vec<View>, DataError> + Send + Sync>;

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
    /// Of each entry, once it is known: what must be the same when it is decoded again.
    known: Vec<OnceLock<Before>>,
    /// Most bytes that are decoded ahead.
    room: usize,
    slots: Mutex<HashMap<usize, Slot>>,
    /// An entry is decoded.
    done: Condvar,
}

/// An entry as it was decoded first.
struct Before {
    /// Bytes of its views.
    bytes: usize,
    /// Of each view the hash of its pixels, and of its depths (0: nothing is known of them).
    hashes: Vec<[u64; 2]>,
}

/// An entry that is decoded ahead.
struct Slot {
    /// With its depths.
    depths: bool,
    /// `None` until it is there.
    decoded: Option<Decoded>,
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

    /// The views of an entry without their pixels and depths, which must be the same when they are
    /// decoded again.
    fn release(self: &Arc<Self>, entry: usize, views: Vec<View>) -> Vec<View> {
        let release = |(part, view): (usize, View)| View {
            photo: view.photo.released(self.clone(), MAX_PARTS * entry + part),
            ..view
        };
        let views: Vec<View> = views.into_iter().enumerate().map(release).collect();
        let bytes = views
            .iter()
            .map(|view| view.photo.bytes_with_depths())
            .sum();
        let hashes = views.iter().map(|view| hashes(&view.photo)).collect();
        let _ = self.inner.known[entry].set(Before { bytes, hashes });
        views
    }

    /// A view of an entry, with its depths if that is asked for.
    fn part(&self, index: usize, depths: bool) -> Result<Part, String> {
        let (entry, part) = (index / MAX_PARTS, index % MAX_PARTS);
        let mut slots = self.inner.slots();
        let decoded = loop {
            match slots.get(&entry).filter(|slot| slot.depths || !depths) {
                Some(Slot {
                    decoded: Some(decoded),
                    ..
                }) => break decoded.clone(),
                Some(_) => {
                    let waited = self.inner.done.wait(slots);
                    slots = waited.unwrap_or_else(PoisonError::into_inner);
                }
                None => {
                    drop(slots);
                    break self.inner.decode(entry, depths);
                }
            }
        };
        let found = decoded?.get(part).cloned();
        found.ok_or_else(|| format!("there is no photo {index}"))
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

/// Bytes of the pixels and depths of views, held or not.
fn bytes(views: &[View]) -> u64 {
    views
        .iter()
        .map(|view| view.photo.bytes_with_depths() as u64)
        .sum()
}

/// See [`Before`].
fn hashes(photo: &Photo) -> [u64; 2] {
    let depths = photo.known_depths().map_or(0, Known::fingerprint);
    [photo.fingerprint(), depths]
}

impl PhotoSource for Photos {
    fn pixels(&self, index: usize) -> Result<Arc<Photo>, String> {
        Ok(self.part(index, false)?.0)
    }

    fn depths(&self, index: usize) -> Result<Arc<DepthMap>, String> {
        let depths = self.part(index, true)?.1;
        depths.ok_or_else(|| format!("nothing is known of the depths of photo {index}"))
    }

    fn expect(&self, now: &[usize], next: &[usize], depths: bool) {
        let Some(pool) = self.pool() else {
            return;
        };
        let mut slots = self.inner.slots();
        let wanted = self.inner.fitting(now, next);
        slots.retain(|entry, _| wanted.contains(entry));
        for entry in wanted {
            if slots.get(&entry).is_some_and(|slot| slot.depths || !depths) {
                continue;
            }
            let decoded = None;
            slots.insert(entry, Slot { depths, decoded });
            let inner = Arc::clone(&self.inner);
            pool.spawn_fifo(move || {
                // One that is no longer wanted, or with its depths now.
                let is_wanted = |slot: &Slot| slot.depths == depths;
                if !inner.slots().get(&entry).is_some_and(is_wanted) {
                    return;
                }
                let decoded = inner.decode(entry, depths);
                if let Some(slot) = inner.slots().get_mut(&entry).filter(|slot| is_wanted(slot)) {
                    slot.decoded = Some(decoded);
                }
                inner.done.notify_all();
            });
        }
    }
}

impl Inner {
    fn slots(&self) -> MutexGuard<'_, HashMap<usize, Slot>> {
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
            bytes += self.known[entry].get().map_or(0, |before| before.bytes);
            if place > now.len() && bytes > self.room {
                break;
            }
            wanted.push(entry);
        }
        wanted
    }

    /// Decodes the photos of an entry, and refuses those that are others than before.
    fn decode(&self, entry: usize, depths: bool) -> Decoded {
        let Entry { name, image, .. } = &self.entries[entry];
        let read = || (self.decode)(&self.entries[entry], depths);
        let views = catch_unwind(AssertUnwindSafe(read))
            .map_err(|_| format!("photo '{name}': cannot be decoded"))?
            .map_err(|error| format!("photo '{name}' can no longer be read: {error}"))?;
        let now: Vec<[u64; 2]> = views.iter().map(|view| hashes(&view.photo)).collect();
        if let Some(before) = self.known[entry].get() {
            let same = |k: usize| {
                before
                    .hashes
                    .iter()
                    .map(|h| h[k])
                    .eq(now.iter().map(|h| h[k]))
            };
            let what = match (same(0), same(1) || !depths) {
                (false, _) => Some(""),
                (true, false) => Some("the depths of "),
                (true, true) => None,
            };
            if let Some(what) = what {
                return Err(format!(
                    "{}: {what}photo '{name}' changed since the run began; put all files back as \
                     they were",
                    image.display()
                ));
            }
        }
        let part = |mut view: View| {
            let depths = view.photo.depth.take();
            (Arc::new(view.photo), depths)
        };
        Ok(views.into_iter().map(part).collect())
    }
}
