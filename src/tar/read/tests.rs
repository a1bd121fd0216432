//! What errors about an archive say of the place; what is read and refused is in `tests/it/tar.rs`.

use super::*;

fn place(name: &[u8]) -> Place<'_> {
    Place { name, at: 512 }
}

#[test]
fn a_long_name_is_cut_in_messages_and_nowhere_else() {
    let fits = "x".repeat(NAME_SHOWN);
    let text = place(fits.as_bytes()).text();
    assert_eq!(text, format!("entry `{fits}` at byte 512"));
    let long = format!("{fits}y");
    let text = place(long.as_bytes()).text();
    assert_eq!(text, format!("entry `{fits}…` at byte 512"));
    assert_eq!(place(long.as_bytes()).file(), long);
}

#[test]
fn a_fault_names_the_entry_and_its_file() {
    let error = place(b"a\x1bb").fault("is wrong");
    assert_eq!(error.kind(), Kind::Unsafe);
    assert!(error.message().ends_with("at byte 512 is wrong"), "{error}");
    assert!(!error.message().contains('\x1b'));
    assert_eq!(
        error.detail().file.as_deref(),
        Some(&*place(b"a\x1bb").file())
    );
}

#[test]
fn a_decompressor_that_stops_says_in_which_entry_and_a_disk_does_not() {
    let stopped = Error::limit(crate::limits::Ceiling::Ratio, 200, 201).into_io();
    let error = place(b"a").failed(stopped);
    assert_eq!(error.kind(), Kind::Limit);
    assert!(error.to_string().contains("entry `a`"), "{error}");
    let broken = place(b"a").failed(io::ErrorKind::BrokenPipe.into());
    assert_eq!(broken.kind(), Kind::Io);
    assert!(!broken.to_string().contains("entry `a`"), "{broken}");
}

#[test]
fn what_stops_between_entries_is_told_with_the_byte() {
    let stopped = || Error::limit(crate::limits::Ceiling::Ratio, 200, 201).into_io();
    let error = failed_at(1024, stopped());
    assert_eq!(error.kind(), Kind::Limit);
    assert!(error.to_string().contains("at byte 1024"), "{error}");
    let broken = failed_at(1024, io::ErrorKind::BrokenPipe.into());
    assert_eq!(broken.kind(), Kind::Io);
    assert!(!broken.to_string().contains("at byte"), "{broken}");
}

fn header<'a>(prefix: &'a [u8], name: &'a [u8]) -> Header<'a> {
    Header {
        dialect: Dialect::Posix,
        flag: b'2',
        name,
        prefix,
        link: b"elsewhere",
        mode: 0o644,
        size: 0,
    }
}

#[test]
fn a_link_is_refused_with_where_it_leads() {
    let content = Content::from("");
    let limits = crate::limits::Limits::default();
    let reader = Reader::over(&content, Rules::layer(&limits));
    let error = reader.refused_kind(&header(b"", b"a"), 0);
    let found = error.detail().found.clone();
    assert_eq!(found.as_deref(), Some("a link to `elsewhere`"));
}

#[test]
fn a_prefix_and_a_name_must_join_to_one_path() {
    let joined = |prefix, name| raw_name(&header(prefix, name), None).map(Cow::into_owned);
    assert_eq!(joined(b"a/b", b"c").unwrap(), b"a/b/c");
    assert_eq!(joined(b"", b"c").unwrap(), b"c");
    for (prefix, name) in [
        (&b"."[..], &b"c"[..]),
        (b"/a", b"c"),
        (b"a/", b"c"),
        (b"a", b"/c"),
        (b"a", b""),
        (b"", b""),
    ] {
        assert!(joined(prefix, name).is_err(), "{prefix:?} {name:?}");
    }
}

#[test]
fn a_cut_archive_says_whether_bytes_or_padding_are_missing() {
    let files = [("a".parse().unwrap(), Content::from("0123456789"))].into();
    let mut archive = Vec::new();
    crate::tar::write(&files, &mut archive).unwrap();
    let limits = crate::limits::Limits::default();
    for (end, found) in [
        (512 + 9, "9 bytes"),
        (512 + 10, "10 bytes without padding"),
        (512 + 511, "10 bytes without padding"),
    ] {
        let mut source = &archive[..end];
        let mut reader = Reader::new(&mut source, Rules::layer(&limits));
        let error = reader.next_entry().unwrap_err();
        assert_eq!(error.kind(), Kind::Mismatch, "{end}: {error}");
        assert_eq!(error.detail().found.as_deref(), Some(found), "{end}");
    }
}
