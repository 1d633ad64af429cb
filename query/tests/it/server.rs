//! A database of its own for each test, with the tables that `index` makes.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};
use tokio::sync::OnceCell;
use tokio_postgres::{Client, NoTls};
use whence_provision::testing::Servers;
use whence_query::{Pool, pool};

/// The tables as they are; read from the file, because no stage knows another.
const TABLES: &str = include_str!("../../../index/migrations/0001_rows.sql");
const MODEL: &str = "
    INSERT INTO models (model, slug, dims, type, active) VALUES ('test', 'test', 8, 'vector', true);
    CREATE TABLE vectors_test (ticket_id bigint NOT NULL, text_hash bytea NOT NULL,
        embedding vector(8) NOT NULL, PRIMARY KEY (ticket_id, text_hash));
    CREATE INDEX ON vectors_test USING hnsw (embedding vector_cosine_ops);";

static NEXT: AtomicU32 = AtomicU32::new(0);
/// One for the whole binary; it dies with the process.
static SERVERS: OnceCell<Servers> = OnceCell::const_new();

/// The server's address without a database.
async fn address() -> &'static str {
    let servers = SERVERS
        .get_or_init(|| async { Servers::postgres_only().await.unwrap() })
        .await;
    servers.postgres_url().rsplit_once('/').unwrap().0
}

/// A connection that may write, and a pool that reads.
pub async fn ready() -> (Client, Pool) {
    let server = address().await;
    let name = format!(
        "q{}_{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    );
    let admin = connect(&format!("{server}/postgres")).await;
    admin
        .batch_execute(&format!("CREATE DATABASE {name}"))
        .await
        .unwrap();
    let client = connect(&format!("{server}/{name}")).await;
    client.batch_execute(TABLES).await.unwrap();
    client.batch_execute(MODEL).await.unwrap();
    (
        client,
        pool(&format!("{server}/{name}"), 4, Duration::from_secs(60)).unwrap(),
    )
}

async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}
