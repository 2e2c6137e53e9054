//! The parser of SQL: what its trees say, and what it refuses.

use boundary_bench_codecs::sql::{Kind, Node, Parser, Places, Tree};
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::Value;

/// A statement with its tree. The tests in TypeScript read it as well: `__test__/families/codec/sql-tree.test.ts` has the form.
#[derive(Deserialize)]
struct Example {
    sql: String,
    tree: Option<String>,
    /// The tree of the first item of a SELECT without other parts.
    expression: Option<String>,
}

fn examples() -> Vec<Example> {
    serde_json::from_str(include_str!("../../../__test__/fixtures/sql-trees.json")).unwrap()
}

/// The tree as text: names and values by their text, other nodes by their text or their kind, with the flags if there are any, and with
/// the children in parentheses.
fn shown(sql: &str, tree: &Tree) -> String {
    let node_shown = |node: Node, children: Vec<String>| {
        let flags = if node.flags == 0 { String::new() } else { format!("!{}", node.flags) };
        let name = if node.kind.has_text() { node.text(sql).to_owned() } else { format!("{:?}", node.kind) };
        match node.kind {
            Kind::Absent => "-".to_owned(),
            Kind::Name | Kind::Number | Kind::Text | Kind::Word | Kind::Parameter => name,
            _ => format!("{name}{flags}({})", children.join(" ")),
        }
    };
    tree.fold(node_shown).unwrap()
}

/// The tree that JSON has, as text: of each node the number of its kind, its flags, its text and its children.
fn shown_json(node: &Value) -> String {
    let children: Vec<String> = node["children"].as_array().unwrap().iter().map(shown_json).collect();
    let text = node["text"].as_str().unwrap_or("");
    format!("{}!{}{text}({})", node["kind"], node["flags"], children.join(" "))
}

