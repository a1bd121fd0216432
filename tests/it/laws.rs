//! Laws that hold for whatever comes. Each is tried with 256 seeded cases, and with 10,000 when `BUNDLE_TEST_FULL` is set;
//! a failure prints the smallest case that breaks the law.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};

use manifest_bundle::bundle::{Bundle, Files};
use manifest_bundle::channel::{Channel, Entry};
use manifest_bundle::content::{Content, Spool};
use manifest_bundle::digest::Digest;
use manifest_bundle::escape::{is_unsafe, shown, shown_lines};
use manifest_bundle::gzip;
use manifest_bundle::image::{self, Image, PackOptions};
use manifest_bundle::limits::{Ceiling, Limits};
use manifest_bundle::metadata::{self, Identity};
use manifest_bundle::oci::{Annotations, Descriptor, ManifestBlob, media_type};
use manifest_bundle::path::BundlePath;
use manifest_bundle::reference::{Entry as Selected, Location};
use manifest_bundle::requirement::Requirement;
use manifest_bundle::resolution::Facts;
use manifest_bundle::store::{Name, archive, memory::Memory};
use manifest_bundle::tag::Tag;
use manifest_bundle::tar::{self, Rules};
use manifest_bundle::version::Version;
use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use crate::support::targen::{Head, TarGen};

/// Tries a law with whatever a strategy makes.
#[track_caller]
fn law<S: Strategy>(strategy: &S, holds: impl Fn(S::Value) -> Result<(), TestCaseError>) {
    let is_full = std::env::var_os("BUNDLE_TEST_FULL").is_some();
    try_law(if is_full { 10_000 } else { 256 }, strategy, holds);
}

#[track_caller]
fn try_law<S: Strategy>(
    cases: u32,
    strategy: &S,
    holds: impl Fn(S::Value) -> Result<(), TestCaseError>,
) {
    let config = Config {
        cases,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..Config::default()
    };
    if let Err(failure) = TestRunner::new(config).run(strategy, holds) {
        panic!("{failure}");
    }
}

/// Contents of files by the last parts of their names.
fn contents() -> impl Strategy<Value = BTreeMap<String, Vec<u8>>> {
    let name = "[a-zé][a-z0-9é.-]{0,110}";
    let data = proptest::collection::vec(any::<u8>(), 0..1500);
    proptest::collection::btree_map(name, data, 1..12)
}

/// Makes a bundle; the contents need not be objects, which is not what is tried here.
fn bundle(contents: &BTreeMap<String, Vec<u8>>, spool: &mut Spool) -> Bundle {
    let identity = Identity {
        package: Some("law".parse().unwrap()),
        version: Some("1.0.0".parse().unwrap()),
        ..Identity::default()
    };
    let completed = metadata::complete(
        None,
        &identity,
        None,
        &Annotations::new(),
        &Limits::default(),
    )
    .unwrap();
    let mut files = Files::from([(metadata::path().unwrap(), Content::from(completed.bytes))]);
    for (number, (name, data)) in contents.iter().enumerate() {
        let path = format!("manifests/{number}-{}.yaml", name.trim_end_matches('.'));
        files.insert(
            path.parse().unwrap(),
            spool.store(&mut data.as_slice()).unwrap(),
        );
    }
    Bundle {
        metadata: completed.metadata,
        files,
    }
}

fn packed(bundle: &Bundle, threads: usize, spool: &mut Spool) -> Image {
    let options = PackOptions {
        threads,
        ..PackOptions::default()
    };
    image::pack(bundle, &options, spool).unwrap()
}

fn bytes(files: &Files) -> BTreeMap<&BundlePath, Vec<u8>> {
    let read = |(path, content): (_, &Content)| (path, content.to_bytes().unwrap().to_vec());
    files.iter().map(read).collect()
}

