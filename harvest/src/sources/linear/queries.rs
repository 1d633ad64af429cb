//! The queries, checked against Linear's schema when this is compiled.
//!
//! Only their texts and variables are used. Answers are read leniently: the
//! types that are made beside the variables would fail a whole page for one null.
#![allow(dead_code, missing_docs, unreachable_pub, clippy::all)]

use graphql_client::GraphQLQuery;

type DateTime = String;
type DateTimeOrDuration = String;
type TimelessDate = String;

macro_rules! query {
    ($file:tt: $($name:ident),* $(,)?) => {
        $(
            #[derive(GraphQLQuery)]
            #[graphql(
                schema_path = "src/sources/linear/schema.graphql",
                query_path = $file,
                variables_derives = "Clone, Debug",
                skip_serializing_none
            )]
            pub(super) struct $name;
        )*
    };
}

query!("src/sources/linear/listing.graphql": TeamAt, IssuesPage, CommentsPage, LabelsPage, Reader);
query!(
    "src/sources/linear/ticket.graphql": IssuesWhole, IssueAt, MoreLabels, MoreComments,
    MoreRelations, MoreInverse, MoreAttachments,
);
