//! Host memory with guard zones, so that a kernel that writes beside its buffers is found.

use super::super::DeviceError;
use std::alloc::{Layout, alloc, dealloc};
use std::collections::{BTreeMap, VecDeque};

/// Bytes before and after each allocation, and the alignment of most.
const ZONE: usize = 256;
/// The alignment of the others, as that of large allocations on a card: a kernel must not tell by
/// an address where it runs.
const FAR_ALIGNED: usize = 2 << 20;
/// One in so many is aligned so.
const ONE_IN: u64 = 3;
/// What the zones hold.
const GUARD: u8 = 0xFD;
/// What fresh device memory holds, word by word: not a number, as an `f32` and as two halves, and
/// as a `u32` 4.3e9, so a use without a write shows.
const FRESH: [u8; 4] = 0xFFCD_FFCDu32.to_le_bytes();
/// What memory holds just before it is given back.
const GONE: u8 = 0xDD;

#[derive(Clone, Copy)]
struct Block {
    bytes: usize,
    /// Bytes from what the system gave to the address.
    before: usize,
    /// Host memory, which does not count as used.
    pinned: bool,
    /// Not allocated here, and without guard zones.
    is_foreign: bool,
}

/// Bytes that were given back and are not handed out again yet, if `is_kept`.
const KEPT: u64 = 256 << 20;

/// Memory that kernels may access, or that was given back; as in emulator/checks.hpp.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Range {
    start: u64,
    bytes: u64,
    is_gone: u64,
}

/// Allocations by address.
#[derive(Default)]
pub struct Memory {
    blocks: BTreeMap<u64, Block>,
    used: u64,
    /// What is given back stays where it is for a while, so that its use is found.
    is_kept: bool,
    gone: VecDeque<(u64, Block)>,
    gone_bytes: u64,
    /// Allocations of device memory so far.
    allocated: u64,
}

impl Memory {
    /// Nothing yet; what is given back stays known for a while if `is_kept`.
    pub fn new(is_kept: bool) -> Self {
        let mut memory = Self::default();
        memory.is_kept = is_kept;
        memory
    }

    /// What there is and what there was, by address.
    pub fn ranges(&self) -> Vec<Range> {
        let blocks = self
            .blocks
            .iter()
            .map(|(&start, block)| (start, block.bytes, 0));
        let gone = self
            .gone
            .iter()
            .map(|&(start, block)| (start, block.bytes, 1));
        let mut ranges: Vec<Range> = blocks
            .chain(gone)
            .map(|(start, bytes, is_gone)| Range {
                start,
                bytes: bytes as u64,
                is_gone,
            })
            .collect();
        ranges.sort_unstable_by_key(|range| range.start);
        ranges
    }

    /// Bytes of device memory handed out.
    pub fn used(&self) -> u64 {
        self.used
    }

    /// Memory aligned to 256 between two guard zones, poisoned, or zeroed if `pinned`; `None` if
    /// the system has no more.
    pub fn allocate(&mut self, bytes: usize, pinned: bool) -> Option<u64> {
        let before = match self.allocated % ONE_IN {
            0 if !pinned => FAR_ALIGNED,
            _ => ZONE,
        };
        self.allocated += u64::from(!pinned);
        let layout = layout(bytes, before)?;
        // SAFETY: the layout is not empty; both fills stay within it.
        let base = unsafe { alloc(layout) };
        if base.is_null() {
            return None;
        }
        unsafe {
            // What lies in front of the zone is never touched, so that it takes no memory.
            let zone = base.add(before - ZONE);
            zone.write_bytes(GUARD, layout.size() - before + ZONE);
            let data = std::slice::from_raw_parts_mut(base.add(before), bytes);
            let fresh = if pinned { [0; FRESH.len()] } else { FRESH };
            for word in data.chunks_mut(FRESH.len()) {
                word.copy_from_slice(&fresh[..word.len()]);
            }
        }
        let address = base as u64 + before as u64;
        let block = Block {
            bytes,
            before,
            pinned,
            is_foreign: false,
        };
        self.blocks.insert(address, block);
        if !pinned {
            self.used += bytes as u64;
        }
        Some(address)
    }

    /// Gives memory back.
    ///
    /// # Errors
    /// If `address` is none of ours, or its guard zones are damaged (it is given back all the
    /// same).
    pub fn release(&mut self, address: u64) -> Result<(), DeviceError> {
        let Some(block) = self.blocks.remove(&address) else {
            return Err(DeviceError::Failed(format!(
                "release of {address:#x}, which is no allocation"
            )));
        };
        let Block { bytes, pinned, .. } = block;
        let damage = damage(address, bytes);
        if !pinned {
            self.used -= bytes as u64;
        }
        // SAFETY: both zones are of the allocation, which left the map just now.
        unsafe { ((address as usize - ZONE) as *mut u8).write_bytes(GONE, bytes + 2 * ZONE) };
        self.gone.push_back((address, block));
        self.gone_bytes += bytes as u64;
        self.forget(if self.is_kept { KEPT } else { 0 });
        damage.map_or(Ok(()), |words| Err(DeviceError::Failed(words)))
    }

