//! Claim checks: a body that exceeds a message rides in the object store.
//!
//! The object is put first, then the message that names it, then the object of
//! the message before is removed. A crash in between leaves an object that no
//! message names; [`Log::sweep_claims`] finds it.

use crate::{Edge, Log, LogError, LogErrorKind, setup::CLAIMS, wire::Head};
use async_nats::jetstream::object_store::ObjectMetadata;
use bytes::Bytes;
use futures::TryStreamExt;
use whence_contract::TicketKey;

/// Headers, subject and protocol count towards the server's limit as well.
const OVERHEAD: usize = 16 * 1024;
/// An object younger than this may belong to a message on its way.
const SWEEP_AGE_SECONDS: i64 = 600;

impl Log {
    /// The payload to send: `body`, or nothing with the claim set in `head`.
    pub(crate) async fn claim_if_oversize(
        &self,
        edge: &Edge,
        head: &mut Head,
        body: Bytes,
    ) -> Result<Bytes, LogError> {
        if body.len() + OVERHEAD <= self.max_payload() {
            return Ok(body);
        }
        let name = format!(
            "{}/{}",
            edge.subject(&head.key),
            self.js.client().new_inbox()
        );
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| {
            LogError::new(
                LogErrorKind::Transient,
                format!(
                    "cannot store the oversize body of {} ({} bytes)",
                    head.key,
                    body.len()
                ),
                source,
            )
        };
        let store = self
            .js
            .get_object_store(CLAIMS)
            .await
            .map_err(|e| failed(e.into()))?;
        let metadata = ObjectMetadata {
            name: name.clone(),
            ..ObjectMetadata::default()
        };
        store
            .put(metadata, &mut body.as_ref())
            .await
            .map_err(|e| failed(e.into()))?;
        head.claim = Some(name);
        Ok(Bytes::new())
    }

    /// Removes an object. A failure leaves an orphan for the sweep.
    pub(crate) async fn drop_claim(&self, name: &str) {
        let removed = match self.js.get_object_store(CLAIMS).await {
            Ok(store) => store.delete(name).await.map_err(|e| e.to_string()),
            Err(e) => Err(e.to_string()),
        };
        if let Err(error) = removed {
            tracing::warn!(
                name,
                error,
                "an outdated oversize body stays until the next sweep"
            );
        }
    }

    /// Removes every object that its subject's message does not name, and says
    /// how many. Objects of the last ten minutes are left alone.
    ///
    /// # Errors
    /// When the store cannot be listed.
    pub async fn sweep_claims(&self, models: &[String]) -> Result<u64, LogError> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| {
            LogError::new(
                LogErrorKind::Transient,
                "cannot list oversize bodies",
                source,
            )
        };
        let store = self
            .js
            .get_object_store(CLAIMS)
            .await
            .map_err(|e| failed(e.into()))?;
        let mut objects = store.list().await.map_err(|e| failed(e.into()))?;
        let now = jiff::Timestamp::now().as_second();
        let mut swept = 0;
        while let Some(object) = objects.try_next().await.map_err(|e| failed(e.into()))? {
            let modified = object.modified.map_or(0, |time| time.unix_timestamp());
            if now - modified < SWEEP_AGE_SECONDS {
                continue;
            }
            let named = match owner(&object.name, models) {
                Some((edge, key)) => {
                    let last = self.last(&edge, &key).await?;
                    last.and_then(|s| s.head.claim).as_deref() == Some(object.name.as_str())
                }
                None => false,
            };
            if !named {
                self.drop_claim(&object.name).await;
                swept += 1;
            }
        }
        Ok(swept)
    }
}

/// Whose message should name the object.
fn owner(name: &str, models: &[String]) -> Option<(Edge, TicketKey)> {
    let (subject, _) = name.split_once('/')?;
    let key = TicketKey::from_subject(subject).ok()?;
    let edge = Edge::all(models)
        .into_iter()
        .find(|edge| edge.subject(&key) == subject)?;
    Some((edge, key))
}
