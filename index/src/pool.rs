//! Connections to Postgres.

use crate::IndexError;
use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime, Timeouts};
use std::time::Duration;
use tokio_postgres::NoTls;
use whence_log::ErrorKind;

/// How long a worker waits for a connection before it counts as a failure, to
/// be tried again.
const WAIT: Duration = Duration::from_secs(10);

/// A pool of at most `size` connections to `url`
/// (`postgres://user:password@host:port/database`). Connects when first used.
///
/// # Errors
/// [`ErrorKind::Fatal`] when `url` is not one.
pub fn pool(url: &str, size: usize) -> Result<Pool, IndexError> {
    let mut config: tokio_postgres::Config = url.parse().map_err(|error| IndexError {
        // The address itself may hold a password.
        what: "the Postgres address is not of the form postgres://user:password@host:port/database"
            .to_owned(),
        kind: ErrorKind::Fatal,
        source: Some(Box::<dyn std::error::Error + Send + Sync>::from(error)),
    })?;
    config
        .application_name("whence index")
        .connect_timeout(WAIT);
    // Times are stored with their zone; as text they must not depend on the server's.
    let options = format!(
        "{} -c timezone=UTC",
        config.get_options().unwrap_or_default()
    );
    config.options(options);
    let manager = Manager::from_config(
        config,
        NoTls,
        ManagerConfig {
            recycling_method: RecyclingMethod::Fast,
        },
    );
    Pool::builder(manager)
        .max_size(size)
        .runtime(Runtime::Tokio1)
        .timeouts(Timeouts {
            wait: Some(WAIT),
            create: Some(WAIT),
            recycle: Some(WAIT),
        })
        .build()
        .map_err(|error| IndexError {
            what: "cannot make the Postgres connection pool".to_owned(),
            kind: ErrorKind::Fatal,
            source: Some(error.into()),
        })
}
