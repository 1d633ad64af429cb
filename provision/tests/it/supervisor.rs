//! The supervisor with real children: kept data, kills of either side, and what
//! stands in the way of a start.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use whence_provision::{Cache, Endpoints, Options, Supervisor, SupervisorEvent};

use crate::servers::{connect, publish, stored};

pub(crate) fn options(data: &Path) -> Options {
    let mut options = Options::new(data.to_owned(), Cache::open(None).unwrap());
    options.durable = false;
    options
}

/// A folder that another user may pass.
pub(crate) fn open_folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711)).unwrap();
    folder
}

fn is_root() -> bool {
    Command::new("id").arg("-u").output().unwrap().stdout == b"0\n"
}

/// Process ids whose arguments name a path below `data`.
pub(crate) fn children_on(data: &Path) -> Vec<u32> {
    let needle = data.display().to_string();
    fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            let name = fs::read_to_string(entry.path().join("comm")).ok()?;
            let ours = ["postgres", "nats-server"].contains(&name.trim());
            (ours && String::from_utf8_lossy(&line).contains(&needle)).then_some(pid)
        })
        .collect()
}

pub(crate) fn child_named(data: &Path, name: &str) -> u32 {
    let is =
        |pid: &u32| fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|c| c.trim() == name);
    children_on(data).into_iter().find(is).unwrap()
}

pub(crate) fn kill9(pid: u32) {
    assert!(
        Command::new("kill")
            .args(["-9", &pid.to_string()])
            .status()
            .unwrap()
            .success()
    );
}

/// Waits for a state of the system that nothing announces; the limit only guards against hanging.
fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(
            started.elapsed() < Duration::from_secs(120),
            "{what} never came"
        );
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Not a test: a parent to be killed.
#[tokio::test]
#[ignore = "the child of other tests"]
async fn child_holds() {
    let Some(data) = std::env::var_os("WHENCE_TEST_CHILD_DATA") else {
        return;
    };
    let _supervisor = Supervisor::start(options(&PathBuf::from(data)))
        .await
        .unwrap();
    std::future::pending::<()>().await;
}

fn spawn_parent(data: &Path, change: impl FnOnce(&mut Command)) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args([
            "--exact",
            "supervisor::child_holds",
            "--ignored",
            "--nocapture",
        ])
        .env("WHENCE_TEST_CHILD_DATA", data)
        .stdout(Stdio::null());
    change(&mut command);
    let mut child = command.spawn().unwrap();
    until("the servers of the child", || {
        assert!(
            child.try_wait().unwrap().is_none(),
            "the child did not start its servers"
        );
        Endpoints::read(data).is_ok()
    });
    child
}

#[tokio::test]
async fn a_stop_and_a_start_keep_data_ports_and_passwords() {
    let folder = open_folder();
    let data = folder.path().join("data");
    let mut durable = options(&data);
    durable.durable = true;
    let first = Supervisor::start(durable.clone()).await.unwrap();
    let endpoints = first.endpoints().clone();
    assert_eq!(Endpoints::read(&data).unwrap(), endpoints);
    let client = connect(&endpoints.postgres_url).await;
    client
        .batch_execute("CREATE TABLE t AS SELECT 7 AS n")
        .await
        .unwrap();
    let row = client
        .query_one(
            "SELECT current_setting('fsync') || current_setting('synchronous_commit')
                 || current_setting('full_page_writes') || current_setting('data_checksums')
                 || current_setting('listen_addresses') || current_setting('server_encoding')
                 || (SELECT datlocale FROM pg_database WHERE datname = current_database())",
            &[],
        )
        .await
        .unwrap();
    assert_eq!(row.get::<_, String>(0), "onononon127.0.0.1UTF8C.UTF-8");
    assert!(
        fs::read_to_string(data.join("nats/nats.conf"))
            .unwrap()
            .contains("sync_interval: always")
    );
    publish(&endpoints.nats_url, 20).await;
    // Without the password neither server talks.
    let (_, address) = endpoints.nats_url.split_once('@').unwrap();
    assert!(async_nats::connect(address).await.is_err());
    let stranger = endpoints.postgres_url.replace("://whence:", "://whence:x");
    assert!(
        tokio_postgres::connect(&stranger, tokio_postgres::NoTls)
            .await
            .is_err()
    );
    for secret in ["servers.json", "run/endpoints.json", "nats/nats.conf"] {
        let mode = fs::metadata(data.join(secret))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{secret}");
    }
    first.stop().await;
    assert!(children_on(&data).is_empty());
    assert!(Endpoints::read(&data).is_err());
    let log = fs::read_to_string(data.join("logs/postgres.log")).unwrap();
    assert!(
        !log.contains("PANIC") && !log.contains("not properly shut down"),
        "{log}"
    );

    let second = Supervisor::start(durable).await.unwrap();
    assert_eq!(second.endpoints(), &endpoints);
    let client = connect(&endpoints.postgres_url).await;
    assert_eq!(
        client
            .query_one("SELECT n FROM t", &[])
            .await
            .unwrap()
            .get::<_, i32>(0),
        7
    );
    assert_eq!(stored(&endpoints.nats_url).await, 20);
    second.stop().await;
}

