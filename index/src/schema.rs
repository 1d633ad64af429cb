//! The schema's versions: compiled-in SQL files, applied in order, once.

use crate::IndexError;
use deadpool_postgres::Client;
use whence_contract::ContentHash;
use whence_log::ErrorKind;

struct Migration {
    version: i32,
    name: &'static str,
    sql: &'static str,
}

/// In order, from 1, without gaps. A committed file never changes: its checksum
/// is stored where it was applied.
const MIGRATIONS: &[Migration] = &[Migration {
    version: 1,
    name: "rows",
    sql: include_str!("../migrations/0001_rows.sql"),
}];

/// Any number that no other user of the database takes.
const LOCK: i64 = 0x0077_6865_6e63_6501;

const LEDGER: &str = "CREATE TABLE IF NOT EXISTS schema_migrations (
    version    integer PRIMARY KEY,
    name       text NOT NULL,
    checksum   text NOT NULL,
    applied_at timestamptz NOT NULL DEFAULT now()
)";

/// Brings the schema to this binary's version. Safe to call again, and by
/// several processes at once: each migration runs in a transaction under a lock.
///
/// # Errors
/// [`ErrorKind::Fatal`] when the schema is newer than this binary or was made by
/// other files than its own; the connection's errors otherwise.
pub async fn setup(client: &mut Client) -> Result<(), IndexError> {
    let failed = |what: &str| {
        let what = format!("setting up the schema: {what}");
        move |error| IndexError::postgres(what, error)
    };
    for migration in MIGRATIONS {
        let transaction = client.transaction().await.map_err(failed("begin"))?;
        transaction
            .execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK])
            .await
            .map_err(failed("waiting for another set-up"))?;
        transaction
            .batch_execute(LEDGER)
            .await
            .map_err(failed("the table of versions"))?;
        let applied = applied(&transaction).await?;
        compare(&applied, MIGRATIONS)?;
        if applied
            .iter()
            .all(|(version, _)| *version != migration.version)
        {
            transaction
                .batch_execute(migration.sql)
                .await
                .map_err(failed(&format!(
                    "version {} ({})",
                    migration.version, migration.name
                )))?;
            transaction
                .execute(
                    "INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)",
                    &[
                        &migration.version,
                        &migration.name,
                        &checksum(migration.sql),
                    ],
                )
                .await
                .map_err(failed("the table of versions"))?;
        }
        transaction.commit().await.map_err(failed("commit"))?;
    }
    Ok(())
}

/// Whether the schema is exactly this binary's; changes nothing.
///
/// # Errors
/// [`ErrorKind::Fatal`] with a sentence on what to do when it is not.
pub async fn check_schema(client: &Client) -> Result<(), IndexError> {
    let there = client
        .query_one("SELECT to_regclass('schema_migrations') IS NOT NULL", &[])
        .await
        .map_err(|error| IndexError::postgres("reading the schema's version", error))?;
    let applied = if there.get(0) {
        applied(client).await?
    } else {
        Vec::new()
    };
    compare(&applied, MIGRATIONS)?;
    let (found, known) = (applied.len(), MIGRATIONS.len());
    if found < known {
        return Err(IndexError::bare(
            ErrorKind::Fatal,
            format!(
                "the database has schema version {found}, this binary needs {known}: run set-up"
            ),
        ));
    }
    Ok(())
}

async fn applied(
    client: &impl deadpool_postgres::GenericClient,
) -> Result<Vec<(i32, String)>, IndexError> {
    let rows = client
        .query(
            "SELECT version, checksum FROM schema_migrations ORDER BY version",
            &[],
        )
        .await
        .map_err(|error| IndexError::postgres("reading the schema's version", error))?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Refuses what was applied and is not among `known`.
fn compare(applied: &[(i32, String)], known: &[Migration]) -> Result<(), IndexError> {
    for (version, found) in applied {
        let Some(migration) = known.iter().find(|migration| migration.version == *version) else {
            let newest = known.last().map_or(0, |migration| migration.version);
            return Err(IndexError::bare(
                ErrorKind::Fatal,
                format!(
                    "the database has schema version {version}, this binary knows versions up to \
                     {newest}: use a newer binary, or another database"
                ),
            ));
        };
        if checksum(migration.sql) != *found {
            return Err(IndexError::bare(
                ErrorKind::Fatal,
                format!(
                    "schema version {version} ({}) in the database was made by another file than \
                     this binary's: use the binary that made it, or a fresh database and a replay \
                     of the vectors",
                    migration.name
                ),
            ));
        }
    }
    Ok(())
}

fn checksum(sql: &str) -> String {
    ContentHash::of(sql).to_string()
}