    /// Memory of somebody else's that kernels may access, or no longer.
    pub fn reach(&mut self, address: u64, bytes: usize, is_reached: bool) {
        let block = Block {
            bytes,
            before: 0,
            pinned: true,
            is_foreign: true,
        };
        match is_reached {
            true => self.blocks.insert(address, block),
            false => self.blocks.remove(&address),
        };
    }

    /// Gives the system what was given back first, until `kept` bytes are left.
    fn forget(&mut self, kept: u64) {
        while kept == 0 || self.gone_bytes > kept {
            let Some((address, Block { bytes, before, .. })) = self.gone.pop_front() else {
                return;
            };
            self.gone_bytes -= bytes as u64;
            if let Some(layout) = layout(bytes, before) {
                // SAFETY: `allocate` made it with the same layout, and nobody else knows it any
                // more.
                unsafe { dealloc((address as usize - before) as *mut u8, layout) };
            }
        }
    }

    /// Looks at all guard zones; damage is repaired, so that it is told once.
    ///
    /// # Errors
    /// The first allocation beside which something was written.
    pub fn check(&self) -> Result<(), DeviceError> {
        let mut first = None;
        let own = self.blocks.iter().filter(|(_, block)| !block.is_foreign);
        for (&address, block) in own {
            let damage = damage(address, block.bytes);
            first = first.or(damage);
        }
        first.map_or(Ok(()), |words| Err(DeviceError::Failed(words)))
    }

    /// Whether `bytes` bytes from `address` on lie in one allocation.
    ///
    /// # Errors
    /// With the allocation that comes nearest.
    pub fn check_range(&self, what: &str, address: u64, bytes: usize) -> Result<(), DeviceError> {
        if bytes == 0 {
            return Ok(());
        }
        let nearest = self.blocks.range(..=address).next_back();
        if let Some((&start, &Block { bytes: size, .. })) = nearest {
            let offset = address - start;
            if offset <= size as u64 && bytes as u64 <= size as u64 - offset {
                return Ok(());
            }
            return Err(DeviceError::Failed(format!(
                "{what} of {bytes} bytes at byte {offset} of the {size} bytes at {start:#x}"
            )));
        }
        Err(DeviceError::Failed(format!(
            "{what} of {bytes} bytes at {address:#x}, where no allocation is"
        )))
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.blocks.retain(|_, block| !block.is_foreign);
        for address in self.blocks.keys().copied().collect::<Vec<_>>() {
            // Nobody can hear of damage any more.
            let _ = self.release(address);
        }
        self.forget(0);
    }
}

/// Of so many bytes behind `before`, which is the alignment too, with a zone behind them.
fn layout(bytes: usize, before: usize) -> Option<Layout> {
    let size = bytes.checked_add(before + ZONE)?;
    Layout::from_size_align(size.checked_next_multiple_of(ZONE)?, before).ok()
}

/// What guard zones hold; that behind an allocation is shorter than two.
static INTACT: [u8; 2 * ZONE] = [GUARD; 2 * ZONE];

/// Says what was overwritten beside an allocation of ours, and repairs it.
fn damage(address: u64, bytes: usize) -> Option<String> {
    let size = layout(bytes, ZONE)?.size();
    let base = (address as usize - ZONE) as *mut u8;
    // SAFETY: the allocation is alive and has zones of these sizes on both sides; nobody else
    // refers to them.
    let (before, after) = unsafe {
        (
            std::slice::from_raw_parts_mut(base, ZONE),
            std::slice::from_raw_parts_mut(base.add(ZONE + bytes), size - ZONE - bytes),
        )
    };
    if *before == INTACT[..ZONE] && *after == INTACT[..after.len()] {
        return None;
    }
    let under = before.iter().rposition(|&byte| byte != GUARD);
    let over = after.iter().position(|&byte| byte != GUARD);
    before.fill(GUARD);
    after.fill(GUARD);
    match (under, over) {
        (_, Some(over)) => {
            let byte = bytes + over;
            Some(format!(
                "written past the end of the {bytes} bytes at {address:#x}, at byte {byte}"
            ))
        }
        (Some(under), None) => {
            let byte = ZONE - under;
            Some(format!(
                "written {byte} bytes before the start of the {bytes} bytes at {address:#x}"
            ))
        }
        (None, None) => None,
    }
}
