#!/usr/bin/env bash
# Fails when src/gen is not what `npm run generate` makes of the contract. Expects buf on the PATH, as npm scripts have it.
set -euo pipefail
cd "$(dirname "$0")/.."

fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
buf generate --output "$fresh"
npm run --silent generate:openapi -- "$fresh/src/gen/openapi.ts"
if ! diff --recursive --brief src/gen "$fresh/src/gen"; then
  echo 'src/gen does not fit proto/ and src/: run npm run generate and commit the result.' >&2
  exit 1
fi
