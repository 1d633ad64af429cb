//! Whole tickets: several in one request, then the rest of their long parts.

use super::{
    Github,
    entry::{Entry, Kind, mark},
    parts::{Part, REPLIES, complete},
    payload::{tidy, without_pending},
    queries::{IssueDetails, PullDetails, issue_details, pull_details},
    renames,
    verdict::Asked,
};
use crate::{
    Item, SourceError, Unreadable,
    upstream::{CallError, PageSize, Reply},
};
use serde_json::{Value, value::to_raw_value};
use std::collections::VecDeque;
use whence_contract::{RawTicket, Timestamp};

/// How much of each part comes with its ticket.
#[derive(Clone, Copy, Debug)]
struct Parts {
    comments: i64,
    timeline: i64,
    labels: i64,
    people: i64,
    reviews: i64,
    threads: i64,
    files: i64,
    closing: i64,
}

/// Most tickets are whole with this.
const USUAL: Parts = Parts {
    comments: 20,
    timeline: 50,
    labels: 20,
    people: 10,
    reviews: 10,
    threads: 10,
    files: 50,
    closing: 10,
};

/// For a ticket that is too heavy even alone. Labels as in a listing.
const SMALL: Parts = Parts {
    comments: 2,
    timeline: 5,
    labels: 20,
    people: 10,
    reviews: 2,
    threads: 1,
    files: 10,
    closing: 2,
};

/// A ticket that could not be read, and why.
struct Bad {
    entry: Entry,
    what: String,
    why: String,
}

impl Github {
    /// These tickets as they are now; one that is gone meanwhile is left out.
    /// What GitHub cannot give for one ticket alone becomes unreadable.
    ///
    /// # Errors
    /// When GitHub itself fails.
    pub(super) async fn gather(
        &self,
        entries: &[Entry],
        size: &mut PageSize,
    ) -> Result<Vec<Item>, SourceError> {
        let mut items = Vec::new();
        let mut todo: VecDeque<&[Entry]> = entries.chunks(size.now() as usize).collect();
        while let Some(some) = todo.pop_front() {
            let failed = match self.details(some, USUAL, false).await {
                Ok(found) => {
                    size.grow();
                    items.extend(self.judged(found).await?);
                    continue;
                }
                Err(failed) => failed,
            };
            match failed {
                CallError::Heavy { .. } if some.len() > 1 => {
                    size.halve();
                    let smaller = (some.len() / 2).max(1);
                    for half in some.chunks(smaller).rev() {
                        todo.push_front(half);
                    }
                }
                CallError::Heavy { .. } | CallError::Garbled { .. } => {
                    for entry in some {
                        items.extend(self.alone(entry).await?);
                    }
                }
                error => return Err(error.into()),
            }
        }
        Ok(items)
    }

    /// One ticket in the smallest request there is.
    async fn alone(&self, entry: &Entry) -> Result<Vec<Item>, SourceError> {
        let one = std::slice::from_ref(entry);
        let found = match self.details(one, SMALL, true).await {
            Err(CallError::Garbled { what, why }) => vec![Err(Bad {
                entry: entry.clone(),
                what,
                why,
            })],
            done => done?,
        };
        self.judged(found).await
    }

    /// Whether what could not be read is the fault of these tickets.
    async fn judged(&self, found: Vec<Result<Item, Bad>>) -> Result<Vec<Item>, SourceError> {
        if found.iter().any(Result::is_err) {
            // Not of all of GitHub, if it still gives the repository.
            self.repository().await?;
        }
        let items = found.into_iter().map(|found| match found {
            Ok(item) => item,
            Err(bad) => self.unreadable(&bad.entry, &bad.what, bad.why),
        });
        Ok(items.collect())
    }

    fn unreadable(&self, entry: &Entry, what: &str, why: String) -> Item {
        Item::Unreadable(Unreadable {
            key: Some(self.key(&entry.key)),
            location: format!("{}#{}", self.present(), entry.number),
            causes: vec![what.to_owned(), why],
            bytes: Vec::new(),
            size: 0,
        })
    }

