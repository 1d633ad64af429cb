//! Filters: one table, from which JSON, commands, SQL and the reference derive.
//!
//! To add one, add an entry to [`FILTERS`].

mod condition;
mod parse;
mod schema;
mod table;

pub(crate) use condition::Conditions;
pub use table::{FILTERS, Filter, Repeat};

use crate::SearchError;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser::SerializeMap};
use std::collections::BTreeMap;

/// Filters with their values; all of them must hold.
///
/// In JSON an object from a filter's name to a value or a list of values:
/// `{"source": "github", "label": ["bug", "urgent"]}`. Unknown names, empty
/// lists and values that cannot be read are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filters(BTreeMap<&'static str, Vec<String>>);

impl Filters {
    /// Adds one value; what a command does for each `--<name> <value>`.
    ///
    /// # Errors
    /// When no filter has that name, it cannot read the value, or it takes one
    /// value only and has it.
    pub fn add(&mut self, name: &str, value: &str) -> Result<(), SearchError> {
        let Some(filter) = Filter::find(name) else {
            let known: Vec<&str> = FILTERS.iter().map(|filter| filter.name).collect();
            return Err(SearchError::bad_request(
                format!("there is no filter {name:?}"),
                format!("filters are: {}", known.join(", ")),
            ));
        };
        let value = parse::value(filter, value)?;
        let values = self.0.entry(filter.name).or_default();
        if filter.repeat == Repeat::Once && !values.is_empty() {
            return Err(SearchError::bad_request(
                format!("the filter {name} is given twice"),
                "give it once",
            ));
        }
        if !values.contains(&value) {
            values.push(value);
        }
        Ok(())
    }

    /// With one value more; for tests and callers that know their filters.
    ///
    /// # Errors
    /// As [`Filters::add`].
    pub fn with(mut self, name: &str, value: &str) -> Result<Self, SearchError> {
        self.add(name, value)?;
        Ok(self)
    }

    /// The values of a filter, in the order they were given.
    pub fn get(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Filters {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, values) in &self.0 {
            map.serialize_entry(name, values)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Filters {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a text or a list of texts")]
        enum Given {
            One(String),
            Many(Vec<String>),
        }
        let mut filters = Self::default();
        for (name, given) in BTreeMap::<String, Given>::deserialize(deserializer)? {
            let values = match given {
                Given::One(value) => vec![value],
                Given::Many(values) => values,
            };
            if values.is_empty() {
                return Err(de::Error::custom(format!(
                    "the filter {name:?} has an empty list"
                )));
            }
            for value in values {
                filters
                    .add(&name, &value)
                    .map_err(|error| de::Error::custom(format!("{error}; {}", error.hint)))?;
            }
        }
        Ok(filters)
    }
}
