//! A nats-server for one test, which dies with it.

use std::{
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
    time::Duration,
};
use tempfile::TempDir;
use tokio::net::TcpStream;

pub(crate) struct Servers {
    child: Child,
    port: u16,
    data: TempDir,
}

impl Servers {
    pub(crate) async fn nats_only() -> std::io::Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let data = tempfile::tempdir()?;
        let child = start(port, data.path())?;
        answers(port).await;
        Ok(Self { child, port, data })
    }

    pub(crate) fn nats_url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub(crate) async fn kill_nats(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub(crate) async fn restart_nats(&mut self) -> std::io::Result<()> {
        self.child = start(self.port, self.data.path())?;
        answers(self.port).await;
        Ok(())
    }
}

impl Drop for Servers {
    fn drop(&mut self) {
        let _gone_already = self.child.kill();
        let _reaped = self.child.wait();
    }
}

fn start(port: u16, data: &Path) -> std::io::Result<Child> {
    let program = std::env::var("WHENCE_TEST_NATS").unwrap_or_else(|_| "nats-server".to_owned());
    Command::new(program)
        .args(["-a", "127.0.0.1", "-js", "-p", &port.to_string(), "-sd"])
        .arg(data)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
}

async fn answers(port: u16) {
    while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
