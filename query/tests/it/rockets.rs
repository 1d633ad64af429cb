//! A small project with what lookups tell of: renames, links, notes beside a
//! ticket, and texts that not everybody may see.

use crate::corpus::{Ticket, text, ticket, write};
use crate::server;
use tokio_postgres::Client;
use whence_query::Pool;

/// Words that stand only in what is not public.
pub const SECRETS: &[&str] = &[
    "mallory",
    "sabotage",
    "src/secret.rs",
    "rockets#5",
    "carol",
    "hush",
    "payload bay",
];

pub async fn ready() -> Pool {
    let (client, pool) = server::ready().await;
    write(&client, &tickets()).await;
    client.batch_execute(DETAILS).await.unwrap();
    notes(&client).await;
    client.batch_execute("ANALYZE").await.unwrap();
    pool
}

fn by(author: &'static str, words: &str) -> crate::corpus::Text {
    crate::corpus::Text {
        author,
        ..text(words)
    }
}

fn tickets() -> Vec<Ticket> {
    let mut stops = ticket(
        1,
        "Engine stops",
        &["The engine stops at lift-off, ask @bo."],
    );
    stops.labels = vec!["bug", "engine"];
    stops
        .texts
        .push(by("bo", "A cold valve sticks; the valve needs heat."));
    stops.texts.push(crate::corpus::Text {
        visibility: 1,
        ..by("carol", "It was sabotage: see acme/rockets#5, and hush.")
    });
    let change = |number, title: &str, from: &'static str| {
        let mut change = ticket(number, title, &["Moves the valve code."]);
        change.kind = "merge-request";
        change.state = Some("merged");
        change.files = vec![from];
        change
    };
    let warm = change(2, "Warm the valve", "src/valve.rs");
    let older = change(3, "Tidy up", "src/older.rs");
    let mut given_up = change(4, "Give the valve away", "src/nowhere.rs");
    given_up.state = Some("closed");
    let mut hidden = ticket(
        5,
        "Who did it",
        &["Mallory did, in the payload bay, with @bo."],
    );
    hidden.texts[0].author = "mallory";
    hidden.texts[0].visibility = 2;
    hidden.labels = vec!["hush"];
    let mut boats = ticket(
        7,
        "Boats stop too",
        &["The same valve as in acme/rockets#1."],
    );
    boats.id = "acme/boats#7".to_owned();
    boats.project = "acme/boats".to_owned();
    boats.aliases = vec!["acme/rafts#70".to_owned()];
    boats.state = Some("closed");
    boats.texts[0].author = "bo";
    boats.texts.push(by("ada", "Boats have no engine valve."));
    let later = change(8, "Split the valve", "src/cold/valve.rs");
    vec![stops, warm, older, given_up, hidden, boats, later]
}

/// What `write` gives all tickets alike, told apart.
const DETAILS: &str = r#"
UPDATE chunks SET code_refs = '[]';
UPDATE chunks c SET code_refs = '[{"file": "src/valve.rs", "func": "heat"}, {"module": "valve"}]'
    FROM tickets t WHERE t.ticket_id = c.ticket_id AND t.id = 'acme/rockets#1' AND c.unit = 1;
UPDATE chunks c SET code_refs = '[{"file": "src/secret.rs"}, {"file": "src/valve.rs"}]'
    WHERE c.visibility > 0;
UPDATE chunks SET ticket_refs = '{acme/rockets#5}' WHERE text LIKE '%sabotage%';
UPDATE chunks SET ticket_refs = '{acme/rockets#1}' WHERE text LIKE '%as in acme%';
UPDATE tickets SET ticket_refs = '{acme/rockets#5}' WHERE id = 'acme/rockets#1';
UPDATE tickets SET author = 'mallory', visibility = 2 WHERE id = 'acme/rockets#5';
UPDATE tickets SET author = 'bo', assignees = '{}' WHERE id = 'acme/boats#7';
UPDATE tickets SET assignees = '{}' WHERE id <> 'acme/rockets#1' AND id <> 'acme/rockets#5';
UPDATE tickets SET updated_at = created_at + ticket_id * interval '1 day';
UPDATE tickets SET closed_at = created_at + ticket_id * interval '1 day' WHERE state <> 'open';
UPDATE tickets SET updated_at = NULL WHERE id = 'acme/rockets#3';
UPDATE tickets SET events = '[{"kind": "labeled", "actor": "ada", "at": "2024-02-02T00:00:00Z", "text": "bug"}]',
    meta = '{"sprint": 4}', milestone = 'v1' WHERE id = 'acme/rockets#1';
UPDATE ticket_labels SET color = 'd73a4a', description = 'Something is broken' WHERE name = 'bug';
UPDATE units SET created_at = '2024-02-01Z'::timestamptz + ticket_id * interval '1 hour' + unit * interval '1 minute';
UPDATE ticket_files f SET old_path = v.old, new_path = v.new FROM tickets t,
    (VALUES ('acme/rockets#2', 'old/valve.rs', 'src/valve.rs'), ('acme/rockets#3', 'lib/valve.rs', 'old/valve.rs'),
            ('acme/rockets#4', 'src/valve.rs', 'src/nowhere.rs'), ('acme/rockets#8', 'src/valve.rs', 'src/cold/valve.rs'))
        AS v(id, old, new)
    WHERE f.ticket_id = t.ticket_id AND t.id = v.id;
INSERT INTO ticket_links SELECT ticket_id, 0, 'closes', 'acme/rockets#1' FROM tickets WHERE id = 'acme/rockets#2';
INSERT INTO ticket_links SELECT ticket_id, 1, 'relates', 'acme/boats#7' FROM tickets WHERE id = 'acme/rockets#1';
INSERT INTO ticket_links SELECT ticket_id, 2, 'relates', 'acme/rockets#5' FROM tickets WHERE id = 'acme/rockets#1';
INSERT INTO ticket_links SELECT ticket_id, 3, 'relates', 'other/place#1' FROM tickets WHERE id = 'acme/rockets#1';
INSERT INTO ticket_links SELECT ticket_id, 0, 'duplicates', 'acme/rockets#1' FROM tickets WHERE id = 'acme/rockets#5';
"#;

/// Notes beside #1.
async fn notes(client: &Client) {
    let mut notes = ticket(
        1,
        "Notes on acme/rockets#1",
        &["Measured: the valve is at 3 °C."],
    );
    notes.project = "scope of notes".to_owned();
    notes.kind = "local";
    notes.state = None;
    write(client, &[notes]).await;
    let sql = "UPDATE tickets SET provenance = 'local', project = 'acme/rockets', author = NULL, \
               assignees = '{}', url = NULL, created_at = NULL, updated_at = NULL WHERE kind = 'local'; \
               UPDATE units u SET author = NULL, kind = 'finding', url = NULL, created_at = NULL \
               FROM tickets t WHERE t.ticket_id = u.ticket_id AND t.kind = 'local'; \
               UPDATE chunks c SET author = NULL, kind = 'finding', code_refs = '[]' \
               FROM tickets t WHERE t.ticket_id = c.ticket_id AND t.kind = 'local'";
    client.batch_execute(sql).await.unwrap();
}
