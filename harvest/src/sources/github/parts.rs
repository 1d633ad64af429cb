//! The parts of a ticket that come in pages, each fetched to its last one.

use super::{
    api::Api,
    entry::Kind,
    joined::Joined,
    queries::*,
    replies::{self, Thread},
    verdict::Asked,
};
use crate::upstream::{CallError, PageSize, Reply, nodes, page_problem};
use serde_json::Value;
use std::collections::HashSet;

/// As many as GitHub gives at once.
const PAGE: u32 = 100;
/// Threads of a further page, each with its first replies.
const THREADS: u32 = 25;
/// Replies that come with their thread.
pub(super) const REPLIES: u32 = 5;

/// One list that hangs on a ticket, or on a thread of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    Labels,
    Assignees,
    Comments,
    Timeline,
    Reviews,
    Threads,
    Replies(&'a Thread),
    Files,
    Closing,
}

impl Part<'_> {
    /// What hangs on a ticket of this kind.
    pub(super) fn of(kind: Kind) -> &'static [Part<'static>] {
        match kind {
            Kind::Issue => &[
                Part::Labels,
                Part::Assignees,
                Part::Comments,
                Part::Timeline,
            ],
            Kind::Pull => &[
                Part::Labels,
                Part::Assignees,
                Part::Comments,
                Part::Timeline,
                Part::Reviews,
                Part::Threads,
                Part::Files,
                Part::Closing,
            ],
        }
    }

    pub(super) fn field(self) -> &'static str {
        match self {
            Self::Labels => "labels",
            Self::Assignees => "assignees",
            Self::Comments | Self::Replies(_) => "comments",
            Self::Timeline => "timelineItems",
            Self::Reviews => "reviews",
            Self::Threads => "reviewThreads",
            Self::Files => "files",
            Self::Closing => "closingIssuesReferences",
        }
    }

    fn page(self) -> u32 {
        match self {
            Self::Threads => THREADS,
            _ => PAGE,
        }
    }

    /// What tells two elements apart: files have no id.
    pub(super) fn id(self) -> &'static str {
        match self {
            Self::Files => "path",
            _ => "id",
        }
    }

    /// Where an answer to [`Self::more`] holds the page.
    fn within(self, data: &Value) -> &Value {
        match self {
            Self::Replies(thread) => thread.within(data),
            _ => &data["node"][self.field()],
        }
    }

    async fn more(
        self,
        api: &Api,
        what: &str,
        id: &str,
        first: u32,
        after: &str,
    ) -> Result<Reply, CallError> {
        let asked = Asked {
            smallest: first == 1,
            ..Asked::default()
        };
        let check = |data: &Value| match page_problem(self.within(data), Some(after)) {
            None => self.inner_problem(&data["node"]),
            problem => problem,
        };
        let (id, first) = (id.to_owned(), i64::from(first));
        let after = Some(after.to_owned());
        macro_rules! ask {
            ($query:ident, $module:ident $(, $field:ident: $value:expr)*) => {
                api.graphql::<$query>(
                    what,
                    $module::Variables { id, first, after $(, $field: $value)* },
                    asked,
                    check,
                )
                .await
            };
        }
        match self {
            Self::Labels => ask!(MoreLabels, more_labels),
            Self::Assignees => ask!(MoreAssignees, more_assignees),
            Self::Comments => ask!(MoreComments, more_comments),
            Self::Timeline => ask!(MoreTimeline, more_timeline),
            Self::Reviews => ask!(MoreReviews, more_reviews),
            Self::Threads => ask!(MoreThreads, more_threads, replies: i64::from(REPLIES)),
            Self::Replies(it) => ask!(MoreReplies, more_replies, before: it.before.clone()),
            Self::Files => ask!(MoreFiles, more_files),
            Self::Closing => ask!(MoreClosing, more_closing),
        }
    }

    /// What is wrong with the replies of the threads of a page.
    fn inner_problem(self, holder: &Value) -> Option<String> {
        match self {
            Self::Threads => nodes(&holder[self.field()])
                .find_map(|thread| page_problem(&thread["comments"], None)),
            _ => None,
        }
    }

    /// What is wrong with this part of a ticket.
    pub(super) fn problem(self, ticket: &Value) -> Option<String> {
        let list = &ticket[self.field()];
        if list.is_null() {
            // Some lists may be null: labels, files, what a pull request closes.
            return None;
        }
        page_problem(list, None).or_else(|| self.inner_problem(ticket))
    }
}

/// Fetches every part of a ticket to its end; what remains is
/// `{"totalCount": …, "nodes": […]}` for each.
///
/// # Errors
/// When a page cannot be had.
pub(super) async fn complete(
    api: &Api,
    what: &str,
    kind: Kind,
    ticket: &mut Value,
) -> Result<(), CallError> {
    let id = ticket["id"].as_str().unwrap_or_default().to_owned();
    for part in Part::of(kind) {
        drain(api, what, *part, &id, &mut ticket[part.field()]).await?;
    }
    let threads = ticket[Part::Threads.field()]["nodes"].as_array_mut();
    if let Some(threads) = threads.filter(|_| kind == Kind::Pull) {
        let places = replies::places(threads);
        for (thread, place) in threads.iter_mut().zip(&places) {
            let replies = &mut thread["comments"];
            drain(api, what, Part::Replies(place), &id, replies).await?;
        }
    }
    Ok(())
}

async fn drain(
    api: &Api,
    what: &str,
    part: Part<'_>,
    id: &str,
    list: &mut Value,
) -> Result<(), CallError> {
    if list.is_null() {
        return Ok(());
    }
    let what = format!("{what}, {}", part.field());
    let mut joined = Joined::new(part, list);
    let mut size = PageSize::new(part.page());
    let mut seen = HashSet::new();
    while let Some(after) = joined.next.take() {
        if !seen.insert(after.clone()) {
            return Err(CallError::Garbled {
                what,
                why: "GitHub gives the same page again and again".to_owned(),
            });
        }
        let reply = match part.more(api, &what, id, size.now(), &after).await {
            Ok(reply) => reply,
            Err(CallError::Heavy { .. }) => {
                size.halve();
                seen.remove(&after);
                joined.next = Some(after);
                continue;
            }
            Err(error) => return Err(error),
        };
        size.grow();
        joined.add(part.within(&reply.value()["data"]));
    }
    *list = joined.into_value();
    Ok(())
}
