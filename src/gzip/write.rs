//! The writer: one member of blocks that threads compress, written in their order.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{Builder, JoinHandle};

use flate2::{Compress, Compression, Crc, FlushCompress, Status};

/// How much input is compressed on its own.
const BLOCK: usize = 1024 * 1024;

/// The level. On manifests, 6 takes nearly twice the time for a twentieth less, and 2 two thirds of it for a sixth more.
const LEVEL: u32 = 3;

/// No name, no comment, no time, no hint about the level, and no system.
const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// Compresses what is written to it. [`Writer::finish`] must be called: without it, the output has no end.
pub struct Writer<W: Write> {
    out: W,
    block: Vec<u8>,
    crc: Crc,
    threads: Option<Threads>,
    begun: bool,
}

impl<W: Write> std::fmt::Debug for Writer<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Writer({} bytes so far)", self.crc.amount())
    }
}

impl<W: Write> Writer<W> {
    /// Makes a writer that compresses in up to `threads` threads of its own, or in the caller's if there are fewer than two.
    ///
    /// Each thread holds a few MiB.
    pub fn new(out: W, threads: usize) -> Self {
        Self {
            out,
            block: Vec::with_capacity(BLOCK),
            crc: Crc::new(),
            threads: Threads::start(threads),
            begun: false,
        }
    }

    /// Writes the end and returns what was written to.
    pub fn finish(mut self) -> io::Result<W> {
        self.compress(true)?;
        if let Some(threads) = &mut self.threads {
            while threads.write_next(&mut self.out)? {}
        }
        self.out.write_all(&self.crc.sum().to_le_bytes())?;
        self.out.write_all(&self.crc.amount().to_le_bytes())?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// Compresses the block that was collected.
    fn compress(&mut self, last: bool) -> io::Result<()> {
        if !self.begun {
            self.begun = true;
            self.out.write_all(&HEADER)?;
        }
        let Some(threads) = &mut self.threads else {
            let packed = compress(&self.block, last)?;
            self.block.clear();
            return self.out.write_all(&packed);
        };
        if threads.are_busy() {
            threads.write_next(&mut self.out)?;
        }
        let block = std::mem::replace(&mut self.block, Vec::with_capacity(BLOCK));
        threads.give(block, last)
    }
}

impl<W: Write> Write for Writer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // A full block waits for one more byte, so that the last block is never empty unless everything is.
        if self.block.len() >= BLOCK && !bytes.is_empty() {
            self.compress(false)?;
        }
        let room = BLOCK.saturating_sub(self.block.len());
        let taken = bytes.get(..room).unwrap_or(bytes);
        self.crc.update(taken);
        self.block.extend_from_slice(taken);
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Compresses one block, on its own: what came before has no influence.
fn compress(block: &[u8], last: bool) -> io::Result<Vec<u8>> {
    let flush = if last {
        FlushCompress::Finish
    } else {
        FlushCompress::Sync
    };
    let mut compress = Compress::new(Compression::new(LEVEL), false);
    // So much that it never gets full: whether a flush is interrupted would show in the bytes.
    let room = block.len() / 4;
    let mut packed = Vec::with_capacity(block.len().saturating_add(room).saturating_add(4096));
    let status = compress.compress_vec(block, &mut packed, flush)?;
    let whole = compress.total_in() == block.len() as u64 && packed.len() < packed.capacity();
    if !whole || (last && status != Status::StreamEnd) {
        return Err(io::Error::other("the compressor did not finish a block"));
    }
    Ok(packed)
}

/// A block on its way to a thread, and where the result goes.
struct Job {
    block: Vec<u8>,
    last: bool,
    result: SyncSender<io::Result<Vec<u8>>>,
}

/// Threads that compress blocks. They end when this is dropped.
struct Threads {
    jobs: Sender<Job>,
    handles: Vec<JoinHandle<()>>,
    /// The results to come, in the order of the blocks.
    results: VecDeque<Receiver<io::Result<Vec<u8>>>>,
}

impl Threads {
    /// Starts as many threads as were asked for and can be had; nothing if that would be one.
    fn start(count: usize) -> Option<Self> {
        if count < 2 {
            return None;
        }
        let (jobs, receiver) = channel::<Job>();
        let receiver = Arc::new(Mutex::new(receiver));
        let run = |receiver: Arc<Mutex<Receiver<Job>>>| {
            move || {
                // A lock that a panic poisoned, or a sender that is gone, ends the thread.
                while let Ok(job) = receiver.lock().map(|receiver| receiver.recv()) {
                    let Ok(job) = job else { return };
                    let _ = job.result.send(compress(&job.block, job.last));
                }
            }
        };
        let name = || Builder::new().name("compress".into());
        let handles: Vec<JoinHandle<()>> = (0..count)
            .map_while(|_| name().spawn(run(Arc::clone(&receiver))).ok())
            .collect();
        (!handles.is_empty()).then_some(Self {
            jobs,
            handles,
            results: VecDeque::new(),
        })
    }

