//! What the query service takes in besides questions: wishes, local notes and
//! webhooks. All of it goes into the log.

use crate::{
    context::Context,
    harvest,
    wishes::{self, Wish},
};
use async_trait::async_trait;
use serde_json::{json, value::RawValue};
use std::sync::Arc;
use tokio_util::sync::CancellationToken;
use whence_contract::{Dialect, Provenance, RawTicket, TicketKey, Timestamp};
use whence_harvest::{HookError, HookRequest, Settings, SourceSpec, read_hook};
use whence_log::Published;
use whence_query::{
    SearchError,
    http::{Intake, Invalidate, Invalidated, LocalSync, Noted, Stored},
};

/// The scope of notes beside tickets: one for all, the ticket's id tells them apart.
const LOCAL: &str = "local";
/// Who publishes them, for the log.
const ORIGIN: &str = "local:sync";

/// The binary's side of [`Intake`].
pub(crate) struct LogIntake {
    context: Arc<Context>,
    sources: Vec<SourceSpec>,
    stop: CancellationToken,
}

impl LogIntake {
    /// For the sources of the configuration.
    pub(crate) fn new(context: Arc<Context>, stop: CancellationToken) -> anyhow::Result<Self> {
        Ok(Self {
            sources: harvest::parse(&context.config.sources)?,
            context,
            stop,
        })
    }
}

#[async_trait]
impl Intake for LogIntake {
    async fn invalidate(&self, request: Invalidate) -> Result<Invalidated, SearchError> {
        let ticket = one_line("ticket_id", &request.ticket_id)?;
        let sources =
            wishes::candidates(&self.context, &self.sources, Some(&request.source), &ticket)
                .map_err(|error| SearchError::bad_request(format!("{error:#}"), "see `sources`"))?;
        let wants = wishes::leave(&self.context, &sources, &ticket)
            .await
            .map_err(unavailable)?;
        let outcome =
            wishes::outcome(&self.context, &wants, &ticket, request.wait, &self.stop).await;
        match outcome.map_err(unavailable)? {
            Wish::Unknown { ticket } => Err(SearchError::new(
                "not_found",
                404,
                format!("no source has a ticket {ticket}"),
                "is the name right, and may the token see it?",
            )),
            Wish::Failed { why, .. } => Err(SearchError::new(
                "upstream_failed",
                502,
                why,
                "see `whence sync-status`",
            )),
            Wish::Waiting { ticket } => Ok(Invalidated::Waiting { ticket }),
            Wish::Fetched {
                ticket,
                source,
                revision,
                searchable,
            } => Ok(Invalidated::Fetched {
                ticket,
                source,
                revision: revision.0,
                searchable,
            }),
        }
    }

    async fn local_sync(&self, request: LocalSync) -> Result<Stored, SearchError> {
        let ticket = one_line("ticket_id", &request.ticket_id)?;
        let source = one_line("source", &request.source)?;
        if let Some(file) = request.file.as_deref().filter(|file| is_private(file)) {
            return Err(SearchError::new(
                "refused",
                422,
                format!("{file:?} is a diary or a tracking file, and never kept"),
                "push findings.md",
            ));
        }
        let key = TicketKey {
            provenance: Provenance::Local,
            source: source.clone(),
            scope: LOCAL.to_owned(),
            ticket: ticket.clone(),
        };
        let log = &self.context.log;
        let now = Timestamp::now();
        let revision = if request.findings_md.trim().is_empty() {
            log.tombstone(&key, now).await
        } else {
            let payload = json!({"source": source, "ticket_id": ticket,
                "findings_md": request.findings_md});
            let payload = RawValue::from_string(payload.to_string())
                .map_err(|error| unavailable(error.into()))?;
            let raw = RawTicket::new(Dialect::LocalNotes, ORIGIN, now, payload);
            log.publish_raw(&key, &raw).await.map(|done| match done {
                Published::New(revision) | Published::Unchanged(revision) => Some(revision),
            })
        };
        let revision = revision.map_err(|error| unavailable(error.into()))?;
        if let Some(revision) = revision.filter(|_| request.wait) {
            wishes::findable(&self.context, &key, revision, &self.stop)
                .await
                .map_err(unavailable)?;
        }
        Ok(Stored {
            status: "stored",
            ticket,
            revision: revision.map(|revision| revision.0),
            searchable: request.wait,
        })
    }

    async fn hook(
        &self,
        kind: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> Result<Noted, SearchError> {
        let settings = Settings::new(self.context.config.kinds.clone());
        let request = HookRequest { headers, body };
        let tickets = read_hook(kind, &request, &settings).map_err(|error| {
            let (code, status) = match &error {
                HookError::Unknown(_) => ("not_found", 404),
                HookError::Off { .. } => ("hooks_off", 403),
                HookError::Forged => ("forged", 401),
                HookError::Malformed(_) => ("bad_request", 400),
            };
            SearchError::new(code, status, error.to_string(), "see docs/sources")
        })?;
        let mut noted = 0_u64;
        for ticket in &tickets {
            // A ticket of no source here is none of our business.
            let sources = wishes::candidates(&self.context, &self.sources, Some(kind), ticket)
                .unwrap_or_default();
            let wants = wishes::leave(&self.context, &sources, ticket)
                .await
                .map_err(unavailable)?;
            noted += u64::from(!wants.is_empty());
        }
        Ok(Noted {
            status: "noted",
            tickets: noted,
        })
    }
}

/// Diaries and tracking files say what happened to whom, not why things are so.
fn is_private(file: &str) -> bool {
    let name = file.rsplit(['/', '\\']).next().unwrap_or(file);
    name.eq_ignore_ascii_case("progress.md") || name.to_uppercase().starts_with("CURRENT-")
}

fn one_line(field: &str, text: &str) -> Result<String, SearchError> {
    let line = text.trim();
    if line.is_empty() || line.len() > 512 || line.chars().any(char::is_control) {
        return Err(SearchError::bad_request(
            format!("{field} must be one line of at most 512 bytes"),
            "such as \"owner/repo#7\" or \"PROJ-12\"",
        ));
    }
    Ok(line.to_owned())
}

fn unavailable(error: anyhow::Error) -> SearchError {
    let mut failed = SearchError::new(
        "unavailable",
        503,
        format!("{error}"),
        "see `whence status` and `whence doctor`",
    );
    failed.source = Some(error.into());
    failed
}

#[cfg(test)]
mod tests {
    use super::is_private;

    #[test]
    fn diaries_and_tracking_files_are_known_by_name() {
        for file in [
            "progress.md",
            "a/Progress.md",
            "CURRENT-MAZ-43",
            "x/current-ticket.md",
        ] {
            assert!(is_private(file), "{file}");
        }
        for file in ["findings.md", "in-progress.md", "recurrent.md"] {
            assert!(!is_private(file), "{file}");
        }
    }
}
