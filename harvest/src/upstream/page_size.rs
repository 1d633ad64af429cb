//! How much to ask for at once: less when it is too heavy, slowly more again.

/// Pages in a row that pass before more is asked for.
const BEFORE_GROWING: u32 = 8;

/// A page size that learns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PageSize {
    now: u32,
    most: u32,
    passed: u32,
}

impl PageSize {
    pub(crate) fn new(most: u32) -> Self {
        let most = most.max(1);
        Self {
            now: most,
            most,
            passed: 0,
        }
    }

    pub(crate) fn now(self) -> u32 {
        self.now
    }

    /// It was too much.
    pub(crate) fn halve(&mut self) {
        self.now = (self.now / 2).max(1);
        self.passed = 0;
    }

    /// It passed.
    pub(crate) fn grow(&mut self) {
        self.passed += 1;
        if self.passed >= BEFORE_GROWING && self.now < self.most {
            self.now = (self.now + self.now.div_ceil(2)).min(self.most);
            self.passed = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_halves_to_one_and_grows_back_slowly() {
        let mut size = PageSize::new(25);
        for wanted in [12, 6, 3, 1, 1] {
            size.halve();
            assert_eq!(size.now(), wanted);
        }
        for _ in 0..7 {
            size.grow();
        }
        assert_eq!(size.now(), 1);
        for _ in 0..100 {
            size.grow();
        }
        assert_eq!(size.now(), 25);
    }
}
