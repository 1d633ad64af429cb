//! What stands in a path and behind the `?`, read strictly: a parameter that is
//! not known, is given twice or hides something is an error, never left out.

use super::body::Failure;
use crate::{
    FILTERS, Filter, Filters, SearchError,
    line::{self, Fault},
};
use axum::{extract::FromRequestParts, http::request::Parts};
use percent_encoding::percent_decode_str;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, de::DeserializeOwned, de::Error as _};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// Which filters an endpoint takes beside its own parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// All there are.
    All,
    /// Where to look: source, project and visibility.
    Scope,
    /// What may be seen.
    Visibility,
}

impl Taken {
    pub(super) fn filters(self) -> impl Iterator<Item = &'static Filter> {
        FILTERS.iter().filter(move |filter| match self {
            Self::All => true,
            Self::Scope => matches!(filter.name, "source" | "project" | "visibility"),
            Self::Visibility => filter.name == "visibility",
        })
    }
}

/// An endpoint's own parameters.
pub(super) trait Params: DeserializeOwned + JsonSchema + Send {
    /// The filters beside them.
    const FILTERS: Taken;
}

/// The parameters of a request.
pub(super) struct Asked<P> {
    pub(super) params: P,
    pub(super) filters: Filters,
}

impl<S: Send + Sync, P: Params> FromRequestParts<S> for Asked<P> {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        Ok(read(parts.uri.query().unwrap_or_default())?)
    }
}

/// What stands in the path behind `/tickets/` and its like: ids have slashes.
pub(super) struct Named(pub(super) String);

impl<S: Send + Sync> FromRequestParts<S> for Named {
    type Rejection = Failure;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Failure> {
        let path = parts.uri.path().trim_start_matches('/');
        let (_, name) = path.split_once('/').unwrap_or_default();
        Ok(Self(decoded("the path", name)?))
    }
}

fn read<P: Params>(query: &str) -> Result<Asked<P>, SearchError> {
    let mut own = Map::new();
    let mut filters = Filters::default();
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = decoded("a parameter's name", &name.replace('+', " "))?;
        let value = decoded(&format!("the parameter {name}"), &value.replace('+', " "))?;
        let filter = Filter::find(&name);
        if filter.is_some_and(|found| P::FILTERS.filters().any(|one| one.name == found.name)) {
            filters.add(&name, &value)?;
        } else if own.insert(name.clone(), Value::String(value)).is_some() {
            let message = format!("the parameter {name} is given twice");
            return Err(SearchError::bad_request(message, "give it once"));
        }
    }
    let params = serde_json::from_value(Value::Object(own)).map_err(|error| {
        SearchError::bad_request(format!("the parameters are wrong: {error}"), takes::<P>())
    })?;
    Ok(Asked { params, filters })
}

/// What the endpoint takes, for people.
fn takes<P: Params>() -> String {
    let schema = schemars::schema_for!(P);
    let own = schema.get("properties").and_then(Value::as_object);
    let own = own.into_iter().flatten().map(|(name, _)| name.as_str());
    let filters = P::FILTERS.filters().map(|filter| filter.name);
    let names: Vec<&str> = own.chain(filters).collect();
    format!("it takes: {}", names.join(", "))
}

/// Percent-decoded, and fit to be compared with what is stored.
fn decoded(what: &str, text: &str) -> Result<String, SearchError> {
    let refused = |message: String, hint: &str| Err(SearchError::bad_request(message, hint));
    let Ok(text) = percent_decode_str(text).decode_utf8() else {
        return refused(format!("{what} is not UTF-8"), "encode it as UTF-8");
    };
    if let Err(Fault(fault, hint)) = line::check(&text) {
        return refused(format!("{what} {fault}"), &hint);
    }
    Ok(text.into_owned())
}

/// How many: 1 to `MAX`, `DEFAULT` where nothing is said.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limit<const DEFAULT: u32, const MAX: u32>(pub(super) u32);

impl<const DEFAULT: u32, const MAX: u32> Default for Limit<DEFAULT, MAX> {
    fn default() -> Self {
        Self(DEFAULT)
    }
}

impl<'de, const DEFAULT: u32, const MAX: u32> Deserialize<'de> for Limit<DEFAULT, MAX> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        // `+5` is a number to Rust, and not to others.
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse() {
            Ok(number) if digits && (1..=MAX).contains(&number) => Ok(Self(number)),
            _ => Err(D::Error::custom(format!(
                "{text:?} is no number from 1 to {MAX}"
            ))),
        }
    }
}

impl<const DEFAULT: u32, const MAX: u32> JsonSchema for Limit<DEFAULT, MAX> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Limit{MAX}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "integer", "minimum": 1, "maximum": MAX, "default": DEFAULT })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::line::Line;
    use proptest::prelude::*;

    #[derive(Debug, Deserialize, JsonSchema)]
    #[serde(deny_unknown_fields)]
    struct Some {
        path: Line,
        #[serde(default)]
        limit: Limit<10, 20>,
    }

    impl Params for Some {
        const FILTERS: Taken = Taken::Scope;
    }

    #[test]
    fn parameters_and_filters_in_any_order() {
        let asked: Asked<Some> =
            read("project=a%2Fb&path=src/%C3%A9+x.rs&limit=20&project=c&&visibility=internal")
                .unwrap();
        assert_eq!(asked.params.path.0, "src/é x.rs");
        assert_eq!(asked.params.limit.0, 20);
        assert_eq!(asked.filters.get("project"), ["a/b", "c"]);
        let asked: Asked<Some> = read("path=x").unwrap();
        assert_eq!(asked.params.limit.0, 10);
    }

    #[test]
    fn what_is_wrong_is_said() {
        let wrong = [
            "",
            "path=",
            "path",
            "path=%20",
            "path=a&path=b",
            "path=a&limit=0",
            "path=a&limit=21",
            "path=a&limit=-1",
            "path=a&limit=%2B5",
            "path=a&limit=99999999999",
            "path=a&color=red",
            "path=a&label=bug",
            "path=a&visibility=all",
            "path=a%00b",
            "path=%E2%80%AEa",
            "path=%FF",
            "p%00=a",
        ];
        let said: Vec<String> = wrong
            .iter()
            .map(|query| {
                let error = read::<Some>(query).err().unwrap();
                format!("{query}: {} {error}; {}", error.status, error.hint)
            })
            .collect();
        insta::assert_debug_snapshot!(said);
    }

    proptest! {
        #[test]
        fn any_query_is_read_or_refused(query in "\\PC{0,60}|(path|limit|%[0-9a-f]{0,2}|=|&|\\+){0,12}") {
            let refused = read::<Some>(&query).err().map(|error| error.status);
            prop_assert!(matches!(refused, None | Option::Some(400)));
        }
    }
}
