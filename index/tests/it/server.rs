//! A database of its own for each test.

use std::sync::atomic::{AtomicU32, Ordering};
use tokio::sync::OnceCell;
use whence_index::{Generation, Pool, pool, setup, setup_model};
use whence_provision::testing::Servers;

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

/// An empty database.
pub async fn empty() -> Pool {
    let server = address().await;
    let name = format!(
        "t{}_{}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    );
    let admin = pool(&format!("{server}/postgres"), 1).unwrap();
    admin
        .get()
        .await
        .unwrap()
        .batch_execute(&format!("CREATE DATABASE {name}"))
        .await
        .unwrap();
    pool(&format!("{server}/{name}"), 8).unwrap()
}

/// A database with the schema and one model.
pub async fn ready() -> (Pool, Generation) {
    let pool = empty().await;
    let mut client = pool.get().await.unwrap();
    setup(&mut client).await.unwrap();
    let model = crate::tickets::model();
    let generation = setup_model(&mut client, &model, "small", 3).await.unwrap();
    (pool.clone(), generation)
}
