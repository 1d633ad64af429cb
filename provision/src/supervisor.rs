//! Starts both servers on a data folder and keeps them running.
//!
//! ```text
//! <data>/servers.json         ports and passwords, kept (0600)
//! <data>/run/lock             held by the one process that works here
//! <data>/run/endpoints.json   addresses with credentials, while it runs (0600)
//! <data>/nats/                nats.conf (0600) and the store
//! <data>/postgres/            the database, of the user Postgres runs as
//! <data>/logs/                nats-server.log, postgres.log, initdb.log
//! ```

use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;

use rustix::process::Signal;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use crate::cache::Cache;
use crate::endpoints::Endpoints;
use crate::error::{Error, Result};
use crate::identity::RunAs;
use crate::keeper::{Keeper, Spec, SupervisorEvent, answer};
use crate::nats::Nats;
use crate::postgres::Postgres;
use crate::preflight::DataFolder;
use crate::state::{State, any_port, choose_port, is_free};
use crate::{leftover, nats, postgres};

/// Where a server comes from.
#[derive(Clone, PartialEq, Eq)]
pub enum Server {
    /// A child of this process; on a port of its own choice if none is given.
    Managed {
        /// A port on 127.0.0.1 that must be free.
        port: Option<u16>,
    },
    /// One that runs already, by its URL with credentials. It is not touched.
    External(String),
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Managed { port } => f.debug_struct("Managed").field("port", port).finish(),
            Self::External(url) => f
                .debug_tuple("External")
                .field(&crate::endpoints::redacted(url))
                .finish(),
        }
    }
}

/// What to start, and how.
#[derive(Debug, Clone)]
pub struct Options {
    /// The folder of all state; created if it is not there.
    pub data: PathBuf,
    /// Where binaries come from.
    pub cache: Cache,
    /// The log's server.
    pub nats: Server,
    /// The store's server.
    pub postgres: Server,
    /// Whether what was acknowledged or committed must survive a power cut. Only tests
    /// turn it off: a kill of the servers loses nothing either way.
    pub durable: bool,
    /// Whether nats-server asks for the generated password. Only tests turn it off.
    pub nats_auth: bool,
    /// The user Postgres runs as when this process is root.
    pub run_as: Option<String>,
    /// Postgres settings (`shared_buffers`, …) over the built-in ones.
    pub postgres_settings: Vec<(String, String)>,
    /// Whether a child that dies is restarted. Only tests turn it off.
    pub restart: bool,
}

impl Options {
    /// Both servers managed, durable, on free ports.
    #[must_use]
    pub fn new(data: PathBuf, cache: Cache) -> Self {
        Self {
            data,
            cache,
            nats: Server::Managed { port: None },
            postgres: Server::Managed { port: None },
            durable: true,
            nats_auth: true,
            run_as: None,
            postgres_settings: Vec::new(),
            restart: true,
        }
    }
}

/// Both servers, running. Dropping it stops them cleanly, and blocks until they are.
pub struct Supervisor {
    pub(crate) nats: Option<Keeper>,
    pub(crate) postgres: Option<Keeper>,
    endpoints: Endpoints,
    events: UnboundedReceiver<SupervisorEvent>,
    /// After the keepers: the lock is given back when the children are gone.
    folder: DataFolder,
}

impl std::fmt::Debug for Supervisor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Supervisor")
            .field("endpoints", &self.endpoints)
            .finish_non_exhaustive()
    }
}

