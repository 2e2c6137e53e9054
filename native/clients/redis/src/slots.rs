//! The slots of a cluster: the slot of a key, and the key of a command.

use std::sync::LazyLock;

use crate::resp::arguments_of;

/// The number of slots of a cluster.
pub(crate) const SLOTS: u16 = 16_384;

/// The remainders of CRC-16/XMODEM of every byte.
static CRC: LazyLock<[u16; 256]> = LazyLock::new(|| {
    std::array::from_fn(|byte| {
        let start = u16::try_from(byte).unwrap_or_default() << 8;
        (0..8).fold(start, |crc, _| if crc & 0x8000 == 0 { crc << 1 } else { (crc << 1) ^ 0x1021 })
    })
});

/// The slot of a key: of its hash tag, the text in its first braces, if that is not empty.
#[must_use]
pub(crate) fn slot_of(key: &[u8]) -> u16 {
    let tag = key.iter().position(|byte| *byte == b'{').and_then(|open| {
        let rest = &key[open + 1..];
        rest.iter().position(|byte| *byte == b'}').filter(|close| *close > 0).map(|close| &rest[..close])
    });
    let table = &*CRC;
    let crc =
        tag.unwrap_or(key).iter().fold(0_u16, |crc, byte| (crc << 8) ^ table[usize::from((crc >> 8) as u8 ^ byte)]);
    crc % SLOTS
}

/// The key whose slot a command goes to; `None` for a command that any server executes.
pub(crate) fn key_of(command: &[u8]) -> Option<&[u8]> {
    let mut arguments = arguments_of(command);
    let name = arguments.next()?.to_ascii_uppercase();
    match name.as_slice() {
        b"PING" | b"ECHO" | b"TIME" | b"INFO" | b"DBSIZE" | b"CONFIG" | b"CLIENT" | b"COMMAND" | b"CLUSTER"
        | b"DEBUG" | b"FLUSHALL" | b"FLUSHDB" | b"SCRIPT" | b"FUNCTION" | b"ACL" | b"WAIT" | b"LASTSAVE" | b"SCAN"
        | b"KEYS" => None,
        b"EVAL" | b"EVALSHA" | b"EVAL_RO" | b"EVALSHA_RO" | b"FCALL" | b"FCALL_RO" => arguments.nth(2),
        b"OBJECT" | b"MEMORY" | b"XGROUP" | b"XINFO" | b"BITOP" => arguments.nth(1),
        b"XREAD" | b"XREADGROUP" => {
            arguments.find(|argument| argument.eq_ignore_ascii_case(b"STREAMS"))?;
            arguments.next()
        }
        _ => arguments.next(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::Commands;

    #[test]
    fn slots_are_those_of_the_servers() {
        // The slots that CLUSTER KEYSLOT gives.
        assert_eq!([slot_of(b"123456789"), slot_of(b"foo"), slot_of(b"")], [12_739, 12_182, 0]);
        assert_eq!(slot_of(b"{user1000}.following"), slot_of(b"user1000"));
        assert_eq!(slot_of(b"foo{{bar}}zap"), slot_of(b"{bar"));
        assert_ne!(slot_of(b"foo{}{bar}"), slot_of(b"bar"));
    }

    #[test]
    fn the_key_of_a_command_is_where_the_command_has_it() {
        let key = |words: &[&str]| {
            let mut commands = Commands::new();
            commands.push(words.iter().map(|word| word.as_bytes()));
            key_of(commands.command(0)).map(|key| String::from_utf8(key.to_vec()).unwrap())
        };
        assert_eq!(key(&["get", "a"]).as_deref(), Some("a"));
        assert_eq!(key(&["EVAL", "return 1", "1", "a"]).as_deref(), Some("a"));
        assert_eq!(key(&["XREAD", "COUNT", "2", "streams", "a", "0"]).as_deref(), Some("a"));
        assert_eq!(key(&["PING", "a"]), None);
    }
}
