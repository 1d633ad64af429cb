//! Small answers, and the shape of those that are made elsewhere.

use schemars::JsonSchema;
use serde::Serialize;

/// `GET /healthz`
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Health {
    /// `ok`
    pub(super) status: &'static str,
}

/// `GET /readyz`
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Ready {
    /// `ready`
    pub(super) status: &'static str,
    /// How many tickets can be found.
    pub(super) tickets: u64,
}

/// `GET /version`
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Version {
    /// Of the program.
    pub(super) version: &'static str,
}

/// `GET /stats`: what is searchable. The binary counts it, with the crate that
/// writes the tables; a test compares its answer with this.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "a shape: the values are made by the binary")]
pub(super) struct Stats {
    /// Tickets by source, project, provenance and kind.
    tickets: Vec<TicketCount>,
    /// Units by the ticket's kind and the unit's.
    units: Vec<UnitCount>,
    /// Chunks of all tickets.
    chunks: u64,
    /// Lexical postings.
    postings: u64,
    /// Deletions that are remembered.
    tombstones: u64,
    /// Vectors of each model.
    vectors: Vec<VectorCount>,
    /// Tables with their indexes.
    sizes: Vec<TableSize>,
}

/// Tickets of one kind.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "a shape")]
struct TicketCount {
    source: String,
    project: String,
    provenance: String,
    kind: String,
    tickets: u64,
    chunks: u64,
}

/// Units of one kind, empty ones included.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "a shape")]
struct UnitCount {
    source: String,
    project: String,
    provenance: String,
    ticket_kind: String,
    kind: String,
    units: u64,
}

/// One model's vectors.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "a shape")]
struct VectorCount {
    /// The model's identity.
    model: String,
    /// Whether searches use it.
    active: bool,
    dims: u32,
    vectors: u64,
    /// How many tickets have theirs.
    tickets: u64,
}

/// One table on disk.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "a shape")]
struct TableSize {
    table: String,
    bytes: u64,
    index_bytes: u64,
}
