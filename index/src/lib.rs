//! Vectors → rows: the last stage writes each ticket into Postgres, in one
//! transaction, and only if it is newer than what stands there.
//!
//! Set-up ([`setup`], [`setup_model`]) is separate from running: the stage only
//! checks ([`check_schema`]) and refuses a schema that it does not know.

mod apply;
mod discussion;
mod error;
mod fingerprint;
mod lexical;
mod model;
mod order;
mod pool;
mod rows;
mod schema;
mod stage;
mod stats;

pub use apply::{Applied, Outcome, apply, delete};
pub use deadpool_postgres::{Client, Pool};
pub use discussion::{Discussion, discussions};
pub use error::IndexError;
pub use fingerprint::fingerprint;
pub use lexical::TITLE_WEIGHT;
pub use model::{Generation, activate_model, find_model, setup_model};
pub use pool::pool;
pub use schema::{check_schema, setup};
pub use stage::IndexStage;
pub use stats::{Stats, TableSize, TicketCount, UnitCount, VectorCount, stats};
