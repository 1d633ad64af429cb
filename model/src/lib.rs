//! One truth about models for chunk, embed and query: which there are, how they
//! count tokens, how they turn text into vectors; and how words become terms.

mod batch;
mod encoder;
mod error;
mod fetch;
mod graph;
mod identity;
pub mod lexical;
mod onnx;
mod pool;
mod remote;
mod rerank;
mod session;
mod spec;
mod table;
mod tokenizer;

pub use encoder::{EmbedKind, Encoder, EncoderOptions};
pub use error::ModelError;
pub use fetch::{at_hand, fetch, fetch_reranker, fetch_tokenizer};
pub use remote::{Endpoint, Key, RemoteOptions};
pub use rerank::{
    CrossEncoder, CrossEncoderOptions, Reranker,
    spec::{RerankProvider, RerankerSpec, Scores},
};
pub use session::Session;
pub use spec::{Counter, File, GraphKind, ModelFiles, ModelSpec, Pooling, Provider};
pub use table::{Models, find, known};
pub use tokenizer::Tokenizer;
