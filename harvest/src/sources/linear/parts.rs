//! The lists that hang on an issue, each fetched to its last page.

use super::{
    api::Api,
    queries::{
        MoreAttachments, MoreComments, MoreInverse, MoreLabels, MoreRelations, more_attachments,
        more_comments, more_inverse, more_labels, more_relations,
    },
};
use crate::upstream::{CallError, PageSize, Reply, nodes, page_problem};
use serde_json::Value;
use std::collections::HashSet;

/// A hundred comments cost some 660 points.
const PAGE: u32 = 100;
/// How often a list is begun anew because its position went.
const TRIES: u32 = 3;

#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    Labels,
    Comments,
    Relations,
    Inverse,
    Attachments,
}

impl Part {
    pub(super) const ALL: [Self; 5] = [
        Self::Labels,
        Self::Comments,
        Self::Relations,
        Self::Inverse,
        Self::Attachments,
    ];

    pub(super) fn field(self) -> &'static str {
        match self {
            Self::Labels => "labels",
            Self::Comments => "comments",
            Self::Relations => "relations",
            Self::Inverse => "inverseRelations",
            Self::Attachments => "attachments",
        }
    }

    async fn more(
        self,
        api: &Api,
        what: &str,
        id: &str,
        first: u32,
        after: Option<&str>,
    ) -> Result<Reply, CallError> {
        let smallest = first == 1;
        let check = |data: &Value| page_problem(&data["issue"][self.field()], after);
        let (id, first) = (id.to_owned(), i64::from(first));
        let after = after.map(str::to_owned);
        macro_rules! ask {
            ($query:ident, $module:ident) => {
                api.ask::<$query>(
                    what,
                    $module::Variables { id, first, after },
                    smallest,
                    check,
                )
                .await
            };
        }
        match self {
            Self::Labels => ask!(MoreLabels, more_labels),
            Self::Comments => ask!(MoreComments, more_comments),
            Self::Relations => ask!(MoreRelations, more_relations),
            Self::Inverse => ask!(MoreInverse, more_inverse),
            Self::Attachments => ask!(MoreAttachments, more_attachments),
        }
    }
}

/// What keeps an issue from being gone on from.
pub(super) fn problem(issue: &Value) -> Option<String> {
    Part::ALL
        .iter()
        .find_map(|part| page_problem(&issue[part.field()], None))
}

/// Fetches every list of an issue to its end; what remains of each is an array.
///
/// # Errors
/// When a page cannot be had.
pub(super) async fn complete(api: &Api, what: &str, issue: &mut Value) -> Result<(), CallError> {
    let id = issue["id"].as_str().unwrap_or_default().to_owned();
    for part in Part::ALL {
        let list = issue[part.field()].take();
        issue[part.field()] = Value::Array(drain(api, what, part, &id, &list).await?);
    }
    Ok(())
}

async fn drain(
    api: &Api,
    what: &str,
    part: Part,
    id: &str,
    first: &Value,
) -> Result<Vec<Value>, CallError> {
    let what = format!("{what}, {}", part.field());
    let mut joined = Joined::default();
    joined.add(first);
    let mut size = PageSize::new(PAGE);
    let mut positions = HashSet::new();
    let mut tries = 1;
    while !joined.ended {
        let after = joined.next.clone();
        match part
            .more(api, &what, id, size.now(), after.as_deref())
            .await
        {
            Ok(reply) => joined.add(&reply.value()["data"]["issue"][part.field()]),
            Err(CallError::Heavy { .. }) => {
                size.halve();
                continue;
            }
            // The position was a comment that has been deleted since.
            Err(CallError::Refused { .. }) if after.is_some() && tries < TRIES => {
                tries += 1;
                joined = Joined::default();
                positions.clear();
                continue;
            }
            Err(error) => return Err(error),
        }
        size.grow();
        if !joined.ended && !positions.insert(joined.next.clone()) {
            return Err(CallError::Garbled {
                what,
                why: "Linear gives the same page again and again".to_owned(),
            });
        }
    }
    Ok(joined.nodes)
}

/// The pages so far, each node once.
#[derive(Default)]
struct Joined {
    nodes: Vec<Value>,
    known: HashSet<String>,
    next: Option<String>,
    ended: bool,
}

impl Joined {
    fn add(&mut self, page: &Value) {
        for node in nodes(page) {
            let id = node["id"].as_str().unwrap_or_default();
            if self.known.insert(id.to_owned()) {
                self.nodes.push(node.clone());
            }
        }
        self.ended = page["pageInfo"]["hasNextPage"] != true;
        self.next = page["pageInfo"]["endCursor"].as_str().map(str::to_owned);
    }
}
