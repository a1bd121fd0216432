//! The doors: an image is put behind each of them and must be refused, or come through whole.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use flate2::Compression;
use flate2::write::GzEncoder;
use manifest_bundle::content::Spool;
use manifest_bundle::directory::{self, WriteOptions};
use manifest_bundle::escape::is_unsafe;
use manifest_bundle::limits::{Ceiling, Limits};
use manifest_bundle::oci::media_type;
use manifest_bundle::ops::load::{self, Asked};
use manifest_bundle::ops::open::{self, Place, Reach};
use manifest_bundle::reference::Entry;
use manifest_bundle::store::registry::{Access, AccessSettings};
use manifest_bundle::store::{self, Name, Store};
use manifest_bundle::{Error, Kind};
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;

use super::honest::Honest;
use super::{Case, METADATA, OUTSIDE};
use crate::real::{sha256, tree};
use crate::support::targen::TarGen;
use crate::support::{MockRegistry, Sandbox, Snapshot};

const MIB: u64 = 1024 * 1024;

/// What the binary may take for one of these archives, whatever is in it.
const MEMORY: u64 = 64 * MIB;

/// A layer, and the digest of the archive in it where that is known.
#[derive(Clone)]
pub(super) struct Layer {
    pub(super) media_type: &'static str,
    pub(super) blob: Vec<u8>,
    pub(super) diff_id: Option<String>,
}

impl Layer {
    /// An archive in one gzip member.
    pub(super) fn gzip(archive: &[u8]) -> Self {
        Self::of(archive, gzip(archive))
    }

    /// An archive in a gzip stream that somebody made of it.
    pub(super) fn of(archive: &[u8], blob: Vec<u8>) -> Self {
        Self {
            media_type: media_type::LAYER_GZIP,
            blob,
            diff_id: Some(sha256(archive)),
        }
    }

    /// The same under another type.
    pub(super) fn typed(self, media_type: &'static str) -> Self {
        Self { media_type, ..self }
    }
}

pub(super) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// The config and the manifest of an image with one layer.
fn image(layer: &Layer) -> (Vec<u8>, Vec<u8>) {
    let labels: Map<String, Value> = METADATA
        .iter()
        .map(|(key, value)| ((*key).to_owned(), (*value).into()))
        .collect();
    let config = json!({
        "architecture": "amd64",
        "os": "linux",
        "config": {"Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": Vec::from_iter(&layer.diff_id)},
    });
    let config = config.to_string().into_bytes();
    let manifest = json!({
        "schemaVersion": 2,
        "mediaType": media_type::MANIFEST,
        "config": descriptor(media_type::CONFIG, &config),
        "layers": [descriptor(layer.media_type, &layer.blob)],
    });
    (config, manifest.to_string().into_bytes())
}

fn descriptor(media_type: &str, bytes: &[u8]) -> Value {
    json!({"mediaType": media_type, "digest": sha256(bytes), "size": bytes.len()})
}

/// The files of a layout with one image, `1`.
fn layout(layer: &Layer) -> BTreeMap<String, Vec<u8>> {
    let (config, manifest) = image(layer);
    let mut listed = descriptor(media_type::MANIFEST, &manifest);
    listed["annotations"] = json!({"org.opencontainers.image.ref.name": "1"});
    let index = json!({"schemaVersion": 2, "manifests": [listed]});
    let blobs = [config, manifest, layer.blob.clone()];
    let blobs = blobs.map(|bytes| (format!("blobs/{}", sha256(&bytes).replace(':', "/")), bytes));
    let named = [
        ("index.json".to_owned(), index.to_string().into_bytes()),
        (
            "oci-layout".to_owned(),
            br#"{"imageLayoutVersion":"1.0.0"}"#.to_vec(),
        ),
    ];
    blobs.into_iter().chain(named).collect()
}

