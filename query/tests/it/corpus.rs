//! Small corpora, written as `index` writes them.

use async_trait::async_trait;
use pgvector::Vector;
use std::{collections::BTreeMap, sync::Arc};
use tokio_postgres::Client;
use whence_contract::{ContentHash, ModelId};
use whence_model::lexical::terms;
use whence_query::{EncodeError, Pool, QueryEncoder, SearchConfig, SearchService};

pub const DIMS: usize = 8;

/// A direction that depends on the text alone.
pub fn vector(text: &str) -> Vec<f32> {
    let hash = ContentHash::of(text);
    let bytes = hash.as_str().as_bytes();
    let mut vector: Vec<f32> = bytes
        .chunks(8)
        .map(|part| part.iter().map(|b| f32::from(*b) - 76.0).sum())
        .collect();
    let norm = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
    vector.iter_mut().for_each(|x| *x /= norm);
    vector
}

/// Gives each question the vector of its text.
pub struct Echo(pub ModelId);

#[async_trait]
impl QueryEncoder for Echo {
    fn model(&self) -> &ModelId {
        &self.0
    }

    async fn encode(&self, query: &str) -> Result<Vec<f32>, EncodeError> {
        if query.contains("broken model") {
            return Err(EncodeError("the model is away".to_owned()));
        }
        Ok(vector(query))
    }
}

pub fn service(pool: &Pool, config: SearchConfig) -> SearchService {
    let echo = Echo(ModelId("test".to_owned()));
    SearchService::new(pool.clone(), Some(Arc::new(echo)), config)
}

/// One ticket; its first text is the description.
#[derive(Clone, Debug)]
pub struct Ticket {
    pub id: String,
    pub project: String,
    pub kind: &'static str,
    pub title: String,
    pub state: Option<&'static str>,
    pub labels: Vec<&'static str>,
    pub aliases: Vec<String>,
    pub created_at: &'static str,
    pub files: Vec<&'static str>,
    pub texts: Vec<Text>,
}

#[derive(Clone, Debug)]
pub struct Text {
    pub text: String,
    pub author: &'static str,
    pub visibility: i16,
}

pub fn text(text: impl Into<String>) -> Text {
    Text {
        text: text.into(),
        author: "ada",
        visibility: 0,
    }
}

pub fn ticket(number: usize, title: &str, texts: &[&str]) -> Ticket {
    Ticket {
        id: format!("acme/rockets#{number}"),
        project: "acme/rockets".to_owned(),
        kind: "issue",
        title: title.to_owned(),
        state: Some("open"),
        labels: Vec::new(),
        aliases: Vec::new(),
        created_at: "2024-01-31T12:00:00Z",
        files: Vec::new(),
        texts: texts.iter().map(|body| text(*body)).collect(),
    }
}

impl Ticket {
    pub fn seq(at: usize) -> i32 {
        if at == 0 {
            0
        } else {
            999_999 + i32::try_from(at).unwrap()
        }
    }

    /// Terms of the whole ticket by visibility: the title three times, then all texts.
    pub fn counts(&self) -> BTreeMap<(String, i16), i32> {
        let mut counts = BTreeMap::new();
        for term in terms(&self.title) {
            *counts.entry((term, 0)).or_insert(0) += 3;
        }
        for text in &self.texts {
            for term in terms(&text.text) {
                *counts.entry((term, text.visibility)).or_insert(0) += 1;
            }
        }
        counts
    }

    /// The length seen at a visibility.
    pub fn len(&self, level: i16) -> i32 {
        self.counts()
            .iter()
            .filter(|((_, seen), _)| *seen <= level)
            .map(|(_, tf)| tf)
            .sum()
    }
}

pub async fn write(client: &Client, tickets: &[Ticket]) {
    client.batch_execute("BEGIN").await.unwrap();
    for ticket in tickets {
        one(client, ticket).await;
    }
    client.batch_execute("COMMIT; ANALYZE").await.unwrap();
}

