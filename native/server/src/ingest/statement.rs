//! The statements of `/query`, as far as a client needs them to verify what it wrote.

use boundary_bench_ingest::Precision;
use boundary_bench_ingest::store::Select;

/// A statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Statement {
    CreateDatabase(String),
    ShowDatabases,
    ShowMeasurements,
    /// The number of a field's values; without a field, of points.
    Count {
        measurement: String,
        field: Option<String>,
    },
    Select(Select),
}

/// A token of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// A bare word, or a number with its unit.
    Word(String),
    /// A name in double quotes.
    Quoted(String),
    /// One of `( ) , * ; < > =` and their pairs.
    Sign(&'static str),
}

/// The tokens of punctuation, the longer first.
const SIGNS: [&str; 10] = ["<=", ">=", "(", ")", ",", "*", ";", "<", ">", "="];

/// Parses the statements of a text.
///
/// # Errors
/// The problem of the first statement that can't be parsed.
pub(super) fn parse(text: &str) -> Result<Vec<Statement>, String> {
    let tokens = tokens(text)?;
    let statements = tokens.split(|token| *token == Token::Sign(";")).filter(|tokens| !tokens.is_empty());
    statements.map(|tokens| Parser { tokens }.statement()).collect()
}

fn tokens(text: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            tokens.push(Token::Sign(sign));
            rest = &rest[sign.len()..];
        } else if first == '"' {
            let mut name = String::new();
            let mut characters = rest.char_indices().skip(1);
            let end = loop {
                match characters.next() {
                    // Two quotes stand for one quote in the name.
                    Some((at, '"')) if rest[at + 1..].starts_with('"') => {
                        name.push('"');
                        characters.next();
                    }
                    Some((at, '"')) => break at + 1,
                    Some((_, character)) => name.push(character),
                    None => return Err("a name in quotes has no end".to_owned()),
                }
            };
            tokens.push(Token::Quoted(name));
            rest = &rest[end..];
        } else {
            let is_end = |character: char| character.is_whitespace() || "\"(),*;<>=".contains(character);
            let end = rest.find(is_end).unwrap_or(rest.len());
            tokens.push(Token::Word(rest[..end].to_owned()));
            rest = &rest[end..];
        }
        rest = rest.trim_start();
    }
    Ok(tokens)
}

struct Parser<'tokens> {
    tokens: &'tokens [Token],
}

