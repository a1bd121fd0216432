//! The golden vectors: what each sample in `testdata/good` becomes, byte for byte, here and in an independent program.
//!
//! A digest that moves is a change of the format (P2). The vectors are in `testdata/golden.json`; when one has to move,
//! the failing test prints what the file would have to hold.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::read::MultiGzDecoder;
use manifest_bundle::content::Spool;
use manifest_bundle::image::{Image, PackOptions, unpack};
use manifest_bundle::limits::Limits;
use manifest_bundle::metadata;
use manifest_bundle::ops::pack::{PackRequest, Packed, pack};
use manifest_bundle::store::archive;
use manifest_bundle::store::memory::Memory;
use manifest_bundle::tag::Tag;
use manifest_bundle::tar::{Entry, EntryKind, Rules, index};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::schemas::{All, json};

/// What a directory becomes.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Vector {
    config: String,
    diff_id: String,
    layer: String,
    manifest: String,
    size: u64,
}

/// A sample that was packed.
pub(super) struct Sample {
    packed: Packed,
    // The contents are files in it.
    directory: tempfile::TempDir,
}

impl Sample {
    /// Packs a directory as `bundle pack` does without any flag.
    pub(super) fn pack(source: &Path) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mut spool = Spool::new(directory.path());
        let packed = pack(source, &PackRequest::default(), &mut spool);
        let packed = packed.unwrap_or_else(|error| panic!("{}: {error}", source.display()));
        Self { packed, directory }
    }

    /// Packs one of `testdata/good`.
    pub(super) fn good(name: &str) -> Self {
        Self::pack(&good().join(name))
    }

    fn image(&self) -> &Image {
        &self.packed.image
    }

    fn config(&self) -> Value {
        let bytes = self.image().config.to_bytes().unwrap();
        serde_json::from_slice(&bytes).unwrap()
    }

    fn manifest(&self) -> Value {
        serde_json::from_slice(&self.image().manifest.bytes).unwrap()
    }

    pub(super) fn vector(&self) -> Vector {
        let manifest = self.image().oci().unwrap();
        let [layer] = manifest.layers.as_slice() else {
            panic!("a bundle has one layer")
        };
        Vector {
            config: manifest.config.digest.to_string(),
            diff_id: self.config()["rootfs"]["diff_ids"][0]
                .as_str()
                .unwrap()
                .to_owned(),
            layer: layer.digest.to_string(),
            manifest: self.image().manifest.descriptor.digest.to_string(),
            size: layer.size,
        }
    }

    /// Returns manifest or config as it is written.
    pub(super) fn document(&self, what: &str) -> String {
        let bytes = match what {
            "manifest" => self.image().manifest.bytes.clone(),
            _ => self.image().config.to_bytes().unwrap(),
        };
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    /// Returns an archive of this sample and what stands in it.
    fn archived(&self) -> (Vec<u8>, Vec<Entry>) {
        let tag = Tag::of_version(&self.packed.bundle.metadata.version).unwrap();
        let memory = Memory::of_image("sample", self.image(), Some(&tag)).unwrap();
        let mut bytes = Vec::new();
        archive::write(&memory, &mut bytes).unwrap();
        let limits = Limits::default();
        let entries = index(&bytes.clone().into(), Rules::layout(&limits)).unwrap();
        (bytes, entries)
    }

    /// Returns the names of what stands in an archive of this sample; those of directories end with `/`.
    pub(super) fn archive_names(&self) -> Vec<String> {
        let (_, entries) = self.archived();
        let name = |entry: &Entry| match entry.kind {
            EntryKind::Directory => format!("{}/", entry.path),
            _ => entry.path.to_string(),
        };
        entries.iter().map(name).collect()
    }

    /// Returns the files of the image layout that an archive of this sample holds.
    pub(super) fn layout(&self) -> BTreeMap<String, Vec<u8>> {
        let (bytes, entries) = self.archived();
        let files = entries.iter().filter(|entry| entry.kind == EntryKind::File);
        files
            .map(|entry| {
                let begin = usize::try_from(entry.offset).unwrap();
                let end = begin + usize::try_from(entry.size).unwrap();
                (entry.path.to_string(), bytes[begin..end].to_vec())
            })
            .collect()
    }

    /// Returns the layer as it travels.
    pub(super) fn layer(&self) -> Vec<u8> {
        self.image().layers[0].to_bytes().unwrap().to_vec()
    }

    /// Returns the archive in the layer.
    pub(super) fn archive(&self) -> Vec<u8> {
        let layer = self.image().layers[0].to_bytes().unwrap();
        let mut archive = Vec::new();
        std::io::copy(&mut MultiGzDecoder::new(&*layer), &mut archive).unwrap();
        archive
    }

    /// Returns the names and sizes of the entries in the layer, as they are in it.
    pub(super) fn entries(&self) -> Vec<(String, u64)> {
        let limits = Limits::default();
        let archive = self.archive().into();
        let entries = index(&archive, Rules::layer(&limits)).unwrap();
        let end = |kind| {
            if kind == EntryKind::Directory {
                "/"
            } else {
                ""
            }
        };
        entries
            .iter()
            .map(|entry| (format!("{}{}", entry.path, end(entry.kind)), entry.size))
            .collect()
    }

    /// Lets the independent program build the image of `source`, and compare its archive with this layer.
    fn rebuilt(&self, source: &Path) -> Vector {
        let layer = self.directory.path().join("layer.tar.gz");
        let bytes = self.image().layers[0].to_bytes().unwrap();
        std::fs::write(&layer, bytes).unwrap();
        let ran = Command::new("python3")
            .arg("-I")
            .arg(super::root().join("tests/it/spec/rebuild.py"))
            .args([source, &layer])
            .output()
            .expect("this test needs python3 on the PATH");
        let complaint = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{}: {complaint}", source.display());
        serde_json::from_slice(&ran.stdout).unwrap()
    }
}

