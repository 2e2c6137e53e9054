//! The parser, by recursive descent; binary operators by precedence.

use boundary_bench_kernel::{Error, Result};
use logos::{Lexer, Logos};

use super::lexer::Token;
use super::tree::{JOIN_CROSS, JOIN_FULL, JOIN_INNER, JOIN_LEFT, JOIN_RIGHT, Kind, Node, Tree};

/// The deepest nesting of parentheses, operators and queries, which bounds the stack.
const DEEPEST: u32 = 200;

/// The longest text in bytes: places are 32 bits wide.
const LONGEST: usize = u32::MAX as usize;

/// How tightly NOT binds its operand, between AND and comparisons.
const NOT_BINDING: u8 = 3;
/// How tightly comparisons, IS, IN, LIKE and BETWEEN bind.
const COMPARISON: u8 = 4;
/// How tightly a sign binds its operand.
const SIGN_BINDING: u8 = 7;

/// A parser whose memory is reused for each text.
#[derive(Debug, Default)]
pub struct Parser {
    tree: Tree,
}

impl Parser {
    /// A parser without memory yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Parses one statement, or several with semicolons between; the root is a [`Kind::Statements`].
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] with the place in bytes, for a text that is no SQL of this grammar or is nested too deeply, and
    /// [`Error::TooLarge`] beyond 4 GiB.
    pub fn parse(&mut self, sql: &str) -> Result<&Tree> {
        if sql.len() > LONGEST {
            return Err(Error::TooLarge(format!("a text of {} bytes", sql.len())));
        }
        self.tree.nodes.clear();
        let mut run = Run { lexer: Token::lexer(sql), token: None, start: 0, end: 0, depth: 0, nodes: &mut self.tree.nodes };
        run.advance()?;
        run.statements()?;
        Ok(&self.tree)
    }
}

/// The parsing of one text.
struct Run<'a> {
    lexer: Lexer<'a, Token>,
    /// The token that is looked at; `None` at the end.
    token: Option<Token>,
    start: usize,
    end: usize,
    depth: u32,
    nodes: &'a mut Vec<Node>,
}

/// The place of a token in the text.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
}

