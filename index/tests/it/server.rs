//! A database of its own for each test, on one throw-away server.

use std::sync::atomic::{AtomicU32, Ordering};
use tokio::sync::OnceCell;
use whence_index::{Generation, Pool, pool, setup, setup_model};
use whence_provision::testing::Servers;

static SERVERS: OnceCell<Servers> = OnceCell::const_new();
static NEXT: AtomicU32 = AtomicU32::new(0);

/// An empty database.
pub async fn empty() -> Pool {
    let servers = SERVERS
        .get_or_init(|| async { Servers::start().await.unwrap() })
        .await;
    let name = format!("index{}", NEXT.fetch_add(1, Ordering::Relaxed));
    pool(&servers.fresh_database(&name).await.unwrap(), 8).unwrap()
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