fn good() -> PathBuf {
    super::root().join("testdata/good")
}

/// The samples, by name.
fn names() -> Vec<String> {
    let entries = std::fs::read_dir(good()).unwrap();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// Makes the one sample that is too large to be kept as files: its archive has three blocks for the compressor.
fn large(directory: &Path) -> PathBuf {
    let source = directory.join("large");
    put(
        &source,
        metadata::FILE,
        "annotations:
  k8s.io.bundle.mediatype.v1: manifests
  k8s.io.bundle.manifests.v1: manifests/
  k8s.io.bundle.metadata.v1: metadata/
  k8s.io.bundle.package.v1: large
  k8s.io.bundle.version.v1: \"1.0.0\"\n",
    );
    let mut state = 1_u32;
    for file in 0..5 {
        let mut text =
            format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: settings-{file}\n");
        while text.len() < 500_000 {
            // Numerical Recipes' generator: the same comments everywhere.
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            writeln!(text, "# the value of {} is {:x}", state % 1000, state >> 8).unwrap();
        }
        put(&source, &format!("manifests/{file}.yaml"), &text);
    }
    source
}

/// Writes a file and the directories that hold it.
fn put(source: &Path, path: &str, text: &str) {
    let file = source.join(path);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, text).unwrap();
}

/// All samples with their directories, those that are generated among them.
fn sources(directory: &Path) -> BTreeMap<String, PathBuf> {
    let kept = names()
        .into_iter()
        .map(|name| (name.clone(), good().join(name)));
    kept.chain([("large".to_owned(), large(directory))])
        .collect()
}

#[test]
fn each_sample_becomes_the_bytes_that_it_always_became() {
    let file = super::root().join("testdata/golden.json");
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let golden: BTreeMap<String, Vector> = serde_json::from_str(&text).unwrap_or_default();
    let directory = tempfile::tempdir().unwrap();
    let found: BTreeMap<String, Vector> = sources(directory.path())
        .into_iter()
        .map(|(name, source)| (name, Sample::pack(&source).vector()))
        .collect();
    assert!(found.len() >= 6, "there are samples");
    let printed = serde_json::to_string_pretty(&found).unwrap() + "\n";
    assert!(
        golden == found,
        "{} would have to be\n{printed}",
        file.display()
    );
}

