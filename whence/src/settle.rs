//! Waiting until everything that was harvested is searchable.

use crate::{context::Context, progress};
use anyhow::Result;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use whence_log::Edge;

const POLL: Duration = Duration::from_millis(100);

/// Returns when no message waits or is in work anywhere, or when stopped.
///
/// Every stage publishes before it acknowledges, so a ticket is always counted
/// in at least one place until it is indexed or dead.
pub(crate) async fn settle(context: &Context, stop: &CancellationToken) -> Result<()> {
    let mut most = 0;
    let bar = progress::bar("index", 0);
    loop {
        let under_way = match context.log.under_way(&Edge::Raw, &context.models).await {
            Ok(under_way) => under_way,
            // The server may be restarting; the supervisor says so.
            Err(error) => {
                tracing::debug!(%error, "cannot see the streams");
                u64::MAX
            }
        };
        if under_way == 0 || stop.is_cancelled() {
            bar.finish_and_clear();
            return Ok(());
        }
        if under_way != u64::MAX {
            most = most.max(under_way);
            bar.set_length(most);
            bar.set_position(most - under_way);
        }
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(POLL) => {}
        }
    }
}
