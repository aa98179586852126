//! Ranks that are threads of one process: data goes through the host's memory. For tests, and
//! wherever there is no NCCL; slow.

use super::{Begun, Peers, Piece};
use crate::device::{Device, DeviceError};
use splatcore_core::backend::Ranks;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

#[derive(Default)]
struct Mail {
    /// What is under way from a rank to another, in order.
    under_way: HashMap<(usize, usize), VecDeque<Vec<u8>>>,
    /// Ranks that have ended.
    gone: HashSet<usize>,
}

#[derive(Default)]
struct Office {
    mail: Mutex<Mail>,
    changed: Condvar,
}

impl Office {
    fn mail(&self) -> MutexGuard<'_, Mail> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One of the threads. An exchange is made when it begins, or where [`Loopback::late`] says so when
/// it ends: each shows other mistakes of who does not wait for it. As between cards, it is over
/// when the others have taken what is theirs. A rank that ends is missed at once.
pub struct Loopback {
    ranks: Ranks,
    office: Arc<Office>,
    deadline: Duration,
    late: bool,
    /// What was begun and is to be made, from this number on.
    begun: Mutex<(usize, VecDeque<[Vec<Piece>; 2]>)>,
}

impl Loopback {
    /// So many ranks, which wait at most so long for each other.
    pub fn new(count: usize, deadline: Duration) -> Vec<Self> {
        let office = Arc::new(Office::default());
        let of = |rank| Self {
            ranks: Ranks::of(rank, count),
            office: Arc::clone(&office),
            deadline,
            late: false,
            begun: Mutex::default(),
        };
        (0..count).map(of).collect()
    }

    /// Renders frames together with others.
    pub fn with_strips(mut self) -> Self {
        self.ranks.strips = true;
        self
    }

    /// Makes exchanges as late as they may be.
    pub fn late(mut self) -> Self {
        self.late = true;
        self
    }

    /// Waits until there is mail from a rank to another, one of which is this one, or none is left.
    fn wait(
        &self,
        (from, to): (usize, usize),
        is_wanted: bool,
    ) -> Result<MutexGuard<'_, Mail>, DeviceError> {
        let other = if from == self.ranks.rank { to } else { from };
        let is_done = |mail: &Mail| {
            let is_empty = mail
                .under_way
                .get(&(from, to))
                .is_none_or(VecDeque::is_empty);
            is_empty != is_wanted
        };
        let waits = |mail: &mut Mail| !is_done(mail) && !mail.gone.contains(&other);
        let office = &self.office;
        let waited = office
            .changed
            .wait_timeout_while(office.mail(), self.deadline, waits);
        let (mail, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let seconds = self.deadline.as_secs_f64();
        match (is_done(&mail), mail.gone.contains(&other), is_wanted) {
            (true, ..) => Ok(mail),
            (_, true, _) => Err(DeviceError::Failed(format!("rank {other} ended"))),
            (.., true) => Err(DeviceError::Failed(format!(
                "rank {other} gave nothing within {seconds} s"
            ))),
            (.., false) => Err(DeviceError::Failed(format!(
                "rank {other} took nothing within {seconds} s"
            ))),
        }
    }

    fn take(&self, piece: &Piece) -> Result<Vec<u8>, DeviceError> {
        let way = (piece.rank, self.ranks.rank);
        let mut mail = self.wait(way, true)?;
        let arrived = mail.under_way.get_mut(&way).and_then(VecDeque::pop_front);
        let bytes = arrived.unwrap_or_default();
        self.office.changed.notify_all();
        match bytes.len() == piece.bytes {
            true => Ok(bytes),
            false => Err(DeviceError::Failed(format!(
                "rank {} gave {} bytes where {} were wanted",
                piece.rank,
                bytes.len(),
                piece.bytes
            ))),
        }
    }

    fn make(&self, device: &dyn Device, [give, take]: [Vec<Piece>; 2]) -> Result<(), DeviceError> {
        for piece in &give {
            let mut bytes = vec![0; piece.bytes];
            // SAFETY: the promise of who began the exchange, here and below.
            unsafe { device.download(&mut bytes, piece.address)? };
            let way = (self.ranks.rank, piece.rank);
            let mut mail = self.office.mail();
            mail.under_way.entry(way).or_default().push_back(bytes);
            self.office.changed.notify_all();
        }
        for piece in take {
            let bytes = self.take(&piece)?;
            unsafe { device.upload(piece.address, &bytes)? };
        }
        for piece in give {
            self.wait((self.ranks.rank, piece.rank), false).map(drop)?;
        }
        Ok(())
    }
}

impl Drop for Loopback {
    fn drop(&mut self) {
        self.office.mail().gone.insert(self.ranks.rank);
        self.office.changed.notify_all();
    }
}

impl Peers for Loopback {
    fn ranks(&self) -> Ranks {
        self.ranks
    }

    unsafe fn begin(
        &self,
        device: &dyn Device,
        give: Vec<Piece>,
        take: Vec<Piece>,
    ) -> Result<Begun, DeviceError> {
        if !self.late {
            self.make(device, [give, take])?;
            return Ok(Begun(0));
        }
        let begun = self.begun.lock();
        let mut begun = begun.unwrap_or_else(PoisonError::into_inner);
        let (first, waiting) = &mut *begun;
        waiting.push_back([give, take]);
        Ok(Begun(*first + waiting.len()))
    }

    fn end(&self, device: &dyn Device, Begun(number): Begun) -> Result<(), DeviceError> {
        // Those before it were begun before it.
        loop {
            let begun = self.begun.lock();
            let mut begun = begun.unwrap_or_else(PoisonError::into_inner);
            if begun.0 >= number {
                return Ok(());
            }
            let Some(pieces) = begun.1.pop_front() else {
                return Ok(());
            };
            begun.0 += 1;
            drop(begun);
            self.make(device, pieces)?;
        }
    }
}
