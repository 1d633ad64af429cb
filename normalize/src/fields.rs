//! Fields of a payload, each optional: a wrong one is left out and noted.

use crate::clean::{clean_line, clean_text};
use jiff::{Timestamp, civil::DateTime, tz::TimeZone};
use serde_json::{Map, Value};

/// How many ignored fields are named; a hostile payload may hold millions.
const MAX_NOTES: usize = 50;

/// The fields that were ignored, by path, in the order they were met.
#[derive(Debug, Default)]
pub(crate) struct Notes {
    paths: Vec<String>,
    more: usize,
}

impl Notes {
    pub(crate) fn add(&mut self, path: String) {
        if self.paths.len() < MAX_NOTES {
            self.paths.push(path);
        } else {
            self.more += 1;
        }
    }

    /// As the value of `meta["ignored_fields"]`; `None` where nothing was.
    pub(crate) fn into_value(mut self) -> Option<Value> {
        if self.more > 0 {
            self.paths.push(format!("… and {} more", self.more));
        }
        (!self.paths.is_empty()).then(|| self.paths.into())
    }
}

/// One JSON object of a payload, taken apart field by field.
pub(crate) struct Fields {
    values: Map<String, Value>,
    /// Where the object stands in the payload: empty, or `reviews[2].`.
    place: String,
}

impl Fields {
    pub(crate) fn new(values: Map<String, Value>) -> Self {
        Self {
            values,
            place: String::new(),
        }
    }

    pub(crate) fn path(&self, name: &str) -> String {
        format!("{}{name}", self.place)
    }

    /// A field that is there and not null, as `read` sees it.
    pub(crate) fn take<T>(
        &mut self,
        name: &str,
        notes: &mut Notes,
        read: impl FnOnce(Value) -> Option<T>,
    ) -> Option<T> {
        let value = self.values.remove(name).filter(|value| !value.is_null())?;
        let read = read(value);
        if read.is_none() {
            notes.add(self.path(name));
        }
        read
    }

    /// A field that is there and not null, as it is.
    pub(crate) fn value(&mut self, name: &str) -> Option<Value> {
        self.values.remove(name).filter(|value| !value.is_null())
    }

    /// A field that is there and not null, left where it is.
    pub(crate) fn peek(&self, name: &str) -> Option<&Value> {
        self.values.get(name).filter(|value| !value.is_null())
    }

    /// The names of the fields that `wanted` picks.
    pub(crate) fn names_where(&self, wanted: impl Fn(&str, &Value) -> bool) -> Vec<String> {
        let fields = self
            .values
            .iter()
            .filter(|(name, value)| wanted(name, value));
        fields.map(|(name, _)| name.clone()).collect()
    }

    /// A body; `None` where absent.
    pub(crate) fn text(&mut self, name: &str, notes: &mut Notes) -> Option<String> {
        self.take(name, notes, |value| value.as_str().map(clean_text))
    }

    /// A name or title on one line; `None` where absent or blank.
    pub(crate) fn line(&mut self, name: &str, notes: &mut Notes) -> Option<String> {
        let line = self.take(name, notes, |value| value.as_str().map(clean_line))?;
        (!line.is_empty()).then_some(line)
    }

    /// A text, or the text of one field of an object: `"ada"`, `{"login": "ada"}`.
    pub(crate) fn name(&mut self, name: &str, inner: &str, notes: &mut Notes) -> Option<String> {
        let line = self.take(name, notes, |value| named(&value, inner))?;
        (!line.is_empty()).then_some(line)
    }

    /// A whole number that is not negative.
    pub(crate) fn number(&mut self, name: &str, notes: &mut Notes) -> Option<u64> {
        self.take(name, notes, |value| value.as_u64())
    }

    pub(crate) fn time(&mut self, name: &str, notes: &mut Notes) -> Option<Timestamp> {
        self.take(name, notes, |value| time(value.as_str()?))
    }

