//! Set-up, and refusing what this binary does not know.

use crate::{server, tickets};
use whence_contract::ModelId;
use whence_index::{activate_model, check_schema, find_model, setup, setup_model};
use whence_log::ErrorKind;

#[tokio::test]
async fn an_empty_database_is_refused_until_it_is_set_up() {
    let pool = server::empty().await;
    let mut client = pool.get().await.unwrap();
    let error = check_schema(&client).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Fatal);
    assert_eq!(
        error.to_string(),
        "the database has schema version 0, this binary needs 1: run set-up"
    );
    setup(&mut client).await.unwrap();
    setup(&mut client).await.unwrap();
    check_schema(&client).await.unwrap();
}

#[tokio::test]
async fn several_processes_may_set_up_at_once() {
    let pool = server::empty().await;
    let tasks: Vec<_> = (0..4)
        .map(|_| {
            let pool = pool.clone();
            tokio::spawn(async move {
                let mut client = pool.get().await.unwrap();
                setup(&mut client).await.unwrap();
                setup_model(&mut client, &tickets::model(), "small", 3)
                    .await
                    .unwrap()
            })
        })
        .collect();
    let mut generations = Vec::new();
    for task in tasks {
        generations.push(task.await.unwrap());
    }
    generations.dedup();
    assert_eq!(generations.len(), 1);
    check_schema(&pool.get().await.unwrap()).await.unwrap();
}

#[tokio::test]
async fn a_newer_schema_and_a_changed_migration_are_refused() {
    let (pool, _) = server::ready().await;
    let mut client = pool.get().await.unwrap();
    client
        .batch_execute(
            "INSERT INTO schema_migrations (version, name, checksum) VALUES (99, 'later', 'x')",
        )
        .await
        .unwrap();
    let newer = check_schema(&client).await.unwrap_err();
    assert_eq!(
        newer.to_string(),
        "the database has schema version 99, this binary knows versions up to 1: use a newer \
         binary, or another database"
    );
    assert_eq!(
        setup(&mut client).await.unwrap_err().to_string(),
        newer.to_string()
    );
    client
        .batch_execute(
            "DELETE FROM schema_migrations WHERE version = 99;
             UPDATE schema_migrations SET checksum = 'x'",
        )
        .await
        .unwrap();
    let drift = check_schema(&client).await.unwrap_err();
    assert!(
        drift.to_string().contains("was made by another file"),
        "{drift}"
    );
    assert_eq!(drift.kind, ErrorKind::Fatal);
}

#[tokio::test]
async fn models_live_side_by_side_and_one_is_active() {
    let (pool, first) = server::ready().await;
    let mut client = pool.get().await.unwrap();
    assert!(first.active);
    assert_eq!(
        (first.table.as_str(), first.kind.as_str()),
        ("vectors_small", "vector")
    );

    let wide = ModelId("test/wide@1:3000".to_owned());
    let second = setup_model(&mut client, &wide, "Wide-3000", 3000)
        .await
        .unwrap();
    assert!(!second.active);
    assert_eq!(
        (second.table.as_str(), second.kind.as_str()),
        ("vectors_wide_3000", "halfvec")
    );

    activate_model(&mut client, &wide).await.unwrap();
    assert!(find_model(&client, &wide).await.unwrap().unwrap().active);
    assert!(
        !find_model(&client, &first.model)
            .await
            .unwrap()
            .unwrap()
            .active
    );
    let unknown = activate_model(&mut client, &ModelId("none".to_owned()))
        .await
        .unwrap_err();
    assert_eq!(unknown.kind, ErrorKind::Fatal);
    // A failed switch changes nothing.
    assert!(find_model(&client, &wide).await.unwrap().unwrap().active);

    let other = setup_model(&mut client, &first.model, "small", 4)
        .await
        .unwrap_err();
    assert!(
        other.to_string().contains("not as vectors_small with 4"),
        "{other}"
    );
    for slug in ["", "x'; DROP TABLE tickets; --", &"x".repeat(49)] {
        let made = setup_model(&mut client, &ModelId(format!("m{slug}")), slug, 3).await;
        assert!(made.is_err() || slug.contains('\''), "{slug}");
    }
    check_schema(&client).await.unwrap();
    client.query("SELECT * FROM tickets", &[]).await.unwrap();
}
