//! What Jira's answers mean.

use crate::upstream::{Reply, Verdict, judge_status};
use serde_json::Value;

/// Says how the login went, on every answer; a token that is wrong or has
/// expired makes the reader nobody, and nobody mostly gets 200 with nothing.
const LOGIN: &str = "x-seraph-loginreason";

/// What an answer means that shall hold `field`.
pub(super) fn judge(reply: &Reply, field: &str) -> Verdict {
    let overloaded = reply.status == 429 || reply.status >= 500;
    if !overloaded && let Some(why) = login_failed(reply) {
        return Verdict::Denied(why);
    }
    match judge_status(reply) {
        Verdict::Good if !has(reply.value(), field) => {
            Verdict::Garbled(format!("the answer has no `{field}`"))
        }
        Verdict::Wait(mut wait) => {
            if let Some(reason) = reply.header("ratelimit-reason") {
                wait.why = format!("{} ({reason})", wait.why);
            }
            Verdict::Wait(wait)
        }
        verdict => verdict,
    }
}

/// The same for an answer that may be too large for the service to make.
pub(super) fn judge_heavy(reply: &Reply, field: &str) -> Verdict {
    match reply.status {
        502 | 504 => Verdict::Heavy(format!("HTTP {}", reply.status)),
        _ => judge(reply, field),
    }
}

/// The empty field is the answer itself, which is a list then.
fn has(value: &Value, field: &str) -> bool {
    match field {
        "" => value.is_array(),
        field => value.get(field).is_some_and(|found| !found.is_null()),
    }
}

/// Why this answer was made for nobody.
fn login_failed(reply: &Reply) -> Option<String> {
    if let Some(reason) = reply.header("x-authentication-denied-reason") {
        let what = match reason.starts_with("CAPTCHA") {
            true => "the account must answer a captcha: log in once with a browser",
            false => "the login is denied",
        };
        return Some(format!("{what} (HTTP {})", reply.status));
    }
    let failed = reply.headers.get_all(LOGIN).iter().any(|reason| {
        let reason = reason.as_bytes();
        [&b"AUTHENTICATED_FAILED"[..], b"AUTHENTICATION_DENIED"]
            .iter()
            .any(|bad| reason.windows(bad.len()).any(|part| part == *bad))
    });
    if failed {
        return Some(format!(
            "the token is wrong or has expired, or the account is another (HTTP {})",
            reply.status
        ));
    }
    // Server and Data Center name the reader.
    let nobody = reply.header("x-ausername") == Some("anonymous");
    nobody.then(|| format!("the token is not known there (HTTP {})", reply.status))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use reqwest::header::HeaderMap;

    fn reply(status: u16, header: Option<(&'static str, &str)>, body: &str) -> Reply {
        let mut headers = HeaderMap::new();
        if let Some((name, value)) = header {
            headers.insert(name, value.parse().unwrap());
        }
        let now = "2024-01-02T03:04:05Z".parse().unwrap();
        Reply::new(status, headers, body.as_bytes(), now)
    }

    #[test]
    fn nobody_is_denied_whatever_the_status() {
        for status in [200, 400, 401, 404] {
            let failed = Some((LOGIN, "AUTHENTICATED_FAILED, AUTHENTICATED_FAILED"));
            let verdict = judge(&reply(status, failed, "{\"issues\":[]}"), "issues");
            assert!(matches!(verdict, Verdict::Denied(why) if why.contains("token")));
        }
        let captcha = Some(("x-authentication-denied-reason", "CAPTCHA_CHALLENGE; x"));
        let verdict = judge(&reply(403, captcha, ""), "issues");
        assert!(matches!(verdict, Verdict::Denied(why) if why.contains("browser")));
        let nobody = Some(("x-ausername", "anonymous"));
        let verdict = judge(&reply(200, nobody, "{\"issues\":[]}"), "issues");
        assert!(matches!(verdict, Verdict::Denied(_)));
        let down = judge(&reply(500, Some((LOGIN, "AUTHENTICATED_FAILED")), ""), "x");
        assert!(matches!(down, Verdict::Again(_)));
    }

    #[test]
    fn an_answer_without_its_field_is_no_answer() {
        let verdict = judge(&reply(200, None, "{}"), "issues");
        assert!(matches!(verdict, Verdict::Garbled(_)));
        let fine = Some((LOGIN, "OK"));
        let verdict = judge(&reply(200, fine, "{\"issues\":[]}"), "issues");
        assert_eq!(verdict, Verdict::Good);
        assert_eq!(judge(&reply(200, None, "[]"), ""), Verdict::Good);
        let limited = reply(429, Some(("ratelimit-reason", "jira-burst-based")), "");
        let verdict = judge(&limited, "issues");
        assert!(matches!(verdict, Verdict::Wait(wait) if wait.why.contains("burst")));
        let heavy = judge_heavy(&reply(504, None, "{}"), "issues");
        assert!(matches!(heavy, Verdict::Heavy(_)));
    }
}
