//! The parser of SQL: what its trees say, and what it refuses.

use boundary_bench_codecs::sql::{Kind, Parser, Tree};
use proptest::prelude::*;

const COMPLEX: &str = "SELECT DISTINCT u.name, COUNT(*) AS orders, SUM(o.total) FROM users u LEFT JOIN orders o ON o.user_id = u.id \
    WHERE u.age BETWEEN 18 AND 65 AND u.name LIKE 'A%' AND (u.city IS NOT NULL OR u.id IN (1, 2, 3)) \
    GROUP BY u.name HAVING COUNT(*) > 2 ORDER BY orders DESC NULLS LAST, u.name LIMIT 10 OFFSET 5";

/// The tree as text: the kind, the flags where there are any, and the children in parentheses; a leaf by its text.
fn shown(sql: &str, tree: &Tree, node: usize) -> String {
    let at = tree.nodes()[node];
    let text = &sql[at.start as usize..(at.start + at.length) as usize];
    let children: Vec<String> = tree.children(node).into_iter().map(|child| shown(sql, tree, child)).collect();
    let is = |kind: Kind| at.kind() == kind as u16;
    let name = if is(Kind::Absent) {
        return "-".to_owned();
    } else if is(Kind::Binary) || is(Kind::Unary) || is(Kind::Call) || is(Kind::Constraint) || is(Kind::Type) {
        text.to_owned()
    } else if children.is_empty() && !is(Kind::List) && !is(Kind::Statements) {
        return text.to_owned();
    } else {
        format!("#{}", at.kind())
    };
    let flags = if at.flags() == 0 { String::new() } else { format!("!{}", at.flags()) };
    format!("{name}{flags}({})", children.join(" "))
}

