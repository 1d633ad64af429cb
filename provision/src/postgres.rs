//! PostgreSQL as a child: its first initialization, its settings, its start, whether
//! it answers, and the role and database the stages use.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;
use tokio_postgres::{Client, Config, NoTls};

use crate::child_log::{ChildLog, diagnose};
use crate::error::{Error, Result};
use crate::identity::{RunAs, clean_environment};
use crate::keeper::Spec;
use crate::postgres_package::PostgresInstall;
use crate::preflight;
use crate::state::write_private;

pub(crate) const NAME: &str = "postgres";
/// The superuser: set-up only.
const ADMIN: &str = "postgres";
/// The role and the database of all stages.
pub(crate) const ROLE: &str = "whence";

/// What one start needs to know.
pub(crate) struct Postgres {
    pub(crate) install: PostgresInstall,
    pub(crate) run_as: RunAs,
    pub(crate) data: PathBuf,
    pub(crate) port: u16,
    pub(crate) admin_password: String,
    pub(crate) password: String,
    /// Whether a commit must survive a power cut.
    pub(crate) durable: bool,
    pub(crate) restart: bool,
    /// Settings of the operator, over ours.
    pub(crate) settings: Vec<(String, String)>,
}

impl Postgres {
    pub(crate) fn url(&self, database: &str) -> String {
        format!(
            "postgres://{ROLE}:{}@127.0.0.1:{}/{database}",
            self.password, self.port
        )
    }

    pub(crate) fn folder(data: &Path) -> PathBuf {
        data.join("postgres")
    }

    /// Initializes the folder if it is new, and says how to run the server.
    pub(crate) fn prepare(&self) -> Result<Spec> {
        let folder = Self::folder(&self.data);
        if folder.join("PG_VERSION").exists() {
            self.check_version(&folder)?;
        } else {
            self.initialize(&folder)?;
        }
        let binary = self.install.bin_dir.join("postgres");
        let (run_as, libraries) = (self.run_as.clone(), self.install.lib_dir.clone());
        let settings = self.settings();
        let probe = self.admin("postgres");
        Ok(Spec {
            name: NAME,
            spawn: Box::new(move |log| {
                remove_stale_pid(&folder);
                let errors = log
                    .try_clone()
                    .map_err(Error::io("write the log of", &binary))?;
                // INT is a fast shutdown; TERM would wait for other processes' connections.
                let mut command = run_as.command(&binary, "INT");
                clean_environment(&mut command, libraries.as_deref());
                command.arg("-D").arg(&folder);
                for (key, value) in &settings {
                    command.arg("-c").arg(format!("{key}={value}"));
                }
                command.stdout(Stdio::from(log)).stderr(errors);
                command.spawn().map_err(Error::io("run", &binary))
            }),
            is_ready: Box::new(move || block_on(async { connect(&probe).await.is_ok() })),
            log: ChildLog::new(self.data.join("logs").join("postgres.log")),
            // A fast shutdown writes a checkpoint.
            stop: (Signal::INT, Duration::from_secs(90)),
            restart: self.restart,
        })
    }