#[test]
fn what_is_packed_comes_back() {
    let directory = tempfile::tempdir().unwrap();
    law(&contents(), |contents| {
        let mut spool = Spool::new(directory.path());
        let bundle = bundle(&contents, &mut spool);
        let image = packed(&bundle, 1, &mut spool);
        let unpacked = image::unpack(&image, &Limits::default(), &mut spool).unwrap();
        prop_assert_eq!(bytes(&unpacked.bundle.files), bytes(&bundle.files));
        prop_assert_eq!(unpacked.bundle.metadata, bundle.metadata);
        Ok(())
    });
}

#[test]
fn a_digest_depends_on_the_content_alone() {
    let directory = tempfile::tempdir().unwrap();
    law(
        &(contents(), 2..5_usize, 0..3000_u64),
        |(contents, threads, in_memory)| {
            let mut memory = Spool::new(directory.path());
            let mut disk = Spool::with_memory(directory.path(), in_memory);
            let one = packed(&bundle(&contents, &mut memory), 1, &mut memory);
            let other = packed(&bundle(&contents, &mut disk), threads, &mut disk);
            prop_assert_eq!(one.manifest.bytes, other.manifest.bytes);
            Ok(())
        },
    );
}

#[test]
fn a_changed_archive_is_refused_or_means_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let strategy = (contents(), any::<proptest::sample::Index>(), 0..8_u32);
    law(&strategy, |(contents, index, bit)| {
        let mut spool = Spool::new(directory.path());
        let bundle = bundle(&contents, &mut spool);
        let image = packed(&bundle, 1, &mut spool);
        let tag: Tag = "1.0.0".parse().unwrap();
        let memory = Memory::of_image("law", &image, Some(&tag)).unwrap();
        let mut archived = Vec::new();
        archive::write(&memory, &mut archived).unwrap();
        *index.get_mut(&mut archived) ^= 1 << bit;
        let Some(found) = reread(archived, &mut spool) else {
            return Ok(());
        };
        prop_assert_eq!(bytes(&found.files), bytes(&bundle.files));
        Ok(())
    });
}

/// Reads an archive as far as a bundle; nothing when it is refused anywhere.
fn reread(archived: Vec<u8>, spool: &mut Spool) -> Option<Bundle> {
    let limits = Limits::default();
    let found = archive::read(&Content::from(archived), "law", &limits).ok()?;
    let name = found.select(&Selected::default()).ok()?;
    let blobs = found.memory.contents();
    let wanted = match &name {
        Name::Digest(digest) => *digest,
        Name::Tag(tag) => {
            found
                .memory
                .roots()
                .ok()?
                .into_iter()
                .find(|(t, _)| t.as_ref() == Some(tag))?
                .1
                .digest
        }
    };
    // As a reader does: only what has the digest that is asked for.
    let fetch = |digest: &Digest| {
        let content = blobs.get(digest)?.clone();
        (content.digest(digest.hasher()).ok()? == *digest).then_some(content)
    };
    let manifest = fetch(&wanted)?.to_bytes().ok()?;
    let manifest = ManifestBlob::new(manifest.to_vec(), &limits).ok()?;
    let oci = image::manifest_of(&manifest).ok()?.clone();
    let image = Image {
        manifest,
        config: fetch(&oci.config.digest)?,
        layers: oci
            .layers
            .iter()
            .map(|layer| fetch(&layer.digest))
            .collect::<Option<_>>()?,
    };
    image::unpack(&image, &limits, spool)
        .ok()
        .map(|unpacked| unpacked.bundle)
}

#[test]
fn a_name_is_refused_in_an_archive_if_and_only_if_it_is_refused_in_a_directory() {
    // Parts that are harmless, parts that are not, and whatever else.
    let part = prop_oneof![
        "[a-z]{1,8}",
        "[.]{1,3}",
        "[A-Z. -]{1,4}",
        "(con|NUL|aux[.]yaml|com1)",
        "[\\PC]{1,6}",
        "(:|\\\\|é|e\u{301}|[.]wh[.]x|[.]git)",
    ];
    let name = proptest::collection::vec(part, 1..5).prop_map(|parts| parts.join("/"));
    law(&name, |name| {
        prop_assume!(!name.contains('\0') && !name.ends_with('/') && name.len() < 250);
        let admitted = BundlePath::admit(name.as_bytes()).is_ok();
        let archive = TarGen::new()
            .pax(b'x', &[("path", &name)])
            .entry(Head::file("x", 1), b"1")
            .end();
        let limits = Limits::default();
        let read = tar::index(&Content::from(archive), Rules::layer(&limits));
        prop_assert_eq!(admitted, read.is_ok(), "{:?}", read);
        Ok(())
    });
}

