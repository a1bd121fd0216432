//! What every store promises, as one suite over all of them: memory, a layout, an archive that was written and read
//! again, and a real registry. What one of them does otherwise is a fault of that one.

use std::path::Path;

use manifest_bundle::content::Content;
use manifest_bundle::digest::Digest;
use manifest_bundle::error::{Error, Kind};
use manifest_bundle::limits::{Ceiling, Limits};
use manifest_bundle::oci::{Annotations, Descriptor, Index, Manifest, ManifestBlob, media_type};
use manifest_bundle::store::layout::Layout;
use manifest_bundle::store::memory::Memory;
use manifest_bundle::store::registry::{Access, AccessSettings, Registry};
use manifest_bundle::store::{self, Name, Store, archive};
use manifest_bundle::tag::Tag;
use tokio::runtime::Runtime;

use crate::support::DockerRegistry;

const SBOM: &str = "application/vnd.example.sbom";
const SCAN: &str = "application/vnd.example.scan";

/// Two images, an index of both, and two manifests that refer to the first.
struct Sample {
    blobs: Vec<(Descriptor, Content)>,
    first: ManifestBlob,
    second: ManifestBlob,
    index: ManifestBlob,
    referrers: [ManifestBlob; 2],
}

impl Sample {
    fn new() -> Self {
        let limits = Limits::default();
        let blob = |media_type: &str, text: &str| {
            let descriptor = Descriptor::of(media_type, text.as_bytes());
            (descriptor, Content::from(text.as_bytes().to_vec()))
        };
        let layer = blob(media_type::LAYER_GZIP, "a layer, to whoever does not look");
        let configs = [
            "{\"architecture\":\"amd64\"}",
            "{\"architecture\":\"arm64\"}",
        ]
        .map(|text| blob(media_type::CONFIG, text));
        let empty = blob(media_type::EMPTY, "{}");
        let image = |config: &Descriptor, kind: Option<&str>, subject: Option<&ManifestBlob>| {
            let manifest = Manifest {
                annotations: Annotations::from([(
                    "of".to_owned(),
                    kind.unwrap_or("none").to_owned(),
                )]),
                artifact_type: kind.map(str::to_owned),
                config: config.clone(),
                layers: vec![layer.0.clone()],
                media_type: media_type::MANIFEST.to_owned(),
                schema_version: 2,
                subject: subject.map(|subject| subject.descriptor.clone()),
            };
            ManifestBlob::new(manifest.write().unwrap(), &limits).unwrap()
        };
        let first = image(&configs[0].0, None, None);
        let second = image(&configs[1].0, None, None);
        let children = vec![first.descriptor.clone(), second.descriptor.clone()];
        let index = Index::new(children).write().unwrap();
        let [config_a, config_b] = configs;
        Self {
            referrers: [SBOM, SCAN].map(|kind| image(&empty.0, Some(kind), Some(&first))),
            index: ManifestBlob::new(index, &limits).unwrap(),
            blobs: vec![layer, config_a, config_b, empty],
            first,
            second,
        }
    }

    fn layer(&self) -> &Descriptor {
        &self.blobs[0].0
    }
}

/// Fetches as everybody does.
async fn fetch(store: &dyn Store, descriptor: &Descriptor) -> Result<Vec<u8>, Error> {
    let directory = tempfile::tempdir().unwrap();
    let content = store::fetch(store, descriptor, directory.path(), &Limits::default()).await?;
    Ok(content.to_bytes().unwrap().to_vec())
}

async fn manifest(store: &dyn Store, name: Name) -> Result<ManifestBlob, Error> {
    store::fetch_manifest(store, &name, &Limits::default()).await
}

fn tag(text: &str) -> Tag {
    text.parse().unwrap()
}

fn by_tag(text: &str) -> Name {
    Name::Tag(tag(text))
}

/// What is not there is said to be missing; then everything of the sample is put in.
async fn fill(store: &dyn Store, sample: &Sample) {
    assert!(!store.has(sample.layer()).await.unwrap());
    assert_eq!(store.tagged(&tag("1.0.0")).await.unwrap(), None);
    let missing = fetch(store, sample.layer()).await.unwrap_err();
    assert_eq!(missing.kind(), Kind::NotFound, "{missing}");
    for name in [
        by_tag("1.0.0"),
        Name::Digest(sample.first.descriptor.digest),
    ] {
        let missing = manifest(store, name).await.unwrap_err();
        assert_eq!(missing.kind(), Kind::NotFound, "{missing}");
    }

    for (descriptor, content) in &sample.blobs {
        store.push_blob(descriptor, content).await.unwrap();
        assert!(store.has(descriptor).await.unwrap(), "{descriptor:?}");
        // Once more changes nothing.
        store.push_blob(descriptor, content).await.unwrap();
    }
    store
        .push_manifest(&sample.first, Some(&tag("1.0.0")))
        .await
        .unwrap();
    store.push_manifest(&sample.second, None).await.unwrap();
    store
        .push_manifest(&sample.index, Some(&tag("all")))
        .await
        .unwrap();
    for referrer in &sample.referrers {
        store.push_manifest(referrer, None).await.unwrap();
    }
}