    /// Given on the command line, so that they hold whatever the folder's own files say.
    fn settings(&self) -> Vec<(String, String)> {
        let safe = if self.durable { "on" } else { "off" };
        // Parallel index builds share memory through /dev/shm, which is tiny in containers.
        let shared = match preflight::free_bytes(Path::new("/dev/shm")) {
            Ok(free) if free >= 1 << 30 => "posix",
            _ => "mmap",
        };
        let port = self.port.to_string();
        let ours = [
            ("port", port.as_str()),
            ("listen_addresses", "127.0.0.1"),
            // The path of a socket may not exceed 107 bytes; data folders may.
            ("unix_socket_directories", ""),
            ("fsync", safe),
            // Without fsync it costs nothing, and a kill of the server loses no commit.
            ("synchronous_commit", "on"),
            ("full_page_writes", safe),
            ("max_connections", "50"),
            ("shared_buffers", "256MB"),
            ("work_mem", "32MB"),
            ("maintenance_work_mem", "512MB"),
            ("effective_cache_size", "1GB"),
            ("dynamic_shared_memory_type", shared),
            ("password_encryption", "scram-sha-256"),
            ("timezone", "UTC"),
            ("log_timezone", "UTC"),
            ("log_destination", "stderr"),
            ("logging_collector", "off"),
            ("log_min_messages", "warning"),
            ("log_checkpoints", "off"),
            // Statements and details would put ticket texts into the log.
            ("log_min_error_statement", "panic"),
            ("log_error_verbosity", "terse"),
            ("log_line_prefix", "%m [%p] "),
        ];
        let ours = ours.map(|(key, value)| (key.to_owned(), value.to_owned()));
        ours.into_iter()
            .chain(self.settings.iter().cloned())
            .collect()
    }

    fn check_version(&self, folder: &Path) -> Result<()> {
        let path = folder.join("PG_VERSION");
        let made_by = fs::read_to_string(&path).map_err(Error::io("read", &path))?;
        let made_by = made_by.trim();
        let version = version(&self.install, &self.run_as)?;
        if version.split('.').next() == Some(made_by) {
            return Ok(());
        }
        Err(Error::Data {
            path: folder.to_owned(),
            cause: format!(
                "was made by PostgreSQL {made_by}, and the one at hand is {version}: point at \
                 version {made_by} with [provision] postgres_bin, or choose another folder with --data"
            ),
        })
    }

    /// Runs initdb beside the final place and renames: a kill leaves nothing half-made.
    fn initialize(&self, folder: &Path) -> Result<()> {
        version(&self.install, &self.run_as)?;
        let new = self.data.join("postgres.new");
        if new.exists() {
            fs::remove_dir_all(&new).map_err(Error::io("delete", &new))?;
        }
        DirBuilder::new()
            .mode(0o700)
            .create(&new)
            .map_err(Error::io("create the folder", &new))?;
        self.run_as.give(&new)?;
        // initdb wants its folder empty and must be able to reach the file.
        let password_file = self.data.join("postgres.password");
        write_private(&password_file, self.admin_password.as_bytes())?;
        self.run_as.give(&password_file)?;
        let log_path = self.data.join("logs").join("initdb.log");
        let mut log = ChildLog::new(log_path.clone());
        let output = log.open()?;
        let errors = output.try_clone().map_err(Error::io("write", &log_path))?;

        let binary = self.install.bin_dir.join("initdb");
        let mut command = self.run_as.command(&binary, "KILL");
        clean_environment(&mut command, self.install.lib_dir.as_deref());
        command
            .arg("--pgdata")
            .arg(&new)
            .args(["--username", ADMIN, "--auth", "scram-sha-256", "--pwfile"])
            .arg(&password_file)
            // The builtin provider sorts the same on every machine and after every upgrade.
            .args(["--encoding", "UTF8", "--locale-provider", "builtin"])
            .args([
                "--builtin-locale",
                "C.UTF-8",
                "--locale",
                "C",
                "--data-checksums",
            ])
            .args(if self.durable {
                &[][..]
            } else {
                &["--no-sync"][..]
            });
        let status = command
            .stdout(output)
            .stderr(errors)
            .status()
            .map_err(Error::io("run", &binary));
        let _ = fs::remove_file(&password_file);
        let status = status?;
        if !status.success() {
            let tail = log.tail();
            let cause = log
                .diagnosis()
                .unwrap_or_else(|| "could not set up its folder".to_owned());
            return Err(Error::Child {
                name: "initdb",
                cause,
                log_tail: tail,
            });
        }
        fs::rename(&new, folder).map_err(Error::io("create the folder", folder))
    }

