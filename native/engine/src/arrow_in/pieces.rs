//! Arrow's streams and files (<https://arrow.apache.org/docs/format/Columnar.html#serialization-and-interprocess-communication-ipc>)
//! as they arrive: in pieces that may be cut anywhere, several one after another.

use std::collections::VecDeque;
use std::ops::Range;

use arrow_buffer::{Buffer, MutableBuffer};
use arrow_ipc::convert::MessageBuffer;
use arrow_schema::SchemaRef;
use boundary_bench_kernel::{Error, Result};

use super::messages::{Decoded, MessageReader, invalid, schema_of};

/// The first bytes of a message.
const CONTINUATION: [u8; 4] = [0xff; 4];

/// The first and the last bytes of a file.
const MAGIC: [u8; 6] = *b"ARROW1";

/// The number of bytes behind a file's footer: its length, and the magic bytes.
const TRAILER: usize = 4 + MAGIC.len();

/// Maximum length of a file's footer.
const MOST_FOOTER: usize = 64 << 20;

/// The most bytes among which the end of a file is looked for at once.
const END_STEP: usize = 16 << 10;

/// Other formats by their first bytes, for the message that refuses them.
const OTHER_FORMATS: [(&[u8], &str); 4] = [
    (b"PAR1", "a Parquet file; convert it to an Arrow stream or file"),
    (b"FEA1", "a file of Feather's version 1; write version 2, which is an Arrow file"),
    (&[0x1f, 0x8b], "compressed by gzip as a whole; decompress it first, or compress the buffers of its batches"),
    (
        &[0x28, 0xb5, 0x2f, 0xfd],
        "compressed by ZSTD as a whole; decompress it first, or compress the buffers of its batches",
    ),
];

/// The message for bytes that may be the length of a message without a mark before it.
const OLD_STREAM: &str = "bytes that begin no message; if this is a stream from before Arrow 0.15, whose messages have no \
     continuation mark (pyarrow's use_legacy_format), write it again in the format of today";

/// A reader of streams and files. If the bytes of a message lie in one piece, its arrays stay in the memory of that piece.
#[derive(Debug, Default)]
pub struct PieceReader {
    messages: MessageReader,
    state: State,
    /// The bytes of a part whose end has not come.
    part: MutableBuffer,
    /// The file whose messages are read, or `None` for a stream.
    file: Option<File>,
}

/// The part that comes next.
#[derive(Debug, Default)]
enum State {
    /// The first four bytes of a message, of the end of a stream, or of a file.
    #[default]
    Prefix,
    /// The length of a message's header.
    Length,
    /// The header of a message, of this length.
    Header(usize),
    /// The body of a message, of this length.
    Body(MessageBuffer, usize),
    /// The rest of the magic bytes of a file.
    Magic,
    /// The zeros behind the magic bytes.
    Padding,
    /// The first four bytes of a file's footer, or of another mark of the end. flechette writes two marks.
    Ended,
    /// The footer of a file.
    Footer,
    /// The rest of a file that does not begin with a message, such as a file by polars. Its footer tells where the messages are.
    Rest,
    /// Nothing, until the messages of a file that begins without its schema are decoded.
    Waiting,
}

/// A file under way.
#[derive(Debug, Default)]
struct File {
    /// The number of bytes before the first message.
    before: usize,
    /// The number of batches so far.
    batches: usize,
    /// The messages of a file that has its schema in the footer alone, as those that Arrow's JavaScript library and polars write.
    waiting: VecDeque<(MessageBuffer, Buffer)>,
}

