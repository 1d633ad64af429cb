//! Headers: everything about a message but its body.
//!
//! | header | value |
//! |---|---|
//! | `Whence-Schema` | `whence.document/1` |
//! | `Whence-Revision` | microseconds since 1970 |
//! | `Whence-Recipe` | `normalize/chunk/embed`, each `code.settings` |
//! | `Whence-State` | `live` or `deleted` |
//! | `Whence-Hash` | SHA-256 of the payload; RAW only |
//! | `Whence-Origin` | the source as configured, encoded; RAW only |
//! | `Whence-Names` | ids that people write, encoded, the present one last; RAW only |
//! | `Whence-Mark` | what a census would say of this state, encoded; RAW only |
//! | `Whence-Claim` | the object that holds the body, when it is too large |
//! | `traceparent` | W3C trace context |

use crate::{LogError, LogErrorKind};
use async_nats::HeaderMap;
use whence_contract::{
    Payload, Recipe, Revision, StageVersion, TicketKey, decode_token, encode_token,
};

pub(crate) const SCHEMA: &str = "Whence-Schema";
pub(crate) const REVISION: &str = "Whence-Revision";
pub(crate) const RECIPE: &str = "Whence-Recipe";
pub(crate) const STATE: &str = "Whence-State";
pub(crate) const HASH: &str = "Whence-Hash";
pub(crate) const ORIGIN: &str = "Whence-Origin";
pub(crate) const NAMES: &str = "Whence-Names";
pub(crate) const MARK: &str = "Whence-Mark";
pub(crate) const CLAIM: &str = "Whence-Claim";
pub(crate) const TRACE: &str = "traceparent";
const OURS: [&str; 10] = [
    SCHEMA, REVISION, RECIPE, STATE, HASH, ORIGIN, NAMES, MARK, CLAIM, TRACE,
];

/// The headers of one stored message, decoded.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Head {
    pub(crate) key: TicketKey,
    pub(crate) schema: String,
    pub(crate) revision: Revision,
    pub(crate) recipe: Recipe,
    pub(crate) live: bool,
    pub(crate) hash: Option<String>,
    pub(crate) origin: Option<String>,
    pub(crate) names: Vec<String>,
    pub(crate) mark: Option<String>,
    pub(crate) claim: Option<String>,
    pub(crate) trace: Option<String>,
}

impl Head {
    pub(crate) fn new<T: Payload>(key: TicketKey, revision: Revision, recipe: Recipe) -> Self {
        Self {
            key,
            schema: format!("{}/{}", T::SCHEMA, T::VERSION),
            revision,
            recipe,
            live: true,
            hash: None,
            origin: None,
            names: Vec::new(),
            mark: None,
            claim: None,
            trace: None,
        }
    }

    /// What decides between two messages of one ticket.
    pub(crate) fn order(&self) -> (Revision, Recipe) {
        (self.revision, self.recipe)
    }