/// The same as an archive whose end is open.
pub(super) fn layout_archive(layer: &Layer) -> TarGen {
    layout(layer)
        .iter()
        .fold(TarGen::new(), |archive, (path, bytes)| {
            archive.file(path, bytes)
        })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Door {
    Registry,
    File,
    Layout,
    Stream,
}

const DOORS: [Door; 4] = [Door::Registry, Door::File, Door::Layout, Door::Stream];

/// All doors of one test, and what lies around the destination.
pub(super) struct Doors {
    sandbox: Sandbox,
    /// Where the images are; nothing there may change either.
    source: tempfile::TempDir,
    registry: MockRegistry,
    runtime: Runtime,
    access: Access,
    /// The controls that were accepted, by their digests: many cases have the same.
    accepted: BTreeSet<String>,
}

impl Doors {
    pub(super) fn new() -> Self {
        let sandbox = Sandbox::new();
        // What archives try to reach, read, change the mode of or put a link to.
        sandbox.write("victim.secret", "as it was");
        sandbox.write("secret.txt", "as it was");
        sandbox.write("elsewhere/first.yaml", "as it was");
        fs::create_dir(sandbox.root().join("victim-dir")).unwrap();
        Self {
            sandbox,
            source: tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap(),
            registry: MockRegistry::plain(),
            runtime: tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap(),
            access: Access::new(AccessSettings::default()).unwrap(),
            accepted: BTreeSet::new(),
        }
    }

    /// Puts an image behind all doors.
    fn put(&self, layer: &Layer) {
        let (config, manifest) = image(layer);
        for blob in [&config, &layer.blob] {
            self.registry.put_blob("case", blob);
        }
        let typed = media_type::MANIFEST;
        self.registry.put_manifest("case", "1", typed, &manifest);
        let at = self.source.path().join("layout");
        let _ = fs::remove_dir_all(&at);
        for (path, bytes) in layout(layer) {
            let path = at.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        self.put_archive(&layout_archive(layer).end());
    }

    fn put_archive(&self, archive: &[u8]) {
        fs::write(self.source.path().join("image.tar"), archive).unwrap();
    }

    /// What a command line calls the image behind a door.
    fn location(&self, door: Door) -> String {
        let source = self.source.path().display();
        match door {
            Door::Registry => format!("{}:1", self.registry.repository("case")),
            Door::File => format!("{source}/image.tar"),
            Door::Layout => format!("oci:{source}/layout:1"),
            Door::Stream => "-".to_owned(),
        }
    }

    /// Goes through a door in this process, as `pull` and `unpack` do.
    fn enter(&self, door: Door, limits: &Limits) -> Result<(), Error> {
        let reach = Reach {
            access: self.access.clone(),
            limits: limits.clone(),
            spool_directory: self.sandbox.tmp(),
            concurrency: 4,
        };
        self.runtime.block_on(async {
            let (store, name) = self.open(door, &reach).await?;
            let manifest = store::fetch_manifest(store.as_ref(), &name, limits).await?;
            let loaded = load::load(store.as_ref(), manifest, &Asked::default(), &reach).await?;
            let files = &loaded.unpacked.bundle.files;
            directory::write(files, &self.sandbox.path("out"), &WriteOptions::default())?;
            Ok(())
        })
    }

    async fn open(&self, door: Door, reach: &Reach) -> Result<(Arc<dyn Store>, Name), Error> {
        let place = if door == Door::Stream {
            let mut archive = fs::File::open(self.source.path().join("image.tar")).unwrap();
            let mut spool = Spool::new(&reach.spool_directory);
            let mut kept = spool.begin();
            std::io::copy(&mut archive, &mut kept).unwrap();
            let content = kept.finish().unwrap();
            open::open_content(&content, "-", &Entry::default(), &reach.limits)?
        } else {
            open::open(&self.location(door).parse().unwrap(), reach).await?
        };
        match place {
            Place::Store(store, name) => Ok((store, name)),
            Place::Directory(path) => panic!("{} is no image", path.display()),
        }
    }

    /// Goes through a door with the binary; returns the exit code and what it said.
    fn run(&self, door: Door, measured: bool) -> (u8, String) {
        let verb = if door == Door::Registry {
            "pull"
        } else {
            "unpack"
        };
        let location = self.location(door);
        let mut run = self
            .sandbox
            .bundle([verb, &location, "-o", "out"])
            .prelude("ulimit -c 0")
            .prelude("ulimit -t 10");
        if door == Door::Stream {
            run = run.stdin(fs::read(self.source.path().join("image.tar")).unwrap());
        }
        run = if measured {
            run.measured()
        } else {
            // Python, which measures, would count against it.
            run.prelude("ulimit -v 524288")
        };
        let ran = run.run();
        if measured {
            assert!(ran.peak_rss() <= MEMORY, "{} bytes{ran}", ran.peak_rss());
            fs::remove_file(self.sandbox.root().join("peak-rss")).unwrap();
        }
        assert!(ran.stderr().len() <= 2048, "too many words{ran}");
        (ran.code().try_into().unwrap(), ran.stderr().to_owned())
    }

    /// Shows that a case is refused behind every door, and accepted without its fault.
    #[track_caller]
    pub(super) fn refuse(&mut self, case: &Case, measured: bool) {
        let mut limits = Limits::default();
        if let Some(most) = case.unpacked {
            limits.set(Ceiling::Unpacked, most);
        }
        self.control(case, &limits);
        self.put(&case.layer);
        self.guarded(case, |doors| {
            for door in DOORS {
                let answer = match door {
                    Door::File => doors.run(door, measured),
                    _ => answer(doors.enter(door, &limits)),
                };
                check(case, &format!("{door:?}"), &answer);
            }
        });
        if let Some((bad, _)) = &case.around {
            self.put_archive(bad);
            self.guarded(case, |doors| {
                let (exit, said) = answer(doors.enter(Door::File, &limits));
                assert_eq!(exit, case.exit, "{} around the image: {said}", case.id);
                assert!(said.contains("at byte"), "{} around: {said}", case.id);
            });
        }
    }

    /// Shows with the binary alone that a case is refused behind every door.
    #[track_caller]
    pub(super) fn refuse_by_binary(&mut self, case: &Case) {
        self.put(&case.layer);
        self.guarded(case, |doors| {
            for door in DOORS {
                check(case, &format!("{door:?}"), &doors.run(door, false));
            }
        });
    }

    /// Does what a door must not do, to show that it is seen.
    #[track_caller]
    pub(super) fn write_beside(&self, case: &Case) {
        self.guarded(case, |doors| {
            doors.sandbox.write("evil.yaml", "");
        });
    }

    /// Shows that an archive comes through every door as the tree that it is.
    #[track_caller]
    pub(super) fn accept(&mut self, case: &Honest) {
        self.put(&case.layer);
        for door in DOORS {
            let (exit, said) = match door {
                Door::File => self.run(door, true),
                _ => answer(self.enter(door, &Limits::default())),
            };
            assert_eq!(exit, 0, "{} {door:?}: {said}", case.name);
            let found = tree(self.sandbox.path("out"));
            let names = |tree: &BTreeMap<String, Vec<u8>>| tree.keys().cloned().collect::<Vec<_>>();
            assert!(
                names(&found) == names(&case.tree),
                "{} {door:?}: {:?}",
                case.name,
                names(&found)
            );
            assert!(found == case.tree, "{} {door:?}: contents", case.name);
            self.clear();
        }
    }

    /// The same bundle without the fault: were it refused, the case would prove nothing.
    #[track_caller]
    fn control(&mut self, case: &Case, limits: &Limits) {
        let layers = std::iter::once(&case.control);
        let archives = case.around.iter().map(|(_, good)| good);
        for layer in layers {
            if !self.accepted.insert(sha256(&layer.blob)) {
                continue;
            }
            self.put(layer);
            self.accepts(case, limits);
        }
        for archive in archives {
            if self.accepted.insert(sha256(archive)) {
                self.put_archive(archive);
                self.accepts(case, limits);
            }
        }
    }

    #[track_caller]
    fn accepts(&self, case: &Case, limits: &Limits) {
        if let Err(error) = self.enter(Door::File, limits) {
            panic!("{}: the control is refused: {error}", case.id);
        }
        let first = self.sandbox.path("out/manifests/first.yaml");
        assert!(first.is_file(), "{}: the control has no file", case.id);
        self.clear();
    }

    /// Does something that may write nothing anywhere.
    #[track_caller]
    fn guarded(&self, case: &Case, body: impl FnOnce(&Self)) {
        if let Some(seed) = case.seed {
            seed(&self.sandbox);
        }
        let before = [self.sandbox.root(), self.source.path()].map(|at| (at, Snapshot::of(at)));
        body(self);
        for (at, snapshot) in before {
            let lines = snapshot.diff(&Snapshot::of(at));
            assert!(lines.is_empty(), "{} wrote:\n{}", case.id, lines.join("\n"));
        }
        assert!(!Path::new(OUTSIDE).exists(), "{} wrote outside", case.id);
        self.clear();
    }

    /// Takes the destination away.
    fn clear(&self) {
        let out = self.sandbox.path("out");
        match out.symlink_metadata() {
            Ok(found) if found.is_dir() => fs::remove_dir_all(out).unwrap(),
            Ok(_) => fs::remove_file(out).unwrap(),
            Err(_) => {}
        }
    }
}

/// The exit code and message of what was done in this process.
fn answer(result: Result<(), Error>) -> (u8, String) {
    let Err(error) = result else {
        return (0, String::new());
    };
    let exit = match error.kind() {
        Kind::Mismatch => 7,
        Kind::Unsafe => 8,
        Kind::Limit => 9,
        Kind::Invalid => 11,
        Kind::Conflict => 13,
        other => panic!("{other:?}: {error}"),
    };
    (exit, error.message().to_owned())
}

#[track_caller]
fn check(case: &Case, door: &str, (exit, said): &(u8, String)) {
    let id = &case.id;
    assert_eq!(*exit, case.exit, "{id} {door}: {said}");
    for words in &case.says {
        assert!(said.contains(words), "{id} {door}: no {words:?} in {said}");
    }
    let raw = said.chars().find(|c| *c != '\n' && is_unsafe(*c));
    assert_eq!(raw, None, "{id} {door}: {said:?}");
}
