//! The bytes of an archive, in blocks, from a stream or from a content in which one can jump.

use std::io::{self, Read};

use super::header::BLOCK;
use crate::content::{self, CHUNK, Content};

/// Reads an archive from front to back.
pub(super) struct Input<'a> {
    source: Source<'a>,
    buffer: Box<[u8]>,
    /// The part of the buffer that was read and not yet used.
    start: usize,
    end: usize,
    position: u64,
}

enum Source<'a> {
    Stream(&'a mut dyn Read),
    Content(content::Reader, u64),
}

impl<'a> Input<'a> {
    pub(super) fn stream(source: &'a mut dyn Read) -> Self {
        Self::new(Source::Stream(source), CHUNK)
    }

    pub(super) fn content(content: &Content) -> Self {
        // Only headers are read, and jumping throws the rest of the buffer away.
        let source = Source::Content(content.reader(), content.len());
        Self::new(source, 4 * BLOCK)
    }

    fn new(source: Source<'a>, buffer: usize) -> Self {
        Self {
            source,
            buffer: vec![0; buffer].into(),
            start: 0,
            end: 0,
            position: 0,
        }
    }

    /// Returns how many bytes were used.
    pub(super) fn position(&self) -> u64 {
        self.position
    }

    /// Takes up to `most` bytes that are there without waiting for more; none at the end.
    fn take(&mut self, most: usize) -> io::Result<&[u8]> {
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            self.end = loop {
                let read = match &mut self.source {
                    Source::Stream(stream) => stream.read(&mut self.buffer),
                    Source::Content(reader, _) => reader.read(&mut self.buffer),
                };
                match read {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    other => break other?,
                }
            };
        }
        let taken = most.min(self.end.saturating_sub(self.start));
        let from = self.start;
        self.start = self.start.saturating_add(taken);
        self.position = self.position.saturating_add(taken as u64);
        Ok(self.buffer.get(from..self.start).unwrap_or_default())
    }

    /// Fills the target as far as there are bytes; returns how many there were.
    pub(super) fn fill(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let mut filled = 0;
        while let Some(rest) = target.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            let taken = self.take(rest.len())?;
            if taken.is_empty() {
                break;
            }
            if let Some(rest) = rest.get_mut(..taken.len()) {
                rest.copy_from_slice(taken);
            }
            filled = filled.saturating_add(taken.len());
        }
        Ok(filled)
    }

    /// Passes over `count` bytes; returns how many there were.
    pub(super) fn skip(&mut self, count: u64) -> io::Result<u64> {
        let mut left = count;
        while left > 0 {
            let buffered = self.end.saturating_sub(self.start) as u64;
            if let Source::Content(reader, length) = &mut self.source
                && left > buffered
            {
                let there = left.min(length.saturating_sub(self.position));
                self.position = self.position.saturating_add(there);
                reader.seek_to(self.position);
                self.start = 0;
                self.end = 0;
                return Ok(count.saturating_sub(left.saturating_sub(there)));
            }
            let taken = self
                .take(usize::try_from(left).unwrap_or(usize::MAX))?
                .len();
            if taken == 0 {
                break;
            }
            left = left.saturating_sub(taken as u64);
        }
        Ok(count.saturating_sub(left))
    }

    /// Reads the padding after `size` bytes; tells whether it was there, and all zero.
    pub(super) fn padding(&mut self, size: u64) -> io::Result<Padding> {
        let over = usize::try_from(size.rem_euclid(BLOCK as u64)).unwrap_or(0);
        let mut padding = [0; BLOCK];
        let Some(padding) = padding.get_mut(..BLOCK.saturating_sub(over) & (BLOCK - 1)) else {
            return Ok(Padding::Zero);
        };
        Ok(if self.fill(padding)? < padding.len() {
            Padding::Short
        } else if padding.iter().all(|b| *b == 0) {
            Padding::Zero
        } else {
            Padding::Other
        })
    }

    /// Passes over zeros to the end, but not over more than `most`; tells whether the end was reached.
    pub(super) fn zeros_to_the_end(&mut self, most: u64) -> io::Result<bool> {
        let begin = self.position;
        loop {
            let taken = self.take(CHUNK)?;
            if taken.is_empty() {
                return Ok(true);
            }
            let zero = taken.iter().all(|b| *b == 0);
            if !zero || self.position.saturating_sub(begin) > most {
                return Ok(false);
            }
        }
    }
}

/// What follows the data of an entry up to the end of its last block.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Padding {
    Zero,
    Other,
    Short,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Is interrupted before every byte that it gives, and fails at its end if it is to.
    struct Slow {
        left: u8,
        interrupted: bool,
        end: Option<io::ErrorKind>,
    }

    impl Read for Slow {
        fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
            self.interrupted = !self.interrupted;
            if self.interrupted {
                return Err(io::ErrorKind::Interrupted.into());
            }
            match self.left.checked_sub(1) {
                Some(left) => {
                    target[0] = self.left;
                    self.left = left;
                    Ok(1)
                }
                None => self.end.map_or(Ok(0), |kind| Err(kind.into())),
            }
        }
    }

    fn slow(end: Option<io::ErrorKind>) -> Slow {
        Slow {
            left: 3,
            interrupted: false,
            end,
        }
    }

    #[test]
    fn an_interrupted_read_is_tried_again_and_a_failed_one_is_not() {
        let mut source = slow(None);
        let mut input = Input::stream(&mut source);
        let mut target = [0; 5];
        assert_eq!(input.fill(&mut target).unwrap(), 3);
        assert_eq!(target, [3, 2, 1, 0, 0]);
        assert_eq!(input.position(), 3);

        let mut source = slow(Some(io::ErrorKind::BrokenPipe));
        let mut input = Input::stream(&mut source);
        let error = input.fill(&mut target).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::BrokenPipe);
    }

    #[test]
    fn a_jump_goes_as_far_as_there_is_something() {
        let bytes: Vec<u8> = (0..5000_u16).map(|n| n.to_le_bytes()[0]).collect();
        let content = Content::from(bytes.clone());
        for before in [0, 1, 512] {
            for jump in [0, 1, 511, 2000, 4000, 5000, 9000] {
                let mut stream = bytes.as_slice();
                let mut inputs = [Input::content(&content), Input::stream(&mut stream)];
                let found = inputs.each_mut().map(|input| {
                    let mut target = vec![0; before];
                    assert_eq!(input.fill(&mut target).unwrap(), before);
                    let skipped = input.skip(jump).unwrap();
                    let mut next = [0; 2];
                    let filled = input.fill(&mut next).unwrap();
                    (skipped, input.position(), next[..filled].to_vec())
                });
                assert_eq!(found[0], found[1], "{before} {jump}");
                let left = 5000 - before as u64;
                assert_eq!(found[0].0, jump.min(left));
            }
        }
    }
}