#[test]
fn what_a_ceiling_allows_a_higher_one_allows_too() {
    let directory = tempfile::tempdir().unwrap();
    let ceiling = proptest::sample::select(Ceiling::ALL);
    law(
        &(contents(), ceiling, 0..20_000_u64, 0..20_000_u64),
        |(contents, ceiling, a, b)| {
            let mut spool = Spool::new(directory.path());
            let bundle = bundle(&contents, &mut spool);
            let image = packed(&bundle, 1, &mut spool);
            let mut is_read = |value| {
                image::unpack(&image, &Limits::default().with(ceiling, value), &mut spool).is_ok()
            };
            let (low, high) = (is_read(a.min(b)), is_read(a.max(b)));
            prop_assert!(high || !low, "{} {}", ceiling.name(), a);
            Ok(())
        },
    );
}

#[test]
fn what_is_shown_is_safe_and_stays_what_it_is() {
    law(&"\\PC*|[\\x00-\\u{2100}]{0,600}", |text| {
        let once = shown(&text);
        prop_assert!(!once.chars().any(is_unsafe));
        prop_assert!(once.len() < 600);
        let lines = shown_lines(&text);
        prop_assert!(!lines.chars().any(|c| c != '\n' && is_unsafe(c)));
        prop_assert_eq!(shown_lines(&lines), lines);
        Ok(())
    });
}

/// Versions among which many are equal in part.
fn version() -> impl Strategy<Value = Version> {
    let text =
        "[0-2][.][0-2][.][0-2](-(a|b|rc[.](0|[1-9][0-9]?)|[1-9]))?([+](a|b[.][1-9]|[1-9][0-9]?))?";
    text.prop_map(|text| text.parse().unwrap())
}

#[test]
fn versions_have_one_order() {
    law(&[version(), version(), version()], |[a, b, c]| {
        prop_assert_eq!(a.cmp(&b), b.cmp(&a).reverse());
        prop_assert_eq!(a.cmp(&b) == Ordering::Equal, a == b);
        if a <= b && b <= c {
            prop_assert!(a <= c);
        }
        // The order refines the precedence.
        prop_assert!(a.precedence(&b) == Ordering::Equal || a.precedence(&b) == a.cmp(&b));
        Ok(())
    });
}

#[test]
fn versions_and_their_tags_lead_to_each_other() {
    law(&version(), |version| {
        prop_assert_eq!(&version.to_string().parse::<Version>().unwrap(), &version);
        let tag = Tag::of_version(&version).unwrap();
        prop_assert_eq!(tag.version(), Some(version.clone()));
        let exact: Requirement = version.to_string().parse().unwrap();
        prop_assert!(exact.matches(&version));
        Ok(())
    });
}

#[test]
fn a_range_is_what_lies_between_its_ends() {
    law(
        &[version(), version(), version()],
        |[low, high, version]| {
            let range: Requirement = format!(">={low} <{high}").parse().unwrap();
            let is_between = version.precedence(&low) != Ordering::Less
                && version.precedence(&high) == Ordering::Less;
            prop_assert!(!range.matches(&version) || is_between);
            prop_assert!(range.matches(&version) || !is_between || version.is_prerelease());
            Ok(())
        },
    );
}

