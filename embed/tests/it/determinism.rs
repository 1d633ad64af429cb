//! A text's vector is the same bits in whatever ticket, session or process.

use crate::{
    stage::stage,
    support::{input, load},
};
use std::{fmt::Write, process::Command, sync::Arc};
use whence_embed::EmbedStage;
use whence_log::{Previous, Stage};

const TEXTS: [&str; 3] = [
    "Why does the kiln cool too fast?",
    "glaze",
    "The member list is sent twice when a commit arrives late, so the second one wins.",
];

/// Tells the child process of the test below to print instead.
const PRINT: &str = "WHENCE_TEST_PRINT_VECTORS";

/// The bits of the vectors, sorted by text hash.
async fn bits(stage: &EmbedStage, texts: &[&str]) -> String {
    let previous = Previous::known(None);
    let out = stage.handle(input(texts), &previous).await.unwrap();
    let mut line = String::new();
    for number in out.vectors.iter().flat_map(|v| &v.vector) {
        write!(line, "{:08x}", number.to_bits()).unwrap();
    }
    line
}

#[tokio::test(flavor = "multi_thread")]
async fn tickets_at_once_get_what_each_gets_alone() {
    let stage = Arc::new(stage());
    let mut alone = Vec::new();
    for text in TEXTS {
        alone.push(bits(&stage, &[text]).await);
    }
    let crowd: Vec<_> = (0..24)
        .map(|n| {
            let stage = stage.clone();
            tokio::spawn(async move { bits(&stage, &[TEXTS[n % 3]]).await })
        })
        .collect();
    for (n, task) in crowd.into_iter().enumerate() {
        assert_eq!(task.await.unwrap(), alone[n % 3], "text {}", n % 3);
    }
}

#[tokio::test]
async fn another_session_and_another_process_give_the_same_bits() {
    if std::env::var_os(PRINT).is_some() {
        println!("bits {}", bits(&stage(), &TEXTS).await);
        return;
    }
    let here = bits(&stage(), &TEXTS).await;
    let session = EmbedStage::new(Arc::new(load(1)));
    assert_eq!(bits(&session, &TEXTS).await, here, "another session");

    let this = "determinism::another_session_and_another_process_give_the_same_bits";
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", this, "--nocapture"])
        .env(PRINT, "1")
        .output()
        .unwrap();
    let printed = String::from_utf8(child.stdout).unwrap();
    let there = printed
        .split("bits ")
        .nth(1)
        .map(|rest| &rest[..here.len()]);
    assert_eq!(there, Some(here.as_str()), "another process");
}
