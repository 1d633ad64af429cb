//! nats-server as a child: its configuration, its start, and whether it answers.

use std::fs::{self, DirBuilder};
use std::io::{BufRead as _, BufReader};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Signal;

use crate::child_log::ChildLog;
use crate::error::{Error, Result};
use crate::identity::{RunAs, clean_environment};
use crate::keeper::Spec;
use crate::preflight;
use crate::state::write_private;

pub(crate) const NAME: &str = "nats-server";
pub(crate) const USER: &str = "whence";

/// What one start needs to know.
pub(crate) struct Nats {
    pub(crate) binary: PathBuf,
    pub(crate) data: PathBuf,
    pub(crate) port: u16,
    pub(crate) password: String,
    /// Whether clients must name user and password.
    pub(crate) auth: bool,
    /// Whether an acknowledged message must survive a power cut.
    pub(crate) durable: bool,
    pub(crate) restart: bool,
}

impl Nats {
    pub(crate) fn url(&self) -> String {
        if self.auth {
            format!("nats://{USER}:{}@127.0.0.1:{}", self.password, self.port)
        } else {
            format!("nats://127.0.0.1:{}", self.port)
        }
    }

    pub(crate) fn config_path(data: &Path) -> PathBuf {
        data.join("nats").join("nats.conf")
    }

    /// Writes the configuration and says how to run the server.
    pub(crate) fn prepare(&self) -> Result<Spec> {
        let store = self.data.join("nats").join("store");
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&store)
            .map_err(Error::io("create the folder", &store))?;
        let config = Self::config_path(&self.data);
        let most = preflight::free_bytes(&store)? / 10 * 9 + stored_bytes(&store);
        write_private(&config, self.config(&store, most).as_bytes())?;

        let (binary, port) = (self.binary.clone(), self.port);
        Ok(Spec {
            name: NAME,
            spawn: Box::new(move |log| {
                let errors = log
                    .try_clone()
                    .map_err(Error::io("write the log of", &binary))?;
                let mut command = RunAs::default().command(&binary, "TERM");
                clean_environment(&mut command, None);
                command
                    .arg("--config")
                    .arg(&config)
                    .stdout(Stdio::from(log))
                    .stderr(errors);
                command.spawn().map_err(Error::io("run", &binary))
            }),
            is_ready: Box::new(move || greets(port)),
            log: ChildLog::new(self.data.join("logs").join("nats-server.log")),
            stop: (Signal::TERM, Duration::from_secs(15)),
            restart: self.restart,
        })
    }

    /// `sync_interval: always` is what makes an acknowledged message survive a power
    /// cut; any interval loses what came within it, and whole streams made within it.
    fn config(&self, store: &Path, most_bytes: u64) -> String {
        let auth = if self.auth {
            format!(
                "authorization {{ user: {USER}, password: \"{}\" }}\n",
                self.password
            )
        } else {
            String::new()
        };
        let sync = if self.durable {
            "  sync_interval: always\n"
        } else {
            ""
        };
        format!(
            "# Written at every start; changes are lost.\n\
             server_name: whence\n\
             listen: \"127.0.0.1:{port}\"\n\
             max_payload: 8MB\n\
             jetstream {{\n\
             \x20 store_dir: {store}\n\
             \x20 max_memory_store: 256MB\n\
             \x20 max_file_store: {most_bytes}\n\
             {sync}\
             }}\n\
             {auth}",
            port = self.port,
            store = quoted(&store.display().to_string()),
        )
    }
}

/// A string of the configuration language.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// The server speaks first, with a line of INFO, once its streams are recovered.
fn greets(port: u16) -> bool {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let limit = Duration::from_secs(2);
    let Ok(stream) = TcpStream::connect_timeout(&address, limit) else {
        return false;
    };
    if stream.set_read_timeout(Some(limit)).is_err() {
        return false;
    }
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).is_ok() && line.starts_with("INFO ")
}

/// Bytes already in the store: they count towards its limit, and are not free any more.
fn stored_bytes(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(m) if m.is_dir() => stored_bytes(&entry.path()),
            Ok(m) => m.len(),
            Err(_) => 0,
        })
        .sum()
}
