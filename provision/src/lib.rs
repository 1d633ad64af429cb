//! Obtains and runs what Whence stands on: pinned, hash-checked packages in a cache
//! folder, and nats-server and PostgreSQL as supervised children.
//!
//! It knows no stage and no message. `whence up` uses [`Cache`] and [`Supervisor`];
//! tests of every stage take throw-away servers from [`testing`].

mod cache;
mod child_log;
pub mod doctor;
mod endpoints;
mod error;
mod identity;
mod keeper;
mod leftover;
mod nats;
pub mod packages;
mod pip;
mod postgres;
mod postgres_package;
mod preflight;
mod progress;
mod state;
mod sums;
mod supervisor;
pub mod testing;
mod wheel;

pub use cache::{Cache, Overrides};
pub use endpoints::Endpoints;
pub use error::{Error, Result};
pub use keeper::SupervisorEvent;
pub use packages::Package;
pub use postgres_package::PostgresInstall;
pub use progress::{Progress, Silent};
pub use supervisor::{Options, Server, Supervisor};
