//! `whence sync` of a tracker, killed at twenty moments: the next pass goes on,
//! nothing is lost, nothing is there twice. Needs the simulator of services.

use crate::bench::{Bench, Guarded, wait_for};
use std::{
    fs,
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
    time::Duration,
};
use whence_provision::Endpoints;

/// A simulated GitHub on a free port.
struct Simulator {
    child: Child,
    base: String,
}

impl Drop for Simulator {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn simulator() -> Option<Simulator> {
    let serve = PathBuf::from(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../shared/upstreams/serve"
    ));
    if !serve.is_file() {
        eprintln!("not checked: there is no simulator at {}", serve.display());
        return None;
    }
    let mut child = Command::new(serve)
        .args(["github", "--port", "0", "--until-stdin-closes"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.find_map(|line| line.ok().filter(|line| line.starts_with("github")));
    let base = line.unwrap().split_whitespace().last().unwrap().to_owned();
    Some(Simulator { child, base })
}

#[test]
fn a_tracker_s_harvest_killed_at_any_moment_loses_and_doubles_nothing() {
    let Some(simulator) = simulator() else {
        return;
    };
    let bench = Bench::new();
    let settings = format!(
        "[github]\nbase_url = \"{}\"\nrequests_per_second = 0\npage_size = 4\ntoken = \"{}\"\n",
        simulator.base, "ghp_simulatedtoken000000000000000000000000"
    );
    fs::write(bench.folder.path().join("whence.toml"), settings).unwrap();
    let mut up = Guarded(
        bench
            .whence(&["up", "--listen", "127.0.0.1:0"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    wait_for("the servers", || Endpoints::read(&bench.data()).ok());
    let source = "github:pcapng/pcapng";
    // The lease of a killed one is taken over: it cannot say that it is gone.
    let sync = || bench.whence(&["sync", source, "--force"]);
    wait_for("set-up", || {
        let tried = sync().args(["--max-prune", "0"]).output().unwrap();
        let said = String::from_utf8_lossy(&tried.stderr).into_owned();
        (!said.contains("whence setup")).then_some(())
    });
    let mut killed = 0;
    for round in 0..20 {
        let mut child = Guarded(
            sync()
                .arg("--full")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        );
        std::thread::sleep(Duration::from_millis(60 + round * 37));
        killed += i32::from(child.0.try_wait().unwrap().is_none());
        child.kill();
    }
    assert!(killed >= 10, "only {killed} were still running");
    let last = sync().output().unwrap();
    assert!(last.status.success(), "{last:?}");
    let verified = wait_for("all of it searchable", || {
        let output = bench
            .whence(&["verify", source, "--json"])
            .output()
            .unwrap();
        output.status.success().then_some(output)
    });
    let verified: serde_json::Value = serde_json::from_slice(&verified.stdout).unwrap();
    assert_eq!(verified[0]["upstream"], verified[0]["searchable"]);
    assert!(verified[0]["upstream"].as_u64().unwrap() > 100);
    up.interrupt();
}
