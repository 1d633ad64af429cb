//! What GitHub's answers mean.
//!
//! GraphQL says most of it with 200 and a list of errors, some of them beside
//! data: data with an error is never taken for whole.

use crate::upstream::{Reply, Verdict, Wait, judge_status, resets_in, retry_after};
use serde_json::Value;
use std::time::Duration;

/// Where GitHub throttles without saying for how long: "wait for at least one
/// minute", and longer each time.
const UNSTATED: Duration = Duration::from_secs(60);

/// What of a request is known beforehand.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asked {
    /// Nothing smaller can be asked for.
    pub(super) smallest: bool,
    /// A ticket that is not there is an answer, not a failure.
    pub(super) may_be_absent: bool,
    /// Throttles in a row that named no time.
    pub(super) unstated: u32,
}

/// An answer of the GraphQL interface.
pub(super) fn graphql(reply: &Reply, asked: Asked) -> Verdict {
    match reply.status {
        200 => {}
        403 | 429 => return throttled(reply, asked).unwrap_or_else(|| judge_status(reply)),
        // It gives up after ten seconds; JSON, other JSON, or an HTML page.
        502 | 504 => return heavy(format!("HTTP {}", reply.status), asked),
        _ => return judge_status(reply),
    }
    let value = match &reply.json {
        Ok(value) => value,
        Err(problem) => return Verdict::Garbled(problem.clone()),
    };
    let errors = value["errors"].as_array().map_or(&[][..], Vec::as_slice);
    let mut worst: Option<(u8, Verdict)> = None;
    for error in errors {
        let Some(verdict) = judge_error(reply, error, asked) else {
            continue;
        };
        let rank = rank(&verdict);
        if worst.as_ref().is_none_or(|(known, _)| rank < *known) {
            worst = Some((rank, verdict));
        }
    }
    match worst {
        Some((_, verdict)) => verdict,
        None if value["data"].is_object() => Verdict::Good,
        None => Verdict::Garbled("an answer without data".to_owned()),
    }
}

/// An answer of the REST interface.
pub(super) fn rest(reply: &Reply, asked: Asked) -> Verdict {
    match reply.status {
        403 | 429 => throttled(reply, asked).unwrap_or_else(|| judge_status(reply)),
        _ => judge_status(reply),
    }
}

/// Of several errors the one that decides what to do.
fn rank(verdict: &Verdict) -> u8 {
    match verdict {
        Verdict::Wait(_) => 0,
        Verdict::Heavy(_) => 1,
        Verdict::Denied(_) => 2,
        Verdict::Refused(_) => 3,
        Verdict::Missing(_) => 4,
        Verdict::Again(_) | Verdict::Garbled(_) | Verdict::Good => 5,
    }
}

/// `None` for what is no trouble.
fn judge_error(reply: &Reply, error: &Value, asked: Asked) -> Option<Verdict> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let message = line(
        error["message"]
            .as_str()
            .unwrap_or("an error without a message"),
    );
    let kind = text(&error["type"]);
    let code = text(&error["extensions"]["code"]);
    let path = error["path"].as_array().map_or(&[][..], Vec::as_slice);
    let said = match kind.is_empty() {
        true => message.clone(),
        false => format!("{kind}: {message}"),
    };
    // A part of one ticket, as against the ticket or the repository.
    let within_a_ticket = matches!(path.first().and_then(Value::as_str), Some("node" | "nodes"))
        && path.iter().filter(|step| step.is_string()).count() > 1;
    Some(match kind.as_str() {
        "RATE_LIMITED" | "RATE_LIMIT" => Verdict::Wait(wait(reply, &message, asked)),
        _ if code == "graphql_rate_limit" => Verdict::Wait(wait(reply, &message, asked)),
        "MAX_NODE_LIMIT_EXCEEDED" | "RESOURCE_LIMITS_EXCEEDED" => heavy(said, asked),
        _ if is_timeout(&message) => heavy(said, asked),
        _ if within_a_ticket => Verdict::Garbled(said),
        "FORBIDDEN" | "INSUFFICIENT_SCOPES" => Verdict::Denied(said),
        "NOT_FOUND" if asked.may_be_absent && is_a_ticket(path) => return None,
        "NOT_FOUND" => Verdict::Missing(said),
        "" if path.is_empty() || !code.is_empty() => refused_or_garbled(reply, said),
        _ if is_about_the_query(&kind) => Verdict::Refused(said),
        _ => Verdict::Garbled(said),
    })
}

/// Errors without a type: those of validation come without data, and stay.
fn refused_or_garbled(reply: &Reply, said: String) -> Verdict {
    match reply.value().get("data") {
        None => Verdict::Refused(said),
        Some(_) => Verdict::Garbled(said),
    }
}

fn is_about_the_query(kind: &str) -> bool {
    matches!(
        kind,
        "INVALID_CURSOR_ARGUMENTS"
            | "UNPROCESSABLE"
            | "EXCESSIVE_PAGINATION"
            | "MISSING_PAGINATION_BOUNDARIES"
    )
}

/// `["nodes", 3]`, `["node"]`, `["repository", "issueOrPullRequest"]`.
fn is_a_ticket(path: &[Value]) -> bool {
    match path {
        [list, index] => {
            (list == "nodes" && index.is_u64())
                || (list == "repository" && index == "issueOrPullRequest")
        }
        [one] => one == "node",
        _ => false,
    }
}

fn is_timeout(message: &str) -> bool {
    message.starts_with("Something went wrong while executing your query")
        || message.contains("respond to your request in time")
        || message.to_ascii_lowercase().contains("timeout")
}

fn heavy(why: String, asked: Asked) -> Verdict {
    match asked.smallest {
        true => Verdict::Garbled(why),
        false => Verdict::Heavy(why),
    }
}

/// 403 and 429 for too many requests; `None` where it is another refusal.
fn throttled(reply: &Reply, asked: Asked) -> Option<Verdict> {
    let message = line(reply.value()["message"].as_str().unwrap_or_default());
    let limited = reply.status == 429
        || reply.header("retry-after").is_some()
        || is_spent(reply)
        || is_secondary(&message);
    let why = match message.is_empty() {
        true => "too many requests".to_owned(),
        false => message,
    };
    limited.then(|| Verdict::Wait(wait(reply, &why, asked)))
}

/// Whether the hourly budget is used up.
fn is_spent(reply: &Reply) -> bool {
    reply.header("x-ratelimit-remaining").map(str::trim) == Some("0")
}

fn is_secondary(message: &str) -> bool {
    message.contains("secondary rate limit") || message.contains("abuse detection")
}

/// As long as GitHub documents: `Retry-After`, else to the reset where nothing is
/// left, else a minute and more each time.
fn wait(reply: &Reply, message: &str, asked: Asked) -> Wait {
    let secondary = is_secondary(message);
    let to_the_reset = || match secondary && !is_spent(reply) {
        true => None,
        false => resets_in(reply, "x-ratelimit-reset"),
    };
    let unstated = UNSTATED * 2_u32.pow(asked.unstated.min(4));
    Wait {
        why: match secondary {
            true => "GitHub's secondary rate limit".to_owned(),
            false => "GitHub's rate limit".to_owned(),
        },
        at_least: retry_after(reply).or_else(to_the_reset).or(Some(unstated)),
    }
}

/// What GitHub says, on one line and cut.
fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    line.chars().filter(|c| !c.is_control()).take(200).collect()
}
