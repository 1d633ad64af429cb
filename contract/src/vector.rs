//! Vectors, and what is searchable.

use crate::{ChunkedTicket, ContentHash, Payload, Revision, TicketKind};
use base64::{Engine, engine::general_purpose::STANDARD};
use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::fmt;

/// A model's whole identity: provider, name, revision, dims, pooling, prompts.
///
/// Two vectors may be compared only where this is equal; equal dims prove
/// nothing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ModelId(pub String);

impl fmt::Display for ModelId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One whole ticket, cut and embedded: all that the tables need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EmbeddedTicket {
    /// Which model made the vectors.
    pub model: ModelId,
    /// The ticket and its chunks.
    pub ticket: ChunkedTicket,
    /// One for each distinct `text_hash` of the chunks, sorted by it. This
    /// message is the vector cache: the next revision of the ticket takes the
    /// vectors of unchanged texts from here, and a deleted text leaves none.
    pub vectors: Vec<Embedding>,
}

impl Payload for EmbeddedTicket {
    const SCHEMA: &'static str = "whence.vectors";
}

/// The vector of one text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Embedding {
    /// The text it belongs to.
    pub text_hash: ContentHash,
    /// Unit length; base64 of little-endian `f32` in JSON.
    #[serde(serialize_with = "to_base64", deserialize_with = "from_base64")]
    pub vector: Vec<f32>,
}

fn to_base64<S: Serializer>(vector: &[f32], serializer: S) -> Result<S::Ok, S::Error> {
    let bytes: Vec<u8> = vector.iter().flat_map(|x| x.to_le_bytes()).collect();
    serializer.serialize_str(&STANDARD.encode(bytes))
}

fn from_base64<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f32>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let bytes = STANDARD.decode(text).map_err(de::Error::custom)?;
    let (words, rest) = bytes.as_chunks::<4>();
    if !rest.is_empty() {
        return Err(de::Error::custom(
            "a vector's length is not a multiple of four bytes",
        ));
    }
    Ok(words.iter().map(|word| f32::from_le_bytes(*word)).collect())
}

/// A ticket's state is searchable; published after the rows' commit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IndexedTicket {
    /// Which model's vectors are in.
    pub model: ModelId,
    /// The revision that the tables hold now; at least the message's own.
    pub stored: Revision,
    /// What people write.
    pub id: String,
    /// What kind of ticket.
    pub kind: TicketKind,
    /// How many chunks.
    pub chunks: u32,
    /// When the rows were committed.
    pub indexed_at: Timestamp,
}

impl Payload for IndexedTicket {
    const SCHEMA: &'static str = "whence.indexed";
}
