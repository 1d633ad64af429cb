//! Connections for reading.

use crate::SearchError;
use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime, Timeouts};
use std::time::Duration;
use tokio_postgres::NoTls;

/// Settings of each connection.
/// - A filtered search through the vector index goes on until it has its rows;
///   the order is mended afterwards.
/// - Every statement is planned for its own values: a filter on three tickets
///   and one on all of them need different plans.
const OPTIONS: &str = "-c hnsw.ef_search=200 -c hnsw.iterative_scan=relaxed_order \
                       -c hnsw.max_scan_tuples=100000 -c plan_cache_mode=force_custom_plan \
                       -c default_transaction_read_only=on -c jit=off -c timezone=UTC";

/// A pool of at most `size` connections to `url`. A statement that runs longer
/// than `deadline` ends on the server too.
///
/// # Errors
/// When `url` is not of the form `postgres://user:password@host:port/database`.
pub fn pool(url: &str, size: usize, deadline: Duration) -> Result<Pool, SearchError> {
    let refused = |error: Box<dyn std::error::Error + Send + Sync>| SearchError {
        source: Some(error),
        ..SearchError::new(
            "bad_config",
            500,
            "the Postgres address cannot be read",
            "write it as postgres://user:password@host:port/database",
        )
    };
    let mut config: tokio_postgres::Config = url
        .parse()
        .map_err(|error: tokio_postgres::Error| refused(error.into()))?;
    let options = format!(
        "{} {OPTIONS} -c statement_timeout={}",
        config.get_options().unwrap_or_default(),
        deadline.as_millis()
    );
    config
        .application_name("whence query")
        .connect_timeout(deadline)
        .options(options);
    let recycling = ManagerConfig {
        recycling_method: RecyclingMethod::Fast,
    };
    Pool::builder(Manager::from_config(config, NoTls, recycling))
        .max_size(size)
        .runtime(Runtime::Tokio1)
        .timeouts(Timeouts {
            wait: Some(deadline),
            create: Some(deadline),
            recycle: Some(deadline),
        })
        .build()
        .map_err(|error| refused(error.into()))
}
