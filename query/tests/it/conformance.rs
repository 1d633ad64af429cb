//! Every answer that a test gets is held against the published document.

use jsonschema::Validator;
use serde_json::{Value, json};
use whence_query::http::openapi;

/// # Panics
/// When the document does not foresee this answer.
pub fn conforms(method: &str, path: &str, status: u16, body: &Value) {
    let document = openapi();
    let path = path.split('?').next().unwrap();
    let known = document["paths"].as_object().unwrap();
    let template = known
        .keys()
        .filter(|template| known[*template].get(method.to_lowercase()).is_some())
        .find(|template| match template.split_once('{') {
            Some((before, _)) => path.len() > before.len() && path.starts_with(before),
            None => path == *template,
        });
    let schema = match template {
        Some(template) => {
            let responses = &known[template][method.to_lowercase()]["responses"];
            let response = &responses[status.to_string()];
            assert!(
                response.is_object(),
                "{method} {path} may not answer {status}: {body}"
            );
            response["content"]["application/json"]["schema"].clone()
        }
        None => json!({ "$ref": "#/components/schemas/Error" }),
    };
    let mut root = json!({ "components": document["components"] });
    for (key, value) in schema.as_object().unwrap() {
        root[key] = value.clone();
    }
    let validator: Validator = jsonschema::options()
        .should_validate_formats(true)
        .build(&root)
        .unwrap();
    let faults: Vec<String> = validator
        .iter_errors(body)
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect();
    assert!(
        faults.is_empty(),
        "{method} {path} {status}: {faults:#?}\n{body:#}"
    );
}

#[test]
#[should_panic(expected = "rank")]
fn a_wrong_answer_is_noticed() {
    let hit =
        json!({ "hits": [{ "rank": "first" }], "mode": "hybrid", "degraded": [], "took_ms": {} });
    conforms("POST", "/search", 200, &hit);
}
