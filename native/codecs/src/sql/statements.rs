//! Statements and their parts.

use super::lexer::Token;
use super::run::{Parsed, Run, Span};
use super::tree::{JOIN_CROSS, JOIN_FULL, JOIN_INNER, JOIN_LEFT, JOIN_RIGHT, Kind};

impl Run<'_> {
    /// All statements of the text.
    pub(super) fn statements(&mut self) -> Parsed {
        self.advance()?;
        let mark = self.mark();
        loop {
            while self.take(Token::Semicolon)? {}
            if self.token().is_none() {
                break;
            }
            self.statement()?;
            if self.token().is_some() && !self.is(Token::Semicolon) {
                return Err("the statement should end");
            }
        }
        self.push(Kind::Statements, 0, mark);
        Ok(())
    }

    fn statement(&mut self) -> Parsed {
        match self.token() {
            Some(Token::Select) => self.select(),
            Some(Token::Create) => self.create_table(),
            Some(Token::Insert) => self.insert(),
            Some(Token::Update) => self.update(),
            Some(Token::Delete) => self.delete(),
            _ => Err("a statement should begin"),
        }
    }

    pub(super) fn select(&mut self) -> Parsed {
        self.nested(|run| {
            let mark = run.mark();
            run.expect(Token::Select, "SELECT should stand")?;
            let distinct = run.take(Token::Distinct)?;
            run.list(Self::item)?;
            run.optional(Token::From, Self::tables)?;
            run.optional(Token::Where, Self::expression)?;
            run.optional_by(Token::Group, Self::expression)?;
            run.optional(Token::Having, Self::expression)?;
            run.optional_by(Token::Order, Self::order)?;
            run.optional(Token::Limit, Self::expression)?;
            run.optional(Token::Offset, Self::expression)?;
            run.push(Kind::Select, distinct.into(), mark);
            Ok(())
        })
    }

    /// The list behind a word and BY, or an absent one.
    fn optional_by(&mut self, word: Token, part: impl FnMut(&mut Self) -> Parsed) -> Parsed {
        self.optional(word, |run| {
            run.expect(Token::By, "BY should stand")?;
            run.list(part)
        })
    }

    fn item(&mut self) -> Parsed {
        let mark = self.mark();
        if self.is(Token::Star) {
            self.absent();
        } else {
            self.expression()?;
            // `t.*` is read as a name that ends with a dot.
            if !self.is_qualified_star() {
                self.alias()?;
                self.push(Kind::Item, 0, mark);
                return Ok(());
            }
        }
        self.advance()?;
        self.push(Kind::Wildcard, 0, mark);
        Ok(())
    }

    /// An alias, or an absent one.
    fn alias(&mut self) -> Parsed {
        if self.take(Token::As)? {
            return self.plain_name();
        }
        if self.is(Token::Name) {
            return self.leaf(Kind::Name);
        }
        self.absent();
        Ok(())
    }

    /// The tables of a query, as a list of the first one and its joins.
    fn tables(&mut self) -> Parsed {
        let mark = self.mark();
        self.table()?;
        loop {
            let join_mark = self.mark();
            let Some(join) = self.join()? else { break };
            self.table()?;
            self.optional(Token::On, Self::expression)?;
            self.optional(Token::Using, Self::names)?;
            self.push(Kind::Join, join, join_mark);
        }
        self.push(Kind::List, 0, mark);
        Ok(())
    }

    /// The flags of the join that begins here, or `None` if none does. Goes past the join. A comma is a cross join.
    fn join(&mut self) -> Parsed<Option<u16>> {
        let join = match self.token() {
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
        if matches!(join, JOIN_LEFT | JOIN_RIGHT | JOIN_FULL) {
            self.take(Token::Outer)?;
        }
        self.expect(Token::Join, "JOIN should stand")?;
        Ok(Some(join))
    }

    fn table(&mut self) -> Parsed {
        let mark = self.mark();
        let kind = if self.is(Token::Open) {
            self.in_parentheses(Self::select)?;
            Kind::Derived
        } else {
            self.name()?;
            Kind::Table
        };
        self.alias()?;
        self.push(kind, 0, mark);
        Ok(())
    }

    fn order(&mut self) -> Parsed {
        let mark = self.mark();
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
        self.push(Kind::Order, flags, mark);
        Ok(())
    }

    fn create_table(&mut self) -> Parsed {
        let mark = self.mark();
        self.advance()?;
        self.expect(Token::Table, "TABLE should stand")?;
        let if_not_exists = self.take(Token::If)?;
        if if_not_exists {
            self.expect(Token::Not, "NOT should stand")?;
            self.expect(Token::Exists, "EXISTS should stand")?;
        }
        self.name()?;
        self.in_parentheses(|run| run.list(Self::column_or_constraint))?;
        self.push(Kind::CreateTable, if_not_exists.into(), mark);
        Ok(())
    }

    fn column_or_constraint(&mut self) -> Parsed {
        match self.token() {
            Some(Token::Primary | Token::Unique | Token::Foreign | Token::Check | Token::Index | Token::Key) => {
                self.table_constraint()
            }
            _ => self.column(),
        }
    }

    fn column(&mut self) -> Parsed {
        let mark = self.mark();
        self.plain_name()?;
        self.data_type()?;
        let constraints = self.mark();
        while self.column_constraint()? {}
        self.push(Kind::List, 0, constraints);
        self.push(Kind::Column, 0, mark);
        Ok(())
    }

    pub(super) fn data_type(&mut self) -> Parsed {
        let (first_word, first) = (self.span(), self.mark().first);
        if !self.is(Token::Name) {
            return Err("a type should stand");
        }
        self.advance()?;
        let mut name = first_word;
        // DOUBLE PRECISION is of two words.
        if self.is(Token::Name) && self.token_text().eq_ignore_ascii_case("precision") {
            name = Span { end: self.span().end, ..first_word };
            self.advance()?;
        }
        if self.is(Token::Open) {
            self.in_parentheses(|run| {
                run.separated(
                    |run| {
                        if run.is(Token::Number) { run.leaf(Kind::Number) } else { Err("a number should stand") }
                    },
                )
            })?;
        }
        self.push_span(Kind::Type, 0, name, first);
        Ok(())
    }

    /// Reads a constraint of a column. Returns whether there was one.
    fn column_constraint(&mut self) -> Parsed<bool> {
        let (word, first) = (self.span(), self.mark().first);
        match self.token() {
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
                self.signed_value()?;
            }
            Some(Token::References) => self.references()?,
            Some(Token::Check) => self.check()?,
            _ => return Ok(false),
        }
        self.push_span(Kind::Constraint, 0, word, first);
        Ok(true)
    }

    fn references(&mut self) -> Parsed {
        self.expect(Token::References, "REFERENCES should stand")?;
        self.name()?;
        if self.is(Token::Open) { self.names() } else { Ok(()) }
    }

    fn check(&mut self) -> Parsed {
        self.advance()?;
        self.in_parentheses(Self::expression)
    }

    fn table_constraint(&mut self) -> Parsed {
        let (word, first) = (self.span(), self.mark().first);
        match self.token() {
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
            // UNIQUE, KEY and INDEX.
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
        self.push_span(Kind::Constraint, 0, word, first);
        Ok(())
    }

    fn insert(&mut self) -> Parsed {
        let mark = self.mark();
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
            self.list(Self::row)?;
        }
        self.push(Kind::Insert, 0, mark);
        Ok(())
    }

    fn row(&mut self) -> Parsed {
        let mark = self.mark();
        self.in_parentheses(|run| run.separated(Self::expression))?;
        self.push(Kind::Row, 0, mark);
        Ok(())
    }

    fn update(&mut self) -> Parsed {
        let mark = self.mark();
        self.advance()?;
        self.name()?;
        self.expect(Token::Set, "SET should stand")?;
        self.list(Self::assignment)?;
        self.optional(Token::Where, Self::expression)?;
        self.push(Kind::Update, 0, mark);
        Ok(())
    }

    fn assignment(&mut self) -> Parsed {
        let mark = self.mark();
        self.name()?;
        self.expect(Token::Equal, "an equals sign should stand")?;
        self.expression()?;
        self.push(Kind::Assignment, 0, mark);
        Ok(())
    }

    fn delete(&mut self) -> Parsed {
        let mark = self.mark();
        self.advance()?;
        self.expect(Token::From, "FROM should stand")?;
        self.name()?;
        self.optional(Token::Where, Self::expression)?;
        self.push(Kind::Delete, 0, mark);
        Ok(())
    }
}
