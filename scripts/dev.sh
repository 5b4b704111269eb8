#!/usr/bin/env bash
# Prints a token, runs the service from its sources and restarts it when a file changes. Expects tsx on the PATH, as in
# npm scripts.
set -euo pipefail
source=--conditions=@route-registry/source

echo "TOKEN=$(tsx $source src/token.ts --scope 'routes:read routes:write' --sub dev --ttl 12h)"
export LOG_FORMAT=${LOG_FORMAT:-pretty}
exec tsx watch --clear-screen=false $source src/main.ts
