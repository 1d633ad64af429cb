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

static SERVERS: OnceCell<Servers> = OnceCell::const_new();
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A connection that may write, and a pool that reads.
pub async fn ready() -> (Client, Pool) {
    let servers = SERVERS
        .get_or_init(|| async { Servers::start().await.unwrap() })
        .await;
    let name = format!("query{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let url = servers.fresh_database(&name).await.unwrap();
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client.batch_execute(TABLES).await.unwrap();
    client.batch_execute(MODEL).await.unwrap();
    (client, pool(&url, 4, Duration::from_secs(60)).unwrap())
}
