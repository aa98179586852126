//! Ranks that are threads of one process: data goes through the host's memory. For tests, and
//! wherever there is no NCCL; slow.

use super::{Begun, Peers, Piece};
use crate::device::{Device, DeviceError};
use splatcore_core::backend::Ranks;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// What is under way from a rank to another, in order.
type Mail = HashMap<(usize, usize), VecDeque<Vec<u8>>>;

#[derive(Default)]
struct Office {
    mail: Mutex<Mail>,
    arrived: Condvar,
}

/// One of the threads. An exchange is made when it begins, or where [`Loopback::late`] says so when
/// it ends: each shows other mistakes of who does not wait for it.
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

    fn take(&self, piece: &Piece) -> Result<Vec<u8>, DeviceError> {
        let key = (piece.rank, self.ranks.rank);
        let mail = self.office.mail.lock();
        let mail = mail.unwrap_or_else(PoisonError::into_inner);
        let empty = |mail: &mut Mail| mail.get(&key).is_none_or(VecDeque::is_empty);
        let waited = self
            .office
            .arrived
            .wait_timeout_while(mail, self.deadline, empty);
        let (mut mail, _) = waited.unwrap_or_else(PoisonError::into_inner);
        let arrived = mail.get_mut(&key).and_then(VecDeque::pop_front);
        let silent = || {
            DeviceError::Failed(format!(
                "rank {} gave nothing within {} s",
                piece.rank,
                self.deadline.as_secs_f64()
            ))
        };
        let bytes = arrived.ok_or_else(silent)?;
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
        for piece in give {
            let mut bytes = vec![0; piece.bytes];
            // SAFETY: the promise of who began the exchange, here and below.
            unsafe { device.download(&mut bytes, piece.address)? };
            let mail = self.office.mail.lock();
            let mut mail = mail.unwrap_or_else(PoisonError::into_inner);
            let key = (self.ranks.rank, piece.rank);
            mail.entry(key).or_default().push_back(bytes);
            self.office.arrived.notify_all();
        }
        for piece in take {
            let bytes = self.take(&piece)?;
            unsafe { device.upload(piece.address, &bytes)? };
        }
        Ok(())
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
