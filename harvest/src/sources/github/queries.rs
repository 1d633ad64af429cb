//! The queries, checked against GitHub's schema when this is compiled.
//!
//! Only their texts and variables are used. Answers are read leniently: the
//! types that are made beside the variables would fail a whole page for one new
//! enum value or one null.
#![allow(dead_code, missing_docs, unreachable_pub, clippy::all)]

use graphql_client::GraphQLQuery;

type BigInt = String;
type DateTime = String;
type GitObjectID = String;
type URI = String;

macro_rules! query {
    ($file:tt: $($name:ident),* $(,)?) => {
        $(
            #[derive(GraphQLQuery)]
            #[graphql(
                schema_path = "src/sources/github/schema.graphql",
                query_path = $file,
                variables_derives = "Clone, Debug",
                // To GitHub a filter that is null is not one that is left out.
                skip_serializing_none
            )]
            pub(super) struct $name;
        )*
    };
}

query!("src/sources/github/listing.graphql": IssuesPage, PullsPage, TicketAt, RepositoryAt, Reader);
query!(
    "src/sources/github/ticket.graphql": IssueDetails, PullDetails, MoreComments, MoreLabels,
    MoreAssignees, MoreTimeline, MoreReviews, MoreThreads, MoreReplies, MoreFiles, MoreClosing,
);

/// One operation of a document and the fragments that it needs: what is not sent
/// need not be parsed. Definitions stand apart by an empty line.
pub(super) fn only(operation: &str, document: &str) -> String {
    let definitions: Vec<&str> = document.split("\n\n").collect();
    let find = |keyword: &str, name: &str| {
        let begins = |line: &str| {
            let rest = line
                .strip_prefix(keyword)
                .and_then(|line| line.strip_prefix(name));
            rest.is_some_and(|rest| rest.starts_with(['(', ' ']))
        };
        let mut all = definitions.iter();
        all.find(|text| text.lines().any(begins)).copied()
    };
    let Some(first) = find("query ", operation) else {
        return document.to_owned();
    };
    let mut parts = vec![first];
    let mut at = 0;
    while let Some(text) = parts.get(at).copied() {
        at += 1;
        for line in text.lines() {
            let spread = line.trim().strip_prefix("...");
            let Some(fragment) = spread.and_then(|name| find("fragment ", name)) else {
                continue;
            };
            if !parts.contains(&fragment) {
                parts.push(fragment);
            }
        }
    }
    let lines = parts.iter().flat_map(|part| part.lines()).map(str::trim);
    let lines: Vec<&str> = lines.filter(|line| !line.starts_with('#')).collect();
    lines.join("\n")
}
