//! What a request carries: nothing, some bytes, or a content that is read as it is sent and can be sent again.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use futures_util::stream::{self, Stream};

use crate::content::Content;
use crate::digest::Digest;

use super::event::{Event, Events};

/// How much is read from a content at a time.
const PIECE: usize = 256 * 1024;

/// The body of a request. Its `Debug` form is its length: it may be a form with a token.
#[derive(Clone)]
pub(super) enum Body {
    /// No body.
    None,
    /// Bytes in memory.
    Bytes(Bytes),
    /// A part or the whole of a blob.
    Content {
        /// What is sent.
        content: Content,
        /// The blob, for events.
        digest: Digest,
    },
}

impl Body {
    /// Returns the length, or nothing when there is no body.
    pub(super) fn len(&self) -> Option<u64> {
        match self {
            Self::None => None,
            Self::Bytes(bytes) => Some(bytes.len() as u64),
            Self::Content { content, .. } => Some(content.len()),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Body({:?})", self.len())
    }
}

/// How far the sending of a body has come.
#[derive(Debug, Default)]
pub(super) struct Progress {
    sent: AtomicU64,
    done: AtomicBool,
    fault: Mutex<Option<io::Error>>,
}

impl Progress {
    /// Returns how many bytes were handed over.
    pub(super) fn sent(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Tells whether all bytes were handed over.
    pub(super) fn is_done(&self) -> bool {
        self.done.load(Ordering::Relaxed)
    }

    /// Returns why the content could not be read, if it could not.
    pub(super) fn fault(&self) -> Option<io::Error> {
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        fault.take()
    }

    fn set_fault(&self, error: io::Error) {
        let mut fault = self.fault.lock().unwrap_or_else(PoisonError::into_inner);
        *fault = Some(error);
    }
}

/// Reads a content piece by piece, off the threads that wait for the network.
pub(super) fn read(
    content: Content,
    digest: Digest,
    progress: Arc<Progress>,
    events: Events,
) -> impl Stream<Item = io::Result<Bytes>> + Send + 'static {
    stream::try_unfold(0_u64, move |position| {
        let content = content.clone();
        let progress = Arc::clone(&progress);
        let events = events.clone();
        async move {
            let piece = match piece(content, position).await {
                Ok(piece) => piece,
                Err(error) => {
                    let kind = error.kind();
                    progress.set_fault(error);
                    return Err(kind.into());
                }
            };
            if piece.is_empty() {
                progress.done.store(true, Ordering::Relaxed);
                return Ok(None);
            }
            let bytes = piece.len() as u64;
            progress.sent.fetch_add(bytes, Ordering::Relaxed);
            events.tell(Event::Sent { digest, bytes });
            Ok(Some((piece, position.saturating_add(bytes))))
        }
    })
}

/// Reads the piece at a position; an empty one is the end.
async fn piece(content: Content, position: u64) -> io::Result<Bytes> {
    let left = content.len().saturating_sub(position);
    let length = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
    if let Content::Bytes(bytes) = &content {
        let start = usize::try_from(position).unwrap_or(usize::MAX);
        let end = start.saturating_add(length);
        return Ok(if end <= bytes.len() {
            bytes.slice(start..end)
        } else {
            Bytes::new()
        });
    }
    let read = move || {
        let mut piece = vec![0; length];
        let mut filled = 0;
        while filled < length {
            let at = position.saturating_add(filled as u64);
            let rest = piece.get_mut(filled..).unwrap_or_default();
            match content.read_at(rest, at)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                n => filled = filled.saturating_add(n),
            }
        }
        Ok(Bytes::from(piece))
    };
    // A task that was cancelled or panicked has read nothing.
    tokio::task::spawn_blocking(read)
        .await
        .unwrap_or_else(|error| Err(io::Error::other(error)))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use futures_util::TryStreamExt as _;

    use super::*;

    #[tokio::test]
    async fn contents_are_sent_whole_from_memory_and_from_a_file() {
        for length in [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE] {
            let bytes: Vec<u8> = (0..length)
                .map(|n| u8::try_from(n % 251).unwrap())
                .collect();
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&bytes).unwrap();
            for content in [bytes.clone().into(), Content::of_file(file).unwrap()] {
                let progress = Arc::new(Progress::default());
                let digest = Digest::of(&bytes);
                let stream = read(content, digest, Arc::clone(&progress), Events::default());
                let pieces: Vec<Bytes> = stream.try_collect().await.unwrap();
                assert_eq!(pieces.concat(), bytes);
                assert_eq!(progress.sent(), length as u64);
                assert!(progress.is_done() && progress.fault().is_none());
            }
        }
    }

    #[tokio::test]
    async fn a_content_that_cannot_be_read_says_so_afterwards() {
        let file = tempfile::tempfile().unwrap();
        file.set_len(10).unwrap();
        let content = Content::of_file(file.try_clone().unwrap()).unwrap();
        file.set_len(5).unwrap();
        let progress = Arc::new(Progress::default());
        let digest = Digest::of(b"");
        let stream = read(content, digest, Arc::clone(&progress), Events::default());
        assert!(stream.try_collect::<Vec<_>>().await.is_err());
        assert!(!progress.is_done());
        assert_eq!(
            progress.fault().unwrap().kind(),
            io::ErrorKind::UnexpectedEof
        );
    }
}
