//! Connecting, and the handle that everything else hangs on.

use crate::{Edge, LogError, LogErrorKind};
use async_nats::{ConnectOptions, Event, ServerAddr, jetstream};
use std::{fmt, path::PathBuf, time::Duration};

/// How long one request to the server may take before it counts as failed.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Publishes that may wait for their acknowledgement at a time.
const MAX_IN_FLIGHT: usize = 256;

/// Where the server is and who we are.
#[derive(Clone, Default)]
pub struct LogOptions {
    /// `nats://host:port`, several separated by commas; may carry
    /// `user:password@` or `token@`.
    pub url: String,
    /// Credentials file (JWT and seed), where the server wants one.
    pub credentials_file: Option<PathBuf>,
    /// Copies of every stream, 1 to 5; more than 1 needs a cluster.
    pub replicas: usize,
    /// Shown in the server's connection list.
    pub name: String,
}

impl fmt::Debug for LogOptions {
    /// Leaves the URL out: it may carry a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogOptions")
            .field("name", &self.name)
            .field("replicas", &self.replicas)
            .finish_non_exhaustive()
    }
}

/// A connection to the log. Cheap to clone; all clones share one connection,
/// which reconnects by itself for as long as the process runs.
#[derive(Clone)]
pub struct Log {
    pub(crate) js: jetstream::Context,
    pub(crate) replicas: usize,
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").finish_non_exhaustive()
    }
}

impl Log {
    /// Connects; does not create anything, see [`Log::set_up`].
    ///
    /// # Errors
    /// When no server answers, or it refuses us.
    pub async fn connect(options: &LogOptions) -> Result<Self, LogError> {
        let fatal = |source: Box<dyn std::error::Error + Send + Sync>| {
            LogError::new(
                LogErrorKind::Fatal,
                format!(
                    "cannot connect to NATS at {}; is nats-server running there, with JetStream, \
                     and are its credentials right?",
                    without_password(&options.url)
                ),
                source,
            )
        };
        let mut connect = ConnectOptions::new()
            .name(&options.name)
            .request_timeout(Some(REQUEST_TIMEOUT))
            .max_reconnects(None)
            .reconnect_delay_callback(|attempts| {
                Duration::from_millis((50 * attempts as u64).min(2_000))
            })
            .event_callback(|event| async move {
                match event {
                    Event::Connected => tracing::debug!("connected to NATS"),
                    Event::Disconnected => tracing::warn!("lost NATS, reconnecting"),
                    other => tracing::debug!(%other, "NATS client event"),
                }
            });
        if let Some(file) = &options.credentials_file {
            let text = std::fs::read_to_string(file).map_err(|e| fatal(e.into()))?;
            connect = connect.credentials(&text).map_err(|e| fatal(e.into()))?;
        }
        let mut addresses = Vec::new();
        for address in options.url.split(',') {
            let address: ServerAddr = address.trim().parse().map_err(|e| fatal(Box::new(e)))?;
            // The client takes credentials from its options, not from an address.
            connect = match (address.username(), address.password()) {
                (Some(user), Some(password)) => {
                    connect.user_and_password(user.to_owned(), password.to_owned())
                }
                (Some(token), None) => connect.token(token.to_owned()),
                (None, _) => connect,
            };
            addresses.push(address);
        }
        let client = connect
            .connect(addresses)
            .await
            .map_err(|e| fatal(e.into()))?;
        let js = jetstream::ContextBuilder::new()
            .timeout(REQUEST_TIMEOUT)
            .ack_timeout(REQUEST_TIMEOUT)
            .max_ack_inflight(MAX_IN_FLIGHT)
            .build(client);
        Ok(Self {
            js,
            replicas: options.replicas.max(1),
        })
    }

    /// Largest body plus headers that fits into a message, in bytes.
    pub(crate) fn max_payload(&self) -> usize {
        self.js.client().server_info().max_payload
    }

    /// The stream of `edge`, without asking the server.
    pub(crate) async fn stream(
        &self,
        edge: &Edge,
    ) -> Result<jetstream::stream::Stream<()>, LogError> {
        let name = edge.stream();
        self.js.get_stream_no_info(&name).await.map_err(|e| {
            LogError::new(
                LogErrorKind::Transient,
                format!("cannot open stream {name}"),
                e,
            )
        })
    }

    /// Whether the server answers now.
    ///
    /// # Errors
    /// When it does not, within the request timeout.
    pub async fn ping(&self) -> Result<(), LogError> {
        self.js.query_account().await.map(|_| ()).map_err(|e| {
            LogError::new(LogErrorKind::Transient, "NATS JetStream does not answer", e)
        })
    }
}

/// `url` as it may be shown: what stands before an `@` is left out.
fn without_password(url: &str) -> String {
    url.split(',')
        .map(|one| match (one.split_once("://"), one.rsplit_once('@')) {
            (Some((scheme, _)), Some((_, host))) => format!("{scheme}://…@{host}"),
            (None, Some((_, host))) => format!("…@{host}"),
            (_, None) => one.to_owned(),
        })
        .collect::<Vec<_>>()
        .join(",")
}

#[cfg(test)]
mod tests {
    use super::without_password;

    #[test]
    fn an_error_never_shows_a_password() {
        assert_eq!(
            without_password("nats://me:secret@host:4222,tok@b"),
            "nats://…@host:4222,…@b"
        );
        assert_eq!(without_password("nats://host:4222"), "nats://host:4222");
    }
}
