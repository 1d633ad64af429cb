//! One ticket into the tables.

use crate::{server, tickets};
use tickets::{input, recipe, ticket};
use whence_contract::{ModelId, UnitKind, Visibility};
use whence_index::{IndexStage, Outcome, apply, delete, fingerprint, setup_model, stats};
use whence_log::{ErrorKind, Previous, Stage};

#[tokio::test]
async fn all_rows_of_a_ticket() {
    let (pool, generation) = server::ready().await;
    let mut client = pool.get().await.unwrap();
    let body = ticket(
        "7",
        "Lift-off fails",
        "The engine stops.",
        &["Which engine?", "", "Ours."],
    );
    let applied = apply(
        &mut client,
        &generation,
        &input("7", 5, recipe(1, 1, 1), body),
    )
    .await
    .unwrap();
    assert_eq!(applied.outcome, Outcome::Inserted);
    insta::assert_snapshot!(fingerprint(&client).await.unwrap());
    let mut stats = stats(&client).await.unwrap();
    assert!(
        stats
            .sizes
            .iter()
            .any(|size| size.table == "postings" && size.index_bytes > 0)
    );
    stats.sizes.clear();
    insta::assert_json_snapshot!(stats);
}

#[tokio::test]
async fn applying_again_changes_nothing_and_an_edit_only_its_own_rows() {
    let (pool, generation) = server::ready().await;
    let mut client = pool.get().await.unwrap();
    let rows = "SELECT ticket_id, indexed_at FROM tickets";
    let vectors = "SELECT text_hash, xmin::text FROM vectors_small ORDER BY text_hash";

    let first = ticket("7", "Title", "Body", &["one", "two"]);
    let message = input("7", 5, recipe(1, 1, 1), first);
    apply(&mut client, &generation, &message).await.unwrap();
    let before = client.query_one(rows, &[]).await.unwrap();
    let again = apply(&mut client, &generation, &message).await.unwrap();
    assert_eq!(again.outcome, Outcome::NotNewer);
    assert_eq!(again.indexed_at, before.get::<_, jiff::Timestamp>(1));

    let versions = |found: Vec<tokio_postgres::Row>| -> Vec<(Vec<u8>, String)> {
        found.iter().map(|row| (row.get(0), row.get(1))).collect()
    };
    let old = versions(client.query(vectors, &[]).await.unwrap());
    let edited = ticket("7", "Title", "Body", &["one", "changed"]);
    let applied = apply(
        &mut client,
        &generation,
        &input("7", 6, recipe(1, 1, 1), edited),
    )
    .await
    .unwrap();
    assert_eq!((applied.outcome, applied.stored.0), (Outcome::Updated, 6));
    let after = client.query_one(rows, &[]).await.unwrap();
    assert_eq!(before.get::<_, i64>(0), after.get::<_, i64>(0));
    let new = versions(client.query(vectors, &[]).await.unwrap());
    assert_eq!(new.len(), 3);
    assert_eq!(
        new.iter().filter(|row| old.contains(row)).count(),
        2,
        "two vectors untouched"
    );
    let text = fingerprint(&client).await.unwrap();
    assert!(
        text.contains("changed") && !text.contains("\"two\""),
        "{text}"
    );
}

#[tokio::test]
async fn a_newer_embedder_replaces_vectors_alone() {
    let (pool, generation) = server::ready().await;
    let mut client = pool.get().await.unwrap();
    let body = ticket("7", "Title", "Body", &[]);
    apply(
        &mut client,
        &generation,
        &input("7", 5, recipe(2, 2, 1), body.clone()),
    )
    .await
    .unwrap();
    let xmin = "SELECT xmin::text FROM chunks";
    let before: String = client.query_one(xmin, &[]).await.unwrap().get(0);
    let mut other = body;
    other.vectors[0].vector = vec![0.0, 0.0, 1.0];
    apply(
        &mut client,
        &generation,
        &input("7", 5, recipe(2, 2, 2), other.clone()),
    )
    .await
    .unwrap();
    let vector = client
        .query_one("SELECT embedding::text FROM vectors_small", &[])
        .await
        .unwrap();
    assert_eq!(vector.get::<_, String>(0), "[0,0,1]");
    assert_eq!(
        client
            .query_one(xmin, &[])
            .await
            .unwrap()
            .get::<_, String>(0),
        before
    );
    // A newer embedder on older chunks is not newer.
    let late = apply(
        &mut client,
        &generation,
        &input("7", 5, recipe(2, 1, 9), other),
    )
    .await;
    assert_eq!(late.unwrap().outcome, Outcome::NotNewer);
}

