//! How many issues are asked for at a time: fewer after an answer was too heavy
//! for the service, and slowly more again.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[derive(Debug)]
pub(super) struct Size {
    now: AtomicUsize,
    most: AtomicUsize,
}

impl Size {
    pub(super) fn new(most: usize) -> Self {
        Self {
            now: AtomicUsize::new(most.max(1)),
            most: AtomicUsize::new(most.max(1)),
        }
    }

    pub(super) fn get(&self) -> usize {
        self.now.load(Relaxed).max(1)
    }

    /// An answer with so many was too heavy.
    pub(super) fn halve(&self, size: usize) {
        self.now.store((size / 2).max(1), Relaxed);
    }

    /// An answer came: a tenth more the next time.
    pub(super) fn grow(&self) {
        let now = self.get();
        let larger = (now + 1 + now / 10).min(self.most.load(Relaxed));
        self.now.store(larger, Relaxed);
    }

    /// The service gives no more than so many.
    pub(super) fn limit(&self, most: usize) {
        self.most.fetch_min(most.max(1), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_halves_at_once_and_grows_slowly() {
        let size = Size::new(100);
        size.halve(size.get());
        assert_eq!(size.get(), 50);
        size.grow();
        assert_eq!(size.get(), 56);
        size.limit(30);
        size.grow();
        assert_eq!(size.get(), 30);
        for _ in 0..10 {
            size.halve(size.get());
        }
        assert_eq!(size.get(), 1);
    }
}
