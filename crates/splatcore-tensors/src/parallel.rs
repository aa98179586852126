//! Work in pieces of a size that does not depend on the number of threads.

use rayon::iter::plumbing::{Producer, ProducerCallback};
use rayon::prelude::*;
use std::cell::Cell;

/// Rows that one task works on.
pub(crate) const ROWS: usize = 1024;

thread_local! {
    static ALONE: Cell<bool> = const { Cell::new(false) };
}

/// Computes what `work` calls of this crate on the calling thread alone, with the same results: for
/// inputs so small that waking a pool takes longer. No pool is started.
pub fn on_this_thread<T>(work: impl FnOnce() -> T) -> T {
    struct Before(bool);
    impl Drop for Before {
        fn drop(&mut self) {
            ALONE.set(self.0);
        }
    }
    let _before = Before(ALONE.replace(true));
    work()
}

/// Whether to compute on this thread alone.
pub(crate) fn alone() -> bool {
    ALONE.get()
}

/// Parallel iterators that [`on_this_thread`] turns into plain ones.
pub(crate) trait Work: IndexedParallelIterator {
    /// Calls `work` with each item.
    fn each(self, work: impl Fn(Self::Item) + Send + Sync) {
        match alone() {
            true => one_by_one(self, work),
            false => self.for_each(work),
        }
    }

    /// As [`Work::each`], with something that items of one thread share.
    fn each_with<T>(
        self,
        shared: impl Fn() -> T + Send + Sync,
        work: impl Fn(&mut T, Self::Item) + Send + Sync,
    ) {
        match alone() {
            true => {
                let mut shared = shared();
                one_by_one(self, |item| work(&mut shared, item));
            }
            false => self.for_each_init(shared, work),
        }
    }

    /// What `work` makes of each item.
    fn made<T: Send>(self, work: impl Fn(Self::Item) -> T + Send + Sync) -> Vec<T> {
        match alone() {
            true => {
                let mut out = Vec::with_capacity(self.len());
                one_by_one(self, |item| out.push(work(item)));
                out
            }
            false => self.map(work).collect(),
        }
    }
}

impl<I: IndexedParallelIterator> Work for I {}

fn one_by_one<I: IndexedParallelIterator>(items: I, work: impl FnMut(I::Item)) {
    struct Callback<W>(W);
    impl<T, W: FnMut(T)> ProducerCallback<T> for Callback<W> {
        type Output = ();
        fn callback<P: Producer<Item = T>>(self, producer: P) {
            producer.into_iter().for_each(self.0);
        }
    }
    items.with_producer(Callback(work));
}

/// The first error of all.
pub(crate) fn first_error<E>(results: Vec<Result<(), E>>) -> Result<(), E> {
    results.into_iter().collect()
}

/// The first place of an item for which `test` is true.
pub(crate) fn position<T: Sync>(
    items: &[T],
    test: impl Fn(&T) -> bool + Sync + Send,
) -> Option<usize> {
    match alone() {
        true => items.iter().position(test),
        false => items.par_iter().position_first(test),
    }
}

/// An output that may be missing, cut into pieces of `rows` rows of `width` values: one piece for
/// each of `pieces`, `None` if the output is missing.
pub(crate) fn pieces<T>(
    out: Option<&mut [T]>,
    width: usize,
    rows: usize,
    pieces: usize,
) -> Vec<Option<&mut [T]>> {
    match out {
        Some(out) if width > 0 => out.chunks_mut(width * rows).map(Some).collect(),
        Some(_) => (0..pieces).map(|_| Some(&mut [][..])).collect(),
        None => (0..pieces).map(|_| None).collect(),
    }
}

/// The row of an output that may be missing.
pub(crate) fn row_of<'a, T>(
    out: &'a mut Option<&mut [T]>,
    row: usize,
    width: usize,
) -> Option<&'a mut [T]> {
    out.as_deref_mut()
        .map(|out| &mut out[row * width..][..width])
}