    /// The address of a page. Only a web address: it becomes a link that people
    /// click, and `javascript:` is an address too.
    pub(crate) fn url(&mut self, name: &str, notes: &mut Notes) -> Option<String> {
        self.take(name, notes, |value| {
            let line = clean_line(value.as_str()?);
            is_web_address(&line).then_some(line)
        })
    }

    /// The elements of a list as `read` sees them; the wrong ones are noted.
    pub(crate) fn list<T>(
        &mut self,
        name: &str,
        notes: &mut Notes,
        mut read: impl FnMut(Value) -> Option<T>,
    ) -> Vec<T> {
        let elements = self.take(name, notes, |value| match value {
            Value::Array(elements) => Some(elements),
            _ => None,
        });
        let mut list = Vec::new();
        for (index, element) in elements.unwrap_or_default().into_iter().enumerate() {
            match read(element) {
                Some(element) => list.push(element),
                None => notes.add(format!("{}[{index}]", self.path(name))),
            }
        }
        list
    }

    /// A number that is not negative, written as one or as a text of digits.
    pub(crate) fn digits(&mut self, name: &str, notes: &mut Notes) -> Option<String> {
        self.take(name, notes, |value| match value {
            Value::Number(number) => Some(number.as_u64()?.to_string()),
            Value::String(text) => {
                let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
                digits.then_some(text)
            }
            _ => None,
        })
    }

    pub(crate) fn flag(&mut self, name: &str, notes: &mut Notes) -> Option<bool> {
        self.take(name, notes, |value| value.as_bool())
    }

    /// The fields of an object, which knows its place.
    pub(crate) fn object(&mut self, name: &str, notes: &mut Notes) -> Option<Fields> {
        let place = format!("{}.", self.path(name));
        self.take(name, notes, |value| match value {
            Value::Object(values) => Some(Fields { values, place }),
            _ => None,
        })
    }

    /// What was not taken yet.
    pub(crate) fn rest(self) -> Value {
        Value::Object(self.values)
    }

    /// The objects of a list, each knowing its place.
    pub(crate) fn objects(&mut self, name: &str, notes: &mut Notes) -> Vec<Fields> {
        let list = self.path(name);
        let mut index = 0;
        self.list(name, notes, |element| {
            let place = format!("{list}[{index}].");
            index += 1;
            match element {
                Value::Object(values) => Some(Fields { values, place }),
                _ => None,
            }
        })
    }
}

/// A text, or the text in field `inner` of an object, on one line.
pub(crate) fn named(value: &Value, inner: &str) -> Option<String> {
    value
        .as_str()
        .or_else(|| value.get(inner)?.as_str())
        .map(clean_line)
}

pub(crate) fn is_web_address(text: &str) -> bool {
    ["https://", "http://"].iter().any(|scheme| {
        text.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
            && text.len() > scheme.len()
    })
}

/// RFC 3339, with or without a fraction. A time without an offset is read as
/// UTC, which is what the systems that leave it out mean.
fn time(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    text.parse().ok().or_else(|| {
        let civil: DateTime = text.parse().ok()?;
        let zoned = civil.to_zoned(TimeZone::UTC).ok()?;
        Some(zoned.timestamp())
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn times_in_all_spellings() {
        let at: Timestamp = "2024-01-02T03:04:05Z".parse().unwrap();
        for text in [
            "2024-01-02T03:04:05Z",
            "2024-01-02T03:04:05.000Z",
            "2024-01-02T05:04:05+02:00",
            "2024-01-02T03:04:05",
            " 2024-01-02T03:04:05.0+00:00 ",
        ] {
            assert_eq!(time(text), Some(at), "{text}");
        }
        for text in ["", "yesterday", "2024-13-02T03:04:05Z", "1704164645"] {
            assert_eq!(time(text), None, "{text}");
        }
    }

    #[test]
    fn only_web_addresses() {
        assert!(is_web_address("HTTPS://example.org/a"));
        for text in ["javascript:alert(1)", "https://", "/a", "é", "data:x"] {
            assert!(!is_web_address(text), "{text}");
        }
    }
}