/// Bytes that are not those of the descriptor are refused, and nothing is there afterwards.
async fn refuses_wrong_bytes(store: &dyn Store) {
    let right = Descriptor::of(media_type::LAYER, b"right");
    for wrong in ["wrong", "longer than right", "rig"] {
        let error = store
            .push_blob(&right, &Content::from(wrong.as_bytes().to_vec()))
            .await;
        assert!(error.is_err(), "{} took `{wrong}`", store.place());
        assert!(
            !store.has(&right).await.unwrap(),
            "{} has `{wrong}`",
            store.place()
        );
    }
}

/// Everything of the sample is there, and nothing else is taken for it.
async fn holds(store: &dyn Store, sample: &Sample) {
    for (descriptor, content) in &sample.blobs {
        assert!(store.has(descriptor).await.unwrap());
        let found = fetch(store, descriptor).await.unwrap();
        assert_eq!(found, content.to_bytes().unwrap());
        for size in [descriptor.size - 1, descriptor.size + 1] {
            let wrong = Descriptor {
                size,
                ..descriptor.clone()
            };
            let error = fetch(store, &wrong).await.unwrap_err();
            assert_eq!(error.kind(), Kind::Mismatch, "size {size}: {error}");
        }
    }
    let other = Descriptor::of(media_type::LAYER, b"never pushed");
    assert!(!store.has(&other).await.unwrap());
    assert_eq!(
        fetch(store, &other).await.unwrap_err().kind(),
        Kind::NotFound
    );

    for (expected, tagged) in [(&sample.first, "1.0.0"), (&sample.index, "all")] {
        let digest = expected.descriptor.digest;
        assert_eq!(store.tagged(&tag(tagged)).await.unwrap(), Some(digest));
        for name in [by_tag(tagged), Name::Digest(digest)] {
            let found = manifest(store, name).await.unwrap();
            assert_eq!(found.bytes, expected.bytes);
            assert_eq!(found.descriptor, expected.descriptor);
            assert_eq!(found.document, expected.document);
        }
    }
    for child in [&sample.first, &sample.second] {
        assert!(store.has(&child.descriptor).await.unwrap());
        let found = manifest(store, Name::Digest(child.descriptor.digest))
            .await
            .unwrap();
        assert_eq!(found.bytes, child.bytes);
    }
    for name in [by_tag("none"), Name::Digest(other.digest)] {
        let missing = manifest(store, name).await.unwrap_err();
        assert_eq!(missing.kind(), Kind::NotFound, "{missing}");
    }
    assert_eq!(store.tagged(&tag("none")).await.unwrap(), None);
    let mut tags = store.tags().await.unwrap();
    tags.retain(|tag| !tag.is_referrers());
    assert_eq!(tags, [tag("1.0.0"), tag("all")]);
}

/// The manifests that refer to the first image are found, with what is told about them.
async fn knows_referrers(store: &dyn Store, sample: &Sample) {
    let subject = &sample.first.descriptor.digest;
    let mut found = store.referrers(subject, None).await.unwrap().descriptors;
    found.sort_by_key(|descriptor| descriptor.artifact_type.clone());
    for (descriptor, (expected, kind)) in
        found.iter().zip(sample.referrers.iter().zip([SBOM, SCAN]))
    {
        assert_eq!(descriptor.digest, expected.descriptor.digest);
        assert_eq!(descriptor.size, expected.descriptor.size);
        assert_eq!(descriptor.artifact_type.as_deref(), Some(kind));
        assert_eq!(descriptor.annotations["of"], kind);
        let blob = manifest(store, Name::Digest(descriptor.digest))
            .await
            .unwrap();
        assert_eq!(blob.bytes, expected.bytes);
    }
    assert_eq!(found.len(), 2);
    let scans = store
        .referrers(subject, Some(SCAN))
        .await
        .unwrap()
        .descriptors;
    let scans: Vec<_> = scans.iter().map(|descriptor| descriptor.digest).collect();
    assert_eq!(scans, [sample.referrers[1].descriptor.digest]);
    let none = &sample.second.descriptor.digest;
    let none = store.referrers(none, None).await.unwrap().descriptors;
    assert!(none.is_empty(), "{none:?}");
}