#[test]
fn an_independent_program_builds_the_same_from_the_specification() {
    let directory = tempfile::tempdir().unwrap();
    for (name, source) in sources(directory.path()) {
        let sample = Sample::pack(&source);
        assert_eq!(sample.rebuilt(&source), sample.vector(), "{name}");
    }
}

/// Names at the edges of what a header can hold, and beyond.
#[test]
fn an_independent_program_writes_long_and_foreign_names_in_the_same_way() {
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("source");
    let n = |count: usize| "n".repeat(count);
    let names = [
        "manifests/kustomization.yaml".to_owned(),
        // 100 and 101 bytes in one component, then split at the slash.
        format!("manifests/{}", n(90)),
        format!("manifests/{}", n(91)),
        format!("manifests/{}/{}", n(80), n(9)),
        format!("manifests/{}/{}", n(80), n(10)),
        // 155 and 156 bytes before the last slash, 100 and 101 behind it.
        format!("manifests/a/{}/{}", n(143), n(100)),
        format!("manifests/b/{}/{}", n(144), n(9)),
        format!("manifests/c/{}/{}", n(143), n(101)),
        // A directory is longer than its files.
        format!("manifests/d/{}/x", n(88)),
        format!("manifests/e/{}/{}/x", n(200), n(200)),
        "manifests/漢字.yaml".to_owned(),
        format!("manifests/é{}", "漢".repeat(60)),
        format!("manifests/{}/ü/{}", n(100), n(120)),
        // These two sort before and after the directory `a/`.
        "manifests/a-b".to_owned(),
        "manifests/a.b".to_owned(),
        "manifests/a0".to_owned(),
    ];
    for name in &names {
        put(&source, name, &format!("# {name}\n"));
    }
    put(
        &source,
        metadata::FILE,
        "annotations:
  k8s.io.bundle.mediatype.v1: kustomize
  k8s.io.bundle.package.v1: names
  k8s.io.bundle.version.v1: \"1.0.0\"\n",
    );
    let sample = Sample::pack(&source);
    assert_eq!(sample.packed.added.len(), 2, "the metadata is written anew");
    assert_eq!(sample.rebuilt(&source), sample.vector());
}

#[test]
fn each_image_gives_its_bundle_back() {
    let limits = Limits::default();
    for name in names() {
        let sample = Sample::good(&name);
        let mut spool = Spool::new(sample.directory.path());
        let unpacked = unpack(sample.image(), &limits, &mut spool).unwrap();
        let bundle = unpacked.bundle;
        assert_eq!(bundle.metadata, sample.packed.bundle.metadata, "{name}");
        assert!(
            unpacked
                .copies
                .differences(&bundle.metadata.annotations)
                .is_empty(),
            "{name}"
        );
        let source = super::files(&good().join(&name));
        assert!(
            source.keys().eq(bundle.files.keys()),
            "{name}: {:?}",
            bundle.files.keys()
        );
        for (path, content) in &bundle.files {
            if path.as_str() != metadata::FILE {
                let (found, wanted) = (content.to_bytes(), source[path].to_bytes());
                assert_eq!(found.unwrap(), wanted.unwrap(), "{name}: {path}");
            }
        }
        // What was unpacked packs to the same image again.
        let options = PackOptions::default();
        let again = manifest_bundle::image::pack(&bundle, &options, &mut spool).unwrap();
        let digest = again.manifest.descriptor.digest;
        assert_eq!(digest.to_string(), sample.vector().manifest, "{name}");
    }
}

#[test]
fn what_is_written_is_valid_by_the_schemas() {
    let schemas = All::load();
    for name in names() {
        let sample = Sample::good(&name);
        let file = &sample.packed.bundle.files[metadata::FILE];
        let text = file.to_bytes().unwrap();
        let limits = Limits::default();
        let document = manifest_bundle::yaml::metadata_document(&text, &limits).unwrap();
        let labels = sample.config()["config"]["Labels"].clone();
        for (schema, document) in [
            ("annotations", json(&document.root)),
            ("keys", labels),
            ("config", sample.config()),
            ("manifest", sample.manifest()),
        ] {
            let checked = schemas.check(schema, &document);
            checked.unwrap_or_else(|why| panic!("{name}: {schema}: {why}"));
        }
    }
}
