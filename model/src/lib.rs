//! One truth about models for chunk, embed and query: which there are, how they
//! count tokens, how they turn text into vectors; and how words become terms.

mod encoder;
mod error;
mod fetch;
mod graph;
pub mod lexical;
mod onnx;
mod pool;
mod session;
mod spec;
mod tokenizer;

pub use encoder::{EmbedKind, Encoder, EncoderOptions};
pub use error::ModelError;
pub use fetch::fetch;
pub use session::Session;
pub use spec::{File, GraphKind, ModelFiles, ModelSpec, Pooling, find, known};
pub use tokenizer::Tokenizer;
