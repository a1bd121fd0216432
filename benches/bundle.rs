//! What the library needs to read, validate, pack and unpack: `cargo bench`. With `BUNDLE_BENCH_WRITE=DIRECTORY` it writes
//! the data of these measurements there (`small` and `large`) and measures nothing; `benches/compare.sh` begins so.
#![expect(clippy::unwrap_used, reason = "a measurement that fails has no result")]
#![expect(clippy::indexing_slicing, reason = "the data is our own")]

mod corpus;

use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::LazyLock;

use divan::Bencher;
use divan::counter::BytesCount;
use manifest_bundle::bundle::{Bundle, Files};
use manifest_bundle::content::{Content, Spool};
use manifest_bundle::directory::{self, ReadOptions, WriteOptions};
use manifest_bundle::image::{self, Image, PackOptions};
use manifest_bundle::limits::Limits;
use manifest_bundle::ops::pack::{self, PackRequest};
use manifest_bundle::validate;
use tempfile::TempDir;

fn main() {
    if let Some(directory) = std::env::var_os("BUNDLE_BENCH_WRITE") {
        let directory = Path::new(&directory);
        corpus::small(&directory.join("small"));
        corpus::large(&directory.join("large"));
        return;
    }
    divan::main();
}

/// A bundle on disk, and what comes of it.
struct Data {
    directory: TempDir,
    bytes: u64,
    files: Files,
    bundle: Bundle,
    image: Image,
}

impl Data {
    fn of(make: fn(&Path)) -> Self {
        let directory = tempfile::tempdir().unwrap();
        make(&directory.path().join("in"));
        let request = PackRequest::default();
        let packed = pack::pack(&directory.path().join("in"), &request, &mut spool()).unwrap();
        Self {
            bytes: packed.bundle.files.values().map(Content::len).sum(),
            files: packed.bundle.files.clone(),
            bundle: packed.bundle,
            image: packed.image,
            directory,
        }
    }
}

static SMALL: LazyLock<Data> = LazyLock::new(|| Data::of(corpus::small));
static LARGE: LazyLock<Data> = LazyLock::new(|| Data::of(corpus::large));

fn data(name: &str) -> &'static Data {
    if name == "small" { &SMALL } else { &LARGE }
}

fn spool() -> Spool {
    Spool::new(std::env::temp_dir())
}

fn threads() -> NonZeroUsize {
    std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN)
}

#[divan::bench(args = ["small", "large"])]
fn read(bencher: Bencher<'_, '_>, name: &str) {
    let data = data(name);
    let source = data.directory.path().join("in");
    bencher
        .counter(BytesCount::new(data.bytes))
        .bench_local(|| {
            directory::read(
                &source,
                &ReadOptions::default(),
                &Limits::default(),
                &mut spool(),
            )
            .unwrap()
        });
}

#[divan::bench(args = ["small", "large"])]
fn validate(bencher: Bencher<'_, '_>, name: &str) {
    let data = data(name);
    let options = validate::Options {
        needs_metadata: true,
        threads: threads(),
        ..validate::Options::default()
    };
    bencher
        .counter(BytesCount::new(data.bytes))
        .bench_local(|| validate::validate(&data.files, &Limits::default(), &options).unwrap());
}

#[divan::bench(args = ["small", "large"])]
fn pack(bencher: Bencher<'_, '_>, name: &str) {
    let data = data(name);
    let options = PackOptions {
        threads: threads().get(),
        ..PackOptions::default()
    };
    bencher
        .counter(BytesCount::new(data.bytes))
        .bench_local(|| image::pack(&data.bundle, &options, &mut spool()).unwrap());
}

#[divan::bench(args = ["small", "large"])]
fn unpack(bencher: Bencher<'_, '_>, name: &str) {
    let data = data(name);
    bencher
        .counter(BytesCount::new(data.bytes))
        .bench_local(|| image::unpack(&data.image, &Limits::default(), &mut spool()).unwrap());
}

#[divan::bench(args = ["small", "large"])]
fn write(bencher: Bencher<'_, '_>, name: &str) {
    let data = data(name);
    bencher
        .counter(BytesCount::new(data.bytes))
        .with_inputs(|| tempfile::tempdir_in(data.directory.path()).unwrap())
        .bench_local_values(|to| {
            directory::write(
                &data.files,
                &to.path().join("out"),
                &WriteOptions::default(),
            )
            .unwrap();
            to
        });
}