/// A tag moves when it is told to, and a second one may name the same.
async fn retags(store: &dyn Store, sample: &Sample) {
    store
        .push_manifest(&sample.second, Some(&tag("all")))
        .await
        .unwrap();
    store
        .push_manifest(&sample.second, Some(&tag("new")))
        .await
        .unwrap();
    for name in ["all", "new"] {
        let digest = sample.second.descriptor.digest;
        assert_eq!(store.tagged(&tag(name)).await.unwrap(), Some(digest));
        assert_eq!(
            manifest(store, by_tag(name)).await.unwrap().bytes,
            sample.second.bytes
        );
    }
    let digest = sample.first.descriptor.digest;
    assert_eq!(store.tagged(&tag("1.0.0")).await.unwrap(), Some(digest));
    // What a tag left is still there by its digest.
    let left = Name::Digest(sample.index.descriptor.digest);
    assert_eq!(
        manifest(store, left).await.unwrap().bytes,
        sample.index.bytes
    );
    let mut tags = store.tags().await.unwrap();
    tags.retain(|tag| !tag.is_referrers());
    assert_eq!(tags, [tag("1.0.0"), tag("all"), tag("new")]);
}

async fn whole_suite(store: &dyn Store, sample: &Sample) {
    fill(store, sample).await;
    refuses_wrong_bytes(store).await;
    holds(store, sample).await;
    knows_referrers(store, sample).await;
    retags(store, sample).await;
}

/// Changes one bit in the middle of a file.
fn flip_in_file(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

#[track_caller]
fn assert_mismatch<T: std::fmt::Debug>(found: Result<T, Error>, digest: &Digest) {
    let error = found.unwrap_err();
    assert_eq!(error.kind(), Kind::Mismatch, "{error}");
    let expected = digest.to_string();
    assert_eq!(
        error.detail().expected.as_deref(),
        Some(expected.as_str()),
        "{error}"
    );
}

fn registry(repository: &str) -> Registry {
    let access = Access::new(AccessSettings::default()).unwrap();
    Registry::open(repository.parse().unwrap(), &access).unwrap()
}

/// Writes a store in memory as an archive.
fn archived(memory: &Memory) -> Vec<u8> {
    let mut bytes = Vec::new();
    archive::write(memory, &mut bytes).unwrap();
    bytes
}

fn read_archive(bytes: Vec<u8>) -> Memory {
    let read = archive::read(
        &Content::from(bytes),
        "oci-archive:a.tar",
        &Limits::default(),
    );
    read.unwrap().memory
}

#[test]
fn memory_keeps_the_contract() {
    let memory = Memory::new("memory");
    let runtime = Runtime::new().unwrap();
    runtime.block_on(whole_suite(&memory, &Sample::new()));
}

#[test]
fn a_layout_keeps_the_contract_for_those_who_open_it_later_too() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("layout");
    let limits = Limits::default();
    let sample = Sample::new();
    let runtime = Runtime::new().unwrap();
    let made = Layout::open_or_create(&path, &limits).unwrap();
    runtime.block_on(fill(&made, &sample));
    runtime.block_on(refuses_wrong_bytes(&made));
    drop(made);
    let opened = Layout::open(&path, &limits).unwrap();
    runtime.block_on(async {
        holds(&opened, &sample).await;
        knows_referrers(&opened, &sample).await;
        retags(&opened, &sample).await;
    });
}

