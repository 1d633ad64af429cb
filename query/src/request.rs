//! What can be asked.

use crate::{
    Filters, Fusion, SearchError,
    line::{self, Fault, Line},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest question.
pub const MAX_QUERY_BYTES: usize = 8 * 1024;
/// The most hits.
pub const MAX_K: usize = 200;
/// The most tickets that can be excluded.
pub const MAX_EXCLUDED: usize = 100;

/// A search. Fields that are not here are refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SearchRequest {
    /// The question: words, a sentence, an id, an address. At most 8 KiB.
    #[schemars(length(min = 1, max = 8192), regex(pattern = r"\S"))]
    pub query: String,
    /// How many hits at most.
    #[schemars(range(min = 1, max = 200))]
    #[serde(default = "default_k")]
    pub k: usize,
    /// Which legs to use; what is not available is left out and said.
    #[serde(default)]
    pub mode: Mode,
    /// What a hit must be; holds inside each leg's recall.
    #[serde(default)]
    pub filters: Filters,
    /// What a hit is.
    #[serde(default)]
    pub group_by: GroupBy,
    /// Of chunks as hits: how many of one ticket at most; others take their place.
    #[schemars(range(min = 1, max = 200))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_ticket: Option<usize>,
    /// Tickets, by a present or a former id, that take no part at all.
    #[schemars(with = "Vec<Line>", length(max = 100))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Whether the reranker is asked, where there is one.
    #[serde(default = "yes")]
    pub rerank: bool,
    /// Answer with what there is, even if nothing is relevant.
    #[serde(default)]
    pub include_weak: bool,
    /// In place of the configured fusion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fusion: Option<Fusion>,
    /// Say how each hit came about.
    #[serde(default)]
    pub explain: bool,
}

fn default_k() -> usize {
    10
}

fn yes() -> bool {
    true
}

/// Which legs to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Both, fused.
    #[default]
    Hybrid,
    /// Vectors alone.
    Dense,
    /// Words alone.
    Lexical,
}

impl Mode {
    /// Whether vectors are compared.
    pub fn dense(self) -> bool {
        self != Self::Lexical
    }

    /// Whether words are.
    pub fn lexical(self) -> bool {
        self != Self::Dense
    }
}

/// What a hit is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum GroupBy {
    /// A ticket, with its best chunk.
    #[default]
    Ticket,
    /// A chunk.
    Chunk,
}

impl SearchRequest {
    /// A question with everything else by default.
    pub fn new(query: impl Into<String>) -> Self {
        Self {
            query: query.into(),
            k: default_k(),
            mode: Mode::default(),
            filters: Filters::default(),
            group_by: GroupBy::default(),
            per_ticket: None,
            exclude: Vec::new(),
            rerank: true,
            include_weak: false,
            fusion: None,
            explain: false,
        }
    }

    /// # Errors
    /// When a bound is passed, saying which.
    pub fn check(&self) -> Result<(), SearchError> {
        if self.query.len() > MAX_QUERY_BYTES {
            return Err(SearchError::new(
                "query_too_long",
                400,
                format!(
                    "the query has {} bytes, {MAX_QUERY_BYTES} are allowed",
                    self.query.len()
                ),
                "ask with fewer words",
            ));
        }
        if self.query.trim().is_empty() {
            return Err(SearchError::bad_request(
                "the query is empty",
                "ask something",
            ));
        }
        if self.k == 0 || self.k > MAX_K {
            return Err(SearchError::bad_request(
                format!("k is {}", self.k),
                format!("k is between 1 and {MAX_K}"),
            ));
        }
        if self
            .per_ticket
            .is_some_and(|most| most == 0 || most > MAX_K)
        {
            return Err(SearchError::bad_request(
                "per_ticket is out of bounds",
                format!("it is between 1 and {MAX_K}, or left out"),
            ));
        }
        check_excluded(&self.exclude)?;
        if let Some(wrong) = self.fusion.and_then(Fusion::problem) {
            return Err(SearchError::bad_request(wrong, "0 and more is possible"));
        }
        Ok(())
    }
}

/// # Errors
/// When there are too many, or one that no ticket can be called.
pub(crate) fn check_excluded(ids: &[String]) -> Result<(), SearchError> {
    if ids.len() > MAX_EXCLUDED {
        return Err(SearchError::bad_request(
            format!("{} tickets are excluded", ids.len()),
            format!("at most {MAX_EXCLUDED}"),
        ));
    }
    for id in ids {
        line::check(id).map_err(|Fault(what, hint)| {
            SearchError::bad_request(format!("an excluded ticket's id {what}"), hint)
        })?;
    }
    Ok(())
}
