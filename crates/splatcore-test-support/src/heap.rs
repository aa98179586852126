//! Counts the bytes of the heap, so that a leak of a few bytes a step shows long before the process
//! grows by it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

static IN_USE: AtomicUsize = AtomicUsize::new(0);

/// The system's allocator, counted: `#[global_allocator] static HEAP: Counted = Counted;`
pub struct Counted;

// SAFETY: everything is the system's; counting allocates nothing.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        IN_USE.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise, here and below.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, address: *mut u8, layout: Layout) {
        IN_USE.fetch_sub(layout.size(), Ordering::Relaxed);
        unsafe { System.dealloc(address, layout) }
    }
}

/// Bytes allocated now, by all threads.
pub fn in_use() -> usize {
    IN_USE.load(Ordering::Relaxed)
}

/// Bytes of memory that the process holds; `None` where the system does not say.
pub fn resident() -> Option<usize> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(1024 * line.split_whitespace().nth(1)?.parse::<usize>().ok()?)
}
