//! The flat tree of a text.

/// The number of words of a node.
pub const NODE_WORDS: usize = 4;

/// The kind of a node. A node's children are listed in their order. Children in brackets may be absent. Then [`Kind::Absent`] stands in
/// their place. `src/families/codec/sql-tree.ts` has the same numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum Kind {
    /// Stands for a part that the statement leaves out.
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
    /// A query instead of a table: select, \[alias\].
    Derived = 7,
    /// Table, \[condition\], \[columns\]. The flags are a number: 0 inner, 1 left, 2 right, 3 full, 4 cross join.
    Join = 8,
    /// Expression. Flags: 1 descending, 2 NULLS FIRST, 4 NULLS LAST.
    Order = 9,
    /// Name, columns and constraints. Flag 1: IF NOT EXISTS.
    CreateTable = 10,
    /// Name, type, constraints.
    Column = 11,
    /// Name, \[columns\], rows or select.
    Insert = 12,
    /// The values of a row.
    Row = 13,
    /// Name, assignments, \[condition\].
    Update = 14,
    /// Name, expression.
    Assignment = 15,
    /// Name, \[condition\].
    Delete = 16,
    /// Operand. Flag 1: NOT.
    IsNull = 17,
    /// Operand, low, high. Flag 1: NOT.
    Between = 18,
    /// Operand, list or select. Flag 1: NOT.
    In = 19,
    /// Left, right. Flag 1: NOT.
    Like = 20,
    /// \[operand\], conditions and values in turn, \[value of ELSE\].
    Case = 21,
    /// Expression, type.
    Cast = 22,
    /// Select.
    Exists = 23,
    /// A name. The text is as it is written, dots included.
    Name = 24,
    /// A number, as it is written.
    Number = 25,
    /// A text, with its quotes.
    Text = 26,
    /// TRUE, FALSE or NULL.
    Word = 27,
    /// `?`.
    Parameter = 28,
    /// Left, right. The text is the operator.
    Binary = 29,
    /// Operand. The text is the operator.
    Unary = 30,
    /// Arguments. The text is the name. Flag 1: DISTINCT.
    Call = 31,
    /// The text is the name. The children are its arguments.
    Type = 32,
    /// The text is the first word of the constraint. The children are its names or its expression.
    Constraint = 33,
}

impl Kind {
    /// All kinds, in the order of their numbers.
    const ALL: [Self; 34] = [
        Self::Absent,
        Self::List,
        Self::Statements,
        Self::Select,
        Self::Item,
        Self::Wildcard,
        Self::Table,
        Self::Derived,
        Self::Join,
        Self::Order,
        Self::CreateTable,
        Self::Column,
        Self::Insert,
        Self::Row,
        Self::Update,
        Self::Assignment,
        Self::Delete,
        Self::IsNull,
        Self::Between,
        Self::In,
        Self::Like,
        Self::Case,
        Self::Cast,
        Self::Exists,
        Self::Name,
        Self::Number,
        Self::Text,
        Self::Word,
        Self::Parameter,
        Self::Binary,
        Self::Unary,
        Self::Call,
        Self::Type,
        Self::Constraint,
    ];

    /// Whether the text of such a node says more than its children do: a name, a value, an operator or a word.
    pub fn has_text(self) -> bool {
        self >= Self::Name
    }
}

/// The flags of a join.
pub(super) const JOIN_INNER: u16 = 0;
pub(super) const JOIN_LEFT: u16 = 1;
pub(super) const JOIN_RIGHT: u16 = 2;
pub(super) const JOIN_FULL: u16 = 3;
pub(super) const JOIN_CROSS: u16 = 4;

/// The words of a node as they lie in the buffer. The first word holds the kind in its lower half and the flags in its upper half. Then
/// come the place of its text, the length of its text, and the number of the first node of its subtree.
pub(super) type Words = [u32; NODE_WORDS];

