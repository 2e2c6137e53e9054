//! HTTP responses to gRPC calls that are no gRPC responses, such as responses of a proxy or of another program.

/// The content type of gRPC. The content type of the messages may follow it.
const CONTENT_TYPE: &[u8] = b"application/grpc";

/// The most bytes of a content type that an error shows.
const SHOWN: usize = 100;

/// The code of gRPC, and the text, for a response that is no gRPC response, by its status and its content type. `None` for a gRPC response.
/// A response with a gRPC status among its headers is a gRPC response, and must not be passed here.
pub fn foreign_answer(status: u16, content_type: Option<&[u8]>) -> Option<(i32, String)> {
    let other_type = content_type
        .filter(|given| !given.get(..CONTENT_TYPE.len()).is_some_and(|start| start.eq_ignore_ascii_case(CONTENT_TYPE)));
    if status == 200 && other_type.is_none() {
        return None;
    }
    // As gRPC maps the statuses of HTTP to its codes.
    let code = match status {
        400 => 13,
        401 => 16,
        403 => 7,
        404 => 12,
        429 | 502..=504 => 14,
        _ => 2,
    };
    let content = match content_type {
        Some(given) => format!("content of the type {}", given[..given.len().min(SHOWN)].escape_ascii()),
        None => "no content type".to_owned(),
    };
    Some((code, foreign_text(status, &content)))
}

/// The text for a response of this status and content that is none of gRPC.
pub fn foreign_text(status: u16, content: &str) -> String {
    format!(
        "it answers with the status {status} of HTTP and {content}, not as gRPC does; a proxy or another program may be at this address"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_that_are_none_of_grpc_are_named() {
        for content_type in [None, Some(b"application/grpc".as_slice()), Some(b"Application/gRPC+proto")] {
            assert_eq!(foreign_answer(200, content_type), None);
        }
        let (code, text) = foreign_answer(503, Some(b"text/html; charset=utf-8")).unwrap();
        assert!(code == 14 && text.contains("status 503") && text.contains("text/html; charset=utf-8"), "{text}");
        let (code, text) = foreign_answer(200, Some(b"text/html\n")).unwrap();
        assert!(code == 2 && text.contains("text/html\\n"), "{text}");
        assert!(foreign_answer(404, None).unwrap().1.contains("no content type"));
    }
}