#[test]
fn a_layout_that_was_begun_goes_and_nothing_of_anybody_else() {
    let limits = Limits::default();
    let sample = Sample::new();
    let runtime = Runtime::new().unwrap();
    let [mine, theirs] = [&sample.blobs[0], &sample.blobs[1]];
    let directory = tempfile::tempdir().unwrap();
    let file =
        |path: &Path, of: &Descriptor| path.join("blobs/sha256").join(of.digest.hex()).exists();
    for case in [
        "alone",
        "a file",
        "a writer that stays",
        "a writer that left",
    ] {
        let path = directory.path().join(case);
        let first = Layout::open_or_create(&path, &limits).unwrap();
        let push = |layout: &Layout, (descriptor, content): &(Descriptor, Content)| {
            let pushed = layout.push_blob(descriptor, content);
            runtime.block_on(pushed).unwrap();
        };
        push(&first, mine);
        match case {
            "a file" => std::fs::write(path.join("blobs/notes.txt"), "mine").unwrap(),
            "a writer that stays" => {
                let second = Layout::open_or_create(&path, &limits).unwrap();
                push(&second, theirs);
                // It need not send what is there.
                push(&second, mine);
                drop(first);
                assert!(file(&path, &mine.0) && file(&path, &theirs.0), "{case}");
                let name = tag("1.0.0");
                let manifest = second.push_manifest(&sample.first, Some(&name));
                runtime.block_on(manifest).unwrap();
                drop(second);
                assert!(file(&path, &mine.0), "{case}");
                continue;
            }
            "a writer that left" => {
                let second = Layout::open_or_create(&path, &limits).unwrap();
                push(&second, theirs);
            }
            _ => {}
        }
        drop(first);
        assert_eq!(path.exists(), case != "alone", "{case}");
        assert!(!file(&path, &mine.0), "{case}");
        let is_kept = path.join("blobs/notes.txt").exists();
        assert_eq!(is_kept, case == "a file", "{case}");
        assert_eq!(file(&path, &theirs.0), case == "a writer that left");
    }
    let nowhere = directory.path().join("nowhere");
    std::os::unix::fs::symlink("missing", &nowhere).unwrap();
    let error = Layout::open_or_create(&nowhere, &limits).unwrap_err();
    assert_eq!(error.kind(), Kind::Conflict, "{error}");
}

#[test]
fn an_archive_keeps_the_contract() {
    let sample = Sample::new();
    let runtime = Runtime::new().unwrap();
    let memory = Memory::new("memory");
    runtime.block_on(fill(&memory, &sample));
    let bytes = archived(&memory);
    assert_eq!(bytes, archived(&memory), "equal stores give equal archives");
    let read = read_archive(bytes.clone());
    // Read and written again it is the same.
    assert!(
        archived(&read) == bytes,
        "an archive changes when it is read and written"
    );
    runtime.block_on(async {
        holds(&read, &sample).await;
        knows_referrers(&read, &sample).await;
        refuses_wrong_bytes(&read).await;
        retags(&read, &sample).await;
    });
}

#[test]
fn an_archive_that_is_over_a_ceiling_says_where_it_is() {
    let bytes = Content::from(archived(&Memory::new("memory")));
    let limits = Limits::default().with(Ceiling::Manifest, 10);
    let error = archive::read(&bytes, "oci-archive:a.tar", &limits).unwrap_err();
    assert_eq!(error.kind(), Kind::Limit, "{error}");
    let place = "oci-archive:a.tar: `index.json`: ";
    assert!(error.message().starts_with(place), "{error}");
}

#[test]
fn a_registry_keeps_the_contract() {
    let server = DockerRegistry::open();
    let store = registry(&server.repository("contract"));
    let runtime = Runtime::new().unwrap();
    runtime.block_on(whole_suite(&store, &Sample::new()));
}

#[test]
fn a_flipped_bit_in_memory_is_noticed() {
    let sample = Sample::new();
    let memory = Memory::new("memory");
    let layer = sample.layer();
    let mut bytes = sample.blobs[0].1.to_bytes().unwrap().to_vec();
    bytes[3] ^= 1;
    memory.put_blob(layer.digest, Content::from(bytes));
    let runtime = Runtime::new().unwrap();
    assert_mismatch(runtime.block_on(fetch(&memory, layer)), &layer.digest);
}

#[test]
fn a_flipped_bit_in_a_layout_is_noticed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("layout");
    let sample = Sample::new();
    let runtime = Runtime::new().unwrap();
    let layout = Layout::open_or_create(&path, &Limits::default()).unwrap();
    runtime.block_on(fill(&layout, &sample));
    let (layer, first) = (sample.layer(), &sample.first.descriptor);
    for digest in [&layer.digest, &first.digest] {
        flip_in_file(&path.join("blobs/sha256").join(digest.hex()));
    }
    assert_mismatch(runtime.block_on(fetch(&layout, layer)), &layer.digest);
    for name in [by_tag("1.0.0"), Name::Digest(first.digest)] {
        assert_mismatch(runtime.block_on(manifest(&layout, name)), &first.digest);
    }
    // Pushed again, the blob is mended: what is there is not taken for right by its name.
    runtime
        .block_on(layout.push_blob(layer, &sample.blobs[0].1))
        .unwrap();
    runtime.block_on(fetch(&layout, layer)).unwrap();
}

