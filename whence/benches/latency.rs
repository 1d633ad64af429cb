//! `cargo bench -p whence --bench latency`: how long answers take, and what the
//! vector index misses, on real archives and on 100,000 chunks made of them.
//!
//! `WHENCE_EVAL_DIR` names the folder with `*.archive.json` and `queries.*.jsonl`.
//! A copy of a ticket has every fifth term changed, in texts and postings, and its
//! vectors moved a little, so that no two are equal. Questions are asked over HTTP
//! by 1 and by 8 clients, beside the bare encoder on the same questions in the same
//! run. Recall is that of the service by its index, compared with itself made to look
//! at every vector.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench prints, and a failure ends it"
)]

use async_trait::async_trait;
use serde_json::{Value, json};
use std::{
    collections::{HashMap, HashSet},
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use tokio_postgres::NoTls;
use whence_contract::ModelId;
use whence_model::{Session, Tokenizer, fetch, find};
use whence_provision::{Cache, Endpoints};
use whence_query::{
    EncodeError, Filters, GroupBy, Hit, Mode, QueryEncoder, SearchConfig, SearchRequest,
    SearchService, eval::read_questions,
};

const CHUNKS: i64 = 100_000;
/// Milliseconds of each part of a search, as it says itself, and of all of it.
const PARTS: [&str; 8] = [
    "encode",
    "exact",
    "dense",
    "lexical",
    "lexical_chunk",
    "fuse",
    "fetch",
    "total",
];
fn main() {
    let folder = std::env::var_os("WHENCE_EVAL_DIR").map_or_else(
        || {
            PathBuf::from(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../shared/eval/dev"
            ))
        },
        PathBuf::from,
    );
    let questions = questions(&folder);
    if questions.is_empty() {
        println!(
            "no queries.*.jsonl in {}; set WHENCE_EVAL_DIR",
            folder.display()
        );
        return;
    }
    let _already_there = rustls::crypto::ring::default_provider().install_default();
    let data = tempfile::tempdir().unwrap();
    up(data.path(), &folder, true).wait().unwrap();
    let known = bare(&questions);

    let (mut service, base) = serve(data.path(), &folder);
    println!("the archives as they are:");
    measure(&base, &questions, service.id());
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let url = postgres(data.path());
    runtime.block_on(async {
        let client = connect(&url).await;
        grow(&client).await;
        println!("\n{CHUNKS} chunks made of them:");
    });
    // The corpus is counted anew after some seconds.
    std::thread::sleep(Duration::from_secs(6));
    measure(&base, &questions, service.id());
    runtime.block_on(recall(&url, known));
    service.kill().unwrap();
    service.wait().unwrap();
}

fn questions(folder: &Path) -> Vec<String> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "jsonl"))
        .collect();
    files.sort();
    let questions = read_questions(&files).unwrap();
    questions
        .into_iter()
        .map(|question| question.query)
        .collect()
}

fn up(data: &Path, folder: &Path, once: bool) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_whence"));
    command.args(["--data", data.to_str().unwrap(), "up"]);
    if once {
        command.arg("--once");
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.to_string_lossy().ends_with(".archive.json") {
                command
                    .arg("--source")
                    .arg(format!("archive:{}", path.display()));
            }
        }
    } else {
        command.args(["--listen", "127.0.0.1:0"]);
    }
    command
        .current_dir(data)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn serve(data: &Path, folder: &Path) -> (Child, String) {
    let mut child = up(data, folder, false);
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    let base = line.trim().rsplit(' ').next().unwrap().to_owned();
    (child, base)
}

/// Encodes every question alone; prints how long that takes.
fn bare(questions: &[String]) -> Known {
    let spec = find("minilm").unwrap();
    let files = fetch(&spec, &Cache::open(None).unwrap()).unwrap();
    let tokenizer = Tokenizer::load(&files.tokenizer).unwrap();
    let mut session = Session::load(&spec, &files).unwrap();
    let mut times = Vec::new();
    let vectors = questions
        .iter()
        .map(|question| {
            let at = Instant::now();
            let mut ids = tokenizer.encode(question);
            ids.truncate(spec.max_tokens);
            let vector = session.run(ids).unwrap();
            times.push(at.elapsed().as_secs_f64() * 1000.0);
            (question.clone(), vector)
        })
        .collect();
    print("the bare encoder", &mut times);
    Known {
        model: spec.id(),
        vectors,
    }
}