    /// Makes the stages' role and database, and pgvector, which only a superuser may
    /// create; in the template too, so that further databases have it. Repeatable.
    pub(crate) fn set_up(&self) -> Result<()> {
        block_on(async {
            let client = connect(&self.admin("postgres")).await?;
            let known = client
                .query_opt("SELECT 1 FROM pg_roles WHERE rolname = $1", &[&ROLE])
                .await?;
            let verb = if known.is_some() { "ALTER" } else { "CREATE" };
            // The password is hex of our own making: safe in quotes.
            let password = &self.password;
            client
                .batch_execute(&format!(
                    "{verb} ROLE {ROLE} LOGIN NOSUPERUSER CREATEDB PASSWORD '{password}';
                     GRANT pg_monitor, pg_signal_backend, pg_checkpoint TO {ROLE};"
                ))
                .await?;
            extension(&self.admin("template1")).await?;
            let known = client
                .query_opt("SELECT 1 FROM pg_database WHERE datname = $1", &[&ROLE])
                .await?;
            if known.is_none() {
                client
                    .batch_execute(&format!("CREATE DATABASE {ROLE} OWNER {ROLE}"))
                    .await?;
            }
            extension(&self.admin(ROLE)).await
        })
    }

    fn admin(&self, database: &str) -> Config {
        let mut config = Config::new();
        config
            .host("127.0.0.1")
            .port(self.port)
            .user(ADMIN)
            .password(&self.admin_password)
            .dbname(database)
            .application_name("whence set-up")
            .connect_timeout(Duration::from_secs(2));
        config
    }
}

async fn extension(database: &Config) -> Result<()> {
    let client = connect(database).await?;
    client
        .batch_execute("SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS vector")
        .await?;
    Ok(())
}

/// A connection that lives as long as its client.
pub(crate) async fn connect(config: &Config) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = config.connect(NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// Runs a future to its end on a runtime of its own, on a thread without one.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    #[expect(
        clippy::expect_used,
        reason = "fails only without file descriptors or memory"
    )]
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime of one thread");
    runtime.block_on(future)
}

/// The version of the binaries, which also tells whether they run here at all.
pub(crate) fn version(install: &PostgresInstall, run_as: &RunAs) -> Result<String> {
    let binary = install.bin_dir.join("postgres");
    let mut command = run_as.command(&binary, "KILL");
    clean_environment(&mut command, install.lib_dir.as_deref());
    let out = command
        .arg("--version")
        .output()
        .map_err(Error::io("run", &binary))?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    // "postgres (PostgreSQL) 18.1"
    match text.split_whitespace().nth(2) {
        Some(version) if out.status.success() => Ok(version.to_owned()),
        _ => {
            let words: Vec<String> = String::from_utf8_lossy(&out.stderr)
                .lines()
                .map(str::to_owned)
                .collect();
            let cause = diagnose(&words).unwrap_or_else(|| words.join(" "));
            Err(Error::Binary {
                what: "postgres",
                path: binary,
                cause,
            })
        }
    }
}

/// After a kill the folder's lock file names a process that is gone; in a container
/// that starts anew the same number may be someone else's, and Postgres would refuse.
/// Our lock on the data folder is held and leftovers are ended, so a process that does
/// not work in this folder is not its server.
fn remove_stale_pid(folder: &Path) {
    let path = folder.join("postmaster.pid");
    let Ok(text) = fs::read_to_string(&path) else {
        return;
    };
    let Some(pid) = text
        .lines()
        .next()
        .and_then(|l| l.trim().parse::<u32>().ok())
    else {
        return;
    };
    let same_folder = || {
        let theirs = fs::metadata(format!("/proc/{pid}/cwd")).ok()?;
        let ours = fs::metadata(folder).ok()?;
        Some((theirs.dev(), theirs.ino()) == (ours.dev(), ours.ino()))
    };
    if same_folder() != Some(true) {
        let _ = fs::remove_file(&path);
    }
}