#[test]
fn a_flipped_bit_in_a_referrer_is_a_mismatch_and_not_one_referrer_less() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("layout");
    let sample = Sample::new();
    let runtime = Runtime::new().unwrap();
    let layout = Layout::open_or_create(&path, &Limits::default()).unwrap();
    let memory = Memory::new("memory");
    runtime.block_on(fill(&layout, &sample));
    runtime.block_on(fill(&memory, &sample));
    let (first, referrer) = (&sample.first.descriptor, &sample.referrers[0]);
    let whole = archived(&memory);
    let at = whole
        .windows(referrer.bytes.len())
        .position(|part| part == referrer.bytes)
        .unwrap();
    let file = path
        .join("blobs/sha256")
        .join(referrer.descriptor.digest.hex());
    // Somewhere the JSON breaks, somewhere the subject becomes another one, somewhere nothing else is to be seen.
    for position in (0..referrer.bytes.len()).step_by(7) {
        let mut bytes = referrer.bytes.to_vec();
        bytes[position] ^= 1;
        std::fs::write(&file, bytes).unwrap();
        let mut bytes = whole.clone();
        bytes[at + position] ^= 1;
        let archive = read_archive(bytes);
        for store in [&layout as &dyn Store, &archive] {
            let listed = runtime.block_on(store.referrers(&first.digest, None));
            let error = listed.unwrap_err();
            let named = referrer.descriptor.digest;
            assert_eq!(error.kind(), Kind::Mismatch, "{position}: {error}");
            assert_eq!(error.detail().digest, Some(named), "{position}: {error}");
        }
    }
}

/// Puts a file into a layout, listed with the media type of a manifest or of something else.
async fn list(layout: &Layout, path: &Path, media_type: &str, bytes: &[u8]) -> Digest {
    let descriptor = Descriptor::of(media_type, bytes);
    let content = Content::from(bytes.to_vec());
    layout.push_blob(&descriptor, &content).await.unwrap();
    let file = path.join("index.json");
    let mut index: serde_json::Value =
        serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    let entries = index["manifests"].as_array_mut().unwrap();
    entries.push(serde_json::to_value(&descriptor).unwrap());
    std::fs::write(&file, index.to_string()).unwrap();
    descriptor.digest
}

/// Makes an archive of the files of a layout.
fn archive_of(path: &Path) -> Content {
    let ran = std::process::Command::new("tar")
        .args(["--format=gnu", "--owner=0", "--group=0", "-C"])
        .arg(path)
        .args(["-c", "oci-layout", "index.json", "blobs"])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
    Content::from(ran.stdout)
}

