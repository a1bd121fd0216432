#!/bin/sh
# Builds `bundle` and takes a bundle of testdata/ through pack, push, verify and pull. The store is a directory (an OCI
# image layout), so no registry is needed. Every `bundle` command is printed before it runs.
set -eu
cd "$(dirname "$0")/.."

# The tests give the binary that they have built.
if [ -z "${BUNDLE:-}" ]; then
    cargo build
    BUNDLE=${CARGO_TARGET_DIR:-target}/debug/bundle
fi
case $BUNDLE in /*) ;; *) BUNDLE=$PWD/$BUNDLE ;; esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -R testdata/good/operator "$work/etcd"
cd "$work"

step() {
    printf '\n$ bundle %s\n' "$*"
    "$BUNDLE" "$@"
}

step validate etcd
step pack etcd
step push etcd-3.5.0.bundle.tar oci:store
step list oci:store
step verify oci:store:3.5.0 --package etcd --operator-id etcd-manager --operator-version 1.5.0
step pull oci:store:3.5.0 --operator-id etcd-manager --operator-version 1.5.0 -o pulled
step inspect oci:store:3.5.0

printf '\n$ diff -r etcd/manifests pulled/manifests\n'
diff -r etcd/manifests pulled/manifests
printf 'The manifests came back byte for byte.\n'
