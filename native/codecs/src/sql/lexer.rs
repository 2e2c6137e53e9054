//! The words of SQL, by a lexer that `logos` generates.

use logos::Logos;

/// A word, a sign or a value. Words of the language are read in any case.
#[derive(Logos, Debug, Clone, Copy, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n]+")]
// A comment is read once, up to the end of its line.
#[logos(skip(r"--[^\n]*", allow_greedy = true))]
#[logos(skip r"/\*([^*]|\*+[^*/])*\*+/")]
pub(super) enum Token {
    #[token("select", ignore(case))]
    Select,
    #[token("distinct", ignore(case))]
    Distinct,
    #[token("from", ignore(case))]
    From,
    #[token("where", ignore(case))]
    Where,
    #[token("group", ignore(case))]
    Group,
    #[token("by", ignore(case))]
    By,
    #[token("having", ignore(case))]
    Having,
    #[token("order", ignore(case))]
    Order,
    #[token("asc", ignore(case))]
    Asc,
    #[token("desc", ignore(case))]
    Desc,
    #[token("nulls", ignore(case))]
    Nulls,
    #[token("first", ignore(case))]
    First,
    #[token("last", ignore(case))]
    Last,
    #[token("limit", ignore(case))]
    Limit,
    #[token("offset", ignore(case))]
    Offset,
    #[token("as", ignore(case))]
    As,
    #[token("join", ignore(case))]
    Join,
    #[token("inner", ignore(case))]
    Inner,
    #[token("left", ignore(case))]
    Left,
    #[token("right", ignore(case))]
    Right,
    #[token("full", ignore(case))]
    Full,
    #[token("cross", ignore(case))]
    Cross,
    #[token("outer", ignore(case))]
    Outer,
    #[token("on", ignore(case))]
    On,
    #[token("using", ignore(case))]
    Using,
    #[token("create", ignore(case))]
    Create,
    #[token("table", ignore(case))]
    Table,
    #[token("if", ignore(case))]
    If,
    #[token("exists", ignore(case))]
    Exists,
    #[token("primary", ignore(case))]
    Primary,
    #[token("key", ignore(case))]
    Key,
    #[token("unique", ignore(case))]
    Unique,
    #[token("index", ignore(case))]
    Index,
    #[token("default", ignore(case))]
    Default,
    #[token("auto_increment", ignore(case))]
    AutoIncrement,
    #[token("references", ignore(case))]
    References,
    #[token("foreign", ignore(case))]
    Foreign,
    #[token("check", ignore(case))]
    Check,
    #[token("insert", ignore(case))]
    Insert,
    #[token("into", ignore(case))]
    Into,
    #[token("values", ignore(case))]
    Values,
    #[token("update", ignore(case))]
    Update,
    #[token("set", ignore(case))]
    Set,
    #[token("delete", ignore(case))]
    Delete,
    #[token("and", ignore(case))]
    And,
    #[token("or", ignore(case))]
    Or,
    #[token("not", ignore(case))]
    Not,
    #[token("is", ignore(case))]
    Is,
    #[token("in", ignore(case))]
    In,
    #[token("like", ignore(case))]
    Like,
    #[token("between", ignore(case))]
    Between,
    #[token("case", ignore(case))]
    Case,
    #[token("when", ignore(case))]
    When,
    #[token("then", ignore(case))]
    Then,
    #[token("else", ignore(case))]
    Else,
    #[token("end", ignore(case))]
    End,
    #[token("cast", ignore(case))]
    Cast,
    #[token("null", ignore(case))]
    Null,
    #[token("true", ignore(case))]
    True,
    #[token("false", ignore(case))]
    False,

    #[regex(r"[A-Za-z_][A-Za-z0-9_$]*")]
    #[regex(r#""([^"]|"")*""#)]
    #[regex(r"`([^`]|``)*`")]
    Name,
    #[regex(r"[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?")]
    #[regex(r"\.[0-9]+([eE][+-]?[0-9]+)?")]
    Number,
    #[regex(r"'([^']|'')*'")]
    Text,

    #[token("?")]
    Parameter,
    #[token("(")]
    Open,
    #[token(")")]
    Close,
    #[token(",")]
    Comma,
    #[token(".")]
    Dot,
    #[token(";")]
    Semicolon,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("%")]
    Percent,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("||")]
    Concat,
    #[token("=")]
    Equal,
    #[token("<>")]
    #[token("!=")]
    NotEqual,
    #[token("<")]
    Less,
    #[token("<=")]
    LessEqual,
    #[token(">")]
    Greater,
    #[token(">=")]
    GreaterEqual,
}

impl Token {
    /// The strength with which a binary operator binds its operands, or `None` for another token.
    pub(super) fn binding(self) -> Option<u8> {
        Some(match self {
            Self::Or => 1,
            Self::And => 2,
            Self::Equal | Self::NotEqual | Self::Less | Self::LessEqual | Self::Greater | Self::GreaterEqual => 4,
            Self::Plus | Self::Minus | Self::Concat => 5,
            Self::Star | Self::Slash | Self::Percent => 6,
            _ => return None,
        })
    }

    /// Whether the word may be a name too: the grammar has it in few places, where no name can be.
    pub(super) fn may_be_name(self) -> bool {
        matches!(
            self,
            Self::Name
                | Self::Key
                | Self::Index
                | Self::First
                | Self::Last
                | Self::Nulls
                | Self::If
                | Self::Offset
                | Self::AutoIncrement
        )
    }
}