async fn one(client: &Client, ticket: &Ticket) {
    let lens: Vec<i32> = (0..3).map(|level| ticket.len(level)).collect();
    let chunk_lens: Vec<i32> = ticket
        .texts
        .iter()
        .map(|text| i32::try_from(terms(&text.text).len()).unwrap())
        .collect();
    let created: jiff::Timestamp = ticket.created_at.parse().unwrap();
    let row = client
        .query_one(
            "INSERT INTO tickets (provenance, source, scope, ticket, id, aliases, project, kind,
                title, url, state, author, assignees, priority, created_at, updated_at, visibility,
                ticket_refs, events, meta, revision, recipe, indexer, indexed_at, chunk_count,
                lexical_len, chunks_len)
             VALUES ('upstream', 'github', $1, $2, $2, $3, $1, $4, $5, 'https://h/' || $2, $6, 'ada',
                '{bo}', 'High', $7, $7, 0, '{}', '[]', '{}', 1, '{1,0,1,0}', 1, now(), $8, $9, $10)
             RETURNING ticket_id",
            &[
                &ticket.project,
                &ticket.id,
                &ticket.aliases,
                &ticket.kind,
                &ticket.title,
                &ticket.state,
                &created,
                &i32::try_from(ticket.texts.len()).unwrap(),
                &lens,
                &chunk_lens.iter().sum::<i32>(),
            ],
        )
        .await
        .unwrap();
    let id: i64 = row.get(0);
    let mut postings: BTreeMap<(String, i16), (Vec<i32>, Vec<i32>)> = BTreeMap::new();
    for (at, text) in ticket.texts.iter().enumerate() {
        let (unit, seq) = (i32::try_from(at).unwrap(), Ticket::seq(at));
        let kind = if at == 0 { "description" } else { "comment" };
        client
            .execute(
                "INSERT INTO units (ticket_id, unit, kind, author, created_at, visibility, url)
                 VALUES ($1, $2, $3, $4, '2024-02-01Z', $5, $6)",
                &[
                    &id,
                    &unit,
                    &kind,
                    &text.author,
                    &text.visibility,
                    &format!("https://h/{}#c{unit}", ticket.id),
                ],
            )
            .await
            .unwrap();
        let hash = hex(&text.text);
        client
            .execute(
                "INSERT INTO chunks (ticket_id, seq, unit, kind, author, visibility, heading_path,
                    text, prefix_len, tokens, text_hash, code_refs, ticket_refs, lexical_len)
                 VALUES ($1, $2, $3, $4, $5, $6, '{Heading}', $7, 0, 1, $8, $9, '{}', $10)",
                &[
                    &id,
                    &seq,
                    &unit,
                    &kind,
                    &text.author,
                    &text.visibility,
                    &text.text,
                    &hash,
                    &serde_json::json!([{"file": "src/named.rs"}]),
                    &chunk_lens[at],
                ],
            )
            .await
            .unwrap();
        client
            .execute(
                "INSERT INTO vectors_test VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                &[&id, &hash, &Vector::from(vector(&text.text))],
            )
            .await
            .unwrap();
        let mut own: BTreeMap<String, i32> = BTreeMap::new();
        for term in terms(&text.text) {
            *own.entry(term).or_insert(0) += 1;
        }
        for (term, tf) in own {
            let (seqs, tfs) = postings.entry((term, text.visibility)).or_default();
            seqs.push(seq);
            tfs.push(tf);
        }
    }
    for ((term, seen), tf) in ticket.counts() {
        let (seqs, tfs) = postings.remove(&(term.clone(), seen)).unwrap_or_default();
        client
            .execute(
                "INSERT INTO postings VALUES ($1, $2, $3, $4, $5, $6, $7)",
                &[&term, &id, &seen, &tf, &lens[0], &seqs, &tfs],
            )
            .await
            .unwrap();
    }
    for (place, name) in (0_i32..).zip(&ticket.labels) {
        let sql = "INSERT INTO ticket_labels (ticket_id, name, place) VALUES ($1, $2, $3)";
        client.execute(sql, &[&id, name, &place]).await.unwrap();
    }
    for (place, path) in (0_i32..).zip(&ticket.files) {
        let sql = "INSERT INTO ticket_files VALUES ($1, $2, 'old/' || $3, $3, false, false, true)";
        client.execute(sql, &[&id, &place, path]).await.unwrap();
    }
}

fn hex(text: &str) -> Vec<u8> {
    ContentHash::of(text).as_str().as_bytes().to_vec()
}
