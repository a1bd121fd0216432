"""Builds the image of a bundle directory from the text of spec/image.md, with Python's standard library only.

rebuild.py DIRECTORY LAYER

DIRECTORY holds `manifests/` and `metadata/` as they go into the image. LAYER is a layer that somebody else made of
it: it must unpack to exactly the archive that is built here. What is printed follows from DIRECTORY alone, except for
size and digest of the layer, which are those of LAYER.
"""

import hashlib
import io
import json
import os
import re
import sys
import tarfile
import zlib

BLOCK = 512
SOURCE_IGNORE = b"/metadata/\n"
ARGO_CD_LINE = b"# +argocd:skip-file-rendering"
REQUIRED = {
    "k8s.io.bundle.mediatype.v1": "manifests",
    "k8s.io.bundle.manifests.v1": "manifests/",
    "k8s.io.bundle.metadata.v1": "metadata/",
}


def main(directory, layer_path):
    files = read_files(directory)
    annotations, files["metadata/annotations.yaml"] = complete(files["metadata/annotations.yaml"])
    archive = write_archive(files | {".sourceignore": SOURCE_IGNORE})
    with open(layer_path, "rb") as file:
        layer = file.read()
    check_gzip(layer, archive)

    diff_id = digest(archive)
    config = canonical({
        "architecture": "amd64",
        "config": {"Labels": annotations},
        "created": "1970-01-01T00:00:00Z",
        "os": "linux",
        "rootfs": {"diff_ids": [diff_id], "type": "layers"},
    })
    version = {"org.opencontainers.image.version": annotations["k8s.io.bundle.version.v1"]}
    title = {"org.opencontainers.image.title": annotations["k8s.io.bundle.package.v1"]}
    layer_annotations = {
        "io.deis.oras.content.digest": diff_id,
        "io.deis.oras.content.unpack": "true",
        "org.opencontainers.image.title": ".",
    }
    kind = "application/vnd.oci.image."
    manifest = canonical({
        "annotations": title | annotations | version,
        "config": descriptor(kind + "config.v1+json", config),
        "layers": [descriptor(kind + "layer.v1.tar+gzip", layer) | {"annotations": layer_annotations}],
        "mediaType": kind + "manifest.v1+json",
        "schemaVersion": 2,
    })
    print(json.dumps({
        "config": digest(config),
        "diffId": diff_id,
        "layer": digest(layer),
        "manifest": digest(manifest),
        "size": len(layer),
    }))


def read_files(directory):
    files = {}
    for path, _, names in os.walk(directory):
        for name in names:
            whole = os.path.join(path, name)
            with open(whole, "rb") as file:
                files[os.path.relpath(whole, directory).replace(os.sep, "/")] = file.read()
    return files


def complete(text):
    """Returns keys and values, and the bytes that are carried."""
    annotations = parse(text.decode("utf-8"))
    missing = {key: value for key, value in REQUIRED.items() if key not in annotations}
    annotations |= missing
    if missing:
        return annotations, written(annotations)
    if not text.startswith(ARGO_CD_LINE):
        text = ARGO_CD_LINE + b"\n" + text
    return annotations, text


def parse(text):
    """Reads as much YAML as the samples have; anything else is an error."""
    annotations = {}
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    assert lines.pop(0) == "annotations:"
    while lines:
        line = lines.pop(0)
        key, value = re.fullmatch(r'  ([\w./-]+|"[^"\\]*"): (.*)', line).groups()
        if value == "|":
            literal = []
            while lines and lines[0].startswith("    "):
                literal.append(lines.pop(0)[4:] + "\n")
            value = "".join(literal)
        elif value.startswith('"'):
            value = json.loads(value)
        elif value.startswith("'"):
            value = re.fullmatch(r"'([^']*)'", value)[1]
        else:
            assert not re.search(r" #|: ", value), line
        annotations[key.strip('"')] = value
    return annotations


def written(annotations):
    """Writes the canonical form, without the characters that would be escaped."""
    lines = [ARGO_CD_LINE.decode(), "annotations:"]
    for key, value in sorted(annotations.items()):
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9._/-]*", key) and "." in key
        assert not re.search(r"[^ -~]", value)
        lines.append("  %s: %s" % (key, json.dumps(value)))
    return ("\n".join(lines) + "\n").encode()


def write_archive(files):
    entries = {path.encode(): content for path, content in files.items()}
    for path in files:
        while "/" in path:
            path = path.rpartition("/")[0]
            entries[path.encode() + b"/"] = None
    blocks = []
    for name, content in sorted(entries.items()):
        kind, mode, content = (b"5", 0o755, b"") if content is None else (b"0", 0o644, content)
        fields = split(name)
        if fields is None:
            text = record(name)
            blocks += [header(b"././@PaxHeader", b"", b"x", 0o644, len(text)), padded(text)]
            fields = short(name), b""
        blocks += [header(*fields, kind, mode, len(content)), padded(content)]
    archive = b"".join(blocks) + bytes(2 * BLOCK)
    # Another reader finds the same names in it.
    with tarfile.open(fileobj=io.BytesIO(archive), mode="r:") as other:
        names = [entry.name + "/" * entry.isdir() for entry in other]
    assert names == [name.decode() for name in sorted(entries)], names
    return archive


def split(name):
    """Returns the name and prefix fields, or nothing where a PAX record is needed."""
    if not name.isascii():
        return None
    if len(name) <= 100:
        return name, b""
    slash = name.rfind(b"/", 0, min(156, len(name) - 1))
    if slash < 1 or len(name) - slash - 1 > 100:
        return None
    return name[slash + 1:], name[:slash]


def short(name):
    path = name.decode("utf-8")
    end = "/" if path.endswith("/") else ""
    last = path.rstrip("/").rpartition("/")[2]
    return ("".join(c if c.isascii() else "_" for c in last)[:99] + end).encode()


def record(name):
    rest = b" path=" + name + b"\n"
    length = len(rest)
    while len(b"%d" % length + rest) != length:
        length = len(b"%d" % length + rest)
    return b"%d" % length + rest


def header(name, prefix, kind, mode, size):
    def number(value, length):
        return b"%0*o\0" % (length - 1, value)

    def block(checksum):
        return b"".join([
            name.ljust(100, b"\0"), number(mode, 8), number(0, 8), number(0, 8), number(size, 12), number(0, 12),
            checksum, kind, bytes(100), b"ustar\0", b"00", bytes(32), bytes(32), bytes(8), bytes(8),
            prefix.ljust(155, b"\0"), bytes(12),
        ])

    whole = block(number(sum(block(b" " * 8)), 8))
    assert len(whole) == BLOCK
    return whole


def padded(content):
    return content + bytes(-len(content) % BLOCK)


def check_gzip(layer, archive):
    assert layer[:10] == b"\x1f\x8b\x08\0\0\0\0\0\0\xff", "the header of the gzip member"
    inflate = zlib.decompressobj(31)
    found = inflate.decompress(layer) + inflate.flush()
    assert inflate.eof and not inflate.unused_data, "one gzip member and nothing else"
    if found != archive:
        at = next((i for i, (a, b) in enumerate(zip(found, archive)) if a != b), min(len(found), len(archive)))
        sys.exit("the layer has %d bytes, this archive %d; they differ from byte %d on: %r and %r" % (
            len(found), len(archive), at, found[at:at + 40], archive[at:at + 40]))


def canonical(value):
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def descriptor(media_type, content):
    return {"digest": digest(content), "mediaType": media_type, "size": len(content)}


def digest(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


main(*sys.argv[1:])