    async fn details(
        &self,
        entries: &[Entry],
        parts: Parts,
        last_try: bool,
    ) -> Result<Vec<Result<Item, Bad>>, CallError> {
        let Some(first) = entries.first() else {
            return Ok(Vec::new());
        };
        let kind = first.kind;
        let reply = self.ask(entries, kind, parts, last_try).await?;
        let nodes = reply.value()["data"]["nodes"].as_array();
        let mut items = Vec::new();
        for node in nodes.into_iter().flatten() {
            // Deleted or moved since it was listed: the sweep decides.
            let Some(entry) = entries.iter().find(|entry| node["id"] == *entry.node) else {
                continue;
            };
            match self.whole(kind, node.clone()).await {
                Ok(ticket) => items.push(Ok(self.item(entry, &ticket, reply.asked_at))),
                Err(CallError::Missing { .. }) => {}
                Err(CallError::Garbled { what, why }) => items.push(Err(Bad {
                    entry: entry.clone(),
                    what,
                    why,
                })),
                Err(error) => return Err(error),
            }
        }
        Ok(items)
    }

    async fn ask(
        &self,
        entries: &[Entry],
        kind: Kind,
        parts: Parts,
        last_try: bool,
    ) -> Result<Reply, CallError> {
        let ids: Vec<String> = entries.iter().map(|entry| entry.node.clone()).collect();
        let wanted = ids.len();
        let asked = Asked {
            smallest: last_try,
            may_be_absent: true,
            ..Asked::default()
        };
        let check = move |data: &Value| {
            let Some(nodes) = data["nodes"].as_array().filter(|n| n.len() == wanted) else {
                return Some("not all tickets that were asked for".to_owned());
            };
            let there = nodes.iter().filter(|node| !node.is_null());
            let mut parts = there.flat_map(|node| Part::of(kind).iter().map(move |p| (node, p)));
            parts.find_map(|(node, part)| part.problem(node))
        };
        let what = match entries {
            [one] => format!("{}#{}", self.present(), one.number),
            [first, ..] => format!("{wanted} tickets from {}#{}", self.present(), first.number),
            [] => String::new(),
        };
        match kind {
            Kind::Issue => {
                let variables = issue_details::Variables {
                    ids,
                    comments: parts.comments,
                    timeline: parts.timeline,
                    labels: parts.labels,
                    people: parts.people,
                };
                self.api
                    .graphql::<IssueDetails>(&what, variables, asked, check)
                    .await
            }
            Kind::Pull => {
                let variables = pull_details::Variables {
                    ids,
                    comments: parts.comments,
                    timeline: parts.timeline,
                    labels: parts.labels,
                    people: parts.people,
                    reviews: parts.reviews,
                    threads: parts.threads,
                    replies: i64::from(REPLIES),
                    files: parts.files,
                    closing: parts.closing,
                };
                self.api
                    .graphql::<PullDetails>(&what, variables, asked, check)
                    .await
            }
        }
    }

    /// The ticket with its long parts to their ends.
    async fn whole(&self, kind: Kind, mut ticket: Value) -> Result<Value, CallError> {
        let number = ticket["number"].as_u64().unwrap_or_default();
        let what = format!("{}#{number}", self.present());
        complete(&self.api, &what, kind, &mut ticket).await?;
        if kind == Kind::Pull {
            renames::add(&self.api, &what, &mut ticket).await?;
            if !self.keep_pending {
                without_pending(&mut ticket);
            }
        }
        tidy(&mut ticket);
        Ok(ticket)
    }

    fn item(&self, entry: &Entry, ticket: &Value, asked_at: Timestamp) -> Item {
        let repository = ticket["repository"]["nameWithOwner"].as_str();
        let repository = repository.map_or_else(|| self.present(), str::to_owned);
        let payload = match to_raw_value(ticket) {
            Ok(payload) => payload,
            Err(error) => return self.unreadable(entry, "the ticket as JSON", error.to_string()),
        };
        let kind = entry.kind;
        let mut raw = RawTicket::new(kind.dialect(), &self.name, asked_at, payload);
        raw.location = ticket["url"].as_str().map(str::to_owned);
        raw.names = self.names(&repository, entry.number);
        raw.mark = Some(mark(ticket));
        Item::Ticket {
            key: self.key(&entry.key),
            raw,
        }
    }
}
