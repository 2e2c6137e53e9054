//! SQL parsed for JavaScript: whether it is valid, its tree as JSON or as objects by napi-rs, and its flat tree in memory of the
//! caller's.

use std::cell::RefCell;

use boundary_bench_codecs::sql::{LONGEST, NODE_WORDS, Node, Parser, Places, Tree};
use boundary_bench_kernel::Error;
use boundary_bench_node::host::errors::{invalid, js};
use boundary_bench_node::host::fast_call::{FastCall, function};
use boundary_bench_node::memory::text_memory::read_text;
use boundary_bench_node::memory::typed_memory::slice_of_mut;
use napi::bindgen_prelude::Unknown;
use napi::{Env, sys};
use napi_derive::napi;

/// The deepest tree that becomes objects: each level takes some of the stack.
const DEEPEST_OBJECTS: usize = 1000;

thread_local! {
    /// The parser of this thread, whose memory each call uses again.
    static PARSER: RefCell<Parser> = RefCell::new(Parser::new());
}

/// Parses SQL, and reads its tree. No JavaScript may run in `read`, since it could call this function again.
fn with_tree<T>(sql: &str, read: impl FnOnce(&Tree) -> napi::Result<T>) -> napi::Result<T> {
    PARSER.with_borrow_mut(|parser| read(parser.parse(sql).map_err(js)?))
}

/// Whether a text is SQL of the parser's grammar.
#[napi(namespace = "codec", catch_unwind)]
pub fn sql_is_valid(sql: String) -> bool {
    with_tree(&sql, |_| Ok(())).is_ok()
}

/// The tree of SQL as JSON: of each node the same as `SqlNode` has. Throws an error with the place for a text that is no SQL.
#[napi(namespace = "codec", catch_unwind)]
pub fn sql_json(sql: String) -> napi::Result<String> {
    with_tree(&sql, |tree| Ok(tree.to_json(&sql)))
}

/// A node of a tree.
#[napi(object, object_from_js = false, namespace = "codec")]
pub struct SqlNode {
    /// The number of the kind.
    pub kind: u32,
    /// The flags of the kind.
    pub flags: u32,
    /// The place of the node in the SQL, in characters.
    pub start: u32,
    /// The length of the node in the SQL, in characters.
    pub length: u32,
    /// The text of a name, a value, an operator or a word, absent for other nodes.
    pub text: Option<String>,
    /// The children in their order.
    pub children: Vec<SqlNode>,
}

/// The tree of SQL as objects. Throws an error with the place for a text that is no SQL, and for a tree of more than 1000 levels.
#[napi(namespace = "codec", catch_unwind)]
pub fn sql_objects(sql: String) -> napi::Result<SqlNode> {
    with_tree(&sql, |tree| {
        if tree.depth() > DEEPEST_OBJECTS {
            let problem = format!("the tree has more than {DEEPEST_OBJECTS} levels, which objects can't nest");
            return Err(js(Error::TooLarge(problem)));
        }
        let places = Places::of(&sql);
        let object_of = |node: Node, children: Vec<SqlNode>| {
            let (start, length) = places.of_node(&node);
            let text = node.kind.has_text().then(|| node.text(&sql).to_owned());
            SqlNode { kind: node.kind as u32, flags: node.flags.into(), start, length, text, children }
        };
        tree.fold(object_of).ok_or_else(|| invalid("the SQL has no tree"))
    })
}

/// Makes a function that parses SQL into memory of the caller's. The function writes the words of all nodes, children before their
/// parents, and returns the number of nodes. If the memory is too small, it writes nothing, and returns the negative number of words
/// that it needs. Throws an error with the place for a text that is no SQL.
#[napi(namespace = "codec", catch_unwind, ts_return_type = "(sql: string, words: Uint32Array) => number")]
pub fn sql_words_parser(env: &Env) -> napi::Result<Unknown<'_>> {
    function(env, "parseSqlWords", WordsParser::default())
}

const WORDS: &str = "a Uint32Array for the words";

/// A parser with the memory that it reads texts into.
#[derive(Default)]
struct WordsParser {
    state: RefCell<(Parser, Vec<u8>)>,
}

impl FastCall<2> for WordsParser {
    fn call(&self, env: Env, [sql, words]: [sys::napi_value; 2]) -> napi::Result<f64> {
        // No JavaScript runs before the return, so that no other call can have borrowed it.
        let (parser, text) = &mut *self.state.borrow_mut();
        // The parser refuses a longer text as well, but only once it is copied.
        let sql = std::str::from_utf8(read_text(env, sql, text, "the SQL", LONGEST)?);
        let sql = sql.map_err(|error| invalid(error.to_string()))?;
        let tree = parser.parse(sql).map_err(js)?;
        // SAFETY: no JavaScript runs before the return. The text and the tree lie in memory of Rust's.
        let words = unsafe { slice_of_mut(env, words, WORDS) }?;
        Ok(match Places::of(sql).write(tree, words) {
            Ok(written) => (written / NODE_WORDS) as f64,
            Err(needed) => -(needed as f64),
        })
    }
}
