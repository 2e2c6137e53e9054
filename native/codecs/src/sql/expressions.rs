//! Expressions, by the precedence of their operators.

use super::lexer::Token;
use super::run::{Mark, Parsed, Run, Span};
use super::tree::Kind;

/// How tightly NOT binds its operand, between AND and comparisons.
const NOT_BINDING: u8 = 3;
/// How tightly comparisons, IS, IN, LIKE and BETWEEN bind.
const COMPARISON: u8 = 4;
/// How tightly a sign binds its operand.
const SIGN_BINDING: u8 = 7;

impl Run<'_> {
    pub(super) fn expression(&mut self) -> Parsed {
        self.operand(0)
    }

    /// A value without operators other than signs.
    pub(super) fn signed_value(&mut self) -> Parsed {
        self.operand(SIGN_BINDING)
    }

    /// Whether what was read last is the name `t.` of `t.*`, whose star is looked at.
    pub(super) fn is_qualified_star(&self) -> bool {
        let ends_with_dot = |end: usize| self.source().as_bytes().get(..end).and_then(<[u8]>::last) == Some(&b'.');
        self.is(Token::Star)
            && self
                .tree
                .last()
                .is_some_and(|node| node.kind == Kind::Name && ends_with_dot((node.start + node.length) as usize))
    }

    /// An expression of operators that bind more tightly than `least`.
    fn operand(&mut self, least: u8) -> Parsed {
        self.nested(|run| {
            let mark = run.mark();
            run.prefix()?;
            loop {
                let Some(token) = run.token() else { return Ok(()) };
                let Some(binding) = token.binding() else {
                    if least < COMPARISON && run.predicate(token, mark)? {
                        continue;
                    }
                    return Ok(());
                };
                // The star of `t.*` is no operator.
                if binding <= least || run.is_qualified_star() {
                    return Ok(());
                }
                let operator = run.span();
                run.advance()?;
                run.operand(binding)?;
                run.push_span(Kind::Binary, 0, operator, mark.first);
            }
        })
    }

    /// Reads IS NULL, IN, LIKE or BETWEEN behind an operand. Returns whether one was there.
    fn predicate(&mut self, token: Token, mark: Mark) -> Parsed<bool> {
        if token == Token::Is {
            self.advance()?;
            let not = self.take(Token::Not)?;
            self.expect(Token::Null, "NULL should stand")?;
            self.push(Kind::IsNull, not.into(), mark);
            return Ok(true);
        }
        if !matches!(token, Token::Not | Token::In | Token::Like | Token::Between) {
            return Ok(false);
        }
        let not = self.take(Token::Not)?;
        let kind = if self.take(Token::In)? {
            self.in_parentheses(|run| if run.is(Token::Select) { run.select() } else { run.list(Self::expression) })?;
            Kind::In
        } else if self.take(Token::Like)? {
            self.operand(COMPARISON)?;
            Kind::Like
        } else if self.take(Token::Between)? {
            self.operand(COMPARISON)?;
            self.expect(Token::And, "AND should stand")?;
            self.operand(COMPARISON)?;
            Kind::Between
        } else {
            return Err("IN, LIKE or BETWEEN should stand");
        };
        self.push(kind, not.into(), mark);
        Ok(true)
    }

    /// An operand with what stands before it.
    fn prefix(&mut self) -> Parsed {
        let binding = match self.token() {
            Some(Token::Not) => NOT_BINDING,
            Some(Token::Minus | Token::Plus) => SIGN_BINDING,
            _ => return self.primary(),
        };
        let (operator, first) = (self.span(), self.mark().first);
        self.advance()?;
        self.operand(binding)?;
        self.push_span(Kind::Unary, 0, operator, first);
        Ok(())
    }

    fn primary(&mut self) -> Parsed {
        match self.token() {
            Some(Token::Name) => self.name_or_call(),
            Some(Token::Number) => self.leaf(Kind::Number),
            Some(Token::Text) => self.leaf(Kind::Text),
            Some(Token::Parameter) => self.leaf(Kind::Parameter),
            Some(Token::Null | Token::True | Token::False) => self.leaf(Kind::Word),
            Some(Token::Open) => {
                self.in_parentheses(|run| if run.is(Token::Select) { run.select() } else { run.expression() })
            }
            Some(Token::Case) => self.case(),
            Some(Token::Cast) => self.cast(),
            Some(Token::Exists) => self.exists(),
            // LEFT and RIGHT are functions, too.
            Some(Token::Left | Token::Right) => {
                let (name, first) = (self.span(), self.mark().first);
                self.advance()?;
                self.arguments(name, first)
            }
            Some(token) if token.may_be_name() => self.name_or_call(),
            _ => Err("an expression should stand"),
        }
    }

    fn name_or_call(&mut self) -> Parsed {
        self.name()?;
        if !self.is(Token::Open) {
            return Ok(());
        }
        // The name of a function is the text of its call, not a node of its own.
        let Some(name) = self.tree.pop() else { return Ok(()) };
        let (start, first) = (name.start as usize, name.first as usize);
        self.arguments(Span { start, end: start + name.length as usize }, first)
    }

    /// The arguments of a call, whose name was read.
    fn arguments(&mut self, name: Span, first: usize) -> Parsed {
        self.expect(Token::Open, "a parenthesis should open")?;
        let distinct = self.take(Token::Distinct)?;
        if self.is(Token::Star) {
            let star = self.mark();
            self.absent();
            self.advance()?;
            self.push(Kind::Wildcard, 0, star);
        } else if !self.is(Token::Close) {
            self.separated(Self::expression)?;
        }
        self.expect(Token::Close, "a parenthesis should close")?;
        self.push_span(Kind::Call, distinct.into(), name, first);
        Ok(())
    }

    fn exists(&mut self) -> Parsed {
        let mark = self.mark();
        self.advance()?;
        self.in_parentheses(Self::select)?;
        self.push(Kind::Exists, 0, mark);
        Ok(())
    }

    fn case(&mut self) -> Parsed {
        let mark = self.mark();
        self.advance()?;
        if self.is(Token::When) {
            self.absent();
        } else {
            self.expression()?;
        }
        if !self.is(Token::When) {
            return Err("WHEN should stand");
        }
        while self.take(Token::When)? {
            self.expression()?;
            self.expect(Token::Then, "THEN should stand")?;
            self.expression()?;
        }
        self.optional(Token::Else, Self::expression)?;
        self.expect(Token::End, "END should stand")?;
        self.push(Kind::Case, 0, mark);
        Ok(())
    }

    fn cast(&mut self) -> Parsed {
        let mark = self.mark();
        self.advance()?;
        self.in_parentheses(|run| {
            run.expression()?;
            run.expect(Token::As, "AS should stand")?;
            run.data_type()
        })?;
        self.push(Kind::Cast, 0, mark);
        Ok(())
    }
}