#[tokio::test]
async fn a_killed_child_is_reported_and_restarted_with_its_data() {
    let folder = open_folder();
    let data = folder.path().join("data");
    let mut supervisor = Supervisor::start(options(&data)).await.unwrap();
    let endpoints = supervisor.endpoints().clone();
    publish(&endpoints.nats_url, 10).await;
    connect(&endpoints.postgres_url)
        .await
        .batch_execute("CREATE TABLE t AS SELECT 7 AS n")
        .await
        .unwrap();

    for name in ["nats-server", "postgres"] {
        kill9(child_named(&data, name));
        let event = supervisor.next_event().await;
        let SupervisorEvent::Exited {
            name: exited,
            status,
            ..
        } = &event
        else {
            panic!("{event:?}")
        };
        assert_eq!((*exited, status.as_str()), (name, "was ended by signal 9"));
        let event = supervisor.next_event().await;
        assert!(
            matches!(&event, SupervisorEvent::Restarted { name: n, .. } if *n == name),
            "{event:?}"
        );
    }
    assert_eq!(stored(&endpoints.nats_url).await, 10);
    let client = connect(&endpoints.postgres_url).await;
    assert_eq!(
        client
            .query_one("SELECT n FROM t", &[])
            .await
            .unwrap()
            .get::<_, i32>(0),
        7
    );
}

#[tokio::test]
async fn a_child_that_cannot_come_back_is_given_up_with_its_last_words() {
    let folder = open_folder();
    let data = folder.path().join("data");
    let mut supervisor = Supervisor::start(options(&data)).await.unwrap();
    let control = data.join("postgres/global/pg_control");
    fs::rename(&control, control.with_extension("away")).unwrap();
    kill9(child_named(&data, "postgres"));
    assert!(matches!(
        supervisor.next_event().await,
        SupervisorEvent::Exited {
            name: "postgres",
            ..
        }
    ));
    let event = supervisor.next_event().await;
    let SupervisorEvent::GaveUp {
        name: "postgres",
        last_log_lines,
        ..
    } = &event
    else {
        panic!("{event:?}")
    };
    assert!(
        last_log_lines.iter().any(|l| l.contains("pg_control")),
        "{event:?}"
    );
}

#[tokio::test]
async fn a_start_that_fails_tells_the_servers_own_words_and_leaves_nothing_running() {
    let folder = open_folder();
    let data = folder.path().join("data");
    let mut wrong = options(&data);
    wrong.postgres_settings = vec![("shared_buffers".to_owned(), "plenty".to_owned())];
    let error = Supervisor::start(wrong).await.unwrap_err().to_string();
    assert!(
        error.starts_with("postgres ") && error.contains("plenty"),
        "{error}"
    );
    assert!(children_on(&data).is_empty());
    Supervisor::start(options(&data))
        .await
        .unwrap()
        .stop()
        .await;
}

