//! A lease: a lock that a crashed holder loses.

use crate::{
    Log, LogError, LogErrorKind,
    setup::{LEASE_TTL, LEASES},
};
use async_nats::jetstream::kv::{CreateErrorKind, Store};
use tokio_util::sync::CancellationToken;
use whence_contract::encode_token;

/// Held until dropped or lost. [`Lease::lost`] fires when it could not be
/// renewed in time: whoever works under it must stop then.
#[derive(Debug)]
pub struct Lease {
    lost: CancellationToken,
    released: CancellationToken,
}

impl Lease {
    /// Cancelled when the lease is lost.
    pub fn lost(&self) -> CancellationToken {
        self.lost.clone()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.released.cancel();
    }
}

/// A lease, or who holds it.
#[derive(Debug)]
pub enum Leased {
    /// It is ours.
    Ours(Lease),
    /// Somebody else's; their name as they gave it.
    Held(String),
}

impl Log {
    /// Takes the lease `name` for `holder`, renews it in the background, and
    /// gives it back when the value is dropped. With `force` it is taken from
    /// whoever holds it, who learns of it at the next renewal.
    ///
    /// # Errors
    /// When the log cannot be read or written.
    pub async fn lease(&self, name: &str, holder: &str, force: bool) -> Result<Leased, LogError> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| {
            LogError::new(
                LogErrorKind::Transient,
                format!("cannot take the lease {name}"),
                source,
            )
        };
        let store = self.bucket(LEASES).await?;
        let key = encode_token(name);
        let value = bytes::Bytes::from(holder.to_owned());
        let revision = match store.create(&key, value.clone()).await {
            Ok(revision) => revision,
            Err(e) if e.kind() == CreateErrorKind::AlreadyExists => {
                if force {
                    store
                        .put(&key, value.clone())
                        .await
                        .map_err(|e| failed(e.into()))?
                } else {
                    let held = store.get(&key).await.map_err(|e| failed(e.into()))?;
                    let held = held.map(|b| String::from_utf8_lossy(&b).into_owned());
                    return Ok(Leased::Held(held.unwrap_or_default()));
                }
            }
            Err(e) => return Err(failed(e.into())),
        };
        let lease = Lease {
            lost: CancellationToken::new(),
            released: CancellationToken::new(),
        };
        let renewal = Renewal {
            store,
            key,
            value,
            revision,
            lost: lease.lost.clone(),
            released: lease.released.clone(),
        };
        tokio::spawn(renewal.run());
        Ok(Leased::Ours(lease))
    }
}

struct Renewal {
    store: Store,
    key: String,
    value: bytes::Bytes,
    revision: u64,
    lost: CancellationToken,
    released: CancellationToken,
}

impl Renewal {
    async fn run(mut self) {
        let mut renewed = tokio::time::Instant::now();
        loop {
            tokio::select! {
                () = self.released.cancelled() => break,
                () = tokio::time::sleep(LEASE_TTL / 6) => {}
            }
            match self
                .store
                .update(&self.key, self.value.clone(), self.revision)
                .await
            {
                Ok(revision) => {
                    self.revision = revision;
                    renewed = tokio::time::Instant::now();
                }
                Err(error) => {
                    // Another holder, or the server is away. Only the first is
                    // certain; in doubt the lease counts as lost a third before
                    // the server would give it to another.
                    let taken = error.kind()
                        == async_nats::jetstream::kv::UpdateErrorKind::WrongLastRevision;
                    if taken || renewed.elapsed() > LEASE_TTL * 2 / 3 {
                        self.lost.cancel();
                        return;
                    }
                }
            }
        }
        let _expires_anyway = self
            .store
            .delete_expect_revision(&self.key, Some(self.revision))
            .await;
    }
}
