//! Which ticket somebody means.

use crate::{
    SearchError,
    exact::page,
    sql::{Statement, Value, Values},
};
use deadpool_postgres::GenericClient;

/// The ticket by its present id, a former one, its address or that of a text in
/// it, in this order; upstream's before local notes, which share its id.
const RESOLVE: &str = "
    WITH f AS (
        SELECT ticket_id, CASE WHEN id = $1 THEN 0 ELSE 1 END AS place
            FROM tickets WHERE lower(id) = lower($1)
        UNION ALL SELECT ticket_id, 2 FROM tickets WHERE aliases @> ARRAY[$1]
        UNION ALL SELECT ticket_id, 3 FROM tickets WHERE url = ANY($2)
        UNION ALL SELECT ticket_id, 4 FROM units WHERE url = $1 AND visibility <= $3)
    SELECT t.ticket_id FROM f JOIN tickets t USING (ticket_id)
    WHERE t.visibility <= $3
    ORDER BY t.provenance = 'local', f.place, t.ticket_id LIMIT 1";

/// `None` where there is none that may be seen at `level`.
pub(super) async fn resolve(
    client: &impl GenericClient,
    name: &str,
    level: i16,
) -> Result<Option<i64>, SearchError> {
    let mut values = Values::default();
    values.bind(Value::Text(name.to_owned()));
    values.bind(Value::Texts(vec![name.to_owned(), page(name)]));
    values.bind(Value::Small(level));
    let sql = RESOLVE.to_owned();
    let rows = Statement { sql, values }
        .rows(client)
        .await
        .map_err(|error| SearchError::postgres("looking up the ticket", error))?;
    Ok(rows.first().map(|row| row.get(0)))
}
