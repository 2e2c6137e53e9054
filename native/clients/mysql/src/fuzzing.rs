//! Entry points of this crate's readers for the harnesses of `native/fuzz`, for any bytes. No part of the interface.

use std::fmt::Debug;
use std::ops::ControlFlow;

use tokio::net::UnixStream;

use crate::codec::Failure;
use crate::connection::{Connection, Started};
use crate::rows::{Form, RowBuilder, RowShape};
use crate::transport::Transport;
use crate::url::{Url, ValueForms};

/// Logs in over a socket, sends commands and reads answers until the connection is lost. Returns the outcome of every step.
pub async fn talk(socket: UnixStream, url: &Url) -> Vec<String> {
    let mut heard = Vec::new();
    let mut connection = match Connection::on(Transport::over_unix(socket), url).await {
        Ok(connection) => connection,
        Err(failure) => {
            heard.push(format!("{failure:?}"));
            return heard;
        }
    };
    note(&mut heard, &Ok::<_, Failure>((connection.version().to_owned(), connection.id(), connection.has_bulk())));
    while connection.is_idle() {
        let texts = connection.texts("SELECT 1").await;
        note(&mut heard, &texts);
        if !connection.is_idle() {
            break;
        }
        let ran = connection.run("CALL p()").await;
        note(&mut heard, &ran);
        if !connection.is_idle() {
            break;
        }
        let prepared = connection.prepare("SELECT ?").await;
        note(&mut heard, &prepared);
        let Ok(prepared) = prepared else { continue };
        connection.send_execute(prepared.id, |_| {});
        let started = connection.started(Some(prepared.id)).await;
        note(&mut heard, &started);
        match started {
            Ok(Started::Rows(fields)) => {
                let rows = rows_of(&mut connection, &fields).await;
                note(&mut heard, &rows);
            }
            Ok(Started::WantsFile) => break,
            _ => {}
        }
        if heard.last().is_some_and(|last| last.contains("has_more: true")) {
            let started = connection.started(None).await;
            note(&mut heard, &started);
            let Ok(started) = started else { continue };
            let ended = connection.skip(started).await;
            note(&mut heard, &ended);
        }
    }
    heard
}

/// Reads the rows of a prepared statement, and returns their Arrow batch as text.
async fn rows_of(
    connection: &mut Connection,
    fields: &std::sync::Arc<[crate::Field]>,
) -> std::result::Result<String, Failure> {
    let mut builder =
        RowShape::new(fields, Form::Binary, ValueForms::default()).ok().map(|shape| RowBuilder::new(&shape, 0));
    let done = connection
        .rows(|packet| {
            if let Some(builder) = &mut builder {
                builder.push(packet)?;
            }
            Ok(ControlFlow::Continue(()))
        })
        .await?;
    let batch = builder.map(|mut builder| builder.finish()).transpose().map_err(Failure::Lost)?;
    Ok(format!("{done:?} {batch:?}"))
}

fn note(heard: &mut Vec<String>, outcome: &std::result::Result<impl Debug, Failure>) {
    heard.push(format!("{outcome:?}"));
}
