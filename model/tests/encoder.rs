//! The real model: what a vector depends on, and what it does not.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::sync::{Arc, LazyLock};
use whence_model::{
    EmbedKind, Encoder, EncoderOptions, GraphKind, ModelError, ModelFiles, ModelSpec, Tokenizer,
    find,
};

fn spec() -> ModelSpec {
    find("minilm").unwrap()
}

fn files() -> ModelFiles {
    whence_model::fetch(&spec(), &whence_provision::Cache::open(None).unwrap()).unwrap()
}

fn load(spec: &ModelSpec, threads: usize) -> Encoder {
    Encoder::load(spec, &files(), EncoderOptions { threads }).unwrap()
}

static ENCODER: LazyLock<Arc<Encoder>> = LazyLock::new(|| Arc::new(load(&spec(), 2)));

fn texts() -> Vec<String> {
    let words = [
        "kiln",
        "glaze",
        "handshake",
        "nonce",
        "reused",
        "why",
        "dropped",
        "the",
        "member",
    ];
    (0..40usize)
        .map(|n| {
            (0..=n * 4)
                .map(|i| words[(i * 7 + n) % words.len()])
                .collect::<Vec<_>>()
                .join(" ")
        })
        .collect()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    a.iter()
        .zip(b)
        .map(|(x, y)| f64::from(*x) * f64::from(*y))
        .sum()
}

async fn one(encoder: &Encoder, text: &str) -> Vec<f32> {
    encoder
        .embed(vec![text.to_owned()], EmbedKind::Passage)
        .await
        .unwrap()
        .remove(0)
}

#[tokio::test(flavor = "multi_thread")]
async fn near_in_meaning_is_near_in_space() {
    let about = one(&ENCODER, "A member's certificate has expired.").await;
    let near = one(&ENCODER, "The credentials of a participant ran out.").await;
    let far = one(&ENCODER, "Bake the bread for forty minutes.").await;
    assert!(cosine(&about, &near) > cosine(&about, &far) + 0.2);
    assert!((cosine(&about, &about) - 1.0).abs() < 1e-5, "unit length");
    assert_eq!(about.len(), 384);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vector_depends_on_its_text_alone_bit_by_bit() {
    let texts = texts();
    let together = ENCODER
        .embed(texts.clone(), EmbedKind::Passage)
        .await
        .unwrap();
    let other = load(&spec(), 1);
    for (text, vector) in texts.iter().zip(&together) {
        assert_eq!(
            &one(&ENCODER, text).await,
            vector,
            "alone differs from together"
        );
        assert_eq!(&one(&other, text).await, vector, "another session differs");
    }
    let mut backwards = texts.clone();
    backwards.reverse();
    let mut vectors = ENCODER.embed(backwards, EmbedKind::Passage).await.unwrap();
    vectors.reverse();
    assert_eq!(vectors, together, "order matters");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_passage_that_does_not_fit_is_an_error_and_its_tail_counts() {
    let tokenizer = Tokenizer::load(&files().tokenizer).unwrap();
    let long = "why ".repeat(300);
    assert!(
        tokenizer.count(&long) > 300,
        "the file's own limit of 128 is lifted"
    );
    assert_ne!(
        one(&ENCODER, &long).await,
        one(&ENCODER, &format!("{long} glaze")).await
    );
    let too_long = "why ".repeat(600);
    let error = ENCODER
        .embed(vec![too_long.clone()], EmbedKind::Passage)
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            ModelError::TooLong {
                index: 0,
                tokens: 602,
                limit: 512
            }
        ),
        "{error}"
    );
    let question = ENCODER
        .embed(vec![too_long], EmbedKind::Query)
        .await
        .unwrap();
    assert_eq!(question[0].len(), 384, "a question is cut instead");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rewritten_graph_means_the_same_as_the_published_one() {
    let published = load(
        &ModelSpec {
            graph: GraphKind::Published,
            ..spec()
        },
        2,
    );
    assert_ne!(
        published.id(),
        ENCODER.id(),
        "another graph is another identity"
    );
    let a = published.embed(texts(), EmbedKind::Passage).await.unwrap();
    let b = ENCODER.embed(texts(), EmbedKind::Passage).await.unwrap();
    let mut cosines: Vec<f64> = a.iter().zip(&b).map(|(a, b)| cosine(a, b)).collect();
    cosines.sort_by(f64::total_cmp);
    println!(
        "cosine published/rewritten: lowest {:.4}, median {:.4}",
        cosines[0], cosines[20]
    );
    assert!(cosines[20] > 0.98 && cosines[0] > 0.95, "{cosines:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_goes_before_waiting_passages() {
    let passages = tokio::spawn({
        let encoder = ENCODER.clone();
        async move {
            encoder
                .embed(vec!["kiln ".repeat(200); 200], EmbedKind::Passage)
                .await
        }
    });
    tokio::task::yield_now().await;
    ENCODER
        .embed(vec!["why".into()], EmbedKind::Query)
        .await
        .unwrap();
    assert!(
        !passages.is_finished(),
        "200 long passages were done before one question"
    );
    passages.abort();
}
