//! What stands in the way of a start, or of a restart: each is one sentence.

use std::fs;
use std::net::TcpListener;
use std::process::{Command, Stdio};

use tempfile::TempDir;
use whence_provision::{Error, Server, Supervisor, SupervisorEvent};

use crate::servers::nats;
use crate::supervisor::{child_named, kill9, open_folder, options};

#[tokio::test]
async fn a_second_start_on_the_same_folder_says_who_holds_it() {
    let folder = open_folder();
    let data = folder.path().join("data");
    let _first = Supervisor::start(options(&data)).await.unwrap();
    let error = Supervisor::start(options(&data)).await.unwrap_err();
    assert!(matches!(error, Error::DataInUse { .. }), "{error}");
    assert!(
        error
            .to_string()
            .contains(&format!("process {}", std::process::id())),
        "{error}"
    );
}

#[tokio::test]
async fn a_configured_port_must_be_free_and_a_remembered_one_is_replaced() {
    let folder = open_folder();
    let data = folder.path().join("data");
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let mut fixed = options(&data);
    fixed.postgres = Server::Managed { port: Some(port) };
    let error = Supervisor::start(fixed).await.unwrap_err();
    assert!(
        matches!(error, Error::PortTaken { name: "postgres", port: p } if p == port),
        "{error}"
    );

    let first = Supervisor::start(options(&data)).await.unwrap();
    let before = first.endpoints().nats_url.clone();
    first.stop().await;
    let address = before.rsplit_once('@').unwrap().1.to_owned();
    let _other = TcpListener::bind(&address).unwrap();
    let second = Supervisor::start(options(&data)).await.unwrap();
    assert_ne!(second.endpoints().nats_url, before);
    nats(&second.endpoints().nats_url).await.unwrap();
}

/// A file system of our own on a folder, or the reason why not.
struct Mounted(TempDir);

impl Mounted {
    fn new(options: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "none"])
            .arg(folder.path())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success());
        if !mounted {
            println!("skipped: this user may not mount a file system");
        }
        mounted.then(|| Self(folder))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("-l").arg(self.0.path()).status();
    }
}

#[tokio::test]
async fn a_read_only_place_is_named_before_anything_is_started() {
    let Some(place) = Mounted::new("ro,size=1m") else {
        return;
    };
    let error = Supervisor::start(options(&place.0.path().join("x")))
        .await
        .unwrap_err()
        .to_string();
    assert_eq!(
        error,
        format!(
            "cannot create the folder {}/x: read-only file system; choose a folder on a file system \
             that can be written",
            place.0.path().display()
        )
    );
}

#[tokio::test]
async fn too_little_room_is_said_before_anything_is_started() {
    let Some(place) = Mounted::new("size=64m") else {
        return;
    };
    let data = place.0.path().join("x");
    let error = Supervisor::start(options(&data)).await.unwrap_err();
    assert!(
        matches!(error, Error::DiskShort { needed_mb: 300, .. }),
        "{error}"
    );
    assert!(!data.join("postgres").exists());
}

#[tokio::test]
async fn a_disk_that_fills_up_is_named_as_the_cause() {
    let Some(place) = Mounted::new("size=400m") else {
        return;
    };
    let data = place.0.path().join("x");
    let mut supervisor = Supervisor::start(options(&data)).await.unwrap();
    let filler = fs::File::create(place.0.path().join("filler")).unwrap();
    let mut bytes = std::io::BufWriter::with_capacity(1 << 20, filler);
    let full = std::io::copy(&mut std::io::repeat(0), &mut bytes).unwrap_err();
    assert_eq!(full.kind(), std::io::ErrorKind::StorageFull);
    kill9(child_named(&data, "postgres"));
    let event = supervisor.next_event().await;
    assert!(matches!(event, SupervisorEvent::Exited { .. }), "{event:?}");
    let event = supervisor.next_event().await;
    let SupervisorEvent::GaveUp { cause, .. } = &event else {
        panic!("{event:?}")
    };
    assert!(
        cause.contains("the disk is full: free some space"),
        "{event:?}"
    );
}
