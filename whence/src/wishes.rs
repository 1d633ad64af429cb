//! Fetching single tickets: a wish in the log, granted by whoever harvests the
//! source, and waiting until the new state can be found.

use crate::context::Context;
use anyhow::{Context as _, Result, bail};
use serde::Serialize;
use std::{
    sync::Arc,
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;
use whence_contract::{Revision, TicketKey, Timestamp};
use whence_harvest::{
    HarvestError, Notice, Opening, RunOptions, Settings, Source, SourceSpec, grant_wishes,
};
use whence_log::{Selection, Want, WantAnswer};

const POLL: Duration = Duration::from_millis(200);
/// Longer than a pass needs between two looks, and than most budgets make it wait.
const PATIENCE: Duration = Duration::from_secs(120);

/// How a wish ended.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case", tag = "status")]
pub(crate) enum Wish {
    /// The present state is in the log, and searchable where that was asked for.
    Fetched {
        ticket: String,
        source: String,
        revision: Revision,
        searchable: bool,
    },
    /// No such ticket there, and none here.
    Unknown { ticket: String },
    /// It could not be fetched.
    Failed { ticket: String, why: String },
    /// Nobody has taken it up yet; it stays noted.
    Waiting { ticket: String },
}

/// Opens a source with the configuration's settings.
pub(crate) fn open(
    context: &Context,
    spec: &SourceSpec,
    notice: Notice,
) -> Result<Box<dyn Source>> {
    let opening = Opening {
        settings: Settings::new(context.config.kinds.clone()),
        notice,
        ..Opening::new(Timestamp::now)
    };
    spec.open(&opening)
        .with_context(|| format!("cannot open {}", spec.as_str()))
}

/// The sources among `sources` that a ticket may be in: those that it is called
/// after, else all trackers, since a moved ticket keeps answering to old names.
pub(crate) fn candidates(
    context: &Context,
    sources: &[SourceSpec],
    kind: Option<&str>,
    ticket: &str,
) -> Result<Vec<SourceSpec>> {
    let mut trackers = Vec::new();
    let mut covering = Vec::new();
    for spec in sources {
        if kind.is_some_and(|kind| kind != spec.kind()) {
            continue;
        }
        let source = open(context, spec, Arc::new(|_| ()))?;
        if let Some(tracker) = source.tracker() {
            trackers.push(spec.clone());
            if tracker.covers(ticket) {
                covering.push(spec.clone());
            }
        }
    }
    if trackers.is_empty() {
        bail!(
            "no source here can fetch {ticket}; name one with --source, or set `sources`{}",
            kind.map(|kind| format!(" (none of kind {kind})"))
                .unwrap_or_default()
        );
    }
    Ok(match covering.is_empty() {
        true => trackers,
        false => covering,
    })
}

/// Notes that a ticket is wanted from each of these sources.
pub(crate) async fn leave(
    context: &Context,
    sources: &[SourceSpec],
    ticket: &str,
) -> Result<Vec<Want>> {
    let mut wants = Vec::new();
    for spec in sources {
        let want = Want {
            source: spec.as_str().to_owned(),
            name: ticket.to_owned(),
            asked_at: Timestamp::now(),
            answer: None,
        };
        context.log.want(&want).await?;
        wants.push(want);
    }
    Ok(wants)
}

/// Grants wishes for a source here and now, unless another process harvests it:
/// then that one does.
pub(crate) async fn grant(
    context: &Context,
    source: &dyn Source,
    stop: &CancellationToken,
) -> Result<()> {
    let options = RunOptions {
        command: "sync-ticket".to_owned(),
        ..RunOptions::default()
    };
    match grant_wishes(&context.log, source, &options, stop).await {
        Ok(_) | Err(HarvestError::Held { .. }) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Waits for the answer of any of the wishes, the best one first; with
/// `searchable` also until it can be found.
pub(crate) async fn outcome(
    context: &Context,
    wants: &[Want],
    ticket: &str,
    searchable: bool,
    stop: &CancellationToken,
) -> Result<Wish> {
    let ticket = ticket.to_owned();
    let begin = Instant::now();
    let (source, key, revision) = loop {
        let mut open = 0;
        let mut failed = None;
        let mut fetched = None;
        for want in wants {
            let now = context.log.wanted(&want.source, &want.name).await?;
            match now.and_then(|now| now.answer) {
                None => open += 1,
                Some(WantAnswer::Fetched { key, revision }) => {
                    fetched = Some((want.source.clone(), key, revision));
                }
                Some(WantAnswer::Failed { why }) => failed = Some(why),
                Some(WantAnswer::Unknown) => {}
            }
        }
        match (fetched, failed, open) {
            (Some(fetched), _, _) => break fetched,
            (None, Some(why), 0) => return Ok(Wish::Failed { ticket, why }),
            (None, None, 0) => return Ok(Wish::Unknown { ticket }),
            (None, _, _) if begin.elapsed() > PATIENCE || stop.is_cancelled() => {
                return Ok(Wish::Waiting { ticket });
            }
            (None, _, _) => tokio::time::sleep(POLL).await,
        }
    };
    if searchable {
        findable(context, &key, revision, stop).await?;
    }
    Ok(Wish::Fetched {
        ticket,
        source,
        revision,
        searchable,
    })
}

/// Waits until a state of a ticket can be found.
pub(crate) async fn findable(
    context: &Context,
    key: &TicketKey,
    revision: Revision,
    stop: &CancellationToken,
) -> Result<()> {
    let begin = Instant::now();
    let slug = context.slug();
    while context.log.searchable(&slug, key).await? < Some(revision) {
        let letters = context
            .log
            .dead_letters(&Selection {
                provenance: Some(key.provenance),
                source: Some(key.source.clone()),
                scope: Some(key.scope.clone()),
                ticket: Some(key.ticket.clone()),
            })
            .await?;
        if let Some(dead) = letters
            .iter()
            .find(|dead| dead.letter.revision >= revision && dead.letter.stage != "harvest")
        {
            bail!(
                "{key} could not be processed: {}; see `whence dead list`",
                dead.letter.causes.join(": ")
            );
        }
        if begin.elapsed() > PATIENCE || stop.is_cancelled() {
            bail!(
                "{key} is in the log and not searchable yet; do all stages run? See `whence status`"
            );
        }
        tokio::time::sleep(POLL).await;
    }
    Ok(())
}
