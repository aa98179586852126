//! A device whose memory shows mistakes: it stands before another, a card or the emulator. Every
//! allocation begins as [`Fresh`] says, lies at another address each time, and has zones on both
//! sides whose bytes are known. A kernel that reads what nobody wrote gives other results then, and
//! one that writes beside its buffers is found by [`Guarded::check`].

use super::forward::{forward, forward_host_memory};
use super::{Allocations, Device, DeviceError};
use std::collections::{BTreeMap, VecDeque};
use std::hash::{DefaultHasher, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What the zones hold.
const CANARY: u8 = 0xA5;
/// Bytes that are numbers: as an f32 0, 2.4e-38, 0.012, 0.75 and -1.5, as an index 0 or far
/// outside.
const NUMBERS: [u8; 5] = [0x00, 0x01, 0x3c, 0x3f, 0xbf];

/// What memory holds when it is allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fresh {
    /// 0xff bytes: not a number, as an f32, as a half and as an f64; as an index, far outside.
    NotANumber,
    /// One byte, again and again, which is drawn for each allocation: numbers that could be
    /// results. They pass comparisons that fail for all that is not a number.
    Numbers,
}
/// Bytes of the zone behind each allocation, and the least before it.
const ZONE: usize = 4096;
/// What addresses are aligned to.
const ALIGNMENT: usize = 256;
/// The zone before an allocation is longer by a random number of alignments, below this one.
const MAX_STEPS: u64 = 64;

/// Bytes of earlier allocations that are kept.
const MAX_LEFT: usize = 256 << 20;

struct Block {
    /// Bytes of the zone before it.
    before: usize,
    bytes: usize,
}

struct State {
    blocks: BTreeMap<u64, Block>,
    random: u64,
    /// What was given back, by size, the first first.
    left: BTreeMap<usize, VecDeque<Vec<u8>>>,
    left_bytes: usize,
    /// See [`Guarded::reuse`].
    is_reused: bool,
    /// What `release`, which returns nothing, found.
    failure: Option<DeviceError>,
}

/// See the module's documentation.
pub struct Guarded {
    device: Arc<dyn Device>,
    fresh: Fresh,
    state: Mutex<State>,
}

impl Guarded {
    /// Before this device; addresses, and numbers in fresh memory, follow from the seed, and from
    /// what the device gives.
    pub fn new(device: Arc<dyn Device>, fresh: Fresh, seed: u64) -> Self {
        Self {
            device,
            fresh,
            state: Mutex::new(State {
                blocks: BTreeMap::new(),
                random: seed,
                left: BTreeMap::new(),
                left_bytes: 0,
                is_reused: false,
                failure: None,
            }),
        }
    }

    /// Waits for the queue and looks at the zones of all allocations, and at what was found when
    /// others were given back. Damage is repaired, so that it is told once.
    ///
    /// # Errors
    /// The first allocation beside which something was written, with its size and on which side; or
    /// the device failed.
    pub fn check(&self) -> Result<(), DeviceError> {
        self.device.synchronize()?;
        let mut state = self.state();
        let mut first = state.failure.take();
        for (&address, block) in &state.blocks {
            if let Err(error) = self.check_block(address, block) {
                first.get_or_insert(error);
            }
        }
        first.map_or(Ok(()), Err)
    }

    /// From now on an allocation holds what an earlier one of its size held when it was given back,
    /// if there is one, as on a card: most plausible of all.
    pub fn reuse(&self) {
        self.state().is_reused = true;
    }

    /// A number that follows from all that the allocations hold, in the order of their sizes.
    ///
    /// # Errors
    /// If the device failed.
    pub fn digest(&self) -> Result<u64, DeviceError> {
        self.device.synchronize()?;
        let state = self.state();
        let mut each = Vec::new();
        for (&address, &Block { bytes, .. }) in &state.blocks {
            let mut held = vec![0; bytes];
            // SAFETY: the allocation has these bytes.
            unsafe { self.device.download(&mut held, address)? };
            let mut hasher = DefaultHasher::new();
            hasher.write(&held);
            each.push((bytes, hasher.finish()));
        }
        each.sort_unstable();
        let mut all = DefaultHasher::new();
        each.iter().for_each(|(bytes, digest)| {
            all.write_usize(*bytes);
            all.write_u64(*digest);
        });
        Ok(all.finish())
    }