#[tokio::test]
async fn a_deletion_leaves_a_tombstone_and_nothing_else() {
    let (pool, generation) = server::ready().await;
    let mut client = pool.get().await.unwrap();
    let second = ModelId("test/second@1:2".to_owned());
    let other = setup_model(&mut client, &second, "second", 2)
        .await
        .unwrap();
    let body = ticket("7", "Secret", "plan", &["zeppelin"]);
    apply(
        &mut client,
        &generation,
        &input("7", 5, recipe(1, 1, 1), body.clone()),
    )
    .await
    .unwrap();
    let mut twin = body.clone();
    twin.model = second;
    twin.vectors.iter_mut().for_each(|embedding| {
        embedding.vector.pop();
    });
    apply(&mut client, &other, &input("7", 5, recipe(1, 1, 1), twin))
        .await
        .unwrap();

    // An edit through one model leaves no vector of the old text in the other.
    let edited = ticket("7", "Secret", "plan", &[]);
    apply(
        &mut client,
        &generation,
        &input("7", 6, recipe(1, 1, 1), edited),
    )
    .await
    .unwrap();
    let left = client
        .query_one("SELECT count(*) FROM vectors_second", &[])
        .await
        .unwrap();
    assert_eq!(left.get::<_, i64>(0), 1);

    let gone = delete(
        &mut client,
        &generation,
        &input("7", 7, recipe(1, 1, 1), ()),
    )
    .await
    .unwrap();
    assert_eq!(gone.outcome, Outcome::Deleted);
    assert_eq!(
        fingerprint(&client).await.unwrap(),
        "tombstones github:acme/rockets/7 (upstream) 7\n"
    );
    for late in [6, 7] {
        let late = input("7", late, recipe(9, 9, 9), body.clone());
        let late = apply(&mut client, &generation, &late).await.unwrap();
        assert_eq!((late.outcome, late.stored.0), (Outcome::NotNewer, 7));
    }
    let back = apply(
        &mut client,
        &generation,
        &input("7", 8, recipe(1, 1, 1), body),
    )
    .await;
    assert_eq!(back.unwrap().outcome, Outcome::Inserted);
    assert!(!fingerprint(&client).await.unwrap().contains("tombstones"));
    let late = delete(
        &mut client,
        &generation,
        &input("7", 7, recipe(1, 1, 1), ()),
    )
    .await;
    assert_eq!(late.unwrap().outcome, Outcome::NotNewer);
}

#[tokio::test]
async fn hidden_text_has_postings_of_its_own() {
    let (pool, generation) = server::ready().await;
    let mut client = pool.get().await.unwrap();
    let mut body = ticket("7", "Title", "public words", &["internal words"]);
    body.ticket.document.units[1].visibility = Visibility::Internal;
    apply(
        &mut client,
        &generation,
        &input("7", 5, recipe(1, 1, 1), body),
    )
    .await
    .unwrap();
    let terms = "SELECT term, visibility, tf FROM postings
                 WHERE term IN ('public', 'intern', 'word') ORDER BY 2, 1";
    let found: Vec<(String, i16, i32)> = client
        .query(terms, &[])
        .await
        .unwrap()
        .iter()
        .map(|row| (row.get(0), row.get(1), row.get(2)))
        .collect();
    let levels: Vec<i16> = found.iter().map(|row| row.1).collect();
    assert_eq!(levels, [0, 0, 1, 1], "{found:?}");
    let lens = client
        .query_one("SELECT lexical_len FROM tickets", &[])
        .await
        .unwrap();
    let lens: Vec<i32> = lens.get(0);
    assert!(lens[0] < lens[1] && lens[1] == lens[2], "{lens:?}");
}

