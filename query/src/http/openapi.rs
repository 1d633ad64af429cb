//! `GET /openapi.json`: OpenAPI 3.1, derived from the types that are read and
//! written. The same component schemas describe what commands print as JSON.

use super::{
    endpoints::{Answer, Body, ENDPOINTS, Endpoint},
    params::Params,
};
use crate::{Filter, error::ErrorBody, line::Line};
use schemars::{
    SchemaGenerator,
    generate::{Contract, SchemaSettings},
};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// What any endpoint may answer.
const ALWAYS: &[u16] = &[401, 403, 500, 503, 504];

static DOCUMENT: LazyLock<Value> = LazyLock::new(document);

/// The document; the same for every instance of this version.
pub fn openapi() -> &'static Value {
    &DOCUMENT
}

fn document() -> Value {
    let settings = |contract| {
        SchemaSettings::draft2020_12().with(|settings| {
            settings.definitions_path = "/components/schemas".into();
            settings.meta_schema = None;
            settings.contract = contract;
        })
    };
    // What is read may leave out what has a default; what is written has it all.
    let mut read = SchemaGenerator::new(settings(Contract::Deserialize));
    let mut written = SchemaGenerator::new(settings(Contract::Serialize));
    let error = written.subschema_for::<ErrorBody<'static>>();
    let mut paths = Map::new();
    for endpoint in ENDPOINTS {
        let operation = operation(endpoint, &mut read, &mut written, error.as_value());
        let path = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        path[endpoint.method] = operation;
    }
    let mut schemas = read.take_definitions(true);
    schemas.extend(written.take_definitions(true));
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Whence",
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Answers why something is as it is, and where that was argued.",
            "description": "All errors have one shape. Text from upstream is data: it may say \
                anything. Only public text is shown and counted unless `visibility` asks for more.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": { "token": {
                "type": "http",
                "scheme": "bearer",
                "description": "Where the service has a token; /healthz answers without.",
            }},
        },
        "security": [{}, { "token": [] }],
    })
}

fn operation(
    endpoint: &Endpoint,
    read: &mut SchemaGenerator,
    written: &mut SchemaGenerator,
    error: &Value,
) -> Value {
    let mut parameters: Vec<Value> = Vec::new();
    if let (Some(description), Some(name)) = (endpoint.named, braced(endpoint.path)) {
        parameters.push(json!({
            "name": name,
            "in": "path",
            "required": true,
            "description": description,
            "schema": read.subschema_for::<Line>(),
        }));
    }
    parameters.extend(endpoint.parameters.iter().flat_map(|make| make(read)));
    let content = match &endpoint.answer {
        Answer::Json(schema) => json!({ "application/json": { "schema": schema(written) } }),
        Answer::Object => json!({ "application/json": { "schema": { "type": "object" } } }),
        Answer::Text => json!({ "text/plain": { "schema": { "type": "string" } } }),
    };
    let mut responses = Map::new();
    responses.insert(
        "200".to_owned(),
        json!({ "description": "The answer", "content": content }),
    );
    let mut statuses: Vec<u16> = endpoint.errors.iter().chain(ALWAYS).copied().collect();
    statuses.sort_unstable();
    for status in statuses {
        let response = json!({
            "description": reason(status),
            "content": { "application/json": { "schema": error } },
        });
        responses.insert(status.to_string(), response);
    }
    if endpoint.method == "get" {
        // Said by the server before any of ours reads the request.
        let response = json!({ "description": "The address is longer than 64 KiB" });
        responses.insert("414".to_owned(), response);
    }
    let mut operation = json!({
        "summary": endpoint.summary,
        "operationId": id(endpoint),
        "responses": responses,
    });
    if !parameters.is_empty() {
        operation["parameters"] = parameters.into();
    }
    match &endpoint.body {
        Body::None => {}
        Body::Json(schema) => {
            operation["requestBody"] = json!({
                "required": true,
                "content": { "application/json": { "schema": schema(read) } },
            });
        }
        Body::Any => {
            operation["requestBody"] = json!({
                "required": true,
                "content": { "application/json": { "schema": true } },
            });
        }
    }
    operation
}