    /// Keeps what an allocation holds for the next one of its size.
    fn keep(&self, state: &mut State, address: u64, bytes: usize) {
        if !state.is_reused || state.left_bytes.saturating_add(bytes) > MAX_LEFT {
            return;
        }
        let mut held = vec![0; bytes];
        // SAFETY: the allocation has these bytes, and is not given back yet.
        match unsafe { self.device.download(&mut held, address) } {
            Ok(()) => {
                state.left_bytes += bytes;
                state.left.entry(bytes).or_default().push_back(held);
            }
            Err(error) => drop(state.failure.get_or_insert(error)),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_block(&self, address: u64, block: &Block) -> Result<(), DeviceError> {
        let &Block { before, bytes } = block;
        let (start, end) = (address - before as u64, address + bytes as u64);
        let mut zones = [vec![0; before], vec![0; ZONE]];
        let [under, over] = &mut zones;
        // SAFETY: both zones belong to the allocation.
        unsafe {
            self.device.download(under, start)?;
            self.device.download(over, end)?;
        }
        let is_damaged = |&byte: &u8| byte != CANARY;
        let (under, over) = (
            under.iter().rposition(is_damaged),
            over.iter().position(is_damaged),
        );
        if (under, over) == (None, None) {
            return Ok(());
        }
        // SAFETY: as above.
        unsafe {
            self.device.fill(start, CANARY, before)?;
            self.device.fill(end, CANARY, ZONE)?;
        }
        Err(DeviceError::Failed(match (under, over) {
            (_, Some(over)) => {
                let byte = bytes + over;
                format!("written past the end of an allocation of {bytes} bytes, at byte {byte}")
            }
            (under, None) => {
                let byte = before - under.unwrap_or(0);
                format!("written {byte} bytes before the start of an allocation of {bytes} bytes")
            }
        }))
    }
}

/// A step of SplitMix64 (Steele et al. 2014).
fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut word = *state;
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

impl Allocations for Guarded {
    fn allocate(&self, bytes: usize) -> Result<u64, DeviceError> {
        let mut state = self.state();
        let steps = next(&mut state.random) % MAX_STEPS;
        let before = ZONE + ALIGNMENT * steps as usize;
        let byte = match self.fresh {
            Fresh::NotANumber => 0xff,
            Fresh::Numbers => NUMBERS[(next(&mut state.random) % NUMBERS.len() as u64) as usize],
        };
        let left = state.left.get_mut(&bytes).and_then(VecDeque::pop_front);
        state.left_bytes -= left.as_ref().map_or(0, Vec::len);
        let start = self
            .device
            .allocate(before.saturating_add(bytes).saturating_add(ZONE))?;
        let address = start + before as u64;
        // SAFETY: the allocation has these bytes.
        let filled = unsafe {
            let zones = self.device.fill(start, CANARY, before);
            let fresh = zones.and_then(|()| match &left {
                Some(left) => self.device.upload(address, left),
                None => self.device.fill(address, byte, bytes),
            });
            fresh.and_then(|()| self.device.fill(address + bytes as u64, CANARY, ZONE))
        };
        if let Err(error) = filled {
            // SAFETY: nobody else knows the address.
            unsafe { self.device.release(start) };
            return Err(error);
        }
        state.blocks.insert(address, Block { before, bytes });
        Ok(address)
    }

    unsafe fn release(&self, address: u64) {
        let mut state = self.state();
        let Some(block) = state.blocks.remove(&address) else {
            let words = format!("release of {address:#x}, which is no allocation");
            state.failure.get_or_insert(DeviceError::Failed(words));
            return;
        };
        self.keep(&mut state, address, block.bytes);
        if let Err(error) = self.check_block(address, &block) {
            state.failure.get_or_insert(error);
        }
        // SAFETY: the caller's promise; the address is that of the whole allocation.
        unsafe { self.device.release(address - block.before as u64) };
    }

    fn memory(&self) -> (u64, u64) {
        self.device.memory()
    }
}

forward!(Guarded, ", memory guarded");
forward_host_memory!(Guarded);
