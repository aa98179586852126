//! Work that several workers share, and whose results are taken in order.

use std::sync::mpsc::sync_channel;
use std::thread;

/// Does `work` for each item, on all workers at once: of N workers, number n does the items n,
/// n + N, n + 2 N, ... The results are taken one by one on this thread, in the items' order, while
/// the workers go on: each is at most two results ahead. Without workers nothing is done.
///
/// # Errors
/// The first error in the items' order, of `work` or of `take`. No item is begun after it; those
/// that workers are at are finished.
pub fn in_order<W: Send, I: Sync, T: Send, E: Send>(
    workers: &mut [W],
    items: &[I],
    work: impl Fn(&mut W, &I) -> Result<T, E> + Sync,
    mut take: impl FnMut(&I, T) -> Result<(), E>,
) -> Result<(), E> {
    let count = workers.len();
    thread::scope(|scope| {
        let mut results = Vec::with_capacity(count);
        for (first, worker) in workers.iter_mut().enumerate() {
            let (give, given) = sync_channel(1);
            results.push(given);
            let work = &work;
            scope.spawn(move || {
                for item in items.iter().skip(first).step_by(count) {
                    let result = work(worker, item);
                    let failed = result.is_err();
                    // Nobody takes anything after an error.
                    if give.send(result).is_err() || failed {
                        break;
                    }
                }
            });
        }
        for (item, given) in items.iter().zip(results.iter().cycle()) {
            // A worker that gives nothing has panicked, and the scope panics with it.
            let Ok(result) = given.recv() else { break };
            take(item, result?)?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    /// The first worker is the slowest.
    fn slowly(worker: &mut usize, item: &usize) -> Result<[usize; 2], String> {
        thread::sleep(Duration::from_millis(if *worker == 0 { 5 } else { 0 }));
        Ok([*worker, *item])
    }

    #[test]
    fn results_come_in_the_items_order_whatever_the_number_of_workers() {
        let items: Vec<usize> = (0..17).collect();
        for count in [1, 2, 3, 17, 20] {
            let mut workers: Vec<usize> = (0..count).collect();
            let mut taken = Vec::new();
            in_order(&mut workers, &items, slowly, |&item, [worker, done]| {
                assert_eq!((worker, done), (item % count, item));
                taken.push(done);
                Ok(())
            })
            .unwrap();
            assert_eq!(taken, items, "{count} workers");
        }
    }

    #[test]
    fn nothing_is_done_without_items_or_workers() {
        let never = |_: &usize, _| Err("taken".to_owned());
        assert_eq!(in_order(&mut [0, 1], &[], slowly, never), Ok(()));
        assert_eq!(in_order(&mut [], &[1, 2], slowly, never), Ok(()));
    }

    #[test]
    fn the_first_error_in_order_ends_the_work() {
        let items: Vec<usize> = (0..1000).collect();
        let begun = AtomicUsize::new(0);
        // Item 5 fails long after item 6 has.
        let work = |_: &mut usize, &item: &usize| {
            begun.fetch_add(1, Ordering::Relaxed);
            if item == 5 {
                thread::sleep(Duration::from_millis(50));
            }
            match item {
                5 | 6 => Err(format!("item {item}")),
                _ => Ok(item),
            }
        };
        let mut taken = Vec::new();
        let ended = in_order(&mut [0, 1, 2], &items, work, |_, item| {
            taken.push(item);
            Ok(())
        });
        assert_eq!(ended, Err("item 5".into()));
        assert_eq!(taken, [0, 1, 2, 3, 4]);
        // Each worker two ahead at most.
        assert!(begun.load(Ordering::Relaxed) <= 5 + 3 * 3, "{begun:?}");

        let ended = in_order(&mut [0, 1], &items, slowly, |&item, _| match item {
            3 => Err("the disk is full".to_owned()),
            _ => Ok(()),
        });
        assert_eq!(ended, Err("the disk is full".into()));
    }
}