impl PieceReader {
    /// Decodes the next message, and advances `input` behind it. Returns `None` once all of `input` is taken.
    pub fn next(&mut self, input: &mut Buffer) -> Result<Option<Decoded>> {
        loop {
            match &self.state {
                State::Prefix => {
                    let Some(prefix) = self.take(input, CONTINUATION.len()) else { return Ok(None) };
                    self.begin(&prefix)?;
                }
                State::Length => {
                    let Some(length) = self.take(input, 4) else { return Ok(None) };
                    let length = length.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes));
                    let length = usize::try_from(length).map_err(|error| invalid(&error))?;
                    if length == 0 { self.end() } else { self.state = State::Header(length) }
                }
                State::Header(length) => {
                    let length = *length;
                    let Some(header) = self.take(input, length) else { return Ok(None) };
                    let message = MessageBuffer::try_new(header).map_err(|error| invalid(&error))?;
                    let body = message.as_ref().bodyLength();
                    let body = usize::try_from(body).map_err(|_| invalid(&"a message of a negative length"))?;
                    self.state = State::Body(message, body);
                }
                State::Body(message, length) => {
                    let (message, length) = (message.clone(), *length);
                    let Some(body) = self.take(input, length) else { return Ok(None) };
                    self.state = State::Prefix;
                    if let Some(decoded) = self.message(message, body)? {
                        return Ok(Some(decoded));
                    }
                }
                State::Magic => {
                    let Some(rest) = self.take(input, MAGIC.len() - CONTINUATION.len()) else { return Ok(None) };
                    if *rest != MAGIC[CONTINUATION.len()..] {
                        return Err(invalid(&"bytes that begin no message"));
                    }
                    self.file = Some(File { before: MAGIC.len(), ..File::default() });
                    self.state = State::Padding;
                }
                State::Padding => {
                    let zeros = input.iter().position(|byte| *byte != 0).unwrap_or(input.len());
                    input.advance(zeros);
                    self.file.iter_mut().for_each(|file| file.before += zeros);
                    if input.is_empty() {
                        return Ok(None);
                    }
                    self.state = State::Prefix;
                }
                State::Ended => {
                    let Some(prefix) = self.take(input, CONTINUATION.len()) else { return Ok(None) };
                    if *prefix != CONTINUATION && *prefix != [0; 4] {
                        self.part.extend_from_slice(&prefix);
                        self.state = State::Footer;
                    }
                }
                State::Footer => {
                    let Some(length) = self.footer(input)? else { return Ok(None) };
                    if let Some(schema) = self.close(length)? {
                        return Ok(Some(Decoded::Schema(schema)));
                    }
                }
                State::Rest => {
                    let Some(schema) = self.rest(input)? else { return Ok(None) };
                    return Ok(Some(Decoded::Schema(schema)));
                }
                State::Waiting => match self.file.as_mut().and_then(|file| file.waiting.pop_front()) {
                    Some((message, body)) => return self.messages.read(message.as_ref(), &body).map(Some),
                    None => *self = Self::default(),
                },
            }
        }
    }

    /// Ends the input. The next bytes begin a new stream or file.
    pub fn finish(&mut self) -> Result<()> {
        let Self { state, part, file, .. } = std::mem::take(self);
        if file.is_some() {
            return Err(invalid(&"the Arrow file ends before the end of its footer"));
        }
        if matches!(state, State::Prefix) && part.is_empty() {
            return Ok(());
        }
        Err(invalid(&"it ends within a message"))
    }

    /// Takes a part of this length. Returns `None` if its end has not come.
    fn take(&mut self, input: &mut Buffer, length: usize) -> Option<Buffer> {
        if self.part.is_empty() && input.len() >= length {
            let part = input.slice_with_length(0, length);
            input.advance(length);
            return Some(part);
        }
        let taken = input.len().min(length - self.part.len());
        self.part.extend_from_slice(&input[..taken]);
        input.advance(taken);
        (self.part.len() == length).then(|| std::mem::take(&mut self.part).into())
    }

    fn begin(&mut self, prefix: &[u8]) -> Result<()> {
        let at_start = !self.messages.has_schema() && self.file.is_none();
        if prefix == CONTINUATION {
            self.state = State::Length;
        } else if prefix == [0; 4] {
            // The end of a stream in the format's first version.
            self.end();
        } else if at_start && MAGIC.starts_with(prefix) {
            self.state = State::Magic;
        } else if self.file.as_ref().is_some_and(|file| file.waiting.is_empty()) && !self.messages.has_schema() {
            self.part.extend_from_slice(prefix);
            self.state = State::Rest;
        } else {
            // Any four bytes could be the length of a message in the format's first version, whose bytes would then be awaited.
            let other = OTHER_FORMATS.iter().find(|(bytes, _)| at_start && prefix.starts_with(bytes));
            let is_short = at_start && prefix.last() == Some(&0);
            let old = if is_short { OLD_STREAM } else { "bytes that begin no message" };
            return Err(invalid(&other.map_or(old, |(_, name)| *name)));
        }
        Ok(())
    }

    /// Ends a stream, or that part of a file which is one.
    fn end(&mut self) {
        if self.file.is_some() { self.state = State::Ended } else { *self = Self::default() }
    }

    fn message(&mut self, message: MessageBuffer, body: Buffer) -> Result<Option<Decoded>> {
        if let Some(file) = &mut self.file {
            let kind = message.as_ref().header_type();
            file.batches += usize::from(kind == arrow_ipc::MessageHeader::RecordBatch);
            if !self.messages.has_schema() && kind != arrow_ipc::MessageHeader::Schema {
                file.waiting.push_back((message, body));
                return Ok(None);
            }
        }
        self.messages.read(message.as_ref(), &body).map(Some)
    }

    /// Gathers the footer. Returns its length once its end has come.
    fn footer(&mut self, input: &mut Buffer) -> Result<Option<usize>> {
        while !input.is_empty() {
            let seen = self.part.len();
            self.part.extend_from_slice(&input[..input.len().min(END_STEP)]);
            let from = seen.saturating_sub(TRAILER - 1);
            let end = self.part[from..].windows(TRAILER).enumerate().find_map(|(index, trailer)| {
                let (length, magic) = trailer.split_first_chunk::<4>()?;
                let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
                (magic == MAGIC && length == from + index).then_some(length)
            });
            if let Some(length) = end {
                input.advance(length + TRAILER - seen);
                return Ok(Some(length));
            }
            input.advance(self.part.len() - seen);
            if self.part.len() > MOST_FOOTER {
                return Err(invalid(&"an Arrow file without the end of its footer"));
            }
        }
        Ok(None)
    }

    /// Gathers the rest of a file. Returns its schema once its end has come, when its messages are known.
    fn rest(&mut self, input: &mut Buffer) -> Result<Option<SchemaRef>> {
        while !input.is_empty() {
            let seen = self.part.len();
            self.part.extend_from_slice(&input[..input.len().min(END_STEP)]);
            let from = seen.saturating_sub(MAGIC.len() - 1);
            let ends = self.part[from..].windows(MAGIC.len()).enumerate().filter(|(_, window)| **window == MAGIC);
            let before = self.file.as_ref().map_or(0, |file| file.before);
            let end =
                ends.map(|(index, _)| from + index).find_map(|magic| Some((magic, listed(&self.part, before, magic)?)));
            let Some((magic, (footer, blocks))) = end else {
                input.advance(self.part.len() - seen);
                continue;
            };
            input.advance(magic + MAGIC.len() - seen);
            let part: Buffer = std::mem::take(&mut self.part).into();
            let footer = arrow_ipc::root_as_footer(&part[footer]).map_err(|error| invalid(&error))?;
            let schema = footer.schema().ok_or_else(|| invalid(&"the footer of the Arrow file has no schema"))?;
            let schema = self.messages.set_schema(schema_of(schema)?);
            let slice = |range: Range<usize>| part.slice_with_length(range.start, range.len());
            let messages = blocks.into_iter().map(|Block { header, body }| {
                let message = MessageBuffer::try_new(slice(header)).map_err(|error| invalid(&error))?;
                Ok((message, slice(body)))
            });
            let waiting = messages.collect::<Result<_>>()?;
            self.file = Some(File { waiting, ..File::default() });
            self.state = State::Waiting;
            return Ok(Some(schema));
        }
        Ok(None)
    }

    /// Ends a file by its footer, the first `length` bytes of the part. Returns the schema, if the file does not begin with it.
    fn close(&mut self, length: usize) -> Result<Option<SchemaRef>> {
        let part = std::mem::take(&mut self.part);
        let footer = arrow_ipc::root_as_footer(&part[..length]).map_err(|error| invalid(&error))?;
        let batches = self.file.as_ref().map_or(0, |file| file.batches);
        let listed = footer.recordBatches().map_or(0, |blocks| blocks.len());
        if listed != batches {
            return Err(Error::InvalidIpc(format!(
                "the footer of the Arrow file lists {listed} batches, the file has {batches}"
            )));
        }
        self.state = State::Waiting;
        if self.messages.has_schema() {
            return Ok(None);
        }
        let schema = footer.schema().ok_or_else(|| invalid(&"the footer of the Arrow file has no schema"))?;
        Ok(Some(self.messages.set_schema(schema_of(schema)?)))
    }
}

