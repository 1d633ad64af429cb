//! The pages of one list of a ticket, put together.

use super::{parts::Part, replies};
use serde_json::{Value, json};
use std::collections::HashSet;

/// The pages so far, each element once.
pub(super) struct Joined<'a> {
    part: Part<'a>,
    total: Value,
    nodes: Vec<Value>,
    known: HashSet<String>,
    /// Where the next page begins; none after the last.
    pub(super) next: Option<String>,
}

impl<'a> Joined<'a> {
    pub(super) fn new(part: Part<'a>, first: &Value) -> Self {
        let mut joined = Self {
            part,
            // As the first page said: it is as old as the ticket's other fields.
            total: first["totalCount"].clone(),
            nodes: Vec::new(),
            known: HashSet::new(),
            next: None,
        };
        joined.add(first);
        joined
    }

    pub(super) fn add(&mut self, page: &Value) {
        let more = replies::with_positions(page);
        for node in more.into_iter().chain(nodes_of(page)) {
            let fresh = match node[self.part.id()].as_str() {
                Some(id) => self.known.insert(id.to_owned()),
                None => !node.is_null(),
            };
            if fresh {
                self.nodes.push(node);
            }
        }
        let more = page["pageInfo"]["hasNextPage"] == true;
        let next = page["pageInfo"]["endCursor"].as_str();
        self.next = next.filter(|_| more).map(str::to_owned);
    }

    pub(super) fn into_value(self) -> Value {
        match self.part {
            // It also counts what is not asked for, such as subscriptions.
            Part::Timeline => json!({ "nodes": self.nodes }),
            _ => json!({ "totalCount": self.total, "nodes": self.nodes }),
        }
    }
}

fn nodes_of(page: &Value) -> Vec<Value> {
    page["nodes"].as_array().cloned().unwrap_or_default()
}