impl Supervisor {
    /// Obtains what is missing, starts what is managed, and returns when both answer.
    ///
    /// # Errors
    /// One sentence on what is in the way; nothing is left running then. Dropping the
    /// future lets a start that is under way finish and then stops it.
    pub async fn start(options: Options) -> Result<Self> {
        let (done, started) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            let _ = done.send(Self::start_blocking(&options));
        });
        started.await.unwrap_or_else(|_| {
            Err(Error::Child {
                name: "the start of the servers",
                cause: "ended without a result: this is a bug".to_owned(),
                log_tail: Vec::new(),
            })
        })
    }

    fn start_blocking(options: &Options) -> Result<Self> {
        let folder = DataFolder::claim(&options.data)?;
        let data = folder.path.clone();
        let mut state = State::load(&data)?;
        let (sender, events) = unbounded_channel();
        let keep = |spec: Spec| {
            let sender = sender.clone();
            Keeper::new(spec, Box::new(move |event| drop(sender.send(event))))
        };

        // Both are set off before either is waited for.
        let mut nats = None;
        if let Server::Managed { port } = options.nats {
            leftover::stop(
                nats::NAME,
                "nats-server",
                &Nats::config_path(&data),
                Signal::TERM,
            )?;
            state.nats_port = choose_port(nats::NAME, port, state.nats_port)?;
            let server = Nats {
                binary: options.cache.nats_server()?,
                data: data.clone(),
                port: state.nats_port,
                password: state.nats_password.clone(),
                auth: options.nats_auth,
                durable: options.durable,
                restart: options.restart,
            };
            let keeper = keep(server.prepare()?)?;
            let answer = keeper.start();
            nats = Some((server, keeper, answer, port));
        }
        let mut postgres = None;
        if let Server::Managed { port } = options.postgres {
            let place = Postgres::folder(&data);
            leftover::stop(postgres::NAME, "postgres", &place, Signal::INT)?;
            state.postgres_port = choose_port(postgres::NAME, port, state.postgres_port)?;
            let install = options.cache.postgres()?;
            let run_as = RunAs::for_postgres(options.run_as.as_deref(), &place, &install.bin_dir)?;
            let server = Postgres {
                install,
                run_as,
                data: data.clone(),
                port: state.postgres_port,
                admin_password: state.postgres_admin_password.clone(),
                password: state.postgres_password.clone(),
                durable: options.durable,
                restart: options.restart,
                settings: options.postgres_settings.clone(),
            };
            // Before a database exists that only these passwords open.
            state.save(&data)?;
            let keeper = keep(server.prepare()?)?;
            let answer = keeper.start();
            postgres = Some((server, keeper, answer, port));
        }

        let (nats, nats_url) = match (nats, &options.nats) {
            (Some((mut server, keeper, answer, port)), _) => {
                let keeper = settle(nats::NAME, keeper, &answer, port, server.port, |free| {
                    server.port = free;
                    keep(server.prepare()?)
                })?;
                state.nats_port = server.port;
                (Some(keeper), server.url())
            }
            (None, Server::External(url)) => (None, url.clone()),
            (None, Server::Managed { .. }) => (None, String::new()),
        };
        let (postgres, postgres_url) = match (postgres, &options.postgres) {
            (Some((mut server, keeper, answer, port)), _) => {
                let keeper = settle(postgres::NAME, keeper, &answer, port, server.port, |free| {
                    server.port = free;
                    keep(server.prepare()?)
                })?;
                state.postgres_port = server.port;
                server.set_up()?;
                (Some(keeper), server.url(postgres::ROLE))
            }
            (None, Server::External(url)) => (None, url.clone()),
            (None, Server::Managed { .. }) => (None, String::new()),
        };
        state.save(&data)?;
        let endpoints = Endpoints {
            nats_url,
            postgres_url,
        };
        endpoints.write(&data)?;
        Ok(Self {
            nats,
            postgres,
            endpoints,
            events,
            folder,
        })
    }

    /// Where the servers are.
    #[must_use]
    pub fn endpoints(&self) -> &Endpoints {
        &self.endpoints
    }

    /// The data folder, absolute.
    #[must_use]
    pub fn data(&self) -> &Path {
        &self.folder.path
    }

    /// The next thing that happens to a child; waits for ever while all is well.
    /// Cancel-safe. After [`SupervisorEvent::GaveUp`] the caller should stop and exit.
    pub async fn next_event(&mut self) -> SupervisorEvent {
        match self.events.recv().await {
            Some(event) => event,
            // No managed child: nothing will ever happen.
            None => std::future::pending().await,
        }
    }

    /// Stops Postgres, then nats-server, and waits until both are gone.
    pub async fn stop(self) {
        let (done, stopped) = tokio::sync::oneshot::channel();
        std::thread::spawn(move || {
            drop(self);
            let _ = done.send(());
        });
        let _ = stopped.await;
    }
}

impl Drop for Supervisor {
    fn drop(&mut self) {
        Endpoints::remove(&self.folder.path);
        drop(self.postgres.take());
        drop(self.nats.take());
    }
}

/// Waits for a first start. Where another program took the chosen port in between,
/// and the port was our choice, a new one is tried, once.
fn settle(
    name: &'static str,
    keeper: Keeper,
    first: &Receiver<Result<()>>,
    configured: Option<u16>,
    port: u16,
    again: impl FnOnce(u16) -> Result<Keeper>,
) -> Result<Keeper> {
    match answer(name, first) {
        Ok(()) => Ok(keeper),
        Err(_) if configured.is_none() && !is_free(port) => {
            drop(keeper);
            let keeper = again(any_port()?)?;
            let second = keeper.start();
            answer(name, &second).map(|()| keeper)
        }
        Err(error) => Err(error),
    }
}