/// A message of a file: the places of its parts.
struct Block {
    header: Range<usize>,
    body: Range<usize>,
}

/// The place of a file's footer and the messages that it lists, dictionaries first. The file must end with the magic bytes at
/// `magic`. `None` if these bytes are values. `bytes` are the file's bytes from its byte `before` on.
fn listed(bytes: &[u8], before: usize, magic: usize) -> Option<(Range<usize>, Vec<Block>)> {
    let end = magic.checked_sub(4)?;
    let length = usize::try_from(u32::from_le_bytes(*bytes[end..].first_chunk()?)).ok()?;
    let footer = end.checked_sub(length)?..end;
    let listed = arrow_ipc::root_as_footer(&bytes[footer.clone()]).ok()?;
    let blocks = listed.dictionaries().into_iter().flatten().chain(listed.recordBatches().into_iter().flatten());
    let blocks = blocks.map(|block| {
        let start = usize::try_from(block.offset()).ok()?.checked_sub(before)?;
        let body = start.checked_add(usize::try_from(block.metaDataLength()).ok()?)?;
        let end = body.checked_add(usize::try_from(block.bodyLength()).ok()?)?;
        let message = bytes.get(start..body)?;
        // A message of the format's first version begins with its length.
        let rest = message.strip_prefix(&CONTINUATION).unwrap_or(message);
        let length = usize::try_from(u32::from_le_bytes(*rest.first_chunk()?)).ok()?;
        let header = body - rest.len() + 4;
        (header + length <= body && end <= footer.start)
            .then_some(Block { header: header..header + length, body: body..end })
    });
    let blocks = blocks.collect::<Option<_>>()?;
    Some((footer, blocks))
}