impl Run<'_> {
    fn advance(&mut self) -> Result<()> {
        let next = self.lexer.next().transpose();
        let span = self.lexer.span();
        (self.start, self.end) = (span.start, span.end);
        self.token = next.map_err(|()| self.wrong("no word of SQL"))?;
        Ok(())
    }

    #[cold]
    fn wrong(&self, what: &str) -> Error {
        let found: String = self.lexer.source()[self.start..].chars().take(20).collect();
        let found = if found.is_empty() { "the end".to_owned() } else { format!("`{found}`") };
        Error::InvalidArgument(format!("SQL at byte {}: {what}, at {found}", self.start))
    }

    fn is(&self, token: Token) -> bool {
        self.token == Some(token)
    }

    /// Goes past the token, if it is there.
    fn take(&mut self, token: Token) -> Result<bool> {
        let is_there = self.is(token);
        if is_there {
            self.advance()?;
        }
        Ok(is_there)
    }

    fn expect(&mut self, token: Token, what: &str) -> Result<()> {
        if self.take(token)? { Ok(()) } else { Err(self.wrong(what)) }
    }

    fn span(&self) -> Span {
        Span { start: self.start, end: self.end }
    }

    /// The number of the next node, which is the first of a subtree that begins here.
    fn mark(&self) -> u32 {
        #[expect(clippy::cast_possible_truncation, reason = "there are no more nodes than bytes and absent parts")]
        let mark = self.nodes.len() as u32;
        mark
    }

    #[expect(clippy::cast_possible_truncation, reason = "the text has at most 2^32 bytes")]
    fn push(&mut self, kind: Kind, flags: u16, span: Span, first: u32) {
        self.nodes.push(Node {
            kind_and_flags: kind as u32 | u32::from(flags) << 16,
            start: span.start as u32,
            length: (span.end - span.start) as u32,
            first,
        });
    }

    /// A node whose text is that of the token, without children.
    fn leaf(&mut self, kind: Kind) -> Result<()> {
        self.push(kind, 0, self.span(), self.mark());
        self.advance()
    }

    fn absent(&mut self) {
        let here = Span { start: self.start, end: self.start };
        self.push(Kind::Absent, 0, here, self.mark());
    }

    /// The text from a place to the end of the last token.
    fn since(&self, start: usize) -> Span {
        // The last token ended before the one that is looked at.
        let source = &self.lexer.source()[start..self.start.max(start)];
        Span { start, end: start + source.trim_end().len() }
    }

    fn nested<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.wrong("it is nested too deeply"));
        }
        let done = work(self);
        self.depth -= 1;
        done
    }

    /// One or more parts with commas between, as a list.
    fn list(&mut self, mut part: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        let (start, first) = (self.start, self.mark());
        loop {
            part(self)?;
            if !self.take(Token::Comma)? {
                break;
            }
        }
        self.push(Kind::List, 0, self.since(start), first);
        Ok(())
    }

    fn statements(&mut self) -> Result<()> {
        let (start, first) = (self.start, self.mark());
        loop {
            while self.take(Token::Semicolon)? {}
            if self.token.is_none() {
                break;
            }
            self.statement()?;
            if self.token.is_some() && !self.is(Token::Semicolon) {
                return Err(self.wrong("the statement should end"));
            }
        }
        self.push(Kind::Statements, 0, self.since(start), first);
        Ok(())
    }

    fn statement(&mut self) -> Result<()> {
        match self.token {
            Some(Token::Select) => self.select(),
            Some(Token::Create) => self.create_table(),
            Some(Token::Insert) => self.insert(),
            Some(Token::Update) => self.update(),
            Some(Token::Delete) => self.delete(),
            _ => Err(self.wrong("a statement should begin")),
        }
    }

    fn select(&mut self) -> Result<()> {
        self.nested(|run| {
            let (start, first) = (run.start, run.mark());
            run.expect(Token::Select, "SELECT should stand")?;
            let distinct = run.take(Token::Distinct)?;
            run.list(Self::item)?;
            if run.take(Token::From)? {
                run.tables()?;
            } else {
                run.absent();
            }
            run.optional(Token::Where, Self::expression)?;
            run.optional_by(Token::Group, |run| run.list(Self::expression))?;
            run.optional(Token::Having, Self::expression)?;
            run.optional_by(Token::Order, |run| run.list(Self::order))?;
            run.optional(Token::Limit, Self::expression)?;
            run.optional(Token::Offset, Self::expression)?;
            run.push(Kind::Select, distinct.into(), run.since(start), first);
            Ok(())
        })
    }

    /// The part behind a word, or an absent one.
    fn optional(&mut self, word: Token, part: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        if self.take(word)? {
            return part(self);
        }
        self.absent();
        Ok(())
    }

    fn optional_by(&mut self, word: Token, part: impl FnOnce(&mut Self) -> Result<()>) -> Result<()> {
        self.optional(word, |run| {
            run.expect(Token::By, "BY should stand")?;
            part(run)
        })
    }

    fn item(&mut self) -> Result<()> {
        let (start, first) = (self.start, self.mark());
        if self.is(Token::Star) {
            self.absent();
            self.advance()?;
            self.push(Kind::Wildcard, 0, self.since(start), first);
            return Ok(());
        }
        self.expression()?;
        // `t.*` is read as a name that ends with a dot.
        if self.is(Token::Star) && self.nodes.last().is_some_and(|node| self.ends_with_dot(node)) {
            self.advance()?;
            self.push(Kind::Wildcard, 0, self.since(start), first);
            return Ok(());
        }
        self.alias()?;
        self.push(Kind::Item, 0, self.since(start), first);
        Ok(())
    }

    fn ends_with_dot(&self, node: &Node) -> bool {
        let end = (node.start + node.length) as usize;
        node.kind() == Kind::Name as u16 && self.lexer.source().as_bytes()[..end].last() == Some(&b'.')
    }

    /// An alias, or an absent one.
    fn alias(&mut self) -> Result<()> {
        if self.take(Token::As)? {
            return self.plain_name();
        }
        if self.is(Token::Name) {
            return self.leaf(Kind::Name);
        }
        self.absent();
        Ok(())
    }

    /// A name without dots.
    fn plain_name(&mut self) -> Result<()> {
        if self.token.is_some_and(Token::may_be_name) { self.leaf(Kind::Name) } else { Err(self.wrong("a name should stand")) }
    }

    /// A name, with dots where it has several parts. One that is followed by a star may end with a dot.
    fn name(&mut self) -> Result<()> {
        let (start, first) = (self.start, self.mark());
        if !self.token.is_some_and(Token::may_be_name) {
            return Err(self.wrong("a name should stand"));
        }
        let mut end = self.end;
        self.advance()?;
        while self.is(Token::Dot) {
            end = self.end;
            self.advance()?;
            if self.is(Token::Star) {
                break;
            }
            if !self.token.is_some_and(Token::may_be_name) {
                return Err(self.wrong("a name should stand"));
            }
            end = self.end;
            self.advance()?;
        }
        self.push(Kind::Name, 0, Span { start, end }, first);
        Ok(())
    }

    /// The tables of a query, as a list of the first one and its joins.
    fn tables(&mut self) -> Result<()> {
        let (start, first) = (self.start, self.mark());
        self.table()?;
        loop {
            let (join_start, join_first) = (self.start, self.mark());
            let Some(kind) = self.join()? else { break };
            self.table()?;
            self.optional(Token::On, Self::expression)?;
            self.optional(Token::Using, Self::names)?;
            self.push(Kind::Join, kind, self.since(join_start), join_first);
        }
        self.push(Kind::List, 0, self.since(start), first);
        Ok(())
    }

    /// The kind of the join that begins here, gone past; `None` if none does. A comma is a cross join.
    fn join(&mut self) -> Result<Option<u16>> {
        let kind = match self.token {
            Some(Token::Comma) => {
                self.advance()?;
                return Ok(Some(JOIN_CROSS));
            }
            Some(Token::Join) => {
                self.advance()?;
                return Ok(Some(JOIN_INNER));
            }
            Some(Token::Inner) => JOIN_INNER,
            Some(Token::Left) => JOIN_LEFT,
            Some(Token::Right) => JOIN_RIGHT,
            Some(Token::Full) => JOIN_FULL,
            Some(Token::Cross) => JOIN_CROSS,
            _ => return Ok(None),
        };
        self.advance()?;
        self.take(Token::Outer)?;
        self.expect(Token::Join, "JOIN should stand")?;
        Ok(Some(kind))
    }

    fn table(&mut self) -> Result<()> {
        let (start, first) = (self.start, self.mark());
        if self.take(Token::Open)? {
            self.select()?;
            self.expect(Token::Close, "a parenthesis should close")?;
            self.alias()?;
            self.push(Kind::Derived, 0, self.since(start), first);
            return Ok(());
        }
        self.name()?;
        self.alias()?;
        self.push(Kind::Table, 0, self.since(start), first);
        Ok(())
    }

    fn order(&mut self) -> Result<()> {
        let (start, first) = (self.start, self.mark());
        self.expression()?;
        let mut flags = 0;
        if self.take(Token::Desc)? {
            flags |= 1;
        } else {
            self.take(Token::Asc)?;
        }
        if self.take(Token::Nulls)? {
            if self.take(Token::First)? {
                flags |= 2;
            } else {
                self.expect(Token::Last, "FIRST or LAST should stand")?;
                flags |= 4;
            }
        }
        self.push(Kind::Order, flags, self.since(start), first);
        Ok(())
    }

    /// Names in parentheses, as a list.
    fn names(&mut self) -> Result<()> {
        self.expect(Token::Open, "a parenthesis should open")?;
        self.list(Self::plain_name)?;
        self.expect(Token::Close, "a parenthesis should close")
    }

    fn create_table(&mut self) -> Result<()> {
        let (start, first) = (self.start, self.mark());
        self.advance()?;
        self.expect(Token::Table, "TABLE should stand")?;
        let if_not_exists = self.take(Token::If)?;
        if if_not_exists {
            self.expect(Token::Not, "NOT should stand")?;
            self.expect(Token::Exists, "EXISTS should stand")?;
        }
        self.name()?;
        self.expect(Token::Open, "a parenthesis should open")?;
        self.list(Self::column_or_constraint)?;
        self.expect(Token::Close, "a parenthesis should close")?;
        self.push(Kind::CreateTable, if_not_exists.into(), self.since(start), first);
        Ok(())
    }

    fn column_or_constraint(&mut self) -> Result<()> {
        if matches!(
            self.token,
            Some(Token::Primary | Token::Unique | Token::Foreign | Token::Check | Token::Index | Token::Key)
        ) {
            return self.table_constraint();
        }
        let (start, first) = (self.start, self.mark());
        self.plain_name()?;
        self.data_type()?;
        let (constraints_start, constraints) = (self.start, self.mark());
        while self.column_constraint()? {}
        self.push(Kind::List, 0, self.since(constraints_start), constraints);
        self.push(Kind::Column, 0, self.since(start), first);
        Ok(())
    }

    fn data_type(&mut self) -> Result<()> {
        let (span, first) = (self.span(), self.mark());
        if !self.is(Token::Name) {
            return Err(self.wrong("a type should stand"));
        }
        self.advance()?;
        // DOUBLE PRECISION is of two words.
        let mut end = span.end;
        if self.is(Token::Name) && self.lexer.source()[self.start..self.end].eq_ignore_ascii_case("precision") {
            end = self.end;
            self.advance()?;
        }
        if self.take(Token::Open)? {
            loop {
                if !self.is(Token::Number) {
                    return Err(self.wrong("a number should stand"));
                }
                self.leaf(Kind::Number)?;
                if !self.take(Token::Comma)? {
                    break;
                }
            }
            self.expect(Token::Close, "a parenthesis should close")?;
        }
        self.push(Kind::Type, 0, Span { end, ..span }, first);
        Ok(())
    }

    /// Reads a constraint of a column; returns whether there was one.
    fn column_constraint(&mut self) -> Result<bool> {
        let (span, first) = (self.span(), self.mark());
        match self.token {
            Some(Token::Not) => {
                self.advance()?;
                self.expect(Token::Null, "NULL should stand")?;
            }
            Some(Token::Null | Token::Unique | Token::AutoIncrement) => self.advance()?,
            Some(Token::Primary) => {
                self.advance()?;
                self.expect(Token::Key, "KEY should stand")?;
            }
            Some(Token::Default) => {
                self.advance()?;
                self.operand(SIGN_BINDING)?;
            }
            Some(Token::References) => self.references()?,
            Some(Token::Check) => self.check()?,
            _ => return Ok(false),
        }
        self.push(Kind::Constraint, 0, span, first);
        Ok(true)
    }

    fn references(&mut self) -> Result<()> {
        self.expect(Token::References, "REFERENCES should stand")?;
        self.name()?;
        if self.is(Token::Open) { self.names() } else { Ok(()) }
    }

    fn check(&mut self) -> Result<()> {
        self.expect(Token::Check, "CHECK should stand")?;
        self.expect(Token::Open, "a parenthesis should open")?;
        self.expression()?;
        self.expect(Token::Close, "a parenthesis should close")
    }

    fn table_constraint(&mut self) -> Result<()> {
        let (span, first) = (self.span(), self.mark());
        match self.token {
            Some(Token::Check) => self.check()?,
            Some(Token::Primary) => {
                self.advance()?;
                self.expect(Token::Key, "KEY should stand")?;
                self.names()?;
            }
            Some(Token::Foreign) => {
                self.advance()?;
                self.expect(Token::Key, "KEY should stand")?;
                self.names()?;
                self.references()?;
            }
            _ => {
                if self.take(Token::Unique)? {
                    if !self.take(Token::Index)? {
                        self.take(Token::Key)?;
                    }
                } else {
                    self.advance()?;
                }
                if self.is(Token::Name) {
                    self.plain_name()?;
                }
                self.names()?;
            }
        }
        self.push(Kind::Constraint, 0, span, first);
        Ok(())
    }

    fn insert(&mut self) -> Result<()> {
        let (start, first) = (self.start, self.mark());
        self.advance()?;
        self.expect(Token::Into, "INTO should stand")?;
        self.name()?;
        if self.is(Token::Open) {
            self.names()?;
        } else {
            self.absent();
        }
        if self.is(Token::Select) {
            self.select()?;
        } else {
            self.expect(Token::Values, "VALUES should stand")?;
            self.list(|run| {
                let (start, first) = (run.start, run.mark());
                run.expect(Token::Open, "a parenthesis should open")?;
                loop {
                    run.expression()?;
                    if !run.take(Token::Comma)? {
                        break;
                    }
                }
                run.expect(Token::Close, "a parenthesis should close")?;
                run.push(Kind::Row, 0, run.since(start), first);
                Ok(())
            })?;
        }
        self.push(Kind::Insert, 0, self.since(start), first);
        Ok(())
    }

    fn update(&mut self) -> Result<()> {
        let (start, first) = (self.start, self.mark());
        self.advance()?;
        self.name()?;
        self.expect(Token::Set, "SET should stand")?;
        self.list(|run| {
            let (start, first) = (run.start, run.mark());
            run.name()?;
            run.expect(Token::Equal, "an equals sign should stand")?;
            run.expression()?;
            run.push(Kind::Assignment, 0, run.since(start), first);
            Ok(())
        })?;
        self.optional(Token::Where, Self::expression)?;
        self.push(Kind::Update, 0, self.since(start), first);
        Ok(())
    }

    fn delete(&mut self) -> Result<()> {
        let (start, first) = (self.start, self.mark());
        self.advance()?;
        self.expect(Token::From, "FROM should stand")?;
        self.name()?;
        self.optional(Token::Where, Self::expression)?;
        self.push(Kind::Delete, 0, self.since(start), first);
        Ok(())
    }

    fn expression(&mut self) -> Result<()> {
        self.operand(0)
    }

    /// An expression of operators that bind more tightly than `least`.
    fn operand(&mut self, least: u8) -> Result<()> {
        self.nested(|run| {
            let (start, first) = (run.start, run.mark());
            run.prefix()?;
            loop {
                let Some(token) = run.token else { return Ok(()) };
                // The star of `t.*` is no operator.
                if token == Token::Star && run.nodes.last().is_some_and(|node| run.ends_with_dot(node)) {
                    return Ok(());
                }
                if least < COMPARISON && run.predicate(token, start, first)? {
                    continue;
                }
                let Some(binding) = token.binding().filter(|binding| *binding > least) else { return Ok(()) };
                let operator = run.span();
                run.advance()?;
                run.operand(binding)?;
                run.push(Kind::Binary, 0, operator, first);
            }
        })
    }

    /// Reads IS NULL, IN, LIKE or BETWEEN behind an operand; returns whether one was there.
    fn predicate(&mut self, token: Token, start: usize, first: u32) -> Result<bool> {
        if token == Token::Is {
            self.advance()?;
            let not = self.take(Token::Not)?;
            self.expect(Token::Null, "NULL should stand")?;
            self.push(Kind::IsNull, not.into(), self.since(start), first);
            return Ok(true);
        }
        if !matches!(token, Token::Not | Token::In | Token::Like | Token::Between) {
            return Ok(false);
        }
        let not = self.take(Token::Not)?;
        let kind = match self.token {
            Some(Token::In) => {
                self.advance()?;
                self.expect(Token::Open, "a parenthesis should open")?;
                if self.is(Token::Select) { self.select()? } else { self.list(Self::expression)? }
                self.expect(Token::Close, "a parenthesis should close")?;
                Kind::In
            }
            Some(Token::Like) => {
                self.advance()?;
                self.operand(COMPARISON)?;
                Kind::Like
            }
            Some(Token::Between) => {
                self.advance()?;
                self.operand(COMPARISON)?;
                self.expect(Token::And, "AND should stand")?;
                self.operand(COMPARISON)?;
                Kind::Between
            }
            _ => return Err(self.wrong("IN, LIKE or BETWEEN should stand")),
        };
        self.push(kind, not.into(), self.since(start), first);
        Ok(true)
    }

    /// An operand with what stands before it.
    fn prefix(&mut self) -> Result<()> {
        let (span, first) = (self.span(), self.mark());
        match self.token {
            Some(Token::Not) => {
                self.advance()?;
                if self.is(Token::Exists) {
                    self.exists()?;
                } else {
                    self.operand(NOT_BINDING)?;
                }
            }
            Some(Token::Minus | Token::Plus) => {
                self.advance()?;
                self.operand(SIGN_BINDING)?;
            }
            _ => return self.primary(),
        }
        self.push(Kind::Unary, 0, span, first);
        Ok(())
    }

    fn primary(&mut self) -> Result<()> {
        match self.token {
            Some(Token::Number) => self.leaf(Kind::Number),
            Some(Token::Text) => self.leaf(Kind::Text),
            Some(Token::Parameter) => self.leaf(Kind::Parameter),
            Some(Token::Null | Token::True | Token::False) => self.leaf(Kind::Word),
            Some(Token::Open) => {
                self.advance()?;
                if self.is(Token::Select) { self.select()? } else { self.expression()? }
                self.expect(Token::Close, "a parenthesis should close")
            }
            Some(Token::Case) => self.case(),
            Some(Token::Cast) => self.cast(),
            Some(Token::Exists) => self.exists(),
            // LEFT, RIGHT and IF are functions, too.
            Some(Token::Left | Token::Right) => self.call_or_name(),
            Some(token) if token.may_be_name() => self.call_or_name(),
            _ => Err(self.wrong("an expression should stand")),
        }
    }

    fn exists(&mut self) -> Result<()> {
        let (start, first) = (self.start, self.mark());
        self.advance()?;
        self.expect(Token::Open, "a parenthesis should open")?;
        self.select()?;
        self.expect(Token::Close, "a parenthesis should close")?;
        self.push(Kind::Exists, 0, self.since(start), first);
        Ok(())
    }

    fn call_or_name(&mut self) -> Result<()> {
        let (span, first) = (self.span(), self.mark());
        if matches!(self.token, Some(Token::Left | Token::Right)) {
            self.advance()?;
            if !self.is(Token::Open) {
                return Err(self.wrong("a parenthesis should open"));
            }
        } else {
            self.name()?;
        }
        if !self.is(Token::Open) {
            return Ok(());
        }
        // The name of a function is the text of its call.
        let name = if self.mark() > first {
            self.nodes.pop().map_or(span, |node| Span { start: span.start, end: (node.start + node.length) as usize })
        } else {
            span
        };
        self.advance()?;
        let distinct = self.take(Token::Distinct)?;
        if self.is(Token::Star) {
            let star = self.mark();
            self.absent();
            let star_span = self.span();
            self.advance()?;
            self.push(Kind::Wildcard, 0, star_span, star);
        } else if !self.is(Token::Close) {
            loop {
                self.expression()?;
                if !self.take(Token::Comma)? {
                    break;
                }
            }
        }
        self.expect(Token::Close, "a parenthesis should close")?;
        self.push(Kind::Call, distinct.into(), name, first);
        Ok(())
    }

    fn case(&mut self) -> Result<()> {
        let (start, first) = (self.start, self.mark());
        self.advance()?;
        if self.is(Token::When) {
            self.absent();
        } else {
            self.expression()?;
        }
        while self.take(Token::When)? {
            self.expression()?;
            self.expect(Token::Then, "THEN should stand")?;
            self.expression()?;
        }
        self.optional(Token::Else, Self::expression)?;
        self.expect(Token::End, "END should stand")?;
        self.push(Kind::Case, 0, self.since(start), first);
        Ok(())
    }

    fn cast(&mut self) -> Result<()> {
        let (start, first) = (self.start, self.mark());
        self.advance()?;
        self.expect(Token::Open, "a parenthesis should open")?;
        self.expression()?;
        self.expect(Token::As, "AS should stand")?;
        self.data_type()?;
        self.expect(Token::Close, "a parenthesis should close")?;
        self.push(Kind::Cast, 0, self.since(start), first);
        Ok(())
    }
}