impl Parser<'_> {
    fn statement(mut self) -> Result<Statement, String> {
        let statement = if self.word("CREATE") {
            self.expect("DATABASE")?;
            Statement::CreateDatabase(self.name()?)
        } else if self.word("SHOW") {
            if self.word("DATABASES") {
                Statement::ShowDatabases
            } else {
                self.expect("MEASUREMENTS")?;
                Statement::ShowMeasurements
            }
        } else {
            self.expect("SELECT")?;
            self.select()?
        };
        if self.tokens.is_empty() { Ok(statement) } else { Err(self.unexpected("the end")) }
    }

    fn select(&mut self) -> Result<Statement, String> {
        if let [Token::Word(word), Token::Sign("("), ..] = self.tokens
            && word.eq_ignore_ascii_case("count")
        {
            self.tokens = &self.tokens[2..];
            let field = if self.sign("*") { None } else { Some(self.name()?) };
            self.expect_sign(")")?;
            self.expect("FROM")?;
            return Ok(Statement::Count { measurement: self.name()?, field });
        }
        let mut select = Select::default();
        if !self.sign("*") {
            select.columns.push(self.name()?);
            while self.sign(",") {
                select.columns.push(self.name()?);
            }
            // The time is always part of the result.
            select.columns.retain(|name| name != "time");
        }
        self.expect("FROM")?;
        select.measurement = self.name()?;
        if self.word("WHERE") {
            self.time(&mut select)?;
            while self.word("AND") {
                self.time(&mut select)?;
            }
        }
        if self.word("ORDER") {
            self.expect("BY")?;
            self.expect("time")?;
            select.descending = self.word("DESC");
            let _ = self.word("ASC");
        }
        if self.word("LIMIT") {
            select.limit = Some(self.number()?);
        }
        if self.word("OFFSET") {
            select.offset = self.number()?;
        }
        Ok(Statement::Select(select))
    }

    fn time(&mut self, select: &mut Select) -> Result<(), String> {
        self.expect("time")?;
        let sign = match self.tokens.split_first() {
            Some((Token::Sign(sign @ ("<" | "<=" | ">" | ">=" | "=")), rest)) => {
                self.tokens = rest;
                *sign
            }
            _ => return Err(self.unexpected("a comparison of the time")),
        };
        let time = self.instant()?;
        let after = time.saturating_add(1);
        match sign {
            ">=" => select.from = Some(time),
            ">" => select.from = Some(after),
            "<" => select.until = Some(time),
            "<=" => select.until = Some(after),
            _ => (select.from, select.until) = (Some(time), Some(after)),
        }
        Ok(())
    }

    /// A time in nanoseconds, written as a number of nanoseconds or with a unit.
    fn instant(&mut self) -> Result<i64, String> {
        let Some((Token::Word(word), rest)) = self.tokens.split_first() else {
            return Err(self.unexpected("a time"));
        };
        let digits = word.trim_end_matches(|character: char| character.is_ascii_alphabetic());
        let unit = Precision::of(&word[digits.len()..]).nanoseconds();
        let number = digits.parse::<i64>().ok().and_then(|number| number.checked_mul(unit));
        let number = number.ok_or_else(|| self.unexpected("a time, such as 1700000000000ms"))?;
        self.tokens = rest;
        Ok(number)
    }

    fn number(&mut self) -> Result<usize, String> {
        let number = match self.tokens.first() {
            Some(Token::Word(word)) => word.parse().ok(),
            _ => None,
        };
        let number = number.ok_or_else(|| self.unexpected("a number"))?;
        self.tokens = &self.tokens[1..];
        Ok(number)
    }

    fn name(&mut self) -> Result<String, String> {
        match self.tokens.split_first() {
            Some((Token::Word(name) | Token::Quoted(name), rest)) => {
                self.tokens = rest;
                Ok(name.clone())
            }
            _ => Err(self.unexpected("a name")),
        }
    }

    fn word(&mut self, word: &str) -> bool {
        let found = matches!(self.tokens.first(), Some(Token::Word(found)) if found.eq_ignore_ascii_case(word));
        if found {
            self.tokens = &self.tokens[1..];
        }
        found
    }

    fn sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.tokens.first(), Some(Token::Sign(found)) if *found == sign);
        if found {
            self.tokens = &self.tokens[1..];
        }
        found
    }

    fn expect(&mut self, word: &str) -> Result<(), String> {
        if self.word(word) { Ok(()) } else { Err(self.unexpected(word)) }
    }

    fn expect_sign(&mut self, sign: &str) -> Result<(), String> {
        if self.sign(sign) { Ok(()) } else { Err(self.unexpected(sign)) }
    }

    fn unexpected(&self, expected: &str) -> String {
        let found = match self.tokens.first() {
            None => "the end".to_owned(),
            Some(Token::Word(word)) => word.clone(),
            Some(Token::Quoted(name)) => format!("{name:?}"),
            Some(Token::Sign(sign)) => (*sign).to_owned(),
        };
        format!("found {found}, expected {expected}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn one(text: &str) -> Result<Statement, String> {
        let mut statements = parse(text)?;
        assert_eq!(statements.len(), 1, "{text}");
        Ok(statements.remove(0))
    }

    #[test]
    fn statements_are_read() {
        assert_eq!(one("create database server;"), Ok(Statement::CreateDatabase("server".to_owned())));
        assert_eq!(one(r#"CREATE DATABASE "a ""b"" \;""#), Ok(Statement::CreateDatabase(r#"a "b" \;"#.to_owned())));
        let count =
            |field: Option<&str>| Statement::Count { measurement: "bench".to_owned(), field: field.map(str::to_owned) };
        assert_eq!(one("SELECT COUNT(\"v\") FROM bench"), Ok(count(Some("v"))));
        assert_eq!(one("select count(*) from \"bench\""), Ok(count(None)));
        let select = one(
            "SELECT time, v, host FROM bench WHERE time >= 5ms AND time<=7000000 ORDER BY time DESC LIMIT 3 OFFSET 2",
        );
        let expected = Select {
            measurement: "bench".to_owned(),
            columns: vec!["v".to_owned(), "host".to_owned()],
            from: Some(5_000_000),
            until: Some(7_000_001),
            limit: Some(3),
            offset: 2,
            descending: true,
        };
        assert_eq!(select, Ok(Statement::Select(expected)));
        assert_eq!(parse("SHOW DATABASES; SHOW MEASUREMENTS").map(|statements| statements.len()), Ok(2));
    }

    #[test]
    fn what_is_wrong_is_told() {
        for (text, said) in [
            ("DROP DATABASE x", "found DROP, expected SELECT"),
            ("CREATE DATABASE", "found the end, expected a name"),
            ("SELECT * FROM m LIMIT x", "found x, expected a number"),
            ("SELECT * FROM m WHERE host = 'a'", "expected time"),
            ("SELECT * FROM \"m", "no end"),
            ("SELECT * FROM \"m\"\"", "no end"),
            ("SHOW DATABASES; SELECT broken", "found the end, expected FROM"),
            ("SELECT * FROM m garbage", "found garbage, expected the end"),
            ("SELECT * FROM m WHERE time > 99999999999999999s", "expected a time"),
        ] {
            let problem = one(text).unwrap_err();
            assert!(problem.contains(said), "{text}: {problem}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC*") {
            let _ = parse(&text);
        }

        #[test]
        fn no_words_make_it_panic(words in proptest::collection::vec("SELECT|count|\\(|\\)|\\*|FROM|WHERE|time|>=|[0-9]{1,25}(ms|s)?|\"|;|é", 0..12)) {
            let _ = parse(&words.join(" "));
        }
    }
}
