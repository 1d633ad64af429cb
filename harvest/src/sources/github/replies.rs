//! Replies of a review thread beyond those that come with it.
//!
//! They are asked for by the thread's place in its pull request: a position of
//! GitHub's is good for as long as what it stands behind, and a thread that is
//! found there must be the one that was meant.

use crate::upstream::nodes;
use serde_json::Value;

/// Where a thread's own position is kept until all threads are known.
const POSITION: &str = "position";

/// One thread of a pull request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Thread {
    id: String,
    /// The position of the thread before it; none for the first.
    pub(super) before: Option<String>,
}

impl Thread {
    /// The page of replies in an answer; null where another thread stands there.
    pub(super) fn within<'a>(&self, data: &'a Value) -> &'a Value {
        nodes(&data["node"]["reviewThreads"])
            .find(|thread| thread["id"] == *self.id)
            .map_or(&Value::Null, |thread| &thread["comments"])
    }
}

/// The elements of a list with positions, each with its own.
pub(super) fn with_positions(page: &Value) -> Vec<Value> {
    let edges = page["edges"].as_array();
    let each = edges.into_iter().flatten().map(|edge| {
        let mut node = edge["node"].clone();
        if node.is_object() {
            node[POSITION] = edge["cursor"].clone();
        }
        node
    });
    each.collect()
}

/// The places of all threads of a pull request, which keep no positions then.
pub(super) fn places(threads: &mut [Value]) -> Vec<Thread> {
    let mut before = None;
    let each = threads.iter_mut().map(|thread| {
        let own = thread.as_object_mut().and_then(|it| it.remove(POSITION));
        let own = own.as_ref().and_then(Value::as_str).map(str::to_owned);
        Thread {
            id: thread["id"].as_str().unwrap_or_default().to_owned(),
            before: std::mem::replace(&mut before, own),
        }
    });
    each.collect()
}
