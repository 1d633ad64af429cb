//! One message in, one message out.

use crate::support::{input, load};
use std::{
    error::Error,
    sync::{Arc, LazyLock, atomic::Ordering},
};
use whence_contract::{EmbeddedTicket, Recipe, StageVersion};
use whence_embed::{EmbedStage, VERSION};
use whence_log::{ErrorKind, Previous, Stage};
use whence_model::Encoder;

static ENCODER: LazyLock<Arc<Encoder>> = LazyLock::new(|| Arc::new(load(2)));

/// A stage with counters of its own around the encoder that all tests share.
pub(crate) fn stage() -> EmbedStage {
    EmbedStage::new(ENCODER.clone())
}

/// Embedded and reused so far.
fn counted(stage: &EmbedStage) -> (u64, u64) {
    let counters = stage.counters();
    (
        counters.embedded.load(Ordering::Relaxed),
        counters.reused.load(Ordering::Relaxed),
    )
}

async fn handle(
    stage: &EmbedStage,
    texts: &[&str],
    previous: Option<&EmbeddedTicket>,
) -> EmbeddedTicket {
    let previous = Previous::known(previous.cloned());
    stage.handle(input(texts), &previous).await.unwrap()
}

#[tokio::test]
async fn one_vector_for_each_text_sorted_by_hash() {
    let stage = stage();
    let out = handle(&stage, &["glaze", "kiln", "glaze", "clay"], None).await;
    assert_eq!(counted(&stage), (3, 0), "a text that stands twice");
    let hashes: Vec<_> = out.vectors.iter().map(|v| &v.text_hash).collect();
    assert_eq!(hashes.len(), 3);
    assert!(hashes.is_sorted());
    assert_eq!(out.ticket, input(&["glaze", "kiln", "glaze", "clay"]).body);
}

#[tokio::test]
async fn an_edit_of_one_chunk_embeds_one_text_and_leaves_none_behind() {
    let stage = stage();
    let texts: Vec<String> = (0..200).map(|n| format!("remark {n}")).collect();
    let mut texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let first = handle(&stage, &texts, None).await;
    assert_eq!(counted(&stage), (200, 0));

    let replayed = handle(&stage, &texts, Some(&first)).await;
    assert_eq!(counted(&stage), (200, 200), "a replay embeds nothing");
    assert_eq!(replayed, first);

    texts[17] = "the glaze cracked";
    let edited = handle(&stage, &texts, Some(&first)).await;
    assert_eq!(counted(&stage), (201, 399), "an edit embeds what changed");
    assert_eq!(edited.vectors.len(), 200, "the old text's vector is gone");
    let cold = handle(&stage, &texts, None).await;
    assert_eq!(edited, cold, "the cache changes nothing");
}

#[tokio::test]
async fn vectors_of_another_model_are_not_taken() {
    let stage = stage();
    let mut other = handle(&stage, &["kiln"], None).await;
    other.model.0.push('x');
    let own = handle(&stage, &["kiln"], Some(&other)).await;
    assert_eq!(counted(&stage), (2, 0));
    assert_ne!(own.model, other.model);
}

#[tokio::test]
async fn a_chunk_that_does_not_fit_is_refused_by_name() {
    let long = "kiln ".repeat(600);
    let error = stage()
        .handle(input(&["short", &long]), &Previous::known(None))
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Refused);
    assert!(
        error.to_string().contains("chunk 1 of acme/kiln#7"),
        "{error}"
    );
    let cause = error.source().unwrap().to_string();
    assert!(cause.contains("512"), "{cause}");
}

#[tokio::test]
async fn no_text_no_vector() {
    let out = handle(&stage(), &[], None).await;
    assert!(out.vectors.is_empty());
}

#[test]
fn the_recipe_gains_this_stage_and_keeps_the_others() {
    let chunk = StageVersion {
        code: 4,
        settings: 2,
    };
    let recipe = stage().recipe(Recipe {
        chunk,
        ..Recipe::default()
    });
    assert_eq!((recipe.chunk, recipe.embed.code), (chunk, VERSION));
}
