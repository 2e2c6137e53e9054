//! The tree as JSON.

use super::places::Places;
use super::tree::{Node, Tree};

/// Stands for the number of a node, if there is none.
const NONE: u32 = u32::MAX;

impl Tree {
    /// The tree as JSON: `{"kind", "flags", "start", "length", "text", "children"}`, in which places are in units of UTF-16. `text` is
    /// there only if it tells more than the children. It is `null` without nodes. A deep tree takes no more of the stack than a flat one.
    pub fn to_json(&self, sql: &str) -> String {
        /// Roughly the bytes of a node.
        const NODE_BYTES: usize = 80;
        let mut out = String::with_capacity(self.len() * NODE_BYTES);
        let places = Places::of(sql);
        let mut numbers = itoa::Buffer::new();
        // The nodes whose subtrees begin with the same node are a chain, from the outermost one to the innermost one.
        let (mut outermost, mut inner) = (vec![NONE; self.len()], vec![NONE; self.len()]);
        for (number, node) in (0_u32..).zip(self.nodes()) {
            inner[number as usize] = std::mem::replace(&mut outermost[node.first as usize], number);
        }
        for first in outermost {
            let mut opened = first;
            while opened != NONE {
                if out.ends_with('}') {
                    out.push(',');
                }
                write_head(&mut out, &mut numbers, sql, &places, &self.node(opened as usize));
                opened = inner[opened as usize];
            }
            out.push_str("]}");
        }
        if out.is_empty() { "null".to_owned() } else { out }
    }
}

/// Writes a node up to its first child.
fn write_head(out: &mut String, numbers: &mut itoa::Buffer, sql: &str, places: &Places, node: &Node) {
    let (start, length) = places.of_node(node);
    let kind = node.kind as u32;
    let flags = u32::from(node.flags);
    for (name, number) in
        [("{\"kind\":", kind), (",\"flags\":", flags), (",\"start\":", start), (",\"length\":", length)]
    {
        out.push_str(name);
        out.push_str(numbers.format(number));
    }
    if node.kind.has_text() {
        out.push_str(",\"text\":\"");
        write_escaped(out, node.text(sql));
        out.push('"');
    }
    out.push_str(",\"children\":[");
}

fn write_escaped(out: &mut String, text: &str) {
    let is_plain = |byte: u8| byte >= 0x20 && byte != b'"' && byte != b'\\';
    if text.bytes().all(is_plain) {
        out.push_str(text);
        return;
    }
    for character in text.chars() {
        match character {
            '"' | '\\' => out.extend(['\\', character]),
            '\0'..'\x20' => {
                let hexadecimal = |digit: u32| char::from_digit(digit, 16).unwrap_or('0');
                let code = u32::from(character);
                out.push_str("\\u00");
                out.extend([hexadecimal(code >> 4), hexadecimal(code & 15)]);
            }
            _ => out.push(character),
        }
    }
}
