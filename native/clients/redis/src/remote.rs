//! Submissions run by a [`KvClient`], for clusters. There one submission may take several connections and rounds.

use boundary_bench_kernel::Result;
use boundary_bench_kernel::frame::Frame;

use crate::client::KvClient;
use crate::plan::Plan;
use crate::resp::{Commands, Reply, write_argument};
use crate::submission::{Entered, Entries, Request, RequestKind, requests};

/// Runs a submission of one request, by one command if the server at `node` has its only key.
pub(crate) async fn run_request(client: &mut KvClient, node: Option<u16>, submission: &[u8]) -> Result<Vec<u8>> {
    if let (Some(node), Some(Ok(request))) = (node, requests(submission).next())
        && let Some(result) = run_alone(client, node, &request).await
    {
        return Ok(result);
    }
    run_submission(client, submission).await
}

/// Runs a request for one key. `None` if the server has surely not executed it, or refuses it: then it can run as any other request.
async fn run_alone(client: &KvClient, node: u16, request: &Request<'_>) -> Option<Vec<u8>> {
    let cluster = client.cluster().filter(|_| !client.has_timeout())?;
    let mut commands = Commands::new();
    match request.kind {
        RequestKind::Mget | RequestKind::Mset => {
            let name = if request.kind == RequestKind::Mget { b"MGET" } else { b"MSET" };
            let arguments = request.arguments();
            commands
                .push_with(name, arguments.len(), |out| arguments.for_each(|argument| write_argument(out, argument)));
        }
        _ => drop(request.write(&mut commands)),
    }
    let answers = cluster.send_to(node, commands.into_bytes())?.await;
    let (mut frame, mut entered) = (Frame::default(), Entered::default());
    match &answers.failure {
        Some((_, false)) => return None,
        Some((error, true)) => entered.error(error),
        None => match Reply::read_whole(answers.reply(0))? {
            Reply::Error(_) => return None,
            reply if !request.kind.takes(&reply, 1) => {
                cluster.give_up_all();
                entered.error(&request.kind.misfit(&reply));
            }
            Reply::Array(items) => items.for_each(|item| entered.reply(&item)),
            reply => entered.reply(&reply),
        },
    }
    entered.finish(request.id, &mut frame);
    Some(frame.take())
}

/// Runs the requests of a submission in their order, and returns the frame of their results. Consecutive requests other
/// than MGET and MSET go as one pipeline.
///
/// # Errors
/// [`boundary_bench_kernel::Error::InvalidArgument`] for bytes that are no submission. Nothing was sent then. All other
/// errors are in the frame.
pub(crate) async fn run_submission(client: &mut KvClient, submission: &[u8]) -> Result<Vec<u8>> {
    let requests = requests(submission).collect::<Result<Vec<_>>>()?;
    let (mut frame, mut entered, mut commands) = (Frame::default(), Entered::default(), Commands::new());
    let mut at = 0;
    while let Some(request) = requests.get(at) {
        match request.kind {
            RequestKind::Mget => {
                let mut values = vec![None; request.arguments().len()];
                client
                    .mget(request.arguments(), |index, value| {
                        values[index] = Some(value.map(|value| value.map(<[u8]>::to_vec)).map_err(Clone::clone));
                    })
                    .await;
                for value in values.into_iter().flatten() {
                    match value {
                        Ok(value) => entered.value(value.as_deref()),
                        Err(error) => entered.error(&error),
                    }
                }
                entered.finish(request.id, &mut frame);
                at += 1;
            }
            RequestKind::Mset => {
                match client.mset(Entries(request.arguments())).await {
                    Ok(()) => entered.reply(&Reply::Status(b"OK")),
                    Err(error) => entered.error(&error),
                }
                entered.finish(request.id, &mut frame);
                at += 1;
            }
            RequestKind::Get | RequestKind::Set | RequestKind::Pipeline | RequestKind::CheckedPipeline => {
                commands.clear();
                let mut plan = Plan::default();
                // The end of each request's commands, and the error of a request that is not sent.
                let (mut ends, mut kinds) = (Vec::new(), Vec::new());
                let run = requests[at..]
                    .iter()
                    .take_while(|request| !matches!(request.kind, RequestKind::Mget | RequestKind::Mset));
                for request in run {
                    let start = commands.len();
                    request.write(&mut commands);
                    let planned = request.check().and_then(|_| client.plan(&commands, &mut plan));
                    if planned.is_err() {
                        commands.truncate(start);
                    }
                    kinds.resize(commands.len(), request.kind);
                    ends.push((commands.len(), planned.err()));
                }
                let mut results: Vec<Option<Entered>> = Vec::new();
                results.resize_with(commands.len(), || None);
                client
                    .execute_planned(
                        &commands,
                        &plan,
                        |index| (kinds[index], 1),
                        |index, answer| {
                            let mut result = Entered::default();
                            match answer {
                                Ok(reply) => result.reply(&reply),
                                Err(error) => result.error(error),
                            }
                            results[index] = Some(result);
                        },
                    )
                    .await;
                let mut results = results.into_iter();
                let mut start = 0;
                for (request, (end, refusal)) in requests[at..].iter().zip(&ends) {
                    if let Some(error) = refusal {
                        frame.fail(request.id, error);
                        continue;
                    }
                    results.by_ref().take(end - start).flatten().for_each(|result| entered.append(&result));
                    start = *end;
                    entered.finish(request.id, &mut frame);
                }
                at += ends.len();
            }
        }
    }
    Ok(frame.take())
}