#[tokio::test]
async fn a_killed_parent_leaves_no_child() {
    let folder = open_folder();
    let data = folder.path().join("data");
    let mut parent = spawn_parent(&data, |_| {});
    assert_eq!(children_on(&data).len(), 2);
    parent.kill().unwrap();
    parent.wait().unwrap();
    until("the end of the children", || children_on(&data).is_empty());
    Supervisor::start(options(&data))
        .await
        .unwrap()
        .stop()
        .await;
}

#[tokio::test]
async fn leftovers_are_ended_by_the_next_start_where_the_kernel_does_not_do_it() {
    let folder = open_folder();
    let data = folder.path().join("data");
    let cache = Cache::open(None).unwrap();
    cache.nats_server().unwrap();
    cache.postgres().unwrap();
    // Without setpriv nothing ties the children to their parent.
    let mut parent = spawn_parent(&data, |command| {
        command.env("PATH", "/nonexistent");
    });
    let orphans = children_on(&data);
    assert_eq!(orphans.len(), 2);
    publish(&Endpoints::read(&data).unwrap().nats_url, 10).await;
    parent.kill().unwrap();
    parent.wait().unwrap();
    assert_eq!(children_on(&data).len(), 2);
    let supervisor = Supervisor::start(options(&data)).await.unwrap();
    let now = children_on(&data);
    assert!(
        now.len() == 2 && now.iter().all(|pid| !orphans.contains(pid)),
        "{orphans:?} {now:?}"
    );
    assert_eq!(stored(&supervisor.endpoints().nats_url).await, 10);
}

#[tokio::test]
async fn data_and_cache_below_a_closed_folder_work_also_as_root() {
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
    // The binaries too: a cache below a closed home folder.
    let (shared, closed) = (Cache::open(None).unwrap(), folder.path().join("cache"));
    fs::create_dir(&closed).unwrap();
    for path in [
        shared.nats_server().unwrap(),
        shared.postgres().unwrap().bin_dir,
    ] {
        let package = path
            .strip_prefix(shared.root())
            .unwrap()
            .iter()
            .next()
            .unwrap();
        let copied = Command::new("cp")
            .arg("-a")
            .arg(shared.root().join(package))
            .arg(&closed)
            .status();
        assert!(copied.unwrap().success());
    }
    let mut options = options(&folder.path().join("x"));
    options.cache = Cache::open(Some(closed)).unwrap();
    let supervisor = Supervisor::start(options).await.unwrap();
    connect(&supervisor.endpoints().postgres_url).await;
    if is_root() {
        let pid = child_named(supervisor.data(), "postgres");
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let field = |name: &str| {
            status
                .lines()
                .find_map(|l| l.strip_prefix(name))
                .unwrap()
                .trim()
        };
        assert_ne!(field("Uid:").split_whitespace().next(), Some("0"));
        // CAP_DAC_READ_SEARCH and nothing else.
        assert_eq!(field("CapEff:"), "0000000000000004");
    }
}

#[test]
fn another_user_than_root_runs_everything_as_itself() {
    if !is_root() {
        println!("skipped: the tests do not run as root, so all others show this");
        return;
    }
    // Filled by root: readable, not writable, for the other user.
    let cache = Cache::open(None).unwrap();
    cache.nats_server().unwrap();
    cache.postgres().unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let program = folder.path().join("tests");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let data = folder.path().join("data");
    let mut child = Command::new("setpriv")
        .args([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--pdeathsig",
            "TERM",
            "--",
        ])
        .arg(&program)
        .args([
            "--exact",
            "supervisor::child_holds",
            "--ignored",
            "--nocapture",
        ])
        .env("WHENCE_TEST_CHILD_DATA", &data)
        .env("WHENCE_CACHE", cache.root())
        .env("HOME", "/nonexistent")
        .spawn()
        .unwrap();
    until("the servers of the other user", || {
        assert!(
            child.try_wait().unwrap().is_none(),
            "it did not start its servers"
        );
        Endpoints::read(&data).is_ok()
    });
    for pid in children_on(&data) {
        use std::os::unix::fs::MetadataExt as _;
        assert_eq!(fs::metadata(format!("/proc/{pid}")).unwrap().uid(), 65534);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    until("the end of the children", || children_on(&data).is_empty());
}
