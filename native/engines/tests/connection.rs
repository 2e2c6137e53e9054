//! Errors of all engines of servers without a connection: they say that there is none, and not that the server refused the work.

use std::net::TcpListener;

use boundary_bench_engines::{of_uri, open};
use boundary_bench_kernel::needs;
use boundary_bench_mysql::Url;

/// The URIs of every engine and transport of a server at a port, as far as this build has them.
fn uris(port: u16) -> impl Iterator<Item = String> {
    let servers = [
        "mysql://u:p@{}/x",
        "hyper://{}/x",
        "hyper://{}/x?transport=grpc-sync",
        "flight://{}",
        "flight://u:p@{}",
        "sail://{}",
    ];
    let uris = servers.into_iter().map(move |server| server.replace("{}", &format!("127.0.0.1:{port}")));
    uris.filter(|uri| of_uri(uri).is_ok())
}

fn code_of(uri: &str) -> &'static str {
    open(uri).and_then(|engine| engine.check()).err().map_or("none", |error| error.code())
}

#[test]
fn a_place_where_nobody_listens_is_no_connection() {
    for uri in uris(1) {
        assert_eq!(code_of(&uri), "BB_CONNECTION", "{uri}");
    }
}

#[test]
fn a_server_that_hangs_up_is_no_connection() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().for_each(drop));
    // The client of gRPC does not tell every lost connection from an answer that it does not understand.
    for uri in uris(port).filter(|uri| !uri.contains("grpc")) {
        assert_eq!(code_of(&uri), "BB_CONNECTION", "{uri}");
    }
}

#[test]
fn a_refused_login_is_no_connection() {
    needs!("mysql", boundary_bench_mysql::server::executable(None));
    let server = boundary_bench_mysql::server::start(None).unwrap();
    let url = Url { password: Some("wrong".to_owned()), ..server.url().clone() };
    assert_eq!(code_of(&url.secret_text()), "BB_CONNECTION");
}
