//! How long work reports to whoever draws bars. The default says nothing.

/// Receives the progress of downloads and set-up steps. Called from any thread.
pub trait Progress: Send + Sync {
    /// `what` begins; `total` is its size in bytes where it is a download.
    fn started(&self, what: &str, total: Option<u64>) {
        let _ = (what, total);
    }
    /// `done` bytes of `what` are there. May be called often, and never goes back.
    fn advanced(&self, what: &str, done: u64) {
        let _ = (what, done);
    }
    /// `what` is complete.
    fn finished(&self, what: &str) {
        let _ = what;
    }
}

/// Says nothing.
#[derive(Debug, Default, Clone, Copy)]
pub struct Silent;

impl Progress for Silent {}