#[tokio::test]
async fn what_the_tables_do_not_take_is_refused_and_harms_nobody() {
    let (pool, generation) = server::ready().await;
    let mut client = pool.get().await.unwrap();
    let good = || ticket("7", "Title", "Body", &["one"]);
    let mut broken = Vec::new();
    let mut body = good();
    body.ticket.document.title = "a\0b".to_owned();
    broken.push(("a NUL in a column", body));
    let mut body = good();
    body.ticket.chunks[1].text = "a\0b".to_owned();
    broken.push(("a NUL in a chunk", body));
    let mut body = good();
    body.ticket.chunks[1].seq = 0;
    broken.push(("a seq twice", body));
    let mut body = good();
    body.ticket.chunks[1].unit = 9;
    broken.push(("a chunk without a unit", body));
    let mut body = good();
    body.vectors.pop();
    broken.push(("a chunk without a vector", body));
    let mut body = good();
    body.vectors[0].vector.push(0.5);
    broken.push(("a vector of another length", body));
    let mut body = good();
    body.vectors[0].vector[0] = f32::NAN;
    broken.push(("a vector that is no number", body));
    let mut body = good();
    body.ticket.document.labels[0].name = (0..9000).map(|i| format!("{i:x}")).collect();
    broken.push(("a label longer than an index takes", body));

    for (what, body) in broken {
        let error = apply(
            &mut client,
            &generation,
            &input("7", 5, recipe(1, 1, 1), body),
        )
        .await
        .unwrap_err();
        assert_eq!(
            error.kind,
            ErrorKind::Refused,
            "{what}: {error} {:?}",
            error.source
        );
        assert!(
            error.to_string().contains("github:acme/rockets/7"),
            "{what}: {error}"
        );
        assert_eq!(fingerprint(&client).await.unwrap(), "", "{what}");
    }
    let hostile = ticket(
        "8",
        "'; DROP TABLE tickets; -- \" % _ \\ 🚀 \u{202e}",
        &"x".repeat(100_000),
        &["{\"a\": [1, \"}\"]}", "\t\r\n"],
    );
    apply(
        &mut client,
        &generation,
        &input("8", 5, recipe(1, 1, 1), hostile.clone()),
    )
    .await
    .unwrap();
    let title = client
        .query_one("SELECT title FROM tickets", &[])
        .await
        .unwrap();
    assert_eq!(title.get::<_, String>(0), hostile.ticket.document.title);
}

#[tokio::test]
async fn two_workers_on_one_ticket_end_with_the_newest() {
    let (pool, generation) = server::ready().await;
    for round in 0..5_u64 {
        let mut tasks = Vec::new();
        for step in 0..8_u64 {
            let (pool, generation) = (pool.clone(), generation.clone());
            tasks.push(tokio::spawn(async move {
                let mut client = pool.get().await.unwrap();
                let revision = round * 10 + step;
                let body = ticket("7", &format!("state {revision}"), "Body", &["one", "two"]);
                let message = input("7", revision, recipe(1, 1, 1), body);
                apply(&mut client, &generation, &message).await.unwrap()
            }));
        }
        for task in tasks {
            task.await.unwrap();
        }
        let client = pool.get().await.unwrap();
        let row = client
            .query_one("SELECT title, revision FROM tickets", &[])
            .await
            .unwrap();
        let newest = round * 10 + 7;
        assert_eq!(row.get::<_, String>(0), format!("state {newest}"));
        assert_eq!(row.get::<_, i64>(1), i64::try_from(newest).unwrap());
    }
}

#[tokio::test]
async fn the_stage_says_what_is_searchable() {
    let (pool, generation) = server::ready().await;
    let stage = IndexStage::new(pool.clone(), generation);
    let body = ticket("7", "Title", "Body", &["one"]);
    assert_eq!(body.ticket.document.units[0].kind, UnitKind::Description);
    let message = input("7", 5, recipe(1, 1, 1), body);
    let out = stage
        .handle(message.clone(), &Previous::known(None))
        .await
        .unwrap();
    assert_eq!(
        (out.stored.0, out.id.as_str(), out.chunks),
        (5, "acme/rockets#7", 2)
    );
    stage
        .deleted(input("7", 6, recipe(1, 1, 1), ()))
        .await
        .unwrap();
    let late = stage.handle(message, &Previous::known(None)).await.unwrap();
    assert_eq!(late.stored.0, 6);
}

#[tokio::test]
async fn a_server_that_is_away_is_waited_for() {
    let (_, generation) = server::ready().await;
    let nowhere = whence_index::pool("postgres://nobody@127.0.0.1:1/none", 1).unwrap();
    let stage = IndexStage::new(nowhere, generation);
    let message = input("7", 5, recipe(1, 1, 1), ticket("7", "Title", "Body", &[]));
    let error = stage
        .handle(message, &Previous::known(None))
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Transient);
}
