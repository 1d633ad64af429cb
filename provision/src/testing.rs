//! Throw-away servers for tests: real ones, in a folder that goes with them.
//!
//! Start them once per test binary and give each test a database and a subject space
//! of its own:
//!
//! ```no_run
//! use tokio::sync::OnceCell;
//! use whence_provision::testing::Servers;
//!
//! static SERVERS: OnceCell<Servers> = OnceCell::const_new();
//!
//! async fn servers() -> &'static Servers {
//!     SERVERS.get_or_init(|| async { Servers::start().await.expect("servers") }).await
//! }
//! ```
//!
//! The children die with the test process, however it ends. They belong to no runtime,
//! so they may be shared by tests that have one each.

mod model_server;

pub use model_server::ModelServer;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::mpsc::Receiver;

use tempfile::TempDir;
use tokio_postgres::Config;

use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::keeper::{Keeper, answer};
use crate::supervisor::{Options, Server, Supervisor};
use crate::{nats, postgres};

/// The beginning of the names of test folders in the system's temporary folder.
const PREFIX: &str = "whence-test-";

/// A nats-server and a Postgres of a test.
#[derive(Debug)]
pub struct Servers {
    // In this order: the servers stop before their folder goes.
    supervisor: Supervisor,
    _folder: TempDir,
}

impl Servers {
    /// Starts both without syncing to disk, which is quick; a kill of a server still
    /// loses nothing it has acknowledged, only a power cut would.
    ///
    /// # Errors
    /// As [`Supervisor::start`].
    pub async fn start() -> Result<Self> {
        Self::start_with(|options| options.durable = false).await
    }

    /// Starts nats-server alone; the Postgres URL is empty.
    ///
    /// # Errors
    /// As [`Supervisor::start`].
    pub async fn nats_only() -> Result<Self> {
        Self::start_with(|options| {
            options.durable = false;
            options.postgres = Server::External(String::new());
        })
        .await
    }

    /// Starts Postgres alone; the NATS URL is empty.
    ///
    /// # Errors
    /// As [`Supervisor::start`].
    pub async fn postgres_only() -> Result<Self> {
        Self::start_with(|options| {
            options.durable = false;
            options.nats = Server::External(String::new());
        })
        .await
    }

    /// Starts both as `up` does, syncing every write.
    ///
    /// # Errors
    /// As [`Supervisor::start`].
    pub async fn durable() -> Result<Self> {
        Self::start_with(|_| {}).await
    }

    /// Starts both with changed options.
    ///
    /// # Errors
    /// As [`Supervisor::start`].
    pub async fn start_with(change: impl FnOnce(&mut Options)) -> Result<Self> {
        sweep();
        let folder = tempfile::Builder::new()
            .prefix(&format!("{PREFIX}{}-", std::process::id()))
            .tempdir()
            .map_err(Error::io("write below", &std::env::temp_dir()))?;
        // Postgres passes it as another user when the tests run as root.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711))
            .map_err(Error::io("open", folder.path()))?;
        let mut options = Options::new(folder.path().join("data"), Cache::open(None)?);
        options.restart = false;
        // Clients take the address as it is; the folder is gone in a minute.
        options.nats_auth = false;
        change(&mut options);
        Ok(Self {
            supervisor: Supervisor::start(options).await?,
            _folder: folder,
        })
    }

    /// `nats://127.0.0.1:port`; no password is asked for.
    #[must_use]
    pub fn nats_url(&self) -> &str {
        &self.supervisor.endpoints().nats_url
    }

    /// `postgres://user:password@127.0.0.1:port/database`; see [`Servers::fresh_database`].
    #[must_use]
    pub fn postgres_url(&self) -> &str {
        &self.supervisor.endpoints().postgres_url
    }

    /// The servers' data folder.
    #[must_use]
    pub fn data(&self) -> &Path {
        self.supervisor.data()
    }

    /// A new, empty database with pgvector in it, dropped first if it exists; returns
    /// its URL. `name` is a lower-case identifier.
    ///
    /// # Errors
    /// Postgres is down or refuses the name.
    pub async fn fresh_database(&self, name: &str) -> Result<String> {
        let url = self.postgres_url();
        let config: Config = url.parse()?;
        let client = postgres::connect(&config).await?;
        client
            .batch_execute(&format!("DROP DATABASE IF EXISTS \"{name}\" WITH (FORCE)"))
            .await?;
        client
            .batch_execute(&format!("CREATE DATABASE \"{name}\""))
            .await?;
        let (server, _) = url.rsplit_once('/').unwrap_or((url, ""));
        Ok(format!("{server}/{name}"))
    }

    /// SIGKILLs nats-server and leaves it down. Returns when it is gone.
    ///
    /// # Errors
    /// It is not watched any more.
    pub async fn kill_nats(&self) -> Result<()> {
        ask(nats::NAME, self.supervisor.nats.as_ref(), Keeper::kill).await
    }

    /// Starts nats-server again, on the same port and data. Returns when it answers.
    ///
    /// # Errors
    /// It does not start; the error holds its last words.
    pub async fn restart_nats(&self) -> Result<()> {
        ask(nats::NAME, self.supervisor.nats.as_ref(), Keeper::start).await
    }

    /// SIGKILLs the postmaster and leaves it down. Returns when it is gone; its
    /// backends notice and end a moment later.
    ///
    /// # Errors
    /// It is not watched any more.
    pub async fn kill_postgres(&self) -> Result<()> {
        ask(
            postgres::NAME,
            self.supervisor.postgres.as_ref(),
            Keeper::kill,
        )
        .await
    }

    /// Starts Postgres again, on the same port and data. Returns when it answers.
    ///
    /// # Errors
    /// It does not start; the error holds its last words.
    pub async fn restart_postgres(&self) -> Result<()> {
        ask(
            postgres::NAME,
            self.supervisor.postgres.as_ref(),
            Keeper::start,
        )
        .await
    }

    /// Stops both cleanly and removes their folder.
    pub async fn stop(self) {
        self.supervisor.stop().await;
    }
}

async fn ask(
    name: &'static str,
    keeper: Option<&Keeper>,
    question: fn(&Keeper) -> Receiver<Result<()>>,
) -> Result<()> {
    let Some(keeper) = keeper else { return Ok(()) };
    let receiver = question(keeper);
    let waiting = tokio::task::spawn_blocking(move || answer(name, &receiver));
    waiting.await.unwrap_or(Ok(()))
}

/// Removes folders of test processes that are gone: servers in a `static` are never
/// dropped, so their folders stay behind.
fn sweep() {
    let Ok(entries) = fs::read_dir(std::env::temp_dir()) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let pid = name
            .to_str()
            .and_then(|name| name.strip_prefix(PREFIX))
            .and_then(|rest| rest.split('-').next());
        if pid.is_some_and(|pid| !Path::new("/proc").join(pid).exists()) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