    pub(crate) fn encode(&self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(SCHEMA, self.schema.as_str());
        headers.insert(REVISION, self.revision.to_string().as_str());
        headers.insert(RECIPE, encode_recipe(self.recipe).as_str());
        headers.insert(STATE, if self.live { "live" } else { "deleted" });
        let optional = [
            (HASH, &self.hash),
            (CLAIM, &self.claim),
            (TRACE, &self.trace),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                headers.insert(name, value.as_str());
            }
        }
        if let Some(origin) = &self.origin {
            headers.insert(ORIGIN, encode_token(origin).as_str());
        }
        if let Some(mark) = &self.mark {
            headers.insert(MARK, encode_token(mark).as_str());
        }
        if !self.names.is_empty() {
            let names: Vec<String> = self.names.iter().map(|name| encode_token(name)).collect();
            headers.insert(NAMES, names.join(" ").as_str());
        }
        headers
    }

    pub(crate) fn decode(subject: &str, headers: Option<&HeaderMap>) -> Result<Self, LogError> {
        let get = |name: &str| {
            headers
                .and_then(|h| h.get(name))
                .map(|value| value.as_str())
        };
        let bad = |what: &str| {
            LogError::bare(
                LogErrorKind::Malformed,
                format!(
                    "the message on {subject} has no readable {what}; it was not written by whence"
                ),
            )
        };
        Ok(Self {
            key: TicketKey::from_subject(subject)
                .map_err(|e| LogError::new(LogErrorKind::Malformed, "unreadable subject", e))?,
            schema: get(SCHEMA).ok_or_else(|| bad(SCHEMA))?.to_owned(),
            revision: get(REVISION)
                .and_then(|text| text.parse().ok())
                .map(Revision)
                .ok_or_else(|| bad(REVISION))?,
            recipe: get(RECIPE)
                .and_then(decode_recipe)
                .ok_or_else(|| bad(RECIPE))?,
            live: match get(STATE) {
                Some("live") => true,
                Some("deleted") => false,
                Some(_) | None => return Err(bad(STATE)),
            },
            hash: get(HASH).map(str::to_owned),
            origin: get(ORIGIN).and_then(|text| decode_token(text).ok()),
            names: get(NAMES)
                .unwrap_or_default()
                .split_whitespace()
                .filter_map(|name| decode_token(name).ok())
                .collect(),
            mark: get(MARK).and_then(|text| decode_token(text).ok()),
            claim: get(CLAIM).map(str::to_owned),
            trace: get(TRACE).map(str::to_owned),
        })
    }

    /// Whether this binary reads the body as a `T`: the same schema, not newer.
    pub(crate) fn expect_schema<T: Payload>(&self) -> Result<(), LogError> {
        let (name, version) = self.schema.split_once('/').unwrap_or((&self.schema, ""));
        match version.parse::<u32>() {
            Ok(version) if name == T::SCHEMA && version <= T::VERSION => Ok(()),
            Ok(_) | Err(_) => Err(LogError::bare(
                LogErrorKind::Malformed,
                format!(
                    "{} has schema {}, this binary reads {} up to version {}; \
                     upgrade this worker, then retry the dead letter",
                    self.key,
                    self.schema,
                    T::SCHEMA,
                    T::VERSION
                ),
            )),
        }
    }
}

/// Only our own headers, for writing a stored message again.
pub(crate) fn ours(headers: &HeaderMap) -> HeaderMap {
    let mut kept = HeaderMap::new();
    for name in OURS {
        if let Some(value) = headers.get(name) {
            kept.insert(name, value.clone());
        }
    }
    kept
}

fn encode_recipe(recipe: Recipe) -> String {
    [recipe.normalize, recipe.chunk, recipe.embed]
        .map(|version| format!("{}.{}", version.code, version.settings))
        .join("/")
}

fn decode_recipe(text: &str) -> Option<Recipe> {
    let mut versions = text.split('/').map(|version| {
        let (code, settings) = version.split_once('.')?;
        Some(StageVersion {
            code: code.parse().ok()?,
            settings: settings.parse().ok()?,
        })
    });
    let mut next = || versions.next().flatten();
    Some(Recipe {
        normalize: next()?,
        chunk: next()?,
        embed: next()?,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use whence_contract::{Document, Provenance};

    proptest! {
        #[test]
        fn a_head_survives_its_headers(
            source in ".{0,12}", scope in "\\PC{0,12}", ticket in "\\PC{1,12}", revision: u64,
            code: u32, settings: u32, live: bool, origin in proptest::option::of("\\PC{0,20}"),
            names in proptest::collection::vec("\\PC{1,12}", 0..3),
            mark in proptest::option::of("\\PC{1,20}"),
        ) {
            let key = TicketKey { provenance: Provenance::Wiki, source, scope, ticket };
            let recipe = Recipe { chunk: StageVersion { code, settings }, ..Recipe::default() };
            let mut head = Head::new::<Document>(key, Revision(revision), recipe);
            head.live = live;
            head.origin = origin;
            head.names = names;
            head.mark = mark;
            let subject = format!("docs.{}", head.key.tokens());
            prop_assert_eq!(Head::decode(&subject, Some(&head.encode())).unwrap(), head);
        }
    }

    #[test]
    fn a_newer_schema_is_named_not_misread() {
        let key = TicketKey {
            provenance: Provenance::Upstream,
            source: "github".into(),
            scope: "a/b".into(),
            ticket: "1".into(),
        };
        let mut head = Head::new::<Document>(key, Revision(1), Recipe::default());
        assert!(head.expect_schema::<Document>().is_ok());
        head.schema = "whence.document/2".into();
        let error = head.expect_schema::<Document>().unwrap_err();
        assert_eq!(error.kind, LogErrorKind::Malformed);
        assert!(error.what.contains("upgrade this worker"), "{}", error.what);
    }
}
