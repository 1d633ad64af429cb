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
