//! Throw-away servers, as the tests of every stage use them.

use futures::StreamExt as _;
use tokio_postgres::{Client, NoTls};
use whence_provision::testing::Servers;

pub(crate) async fn connect(url: &str) -> Client {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// The client takes no credentials from the address.
pub(crate) async fn nats(url: &str) -> Result<async_nats::Client, async_nats::ConnectError> {
    let rest = url.strip_prefix("nats://").unwrap();
    match rest.split_once('@') {
        None => async_nats::connect(rest).await,
        Some((credentials, address)) => {
            let (user, password) = credentials.split_once(':').unwrap();
            async_nats::ConnectOptions::with_user_and_password(user.into(), password.into())
                .connect(address)
                .await
        }
    }
}

/// Publishes to a new stream and waits for each acknowledgement.
pub(crate) async fn publish(url: &str, count: usize) {
    let client = nats(url).await.unwrap();
    let jetstream = async_nats::jetstream::new(client);
    let stream = async_nats::jetstream::stream::Config {
        name: "T".to_owned(),
        subjects: vec!["t.>".to_owned()],
        ..Default::default()
    };
    jetstream.get_or_create_stream(stream).await.unwrap();
    for n in 0..count {
        jetstream
            .publish(format!("t.{n}"), "x".into())
            .await
            .unwrap()
            .await
            .unwrap();
    }
}

pub(crate) async fn stored(url: &str) -> u64 {
    let client = nats(url).await.unwrap();
    let jetstream = async_nats::jetstream::new(client);
    let mut stream = jetstream.get_stream("T").await.unwrap();
    stream.info().await.unwrap().state.messages
}

#[tokio::test]
async fn killed_servers_come_back_on_the_same_port_with_what_they_acknowledged() {
    let servers = Servers::start().await.unwrap();
    let url = servers.fresh_database("kept").await.unwrap();
    let client = connect(&url).await;
    client
        .batch_execute("CREATE TABLE t (v vector(3)); INSERT INTO t VALUES ('[1,2,3]')")
        .await
        .unwrap();
    publish(servers.nats_url(), 50).await;

    servers.kill_postgres().await.unwrap();
    servers.kill_nats().await.unwrap();
    assert!(tokio_postgres::connect(&url, NoTls).await.is_err());
    assert!(async_nats::connect(servers.nats_url()).await.is_err());
    servers.restart_postgres().await.unwrap();
    servers.restart_nats().await.unwrap();

    let client = connect(&url).await;
    let rows = client.query("SELECT v::text FROM t", &[]).await.unwrap();
    assert_eq!(rows[0].get::<_, String>(0), "[1,2,3]");
    assert_eq!(stored(servers.nats_url()).await, 50);
    let folder = servers.data().to_owned();
    servers.stop().await;
    assert!(!folder.exists());
}

#[tokio::test]
async fn a_fresh_database_is_empty_has_pgvector_and_is_the_stages_own() {
    let servers = Servers::postgres_only().await.unwrap();
    let url = servers.fresh_database("again").await.unwrap();
    connect(&url)
        .await
        .batch_execute("CREATE TABLE t ()")
        .await
        .unwrap();
    let url = servers.fresh_database("again").await.unwrap();
    let client = connect(&url).await;
    // What migrations do: repeatable, and without a superuser's rights.
    client
        .batch_execute(
            "CREATE EXTENSION IF NOT EXISTS vector; CREATE EXTENSION IF NOT EXISTS pg_trgm;
             CREATE TABLE t (v halfvec(3)); CREATE SCHEMA s;
             CREATE INDEX ON t USING hnsw (v halfvec_cosine_ops)",
        )
        .await
        .unwrap();
    let row = client
        .query_one("SELECT usesuper, current_setting('server_version') FROM pg_user WHERE usename = current_user", &[])
        .await
        .unwrap();
    assert!(!row.get::<_, bool>(0));
    assert_eq!(row.get::<_, String>(1), "18.1");
}

#[tokio::test]
async fn a_message_of_eight_megabytes_passes() {
    let servers = Servers::nats_only().await.unwrap();
    let client = async_nats::connect(servers.nats_url()).await.unwrap();
    let mut inbox = client.subscribe("big").await.unwrap();
    client
        .publish("big", vec![b'x'; 8 << 20].into())
        .await
        .unwrap();
    assert_eq!(inbox.next().await.unwrap().payload.len(), 8 << 20);
}
