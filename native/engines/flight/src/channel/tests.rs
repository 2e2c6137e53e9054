use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_flight::sql::CommandStatementQuery;
use boundary_bench_engine::Ingest;
use boundary_bench_engine::catalog::TablePath;
use boundary_bench_engine::table::{Column, SqlType, TableDefinition};

use super::*;
use crate::ingest::FlightIngest;

/// Answers every call on a connection with a head, or with nothing, and takes no more of a call than the first window.
fn stall(mut stream: TcpStream, has_head: bool) -> std::io::Result<()> {
    stream.write_all(&[0, 0, 0, 4, 0, 0, 0, 0, 0])?;
    stream.read_exact(&mut [0; 24])?;
    loop {
        let mut frame = [0; 9];
        stream.read_exact(&mut frame)?;
        let length = u32::from_be_bytes([0, frame[0], frame[1], frame[2]]);
        stream.read_exact(&mut vec![0; length as usize])?;
        if frame[3] == 1 && has_head {
            // The status 200 and the type of the content, for the same stream.
            let head = [b"\x88\x0f\x10\x10", &b"application/grpc"[..]].concat();
            let length = u8::try_from(head.len()).unwrap();
            stream.write_all(&[&[0, 0, length, 1, 4], &frame[5..], &head].concat())?;
        } else if frame[3..5] == [4, 0] {
            stream.write_all(&[0, 0, 0, 4, 1, 0, 0, 0, 0])?;
        }
    }
}

/// Connects to a server that stalls.
fn connect(login: &str, has_head: bool) -> Result<Arc<Channel>> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("flight://{login}{}?timeout=0.3", listener.local_addr().unwrap()).parse()?;
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::spawn(move || stall(stream.unwrap(), has_head));
        }
    });
    runtime().block_on(Channel::connect(url, None))
}

#[test]
fn a_server_that_sends_a_head_and_then_nothing_is_late() {
    for has_head in [true, false] {
        assert_eq!(connect("u:p@", has_head).err().unwrap().code(), "BB_TIMEOUT");
        let query = CommandStatementQuery { query: "SELECT 1".to_owned(), transaction_id: None };
        let channel = connect("", has_head).unwrap();
        let asked = runtime().block_on(channel.flight_info(&query, Intent::Read));
        assert_eq!(asked.unwrap_err().code(), "BB_TIMEOUT");
    }
}

#[test]
fn a_server_that_takes_no_more_rows_is_late() {
    let columns = vec![Column { name: "n".to_owned(), sql_type: SqlType::BigInt, nullable: true }];
    let table = TableDefinition { name: "t".to_owned(), columns };
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![7; 100_000]));
    let batch = RecordBatch::try_new(table.to_arrow(), vec![numbers]).unwrap();
    for has_head in [true, false] {
        let channel = connect("", has_head).unwrap();
        let path = TablePath { schema: None, table: "t".to_owned() };
        let mut ingest = FlightIngest::begin(&channel, path, &table).unwrap();
        let error = loop {
            if let Err(error) = ingest.write(&batch) {
                break error;
            }
        };
        assert_eq!(error.code(), "BB_TIMEOUT", "{error}");
    }
}
