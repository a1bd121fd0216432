#!/usr/bin/env bash
# Packs, pushes and pulls the same content with `bundle` and with what Debian has (tar, gzip, umoci, skopeo) against one
# docker-registry on loopback, in turn, and prints the best of RUNS and the ratios. The peers are taken from PATH, or from
# where `cargo test` has put them; nothing is fetched.
#
#     cargo build --release && benches/compare.sh [DIRECTORY]
#
# DIRECTORY is another bundle directory to measure beside the two that are made here.
set -euo pipefail
shopt -s nullglob
export LC_ALL=C

root=$(cd "$(dirname "$0")/.." && pwd)
bundle=${BUNDLE_TEST_BINARY:-$root/target/release/bundle}
runs=${RUNS:-7}
given=${1:+$(realpath "$1")}
[[ -x $bundle ]] || { echo "no $bundle: cargo build --release first" >&2; exit 2; }

# tool NAME: the way to a peer, as a command line.
tool() {
    local fetched=$root/target/test-tools/$1 libraries
    if command -v "$1" >/dev/null; then
        command -v "$1"
    elif [[ -x $fetched/usr/bin/$1 ]]; then
        libraries=("$fetched"/usr/lib/*-linux-gnu)
        echo "env LD_LIBRARY_PATH=${libraries[0]:-} $fetched/usr/bin/$1"
    else
        echo "no $1: install it, or let \`cargo test\` fetch it" >&2
        return 1
    fi
}
read -ra registry <<<"$(tool docker-registry)"
read -ra skopeo <<<"$(tool skopeo)"
read -ra umoci <<<"$(tool umoci)"

work=$(mktemp -d)
server=
# shellcheck disable=SC2329
finish() {
    [[ -z $server ]] || kill "$server"
    rm -rf "$work"
}
trap finish EXIT
# What is measured has a home of its own; what builds it has the caller's.
home=$HOME
export HOME=$work/home TMPDIR=$work/tmp
mkdir -p "$HOME" "$TMPDIR"
cd "$work"

cat >registry.yml <<EOF
version: 0.1
log: {level: info, formatter: json, accesslog: {disabled: true}}
storage: {filesystem: {rootdirectory: $work/storage}}
http: {addr: '127.0.0.1:0', secret: not-a-secret}
EOF
"${registry[@]}" serve registry.yml >registry.log 2>&1 &
server=$!
port=
for _ in {1..100}; do
    port=$(sed -n 's/.*listening on 127.0.0.1:\([0-9]*\).*/\1/p' registry.log)
    [[ -z $port ]] || break
    kill -0 "$server" || { cat registry.log >&2; exit 1; }
    sleep 0.05
done
host=127.0.0.1:$port

# once COMMAND…: the milliseconds that one run takes; what it prints goes to a file.
once() {
    local began=${EPOCHREALTIME/./}
    "$@" >"$work/said" 2>&1 || { echo "failed: $*" >&2; cat "$work/said" >&2; return 1; }
    local took=$((${EPOCHREALTIME/./} - began))
    printf '%d.%03d\n' $((took / 1000)) $((took % 1000))
}

# Every run begins from the same state; a push goes to a repository of its own, for one that is there already is no push.
n=0
prepare() {
    n=$((n + 1))
    rm -rf out out.tar layout unpacked
}

# What stands for `bundle pack`, `push` and `pull` with the tools of others; each does all that the one command does.
peer_pack() {
    tar --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -C "$1" -c . | gzip -n >out.tar
}
peer_image() {
    "${umoci[@]}" init --layout layout
    "${umoci[@]}" new --image layout:1
    "${umoci[@]}" insert --rootless --image layout:1 "$1" /
}
peer_push() {
    peer_image "$1"
    "${skopeo[@]}" --insecure-policy copy --dest-tls-verify=false oci:layout:1 "docker://$host/peer-$n:1"
}
peer_pull() {
    "${skopeo[@]}" --insecure-policy copy --src-tls-verify=false "docker://$1" oci:layout:1
    "${umoci[@]}" unpack --rootless --image layout:1 unpacked
}
peer_copy() {
    "${skopeo[@]}" --insecure-policy copy --src-tls-verify=false "docker://$1" oci:layout:1
}

# row NAME OURS… -- THEIRS…: measures both in turn, so that what else the machine does falls on both.
row() {
    local name=$1 ours=() theirs=()
    shift
    while [[ $1 != -- ]]; do ours+=("$1"); shift; done
    shift
    theirs=("$@")
    : >ours >theirs
    for ((run = 0; run < runs; run++)); do
        prepare
        once "${ours[@]//@N@/$n}" >>ours
        prepare
        once "${theirs[@]}" >>theirs
    done
    paste <(sort -n ours | head -1) <(sort -n theirs | head -1) |
        awk -v name="$name" '{ printf "%-34s %9.1f ms %9.1f ms %8.2f\n", name, $1, $2, $1 / $2 }'
}

compare() {
    local name=$1 source=$2 version
    version=$(sed -n 's/^ *k8s.io.bundle.version.v1: *"\{0,1\}\([^"]*\)"\{0,1\} *$/\1/p' "$source/metadata/annotations.yaml")
    row "$name: pack | tar + gzip" "$bundle" pack "$source" -o out.tar -- peer_pack "$source"
    row "$name: push | umoci + skopeo" "$bundle" push "$source" "$host/ours-@N@:$version" -- peer_push "$source"
    "$bundle" push "$source" "$host/$name:$version" >/dev/null 2>&1
    row "$name: pull | skopeo + umoci" "$bundle" pull "$host/$name:$version" -o out -- peer_pull "$host/$name:$version"
    row "$name: copy to a layout | skopeo" "$bundle" copy "$host/$name:$version" oci:out:1 -- peer_copy "$host/$name:$version"
    # The blobs of our archive and of the peer's image are told by their size: the layer is the largest.
    prepare
    "$bundle" copy "$host/$name:$version" oci:out:1 >/dev/null 2>&1
    peer_image "$source" >/dev/null 2>&1
    printf '%-34s %9d B  %9d B  %8s\n' "$name: layer" \
        "$(largest out)" "$(largest layout)" "$(awk "BEGIN { printf \"%.2f\", $(largest out) / $(largest layout) }")"
}

largest() {
    find "$1/blobs" -type f -printf '%s\n' | sort -n | tail -1
}

printf '%-34s %12s %12s %8s\n' "best of $runs" bundle peers ratio
row "version | true" "$bundle" version -- /bin/true
printf '%-34s %9d B\n' "size of the binary" "$(stat -c %s "$bundle")"
(cd "$root" && HOME=$home BUNDLE_BENCH_WRITE=$work/data cargo bench --quiet --profile dev --bench bundle >/dev/null)
compare small "$work/data/small"
compare large "$work/data/large"
[[ -z $given ]] || compare given "$given"