/// A node of a [`Tree`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Node {
    /// The kind.
    pub kind: Kind,
    /// The flags of the kind.
    pub flags: u16,
    /// The place of the node's text in the source, in bytes.
    pub start: u32,
    /// The length of the node's text, in bytes.
    pub length: u32,
    /// The number of the first node of the subtree. The subtree ends with this node: its last child is the node before it. The child
    /// before a child is the node before that child's first node.
    pub first: u32,
}

impl Node {
    fn of([kind_and_flags, start, length, first]: Words) -> Self {
        let [kind, flags] = [kind_and_flags & 0xffff, kind_and_flags >> 16];
        #[expect(clippy::cast_possible_truncation, reason = "the upper half of a word of 32 bits")]
        Self { kind: Kind::ALL[kind as usize], flags: flags as u16, start, length, first }
    }

    /// The node's text in the source that was parsed.
    pub fn text<'a>(&self, sql: &'a str) -> &'a str {
        &sql[self.start as usize..(self.start + self.length) as usize]
    }
}

/// The nodes of a text, children before their parents. The last node is the root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    nodes: Vec<Words>,
}

impl Tree {
    /// The number of nodes.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are no nodes, as before the first text is parsed.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// A node by its number.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn node(&self, number: usize) -> Node {
        Node::of(self.nodes[number])
    }

    /// All nodes, children before their parents.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = Node> + ExactSizeIterator {
        self.nodes.iter().copied().map(Node::of)
    }

    /// The words of all nodes, [`NODE_WORDS`] per node: the kind with the flags in its upper half, the place and the length of the text in
    /// bytes, and the number of the first node of the subtree.
    pub fn words(&self) -> &[u32] {
        self.nodes.as_flattened()
    }

    /// The numbers of a node's children, from the last one to the first one.
    ///
    /// # Panics
    /// If there is no such node.
    pub fn children_backwards(&self, node: usize) -> impl Iterator<Item = usize> {
        let first = self.first(node);
        let mut next = node;
        std::iter::from_fn(move || {
            let child = (next > first).then(|| next - 1)?;
            next = self.first(child);
            Some(child)
        })
    }

    /// The depth of the tree: 1 of a root alone, 0 without nodes.
    pub fn depth(&self) -> usize {
        // The first nodes of the subtrees that are open, from the root's on.
        let mut open: Vec<usize> = Vec::new();
        let mut deepest = 0;
        for node in (0..self.len()).rev() {
            while open.last().is_some_and(|first| *first > node) {
                open.pop();
            }
            open.push(self.first(node));
            deepest = deepest.max(open.len());
        }
        deepest
    }

    /// Makes a value of each node out of the values of its children, and returns the root's value, or `None` without nodes. It does not
    /// recurse.
    pub fn fold<T>(&self, mut make: impl FnMut(Node, Vec<T>) -> T) -> Option<T> {
        // The values whose parents have not come yet, with the numbers of their nodes.
        let mut waiting: Vec<(usize, T)> = Vec::new();
        for (number, node) in self.nodes().enumerate() {
            let first = node.first as usize;
            let others = waiting.iter().rposition(|(child, _)| *child < first).map_or(0, |place| place + 1);
            let children = waiting.drain(others..).map(|(_, value)| value).collect();
            waiting.push((number, make(node, children)));
        }
        waiting.pop().map(|(_, root)| root)
    }

    /// The number of the first node of a node's subtree.
    pub(super) fn first(&self, node: usize) -> usize {
        self.nodes[node][3] as usize
    }

    /// Removes all nodes. Memory for more of them than most texts have is given back.
    pub(super) fn clear(&mut self) {
        /// The nodes of 4 MiB.
        const KEPT: usize = 1 << 18;
        self.nodes.clear();
        self.nodes.shrink_to(KEPT);
    }

    pub(super) fn push(&mut self, words: Words) {
        self.nodes.push(words);
    }

    pub(super) fn pop(&mut self) -> Option<Node> {
        self.nodes.pop().map(Node::of)
    }

    pub(super) fn last(&self) -> Option<Node> {
        self.nodes.last().copied().map(Node::of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_is_where_its_number_says() {
        for (number, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, number);
        }
    }
}
