//! How much was said on each ticket: what a comparison with upstream needs.

use crate::IndexError;
use deadpool_postgres::GenericClient;
use serde::Serialize;

/// One upstream ticket as it is searchable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Discussion {
    /// The ticket's identity within its scope.
    pub ticket: String,
    /// What people write.
    pub id: String,
    /// Comments and review comments, empty ones included.
    pub comments: u64,
}

/// The upstream tickets of a scope, by identity.
///
/// # Errors
/// When the tables cannot be read.
pub async fn discussions(
    client: &impl GenericClient,
    source: &str,
    scope: &str,
) -> Result<Vec<Discussion>, IndexError> {
    let sql = "SELECT t.ticket, t.id, count(u.unit)
               FROM tickets t LEFT JOIN units u
                    ON u.ticket_id = t.ticket_id AND u.kind IN ('comment', 'review-comment')
               WHERE t.provenance = 'upstream' AND t.source = $1 AND t.scope = $2
               GROUP BY t.ticket_id ORDER BY t.ticket";
    let rows = client
        .query(sql, &[&source, &scope])
        .await
        .map_err(|error| IndexError::postgres("counting comments", error))?;
    Ok(rows
        .iter()
        .map(|row| Discussion {
            ticket: row.get(0),
            id: row.get(1),
            comments: row.get::<_, i64>(2).unsigned_abs(),
        })
        .collect())
}