fn parsed(sql: &str) -> String {
    let mut parser = Parser::new();
    let tree = parser.parse(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    shown(sql, tree, tree.nodes().len() - 1)
}

fn expression(sql: &str) -> String {
    let whole = parsed(&format!("SELECT {sql}"));
    let item = whole.strip_prefix("#2(#3(#1(#4(").unwrap().strip_suffix(" -)) - - - - - - -))").unwrap();
    item.to_owned()
}

#[test]
fn operators_bind_as_in_sql() {
    for (sql, tree) in [
        ("1 + 2 * 3", "+(1 *(2 3))"),
        ("1 - 2 - 3", "-(-(1 2) 3)"),
        ("(1 - 2) * -3", "*(-(1 2) -(3))"),
        ("a OR b AND NOT c = d", "OR(a AND(b NOT(=(c d))))"),
        ("a = 1 AND b <> 2", "AND(=(a 1) <>(b 2))"),
        ("NOT a IS NULL", "NOT(#26(a))"),
        ("a IS NOT NULL", "#26!1(a)"),
        ("a BETWEEN 1 AND 2 AND b", "AND(#27(a 1 2) b)"),
        ("a NOT IN (1, 2)", "#28!1(a #1(1 2))"),
        ("a + 1 LIKE 'x''y%'", "#29(+(a 1) 'x''y%')"),
        ("count(DISTINCT t.a, ?)", "count!1(t.a ?)"),
        ("count(*)", "count(#5(-))"),
        ("CASE WHEN a THEN 1 ELSE 2 END", "#31(- a 1 2)"),
        ("CASE a WHEN 1 THEN 'x' END", "#31(a 1 'x' -)"),
        ("CAST(a AS DECIMAL(10, 2))", "#32(a DECIMAL(10 2))"),
        ("left(name, 3)", "left(name 3)"),
        ("\"a b\".`c`", "\"a b\".`c`"),
        (".5e-3", ".5e-3"),
    ] {
        assert_eq!(expression(sql), tree, "{sql}");
    }
}

#[test]
fn statements_have_their_parts_in_order() {
    for (sql, tree) in [
        ("select t.*, * from t", "#2(#3(#1(#5(t.) #5(-)) #1(#6(t -)) - - - - - -))"),
        ("SELECT id, name FROM users WHERE id = 1", "#2(#3(#1(#4(id -) #4(name -)) #1(#6(users -)) =(id 1) - - - - -))"),
        ("INSERT INTO t (a, b) VALUES (1, 'x'), (2, NULL)", "#2(#13(t #1(a b) #1(#14(1 'x') #14(2 NULL))))"),
        ("UPDATE t SET a = a + 1, b = ? WHERE id = 3", "#2(#15(t #1(#17(a +(a 1)) #17(b ?)) =(id 3)))"),
        ("DELETE FROM t; ; DELETE FROM u WHERE a", "#2(#18(t -) #18(u a))"),
        (
            "CREATE TABLE IF NOT EXISTS t (id INT NOT NULL PRIMARY KEY, v DOUBLE PRECISION DEFAULT -1.5, KEY by_v (v))",
            "#2(#10!1(t #1(#11(id INT() #1(NOT() PRIMARY())) #11(v DOUBLE PRECISION() #1(DEFAULT(-(1.5)))) KEY(by_v #1(v)))))",
        ),
    ] {
        let tree = tree.replace("#13(", &format!("#{}(", Kind::Insert as u16)).replace("#14(", &format!("#{}(", Kind::Row as u16));
        let tree = tree.replace("#15(t #1(#17", &format!("#{}(t #1(#17", Kind::Update as u16));
        assert_eq!(parsed(sql), tree, "{sql}");
    }
    let complex = parsed(COMPLEX);
    assert!(complex.starts_with("#2(#3!1(#1(#4(u.name -) #4(COUNT(#5(-)) orders)"), "{complex}");
    assert!(complex.contains("#8!1(#6(orders o) =(o.user_id u.id) -)"), "{complex}");
    assert!(complex.ends_with("#1(#9!5(orders) #9(u.name)) 10 5))"), "{complex}");
}

#[test]
fn what_is_no_sql_is_refused_with_its_place() {
    for (sql, place) in [
        ("SELECT", 6),
        ("SELECT 1 FROM", 13),
        ("SELECT 'open", 7),
        ("SELECT a FROM t WHERE a IN ()", 28),
        ("INSERT INTO t VALUES 1", 21),
        ("DROP TABLE t", 0),
        ("SELECT 1 SELECT 2", 9),
        ("SELECT \u{e4}", 7),
    ] {
        let error = Parser::new().parse(sql).map(|_| ()).unwrap_err();
        assert_eq!(error.code(), "BB_INVALID_ARGUMENT");
        assert!(error.to_string().contains(&format!("SQL at byte {place}:")), "{sql}: {error}");
    }
    let deep = format!("SELECT {}1{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(Parser::new().parse(&deep).unwrap_err().to_string().contains("nested too deeply"));
}

#[test]
fn the_memory_is_used_again() {
    let mut parser = Parser::new();
    let first = parser.parse(COMPLEX).unwrap().nodes().to_vec();
    assert!(parser.parse("SELECT (").is_err());
    assert_eq!(parser.parse(COMPLEX).unwrap().nodes(), first);
    let mut words = vec![0; first.len() * 4];
    assert_eq!(parser.parse(COMPLEX).unwrap().write_words(&mut words), Ok(words.len()));
    assert_eq!(parser.parse(COMPLEX).unwrap().write_words(&mut words[1..]), Err(words.len()));
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
    ]), 0..30)) {
        let sql = words.join(" ");
        let mut parser = Parser::new();
        if let Ok(tree) = parser.parse(&sql) {
            // Every node is in exactly one place of the tree.
            let mut seen = vec![false; tree.nodes().len()];
            let mut waiting = vec![tree.nodes().len() - 1];
            while let Some(node) = waiting.pop() {
                prop_assert!(!std::mem::replace(&mut seen[node], true));
                waiting.extend(tree.children(node));
            }
            prop_assert!(seen.into_iter().all(|seen| seen));
        }
    }
}
