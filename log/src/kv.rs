//! What harvesting remembers between runs: cursors, run records, settings.
//! All of it in the log's key-value buckets, so harvesting needs no database.

use crate::{
    Log, LogError, LogErrorKind,
    setup::{CURSORS, RUNS, SETTINGS},
};
use async_nats::jetstream::kv::Store;
use futures::TryStreamExt;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use whence_contract::{StageVersion, Timestamp, encode_token};

/// One run of a source, as it stands now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The source as configured.
    pub source: String,
    /// What started it: `up`, `harvest`, `sync --full` …
    pub command: String,
    /// How it stands.
    pub status: RunStatus,
    /// When it began.
    pub started_at: Timestamp,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Timestamp>,
    /// When a run of this source last succeeded, this one included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_success_at: Option<Timestamp>,
    /// Runs that failed since then.
    #[serde(default)]
    pub consecutive_failures: u32,
    /// What it found and did.
    #[serde(default)]
    pub counts: RunCounts,
    /// What a person should know although the run went on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// It holds the source's lease.
    Running,
    /// All that was listed is in the log.
    Succeeded,
    /// It ended early; the next run resumes from the cursor.
    Failed,
}

/// What a run found and did, in tickets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunCounts {
    /// Seen upstream.
    pub listed: u64,
    /// New states published.
    pub published: u64,
    /// Equal to what was published last.
    pub unchanged: u64,
    /// Tombstones published.
    pub deleted: u64,
    /// Dead letters written.
    pub unreadable: u64,
}

#[derive(Clone, Serialize, Deserialize)]
struct Settings {
    code: u32,
    ordinal: u32,
    fingerprint: String,
}

impl Log {
    /// The cursor of `source`, opaque to everyone but its own code.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn cursor(&self, source: &str) -> Result<Option<Value>, LogError> {
        self.read(CURSORS, source).await
    }

    /// Stores the cursor; durable when this returns.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn put_cursor(&self, source: &str, cursor: &Value) -> Result<(), LogError> {
        self.write(CURSORS, source, cursor).await
    }

    /// The last run of `source`.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn last_run(&self, source: &str) -> Result<Option<RunRecord>, LogError> {
        self.read(RUNS, source).await
    }

    /// Stores how a run stands, in place of the source's last one.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn put_run(&self, run: &RunRecord) -> Result<(), LogError> {
        self.write(RUNS, &run.source, run).await
    }

    /// The last run of every source, by source.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn runs(&self) -> Result<Vec<RunRecord>, LogError> {
        let bucket = self.bucket(RUNS).await?;
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| unreadable(RUNS, source);
        let keys = bucket.keys().await.map_err(|e| failed(e.into()))?;
        let mut keys: Vec<String> = keys.try_collect().await.map_err(|e| failed(e.into()))?;
        keys.sort();
        let mut runs = Vec::new();
        for key in keys {
            if let Some(bytes) = bucket.get(&key).await.map_err(|e| failed(e.into()))? {
                runs.push(serde_json::from_slice(&bytes).map_err(|e| failed(e.into()))?);
            }
        }
        Ok(runs)
    }

    /// The version of a stage that starts now with these settings.
    ///
    /// Settings other than the last ones get the next ordinal, so what they make
    /// counts as newer; an older binary keeps out of the count.
    ///
    /// # Errors
    /// When the log cannot be read or written.
    pub async fn stage_version(
        &self,
        stage: &str,
        code: u32,
        fingerprint: &str,
    ) -> Result<StageVersion, LogError> {
        let bucket = self.bucket(SETTINGS).await?;
        let failed =
            |source: Box<dyn std::error::Error + Send + Sync>| unreadable(SETTINGS, source);
        let key = encode_token(stage);
        loop {
            let entry = bucket.entry(&key).await.map_err(|e| failed(e.into()))?;
            let last: Option<Settings> = entry
                .as_ref()
                .and_then(|e| serde_json::from_slice(&e.value).ok());
            let ordinal = match &last {
                Some(last) if last.code > code => return Ok(StageVersion { code, settings: 0 }),
                Some(last) if last.fingerprint == fingerprint && last.code == code => {
                    return Ok(StageVersion {
                        code,
                        settings: last.ordinal,
                    });
                }
                Some(last) => last.ordinal + 1,
                None => 1,
            };
            let next = Settings {
                code,
                ordinal,
                fingerprint: fingerprint.to_owned(),
            };
            let json = serde_json::to_vec(&next).map_err(|e| failed(e.into()))?;
            let revision = entry.map_or(0, |e| e.revision);
            // Another worker may start at the same moment: then look again.
            if bucket.update(&key, json.into(), revision).await.is_ok() {
                return Ok(StageVersion {
                    code,
                    settings: ordinal,
                });
            }
            self.ping().await?;
        }
    }

    pub(crate) async fn bucket(&self, name: &str) -> Result<Store, LogError> {
        self.js.get_key_value(name).await.map_err(|e| {
            LogError::new(
                LogErrorKind::Transient,
                format!("cannot open bucket {name}; if it never existed, run `whence setup`"),
                e,
            )
        })
    }

    /// The value under a name of any characters.
    pub(crate) async fn read<T: DeserializeOwned>(
        &self,
        bucket: &str,
        name: &str,
    ) -> Result<Option<T>, LogError> {
        self.read_entry(bucket, &encode_token(name)).await
    }

    /// The value under a key that the bucket takes as it is.
    pub(crate) async fn read_entry<T: DeserializeOwned>(
        &self,
        bucket: &str,
        key: &str,
    ) -> Result<Option<T>, LogError> {
        let store = self.bucket(bucket).await?;
        match store.get(key).await {
            Ok(Some(bytes)) => serde_json::from_slice(&bytes)
                .map(Some)
                .map_err(|e| unreadable(bucket, e)),
            Ok(None) => Ok(None),
            Err(e) => Err(unreadable(bucket, e)),
        }
    }

    /// Stores a value under a name of any characters.
    pub(crate) async fn write<T: Serialize>(
        &self,
        bucket: &str,
        name: &str,
        value: &T,
    ) -> Result<(), LogError> {
        self.write_entry(bucket, &encode_token(name), value).await
    }

    /// Stores a value under a key that the bucket takes as it is.
    pub(crate) async fn write_entry<T: Serialize>(
        &self,
        bucket: &str,
        key: &str,
        value: &T,
    ) -> Result<(), LogError> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| {
            LogError::new(
                LogErrorKind::Transient,
                format!("cannot write {key} to bucket {bucket}"),
                source,
            )
        };
        let json = serde_json::to_vec(value).map_err(|e| failed(e.into()))?;
        let store = self.bucket(bucket).await?;
        store
            .put(key, json.into())
            .await
            .map_err(|e| failed(e.into()))?;
        Ok(())
    }
}

fn unreadable(
    bucket: &str,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> LogError {
    LogError::new(
        LogErrorKind::Transient,
        format!("cannot read bucket {bucket}"),
        source,
    )
}
