//! Work on a long list by a few threads. The results come in the order of the list, so that no outcome depends on the
//! number of threads.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::thread;

/// Shorter pieces are not worth a thread.
const WORTH_A_THREAD: usize = 1 << 14;

/// How many threads to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threads(NonZeroUsize);

impl Threads {
    /// So many, however short the lists.
    pub const fn exactly(count: NonZeroUsize) -> Threads {
        Threads(count)
    }

    /// As many as the machine has processors, or fewer for a program of few tasks.
    pub fn for_tasks(count: usize) -> Threads {
        // Asking for the processors takes longer than judging a small program.
        match NonZeroUsize::new(count / WORTH_A_THREAD) {
            Some(most) if most > NonZeroUsize::MIN => {
                Threads(thread::available_parallelism().map_or(NonZeroUsize::MIN, |cores| cores.min(most)))
            }
            _ => Threads(NonZeroUsize::MIN),
        }
    }

    /// Calls `work` on consecutive ranges that together cover `0 .. count`, and gives back the results in their order.
    pub fn by_ranges<T: Send>(self, count: usize, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
        let threads = self.0.get();
        if threads == 1 {
            return vec![work(0..count)];
        }
        let bound = |index: usize| (count as u128 * index as u128 / threads as u128) as usize;
        thread::scope(|scope| {
            let work = &work;
            let others: Vec<_> =
                (1..threads).map(|index| scope.spawn(move || work(bound(index)..bound(index + 1)))).collect();
            let mut results = vec![work(0..bound(1))];
            for other in others {
                match other.join() {
                    Ok(result) => results.push(result),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            results
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_the_list_in_order() {
        for threads in 1..6 {
            let threads = Threads::exactly(NonZeroUsize::new(threads).expect("not zero"));
            for count in [0, 1, 2, 5, 1000] {
                let indices = threads.by_ranges(count, |range| range.collect::<Vec<_>>()).concat();
                assert!(indices.into_iter().eq(0..count));
            }
        }
    }

    #[test]
    fn a_short_list_is_not_worth_a_thread() {
        assert_eq!(Threads::for_tasks(2 * WORTH_A_THREAD - 1), Threads(NonZeroUsize::MIN));
    }
}
