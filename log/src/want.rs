//! Wishes to fetch one ticket now, from whoever hears of a change (a person, a
//! webhook) to whoever harvests its source.
//!
//! One entry for each source and name: wishes for the same ticket that nobody
//! has taken up yet are one.

use crate::{Log, LogError, LogErrorKind, setup::WANTS};
use futures::TryStreamExt;
use serde::{Deserialize, Serialize};
use whence_contract::{Revision, TicketKey, Timestamp, encode_token};

/// A ticket that somebody wants fetched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Want {
    /// The source as configured.
    pub source: String,
    /// The ticket as people write it.
    pub name: String,
    /// When it was asked for.
    pub asked_at: Timestamp,
    /// What came of it; `None` while nobody has taken it up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<WantAnswer>,
}

/// What came of a [`Want`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "outcome")]
pub enum WantAnswer {
    /// Its present state is in the log at this revision, tombstones included.
    Fetched {
        /// Which ticket.
        key: TicketKey,
        /// Which state of it.
        revision: Revision,
    },
    /// The service has no such ticket, and neither has the log.
    Unknown,
    /// It could not be fetched.
    Failed {
        /// Why, and what to do.
        why: String,
    },
}

impl Log {
    /// Leaves a wish. A wish that was answered before counts anew.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn want(&self, want: &Want) -> Result<(), LogError> {
        self.write_entry(WANTS, &entry(&want.source, &want.name), want)
            .await
    }

    /// The wish for a ticket of a source as it stands.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn wanted(&self, source: &str, name: &str) -> Result<Option<Want>, LogError> {
        self.read_entry(WANTS, &entry(source, name)).await
    }

    /// The wishes for a source that wait for an answer, the oldest first.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn wants(&self, source: &str) -> Result<Vec<Want>, LogError> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| {
            LogError::new(
                LogErrorKind::Transient,
                format!("cannot read bucket {WANTS}"),
                source,
            )
        };
        let bucket = self.bucket(WANTS).await?;
        let prefix = format!("{}.", encode_token(source));
        let mut keys = bucket.keys().await.map_err(|e| failed(e.into()))?;
        let mut waiting = Vec::new();
        while let Some(key) = keys.try_next().await.map_err(|e| failed(e.into()))? {
            if !key.starts_with(&prefix) {
                continue;
            }
            let stored = bucket.get(&key).await.map_err(|e| failed(e.into()))?;
            // An entry of another version of this program is not for us.
            let want = stored.and_then(|bytes| serde_json::from_slice::<Want>(&bytes).ok());
            waiting.extend(want.filter(|want| want.answer.is_none()));
        }
        waiting.sort_by_key(|want| want.asked_at);
        Ok(waiting)
    }

    /// Answers a wish, unless it was uttered again in between.
    ///
    /// # Errors
    /// When the log cannot be read or written.
    pub async fn answer(&self, want: &Want, answer: WantAnswer) -> Result<(), LogError> {
        let now = self.wanted(&want.source, &want.name).await?;
        if now.is_some_and(|now| now.asked_at > want.asked_at) {
            return Ok(());
        }
        let answered = Want {
            answer: Some(answer),
            ..want.clone()
        };
        self.want(&answered).await
    }
}

fn entry(source: &str, name: &str) -> String {
    format!("{}.{}", encode_token(source), encode_token(name))
}
