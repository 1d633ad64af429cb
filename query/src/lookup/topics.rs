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

/// The `most` words that stand in `texts` more often than in all texts, by how
/// much they tell (their part of the relative entropy); of equal ones, by name.
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
    let sql = format!(
        "SELECT term, sum(cardinality(seqs))::float8 \
                / (SELECT count(*) FROM chunks WHERE visibility <= {level}) \
         FROM postings WHERE term = ANY({known}) AND visibility <= {level} GROUP BY term"
    );
    let rows = Statement { sql, values }.rows(client).await;
    let rows = rows.map_err(|error| SearchError::postgres("weighing words", error))?;
    let usual: HashMap<&str, f64> = rows.iter().map(|row| (row.get(0), row.get(1))).collect();
    let all = f64::from(u32::try_from(texts.len()).unwrap_or(u32::MAX));
    let mut weighed: Vec<(f64, Topic)> = words
        .into_iter()
        .filter_map(|(term, word)| {
            let own = f64::from(word.texts) / all;
            let weight = own * (own / usual.get(term.as_str())?).ln();
            let topic = Topic {
                term: word.usual_form().unwrap_or(term),
                texts: word.texts,
            };
            (weight.is_finite() && weight > 0.0).then_some((weight, topic))
        })
        .collect();
    weighed.sort_by(|(a, x), (b, y)| b.total_cmp(a).then_with(|| x.term.cmp(&y.term)));
    let topics = weighed.into_iter().take(most);
    Ok(topics.map(|(_, topic)| topic).collect())
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
