//! The embedding server that tests of remote models talk to.

use std::net::TcpStream;
use whence_provision::testing::ModelServer;

#[tokio::test]
async fn it_answers_can_be_killed_and_answers_again_at_the_same_address() {
    let mut server = ModelServer::start().await.unwrap();
    let url = server.url();
    let address = url.strip_prefix("http://").unwrap();
    TcpStream::connect(address).unwrap();
    server.kill();
    TcpStream::connect(address).unwrap_err();
    let server = server.restart().await.unwrap();
    assert_eq!(server.url(), url);
    TcpStream::connect(address).unwrap();
}