fn print(what: &str, times: &mut [f64]) {
    times.sort_by(f64::total_cmp);
    let at = |part: f64| times[((times.len() - 1) as f64 * part) as usize];
    println!(
        "  {what:22} p50 {:7.1}  p95 {:7.1}  p99 {:7.1} ms",
        at(0.50),
        at(0.95),
        at(0.99)
    );
}

fn measure(base: &str, questions: &[String], pid: u32) {
    for clients in [1, 8] {
        let next = AtomicUsize::new(0);
        let answers = Mutex::new(Vec::new());
        let begin = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..clients {
                scope.spawn(|| {
                    let client = reqwest::blocking::Client::new();
                    while let Some(question) = questions.get(next.fetch_add(1, Ordering::Relaxed)) {
                        let body = json!({ "query": question, "include_weak": true });
                        let at = Instant::now();
                        let answer: Value = client
                            .post(format!("{base}/search"))
                            .json(&body)
                            .send()
                            .unwrap()
                            .error_for_status()
                            .unwrap()
                            .json()
                            .unwrap();
                        let took = at.elapsed().as_secs_f64() * 1000.0;
                        assert_eq!(answer["degraded"], json!([]), "{answer}");
                        answers
                            .lock()
                            .unwrap()
                            .push((answer["took_ms"].clone(), took));
                    }
                });
            }
        });
        let answers = answers.into_inner().unwrap();
        println!(
            " {clients} clients, {:.0} questions/s",
            answers.len() as f64 / begin.elapsed().as_secs_f64()
        );
        for part in PARTS {
            let mut times: Vec<f64> = answers
                .iter()
                .map(|(took, _)| took[part].as_f64().unwrap())
                .collect();
            print(part, &mut times);
        }
        print(
            "over HTTP",
            &mut answers.iter().map(|(_, took)| *took).collect::<Vec<_>>(),
        );
    }
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let resident = status.lines().find(|line| line.starts_with("VmRSS"));
    println!(" memory of the process: {}", resident.unwrap_or("unknown"));
}

fn postgres(data: &Path) -> String {
    Endpoints::read(data).unwrap().postgres_url
}

async fn connect(url: &str) -> tokio_postgres::Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Copies all tickets until there are [`CHUNKS`] chunks.
async fn grow(client: &tokio_postgres::Client) {
    let count = async || -> i64 {
        let row = client.query_one("SELECT count(*) FROM chunks", &[]).await;
        row.unwrap().get(0)
    };
    let table = table(client).await;
    let mut copy = 0;
    client
        .batch_execute("SET synchronous_commit = off")
        .await
        .unwrap();
    let (first, last) = {
        let row = client
            .query_one("SELECT min(ticket_id), max(ticket_id) FROM tickets", &[])
            .await
            .unwrap();
        (row.get::<_, i64>(0), row.get::<_, i64>(1))
    };
    let step = last - first + 1;
    while count().await < CHUNKS {
        copy += 1;
        let (by, of) = (step * copy, format!("BETWEEN {first} AND {last}"));
        // Of one term in five another one, the same in a text and in its postings.
        let sql = format!(
            "INSERT INTO tickets OVERRIDING SYSTEM VALUE
               SELECT ticket_id + {by}, provenance, source, scope, ticket || '-{copy}', id || '-{copy}',
                      aliases, project, kind, title, url, state, author, assignees, milestone, priority,
                      created_at, updated_at, closed_at, visibility, ticket_refs, events, meta, revision,
                      recipe, indexer, indexed_at, chunk_count, lexical_len, chunks_len
               FROM tickets WHERE ticket_id {of};
             INSERT INTO units SELECT ticket_id + {by}, unit, kind, upstream_id, author, created_at,
                      updated_at, visibility, url, verdict, path FROM units WHERE ticket_id {of};
             INSERT INTO chunks
               SELECT ticket_id + {by}, seq, unit, kind, author, visibility, heading_path,
                      (SELECT string_agg(CASE WHEN abs(hashtext(w || '{copy}')) % 5 = 0
                              THEN w || 'x{copy}' ELSE w END, ' ') FROM unnest(string_to_array(text, ' ')) w),
                      least(prefix_len, 0), tokens, sha256(text_hash || '{copy}'::bytea), code_refs,
                      ticket_refs, lexical_len FROM chunks WHERE ticket_id {of};
             INSERT INTO postings
               SELECT CASE WHEN abs(hashtext(term || '{copy}')) % 5 = 0 THEN term || 'x{copy}' ELSE term END,
                      ticket_id + {by}, visibility, tf, len, seqs, tfs FROM postings WHERE ticket_id {of}
               ON CONFLICT DO NOTHING;
             INSERT INTO {table}
               SELECT v.ticket_id + {by}, sha256(v.text_hash || '{copy}'::bytea),
                      l2_normalize((SELECT array_agg(e + 0.04 * (random() - 0.5) ORDER BY place)
                        FROM unnest(v.embedding::real[]) WITH ORDINALITY AS x(e, place))::vector)
               FROM {table} v WHERE v.ticket_id {of};"
        );
        client.batch_execute(&sql).await.unwrap();
    }
    client.batch_execute("ANALYZE").await.unwrap();
}

