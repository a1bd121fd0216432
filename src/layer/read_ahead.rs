//! Reading ahead: a reader that takes its time works on a thread of its own, while the caller uses what came before.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread::{Builder, Scope};

/// How much is read at a time.
const PIECE: usize = 128 * 1024;

/// How many pieces wait for the caller at most; one more is being read, and one is with the caller.
const WAITING: usize = 2;

/// Gives what a reader gives, and its error where it fails.
pub(super) enum ReadAhead<R> {
    /// Read on a thread, which ends soon after this is dropped.
    Thread(Pieces),
    /// Read when it is asked for.
    Here(R),
}

/// What comes from the thread.
pub(super) struct Pieces {
    receiver: Receiver<io::Result<Vec<u8>>>,
    piece: Vec<u8>,
    used: usize,
    over: bool,
}

impl<R: Read + Send> ReadAhead<R> {
    /// Begins to read on a thread, or, where none can be had, does without.
    pub(super) fn begin<'scope>(scope: &'scope Scope<'scope, '_>, reader: R) -> Self
    where
        R: 'scope,
    {
        let (sender, receiver) = sync_channel(WAITING);
        // It follows the thread, for what is moved into one that does not start is lost.
        let (give, take) = channel::<R>();
        let run = move || {
            if let Ok(reader) = take.recv() {
                read(reader, &sender);
            }
        };
        let thread = Builder::new().name("unpack".into());
        if thread.spawn_scoped(scope, run).is_err() {
            return Self::Here(reader);
        }
        match give.send(reader) {
            Ok(()) => Self::Thread(Pieces {
                receiver,
                piece: Vec::new(),
                used: 0,
                over: false,
            }),
            Err(returned) => Self::Here(returned.0),
        }
    }
}

/// Reads to the end, to an error, or until nobody listens; an empty piece says that the end was reached.
fn read(mut reader: impl Read, pieces: &SyncSender<io::Result<Vec<u8>>>) {
    loop {
        let mut piece = Vec::with_capacity(PIECE);
        let read = reader.by_ref().take(PIECE as u64).read_to_end(&mut piece);
        // What came before an error goes before it.
        let over = piece.is_empty() || read.is_err();
        if !piece.is_empty() && pieces.send(Ok(piece)).is_err() {
            return;
        }
        if over {
            let _ = pieces.send(read.map(|_| Vec::new()));
            return;
        }
    }
}

impl Pieces {
    /// Takes the next piece when this one is used up.
    fn fill(&mut self) -> io::Result<()> {
        if self.over || self.used < self.piece.len() {
            return Ok(());
        }
        let next = self.receiver.recv();
        self.piece =
            next.map_err(|_| io::Error::other("the thread that unpacks ended early"))??;
        self.used = 0;
        self.over = self.piece.is_empty();
        Ok(())
    }
}

impl<R: Read> Read for ReadAhead<R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Here(reader) => reader.read(target),
            Self::Thread(pieces) => {
                pieces.fill()?;
                let left = pieces.piece.get(pieces.used..).unwrap_or_default();
                let count = left.len().min(target.len());
                if let (Some(target), Some(left)) = (target.get_mut(..count), left.get(..count)) {
                    target.copy_from_slice(left);
                }
                pieces.used = pieces.used.saturating_add(count);
                Ok(count)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    /// Gives `left` bytes, at most 1,000 at a time, and then fails or ends.
    struct Source {
        left: usize,
        fails: bool,
    }

    impl Read for Source {
        fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
            if self.left == 0 && self.fails {
                return Err(io::Error::other("broken"));
            }
            let count = self.left.min(target.len()).min(1000);
            for (at, slot) in target[..count].iter_mut().enumerate() {
                *slot = u8::try_from((self.left - at) % 251).unwrap();
            }
            self.left -= count;
            Ok(count)
        }
    }

    fn read_all(mut reader: impl Read) -> (Vec<u8>, io::Result<usize>) {
        let mut all = Vec::new();
        let read = reader.read_to_end(&mut all);
        (all, read)
    }

    #[test]
    fn the_same_bytes_and_the_same_error_come_in_the_same_place() {
        for fails in [false, true] {
            for left in [0, 1, PIECE - 1, PIECE, PIECE + 1, 9 * PIECE + 7] {
                let (expected, _) = read_all(Source { left, fails });
                let (found, read) = thread::scope(|scope| {
                    read_all(ReadAhead::begin(scope, Source { left, fails }))
                });
                assert!(found == expected, "{left} {fails}");
                assert_eq!(read.is_err(), fails, "{left}");
                if let Err(error) = read {
                    assert_eq!(error.to_string(), "broken");
                }
            }
        }
    }

    #[test]
    fn after_the_end_there_is_nothing() {
        thread::scope(|scope| {
            let left = 5;
            let mut ahead = ReadAhead::begin(scope, Source { left, fails: false });
            assert_eq!(ahead.read(&mut [0; 9]).unwrap(), 5);
            for _ in 0..3 {
                assert_eq!(ahead.read(&mut [0; 9]).unwrap(), 0);
            }
        });
    }

    #[test]
    fn a_reader_that_nobody_listens_to_any_more_stops() {
        // Without an end of its own: the scope would wait for ever.
        thread::scope(|scope| {
            let mut ahead = ReadAhead::begin(scope, io::repeat(1));
            assert_eq!(ahead.read(&mut [0; 9]).unwrap(), 9);
        });
    }

    #[test]
    fn a_thread_that_ends_early_is_no_end() {
        let (sender, receiver) = sync_channel(WAITING);
        sender.send(Ok(vec![1; 3])).unwrap();
        drop(sender);
        let (found, read) = read_all(ReadAhead::<io::Empty>::Thread(Pieces {
            receiver,
            piece: Vec::new(),
            used: 0,
            over: false,
        }));
        assert_eq!(found, [1; 3]);
        assert!(read.unwrap_err().to_string().contains("ended early"));
    }
}
