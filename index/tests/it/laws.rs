//! Whatever the order of messages, the end is the same.

use crate::{server, tickets};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tickets::{input, recipe, ticket};
use whence_index::{Generation, Pool, apply, delete, fingerprint};

/// One message: which ticket, which revision, and its recipe or its deletion.
type Step = (u8, u64, Option<(u32, u32, u32)>);

/// A revision is one state of its ticket: deleted for good or live, never both.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let recipe = (1..3_u32, 1..3_u32, 1..3_u32);
    prop::collection::vec((0..2_u8, 1..6_u64, recipe), 1..14).prop_map(|steps| {
        let deleted = |ticket: u8, revision: u64| (revision + u64::from(ticket)).is_multiple_of(3);
        steps
            .into_iter()
            .map(|(ticket, revision, recipe)| {
                (
                    ticket,
                    revision,
                    (!deleted(ticket, revision)).then_some(recipe),
                )
            })
            .collect()
    })
}

async fn run(pool: &Pool, generation: &Generation, steps: &[Step]) -> String {
    let mut client = pool.get().await.unwrap();
    client
        .batch_execute("TRUNCATE tickets, tombstones, postings CASCADE")
        .await
        .unwrap();
    for (id, revision, state) in steps {
        let name = id.to_string();
        match state {
            Some((normalize, chunk, embed)) => {
                // The output is a function of revision and recipe, as a stage's is.
                let body = format!("state {revision} normalized by {normalize}");
                let comment = format!("cut by {chunk}");
                let mut body = ticket(&name, "Title", &body, &[&comment, "always"]);
                for embedding in &mut body.vectors {
                    embedding.vector[2] = *embed as f32;
                }
                let recipe = recipe(*normalize, *chunk, *embed);
                let message = input(&name, *revision, recipe, body);
                apply(&mut client, generation, &message).await.unwrap();
            }
            None => {
                let message = input(&name, *revision, recipe(1, 1, 1), ());
                delete(&mut client, generation, &message).await.unwrap();
            }
        }
    }
    fingerprint(&client).await.unwrap()
}

#[test]
fn any_order_with_any_repetition_ends_the_same() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (pool, generation) = runtime.block_on(server::ready());
    let cases = steps().prop_flat_map(|steps| {
        let repeated: Vec<Step> = steps.iter().chain(&steps).copied().collect();
        (Just(steps), Just(repeated).prop_shuffle())
    });
    proptest!(ProptestConfig::with_cases(24), |((steps, shuffled) in cases)| {
        // The newest message of each ticket alone.
        let mut newest: BTreeMap<u8, Step> = BTreeMap::new();
        for step in &steps {
            let last = newest.entry(step.0).or_insert(*step);
            if (step.1, step.2) > (last.1, last.2) {
                *last = *step;
            }
        }
        let newest: Vec<Step> = newest.into_values().collect();
        let expected = runtime.block_on(run(&pool, &generation, &newest));
        let found = runtime.block_on(run(&pool, &generation, &shuffled));
        prop_assert_eq!(expected, found);
    });
}
