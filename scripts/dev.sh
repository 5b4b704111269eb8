#!/usr/bin/env bash
# Prints a token, runs the service from its sources and restarts it when a file changes. Expects tsx on the PATH, as in
# npm scripts.
set -euo pipefail
source=--conditions=@route-registry/source

echo "TOKEN=$(tsx $source src/token.ts --scope 'routes:read routes:write' --sub dev --ttl 12h)"
export LOG_FORMAT=${LOG_FORMAT:-pretty}
# Watched from before the start: otherwise a file is watched some time after it was read.
exec tsx watch --clear-screen=false --include src --include packages/transcoder/src $source src/main.ts
