use super::*;
use crate::origin::HttpOptions;
use crate::request::Request;
use crate::submission::groups;
use crate::submission::tests::submission;

impl Sessions for Vec<DrivenSession> {
    fn session(&mut self, number: usize) -> Option<&mut DrivenSession> {
        self.get_mut(number)
    }
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\n";

fn dispatch(connections: usize, pipelining: usize) -> (Dispatch, Vec<DrivenSession>) {
    let options = HttpOptions { connections, pipelining, ..HttpOptions::default() };
    let place = Arc::new(Origin::new("http://h".parse().unwrap(), options).unwrap());
    let mut dispatch = Dispatch::default();
    let pool = u32::try_from(dispatch.add_pool(Arc::clone(&place))).unwrap();
    let mut sessions: Vec<_> = (0..connections).map(|_| DrivenSession::new(pool, &place)).collect();
    for (number, session) in sessions.iter_mut().enumerate() {
        dispatch.add_session(number, session);
    }
    (dispatch, sessions)
}

fn submit(dispatch: &mut Dispatch, sessions: &mut Vec<DrivenSession>, id: u32, paths: &[&str]) -> Vec<usize> {
    let requests = paths.iter().map(|path| Request::get(path)).collect::<Vec<_>>();
    let mut touched = Vec::new();
    for group in groups(&submission(0, id, &requests)) {
        dispatch.submit(&group.unwrap(), sessions, &mut touched);
    }
    touched
}

/// Answers the requests that a session has sent, with a body of one letter each.
fn answer(dispatch: &mut Dispatch, session: &mut DrivenSession, letters: &str) {
    session.sent(usize::MAX >> 1);
    for letter in letters.chars() {
        let text = format!("{OK}{letter}");
        session.room()[..text.len()].copy_from_slice(text.as_bytes());
        dispatch.received(session, text.len()).unwrap();
    }
}

/// The first three words of each result in the frame: its id, its status and its number of requests.
fn results(dispatch: &mut Dispatch) -> Vec<(u32, u32, u32)> {
    let bytes = dispatch.frame().take();
    let words = bytes.as_chunks::<4>().0.iter().map(|word| u32::from_ne_bytes(*word)).collect::<Vec<_>>();
    let (mut at, mut found) = (0, Vec::new());
    while at < words.len() {
        found.push((words[at], words[at + 1], words[at + 2]));
        at += 5 + words[at + 2] as usize * 4 + words[at + 3].div_ceil(4) as usize;
    }
    found
}

#[test]
fn requests_spread_over_the_connections_and_wait_for_one() {
    let (mut dispatch, mut sessions) = dispatch(2, 1);
    assert_eq!(submit(&mut dispatch, &mut sessions, 5, &["/a", "/b", "/c"]), [0, 1]);
    assert!(submit(&mut dispatch, &mut sessions, 6, &["/d"]).is_empty());
    answer(&mut dispatch, &mut sessions[1], "b");
    assert!(sessions[1].unsent().starts_with(b"GET /c"));
    answer(&mut dispatch, &mut sessions[0], "a");
    assert!(sessions[0].unsent().starts_with(b"GET /d"));
    answer(&mut dispatch, &mut sessions[0], "d");
    assert_eq!(results(&mut dispatch), [(6, 0, 1)]);
    answer(&mut dispatch, &mut sessions[1], "c");
    assert_eq!(results(&mut dispatch), [(5, 0, 3)]);
    assert_eq!(sessions.iter().map(DrivenSession::in_flight).sum::<usize>(), 0);
}

#[test]
fn where_they_may_follow_each_other_they_are_divided_evenly() {
    let (mut dispatch, mut sessions) = dispatch(2, 8);
    assert_eq!(submit(&mut dispatch, &mut sessions, 0, &["/a", "/b", "/c", "/d"]), [0, 1]);
    assert_eq!(sessions.iter().map(DrivenSession::in_flight).collect::<Vec<_>>(), [2, 2]);
}

#[test]
fn a_lost_connection_fails_what_it_had_and_the_rest_goes_on() {
    let (mut dispatch, mut sessions) = dispatch(2, 1);
    submit(&mut dispatch, &mut sessions, 1, &["/a", "/b", "no", "/c"]);
    let error = dispatch.lost(&mut sessions[0], &std::io::ErrorKind::UnexpectedEof.into());
    assert_eq!(error.code(), "BB_CONNECTION");
    dispatch.ended(0, &mut sessions[0], &error);
    assert_eq!(results(&mut dispatch), [(0, 2, 0)]);
    answer(&mut dispatch, &mut sessions[1], "b");
    answer(&mut dispatch, &mut sessions[1], "c");
    assert_eq!(results(&mut dispatch), [(1, 0, 4)]);
    // The next request does not go to the connection that is gone.
    assert_eq!(submit(&mut dispatch, &mut sessions, 1, &["/d"]), [1]);
}

#[test]
fn requests_behind_a_response_that_ends_its_connection_are_sent_again_if_twice_is_as_good_as_once() {
    let (mut dispatch, mut sessions) = dispatch(1, 8);
    let requests = [Request::get("/a"), Request::get("/b"), Request::post("/c", b""), Request::get("/d")];
    for group in groups(&submission(0, 1, &requests)) {
        dispatch.submit(&group.unwrap(), &mut sessions, &mut Vec::new());
    }
    submit(&mut dispatch, &mut sessions, 2, &["/e"]);
    sessions[0].sent(usize::MAX >> 1);
    // A server that goes on sending nonetheless gives the next response to nobody.
    let text = format!("{}a{OK}b", OK.replace("content", "connection: close\r\ncontent"));
    sessions[0].room()[..text.len()].copy_from_slice(text.as_bytes());
    dispatch.received(&mut sessions[0], text.len()).unwrap();
    assert!(sessions[0].is_over());
    dispatch.ended(0, &mut sessions[0], &Error::Closed("it"));
    let place = Arc::clone(&dispatch.pools[0].as_ref().unwrap().place);
    let mut other = DrivenSession::new(0, &place);
    dispatch.add_session(0, &mut other);
    let sent = String::from_utf8(other.unsent().to_vec()).unwrap();
    let paths = sent.lines().filter_map(|line| line.strip_prefix("GET ")).map(|line| &line[..2]).collect::<Vec<_>>();
    assert_eq!(paths, ["/b", "/d", "/e"]);
    answer(&mut dispatch, &mut other, "bde");
    let frame = String::from_utf8_lossy(dispatch.frame().bytes()).into_owned();
    assert!(frame.contains("[BB_CONNECTION]"), "{frame}");
    assert_eq!(results(&mut dispatch), [(0, 2, 0), (1, 0, 4), (2, 0, 1)]);
}

#[test]
fn a_group_that_is_cancelled_gets_no_result_and_gives_its_connections_up() {
    let (mut dispatch, mut sessions) = dispatch(1, 2);
    submit(&mut dispatch, &mut sessions, 1, &["/a"]);
    submit(&mut dispatch, &mut sessions, 2, &["/b", "/c"]);
    assert!(dispatch.cancel(1, &mut sessions).is_empty());
    // The id of a cancelled group may be in use again.
    submit(&mut dispatch, &mut sessions, 1, &["/x"]);
    answer(&mut dispatch, &mut sessions[0], "ab");
    assert!(results(&mut dispatch).is_empty());
    assert!(sessions[0].is_over());
    dispatch.fail_queue(0, &Error::Cancelled);
    assert_eq!(results(&mut dispatch), [(2, 0, 2), (1, 0, 1)]);
    let (mut dispatch, mut sessions) = self::dispatch(1, 1);
    submit(&mut dispatch, &mut sessions, 3, &["/a", "/b"]);
    assert_eq!(dispatch.cancel(3, &mut sessions), [0]);
}
