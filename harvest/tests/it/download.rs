//! Archives behind an address, from a server of our own.

use crate::fixture::{list, numbered};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

/// Answers every request for a path with what `answer` gives; its base address.
async fn serve(answer: impl Fn(&str) -> Vec<u8> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = vec![0; 4096];
            let read = socket.read(&mut request).await.unwrap_or(0);
            let request = String::from_utf8_lossy(&request[..read]).into_owned();
            let path = request.split(' ').nth(1).unwrap_or("/").to_owned();
            let _client_may_be_gone = socket.write_all(&answer(&path)).await;
        }
    });
    format!("http://{address}")
}

fn answer(status: &str, headers: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}\r\n{body}").into_bytes()
}

#[tokio::test]
async fn an_archive_is_fetched_and_each_failure_says_what_it_was() {
    let body = numbered("acme/kiln", 3).to_string();
    let base = serve(move |path| match path {
        "/a.json" => answer(
            "200 OK",
            &format!("content-length: {}\r\n", body.len()),
            &body,
        ),
        "/moved" => answer(
            "302 Found",
            "location: /a.json\r\ncontent-length: 0\r\n",
            "",
        ),
        "/away" => answer(
            "302 Found",
            "location: http://example.org/\r\ncontent-length: 0\r\n",
            "",
        ),
        "/round" => answer("302 Found", "location: /round\r\ncontent-length: 0\r\n", ""),
        "/huge" => answer("200 OK", "content-length: 99999999999\r\n", "{"),
        "/cut" => answer(
            "200 OK",
            &format!("content-length: {}\r\n", body.len()),
            &body[..300],
        ),
        _ => answer("404 Not Found", "content-length: 0\r\n", ""),
    })
    .await;
    for path in ["/a.json", "/moved"] {
        let listed = list(&format!("archive:{base}{path}")).await;
        assert_eq!(listed.keys().len(), 3, "{path}");
        assert!(listed.whole());
    }
    for (path, problem) in [
        ("/none", "404"),
        ("/away", "leads to another scheme"),
        ("/round", "too many redirects"),
        ("/huge", "larger than"),
        ("/cut", "broke off"),
    ] {
        let error = list(&format!("archive:{base}{path}")).await.error();
        assert!(error.contains(&base) && error.contains(problem), "{error}");
    }
}
