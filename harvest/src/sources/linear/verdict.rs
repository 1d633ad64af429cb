//! What Linear's answers mean.
//!
//! A throttle is HTTP 400 with a code, so the code is read before the status.
//! Data that comes beside an error is never taken for whole.

use crate::upstream::{Reply, Verdict, Wait, judge_status};
use serde_json::Value;
use std::time::Duration;

/// What Linear's budgets refill in, where an answer does not say.
const HOUR: Duration = Duration::from_secs(3600);

/// `smallest`: nothing smaller can be asked for.
pub(super) fn judge(reply: &Reply, smallest: bool) -> Verdict {
    let heavy = |why: String| match smallest {
        true => Verdict::Garbled(why),
        false => Verdict::Heavy(why),
    };
    if matches!(reply.status, 502 | 504) {
        return heavy(format!("HTTP {}", reply.status));
    }
    let errors = reply.value()["errors"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    let mut verdicts: Vec<Verdict> = errors
        .iter()
        .map(|error| match judge_error(reply, error) {
            Verdict::Heavy(why) => heavy(why),
            verdict => verdict,
        })
        .collect();
    verdicts.sort_by_key(rank);
    match verdicts.into_iter().next() {
        Some(verdict) => verdict,
        None => match judge_status(reply) {
            Verdict::Good if !reply.value()["data"].is_object() => {
                Verdict::Garbled("an answer without data".to_owned())
            }
            verdict => verdict,
        },
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

fn judge_error(reply: &Reply, error: &Value) -> Verdict {
    let about = &error["extensions"];
    let message = line(error["message"].as_str().unwrap_or_default());
    let shown = line(about["userPresentableMessage"].as_str().unwrap_or_default());
    let code = about["code"].as_str().unwrap_or_default();
    let said = match (code.is_empty(), shown.is_empty() || shown == message) {
        (true, _) => message.clone(),
        (false, true) => format!("{code}: {message}"),
        (false, false) => format!("{code}: {message} ({shown})"),
    };
    match code {
        "RATELIMITED" => Verdict::Wait(Wait {
            why: match message.contains("complexity") {
                true => "Linear's complexity points are spent".to_owned(),
                false => "Linear's requests are spent".to_owned(),
            },
            at_least: Some(refill(&about["meta"]["rateLimitResult"])),
        }),
        "AUTHENTICATION_ERROR" | "FORBIDDEN" => Verdict::Denied(said),
        _ if message.starts_with("Query too complex") => Verdict::Heavy(said),
        _ if message.starts_with("Entity not found") => Verdict::Missing(said),
        "INTERNAL_SERVER_ERROR" | "LOCK_TIMEOUT" if reply.status >= 500 => {
            Verdict::Again(format!("HTTP {}, {said}", reply.status))
        }
        // Of one node, or of an answer that comes whole the next time.
        "INTERNAL_SERVER_ERROR" | "LOCK_TIMEOUT" => Verdict::Garbled(said),
        _ if reply.status >= 500 => Verdict::Again(format!("HTTP {}, {said}", reply.status)),
        _ if reply.status == 200 && error["path"].is_array() && code.is_empty() => {
            Verdict::Garbled(said)
        }
        _ => Verdict::Refused(said),
    }
}

/// Budgets are leaky buckets: they refill all the time, so what is missing comes
/// in its share of the period.
fn refill(result: &Value) -> Duration {
    let number = |field: &str| result[field].as_f64().filter(|number| *number >= 0.0);
    let period = number("duration").map_or(HOUR, |ms| Duration::from_secs_f64(ms / 1000.0));
    let missing = number("requested").unwrap_or(1.0) - number("remaining").unwrap_or(0.0);
    share(missing, number("limit").unwrap_or(0.0), period)
}

/// How long a bucket of `limit`, filled in `period`, takes for `missing`.
pub(super) fn share(missing: f64, limit: f64, period: Duration) -> Duration {
    if limit <= 0.0 {
        return period;
    }
    let part = (missing.max(1.0) / limit).min(1.0);
    // Remaining amounts are rounded.
    period.mul_f64(part) + Duration::from_millis(100)
}

/// One line of another's words.
fn line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    line.chars().filter(|c| !c.is_control()).take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderMap;
    use serde_json::json;
    use whence_contract::Timestamp;

    fn verdict(status: u16, body: &Value) -> Verdict {
        let text = body.to_string();
        let reply = Reply::new(
            status,
            HeaderMap::new(),
            text.as_bytes(),
            Timestamp::UNIX_EPOCH,
        );
        judge(&reply, false)
    }

    fn error(code: &str, message: &str) -> Value {
        json!({"data": null, "errors": [{"message": message, "extensions": {"code": code}}]})
    }

    #[test]
    fn a_throttle_is_no_bad_request() {
        let body = json!({"errors": [{"message": "Rate limit exceeded. Only 2500 requests are allowed",
            "extensions": {"code": "RATELIMITED", "meta": {"rateLimitResult": {
                "requested": 1, "remaining": 0, "duration": 3_600_000, "limit": 2500}}}}]});
        let Verdict::Wait(wait) = verdict(400, &body) else {
            panic!("no throttle");
        };
        // One request of 2,500 an hour comes back in 1.44 s.
        assert_eq!(wait.at_least, Some(Duration::from_millis(1540)));
    }

    #[test]
    fn errors_mean_what_they_say() {
        let missing = verdict(200, &error("INPUT_ERROR", "Entity not found: Issue"));
        assert!(matches!(missing, Verdict::Missing(_)));
        let heavy = verdict(400, &error("INPUT_ERROR", "Query too complex"));
        assert!(matches!(heavy, Verdict::Heavy(_)));
        let nobody = verdict(
            401,
            &error("AUTHENTICATION_ERROR", "Authentication required"),
        );
        assert!(matches!(nobody, Verdict::Denied(_)));
        let wrong = verdict(
            400,
            &error("GRAPHQL_VALIDATION_FAILED", "Cannot query field"),
        );
        assert!(matches!(wrong, Verdict::Refused(_)));
        let ill = verdict(
            500,
            &error("INTERNAL_SERVER_ERROR", "Internal server error"),
        );
        assert!(matches!(ill, Verdict::Again(_)));
        assert!(matches!(verdict(502, &json!({})), Verdict::Heavy(_)));
        assert!(matches!(verdict(200, &json!({})), Verdict::Garbled(_)));
        let partial = json!({"data": {"issues": {"nodes": []}},
            "errors": [{"message": "x", "extensions": {"code": "INTERNAL_SERVER_ERROR"}}]});
        assert!(matches!(verdict(200, &partial), Verdict::Garbled(_)));
        assert_eq!(verdict(200, &json!({"data": {}})), Verdict::Good);
    }
}