    /// Tells whether every thread has a block and one more waits for it.
    fn are_busy(&self) -> bool {
        self.results.len() >= self.handles.len().saturating_mul(2)
    }

    fn give(&mut self, block: Vec<u8>, last: bool) -> io::Result<()> {
        let (result, receiver) = sync_channel(1);
        let job = Job {
            block,
            last,
            result,
        };
        self.jobs.send(job).map_err(|_| gone())?;
        self.results.push_back(receiver);
        Ok(())
    }

    /// Waits for the oldest block and writes it; tells whether there was one.
    fn write_next(&mut self, out: &mut impl Write) -> io::Result<bool> {
        let Some(result) = self.results.pop_front() else {
            return Ok(false);
        };
        let packed = result.recv().map_err(|_| gone())??;
        out.write_all(&packed)?;
        Ok(true)
    }
}

fn gone() -> io::Error {
    io::Error::other("a thread that compresses ended early")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read as _;

    fn packed(data: &[u8], threads: usize, piece: usize) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), threads);
        for piece in data.chunks(piece) {
            writer.write_all(piece).unwrap();
        }
        writer.finish().unwrap()
    }

    /// Bytes that compress a little, the same everywhere.
    fn sample(len: usize) -> Vec<u8> {
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            u8::try_from(state >> 28).unwrap()
        };
        (0..len).map(|_| b'a' + next()).collect()
    }

    #[test]
    fn bytes_depend_neither_on_threads_nor_on_the_sizes_of_the_writes() {
        for len in [0, 1, BLOCK, BLOCK + 1, 3 * BLOCK] {
            let data = sample(len);
            let one = packed(&data, 1, usize::MAX);
            for (threads, piece) in [(1, 777), (2, 65_536), (3, 1_000_003), (8, usize::MAX)] {
                let piece = piece.min(len.max(1));
                assert!(
                    one == packed(&data, threads, piece),
                    "{len} {threads} {piece}"
                );
            }
            let mut back = Vec::new();
            let mut other = flate2::read::GzDecoder::new(one.as_slice());
            other.read_to_end(&mut back).unwrap();
            assert!(back == data, "{len}");
            assert_eq!(other.into_inner().len(), 0, "one member");
        }
    }

    #[test]
    fn the_header_says_nothing_but_gzip() {
        let empty = packed(b"", 1, 1);
        assert_eq!(empty[..10], HEADER);
        assert_eq!(empty[10..], [3, 0, 0, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn what_cannot_be_compressed_hardly_grows() {
        let mut state = 1_u64;
        let noise: Vec<u8> = std::iter::repeat_with(|| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            state.to_be_bytes()[0]
        })
        .take(2 * BLOCK)
        .collect();
        assert!(packed(&noise, 2, 4096).len() < noise.len() + noise.len() / 1000);
    }

    #[test]
    fn a_failing_output_fails_the_writer_whatever_the_threads_do() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut writer = Writer::new(Full, 2);
        let error = writer.write_all(&sample(9 * BLOCK)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn one_thread_is_the_callers_own() {
        assert!(Threads::start(0).is_none());
        assert!(Threads::start(1).is_none());
        let mut threads = Threads::start(2).unwrap();
        assert_eq!(threads.handles.len(), 2);
        // One block for each thread and one that waits for it.
        for given in 0..4 {
            assert!(!threads.are_busy(), "{given}");
            threads.give(vec![1; 9], false).unwrap();
        }
        assert!(threads.are_busy());
        let mut out = Vec::new();
        for _ in 0..4 {
            assert!(threads.write_next(&mut out).unwrap());
        }
        assert!(!threads.write_next(&mut out).unwrap());
        assert_eq!(out, compress(&[1; 9], false).unwrap().repeat(4));
    }
}
