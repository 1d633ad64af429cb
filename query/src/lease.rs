//! A connection whose work ends with whoever waits for it.

use crate::SearchError;
use deadpool_postgres::{Client, Object, Pool, Timeouts};
use std::{ops::Deref, time::Duration};
use tokio_postgres::NoTls;

/// A connection of the pool. Dropped before [`Lease::done`], as when a caller
/// goes away or a deadline passes, it takes its statement back at the server and
/// leaves the pool, so that nobody is given a connection that is still at work.
pub(crate) struct Lease(Option<Client>);

impl Lease {
    pub(crate) async fn of(pool: &Pool) -> Result<Self, SearchError> {
        let client = pool.get().await.map_err(SearchError::pool)?;
        Ok(Self(Some(client)))
    }

    /// One that is free now, if any: whoever holds one already may not wait for
    /// another.
    pub(crate) async fn at_once(pool: &Pool) -> Option<Self> {
        let timeouts = Timeouts {
            wait: Some(Duration::ZERO),
            ..pool.timeouts()
        };
        let client = pool.timeout_get(&timeouts).await.ok()?;
        Some(Self(Some(client)))
    }

    /// The connection; `None` only after [`Lease::done`], which takes the lease.
    pub(crate) fn client(&mut self) -> Option<&mut Client> {
        self.0.as_mut()
    }

    /// All answers are in: back to the pool.
    pub(crate) fn done(mut self) {
        self.0 = None;
    }
}

impl Deref for Lease {
    type Target = Client;

    fn deref(&self) -> &Client {
        #[expect(
            clippy::expect_used,
            reason = "taken by `done` and by `drop` alone, and nobody sees it after them"
        )]
        self.0.as_ref().expect("a lease holds its connection")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(client) = self.0.take() else { return };
        let token = client.cancel_token();
        drop(Object::take(client));
        // Without a runtime the process ends, and the connection with it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Err(error) = token.cancel_query(NoTls).await {
                    tracing::debug!(%error, "a statement could not be taken back");
                }
            });
        }
    }
}
