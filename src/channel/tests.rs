//! Tests of what an index of a channel says and what a change makes of it.

use super::*;

fn entry(version: &str, byte: u8) -> Entry {
    Entry {
        descriptor: Descriptor::new(media_type::MANIFEST, Digest::of(&[byte]), 7),
        facts: Facts {
            package: "etcd".parse().unwrap(),
            version: version.parse().unwrap(),
            operator_id: Some("etcd-manager".parse().unwrap()),
            min_operator_version: Some("1.4.0".parse().unwrap()),
            min_kubernetes_version: Some("1.31".parse().unwrap()),
        },
    }
}

fn stable() -> Channel {
    Channel::new("stable".parse().unwrap(), "etcd".parse().unwrap())
}

#[test]
fn what_is_written_reads_back_and_the_newest_is_first() {
    let mut channel = stable();
    for (version, byte) in [
        ("1.9.0", 1),
        ("1.10.0", 2),
        ("2.0.0-rc.1", 3),
        ("1.10.0+b.2", 4),
        ("1.10.0+b.10", 5),
    ] {
        assert!(channel.add(entry(version, byte)).unwrap());
    }
    assert!(!channel.add(entry("1.9.0", 1)).unwrap(), "it is there");
    let order: Vec<String> = channel
        .entries()
        .iter()
        .map(|e| e.facts.version.to_string())
        .collect();
    assert_eq!(
        order,
        ["2.0.0-rc.1", "1.10.0+b.10", "1.10.0+b.2", "1.10.0", "1.9.0"]
    );
    assert_eq!(
        channel.head().unwrap().facts.version.to_string(),
        "1.10.0+b.10"
    );
    channel.previous = Some(Digest::of(b"before"));
    let limits = Limits::default();
    let written = channel.write(&limits).unwrap();
    let read = Channel::parse(&written, &channel.name, &limits).unwrap();
    assert_eq!(read, channel);
    assert_eq!(read.write(&limits).unwrap().bytes, written.bytes);
}

#[test]
fn a_version_is_there_once_and_a_package_alone() {
    let mut channel = stable();
    channel.add(entry("1.0.0", 1)).unwrap();
    assert_eq!(
        channel.add(entry("1.0.0", 2)).unwrap_err().kind(),
        Kind::Conflict
    );
    let mut other = entry("2.0.0", 3);
    other.facts.package = "zookeeper".parse().unwrap();
    assert_eq!(channel.add(other).unwrap_err().kind(), Kind::Conflict);
    assert_eq!(
        channel
            .remove(|e| e.facts.version.to_string() == "1.0.0")
            .len(),
        1
    );
    assert!(channel.head().is_none());
}

#[test]
fn what_was_withdrawn_is_recorded_until_it_is_added_again() {
    let limits = Limits::default();
    let read = |channel: &Channel| {
        Channel::parse(&channel.write(&limits).unwrap(), &channel.name, &limits)
    };
    let mut channel = stable();
    let plain = channel.write(&limits).unwrap().bytes;
    channel.add(entry("1.0.0", 1)).unwrap();
    channel.add(entry("1.1.0", 2)).unwrap();
    assert_eq!(channel.withdraw(|_| false).unwrap(), []);
    assert_eq!(channel.withdraw(|_| true).unwrap().len(), 2);
    let emptied = read(&channel).unwrap();
    assert_eq!(emptied, channel);
    assert_eq!(emptied.withdrawn().len(), 2);
    assert!(channel.add(entry("1.0.0", 1)).unwrap());
    assert!(channel.forget(&Digest::of(&[2])));
    assert!(!channel.forget(&Digest::of(&[2])));
    assert!(channel.withdrawn().is_empty());
    assert_eq!(channel.remove(|_| true).len(), 1);
    let again = channel.write(&limits).unwrap().bytes;
    assert_eq!(again, plain, "what records nothing is as it was");
}

#[test]
fn a_record_has_a_ceiling_and_what_is_listed_is_not_withdrawn() {
    let limits = Limits::default();
    let digests = |count: usize| {
        let all = (0..count).map(|n| Digest::of(&n.to_le_bytes()).to_string());
        all.collect::<Vec<_>>().join(",")
    };
    let with = |record: &str| {
        let mut channel = stable();
        channel.add(entry("1.0.0", 1)).unwrap();
        channel.others.insert(WITHDRAWN.into(), record.into());
        Channel::parse(&channel.write(&limits).unwrap(), &channel.name, &limits)
    };
    let mut full = with(&digests(WITHDRAWN_MAX)).unwrap();
    assert_eq!(full.withdrawn().len(), WITHDRAWN_MAX);
    let before = full.clone();
    let error = full.withdraw(|_| true).unwrap_err();
    assert_eq!(error.kind(), Kind::Conflict, "{error}");
    assert_eq!(full, before);
    let longest: Vec<String> = (0..WITHDRAWN_MAX)
        .map(|_| format!("sha512:{}", "0".repeat(128)))
        .collect();
    assert!(WITHDRAWN.len() + longest.join(",").len() <= 64 * 1024);
    let own = Digest::of(&[1]);
    let both = with(&format!("{own},{}", Digest::of(b"x"))).unwrap();
    assert_eq!(both.withdrawn().len(), 1);
    for bad in [
        "",
        "sha256:1",
        &format!("{own},"),
        &format!("{own}, {own}"),
        &digests(WITHDRAWN_MAX + 1),
    ] {
        let error = with(bad).unwrap_err();
        assert_eq!(error.kind(), Kind::Invalid, "{bad}: {error}");
    }
}

#[test]
fn a_full_channel_says_how_to_make_room() {
    let mut channel = stable();
    for patch in 0..ENTRIES_MAX {
        let mut one = entry(&format!("1.0.{patch}"), 0);
        one.descriptor.digest = Digest::of(&patch.to_le_bytes());
        channel.add(one).unwrap();
    }
    channel.write(&Limits::default()).unwrap();
    let error = channel.add(entry("2.0.0", 1)).unwrap_err();
    assert_eq!(error.kind(), Kind::Conflict);
    assert!(
        error
            .detail()
            .hint
            .as_ref()
            .unwrap()
            .contains("channel remove")
    );
}

#[test]
fn indexes_that_are_no_channel_or_another_one_are_refused() {
    let limits = Limits::default();
    let name: ChannelName = "stable".parse().unwrap();
    let mut channel = stable();
    channel.add(entry("1.0.0", 1)).unwrap();
    let good = String::from_utf8(channel.write(&limits).unwrap().bytes.to_vec()).unwrap();
    for (from, to) in [
        (NAME, "other.key"),
        ("\"stable\"", "\"beta\""),
        (key::PACKAGE, "other.key"),
        (key::VERSION, "other.key"),
        ("\"1.0.0\"", "\"1.0\""),
        ("\"1.4.0\"", "\"one\""),
        ("oci.image.manifest.v1+json", "oci.image.index.v1+json"),
    ] {
        let bad = good.replacen(from, to, 1).into_bytes();
        let Ok(blob) = ManifestBlob::new(bad, &limits) else {
            panic!("{from} → {to} is no index");
        };
        let error = Channel::parse(&blob, &name, &limits).unwrap_err();
        assert_eq!(error.kind(), Kind::Invalid, "{from} → {to}: {error}");
    }
}
