//! The flat tree of a statement.

/// The number of words of a node.
pub const NODE_WORDS: usize = 4;

/// What a node is. A node's children are listed in their order; those in brackets may be absent, in which case [`Kind::Absent`] stands
/// in their place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub enum Kind {
    /// In place of a part that the statement leaves out.
    Absent = 0,
    /// Any number of nodes of one kind.
    List = 1,
    /// All statements of a text.
    Statements = 2,
    /// Items, \[table with joins\], \[condition\], \[groups\], \[condition on groups\], \[order\], \[limit\], \[offset\]. Flag 1: DISTINCT.
    Select = 3,
    /// Expression, \[alias\].
    Item = 4,
    /// `*`, or with a name `t.*`: \[name\].
    Wildcard = 5,
    /// Name, \[alias\].
    Table = 6,
    /// A query in place of a table: select, \[alias\].
    Derived = 7,
    /// Table, \[condition\], \[columns\]. The flags are [`JOIN_INNER`] and those behind it.
    Join = 8,
    /// Expression. Flags: 1 descending, 2 NULLS FIRST, 4 NULLS LAST.
    Order = 9,
    /// Name, columns and constraints. Flag 1: IF NOT EXISTS.
    CreateTable = 10,
    /// Name, type, constraints.
    Column = 11,
    /// The text is the name; the children are its arguments.
    Type = 12,
    /// The text is the first word of the constraint; the children are its names or its expression.
    Constraint = 13,
    /// Name, \[columns\], rows or select.
    Insert = 14,
    /// The values of a row.
    Row = 15,
    /// Name, assignments, \[condition\].
    Update = 16,
    /// Name, expression.
    Assignment = 17,
    /// Name, \[condition\].
    Delete = 18,
    /// A name; the text is as it is written, dots included.
    Name = 19,
    /// A number, as it is written.
    Number = 20,
    /// A text, with its quotes.
    Text = 21,
    /// TRUE, FALSE or NULL.
    Word = 22,
    /// `?`.
    Parameter = 23,
    /// Left, right. The text is the operator.
    Binary = 24,
    /// Operand. The text is the operator.
    Unary = 25,
    /// Operand. Flag 1: NOT.
    IsNull = 26,
    /// Operand, low, high. Flag 1: NOT.
    Between = 27,
    /// Operand, list or select. Flag 1: NOT.
    In = 28,
    /// Left, right. Flag 1: NOT.
    Like = 29,
    /// Arguments. The text is the name. Flag 1: DISTINCT.
    Call = 30,
    /// \[operand\], conditions and values in turn, \[value of ELSE\].
    Case = 31,
    /// Expression, type.
    Cast = 32,
    /// Select.
    Exists = 33,
}

/// The flags of a join.
pub(super) const JOIN_INNER: u16 = 0;
pub(super) const JOIN_LEFT: u16 = 1;
pub(super) const JOIN_RIGHT: u16 = 2;
pub(super) const JOIN_FULL: u16 = 3;
pub(super) const JOIN_CROSS: u16 = 4;

/// A node as it lies in the buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct Node {
    /// The kind in the lower half, and the flags in the upper one.
    pub kind_and_flags: u32,
    /// The place of the node's text in the source, in bytes.
    pub start: u32,
    /// The length of the node's text, in bytes.
    pub length: u32,
    /// The number of the first node of the subtree, which ends with this node: its last child is the node before it, and the child before
    /// a child is the node before that child's first one.
    pub first: u32,
}

impl Node {
    /// The number of the kind.
    #[must_use]
    pub fn kind(&self) -> u16 {
        (self.kind_and_flags & 0xffff) as u16
    }

    /// The flags.
    #[must_use]
    pub fn flags(&self) -> u16 {
        (self.kind_and_flags >> 16) as u16
    }
}

/// The nodes of a text, of which the last one is the root.
#[derive(Debug, Clone, Default)]
pub struct Tree {
    pub(super) nodes: Vec<Node>,
}

impl Tree {
    /// All nodes, children before their parents.
    #[must_use]
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Writes the words of all nodes over the beginning of `into`, and returns their number.
    ///
    /// # Errors
    /// The number of words that are needed.
    pub fn write_words(&self, into: &mut [u32]) -> Result<usize, usize> {
        let words = self.nodes.len() * NODE_WORDS;
        let into = into.get_mut(..words).ok_or(words)?;
        for (node, place) in self.nodes.iter().zip(into.chunks_exact_mut(NODE_WORDS)) {
            place.copy_from_slice(&[node.kind_and_flags, node.start, node.length, node.first]);
        }
        Ok(words)
    }

    /// The numbers of a node's children, in their order.
    #[must_use]
    pub fn children(&self, node: usize) -> Vec<usize> {
        let mut children = Vec::new();
        let first = self.nodes[node].first as usize;
        let mut next = node;
        while next > first {
            let child = next - 1;
            children.push(child);
            next = self.nodes[child].first as usize;
        }
        children.reverse();
        children
    }
}
