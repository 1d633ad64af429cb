//! Filters as JSON Schema.

use super::{FILTERS, Filter, Filters, Repeat, table::Takes};
use crate::line::Line;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};
use std::borrow::Cow;

impl Filter {
    /// Whether it has one value at most.
    pub(crate) fn is_given_once(&self) -> bool {
        self.repeat == Repeat::Once
    }

    /// What one value is.
    pub(crate) fn value_schema(&self, generator: &mut SchemaGenerator) -> Value {
        match self.takes {
            Takes::Text | Takes::Folded => generator.subschema_for::<Line>().into(),
            Takes::Word(words) => json!({ "type": "string", "enum": words }),
            Takes::Time => json!({
                "type": "string",
                "anyOf": [{ "format": "date" }, { "format": "date-time" }],
            }),
        }
    }
}

impl JsonSchema for Filters {
    fn schema_name() -> Cow<'static, str> {
        "Filters".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let property = |filter: &Filter| {
            let value = filter.value_schema(generator);
            let mut list = json!({ "type": "array", "items": value, "minItems": 1 });
            if filter.is_given_once() {
                list["maxItems"] = 1.into();
            }
            let property = json!({ "description": filter.help, "anyOf": [value, list] });
            (filter.name.to_owned(), property)
        };
        let properties: Map<String, Value> = FILTERS.iter().map(property).collect();
        let mut schema = Schema::default();
        schema.insert("type".to_owned(), "object".into());
        let help = "What a hit must be; all must hold. A filter has a value or a list of values.";
        schema.insert("description".to_owned(), help.into());
        schema.insert("properties".to_owned(), properties.into());
        schema.insert("additionalProperties".to_owned(), false.into());
        schema
    }
}