#[test]
fn a_reference_reads_what_it_writes() {
    let host = "([a-z]{1,5}[.](io|example)(:[1-9][0-9]{0,3})?|localhost(:[1-9][0-9]{0,3})?|\\[::1\\]:[1-9][0-9]{0,3})";
    let rest = "(/[a-z0-9]{1,6}([._-][a-z0-9]{1,3})?){1,3}(:[a-zA-Z0-9_][a-zA-Z0-9._-]{0,20})?(@sha256:[0-9a-f]{64})?";
    let other =
        "(oci:|oci-archive:|[.]/|/)[a-z0-9./-]{1,20}(:[a-z][a-z0-9.]{0,6})?(@sha256:[0-9a-f]{64})?";
    let text = proptest::string::string_regex(&format!("{host}{rest}|{other}")).unwrap();
    law(&text, |text| {
        let Ok(read) = text.parse::<Location>() else {
            return Ok(());
        };
        prop_assert_eq!(&read.to_string().parse::<Location>().unwrap(), &read);
        Ok(())
    });
}

#[test]
fn a_digest_reads_what_it_writes_and_nothing_else() {
    let change = (
        "[0-9a-f]{64}",
        any::<proptest::sample::Index>(),
        "[0-9a-zA-Z:]",
    );
    law(&change, |(hex, index, other)| {
        let text = format!("sha256:{hex}");
        let digest: Digest = text.parse().unwrap();
        prop_assert_eq!(digest.to_string(), &*text);
        let at = index.index(text.len());
        let changed = format!("{}{other}{}", &text[..at], &text[at + 1..]);
        if let Ok(found) = changed.parse::<Digest>() {
            prop_assert_eq!(found == digest, changed == text);
            prop_assert_eq!(found.to_string(), changed);
        }
        Ok(())
    });
}

#[test]
fn compression_is_undone_and_does_not_depend_on_how_it_is_fed() {
    // Up to three of the blocks that threads share; there are few cases, because each is large.
    let words = proptest::collection::vec(prop_oneof![any::<u8>(), Just(b'a')], 1..2000);
    let strategy = (words, 0..2_500_000_usize, 1..70_000_usize, 1..4_usize);
    try_law(16, &strategy, |(words, length, piece, threads)| {
        let data: Vec<u8> = words.iter().copied().cycle().take(length).collect();
        let compress = |piece: usize, threads| {
            let mut writer = gzip::Writer::new(Vec::new(), threads);
            for piece in data.chunks(piece) {
                writer.write_all(piece).unwrap();
            }
            writer.finish().unwrap()
        };
        let whole = compress(usize::MAX, 1);
        prop_assert!(whole == compress(piece, threads));
        let mut back = Vec::new();
        let limits = Limits::default();
        gzip::Reader::new(whole.as_slice(), &limits)
            .read_to_end(&mut back)
            .unwrap();
        prop_assert!(back == data);
        Ok(())
    });
}

#[test]
fn a_channel_does_not_depend_on_the_order_of_additions_and_reads_what_it_writes() {
    let versions = proptest::collection::btree_set(version().prop_map(|v| v.to_string()), 1..8);
    let shuffled = versions.prop_flat_map(|set| {
        let list: Vec<String> = set.into_iter().collect();
        (Just(list.clone()), Just(list).prop_shuffle())
    });
    law(&shuffled, |(sorted, shuffled)| {
        let limits = Limits::default();
        let channel = |versions: &[String]| {
            let mut channel = Channel::new("stable".parse().unwrap(), "law".parse().unwrap());
            for version in versions {
                let digest = Digest::of(version.as_bytes());
                channel
                    .add(Entry {
                        descriptor: Descriptor::new(media_type::MANIFEST, digest, 1),
                        facts: Facts {
                            package: "law".parse().unwrap(),
                            version: version.parse().unwrap(),
                            operator_id: None,
                            min_operator_version: None,
                            min_kubernetes_version: None,
                        },
                    })
                    .unwrap();
            }
            channel
        };
        let written = channel(&sorted).write(&limits).unwrap();
        prop_assert_eq!(
            &written.bytes,
            &channel(&shuffled).write(&limits).unwrap().bytes
        );
        let read = Channel::parse(&written, &"stable".parse().unwrap(), &limits).unwrap();
        prop_assert_eq!(read.write(&limits).unwrap().bytes, written.bytes);
        let newest = sorted.iter().map(|v| v.parse::<Version>().unwrap()).max();
        prop_assert_eq!(Some(&read.entries()[0].facts.version), newest.as_ref());
        Ok(())
    });
}
