//! What `whence doctor` tells: whether this machine has what `up` needs, and how to
//! get what is missing. Pure findings; printing them is the binary's.

use std::path::Path;

use crate::cache::{Cache, pinned};
use crate::identity::{RunAs, find_user, setpriv};
use crate::packages::{ALL, NATS_SERVER, ONNXRUNTIME, POSTGRES, Package};
use crate::state::{State, is_free};
use crate::supervisor::{Options, Server};
use crate::{pip, postgres, preflight};

/// How a check came out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// As it should be.
    Ok,
    /// Works, with a loss that is named.
    Warn,
    /// `up` will fail on it.
    Fail,
}

/// One finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Check {
    /// What was looked at, in a word or two.
    pub name: String,
    /// How it came out.
    pub verdict: Verdict,
    /// What was found.
    pub detail: String,
    /// What to do about it; empty where all is well.
    pub fix: String,
}

/// Looks at everything `up` with these options depends on. Downloads and starts
/// nothing and leaves no file; blocks for a second or so.
#[must_use]
pub fn checks(options: &Options) -> Vec<Check> {
    let mut found = Vec::new();
    let mut fetches = 0;
    for package in ALL {
        let check = package_check(options, package, &mut fetches);
        found.push(check);
    }
    found.insert(0, python(&options.cache, fetches));
    found.push(data_folder(&options.data));
    found.push(disk(&options.data));
    found.push(children());
    if let Server::Managed { port } = options.postgres {
        found.push(postgres_user(options));
        found.push(self::port("postgres port", &options.data, port, |s| {
            s.postgres_port
        }));
    }
    if let Server::Managed { port } = options.nats {
        found.push(self::port("nats port", &options.data, port, |s| {
            s.nats_port
        }));
    }
    found
}

fn check(name: &str, verdict: Verdict, detail: impl Into<String>, fix: &str) -> Check {
    Check {
        name: name.to_owned(),
        verdict,
        detail: detail.into(),
        fix: fix.to_owned(),
    }
}

fn python(cache: &Cache, fetches: usize) -> Check {
    let name = "python with pip";
    match pip::find_python(cache.overrides().python.as_deref()) {
        Ok(python) => check(name, Verdict::Ok, format!("{}", python.display()), ""),
        Err(cause) if fetches == 0 => check(
            name,
            Verdict::Ok,
            format!("{cause}; not needed, nothing is to be fetched"),
            "",
        ),
        Err(cause) => check(
            name,
            Verdict::Fail,
            format!("{cause}, and {fetches} packages are to be fetched"),
            "install it (on Debian: apt-get install python3-pip), or point at installed binaries",
        ),
    }
}

fn package_check(options: &Options, package: &'static Package, fetches: &mut usize) -> Check {
    let name = package.name;
    let overrides = options.cache.overrides();
    let is = |other: &Package| package.name == other.name;
    let external = (is(&NATS_SERVER) && matches!(options.nats, Server::External(_)))
        || (is(&POSTGRES) && matches!(options.postgres, Server::External(_)));
    if external {
        return check(
            name,
            Verdict::Ok,
            "not needed: a running server is configured",
            "",
        );
    }
    let configured = if is(&NATS_SERVER) {
        overrides.nats_server.clone()
    } else if is(&POSTGRES) {
        overrides
            .postgres_bin_dir
            .as_ref()
            .map(|folder| folder.join("postgres"))
    } else if is(&ONNXRUNTIME) {
        overrides.onnxruntime.clone()
    } else {
        None
    };
    if let Some(path) = configured {
        return if path.is_file() {
            check(
                name,
                Verdict::Ok,
                format!("installed: {}", path.display()),
                "",
            )
        } else {
            let detail = format!("{} does not exist", path.display());
            check(
                name,
                Verdict::Fail,
                detail,
                "correct the path in [provision]",
            )
        };
    }
    match pinned(package) {
        Err(error) => check(name, Verdict::Fail, error.to_string(), package.instead),
        Ok(_) if options.cache.holds(package) => held(options, package),
        Ok(wheel) => {
            *fetches += 1;
            let detail = format!(
                "{} will be fetched ({} MB) into {}",
                package.version,
                wheel.bytes / 1_000_000,
                options.cache.root().display()
            );
            check(name, Verdict::Ok, detail, "")
        }
    }
}

