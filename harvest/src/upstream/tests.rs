//! Waits, tries and turns, with the clock of the runtime standing still.

#![allow(clippy::unwrap_used, clippy::panic)]
use super::*;
use crate::Notice;
use reqwest::header::HeaderMap;
use std::{
    sync::{Arc, Mutex, atomic::AtomicUsize, atomic::Ordering},
    time::Duration,
};
use tokio::time::Instant;
use whence_contract::Timestamp;

fn now() -> Timestamp {
    "2024-01-02T03:04:05Z".parse().unwrap()
}

fn reply(status: u16, headers: &[(&'static str, &str)], body: &str) -> Reply {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.insert(*name, value.parse().unwrap());
    }
    Reply::new(status, map, body.as_bytes(), now())
}

fn caller(pace: f64) -> (Caller, Arc<Mutex<Vec<String>>>) {
    let lines = Arc::new(Mutex::new(Vec::new()));
    let sink = lines.clone();
    let notice: Notice = Arc::new(move |line| sink.lock().unwrap().push(line.to_owned()));
    (
        Caller::new("x:y", Pace::per_second(pace), notice, now),
        lines,
    )
}

/// Plays these answers in order; gives the outcome, the requests and the time.
async fn play(answers: Vec<Reply>) -> (Result<Reply, CallError>, usize, Duration) {
    let (caller, _) = caller(0.0);
    let sent = AtomicUsize::new(0);
    let begin = Instant::now();
    let outcome = caller
        .call("it", judge_status, || {
            let at = sent.fetch_add(1, Ordering::SeqCst);
            let answer = answers[at.min(answers.len() - 1)].clone();
            async move { Ok(answer) }
        })
        .await;
    (outcome, sent.into_inner(), begin.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_throttle_is_waited_for_exactly_whatever_its_form() {
    let good = reply(200, &[], "{}");
    let seconds = reply(429, &[("retry-after", "7")], "");
    let (outcome, sent, took) = play(vec![seconds, good.clone()]).await;
    assert!(outcome.is_ok() && sent == 2);
    assert_eq!(took.as_secs(), 7);
    // A date is on the service's clock, ten minutes off ours.
    let date = [
        ("date", "Tue, 02 Jan 2024 03:14:05 GMT"),
        ("retry-after", "Tue, 02 Jan 2024 03:14:35 GMT"),
    ];
    let (outcome, _, took) = play(vec![reply(503, &date, "<html>"), good.clone()]).await;
    assert!(outcome.is_ok());
    assert_eq!(took.as_secs(), 31);
    // Nought says nothing: the wait is ours to choose, and not nought.
    let nought = reply(429, &[("retry-after", "0")], "");
    let (_, _, took) = play(vec![nought, good]).await;
    assert!(took >= Duration::from_secs(10), "{took:?}");
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_is_tried_again_and_what_cannot_is_not() {
    let (outcome, sent, _) = play(vec![reply(502, &[], "x"), reply(200, &[], "[]")]).await;
    assert!(outcome.is_ok() && sent == 2);
    let (outcome, sent, _) = play(vec![reply(500, &[], "")]).await;
    assert!(matches!(outcome, Err(CallError::Exhausted { .. })) && sent == 6);
    let (outcome, sent, _) = play(vec![reply(200, &[], "<html>sign in</html>")]).await;
    assert!(matches!(outcome, Err(CallError::Garbled { .. })) && sent == 6);
    for (status, denied) in [(401, true), (403, true), (404, false), (410, false)] {
        let (outcome, sent, _) = play(vec![reply(status, &[], "{\"message\":\"no\"}")]).await;
        let error = outcome.unwrap_err();
        assert_eq!(matches!(error, CallError::Denied { .. }), denied);
        assert_eq!(matches!(error, CallError::Missing { .. }), !denied);
        assert_eq!(sent, 1);
    }
    let away = reply(302, &[("location", "https://evil.example/x")], "");
    let (outcome, sent, _) = play(vec![away]).await;
    let text = outcome.unwrap_err().to_string();
    assert!(text.contains("evil.example") && text.contains("token") && sent == 1);
}

#[tokio::test(start_paused = true)]
async fn turns_are_spread_and_a_hold_stops_them_all() {
    let pace = Arc::new(Pace::per_second(5.0));
    let begin = Instant::now();
    let mut at = Vec::new();
    for turn in 0..10 {
        if turn == 5 {
            pace.hold(Instant::now() + Duration::from_secs(60));
        }
        pace.turn().await;
        at.push(begin.elapsed().as_millis());
    }
    assert!(at[4] <= 810 && at[4] >= 800, "{at:?}");
    assert!(at[5] >= 60_800, "{at:?}");
    assert!(at.windows(2).all(|pair| pair[1] - pair[0] >= 199), "{at:?}");
}

#[tokio::test(start_paused = true)]
async fn people_see_until_when() {
    let (caller, lines) = caller(0.0);
    let first = AtomicUsize::new(0);
    let outcome = caller.call("it", judge_status, || {
        let again = first.fetch_add(1, Ordering::SeqCst) > 0;
        let limited = reply(429, &[("retry-after", "60")], "");
        async move {
            Ok(match again {
                true => reply(200, &[], "{}"),
                false => limited,
            })
        }
    });
    outcome.await.unwrap();
    let lines = lines.lock().unwrap();
    assert_eq!(
        lines[..],
        [
            "too many requests; waiting until 03:05:05 UTC (60 s)".to_owned(),
            String::new()
        ]
    );
}

#[test]
fn addresses_that_would_leak_a_token_are_refused() {
    assert!(base_url("k", "https://ghe.acme.org/").is_ok());
    assert!(base_url("k", "http://127.0.0.1:9101").is_ok());
    for wrong in [
        "http://ghe.acme.org",
        "acme",
        "https://me:pw@acme.org",
        "ftp://a",
    ] {
        let error = base_url("github.base_url", wrong).unwrap_err().to_string();
        assert!(error.contains("github.base_url"), "{error}");
    }
}

#[test]
fn resets_count_on_the_services_clock() {
    let skewed = [
        ("date", "Tue, 02 Jan 2024 03:14:05 GMT"),
        ("x-reset", "1704165305"),
        ("x-millis", "1704165305000"),
        ("x-past", "1000"),
        ("x-text", "2024-01-02T03:15:05Z"),
    ];
    let reply = reply(200, &skewed, "{}");
    // 03:15:05 there is one minute after its answer.
    assert_eq!(resets_in(&reply, "x-reset"), Some(Duration::from_secs(61)));
    assert_eq!(resets_in(&reply, "x-millis"), Some(Duration::from_secs(61)));
    assert_eq!(resets_in(&reply, "x-text"), Some(Duration::from_secs(61)));
    assert_eq!(resets_in(&reply, "x-past"), None);
}
