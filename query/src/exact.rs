//! What a question names: ids, addresses, and identifiers such as an error code, a
//! function or a path. Their tickets come first, without a model.

use crate::{
    SearchError,
    filters::{Conditions, Filters},
    sql::{Statement, Value, Values},
};
use deadpool_postgres::Client;
use whence_model::lexical::terms;

/// The most words of a question that are looked up.
const MOST: usize = 64;

/// What in `query` might be an id (`owner/repo#7`, `PROJ-12`, `docs/guide.md`)
/// or an address, in the order it stands. `#7` alone is one where the filters
/// name a single project.
pub(crate) fn candidates(query: &str, filters: &Filters) -> Vec<String> {
    let project = match filters.get("project") {
        [one] => Some(one),
        _ => None,
    };
    let trimmed = query.trim();
    // A note's path may hold spaces.
    let whole = std::iter::once(trimmed).filter(|whole| whole.len() <= 512);
    let words = query.split_whitespace().take(MOST).map(bare);
    let mut found: Vec<String> = Vec::new();
    for word in whole.chain(words) {
        // A plain word is no id, even where a note is called like it.
        if !word.contains(|c: char| c.is_ascii_digit() || "/#-.:!".contains(c)) {
            continue;
        }
        let number = word.strip_prefix('#').filter(|number| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        });
        let word = match (number, project) {
            (Some(number), Some(project)) => format!("{project}#{number}"),
            (Some(_), None) => continue,
            (None, _) => word.to_owned(),
        };
        if !found.contains(&word) {
            found.push(word);
        }
    }
    found
}

/// The names in `query` that stand in texts: `E0425`, `runqGet`, `node_index`,
/// `Type::method`, `src/main.rs`. Each as it is written and as BM25 counts it.
/// None where they are less than a third of the words: then they are a part of
/// what is said, and not what is looked for.
pub(crate) fn names(query: &str) -> Vec<(String, String)> {
    let words: Vec<&str> = query.split_whitespace().map(bare).collect();
    let mut found: Vec<(String, String)> = Vec::new();
    let mut count = 0;
    for word in words.iter().filter(|word| is_name(word)).take(MOST) {
        count += 1;
        if let Some(term) = terms(word).into_iter().next()
            && !found.iter().any(|(_, known)| *known == term)
        {
            found.push(((*word).to_owned(), term));
        }
    }
    if count * 3 >= words.len() {
        found
    } else {
        Vec::new()
    }
}

/// Whether a word is written as only machines read it.
fn is_name(word: &str) -> bool {
    if word.chars().count() < 3 || word.contains("://") || word.contains('\0') {
        return false;
    }
    let chars: Vec<char> = word.chars().collect();
    let letters = chars.iter().any(|c| c.is_alphabetic());
    let digits = chars.iter().any(char::is_ascii_digit);
    let joined = chars.windows(3).any(|three| {
        matches!(three, [a, b, c] if a.is_alphanumeric() && c.is_alphanumeric() && "_./".contains(*b))
    });
    let humped = chars
        .windows(2)
        .any(|two| matches!(two, [a, b] if a.is_lowercase() && b.is_uppercase()));
    letters && (digits || joined || humped || word.contains("::") || word.contains('_'))
}

/// Without the marks that a sentence puts around a word.
fn bare(word: &str) -> &str {
    word.trim_start_matches(['(', '[', '<', '{', '"', '\'', '`', '“', '‘'])
        .trim_end_matches([
            ')', ']', '>', '}', '"', '\'', '`', '”', '’', ',', ';', '.', '?', '!', ':',
        ])
}

/// An address without its fragment, its parameters and its last slash.
pub(crate) fn page(address: &str) -> String {
    let end = address.find(['#', '?']).unwrap_or(address.len());
    address
        .get(..end)
        .unwrap_or(address)
        .trim_end_matches('/')
        .to_owned()
}

