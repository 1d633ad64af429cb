//! `whence auth-test`: who the tokens are. Needs no running pipeline.

use crate::{boot::Ending, cli::AuthTest, config::Config, harvest, print};
use anyhow::{Result, bail};
use serde::Serialize;
use std::{error::Error, sync::Arc};
use whence_contract::Timestamp;
use whence_harvest::{Identity, Opening, Settings, SourceSpec};

/// What one source answered.
#[derive(Serialize)]
struct Answer {
    source: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    identity: Option<Identity>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// 1 when a token is missing or refused.
pub(crate) async fn run(config: &Config, arguments: AuthTest) -> Result<Ending> {
    let names = match arguments.sources.is_empty() {
        true => &config.sources,
        false => &arguments.sources,
    };
    let mut answers = Vec::new();
    for spec in harvest::parse(names)? {
        answers.extend(ask(config, &spec).await);
    }
    if answers.is_empty() {
        bail!("no source here has a token; name one, such as github:owner/repo");
    }
    if arguments.output.json {
        print::json(&answers)?;
    } else {
        answers.iter().for_each(|answer| print::text(&page(answer)));
    }
    Ok(match answers.iter().any(|answer| answer.error.is_some()) {
        true => Ending::Failed,
        false => Ending::Done,
    })
}

/// `None` for a source that is no tracker.
async fn ask(config: &Config, spec: &SourceSpec) -> Option<Answer> {
    let opening = Opening {
        settings: Settings::new(config.kinds.clone()),
        notice: Arc::new(|_| ()),
        ..Opening::new(Timestamp::now)
    };
    let answered = match spec.open(&opening) {
        Err(error) => Err(error),
        Ok(source) => source.tracker()?.identify().await,
    };
    let (identity, error) = match answered {
        Ok(identity) => (Some(identity), None),
        Err(error) => (None, Some(causes(&error))),
    };
    Some(Answer {
        source: spec.as_str().to_owned(),
        identity,
        error,
    })
}

fn causes(error: &dyn Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {}", causes(cause)),
        None => error.to_string(),
    }
}

fn page(answer: &Answer) -> String {
    let mut text = format!("{}\n", print::clean(&answer.source));
    let mut line = |name: &str, value: &str| {
        text.push_str(&format!("    {name:<10} {}\n", print::clean(value)));
    };
    if let Some(identity) = &answer.identity {
        line("account", &identity.account);
        if !identity.may.is_empty() {
            line("may", &identity.may.join(", "));
        }
        if let Some(expires) = identity.expires {
            line("expires", &expires.to_string());
        }
        if identity.may_write == Some(true) {
            line(
                "warning",
                "the token may also write; a read-only one is enough",
            );
        }
        for warning in &identity.warnings {
            line("warning", warning);
        }
    }
    if let Some(error) = &answer.error {
        line("refused", error);
    }
    text
}
