//! Dead letters: what a stage gave up on, with its cause.

use crate::{Edge, Log, LogError, LogErrorKind, Selection, StageError, wire::Head, worker::causes};
use async_nats::HeaderMap;
use bytes::Bytes;
use whence_contract::{
    DeadLetter, Provenance, Recipe, Revision, TicketKey, Timestamp, encode_token,
};

/// As much of an input as a letter keeps; the whole stays in its own stream.
const KEPT_BYTES: usize = 256 * 1024;

/// What a stage gives up on.
pub(crate) struct Letter<'a> {
    pub(crate) stage: &'a str,
    pub(crate) subject: &'a str,
    pub(crate) headers: Option<&'a HeaderMap>,
    pub(crate) input: &'a Bytes,
    pub(crate) error: &'a StageError,
    pub(crate) attempts: u64,
}

/// A dead letter and where it lies.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Buried {
    /// Its subject, which names it in commands.
    pub subject: String,
    /// Which ticket.
    pub key: TicketKey,
    /// The letter.
    pub letter: DeadLetter,
}

impl Log {
    /// Writes the dead letter of one message.
    pub(crate) async fn bury(&self, letter: Letter<'_>) -> Result<(), LogError> {
        let head = Head::decode(letter.subject, letter.headers).ok();
        let key = match &head {
            Some(head) => head.key.clone(),
            None => TicketKey::from_subject(letter.subject)
                .unwrap_or_else(|_| unknown("unknown", letter.subject)),
        };
        let revision = head.as_ref().map_or(Revision::default(), |h| h.revision);
        let recipe = head.as_ref().map_or(Recipe::default(), |h| h.recipe);
        self.dead_letter(
            &key,
            &DeadLetter {
                stage: letter.stage.to_owned(),
                subject: letter.subject.to_owned(),
                origin: head.and_then(|h| h.origin),
                location: None,
                revision,
                recipe,
                causes: causes(letter.error),
                attempts: letter.attempts,
                at: Timestamp::now(),
                size: letter.input.len() as u64,
                input: letter.input.to_vec(),
            },
        )
        .await
    }

    /// Writes a dead letter, in place of the stage's last one for this ticket.
    /// `input` is cut to what a message can hold.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub async fn dead_letter(&self, key: &TicketKey, letter: &DeadLetter) -> Result<(), LogError> {
        let mut letter = letter.clone();
        letter.input.truncate(KEPT_BYTES);
        let head = Head::new::<DeadLetter>(key.clone(), letter.revision, letter.recipe);
        let json = serde_json::to_vec(&letter).map_err(|e| {
            LogError::new(
                LogErrorKind::Malformed,
                format!("cannot encode a letter on {key}"),
                e,
            )
        })?;
        let subject = dead_subject(&letter.stage, key);
        let failed = |e| {
            LogError::new(
                LogErrorKind::Transient,
                format!("cannot write {subject}"),
                e,
            )
        };
        self.js
            .publish_with_headers(subject.clone(), head.encode(), json.into())
            .await
            .map_err(failed)?
            .await
            .map_err(failed)?;
        tracing::warn!(
            stage = letter.stage, %key, cause = letter.causes.join(": "),
            "dead letter; see `whence dead list`"
        );
        Ok(())
    }

    /// Removes the stage's dead letter of this ticket, if there is one: the
    /// ticket has passed, or is gone.
    ///
    /// # Errors
    /// When the log cannot be read or written.
    pub async fn resolve_dead(&self, stage: &str, key: &TicketKey) -> Result<(), LogError> {
        let subject = dead_subject(stage, key);
        let stream = self.stream(&Edge::Dead).await?;
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| {
            LogError::new(
                LogErrorKind::Transient,
                format!("cannot clear {subject}"),
                source,
            )
        };
        match stream.get_last_raw_message_by_subject(&subject).await {
            Ok(message) => {
                stream
                    .delete_message(message.sequence)
                    .await
                    .map_err(|e| failed(e.into()))?;
                Ok(())
            }
            Err(e)
                if e.kind()
                    == async_nats::jetstream::stream::LastRawMessageErrorKind::NoMessageFound =>
            {
                Ok(())
            }
            Err(e) => Err(failed(e.into())),
        }
    }

    /// All dead letters of the selection, oldest first.
    ///
    /// # Errors
    /// When the log cannot be read to its end.
    pub async fn dead_letters(&self, selection: &Selection) -> Result<Vec<Buried>, LogError> {
        let scanned = self.scan(&Edge::Dead, selection, false).await?;
        scanned
            .into_iter()
            .map(|message| {
                let letter = serde_json::from_slice(&message.payload).map_err(|e| {
                    LogError::new(
                        LogErrorKind::Malformed,
                        format!("cannot read the dead letter {}", message.subject),
                        e,
                    )
                })?;
                Ok(Buried {
                    subject: message.subject,
                    key: message.head.key,
                    letter,
                })
            })
            .collect()
    }

    /// Sends the input of a dead letter through its stage again, as it stands in
    /// the input stream now. The letter goes when the ticket passes. False where
    /// there is nothing to send: the letter is harvest's, or its input is gone.
    ///
    /// # Errors
    /// When the log cannot be read or written.
    pub async fn retry_dead(&self, buried: &Buried, models: &[String]) -> Result<bool, LogError> {
        let edge = Edge::all(models)
            .into_iter()
            .find(|edge| edge.subject(&buried.key) == buried.letter.subject);
        match edge {
            Some(edge) => self.touch(&edge, &buried.key).await,
            None => Ok(false),
        }
    }
}

/// Where the letter of `stage` on `key` lies.
fn dead_subject(stage: &str, key: &TicketKey) -> String {
    format!(
        "{}.{}.{}",
        Edge::Dead.prefix(),
        encode_token(stage),
        key.tokens()
    )
}

/// A key for what has none: an item that cannot be read, at a place.
pub fn unknown(source: &str, place: &str) -> TicketKey {
    TicketKey {
        provenance: Provenance::Upstream,
        source: source.to_owned(),
        scope: String::new(),
        ticket: place.to_owned(),
    }
}
