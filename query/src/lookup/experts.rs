//! Who weighs in on a matter: those who wrote most of the best tickets on it.

use super::{LookupService, TicketSummary, snapshot, summary::SUMMARY};
use crate::{
    Filters, SearchError, SearchRequest, SearchService,
    filters::Conditions,
    sql::{Statement, Value, Values},
};
use deadpool_postgres::Client;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;

/// So many tickets are looked at.
const TICKETS: u32 = 50;
/// So many of them are shown for each person.
const SHOWN: usize = 5;

/// What the experts are asked about.
#[derive(Clone, Debug)]
pub enum Matter {
    /// A question, as a search takes it.
    Question(String),
    /// A file: the tickets of its history.
    Path(String),
}

/// Who weighs in.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Experts {
    /// The highest score first; of equal ones, by name.
    pub people: Vec<Expert>,
    /// How many tickets were looked at.
    pub tickets: usize,
}

/// Somebody who wrote on the matter.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Expert {
    /// As they mostly are written.
    pub name: String,
    /// Their share of each ticket's text, weighted by the ticket's rank. Falls
    /// along the people; comparable within one answer only.
    pub score: f64,
    /// On how many of the tickets they wrote.
    pub tickets: usize,
    /// The tickets that count most for them.
    pub evidence: Vec<Evidence>,
}

/// A ticket that shows it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Evidence {
    /// Which part of its text is theirs, 0 to 1.
    pub share: f64,
    /// The ticket.
    #[serde(flatten)]
    pub ticket: TicketSummary,
}

/// One person's part of one ticket.
struct Part {
    name: String,
    weight: f64,
    evidence: Evidence,
}

impl LookupService {
    /// The first `limit` people on `matter`, among the tickets that `filters`
    /// let pass.
    ///
    /// # Errors
    /// What the search and Postgres say.
    pub async fn experts(
        &self,
        search: &SearchService,
        matter: &Matter,
        filters: &Filters,
        limit: u32,
    ) -> Result<Experts, SearchError> {
        let keys: Vec<[String; 3]> = match matter {
            Matter::Question(question) => {
                let mut request = SearchRequest::new(question);
                request.k = TICKETS as usize;
                request.filters = filters.clone();
                let hits = search.search(&request).await?.hits.into_iter();
                hits.map(|hit| [hit.source, hit.provenance, hit.id])
                    .collect()
            }
            Matter::Path(path) => {
                let history = self.file_history(path, filters, TICKETS).await?;
                let tickets = history.entries.into_iter().map(|entry| entry.ticket);
                tickets
                    .map(|ticket| [ticket.source, ticket.provenance, ticket.id])
                    .collect()
            }
        };
        let conditions = Conditions::of(filters);
        let parts = self
            .with(async |client| parts(client, &keys, &conditions).await)
            .await?;
        Ok(rank(parts, keys.len(), limit))
    }
}

/// Who wrote what part of each ticket; `keys` are source, provenance and id,
/// best first.
async fn parts(
    client: &mut Client,
    keys: &[[String; 3]],
    conditions: &Conditions,
) -> Result<Vec<Part>, SearchError> {
    let mut values = Values::default();
    let [sources, provenances, ids] = [0, 1, 2].map(|at| {
        let column = keys.iter().filter_map(|key| key.get(at).cloned());
        values.bind(Value::Texts(column.collect()))
    });
    let level = values.bind(Value::Small(conditions.visibility));
    let sql = format!(
        "SELECT k.rank::float8 AS rank, a.name, a.share, {SUMMARY} \
         FROM unnest({sources}::text[], {provenances}::text[], {ids}::text[]) \
              WITH ORDINALITY AS k(source, provenance, id, rank) \
         JOIN tickets t ON lower(t.id) = lower(k.id) AND t.id = k.id AND t.source = k.source \
              AND t.provenance = k.provenance AND t.visibility <= {level} \
         JOIN LATERAL ( \
              SELECT mode() WITHIN GROUP (ORDER BY c.author) AS name, \
                     sum(c.tokens)::float8 / sum(sum(c.tokens)) OVER () AS share \
              FROM chunks c WHERE c.ticket_id = t.ticket_id AND c.visibility <= {level} \
              GROUP BY lower(c.author)) a ON a.name IS NOT NULL \
         ORDER BY k.rank, a.share DESC, a.name"
    );
    let at = snapshot(client).await?;
    let rows = Statement { sql, values }.rows(&at).await;
    let rows = rows.map_err(|error| SearchError::postgres("reading who wrote what", error))?;
    let part = |row: &tokio_postgres::Row| {
        let (rank, share): (f64, f64) = (row.get("rank"), row.get("share"));
        Part {
            name: row.get("name"),
            // As nDCG discounts: the tenth ticket counts a third of the first.
            weight: share / (rank + 1.0).log2(),
            evidence: Evidence {
                share,
                ticket: TicketSummary::of(row),
            },
        }
    };
    Ok(rows.iter().map(part).collect())
}

fn rank(parts: Vec<Part>, tickets: usize, limit: u32) -> Experts {
    let mut of: HashMap<String, Vec<Part>> = HashMap::new();
    for part in parts {
        of.entry(part.name.to_lowercase()).or_default().push(part);
    }
    let expert = |mut parts: Vec<Part>| {
        parts.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        let name = parts.first().map(|part| part.name.clone());
        Expert {
            name: name.unwrap_or_default(),
            score: parts.iter().map(|part| part.weight).sum(),
            tickets: parts.len(),
            evidence: parts
                .into_iter()
                .take(SHOWN)
                .map(|part| part.evidence)
                .collect(),
        }
    };
    let mut people: Vec<Expert> = of.into_values().map(expert).collect();
    people.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then_with(|| a.name.cmp(&b.name))
    });
    people.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    Experts { people, tickets }
}