#[test]
fn what_may_be_a_referrer_and_cannot_be_read_is_an_error_and_not_one_referrer_less() {
    let sample = Sample::new();
    let runtime = Runtime::new().unwrap();
    let many = |count: usize| {
        let annotations: Vec<String> = (0..count).map(|key| format!(r#""{key}":"x""#)).collect();
        let referrer = String::from_utf8(sample.referrers[0].bytes.to_vec()).unwrap();
        referrer.replacen(
            r#""annotations":{"#,
            &format!(r#""annotations":{{{},"#, annotations.join(",")),
            1,
        )
    };
    let large = many(1001);
    let huge = format!("{}{large}", " ".repeat(4 * 1024 * 1024));
    let manifest = media_type::MANIFEST;
    let limits = Limits::default();
    let raised = Limits::default()
        .with(Ceiling::Annotations, 2000)
        .with(Ceiling::Manifest, 8 * 1024 * 1024);
    for (media_type, bytes, fault, when_raised) in [
        (manifest, "{", Some(Kind::Unsafe), Some(Kind::Unsafe)),
        (manifest, &large[..], Some(Kind::Limit), None),
        (manifest, &huge[..], Some(Kind::Limit), None),
        ("application/xml", "<a/>", None, None),
        ("application/xml", &huge[..], None, None),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("layout");
        let layout = Layout::open_or_create(&path, &limits).unwrap();
        runtime.block_on(fill(&layout, &sample));
        let digest = runtime.block_on(list(&layout, &path, media_type, bytes.as_bytes()));
        let archive = archive_of(&path);
        for (limits, fault) in [(&limits, fault), (&raised, when_raised)] {
            let layout = Layout::open(&path, limits).unwrap();
            let archive = archive::read(&archive, "oci-archive:a.tar", limits).unwrap();
            for store in [&layout as &dyn Store, &archive.memory] {
                let first = &sample.first.descriptor.digest;
                let listed = runtime.block_on(store.referrers(first, None));
                match (listed, fault) {
                    (Ok(listed), None) => {
                        let here = listed.descriptors.iter().any(|d| d.digest == digest);
                        assert_eq!(here, media_type == manifest, "{}", store.place());
                    }
                    (Err(error), Some(kind)) => {
                        assert_eq!(error.kind(), kind, "{error}");
                        assert_eq!(error.detail().digest, Some(digest), "{error}");
                        assert!(error.detail().hint.is_some(), "{error}");
                    }
                    (listed, fault) => panic!("{}: {fault:?}: {listed:?}", store.place()),
                }
            }
            // Written again, the archive lists what it listed.
            let index = |content: &Content| {
                let read = archive::read(content, "oci-archive:a.tar", limits).unwrap();
                let mut roots = read.memory.roots().unwrap();
                roots.sort_by_key(|(_, descriptor)| descriptor.digest);
                roots
            };
            if fault.is_none() {
                let again = Content::from(archived(&archive.memory));
                assert_eq!(index(&archive_of(&path)), index(&again));
            }
        }
    }
}

#[test]
fn a_manifest_under_a_tag_is_verified_in_every_algorithm() {
    let sample = Sample::new();
    let runtime = Runtime::new().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("layout");
    let layout = Layout::open_or_create(&path, &Limits::default()).unwrap();
    runtime.block_on(fill(&layout, &sample));
    let bytes = &sample.second.bytes;
    let zero: Digest = format!("sha512:{}", "0".repeat(128)).parse().unwrap();
    let digest = zero.like(bytes);
    let mut descriptor = Descriptor::new(media_type::MANIFEST, digest, bytes.len() as u64);
    let content = Content::from(bytes.clone());
    runtime
        .block_on(layout.push_blob(&descriptor, &content))
        .unwrap();
    let named = ("org.opencontainers.image.ref.name", "long");
    descriptor.annotations = Annotations::from([(named.0.to_owned(), named.1.to_owned())]);
    let index = Index::new(vec![descriptor]).write().unwrap();
    std::fs::write(path.join("index.json"), index).unwrap();
    let read = || archive::read(&archive_of(&path), "oci-archive:a.tar", &Limits::default());
    for store in [&layout as &dyn Store, &read().unwrap().memory] {
        let found = runtime.block_on(manifest(store, by_tag("long"))).unwrap();
        assert_eq!(found.bytes, *bytes);
    }
    flip_in_file(&path.join("blobs/sha512").join(digest.hex()));
    for store in [&layout as &dyn Store, &read().unwrap().memory] {
        for name in [by_tag("long"), Name::Digest(digest)] {
            let error = runtime.block_on(manifest(store, name)).unwrap_err();
            assert_eq!(error.kind(), Kind::Mismatch, "{error}");
        }
    }
}

#[test]
fn a_flipped_bit_in_an_archive_is_noticed() {
    let sample = Sample::new();
    let runtime = Runtime::new().unwrap();
    let memory = Memory::new("memory");
    runtime.block_on(fill(&memory, &sample));
    let whole = archived(&memory);
    let (layer, first) = (sample.layer(), &sample.first.descriptor);
    let flipped = |content: &[u8]| {
        let at = whole
            .windows(content.len())
            .position(|part| part == content)
            .unwrap();
        let mut bytes = whole.clone();
        bytes[at + content.len() / 2] ^= 1;
        read_archive(bytes)
    };
    let wrong_layer = flipped(&sample.blobs[0].1.to_bytes().unwrap());
    assert_mismatch(runtime.block_on(fetch(&wrong_layer, layer)), &layer.digest);
    let wrong_manifest = flipped(&sample.first.bytes);
    for name in [by_tag("1.0.0"), Name::Digest(first.digest)] {
        assert_mismatch(
            runtime.block_on(manifest(&wrong_manifest, name)),
            &first.digest,
        );
    }
}

#[test]
fn a_flipped_bit_in_the_storage_of_a_registry_is_noticed() {
    let server = DockerRegistry::local();
    let store = registry(&server.repository("flipped"));
    let sample = Sample::new();
    let runtime = Runtime::new().unwrap();
    runtime.block_on(fill(&store, &sample));
    let layer = sample.layer();
    flip_in_file(&server.blob_file(&layer.digest.to_string()));
    assert_mismatch(runtime.block_on(fetch(&store, layer)), &layer.digest);
}
