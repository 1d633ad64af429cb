//! `whence doctor`: what is missing here, and how to get it.

mod models;

use crate::{
    boot::Ending, cli::Output, client::Client, config::Config, context::Context, embedded, print,
};
use anyhow::Result;
use serde::Serialize;
use std::fmt::Write as _;
use whence_provision::{
    Endpoints,
    doctor::{Verdict, checks},
};

#[derive(Serialize)]
struct Finding {
    name: String,
    verdict: &'static str,
    detail: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    fix: String,
}

pub(crate) async fn run(config: Config, output: Output) -> Result<Ending> {
    let options = embedded::options(&config)?;
    let found = tokio::task::spawn_blocking(move || checks(&options)).await?;
    let mut findings: Vec<Finding> = found
        .into_iter()
        .map(|check| Finding {
            name: check.name,
            verdict: match check.verdict {
                Verdict::Ok => "ok",
                Verdict::Warn => "warn",
                Verdict::Fail => "fail",
            },
            detail: check.detail,
            fix: check.fix,
        })
        .collect();
    findings.push(models::encoder(&config).await);
    findings.extend(models::reranker(&config).await);
    findings.push(pipeline(&config).await);
    if output.json {
        print::json(&findings)?;
    } else {
        print::text(&table(&findings));
    }
    let failed = findings.iter().any(|finding| finding.verdict == "fail");
    Ok(if failed { Ending::Failed } else { Ending::Done })
}

/// Whether a pipeline runs on this data folder, and answers.
async fn pipeline(config: &Config) -> Finding {
    let finding = |verdict, detail: String, fix: &str| Finding {
        name: "pipeline".to_owned(),
        verdict,
        detail,
        fix: fix.to_owned(),
    };
    let configured = config.nats.url.is_some() && config.postgres.url.is_some();
    if !configured && Endpoints::read(&config.data).is_err() {
        let detail = format!("none runs on {}", config.data.display());
        return finding("ok", detail, "");
    }
    let context = match Context::connect(config.clone()).await {
        Ok(context) => context,
        Err(error) => return finding("fail", format!("{error:#}"), "start `whence up` again"),
    };
    if let Err(error) = context.log.status(&context.models).await {
        return finding("fail", error.to_string(), "run `whence setup`");
    }
    let ready = match Client::new(config) {
        Ok(client) => client.get("/readyz").await,
        Err(error) => Err(error),
    };
    match ready {
        Ok(_) => finding("ok", format!("answers at {}", config.query.listen), ""),
        Err(error) => finding("warn", format!("{error:#}"), ""),
    }
}

fn table(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        let _infallible = writeln!(
            text,
            "{:<5} {:<24} {}",
            finding.verdict, finding.name, finding.detail
        );
        if !finding.fix.is_empty() {
            let _infallible = writeln!(text, "{:<30} → {}", "", finding.fix);
        }
    }
    text
}
