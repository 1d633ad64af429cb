//! All rows as text, to compare two databases row by row.

use crate::IndexError;
use deadpool_postgres::GenericClient;

/// A ticket's own key, in place of the surrogate.
const KEY: &str = "format('%s:%s/%s (%s)', t.source, t.scope, t.ticket, t.provenance)";

/// Every row of every table, one a line, ordered by ticket and key, without
/// surrogate keys and without the time of indexing. Numbers of vectors are
/// written out exactly. Two databases that hold the same have equal texts.
///
/// # Errors
/// When the tables cannot be read.
pub async fn fingerprint(client: &impl GenericClient) -> Result<String, IndexError> {
    let mut queries = vec![
        format!(
            "SELECT 'tickets ' || {KEY}, to_jsonb(t) - 'ticket_id' - 'indexed_at' FROM tickets t"
        ),
        format!(
            "SELECT 'postings ' || {KEY} || ' ' || p.visibility,
                    jsonb_object_agg(p.term, jsonb_build_array(p.tf, p.len, p.seqs, p.tfs))
             FROM postings p JOIN tickets t USING (ticket_id) GROUP BY 1, p.visibility"
        ),
        "SELECT 'postings without ticket ' || p.term, to_jsonb(p) FROM postings p
         WHERE NOT EXISTS (SELECT FROM tickets t WHERE t.ticket_id = p.ticket_id)"
            .to_owned(),
        "SELECT format('tombstones %s:%s/%s (%s)', source, scope, ticket, provenance),
                to_jsonb(revision) FROM tombstones"
            .to_owned(),
        format!(
            "SELECT 'model_tickets ' || m.model || ' ' || {KEY}, to_jsonb(r) - 'ticket_id' - 'model_id'
             FROM model_tickets r JOIN models m USING (model_id) JOIN tickets t USING (ticket_id)"
        ),
    ];
    for (table, place) in [
        ("units", "lpad(r.unit::text, 8, '0')"),
        ("chunks", "lpad(r.seq::text, 8, '0')"),
        ("ticket_labels", "lpad(r.place::text, 8, '0')"),
        ("ticket_files", "lpad(r.place::text, 8, '0')"),
        ("ticket_links", "lpad(r.place::text, 8, '0')"),
    ] {
        queries.push(format!(
            "SELECT '{table} ' || {KEY} || ' ' || {place}, to_jsonb(r) - 'ticket_id'
             FROM {table} r JOIN tickets t USING (ticket_id)"
        ));
    }
    let failed = |error| IndexError::postgres("reading all rows for a fingerprint", error);
    let models = client
        .query("SELECT slug FROM models ORDER BY slug", &[])
        .await
        .map_err(failed)?;
    for row in models {
        let slug: String = row.get(0);
        queries.push(format!(
            "SELECT 'vectors_{slug} ' || {KEY} || ' ' || encode(r.text_hash, 'hex'),
                    to_jsonb(r.embedding::text)
             FROM vectors_{slug} r JOIN tickets t USING (ticket_id)"
        ));
    }
    let mut text = String::new();
    for query in queries {
        let sql = format!(
            "SELECT line FROM (SELECT q.key COLLATE \"C\" AS key, q.key || ' ' || q.body::text AS line
                               FROM ({query}) AS q(key, body)) AS l ORDER BY key"
        );
        for row in client.query(&sql, &[]).await.map_err(failed)? {
            text.push_str(row.get(0));
            text.push('\n');
        }
    }
    Ok(text)
}
