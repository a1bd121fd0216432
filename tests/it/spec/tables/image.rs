//! Tables of the archive's headers, of JSON and of names.

use manifest_bundle::content::Spool;
use manifest_bundle::error::Kind;
use manifest_bundle::json;
use manifest_bundle::layer::{self, Source};
use manifest_bundle::limits::Limits;
use manifest_bundle::path::{BundlePath, Distinct};

use super::{optional, same};
use crate::spec::golden::Sample;
use crate::spec::markdown::{Table, code};
use crate::spec::schemas::All;

/// The table of a header's fields is what every header of a layer holds.
pub(super) fn header_fields(table: &Table) -> Vec<(usize, String)> {
    let sample = Sample::good("operator");
    let archive = sample.archive();
    let mut faults = Vec::new();
    let mut at = 0;
    for (name, size) in sample.entries() {
        let block = &archive[at..at + BLOCK];
        let mut next = 0;
        for row in &table.rows {
            let number = |cell: &String| cell.parse::<usize>().unwrap();
            let (offset, bytes) = (number(&row.cells[0]), number(&row.cells[1]));
            if offset != next {
                faults.push((row.line, format!("the field before ends at {next}")));
            }
            next = offset + bytes;
            let found = &block[offset..next];
            let wanted = field(&row.cells[2], &row.cells[3], bytes, (&name, size), block);
            if found != wanted {
                faults.push((
                    row.line,
                    format!("{name}: it holds {}", found.escape_ascii()),
                ));
            }
        }
        if next != BLOCK {
            faults.push((table.line, format!("the fields end at {next}")));
        }
        at += BLOCK + usize::try_from(size).unwrap().next_multiple_of(BLOCK);
    }
    if archive[at..] != [0; 2 * BLOCK] {
        faults.push((table.line, "the archive ends otherwise".into()));
    }
    faults
}

/// The size of a block of an archive.
const BLOCK: usize = 512;

/// Returns what a field of a header must hold by the words of its row.
fn field(
    field: &str,
    content: &str,
    bytes: usize,
    (name, size): (&str, u64),
    block: &[u8],
) -> Vec<u8> {
    let is_directory = name.ends_with('/');
    let mut wanted = match field {
        "name" => name.as_bytes().to_vec(),
        "prefix" => Vec::new(),
        "size" => format!("{size:011o}").into_bytes(),
        "checksum" => {
            let sum: u32 = block
                .iter()
                .enumerate()
                .map(|(i, byte)| u32::from(if (148..156).contains(&i) { b' ' } else { *byte }))
                .sum();
            format!("{sum:07o}").into_bytes()
        }
        _ => {
            let constants: Vec<&str> = content.split('`').skip(1).step_by(2).collect();
            let constant = match constants[..] {
                [] => "",
                [only] => only,
                [_, directory] if is_directory => directory,
                [file, ..] => file,
            };
            constant.as_bytes().to_vec()
        }
    };
    if content.ends_with("zeros") || content.is_empty() {
        wanted.resize(bytes, 0);
    }
    if content.ends_with("then a zero") {
        wanted.push(0);
    }
    wanted
}

pub(super) fn refused_json(cells: &[String], _: &All) -> Result<(), String> {
    let found = json::parse("example", code(&cells[0])?.as_bytes(), &Limits::default());
    let kind = found.err().map(|error| error.kind());
    same("the kind of the refusal", kind, Some(Kind::Unsafe))
}

pub(super) fn path(cells: &[String], _: &All) -> Result<(), String> {
    let found = BundlePath::admit(code(&cells[0])?.as_bytes());
    let kind = found.err().map(|error| error.kind().name());
    same("the kind of the refusal", kind, optional(&cells[1])?)
}

pub(super) fn collision(cells: &[String], _: &All) -> Result<(), String> {
    let mut paths = Distinct::default();
    let path = |cell: &str| code(cell)?.parse::<BundlePath>().map_err(|e| e.to_string());
    paths.add(&path(&cells[0])?).map_err(|e| e.to_string())?;
    match paths.add(&path(&cells[1])?) {
        Ok(()) => Err("the two do not collide".into()),
        Err(error) => same("the kind of the refusal", error.kind(), Kind::Unsafe),
    }
}

/// A type of a layer: a layer that is compressed so is read, and no other.
pub(super) fn layer_type(cells: &[String], _: &All) -> Result<(), String> {
    let media_type = code(&cells[0])?;
    let sample = Sample::good("minimal");
    let gzip = sample.layer();
    let directory = tempfile::tempdir().unwrap();
    let reads = |bytes: Vec<u8>| {
        let source = Source {
            content: bytes.into(),
            media_type: media_type.to_owned(),
            diff_id: None,
        };
        let mut spool = Spool::new(directory.path());
        layer::read(&source, false, &Limits::default(), &mut spool).is_ok()
    };
    let zstd = zstd_of(&sample.archive());
    let found: Vec<&str> = [
        ("nothing", sample.archive()),
        ("gzip", gzip),
        ("zstd", zstd),
    ]
    .into_iter()
    .filter_map(|(name, bytes)| reads(bytes).then_some(name))
    .collect();
    same("how it is compressed", found, vec![cells[1].as_str()])
}

/// Puts bytes into a zstd frame of blocks that are not compressed.
fn zstd_of(bytes: &[u8]) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd];
    // A single segment whose size stands in eight bytes.
    frame.push(0b1110_0000);
    frame.extend((bytes.len() as u64).to_le_bytes());
    let mut blocks = bytes.chunks(100_000).peekable();
    while let Some(block) = blocks.next() {
        let last = u32::from(blocks.peek().is_none());
        let header = last | u32::try_from(block.len()).unwrap() << 3;
        frame.extend(&header.to_le_bytes()[..3]);
        frame.extend(block);
    }
    frame
}
