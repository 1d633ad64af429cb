//! The former paths of renamed files, which only the REST interface knows.

use super::api::Api;
use crate::upstream::CallError;
use serde_json::Value;
use std::collections::HashMap;

/// GitHub lists 3,000 files of a pull request at most.
const MOST_PAGES: u32 = 30;

/// Adds `previousPath` to every renamed file.
///
/// # Errors
/// When GitHub does not answer. A token that may not read files there leaves
/// them as they are: a rename without its former path.
pub(super) async fn add(api: &Api, what: &str, ticket: &mut Value) -> Result<(), CallError> {
    let files = ticket["files"]["nodes"].as_array();
    let renamed = |file: &&Value| file["changeType"] == "RENAMED";
    let mut wanted = files.into_iter().flatten().filter(renamed).count();
    if wanted == 0 {
        return Ok(());
    }
    let repository = ticket["repository"]["nameWithOwner"].as_str();
    let repository = repository.map_or_else(|| api.repository.path(), str::to_owned);
    let number = ticket["number"].as_u64().unwrap_or_default();
    let what = format!("{what}, renamed files");
    let mut former = HashMap::new();
    for page in 1..=MOST_PAGES {
        let path = format!("/repos/{repository}/pulls/{number}/files?per_page=100&page={page}");
        let reply = match api.rest(&what, &path).await {
            Ok(reply) => reply,
            Err(CallError::Denied { .. } | CallError::Missing { .. }) => break,
            Err(error) => return Err(error),
        };
        let found = former_paths(reply.value());
        wanted = wanted.saturating_sub(found.len());
        former.extend(found);
        let more = reply
            .header("link")
            .is_some_and(|link| link.contains("rel=\"next\""));
        if wanted == 0 || !more {
            break;
        }
    }
    set(ticket, &former);
    Ok(())
}

/// What a page of the REST interface says: present path to former path.
fn former_paths(page: &Value) -> HashMap<String, String> {
    let files = page.as_array().into_iter().flatten();
    let renamed = files.filter_map(|file| {
        let before = file["previous_filename"].as_str()?;
        Some((file["filename"].as_str()?.to_owned(), before.to_owned()))
    });
    renamed.collect()
}

fn set(ticket: &mut Value, former: &HashMap<String, String>) {
    let files = ticket["files"]["nodes"].as_array_mut();
    for file in files.into_iter().flatten() {
        let before = file["path"].as_str().and_then(|path| former.get(path));
        if let Some(before) = before {
            file["previousPath"] = Value::from(before.as_str());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_renamed_file_gets_its_former_path_and_others_none() {
        let page = json!([
            {"filename": "b.rs", "status": "renamed", "previous_filename": "a.rs"},
            {"filename": "c.rs", "status": "modified"},
            null,
        ]);
        let mut ticket = json!({"files": {"nodes": [{"path": "b.rs"}, {"path": "c.rs"}]}});
        set(&mut ticket, &former_paths(&page));
        assert_eq!(
            ticket["files"]["nodes"],
            json!([{"path": "b.rs", "previousPath": "a.rs"}, {"path": "c.rs"}])
        );
    }
}
