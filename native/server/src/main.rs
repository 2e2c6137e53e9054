//! `boundary-bench-server`: the reference server as a program.

use std::io::Write;
use std::process::ExitCode;

use boundary_bench_core::{Error, Result};
use boundary_bench_server::{ANNOUNCEMENT, HELP, Parsed, Running, parse};

fn main() -> ExitCode {
    let outcome = match parse(std::env::args().skip(1)) {
        Ok(Parsed::Help) => print(HELP),
        Ok(Parsed::Serve(options)) => Running::reference(&options).and_then(|server| serve(&server)),
        Ok(Parsed::Shard(options)) => Running::shard(&options).and_then(|server| serve(&server)),
        Ok(Parsed::Delay(options)) => Running::delay(&options).and_then(|server| serve(&server)),
        Err(message) => Err(Error::InvalidArgument(format!("{message}; see --help"))),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "boundary-bench-server: {error}");
            ExitCode::from(if matches!(error, Error::InvalidArgument(_)) { 2 } else { 1 })
        }
    }
}

fn serve(server: &Running) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Error::Internal(error.to_string()))?;
    print(&format!("{ANNOUNCEMENT}{}\n", server.url()))?;
    runtime.block_on(async {
        use tokio::signal::unix::{SignalKind, signal};
        let end = signal(SignalKind::terminate()).and_then(|end| Ok((end, signal(SignalKind::interrupt())?)));
        let (mut end, mut interrupt) = end.map_err(|error| Error::Internal(format!("no signals: {error}")))?;
        tokio::select! {
            _ = end.recv() => {}
            _ = interrupt.recv() => {}
        }
        Result::Ok(())
    })?;
    server.stop();
    Ok(())
}

fn print(text: &str) -> Result<()> {
    let mut output = std::io::stdout().lock();
    let written = output.write_all(text.as_bytes()).and_then(|()| output.flush());
    written.map_err(|source| Error::Io { path: "standard output".to_owned(), source: source.into() })
}
