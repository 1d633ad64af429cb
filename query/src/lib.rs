//! Rows → answers: dense and lexical recall, filters inside both, fusion; what
//! needs no search (`lookup`); and the HTTP face.
//!
//! Everything is read from the tables that `index` writes; nothing is kept here
//! but a count of the corpus for some seconds.

mod config;
mod corpus;
mod encoder;
mod error;
pub mod eval;
mod exact;
mod fetch;
mod filters;
mod fuse;
pub mod http;
mod lease;
mod line;
pub mod lookup;
mod pool;
mod recall;
mod request;
mod rerank;
mod response;
mod search;
mod snippet;
mod sql;
mod syntax;

pub use config::{Bm25, Floor, Fusion, SearchConfig};
pub use deadpool_postgres::Pool;
pub use encoder::{EncodeError, QueryEncoder};
pub use error::{ErrorBody, SearchError};
pub use filters::{FILTERS, Filter, Filters, Repeat};
pub use lookup::LookupService;
pub use pool::pool;
pub use request::{GroupBy, MAX_EXCLUDED, MAX_K, MAX_QUERY_BYTES, Mode, SearchRequest};
pub use rerank::{RerankError, Reranker};
pub use response::{Degraded, Hit, HitChunk, Leg, Legs, Miss, SearchResponse, Took, Understood};
pub use search::{SearchService, SimilarRequest};
