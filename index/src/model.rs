//! Generations of models: a vector table for each, side by side.

use crate::IndexError;
use deadpool_postgres::{Client, GenericClient};
use whence_contract::ModelId;
use whence_log::ErrorKind;

/// The most dimensions that an HNSW index takes as `vector`; `halfvec` takes
/// twice as many.
const VECTOR_DIMS: usize = 2000;
/// A vector up to this long fits a page and is kept beside its row, which makes
/// exact scans faster than fetching it from elsewhere.
const PLAIN_DIMS: usize = 1900;

/// A model's place in the tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generation {
    /// Surrogate key in `models`.
    pub model_id: i32,
    /// The whole identity.
    pub model: ModelId,
    /// The table's name, safe to stand in SQL.
    pub table: String,
    /// `vector` or `halfvec`.
    pub kind: String,
    /// Length of a vector.
    pub dims: usize,
    /// Whether searches use it.
    pub active: bool,
}

/// Makes the table `vectors_<slug>` and its index for `model`, unless they are
/// there; the first model becomes the active one. `slug` is the one of the
/// model's stream; characters outside `[a-z0-9_]` become `_`.
///
/// # Errors
/// [`ErrorKind::Fatal`] when the model is there with other dimensions or
/// another slug, or the slug belongs to another model.
pub async fn setup_model(
    client: &mut Client,
    model: &ModelId,
    slug: &str,
    dims: usize,
) -> Result<Generation, IndexError> {
    let failed = |error| IndexError::postgres(format!("setting up the model {model}"), error);
    let table = table(slug)?;
    if let Some(found) = find_model(client, model).await? {
        if found.dims == dims && found.table == table {
            return Ok(found);
        }
        return Err(IndexError::bare(
            ErrorKind::Fatal,
            format!(
                "the model {model} is in the tables as {} with {} dimensions, not as {table} with \
                 {dims}: give the changed model an identity and a name of its own",
                found.table, found.dims
            ),
        ));
    }
    let kind = if dims <= VECTOR_DIMS {
        "vector"
    } else {
        "halfvec"
    };
    let dims_column = i32::try_from(dims).map_err(|_| {
        IndexError::bare(ErrorKind::Fatal, format!("a model with {dims} dimensions"))
    })?;
    let transaction = client.transaction().await.map_err(failed)?;
    transaction
        .execute("LOCK TABLE models IN SHARE ROW EXCLUSIVE MODE", &[])
        .await
        .map_err(failed)?;
    if find_model(&transaction, model).await?.is_none() {
        transaction
            .execute(
                "INSERT INTO models (model, slug, dims, type, active)
                 VALUES ($1, $2, $3, $4, NOT EXISTS (SELECT FROM models WHERE active))",
                &[
                    &model.0,
                    &table.trim_start_matches("vectors_"),
                    &dims_column,
                    &kind,
                ],
            )
            .await
            .map_err(failed)?;
        let storage = if kind == "vector" && dims > PLAIN_DIMS {
            "EXTERNAL"
        } else {
            "PLAIN"
        };
        transaction
            .batch_execute(&format!(
                "CREATE TABLE {table} (
                     ticket_id bigint NOT NULL REFERENCES tickets ON DELETE CASCADE,
                     text_hash bytea NOT NULL,
                     embedding {kind}({dims}) NOT NULL,
                     PRIMARY KEY (ticket_id, text_hash)
                 );
                 ALTER TABLE {table} ALTER COLUMN embedding SET STORAGE {storage};
                 CREATE INDEX {table}_hnsw ON {table} USING hnsw (embedding {kind}_cosine_ops);"
            ))
            .await
            .map_err(failed)?;
    }
    transaction.commit().await.map_err(failed)?;
    find_model(client, model).await?.ok_or_else(|| {
        IndexError::bare(
            ErrorKind::Fatal,
            format!("the model {model} was removed during set-up"),
        )
    })
}

/// The generation of `model`, if it was set up.
///
/// # Errors
/// When the table cannot be read.
pub async fn find_model(
    client: &impl GenericClient,
    model: &ModelId,
) -> Result<Option<Generation>, IndexError> {
    let row = client
        .query_opt(
            "SELECT model_id, slug, type, dims, active FROM models WHERE model = $1",
            &[&model.0],
        )
        .await
        .map_err(|error| IndexError::postgres(format!("looking up the model {model}"), error))?;
    Ok(row.map(|row| Generation {
        model_id: row.get(0),
        model: model.clone(),
        table: format!("vectors_{}", row.get::<_, String>(1)),
        kind: row.get(2),
        dims: usize::try_from(row.get::<_, i32>(3)).unwrap_or_default(),
        active: row.get(4),
    }))
}

/// Makes `model` the one that answers, in one transaction.
///
/// # Errors
/// [`ErrorKind::Fatal`] when it was never set up.
pub async fn activate_model(client: &mut Client, model: &ModelId) -> Result<(), IndexError> {
    let failed = |error| IndexError::postgres(format!("activating the model {model}"), error);
    let transaction = client.transaction().await.map_err(failed)?;
    // Two statements: at most one row may be active at any moment.
    transaction
        .execute(
            "UPDATE models SET active = false WHERE active AND model <> $1",
            &[&model.0],
        )
        .await
        .map_err(failed)?;
    let changed = transaction
        .execute(
            "UPDATE models SET active = true WHERE model = $1",
            &[&model.0],
        )
        .await
        .map_err(failed)?;
    if changed == 0 {
        return Err(IndexError::bare(
            ErrorKind::Fatal,
            format!("the model {model} has no table of vectors: set it up and embed first"),
        ));
    }
    transaction.commit().await.map_err(failed)
}

/// `vectors_<slug>`, safe to stand in SQL unquoted.
fn table(slug: &str) -> Result<String, IndexError> {
    let safe: String = slug
        .to_ascii_lowercase()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    // Names of tables end at 63 bytes, the index's suffix included.
    if safe.is_empty() || safe.len() > 48 {
        return Err(IndexError::bare(
            ErrorKind::Fatal,
            format!("{slug:?} cannot name a table of vectors: use 1 to 48 letters, digits, - or _"),
        ));
    }
    Ok(format!("vectors_{safe}"))
}
