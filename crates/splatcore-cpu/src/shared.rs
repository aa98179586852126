//! Letting several threads write different parts of one buffer.

use std::marker::PhantomData;

/// A slice that threads share on the promise that no two of them touch the same element.
pub struct Disjoint<'a, T> {
    start: *mut T,
    len: usize,
    life: PhantomData<&'a mut [T]>,
}

// SAFETY: access goes through `get`, whose caller promises that the ranges do not overlap.
unsafe impl<T: Send> Sync for Disjoint<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Send for Disjoint<'_, T> {}

impl<'a, T> Disjoint<'a, T> {
    /// Shares a slice.
    pub fn new(slice: &'a mut [T]) -> Self {
        Self {
            start: slice.as_mut_ptr(),
            len: slice.len(),
            life: PhantomData,
        }
    }

    /// `len` elements from `from`. Panics when they are not inside the slice.
    ///
    /// # Safety
    /// No two live results may overlap.
    #[allow(clippy::mut_from_ref)]
    #[inline(always)]
    pub unsafe fn get(&self, from: usize, len: usize) -> &mut [T] {
        assert!(from <= self.len && len <= self.len - from);
        // SAFETY: inside the slice (asserted); not aliased (the caller's promise).
        unsafe { std::slice::from_raw_parts_mut(self.start.add(from), len) }
    }
}
