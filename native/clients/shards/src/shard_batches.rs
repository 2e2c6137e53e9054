//! The rows of a population, as messages.

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;

use crate::ipc::ArrowMessage;

/// The rows of a population that one shard gets.
pub struct ShardBatches<S> {
    /// The number of rows.
    pub rows: u64,
    /// The messages of one Arrow stream with the rows, from its schema to its end.
    pub messages: S,
}

/// The rows that one shard gets from a sender. The sender waits while the shard has not taken the earlier messages.
pub type SentBatches = ShardBatches<ReceiverStream<ArrowMessage>>;

/// The number of messages that may wait between the sender and the shard.
const AHEAD: usize = 2;

impl SentBatches {
    /// The rows that will be sent, and their sender. Drop it after the last message.
    pub fn new(rows: u64) -> (mpsc::Sender<ArrowMessage>, Self) {
        let (sender, receiver) = mpsc::channel(AHEAD);
        (sender, Self { rows, messages: ReceiverStream::new(receiver) })
    }
}
