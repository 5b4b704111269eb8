#!/bin/sh
# Records how grpc-gateway responds to the requests of rows:
#   record.sh SET ROWS >answers.jsonl
# SET is the contract in ../../contract/compared, a serialized google.protobuf.FileDescriptorSet. ROWS is another file like
# answers.jsonl; what was recorded in it is replaced.
# Needs Go, protoc, the plugins go, go-grpc and grpc-gateway in PATH, and the libraries in GOPATH. On Debian they are in
# golang-go, protobuf-compiler, golang-goprotobuf-dev, protoc-gen-go-grpc, golang-google-grpc-dev and
# golang-github-grpc-ecosystem-grpc-gateway-dev; the last contains the plugin as source.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
proto=compared/v1/compared.proto
mkdir -p "$work/src/peer/recorder"
cp "$here/main.go" "$work/src/peer/recorder"
# In GOPATH mode, only code in a module may import a path with "v2".
echo 'module peer' >"$work/src/peer/go.mod"
set -- "$1" "$2" --descriptor_set_in="$1"
for plugin in go go-grpc grpc-gateway; do
  set -- "$@" --${plugin}_out="$work/src" --${plugin}_opt=M$proto=peer/comparedpb
  for file in annotations http; do
    set -- "$@" --${plugin}_opt=Mgoogle/api/$file.proto=google.golang.org/genproto/googleapis/api/annotations
  done
done
rows=$(realpath "$2")
shift 2
protoc "$@" $proto
cd "$work/src/peer/recorder"
GO111MODULE=off GOPATH="$work:${GOPATH:-/usr/share/gocode}" CGO_ENABLED=0 go build -o "$work/recorder" .
"$work/recorder" <"$rows"
