//! How long a service asks to be left alone, and what plain statuses mean.
//!
//! `Retry-After` is a lower bound, in seconds or as a date (RFC 9110, 10.2.3); a
//! reset is a moment on the service's clock, which may differ from ours, so it
//! is compared with the service's own `Date`.

use super::{Reply, Verdict, Wait};
use jiff::{SignedDuration, fmt::rfc2822};
use std::time::Duration;
use whence_contract::Timestamp;

/// Dates of headers have no fractions: the moment meant may be this much later.
const ONE_SECOND: Duration = Duration::from_secs(1);

/// What `Retry-After` asks for; `None` where it is absent, unreadable or 0,
/// which says nothing of when.
pub(crate) fn retry_after(reply: &Reply) -> Option<Duration> {
    let text = reply.header("retry-after")?.trim();
    let wait = match text.parse::<f64>() {
        Ok(seconds) => Duration::try_from_secs_f64(seconds).ok()?,
        Err(_) => until(reply, http_date(text)?)?,
    };
    (wait > Duration::ZERO).then_some(wait)
}

/// How far the moment in a header lies ahead: seconds or milliseconds since
/// 1970, or an RFC 3339 time. `None` where it is absent, unreadable or past.
pub(crate) fn resets_in(reply: &Reply, header: &str) -> Option<Duration> {
    let text = reply.header(header)?.trim();
    let Ok(number) = text.parse::<i64>() else {
        return until(reply, text.parse().ok()?);
    };
    // No service counts seconds beyond the year 5000.
    let moment = match number > 100_000_000_000 {
        true => Timestamp::from_millisecond(number).ok()?,
        false => Timestamp::from_second(number).ok()?,
    };
    until(reply, moment)
}

fn until(reply: &Reply, moment: Timestamp) -> Option<Duration> {
    let ahead: SignedDuration = moment.duration_since(reply.server_time());
    let ahead = Duration::try_from(ahead).ok()?;
    (ahead > Duration::ZERO).then_some(ahead + ONE_SECOND)
}

/// An HTTP date: `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(super) fn http_date(text: &str) -> Option<Timestamp> {
    let zoned = rfc2822::parse(text.trim()).ok()?;
    Some(zoned.timestamp())
}

/// What a status means where the service says nothing special. A success whose
/// body is no JSON was damaged on its way: it is asked for again.
pub(crate) fn judge_status(reply: &Reply) -> Verdict {
    let status = reply.status;
    match status {
        200..=299 => match &reply.json {
            Ok(_) => Verdict::Good,
            Err(problem) => Verdict::Garbled(problem.clone()),
        },
        401 | 403 => Verdict::Denied(said(reply)),
        404 | 410 => Verdict::Missing(said(reply)),
        429 => Verdict::Wait(Wait {
            why: "too many requests".to_owned(),
            at_least: retry_after(reply),
        }),
        408 | 425 | 500..=599 => match retry_after(reply) {
            Some(wait) => Verdict::Wait(Wait {
                why: format!("HTTP {status}"),
                at_least: Some(wait),
            }),
            None => Verdict::Again(format!("HTTP {status}")),
        },
        300..=399 => Verdict::Refused(format!(
            "HTTP {status}: it leads to another server{}; the token does not follow",
            reply
                .header("location")
                .and_then(|place| reqwest::Url::parse(place).ok())
                .and_then(|place| Some(format!(", {}", place.host_str()?)))
                .unwrap_or_default()
        )),
        _ => Verdict::Refused(said(reply)),
    }
}

/// The status and the service's own words, cut and on one line.
fn said(reply: &Reply) -> String {
    let value = reply.value();
    let text = ["message", "error", "errorMessages", "error_description"]
        .iter()
        .find_map(|field| value.get(field).filter(|said| !said.is_null()));
    let text = match text {
        None => return format!("HTTP {}", reply.status),
        Some(serde_json::Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    };
    let line: String = text
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .filter(|c| !c.is_control())
        .take(200)
        .collect();
    format!("HTTP {}, {line:?}", reply.status)
}