/// The tickets that the candidates name and the filters let pass, in the order
/// of the candidates.
pub(crate) async fn tickets(
    client: &Client,
    candidates: &[String],
    conditions: &Conditions,
) -> Result<Vec<i64>, SearchError> {
    let candidates: Vec<String> = candidates
        .iter()
        .filter(|word| !word.contains('\0'))
        .cloned()
        .collect();
    if candidates.is_empty() {
        return Ok(Vec::new());
    }
    let mut values = Values::default();
    let is_address = |word: &&String| word.contains("://");
    let folded = candidates.iter().map(|word| word.to_lowercase()).collect();
    let addresses: Vec<String> = candidates.iter().filter(is_address).cloned().collect();
    let pages = addresses.iter().map(|address| page(address)).collect();
    let ids = values.bind(Value::Texts(folded));
    let exact = values.bind(Value::Texts(candidates.clone()));
    let addresses = values.bind(Value::Texts(addresses));
    let pages = values.bind(Value::Texts(pages));
    let level = values.bind(Value::Small(conditions.visibility));
    let filter = if conditions.on_chunks() {
        let inner = conditions.on_chunk_sql(&mut values);
        format!(" AND EXISTS (SELECT FROM chunks c WHERE c.ticket_id = t.ticket_id{inner})")
    } else {
        conditions.on_ticket_sql(&mut values)
    };
    // A union, because each of its parts has an index and their OR has none.
    let sql = format!(
        "WITH f AS ( \
           SELECT ticket_id, array_position({ids}::text[], lower(id)) AS place FROM tickets \
             WHERE lower(id) = ANY({ids}::text[]) \
           UNION ALL SELECT t.ticket_id, array_position({exact}::text[], a) FROM tickets t, \
             unnest(t.aliases) AS a WHERE t.aliases && {exact}::text[] AND a = ANY({exact}::text[]) \
           UNION ALL SELECT ticket_id, 1000 + array_position({pages}::text[], url) FROM tickets \
             WHERE url = ANY({pages}::text[]) \
           UNION ALL SELECT ticket_id, 1000 + array_position({addresses}::text[], url) FROM units \
             WHERE url = ANY({addresses}::text[]) AND visibility <= {level}) \
         SELECT t.ticket_id FROM f JOIN tickets t USING (ticket_id) \
         WHERE t.visibility <= {level}{filter} \
         GROUP BY t.ticket_id, t.provenance ORDER BY min(f.place), t.provenance DESC, t.ticket_id"
    );
    let rows = Statement { sql, values }
        .rows(client)
        .await
        .map_err(|error| SearchError::postgres("looking up ids", error))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// A name that more tickets hold tells none of them apart.
const RARE: i64 = 20;

/// The tickets that hold one of `names`, in their text or among their changed
/// files, and that the filters let pass; of names that few tickets hold.
pub(crate) async fn holders(
    client: &Client,
    names: &[(String, String)],
    conditions: &Conditions,
) -> Result<Vec<i64>, SearchError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let mut values = Values::default();
    let written = names.iter().map(|(name, _)| name.clone()).collect();
    let counted = names.iter().map(|(_, term)| term.clone()).collect();
    let (written, counted) = (
        values.bind(Value::Texts(written)),
        values.bind(Value::Texts(counted)),
    );
    let level = values.bind(Value::Small(conditions.visibility));
    let rare = values.bind(Value::Big(RARE));
    let filter = if conditions.on_chunks() {
        let inner = conditions.on_chunk_sql(&mut values);
        format!(" AND EXISTS (SELECT FROM chunks c WHERE c.ticket_id = t.ticket_id{inner})")
    } else {
        conditions.on_ticket_sql(&mut values)
    };
    let sql = format!(
        "WITH n AS (SELECT * FROM unnest({written}::text[], {counted}::text[]) \
                    WITH ORDINALITY AS n(name, term, place)), \
         h AS (SELECT n.place, p.ticket_id FROM n JOIN postings p ON p.term = n.term \
                 WHERE p.visibility <= {level} \
               UNION SELECT n.place, f.ticket_id FROM n JOIN ticket_files f ON f.new_path = n.name \
               UNION SELECT n.place, f.ticket_id FROM n JOIN ticket_files f ON f.old_path = n.name) \
         SELECT DISTINCT t.ticket_id FROM h JOIN tickets t USING (ticket_id) \
         WHERE h.place IN (SELECT place FROM h GROUP BY place HAVING count(*) <= {rare}) \
           AND t.visibility <= {level}{filter}"
    );
    let rows = Statement { sql, values }
        .rows(client)
        .await
        .map_err(|error| SearchError::postgres("looking up names", error))?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn ids_and_addresses_in_a_sentence() {
        let none = Filters::default();
        let one = Filters::default().with("project", "acme/rockets").unwrap();
        insta::assert_debug_snapshot!([
            candidates("why was (acme/rockets#7) closed, see MAZ-15?", &none),
            candidates("PROJ-12", &none),
            candidates("<https://example.org/acme/rockets/issues/7#c1>.", &none),
            candidates("docs/my note.md", &none),
            candidates("what of #7, and #x", &none),
            candidates("what of #7, and #x", &one),
            candidates("plain words only", &none),
            candidates("group/project!12 MAZ-15 MAZ-15", &none),
        ]);
    }

    #[test]
    fn names_are_written_as_only_machines_read_them() {
        let found = |query| -> Vec<String> { names(query).into_iter().map(|(_, t)| t).collect() };
        for (query, expected) in [
            ("E0425", vec!["e0425"]),
            ("runqGet", vec!["runqget"]),
            ("`node_index`?", vec!["node_index"]),
            (
                "src/main.rs Type::method",
                vec!["src/main.rs", "type::method"],
            ),
            ("why runqGet", vec!["runqget"]),
            ("Plain words, 2024 #7 A-b", vec![]),
            ("https://h/a_b", vec![]),
            ("a question of many words about runqGet", vec![]),
        ] {
            assert_eq!(found(query), expected, "{query}");
        }
    }

    #[test]
    fn a_page_is_the_address_of_the_ticket() {
        assert_eq!(page("https://h/o/r/issues/7#c1"), "https://h/o/r/issues/7");
        assert_eq!(
            page("https://h/o/r/issues/7/?a=b"),
            "https://h/o/r/issues/7"
        );
        assert_eq!(page("x"), "x");
    }
}