/// A package in the cache: whether it is whole, and for the servers, whether they run.
fn held(options: &Options, package: &'static Package) -> Check {
    let name = package.name;
    let detail = format!("{} in {}", package.version, options.cache.root().display());
    let outcome = if name == POSTGRES.name {
        options
            .cache
            .postgres()
            .and_then(|install| postgres::version(&install, &RunAs::default()).map(|_| ()))
    } else if name == NATS_SERVER.name {
        options.cache.nats_server().map(|_| ())
    } else if name == ONNXRUNTIME.name {
        options.cache.onnxruntime().map(|_| ())
    } else {
        Ok(())
    };
    match outcome {
        Ok(()) => check(name, Verdict::Ok, detail, ""),
        Err(error) => check(
            name,
            Verdict::Fail,
            error.to_string(),
            "see the sentence itself",
        ),
    }
}

/// The folder, or the nearest parent there is, can be written.
fn data_folder(data: &Path) -> Check {
    let name = "data folder";
    let there = nearest(data);
    let shown = data.display();
    match tempfile::tempfile_in(there) {
        Ok(_) => check(name, Verdict::Ok, format!("{shown} can be written"), ""),
        Err(error) => check(
            name,
            Verdict::Fail,
            format!("{} cannot be written: {error}", there.display()),
            "give this user the right to write there, or choose another folder with --data",
        ),
    }
}

fn disk(data: &Path) -> Check {
    let name = "disk";
    match preflight::free_bytes(nearest(data)) {
        Err(error) => check(name, Verdict::Warn, error.to_string(), ""),
        Ok(free) => {
            let detail = format!("{} MB free", free >> 20);
            let fix = "free some space, or choose another folder with --data";
            if free < preflight::NEEDED_BYTES {
                check(name, Verdict::Fail, detail, fix)
            } else if free < 10 * preflight::NEEDED_BYTES {
                check(name, Verdict::Warn, format!("only {detail}"), fix)
            } else {
                check(name, Verdict::Ok, detail, "")
            }
        }
    }
}

fn nearest(path: &Path) -> &Path {
    path.ancestors().find(|p| p.is_dir()).unwrap_or_else(|| {
        if path.is_absolute() {
            Path::new("/")
        } else {
            Path::new(".")
        }
    })
}

fn children() -> Check {
    let name = "setpriv";
    if setpriv().is_some() {
        return check(
            name,
            Verdict::Ok,
            "found: children die with their parent",
            "",
        );
    }
    check(
        name,
        Verdict::Warn,
        "not found: after a kill -9, children run on until the next start ends them",
        "install util-linux",
    )
}

fn postgres_user(options: &Options) -> Check {
    let name = "postgres user";
    if !rustix::process::geteuid().is_root() {
        return check(name, Verdict::Ok, "this user itself", "");
    }
    match find_user(options.run_as.as_deref()) {
        Ok(user) => check(
            name,
            Verdict::Ok,
            format!("{} (as root cannot)", user.name),
            "",
        ),
        Err(error) => check(
            name,
            Verdict::Fail,
            error.to_string(),
            "create a user (useradd --system whence)",
        ),
    }
}

fn port(name: &str, data: &Path, configured: Option<u16>, last: fn(&State) -> u16) -> Check {
    let kept = if data.join("servers.json").exists() {
        State::load(data).ok()
    } else {
        None
    };
    let running = crate::Endpoints::read(data).is_ok();
    match (configured, kept.as_ref().map(last).filter(|p| *p != 0)) {
        (Some(port), last) if is_free(port) || (running && last == Some(port)) => {
            check(name, Verdict::Ok, format!("{port}"), "")
        }
        (Some(port), _) => check(
            name,
            Verdict::Fail,
            format!("{port} is in use by another program"),
            "stop it, or configure another port",
        ),
        (None, Some(port)) if is_free(port) => check(name, Verdict::Ok, format!("{port}"), ""),
        (None, Some(port)) if running => check(
            name,
            Verdict::Ok,
            format!("{port}, where a server runs"),
            "",
        ),
        (None, _) => check(name, Verdict::Ok, "a free one will be chosen", ""),
    }
}
