//! A database of its own for each test.

use std::sync::atomic::{AtomicU32, Ordering};
use whence_index::{Generation, Pool, pool, setup, setup_model};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// An empty database.
pub async fn empty() -> Pool {
    let server = std::env::var("WHENCE_TEST_POSTGRES").unwrap();
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
