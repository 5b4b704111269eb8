#!/usr/bin/env bash
# Fails when generated code or the built contract differs from the output of `npm run generate`. Expects buf on the PATH,
# as in npm scripts.
set -euo pipefail
cd "$(dirname "$0")/.."

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
buf generate --output "$fresh"
buf generate --output "$fresh" --template packages/transcoder/buf.gen.yaml
buf generate --output "$fresh" --template packages/client/buf.gen.yaml
mkdir "$fresh/proto"
npm run --silent generate:descriptors -- "$fresh/proto/route-registry.binpb"
for generated in src/gen packages/transcoder/src/gen packages/client/src/gen proto/route-registry.binpb; do
  if ! diff --recursive --brief "$generated" "$fresh/$generated"; then
    echo "$generated does not fit its sources: run npm run generate and commit the result." >&2
    exit 1
  fi
done
