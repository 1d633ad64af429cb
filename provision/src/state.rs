//! What the servers of a data folder keep from one start to the next: ports and
//! passwords, in `<data>/servers.json`, readable by its owner alone.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Ports on 127.0.0.1 and generated passwords.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct State {
    pub(crate) nats_port: u16,
    pub(crate) nats_password: String,
    pub(crate) postgres_port: u16,
    /// The password of the database's superuser, used for set-up alone.
    pub(crate) postgres_admin_password: String,
    /// The password of the role all stages use.
    pub(crate) postgres_password: String,
}

impl State {
    /// Reads the folder's state, or makes a new one (not yet written).
    pub(crate) fn load(data: &Path) -> Result<Self> {
        let path = data.join("servers.json");
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Self::fresh(data),
            Err(e) => return Err(Error::io("read", &path)(e)),
        };
        serde_json::from_str(&text).map_err(|e| Error::Data {
            path,
            cause: format!("is damaged ({e}): restore it; it holds the databases' passwords"),
        })
    }

    fn fresh(data: &Path) -> Result<Self> {
        if data.join("postgres").exists() {
            return Err(Error::Data {
                path: data.join("servers.json"),
                cause: "is missing, though it holds the password of the database beside it: \
                        restore it, or choose another folder with --data"
                    .to_owned(),
            });
        }
        Ok(Self {
            nats_port: 0,
            nats_password: secret()?,
            postgres_port: 0,
            postgres_admin_password: secret()?,
            postgres_password: secret()?,
        })
    }

    pub(crate) fn save(&self, data: &Path) -> Result<()> {
        write_private(
            &data.join("servers.json"),
            &serde_json::to_vec_pretty(self).unwrap_or_default(),
        )
    }
}

/// Writes a file that only its owner may read, whole or not at all.
pub(crate) fn write_private(path: &Path, bytes: &[u8]) -> Result<()> {
    let folder = path.parent().unwrap_or(path);
    // A temporary file is made with mode 0600.
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(Error::io("write", path))?;
    file.write_all(bytes).map_err(Error::io("write", path))?;
    file.as_file()
        .sync_all()
        .map_err(Error::io("write", path))?;
    file.persist(path)
        .map_err(|e| Error::io("write", path)(e.error))?;
    Ok(())
}

/// The port to use: the configured one, which must be free, else the last one, else any.
pub(crate) fn choose_port(name: &'static str, configured: Option<u16>, last: u16) -> Result<u16> {
    if let Some(port) = configured {
        return if is_free(port) {
            Ok(port)
        } else {
            Err(Error::PortTaken { name, port })
        };
    }
    if last != 0 {
        if is_free(last) {
            return Ok(last);
        }
        tracing::warn!(
            server = name,
            port = last,
            "the last port is taken; using another one"
        );
    }
    any_port()
}

/// A port nobody listens on at this moment.
pub(crate) fn any_port() -> Result<u16> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .map(|address| address.port())
        .map_err(Error::io("listen on", Path::new("127.0.0.1")))
}

pub(crate) fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

/// 192 random bits in hex: safe in URLs and in quotes.
fn secret() -> Result<String> {
    let path = Path::new("/dev/urandom");
    let mut bytes = [0; 24];
    File::open(path)
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(Error::io("read", path))?;
    Ok(hex::encode(bytes))
}
