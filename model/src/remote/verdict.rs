//! What a server's failures mean, and what it says of them.

use reqwest::{
    StatusCode, Url,
    header::{DATE, HeaderMap, LOCATION, RETRY_AFTER},
};
use serde_json::Value;
use std::time::Duration;
use whence_contract::Timestamp;

/// As much of what a server says is told.
const TOLD: usize = 200;

/// A request without a usable answer.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The server is away or overloaded; it may have said for how long.
    Busy { why: String, wait: Option<Duration> },
    /// It failed on this request, or answered what cannot be read.
    Broken(String),
    /// It does not take what was sent.
    Refused(String),
    /// It takes nothing: address, key or model are wrong.
    Unusable(String),
}

/// What a status other than success means.
pub(super) fn judge(status: StatusCode, headers: &HeaderMap, told: &str) -> CallError {
    let said = match told {
        "" => format!("HTTP {status}"),
        told => format!("HTTP {status}, {told:?}"),
    };
    match status.as_u16() {
        401..=403 => CallError::Unusable(format!(
            "{said}; check the key in the variable that key_env names"
        )),
        404 | 405 | 410 => CallError::Unusable(format!(
            "{said}; check the address, and that the server has the model"
        )),
        300..=399 => {
            let place = headers.get(LOCATION).and_then(|place| place.to_str().ok());
            let place = place.and_then(|place| Url::parse(place).ok());
            let place = place
                .as_ref()
                .and_then(Url::host_str)
                .unwrap_or("another place");
            CallError::Unusable(format!(
                "it redirects to {place}, and neither texts nor key follow; configure the final \
                 address"
            ))
        }
        408 | 425 | 429 | 502..=504 | 529 => CallError::Busy {
            why: said,
            wait: retry_after(headers),
        },
        // 424 is what TEI says when the model itself failed.
        424 | 500..=599 => CallError::Broken(said),
        _ => CallError::Refused(said),
    }
}

/// `Retry-After`, in seconds or as a date (RFC 9110, 10.2.3), which is compared
/// with the server's own clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name)?.to_str().ok();
    let asked = text(RETRY_AFTER)?.trim();
    if let Ok(seconds) = asked.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = |text: &str| -> Option<Timestamp> {
        let zoned = jiff::fmt::rfc2822::parse(text).ok()?;
        Some(zoned.timestamp())
    };
    let ahead = date(asked)?.duration_since(date(text(DATE)?.trim())?);
    Duration::try_from(ahead).ok()
}

/// The server's own words on one line, cut, and without the key.
pub(super) fn tell(body: &[u8], key: Option<&str>) -> String {
    let text = match serde_json::from_slice::<Value>(body) {
        Ok(value) => words(&value).map_or_else(|| value.to_string(), str::to_owned),
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    let text = match key {
        Some(key) if !key.is_empty() => text.replace(key, "…"),
        _ => text,
    };
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars()
        .filter(|c| !c.is_control())
        .take(TOLD)
        .collect()
}

/// Where servers put what they have to say.
fn words(value: &Value) -> Option<&str> {
    let error = &value["error"];
    [
        &error["message"],
        error,
        &value["message"],
        &value["detail"],
    ]
    .into_iter()
    .find_map(Value::as_str)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use reqwest::header::HeaderValue;

    #[test]
    fn a_servers_words_are_cut_to_one_line_without_the_key() {
        let body = b"{\"error\":{\"message\":\"bad key sk-secret\\u0007\\n given\"}}";
        assert_eq!(tell(body, Some("sk-secret")), "bad key … given");
        assert_eq!(tell(&[b'x'; 9000], None).len(), TOLD);
    }

    #[test]
    fn a_pause_is_asked_for_in_seconds_or_by_a_date() {
        let wait = |pairs: &[(&'static str, &'static str)]| {
            let headers = pairs
                .iter()
                .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
            retry_after(&headers.collect::<HeaderMap>())
        };
        assert_eq!(wait(&[("retry-after", "3")]), Some(Duration::from_secs(3)));
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        let later = ("retry-after", "Sun, 06 Nov 1994 08:49:40 GMT");
        assert_eq!(wait(&[date, later]), Some(Duration::from_secs(3)));
        assert_eq!(wait(&[later]), None, "whose clock?");
        assert_eq!(wait(&[("retry-after", "soon")]), None);
        assert_eq!(wait(&[("retry-after", "-1")]), None);
    }
}
