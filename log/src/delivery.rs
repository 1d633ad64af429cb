//! A delivery as a guard: whoever drops it unsettled gives it back.

use crate::{LogError, LogErrorKind};
use async_nats::jetstream::{AckKind, message::Acker};
use std::time::Duration;

/// One message in a worker's hands. It can be done, or given back; dropped
/// without either (a panic, a cancelled task) it is given back at once.
pub(crate) struct Delivery {
    acker: Option<Acker>,
}

impl Delivery {
    pub(crate) fn new(acker: Acker) -> Self {
        Self { acker: Some(acker) }
    }

    /// Tells the server that work goes on. A lost signal costs a redelivery,
    /// which is harmless, so a failure is not an error.
    pub(crate) async fn progress(&self) {
        if let Some(acker) = &self.acker
            && let Err(error) = acker.ack_with(AckKind::Progress).await
        {
            tracing::debug!(%error, "could not signal progress");
        }
    }

    /// Confirms the message and waits for the server to confirm that.
    pub(crate) async fn done(mut self) -> Result<(), LogError> {
        let Some(acker) = self.acker.take() else {
            return Ok(());
        };
        acker.double_ack().await.map_err(|e| {
            LogError::new(
                LogErrorKind::Transient,
                "the acknowledgement was not confirmed",
                e,
            )
        })
    }

    /// Gives the message back, for another try after `delay`.
    pub(crate) async fn give_back(mut self, delay: Option<Duration>) {
        if let Some(acker) = self.acker.take() {
            give_back(acker, delay).await;
        }
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        let Some(acker) = self.acker.take() else {
            return;
        };
        // Outside a runtime (at its very end) the ack wait does the same, later.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(give_back(acker, None));
        }
    }
}

async fn give_back(acker: Acker, delay: Option<Duration>) {
    if let Err(error) = acker.ack_with(AckKind::Nak(delay)).await {
        tracing::debug!(%error, "could not give a message back; it returns after the ack wait");
    }
}
