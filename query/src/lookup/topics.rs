//! The words that tell one person's texts from all others.

use crate::{
    SearchError,
    sql::{Statement, Value, Values},
};
use deadpool_postgres::GenericClient;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use whence_model::lexical::terms;

/// So many different words are weighed, the most frequent ones.
const MOST_WORDS: usize = 400;
/// A word in fewer texts tells of one text, not of a person.
const LEAST_TEXTS: u32 = 2;

/// A word that somebody uses more than others do.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Topic {
    /// As they mostly write it.
    pub term: String,
    /// In how many of their last texts it stands.
    pub texts: u32,
}

/// A word in its forms.
#[derive(Debug, Default)]
struct Word {
    texts: u32,
    forms: BTreeMap<String, u32>,
}

/// The `most` words of `texts` with the highest tf·idf; of equal ones, by name.
pub(super) async fn topics(
    client: &impl GenericClient,
    texts: &[String],
    level: i16,
    most: usize,
) -> Result<Vec<Topic>, SearchError> {
    let mut words: Vec<(String, Word)> = words(texts)
        .into_iter()
        .filter(|(_, word)| word.texts >= LEAST_TEXTS)
        .collect();
    words.sort_by(|(a, x), (b, y)| y.texts.cmp(&x.texts).then_with(|| a.cmp(b)));
    words.truncate(MOST_WORDS);
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let mut values = Values::default();
    let known = words.iter().map(|(term, _)| term.clone()).collect();
    let known = values.bind(Value::Texts(known));
    let level = values.bind(Value::Small(level));
    // The number of tickets that may be seen stands beside each.
    let sql = format!(
        "SELECT term, count(DISTINCT ticket_id)::float8, \
                (SELECT count(*) FROM tickets WHERE visibility <= {level})::float8 \
         FROM postings WHERE term = ANY({known}) AND visibility <= {level} GROUP BY term"
    );
    let rows = Statement { sql, values }.rows(client).await;
    let rows = rows.map_err(|error| SearchError::postgres("weighing words", error))?;
    let rarity: HashMap<&str, f64> = rows
        .iter()
        .map(|row| {
            let (tickets, all): (f64, f64) = (row.get(1), row.get(2));
            (row.get(0), (1.0 + all / tickets.max(1.0)).ln())
        })
        .collect();
    let weight = |(term, word): &(String, Word)| {
        f64::from(word.texts) * rarity.get(term.as_str()).copied().unwrap_or_default()
    };
    words.sort_by(|a, b| weight(b).total_cmp(&weight(a)).then_with(|| a.0.cmp(&b.0)));
    let topic = |(term, word): (String, Word)| Topic {
        term: word.usual_form().unwrap_or(term),
        texts: word.texts,
    };
    Ok(words.into_iter().take(most).map(topic).collect())
}

impl Word {
    fn usual_form(&self) -> Option<String> {
        let most = self.forms.values().max()?;
        let usual = self.forms.iter().find(|(_, times)| *times == most);
        usual.map(|(form, _)| form.clone())
    }
}

/// Each word by its term; a word counts once for each text.
fn words(texts: &[String]) -> HashMap<String, Word> {
    let mut words: HashMap<String, Word> = HashMap::new();
    for text in texts {
        let mut here: BTreeSet<String> = BTreeSet::new();
        let written = text.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\''));
        for form in written.filter(|form| form.chars().any(char::is_alphabetic)) {
            // The whole comes first; its parts would say the same again.
            let Some(term) = terms(form).into_iter().next() else {
                continue;
            };
            if term.chars().count() < 3 {
                continue;
            }
            let word = words.entry(term.clone()).or_default();
            *word.forms.entry(form.to_lowercase()).or_default() += 1;
            if here.insert(term) {
                word.texts += 1;
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn forms_of_a_word_are_one_and_the_usual_one_is_shown() {
        let texts = [
            "Engines and engines, the engine",
            "an engine's valve",
            "7 of 9",
        ];
        let words = words(&texts.map(str::to_owned));
        let engine = &words["engin"];
        assert_eq!(engine.texts, 2);
        assert_eq!(engine.usual_form().unwrap(), "engines");
        assert_eq!(words["valv"].texts, 1);
        assert!(!words.contains_key("7") && !words.contains_key("the"));
    }
}