#[test]
fn each_example_has_its_tree() {
    let mut parser = Parser::new();
    for Example { sql, tree, expression } in examples() {
        let expected = tree.unwrap_or_else(|| {
            format!("Statements(Select(List(Item({} -)) - - - - - - -))", expression.expect("a tree or an expression"))
        });
        let parsed = parser.parse(&sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        assert_eq!(shown(&sql, parsed), expected, "{sql}");
    }
}

#[test]
fn json_is_the_same_tree() {
    let mut parser = Parser::new();
    for Example { sql, .. } in examples() {
        let tree = parser.parse(&sql).unwrap();
        let json: Value = serde_json::from_str(&tree.to_json(&sql)).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let expected = tree.fold(|node, children: Vec<String>| {
            let text = if node.kind.has_text() { node.text(&sql) } else { "" };
            format!("{}!{}{text}({})", node.kind as u16, node.flags, children.join(" "))
        });
        assert_eq!(Some(shown_json(&json)), expected, "{sql}");
        // Places are in units of UTF-16.
        let units: Vec<u16> = sql.encode_utf16().collect();
        let mut waiting = vec![&json];
        while let Some(node) = waiting.pop() {
            waiting.extend(node["children"].as_array().unwrap());
            let Some(text) = node["text"].as_str() else { continue };
            let place = |name: &str| usize::try_from(node[name].as_u64().unwrap()).unwrap();
            let found = String::from_utf16(&units[place("start")..place("start") + place("length")]).unwrap();
            assert_eq!(found, text, "{sql}");
        }
    }
    let odd = "SELECT '\u{1}\\\"\n\u{1f}\u{7f}'";
    let json: Value = serde_json::from_str(&parser.parse(odd).unwrap().to_json(odd)).unwrap();
    let text = &json["children"][0]["children"][0]["children"][0]["children"][0]["text"];
    assert_eq!(text.as_str(), Some("'\u{1}\\\"\n\u{1f}\u{7f}'"));
    assert_eq!(Tree::default().to_json(""), "null");
}

#[test]
fn the_parts_of_a_statement_lie_where_their_text_does() {
    let mut parser = Parser::new();
    let sql = "  SELECT a AS b , c FROM t /* x */ WHERE d ; -- y";
    let tree = parser.parse(sql).unwrap();
    let texts = |kind: Kind| -> Vec<&str> {
        tree.nodes().filter(|node| node.kind == kind).map(|node| node.text(sql)).collect()
    };
    assert_eq!(texts(Kind::Statements), ["SELECT a AS b , c FROM t /* x */ WHERE d ;"]);
    assert_eq!(texts(Kind::Select), ["SELECT a AS b , c FROM t /* x */ WHERE d"]);
    assert_eq!(texts(Kind::Item), ["a AS b", "c"]);
    assert_eq!(texts(Kind::List), ["a AS b , c", "t"]);
    let select = tree.children_backwards(tree.len() - 1).next().unwrap();
    let parts: Vec<usize> = tree.children_backwards(select).collect();
    assert_eq!(tree.node(parts[6]).text(sql), "t");
    assert_eq!(parts.len(), 8);
    assert_eq!(tree.depth(), 5);
}

#[test]
fn what_is_no_sql_is_refused_with_its_place() {
    for (sql, place) in [
        ("SELECT", 6),
        ("SELECT 1 FROM", 13),
        ("SELECT 'open", 7),
        ("SELECT a FROM t WHERE a IN ()", 28),
        ("SELECT CASE a END", 14),
        ("SELECT t.* + 1", 11),
        ("SELECT a. FROM t", 10),
        ("SELECT 1 /* open", 10),
        ("INSERT INTO t VALUES 1", 21),
        ("CREATE TABLE t ()", 16),
        ("CREATE TABLE t (a DECIMAL(b))", 26),
        ("UPDATE t SET a", 14),
        ("DROP TABLE t", 0),
        ("SELECT 1 SELECT 2", 9),
        ("SELECT \u{e4}", 7),
    ] {
        let error = Parser::new().parse(sql).map(|_| ()).unwrap_err();
        assert_eq!(error.code(), "BB_INVALID_ARGUMENT");
        assert!(error.to_string().contains(&format!("SQL at byte {place}:")), "{sql}: {error}");
    }
    for deep in ["(".repeat(100_000), "- ".repeat(100_000), "NOT ".repeat(100_000), "f(".repeat(100_000)] {
        let error = Parser::new().parse(&format!("SELECT {deep}")).map(|_| ()).unwrap_err();
        assert!(error.to_string().contains("nested too deeply"), "{error}");
    }
    let long = " ".repeat((16 << 20) + 1);
    assert_eq!(Parser::new().parse(&long).map(|_| ()).unwrap_err().code(), "BB_TOO_LARGE");
}

#[test]
fn a_chain_of_operators_may_be_long() {
    const TERMS: usize = 100_000;
    let sql = format!("SELECT 1{}", "+1".repeat(TERMS));
    let mut parser = Parser::new();
    let tree = parser.parse(&sql).unwrap();
    // The statements, the SELECT, the items, the item, and each operator above the number.
    assert_eq!(tree.depth(), 4 + TERMS + 1);
    assert_eq!(tree.to_json(&sql).matches("\"text\":\"+\"").count(), TERMS);
    assert_eq!(tree.fold(|_, children: Vec<usize>| 1 + children.iter().sum::<usize>()), Some(tree.len()));
}

#[test]
fn the_memory_is_used_again() {
    let sql = "SELECT a FROM t";
    let mut parser = Parser::new();
    let first = parser.parse(sql).unwrap().clone();
    assert!(parser.parse("SELECT (").is_err());
    let again = parser.parse(sql).unwrap();
    assert_eq!(again, &first);
    let mut words = vec![0; first.words().len()];
    let places = Places::of(sql);
    assert_eq!(places.write(again, &mut words), Ok(words.len()));
    assert_eq!(words, first.words());
    assert_eq!(places.write(again, &mut words[1..]), Err(words.len()));
    assert_eq!(Tree::default().fold(|_, _: Vec<()>| ()), None);
    assert_eq!(Tree::default().depth(), 0);
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC*") {
        let _ = Parser::new().parse(&text);
        let _ = Parser::new().parse(&format!("SELECT {text}"));
    }

    #[test]
    fn words_in_any_order_make_a_tree_or_an_error(words in prop::collection::vec(prop::sample::select(vec![
        "SELECT", "a", "t.b", "*", ",", "FROM", "(", ")", "WHERE", "=", "AND", "NOT", "IN", "1", "'x'", "GROUP", "BY", "JOIN", "LEFT",
        "ON", "IS", "NULL", "BETWEEN", "CASE", "WHEN", "THEN", "END", ";", "INSERT", "INTO", "VALUES", "UPDATE", "SET", "DELETE",
        "'ä'", "t.", "LIMIT", "CREATE", "TABLE", "INT",
    ]), 0..30)) {
        let sql = words.join(" ");
        let mut parser = Parser::new();
        if let Ok(tree) = parser.parse(&sql) {
            // Each node is in exactly one place of the tree, and its text lies within its parent's source.
            let mut seen = vec![false; tree.len()];
            let mut waiting = vec![tree.len() - 1];
            while let Some(node) = waiting.pop() {
                prop_assert!(!std::mem::replace(&mut seen[node], true));
                waiting.extend(tree.children_backwards(node));
            }
            prop_assert!(seen.into_iter().all(|seen| seen));
            prop_assert!(tree.nodes().all(|node| sql.get(node.start as usize..).is_some_and(|rest| rest.len() >= node.length as usize)));
            prop_assert!(serde_json::from_str::<Value>(&tree.to_json(&sql)).is_ok());
        }
    }
}
