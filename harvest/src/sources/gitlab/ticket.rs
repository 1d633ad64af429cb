//! One ticket whole: what its list entry lacks, joined to it.

use super::{
    api::{Api, Project},
    settings::GitlabSettings,
    walk::Kind,
};
use crate::{Item, SourceError, Unreadable, upstream::CallError};
use serde_json::{Map, Value, json, value::RawValue};
use whence_contract::{Dialect, Provenance, RawTicket, TicketKey, Timestamp};

/// GitLab shows no more files of a merge request than this.
const MOST_FILES: usize = 1_000;
/// Parts of a list entry that change without the ticket, or lead elsewhere.
const VOLATILE: [&str; 10] = [
    "_links",
    "blocking_discussions_resolved",
    "detailed_merge_status",
    "has_conflicts",
    "merge_status",
    "merge_when_pipeline_succeeds",
    "prepared_at",
    "sha",
    "subscribed",
    "user",
];
/// Parts of a changed file that say which file it is.
const FILE_FIELDS: [&str; 8] = [
    "old_path",
    "new_path",
    "new_file",
    "deleted_file",
    "renamed_file",
    "generated_file",
    "collapsed",
    "too_large",
];

pub(super) struct Tickets<'a> {
    pub(super) api: &'a Api,
    pub(super) project: &'a Project,
    pub(super) settings: &'a GitlabSettings,
    pub(super) origin: &'a str,
}

impl Tickets<'_> {
    pub(super) fn key(&self, kind: Kind, id: u64) -> TicketKey {
        TicketKey {
            provenance: Provenance::Upstream,
            source: "gitlab".to_owned(),
            scope: self.api.host(),
            ticket: format!("{}-{id}", kind.prefix()),
        }
    }

    pub(super) fn name(&self, kind: Kind, entry: &Value) -> String {
        let iid = entry["iid"].as_u64().unwrap_or_default();
        format!("{}{}{iid}", self.project.path, kind.sign())
    }

    /// The whole ticket of a list entry; `None` where it vanished meanwhile.
    pub(super) async fn whole(
        &self,
        kind: Kind,
        entry: Value,
        asked_at: Timestamp,
    ) -> Result<Option<Item>, SourceError> {
        let Some(id) = entry["id"].as_u64() else {
            return Ok(Some(self.unreadable(None, &entry, "it has no id")));
        };
        let key = self.key(kind, id);
        if let Some(why) = self.withdrawn(&entry) {
            return Ok(Some(Item::Withdrawn { key, why }));
        }
        match self.joined(kind, &entry).await {
            Ok(payload) => Ok(Some(self.item(key, kind, &entry, payload, asked_at)?)),
            Err(CallError::Missing { .. }) => Ok(None),
            Err(CallError::Garbled { what, why }) => {
                let why = format!("{what}: {why}");
                Ok(Some(self.unreadable(Some(key), &entry, &why)))
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whether a ticket is one of those that are kept.
    pub(super) fn is_kept(&self, entry: &Value) -> bool {
        self.withdrawn(entry).is_none()
    }

    /// Why a ticket is not to be kept.
    fn withdrawn(&self, entry: &Value) -> Option<String> {
        if entry["moved_to_id"].as_u64().is_some() {
            return Some("it was moved; its copy goes on under another number".to_owned());
        }
        let confidential = entry["confidential"].as_bool() == Some(true);
        (confidential && !self.settings.confidential).then(|| "it is confidential".to_owned())
    }

    async fn joined(&self, kind: Kind, entry: &Value) -> Result<Value, CallError> {
        let name = self.name(kind, entry);
        let iid = entry["iid"].as_u64().unwrap_or_default();
        let path = format!("/projects/{}/{}/{iid}", self.project.id, kind.path());
        let discussions = self
            .api
            .all(
                &format!("the notes of {name}"),
                &format!("{path}/discussions"),
                |discussion| self.kept(discussion),
            )
            .await?;
        let mut payload = json!({
            "project": self.project.path,
            "ticket": stable(entry),
            "discussions": discussions,
        });
        if kind == Kind::MergeRequest {
            let files = self
                .api
                .all(
                    &format!("the files of {name}"),
                    &format!("{path}/diffs"),
                    |file| Some(file_of(&file)),
                )
                .await?;
            payload["files_incomplete"] = json!(files.len() >= MOST_FILES);
            payload["files"] = Value::Array(files);
        }
        Ok(payload)
    }

    /// A discussion without the notes that are left out; `None` where none stays.
    fn kept(&self, mut discussion: Value) -> Option<Value> {
        if self.settings.confidential {
            return Some(discussion);
        }
        let notes = discussion["notes"].as_array_mut()?;
        let secret = |note: &Value| {
            ["internal", "confidential"]
                .iter()
                .any(|flag| note[*flag].as_bool() == Some(true))
        };
        notes.retain(|note| !secret(note));
        (!notes.is_empty()).then_some(discussion)
    }

    fn item(
        &self,
        key: TicketKey,
        kind: Kind,
        entry: &Value,
        payload: Value,
        asked_at: Timestamp,
    ) -> Result<Item, SourceError> {
        let dialect = match kind {
            Kind::Issue => Dialect::GitlabIssue,
            Kind::MergeRequest => Dialect::GitlabMergeRequest,
        };
        let payload = RawValue::from_string(payload.to_string())
            .map_err(|error| SourceError::because("cannot encode a ticket", error))?;
        let raw = RawTicket {
            location: entry["web_url"].as_str().map(str::to_owned),
            names: vec![self.name(kind, entry)],
            mark: Some(mark(entry)),
            ..RawTicket::new(dialect, self.origin, asked_at, payload)
        };
        Ok(Item::Ticket { key, raw })
    }

    fn unreadable(&self, key: Option<TicketKey>, entry: &Value, why: &str) -> Item {
        let bytes = entry.to_string().into_bytes();
        let place = entry["web_url"].as_str().unwrap_or(&self.project.path);
        Item::Unreadable(Unreadable {
            key,
            location: place.to_owned(),
            causes: vec![why.to_owned()],
            size: bytes.len() as u64,
            bytes,
        })
    }
}

/// What a census can see of a change: the time, the notes, which do not always
/// move it, and the labels, whose renaming never does.
pub(super) fn mark(entry: &Value) -> String {
    let text = |field: &str| entry[field].as_str().unwrap_or_default();
    let labels: Vec<&str> = entry["labels"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|label| label.as_str().or(label["name"].as_str()))
        .collect();
    format!(
        "{} {} {}",
        text("updated_at"),
        entry["user_notes_count"].as_u64().unwrap_or_default(),
        labels.join(",")
    )
}

fn stable(entry: &Value) -> Value {
    let mut fields: Map<String, Value> = entry.as_object().cloned().unwrap_or_default();
    fields.retain(|name, _| !VOLATILE.contains(&name.as_str()));
    Value::Object(fields)
}

/// A changed file without its diff.
fn file_of(file: &Value) -> Value {
    let fields = FILE_FIELDS
        .iter()
        .filter_map(|field| Some(((*field).to_owned(), file.get(*field)?.clone())));
    Value::Object(fields.collect())
}
