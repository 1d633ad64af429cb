//! `whence verify`: what a tracker has against what is searchable, ticket by
//! ticket, as its own census counts.

use crate::{
    boot::{self, Ending},
    cli::Verify,
    context::Context,
    harvest, print, wishes,
};
use anyhow::{Context as _, Result, bail};
use serde::Serialize;
use std::{
    collections::{BTreeMap, HashSet},
    sync::Arc,
    time::Duration,
};
use tokio_util::sync::CancellationToken;
use whence_harvest::{Sighting, Sightings, Source, SourceSpec, Tracker};
use whence_index::Discussion;
use whence_log::RunStatus;

/// Names of differing tickets that are printed for each kind of difference.
const SHOWN: usize = 20;

/// How one source compares.
#[derive(Serialize)]
struct Comparison {
    source: String,
    /// Tickets upstream.
    upstream: usize,
    /// Tickets of this source that are searchable.
    searchable: usize,
    /// Upstream, and not searchable.
    missing: Vec<String>,
    /// Searchable, and not upstream.
    surplus: Vec<String>,
    /// Comments upstream and here, where they differ.
    comments: BTreeMap<String, (u64, u64)>,
}

impl Comparison {
    fn is_equal(&self) -> bool {
        self.missing.is_empty() && self.surplus.is_empty() && self.comments.is_empty()
    }
}

/// 0 when all is equal, 3 when something differs.
pub(crate) async fn run(context: &Context, arguments: Verify) -> Result<Ending> {
    let names = match arguments.sources.is_empty() {
        true => &context.config.sources,
        false => &arguments.sources,
    };
    let stop = boot::stop_on_signal()?;
    let mut comparisons = Vec::new();
    for spec in harvest::parse(names)? {
        let source = wishes::open(context, &spec, Arc::new(|_| ()))?;
        let Some(tracker) = source.tracker() else {
            continue;
        };
        if arguments.repair {
            repair(context, &spec, arguments.prune.max_prune, &stop).await?;
        }
        comparisons.push(compare(context, source.as_ref(), tracker).await?);
    }
    if comparisons.is_empty() {
        bail!("no tracker to compare; name one, such as github:owner/repo");
    }
    if arguments.output.json {
        print::json(&comparisons)?;
    } else {
        comparisons.iter().for_each(|c| print::text(&page(c)));
    }
    Ok(match comparisons.iter().all(Comparison::is_equal) {
        true => Ending::Done,
        false => Ending::Incomplete,
    })
}

/// One pass with a sweep, and all of it searchable.
async fn repair(
    context: &Context,
    spec: &SourceSpec,
    max_prune: Option<u8>,
    stop: &CancellationToken,
) -> Result<()> {
    let mut options = harvest::options(context, "verify --repair")?;
    options.sweep_after = Duration::ZERO;
    if let Some(percent) = max_prune {
        options.max_prune_percent = percent;
    }
    let run = harvest::pass(context, spec, &options, stop).await?;
    if run.status != RunStatus::Succeeded {
        bail!(
            "{}: {}",
            spec.as_str(),
            run.error.as_deref().unwrap_or("the pass failed")
        );
    }
    crate::settle::settle(context, stop).await
}

async fn compare(
    context: &Context,
    source: &dyn Source,
    tracker: &dyn Tracker,
) -> Result<Comparison> {
    let (out, mut pages) = Sightings::channel(4);
    let listing = async {
        let out = out;
        tracker.census(&out).await
    };
    let taking = async {
        let mut sightings: Vec<Sighting> = Vec::new();
        while let Some(page) = pages.recv().await {
            sightings.extend(page);
        }
        sightings
    };
    let (census, sightings) = tokio::join!(listing, taking);
    let census = census.with_context(|| format!("cannot count {}", source.name()))?;
    let pool = whence_index::pool(&context.endpoints.postgres_url, 1)?;
    let client = pool.get().await.context("cannot reach Postgres")?;
    // A scope may hold other sources' tickets too: only ours are compared.
    let ours: HashSet<_> = context
        .log
        .known(&whence_log::Selection::default())
        .await?
        .into_iter()
        .filter(|known| known.live && known.origin == source.name())
        .map(|known| known.key.ticket)
        .collect();
    let mut here = BTreeMap::new();
    for scope in &census.scopes {
        let there = whence_index::discussions(&client, &scope.source, &scope.scope).await?;
        let mine = there.into_iter().filter(|d| ours.contains(&d.ticket));
        here.extend(mine.map(|d| (d.ticket.clone(), d)));
    }
    Ok(difference(source.name(), sightings, here))
}

fn difference(
    source: &str,
    sightings: Vec<Sighting>,
    mut here: BTreeMap<String, Discussion>,
) -> Comparison {
    let mut comparison = Comparison {
        source: source.to_owned(),
        upstream: sightings.len(),
        searchable: here.len(),
        missing: Vec::new(),
        surplus: Vec::new(),
        comments: BTreeMap::new(),
    };
    for sighting in sightings {
        match here.remove(&sighting.key.ticket) {
            None => comparison.missing.push(sighting.name),
            Some(count) => {
                if let Some(there) = sighting.comments.filter(|n| *n != count.comments) {
                    let both = (there, count.comments);
                    comparison.comments.insert(sighting.name, both);
                }
            }
        }
    }
    comparison.surplus = here.into_values().map(|count| count.id).collect();
    comparison
}

fn page(comparison: &Comparison) -> String {
    let mut text = format!(
        "{}: {} tickets upstream, {} searchable{}\n",
        print::clean(&comparison.source),
        comparison.upstream,
        comparison.searchable,
        match comparison.is_equal() {
            true => "; equal",
            false => "",
        }
    );
    let comments: Vec<String> = comparison
        .comments
        .iter()
        .map(|(name, (there, here))| format!("{name} ({there} there, {here} here)"))
        .collect();
    for (what, names) in [
        ("missing here", &comparison.missing),
        ("gone upstream", &comparison.surplus),
        ("other comments", &comments),
    ] {
        if names.is_empty() {
            continue;
        }
        let shown: Vec<String> = names.iter().take(SHOWN).map(|n| print::clean(n)).collect();
        text.push_str(&format!(
            "    {what}: {}: {}",
            names.len(),
            shown.join(", ")
        ));
        text.push_str(if names.len() > SHOWN { " …\n" } else { "\n" });
    }
    if !comparison.is_equal() {
        text.push_str("    `whence verify --repair` fetches and removes what differs\n");
    }
    text
}