fn braced(path: &str) -> Option<&str> {
    let (_, rest) = path.split_once('{')?;
    rest.split_once('}').map(|(name, _)| name)
}

/// `get_tickets_id`
fn id(endpoint: &Endpoint) -> String {
    let words = endpoint.path.split(|c: char| !c.is_ascii_alphanumeric());
    let words = words.filter(|word| !word.is_empty());
    std::iter::once(endpoint.method)
        .chain(words)
        .collect::<Vec<_>>()
        .join("_")
}

fn reason(status: u16) -> &'static str {
    match status {
        400 => "The request is wrong; the message says where",
        401 => "The bearer token, or a webhook's signature, is missing or wrong",
        403 => "Asked by a foreign host or origin, or not allowed by the configuration",
        404 => "Nothing is called so",
        413 => "The body is too large",
        422 => "It was understood, and is refused",
        502 => "The ticket's own service failed",
        503 => "A server is away",
        504 => "It took too long",
        _ => "A fault of the service",
    }
}

/// The parameters of an endpoint: its own, then the filters that it takes.
pub(super) fn parameters<P: Params>(generator: &mut SchemaGenerator) -> Vec<Value> {
    let schema = P::json_schema(generator);
    let required = |name: &str| {
        let required = schema.get("required").and_then(Value::as_array);
        required.is_some_and(|names| names.iter().any(|known| known == name))
    };
    let own = schema.get("properties").and_then(Value::as_object);
    let own = own.into_iter().flatten().map(|(name, property)| {
        let mut property = property.clone();
        let description = property
            .as_object_mut()
            .and_then(|p| p.remove("description"));
        // Absent is absent: a parameter cannot be null.
        not_null(&mut property);
        json!({
            "name": name,
            "in": "query",
            "required": required(name),
            "description": description,
            "schema": property,
        })
    });
    let mut parameters: Vec<Value> = own.collect();
    for filter in P::FILTERS.filters() {
        parameters.push(as_parameter(filter, generator));
    }
    parameters
}

fn not_null(schema: &mut Value) {
    if let Some(kinds) = schema["type"].as_array() {
        let kind = kinds.iter().find(|kind| *kind != "null").cloned();
        schema["type"] = kind.unwrap_or_default();
    }
    if let Some(choices) = schema["anyOf"].as_array() {
        let one = choices
            .iter()
            .find(|choice| choice["type"] != "null")
            .cloned();
        *schema = one.unwrap_or_default();
    }
    if let Some(object) = schema.as_object_mut() {
        object.retain(|key, value| {
            !(value.is_null() && matches!(key.as_str(), "default" | "type" | "anyOf"))
        });
    }
}

/// A filter as a parameter.
fn as_parameter(filter: &'static Filter, generator: &mut SchemaGenerator) -> Value {
    let once = filter.is_given_once();
    let value = filter.value_schema(generator);
    let schema = match once {
        true => value,
        false => json!({ "type": "array", "minItems": 1, "items": value }),
    };
    json!({
        "name": filter.name,
        "in": "query",
        "required": false,
        "description": filter.help,
        "schema": schema,
        "example": if once { json!(filter.example) } else { json!([filter.example]) },
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_document_as_published() {
        insta::assert_json_snapshot!(openapi());
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_property_says_what_it_is() {
        let document = openapi();
        let mut refs = Vec::new();
        references(document, &mut refs);
        assert!(refs.len() > 50, "{}", refs.len());
        for reference in refs {
            let pointer = reference.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{reference}");
        }
        for endpoint in document["paths"].as_object().unwrap().values() {
            for parameter in endpoint["get"]["parameters"]
                .as_array()
                .into_iter()
                .flatten()
            {
                assert!(parameter["description"].is_string(), "{parameter}");
            }
        }
    }

    fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
        match value {
            Value::Object(map) => {
                found.extend(map.get("$ref").and_then(Value::as_str));
                map.values().for_each(|value| references(value, found));
            }
            Value::Array(list) => list.iter().for_each(|value| references(value, found)),
            _ => {}
        }
    }
}
