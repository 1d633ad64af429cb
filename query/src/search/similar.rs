//! Tickets like a ticket, or like a draft that is not filed yet.

use super::{SearchService, ask::Question};
use crate::{
    Filters, MAX_QUERY_BYTES, Mode, SearchError, SearchRequest, SearchResponse, exact,
    filters::Conditions,
    line::{self, Fault, Line},
    request::check_excluded,
    sql::{Statement, Value, Values},
};
use deadpool_postgres::Client;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use whence_model::lexical::query_terms;

/// What to find the like of: a ticket by its id, or a text. Fields that are not
/// here are refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SimilarRequest {
    /// A ticket, by a present or a former id or its address. It is no hit itself.
    #[schemars(with = "Option<Line>")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// A draft: its title, and what follows. Nothing in it is a filter.
    #[schemars(length(min = 1, max = 2048), regex(pattern = r"\S"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// How many hits at most.
    #[schemars(range(min = 1, max = 200))]
    #[serde(default = "default_k")]
    pub k: usize,
    /// What a hit must be.
    #[serde(default)]
    pub filters: Filters,
    /// Tickets that take no part.
    #[schemars(with = "Vec<Line>", length(max = 100))]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Answer with what there is, even if nothing is alike.
    #[serde(default)]
    pub include_weak: bool,
    /// Say how each hit came about.
    #[serde(default)]
    pub explain: bool,
}

fn default_k() -> usize {
    10
}

impl SearchService {
    /// Finds tickets that are like one, best first, by all legs. The reranker is
    /// not asked: it judges answers, not likeness.
    ///
    /// # Errors
    /// As [`SearchService::search`]; and when neither or both of id and text are
    /// given, or no visible ticket has that id.
    pub async fn similar(&self, asked: &SimilarRequest) -> Result<SearchResponse, SearchError> {
        let hint = "give either \"id\" or \"text\"";
        let mut exclude = asked.exclude.clone();
        let text = match (&asked.id, &asked.text) {
            (Some(id), None) => {
                line::check(id).map_err(|Fault(what, hint)| {
                    SearchError::bad_request(format!("the id {what}"), hint)
                })?;
                check_excluded(&asked.exclude)?;
                let client = self.client().await?;
                let (known, text) = ticket(&client, id, &asked.filters).await?;
                exclude.push(known);
                text
            }
            (None, Some(text)) => text.clone(),
            (None, None) => return Err(SearchError::bad_request("nothing is given", hint)),
            (Some(_), Some(_)) => {
                return Err(SearchError::bad_request("id and text are both given", hint));
            }
        };
        let request = SearchRequest {
            k: asked.k,
            filters: asked.filters.clone(),
            exclude,
            include_weak: asked.include_weak,
            explain: asked.explain,
            rerank: false,
            mode: Mode::Hybrid,
            ..SearchRequest::new(text)
        };
        request.check()?;
        let text = without_ids(&request.query);
        if text.is_empty() {
            return Err(SearchError::bad_request(
                "the text holds nothing but ids and addresses",
                "describe what the ticket is about",
            ));
        }
        let question = Question {
            nothing: "no other ticket is left to compare with".to_owned(),
            identifiers: Vec::new(),
            names: Vec::new(),
            terms: query_terms(&text),
            text,
            conditions: Conditions::of(&request.filters).excluding(&request.exclude),
        };
        self.within_deadline(&request, question).await
    }
}

/// The present id and the text of a ticket: its title, then its description as
/// far as a question may reach.
async fn ticket(
    client: &Client,
    id: &str,
    filters: &Filters,
) -> Result<(String, String), SearchError> {
    let missing = || {
        SearchError::new(
            "not_found",
            404,
            format!("there is no ticket {id:?}"),
            "write its id as it is shown in hits, such as owner/repo#7",
        )
    };
    // The filters are about the hits; of them only the visibility concerns it.
    let mut visible = Filters::default();
    if let [level] = filters.get("visibility") {
        visible.add("visibility", level)?;
    }
    let conditions = Conditions::of(&visible);
    let found = exact::tickets(client, &[id.trim().to_owned()], &conditions).await?;
    let ticket_id = *found.first().ok_or_else(missing)?;
    let mut values = Values::default();
    let (ticket, level) = (
        values.bind(Value::Big(ticket_id)),
        values.bind(Value::Small(conditions.visibility)),
    );
    let sql = format!(
        "SELECT t.id, t.title, ARRAY(SELECT convert_from(substr(convert_to(c.text, 'UTF8'), \
                c.prefix_len + 1), 'UTF8') FROM chunks c \
              WHERE c.ticket_id = t.ticket_id AND c.kind IN ('description', 'finding') \
              AND c.visibility <= {level} ORDER BY c.seq LIMIT 64) \
         FROM tickets t WHERE t.ticket_id = {ticket}"
    );
    let rows = Statement { sql, values }
        .rows(client)
        .await
        .map_err(|error| SearchError::postgres("reading the ticket", error))?;
    let row = rows.first().ok_or_else(missing)?;
    let mut text: String = row.get(1);
    for part in row.get::<_, Vec<String>>(2) {
        if text.len() + part.len() + 2 > MAX_QUERY_BYTES {
            break;
        }
        text.push_str("\n\n");
        text.push_str(&part);
    }
    Ok((row.get(0), text))
}

/// Without ids and addresses: what names the same ticket is not like it for that.
fn without_ids(text: &str) -> String {
    let names = |word: &&str| {
        word.contains("://")
            || exact::candidates(word, &Filters::default())
                .iter()
                .any(|id| id.contains(['#', '!']))
            || word
                .trim_matches(|c: char| !c.is_alphanumeric() && c != '#')
                .starts_with('#')
    };
    let words: Vec<&str> = text
        .split_whitespace()
        .filter(|word| !names(word))
        .collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_addresses_are_left_out() {
        assert_eq!(
            without_ids(
                "Duplicate of #7, (acme/rockets#8) see https://h/x#1: pump leaks, group/a!3 v1.2"
            ),
            "Duplicate of see pump leaks, v1.2"
        );
    }
}
