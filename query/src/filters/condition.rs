//! Filters → SQL, as a function of values.

use super::{
    FILTERS, Filters,
    parse::time,
    table::{On, Takes},
};
use crate::sql::{Value, Values};
use std::borrow::Cow;
use whence_model::lexical::query_terms;

/// SQL with `{}` for its value.
type Clause = (Cow<'static, str>, Value);

/// What a statement must respect.
#[derive(Clone, Debug)]
pub(crate) struct Conditions {
    ticket: Vec<Clause>,
    chunk: Vec<Clause>,
    /// Up to which level text is seen.
    pub(crate) visibility: i16,
}

impl Conditions {
    pub(crate) fn of(filters: &Filters) -> Self {
        let mut conditions = Self {
            ticket: Vec::new(),
            chunk: Vec::new(),
            visibility: 0,
        };
        for filter in FILTERS {
            let given = filters.get(filter.name);
            let Some(first) = given.first() else { continue };
            let value = match filter.takes {
                // It was read before.
                Takes::Time => Value::Time(time(first).unwrap_or_default()),
                _ => Value::Texts(given.to_vec()),
            };
            match (filter.on)(given) {
                On::Ticket(sql) => conditions.ticket.push((sql.into(), value)),
                On::Chunk(sql) => conditions.chunk.push((sql.into(), value)),
                On::Visibility => {
                    conditions.visibility = match first.as_str() {
                        "internal" => 1,
                        "confidential" => 2,
                        _ => 0,
                    };
                }
            }
        }
        conditions
    }

    /// That a ticket holds each of `phrases` word by word in its title or in one
    /// visible chunk; case and the kind of blank do not matter.
    pub(crate) fn holding(mut self, phrases: &[String]) -> Self {
        let level = self.visibility;
        for phrase in phrases {
            // Few tickets hold all the words: only their texts are then read.
            let terms = query_terms(phrase);
            if !terms.is_empty() {
                let sql = format!(
                    "t.ticket_id IN (SELECT p.ticket_id FROM postings p WHERE p.term = ANY({{}}) \
                     AND p.visibility <= {level} GROUP BY p.ticket_id \
                     HAVING count(DISTINCT p.term) = cardinality({{}}))"
                );
                self.ticket.push((sql.into(), Value::Texts(terms)));
            }
            let sql = format!(
                "(t.title ~* ANY({{}}) OR EXISTS (SELECT FROM chunks h WHERE h.ticket_id = t.ticket_id \
                 AND h.visibility <= {level} AND h.text ~* ANY({{}})))"
            );
            self.ticket
                .push((sql.into(), Value::Texts(vec![pattern(phrase)])));
        }
        self
    }

    /// That a ticket is none of `ids`, present or former.
    pub(crate) fn excluding(mut self, ids: &[String]) -> Self {
        if !ids.is_empty() {
            let sql = "NOT (t.id = ANY({}) OR t.aliases && {})";
            self.ticket.push((sql.into(), Value::Texts(ids.to_vec())));
        }
        self
    }

    /// Whether every visible chunk passes.
    pub(crate) fn is_empty(&self) -> bool {
        self.ticket.is_empty() && self.chunk.is_empty()
    }

    /// Whether some filter looks at the chunk.
    pub(crate) fn on_chunks(&self) -> bool {
        !self.chunk.is_empty()
    }

    /// ` AND …` on the ticket `t`; empty where there is nothing to say.
    pub(crate) fn on_ticket_sql(&self, values: &mut Values) -> String {
        clauses(&self.ticket, values)
    }

    /// ` AND …` on the ticket `t` as a whole: visible itself, and with one text
    /// that passes all filters on texts.
    pub(crate) fn on_whole_ticket_sql(&self, values: &mut Values) -> String {
        let level = values.bind(Value::Small(self.visibility));
        let ticket = clauses(&self.ticket, values);
        let mut sql = format!(" AND t.visibility <= {level}{ticket}");
        if self.on_chunks() {
            let chunk = clauses(&self.chunk, values);
            sql.push_str(&format!(
                " AND EXISTS (SELECT FROM chunks c WHERE c.ticket_id = t.ticket_id \
                 AND c.visibility <= {level}{chunk})"
            ));
        }
        sql
    }

    /// ` AND …` on the chunk `c` and its ticket `t`, visibility included.
    pub(crate) fn on_chunk_sql(&self, values: &mut Values) -> String {
        let level = values.bind(Value::Small(self.visibility));
        let (ticket, chunk) = (clauses(&self.ticket, values), clauses(&self.chunk, values));
        format!(" AND c.visibility <= {level}{ticket}{chunk}")
    }
}

/// A phrase as a regular expression of Postgres: whole words, any blanks between.
fn pattern(phrase: &str) -> String {
    let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    let mut pattern = String::from(if word(phrase.chars().next()) {
        r"\m"
    } else {
        ""
    });
    for c in phrase.chars() {
        match c {
            ' ' => pattern.push_str(r"\s+"),
            c if c.is_alphanumeric() || c == '_' => pattern.push(c),
            // Before any other character a backslash only says that it is meant.
            c if c.is_ascii() => pattern.extend(['\\', c]),
            c => pattern.push(c),
        }
    }
    if word(phrase.chars().last()) {
        pattern.push_str(r"\M");
    }
    pattern
}

fn clauses(of: &[Clause], values: &mut Values) -> String {
    let mut sql = String::new();
    for (clause, value) in of {
        let place = values.bind(value.clone());
        sql.push_str(" AND ");
        sql.push_str(&clause.replace("{}", &place));
    }
    sql
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn sql(filters: &Filters) -> String {
        let conditions = Conditions::of(filters);
        let mut values = Values::default();
        let chunk = conditions.on_chunk_sql(&mut values);
        format!("{chunk}\n{values:?}")
    }

    #[test]
    fn every_filter_as_sql() {
        for filter in FILTERS {
            let mut filters = Filters::default()
                .with(filter.name, filter.example)
                .unwrap();
            if filter.name == "kind" {
                filters.add("kind", "comment").unwrap();
            }
            insta::assert_snapshot!(filter.name, sql(&filters));
        }
    }

    #[test]
    fn a_phrase_is_matched_literally() {
        assert_eq!(pattern("lift off"), r"\mlift\s+off\M");
        assert_eq!(pattern("a.b(*) \\x é"), r"\ma\.b\(\*\)\s+\\x\s+é\M");
        assert_eq!(pattern("(x)"), r"\(x\)");
        let conditions = Conditions::of(&Filters::default()).holding(&["of the kiln".to_owned()]);
        assert!(!conditions.is_empty() && !conditions.on_chunks());
        insta::assert_snapshot!(conditions.on_ticket_sql(&mut Values::default()));
    }

    #[test]
    fn all_filters_at_once() {
        let mut filters = Filters::default();
        for filter in FILTERS {
            filters.add(filter.name, filter.example).unwrap();
        }
        insta::assert_snapshot!(sql(&filters));
        assert_eq!(
            filters,
            serde_json::from_str(&serde_json::to_string(&filters).unwrap()).unwrap()
        );
    }
}
