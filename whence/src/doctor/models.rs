//! Whether the configured models answer, and how fast.

use super::Finding;
use crate::{config::Config, embedded, models, stages};
use anyhow::{Context as _, Result, bail};
use std::time::{Duration, Instant};
use whence_model::{EmbedKind, ModelError};

/// Nobody waits longer for a check.
const PATIENCE: Duration = Duration::from_secs(30);
const QUESTION: &str = "why is the member list sent twice";
/// About as long as a chunk.
const PASSAGE: &str = "The member list is sent twice when a commit arrives late: the first copy \
    is made when the proposal is queued, the second when the commit that refers to it is applied. \
    Receivers keep the second one, so nothing breaks, but every change of a large group costs \
    twice the traffic that it should. We agreed to drop the first copy, and to let clients that \
    still expect it ask for the list by themselves.";

/// The encoder.
pub(super) async fn encoder(config: &Config) -> Finding {
    let checked = tokio::time::timeout(PATIENCE, try_encoder(config)).await;
    finding("model", checked.unwrap_or_else(|_| late()), "model.url")
}

/// The reranker, where one is configured.
pub(super) async fn reranker(config: &Config) -> Option<Finding> {
    config.rerank.model.as_ref()?;
    let checked = tokio::time::timeout(PATIENCE, try_reranker(config)).await;
    let checked = checked.unwrap_or_else(|_| late());
    Some(finding("reranker", checked, "rerank.url"))
}

/// What is so, and what to do about it where it could be better.
type Checked = Result<(String, Option<String>)>;

fn late() -> Checked {
    bail!("no answer within {} s", PATIENCE.as_secs())
}

async fn try_encoder(config: &Config) -> Checked {
    let spec = models::table(config)?.encoder(&config.model.name)?;
    let what = format!("{}, {} dimensions", spec.id(), spec.dims);
    if spec.provider.is_local() && !whence_model::at_hand(&spec.files, &embedded::cache(config)?) {
        return Ok((format!("{what}, is fetched at the first start"), None));
    }
    let encoder = models::encoder(config, &spec).await?;
    models::check_room(config, &spec, &encoder.tokenizer())?;
    // A passage first: it has the patience that a server needs to load its model.
    let passage = vec![PASSAGE.to_owned()];
    encoder.embed(passage, EmbedKind::Passage).await?;
    let begun = Instant::now();
    let question = vec![QUESTION.to_owned()];
    encoder.embed(question, EmbedKind::Query).await?;
    let took = begun.elapsed().as_millis();
    let place = encoder.server().map(|server| format!(" at {server}"));
    let place = place.unwrap_or_default();
    Ok((format!("{what}{place}, a question takes {took} ms"), None))
}

async fn try_reranker(config: &Config) -> Checked {
    let rerank = &config.rerank;
    let reranker = stages::reranker(config)
        .await?
        .context("there is none after all")?;
    let passages = vec![PASSAGE.to_owned(); rerank.pairs];
    let begun = Instant::now();
    let scores = reranker
        .score(QUESTION, &passages, begun + PATIENCE)
        .await?;
    let took = begun.elapsed().as_millis();
    if scores.iter().any(Option::is_none) {
        return late();
    }
    let detail = format!("{}, {} pairs take {took} ms", reranker.name(), rerank.pairs);
    let slow = took > u128::from(rerank.deadline_ms);
    let fix = slow.then(|| {
        format!(
            "searches stop it after {} ms: lower rerank.pairs, or raise rerank.deadline_ms",
            rerank.deadline_ms
        )
    });
    Ok((detail, fix))
}

/// `address` is the setting to look at when a server does not answer.
fn finding(name: &str, checked: Checked, address: &str) -> Finding {
    let (verdict, detail, fix) = match checked {
        Ok((detail, None)) => ("ok", detail, String::new()),
        Ok((detail, Some(fix))) => ("warn", detail, fix),
        Err(error) => {
            let away = matches!(error.downcast_ref(), Some(ModelError::Unavailable { .. }));
            let fix = match away {
                true => format!("start the server, or correct {address}"),
                false => String::new(),
            };
            ("fail", format!("{error:#}"), fix)
        }
    };
    Finding {
        name: name.to_owned(),
        verdict,
        detail,
        fix,
    }
}
