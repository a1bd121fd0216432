//! What the library needs to read, validate, pack, unpack and resolve: `cargo bench`. With `BUNDLE_BENCH_WRITE=DIRECTORY` it writes
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
use manifest_bundle::channel::{Channel, ENTRIES_MAX, Entry, index_tag};
use manifest_bundle::content::{Content, Spool};
use manifest_bundle::digest::Digest;
use manifest_bundle::directory::{self, ReadOptions, WriteOptions};
use manifest_bundle::image::{self, Image, PackOptions};
use manifest_bundle::limits::Limits;
use manifest_bundle::ops::open::Reach;
use manifest_bundle::ops::pack::{self, PackRequest};
use manifest_bundle::ops::resolve;
use manifest_bundle::resolution::Question;
use manifest_bundle::store::memory::Memory;
use manifest_bundle::store::registry::{Access, AccessSettings};
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

/// A repository with a channel of as many bundles as one may have, and as many tags.
static CHANNEL: LazyLock<Memory> = LazyLock::new(|| {
    let packed = &SMALL.image;
    let store = Memory::of_image("memory", packed, Some(&"1.0.0".parse().unwrap())).unwrap();
    let digest = packed.manifest.descriptor.digest;
    let mut channel = Channel::new(
        "stable".parse().unwrap(),
        SMALL.bundle.metadata.package.clone(),
    );
    for patch in 1..ENTRIES_MAX {
        let mut entry = Entry::of(&packed.manifest, &SMALL.bundle.metadata);
        entry.facts.version = format!("9.0.{patch}").parse().unwrap();
        entry.facts.operator_id = Some("other".parse().unwrap());
        entry.descriptor.digest = Digest::of(&patch.to_le_bytes());
        channel.add(entry).unwrap();
    }
    channel
        .add(Entry::of(&packed.manifest, &SMALL.bundle.metadata))
        .unwrap();
    let index = channel.write(&Limits::default()).unwrap();
    store.put_manifest(&index, Some(&index_tag(&channel.name).unwrap()));
    for patch in 0..10_000 {
        store.put_tag(format!("9.1.{patch}").parse().unwrap(), digest);
    }
    store
});

/// The last of a full channel, and of 10,000 tags one that a requirement names: what resolving costs beside the requests.
#[divan::bench(args = ["channel", "tags"])]
fn resolve(bencher: Bencher<'_, '_>, from: &str) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let version = SMALL.bundle.metadata.version.to_string();
    let question = Question {
        operator_id: (from == "channel").then(|| "demo-operator".parse().unwrap()),
        allow_unbound: true,
        version: Some(version.parse().unwrap()),
        ..Question::default()
    };
    let stable = "stable".parse().unwrap();
    let channel = (from == "channel").then_some(&stable);
    let reach = Reach {
        access: Access::new(AccessSettings::default()).unwrap(),
        limits: Limits::default(),
        spool_directory: std::env::temp_dir(),
        concurrency: 4,
    };
    bencher.bench_local(|| {
        let found = runtime.block_on(resolve::resolve(
            &*CHANNEL, channel, &question, None, &reach,
        ));
        found.unwrap()
    });
}