async fn table(client: &tokio_postgres::Client) -> String {
    let row = client
        .query_one("SELECT slug FROM models WHERE active", &[])
        .await;
    format!("vectors_{}", row.unwrap().get::<_, String>(0))
}

/// Gives each question the vector that it got alone.
struct Known {
    model: ModelId,
    vectors: HashMap<String, Vec<f32>>,
}

#[async_trait]
impl QueryEncoder for Known {
    fn model(&self) -> &ModelId {
        &self.model
    }

    async fn encode(&self, query: &str) -> Result<Vec<f32>, EncodeError> {
        let vector = self.vectors.get(query).cloned();
        vector.ok_or_else(|| EncodeError("not one of the questions".to_owned()))
    }
}

/// Of the 100 nearest chunks, those that the service finds by its index: without a
/// filter, with one that leaves a third, and with one that leaves a few in a hundred.
async fn recall(url: &str, known: Known) {
    let client = connect(url).await;
    let count = |filter: &str| {
        let sql = format!(
            "SELECT count(*) FROM chunks c JOIN tickets t USING (ticket_id) WHERE {filter}"
        );
        let client = &client;
        async move { client.query_one(&sql, &[]).await.unwrap().get::<_, i64>(0) }
    };
    let project: String = client
        .query_one(
            "SELECT project FROM tickets ORDER BY ticket_id LIMIT 1",
            &[],
        )
        .await
        .unwrap()
        .get(0);
    let filters = [
        (Filters::default(), "true".to_owned()),
        (
            Filters::default().with("project", &project).unwrap(),
            format!("t.project = '{project}'"),
        ),
        (
            Filters::default().with("kind", "review").unwrap(),
            "c.kind = 'review'".to_owned(),
        ),
    ];
    let questions: Vec<String> = known.vectors.keys().cloned().collect();
    let known: Arc<dyn QueryEncoder> = Arc::new(known);
    // The service as it is, and once made to look at every vector.
    let service = |exact_below| {
        let config = SearchConfig {
            exact_below,
            ..SearchConfig::default()
        };
        let pool = whence_query::pool(url, 4, config.deadline).unwrap();
        SearchService::new(pool, Some(known.clone()), config)
    };
    let default = SearchConfig::default().exact_below;
    let (walk, exact) = (service(default), service(usize::MAX));
    for (filters, sql) in filters {
        let (mut found, mut wanted) = (0, 0);
        let (mut walked, mut looked) = (Vec::new(), Vec::new());
        for question in questions.iter().step_by(5) {
            let mut request = SearchRequest::new(question.clone());
            (request.mode, request.group_by, request.k) = (Mode::Dense, GroupBy::Chunk, 100);
            request.filters = filters.clone();
            request.include_weak = true;
            let by_index = walk.search(&request).await.unwrap();
            let by_all = exact.search(&request).await.unwrap();
            walked.push(by_index.took_ms.dense);
            looked.push(by_all.took_ms.dense);
            let key = |hit: &Hit| (hit.id.clone(), hit.chunks[0].seq);
            let have: HashSet<_> = by_index.hits.iter().map(key).collect();
            found += by_all
                .hits
                .iter()
                .filter(|hit| have.contains(&key(hit)))
                .count();
            wanted += by_all.hits.len();
        }
        println!(
            " {sql}: {} chunks pass, recall@100 {:.4}",
            count(&sql).await,
            found as f64 / wanted as f64
        );
        print("as it is", &mut walked);
        print("by looking at all", &mut looked);
    }
}
