#!/bin/sh
# Records how grpc-go's reflection describes a server:
#   record.sh SET >reflection.jsonl
# SET is the contract in ../../contract/compared, a serialized google.protobuf.FileDescriptorSet.
# Needs Go, protoc, the plugins go and go-grpc in PATH, and the libraries in GOPATH. On Debian they are in golang-go,
# protobuf-compiler, golang-goprotobuf-dev, protoc-gen-go-grpc and golang-google-grpc-dev.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
proto=compared/v1/compared.proto
mkdir -p "$work/src/peer/recorder"
cp "$here/main.go" "$work/src/peer/recorder"
set -- --descriptor_set_in="$1"
for plugin in go go-grpc; do
  set -- "$@" --${plugin}_out="$work/src" --${plugin}_opt=M$proto=peer/comparedpb
  for file in annotations http; do
    set -- "$@" --${plugin}_opt=Mgoogle/api/$file.proto=google.golang.org/genproto/googleapis/api/annotations
  done
done
protoc "$@" $proto
cd "$work/src/peer/recorder"
GO111MODULE=off GOPATH="$work:${GOPATH:-/usr/share/gocode}" CGO_ENABLED=0 go build -o "$work/recorder" .
"$work/recorder"
