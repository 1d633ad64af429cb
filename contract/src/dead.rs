//! What could not be processed, with everything needed to understand and retry it.

use crate::{Payload, Recipe, Revision};
use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// One message that a stage gave up on, or one item that harvest could not read.
///
/// At most one for each stage and ticket; it is removed when that ticket later
/// passes the stage or is deleted, so that no text outlives its ticket here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// The stage that gave up: `harvest`, `normalize` …
    pub stage: String,
    /// The subject of the input, empty for harvest.
    #[serde(default)]
    pub subject: String,
    /// The source as configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// A file, a URL, a ticket: where a person should look.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// The input's revision; 0 where it had none.
    #[serde(default)]
    pub revision: Revision,
    /// The input's recipe.
    #[serde(default)]
    pub recipe: Recipe,
    /// What failed, then each cause, outermost first.
    pub causes: Vec<String>,
    /// How often it was tried.
    pub attempts: u64,
    /// When it was given up.
    pub at: Timestamp,
    /// Length of the input in bytes.
    pub size: u64,
    /// The input's bytes, cut to what a message can hold; base64 in JSON.
    #[serde(
        default,
        serialize_with = "to_base64",
        deserialize_with = "from_base64"
    )]
    pub input: Vec<u8>,
}

impl Payload for DeadLetter {
    const SCHEMA: &'static str = "whence.dead";
}

fn to_base64<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&STANDARD.encode(bytes))
}

fn from_base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    STANDARD
        .decode(String::deserialize(deserializer)?)
        .map_err(de::Error::custom)
}
