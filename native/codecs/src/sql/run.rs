//! The parsing of one text: its tokens, and the nodes that are made of them.

use logos::{Lexer, Logos};

use super::lexer::Token;
use super::tree::{Kind, Tree};

/// The deepest nesting of parentheses, operators and queries. This bounds the stack.
const DEEPEST: u32 = 200;

/// A result whose error says what should stand at the token that is looked at. It fits into two registers, as an error with a text of
/// its own would not.
pub(super) type Parsed<T = ()> = Result<T, &'static str>;

/// The parsing of one text, by recursive descent. The token that is looked at is always the first one that is not consumed.
pub(super) struct Run<'a> {
    lexer: Lexer<'a, Token>,
    /// The current token, or `None` at the end.
    token: Option<Token>,
    /// The place of the token that is looked at, in bytes.
    start: usize,
    end: usize,
    /// The end of the last token that was consumed.
    consumed: usize,
    depth: u32,
    pub(super) tree: &'a mut Tree,
}

/// The place of a token in the text.
#[derive(Clone, Copy)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
}

/// The beginning of a node: its text, and the first node of its subtree.
#[derive(Clone, Copy)]
pub(super) struct Mark {
    pub(super) start: usize,
    pub(super) first: usize,
}

impl<'a> Run<'a> {
    /// The parsing of a text, before its first token.
    pub(super) fn new(sql: &'a str, tree: &'a mut Tree) -> Self {
        Self { lexer: Token::lexer(sql), token: None, start: 0, end: 0, consumed: 0, depth: 0, tree }
    }

    /// The place of the token that is looked at.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// The current token, or `None` at the end.
    pub(super) fn token(&self) -> Option<Token> {
        self.token
    }

    /// The whole text.
    pub(super) fn source(&self) -> &'a str {
        self.lexer.source()
    }

    /// The text of the token that is looked at.
    pub(super) fn token_text(&self) -> &'a str {
        &self.source()[self.start..self.end]
    }

    /// Goes to the next token.
    pub(super) fn advance(&mut self) -> Parsed {
        let next = self.lexer.next();
        let span = self.lexer.span();
        (self.consumed, self.start, self.end) = (self.end, span.start, span.end);
        self.token = next.transpose().map_err(|()| "no word of SQL")?;
        Ok(())
    }

    pub(super) fn is(&self, token: Token) -> bool {
        self.token == Some(token)
    }

    /// Goes past the token, if it is there.
    pub(super) fn take(&mut self, token: Token) -> Parsed<bool> {
        let is_there = self.is(token);
        if is_there {
            self.advance()?;
        }
        Ok(is_there)
    }

    /// Goes past the token. It must be there.
    pub(super) fn expect(&mut self, token: Token, problem: &'static str) -> Parsed {
        if self.is(token) { self.advance() } else { Err(problem) }
    }

    /// The place of the token that is looked at.
    pub(super) fn span(&self) -> Span {
        Span { start: self.start, end: self.end }
    }

    /// The beginning of a node that begins with the token that is looked at.
    pub(super) fn mark(&self) -> Mark {
        Mark { start: self.start, first: self.tree.len() }
    }

    /// Makes a node of the text and the nodes since the mark.
    pub(super) fn push(&mut self, kind: Kind, flags: u16, mark: Mark) {
        // A list without elements ends before the token that its mark is at.
        let end = self.consumed.max(mark.start);
        self.push_span(kind, flags, Span { start: mark.start, end }, mark.first);
    }

    /// Makes a node with a text of its own.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "places and nodes are fewer than 2^32, since texts are limited"
    )]
    pub(super) fn push_span(&mut self, kind: Kind, flags: u16, span: Span, first: usize) {
        let kind_and_flags = kind as u32 | u32::from(flags) << 16;
        self.tree.push([kind_and_flags, span.start as u32, (span.end - span.start) as u32, first as u32]);
    }

    /// Makes a node of the token, without children, and goes past it.
    pub(super) fn leaf(&mut self, kind: Kind) -> Parsed {
        self.push_span(kind, 0, self.span(), self.tree.len());
        self.advance()
    }

    /// Makes a node for a part that is left out.
    pub(super) fn absent(&mut self) {
        let here = Span { start: self.start, end: self.start };
        self.push_span(Kind::Absent, 0, here, self.tree.len());
    }

    /// Does work one level deeper.
    pub(super) fn nested(&mut self, work: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        if self.depth == DEEPEST {
            return Err("it is nested too deeply");
        }
        self.depth += 1;
        let done = work(self);
        self.depth -= 1;
        done
    }

    /// One or more parts with commas between.
    pub(super) fn separated(&mut self, mut part: impl FnMut(&mut Self) -> Parsed) -> Parsed {
        loop {
            part(self)?;
            if !self.take(Token::Comma)? {
                return Ok(());
            }
        }
    }

    /// One or more parts with commas between, as a list.
    pub(super) fn list(&mut self, part: impl FnMut(&mut Self) -> Parsed) -> Parsed {
        let mark = self.mark();
        self.separated(part)?;
        self.push(Kind::List, 0, mark);
        Ok(())
    }

    /// A part in parentheses.
    pub(super) fn in_parentheses(&mut self, part: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        self.expect(Token::Open, "a parenthesis should open")?;
        part(self)?;
        self.expect(Token::Close, "a parenthesis should close")
    }

    /// The part behind a word, or an absent one.
    pub(super) fn optional(&mut self, word: Token, part: impl FnOnce(&mut Self) -> Parsed) -> Parsed {
        if self.take(word)? {
            return part(self);
        }
        self.absent();
        Ok(())
    }

    fn is_name(&self) -> bool {
        self.token.is_some_and(Token::may_be_name)
    }

    /// A name without dots.
    pub(super) fn plain_name(&mut self) -> Parsed {
        if self.is_name() { self.leaf(Kind::Name) } else { Err("a name should stand") }
    }

    /// A name, with dots if it has several parts. A name that is followed by a star may end with a dot.
    pub(super) fn name(&mut self) -> Parsed {
        let mark = self.mark();
        if !self.is_name() {
            return Err("a name should stand");
        }
        self.advance()?;
        while self.take(Token::Dot)? {
            if self.is(Token::Star) {
                break;
            }
            if !self.is_name() {
                return Err("a name should stand");
            }
            self.advance()?;
        }
        self.push(Kind::Name, 0, mark);
        Ok(())
    }

    /// Names without dots in parentheses, as a list.
    pub(super) fn names(&mut self) -> Parsed {
        self.in_parentheses(|run| run.list(Self::plain_name))
    }
}
