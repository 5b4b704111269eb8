#!/bin/sh
# Creates a route over REST and reads it back. TOKEN: a bearer token; HTTP: the base URL of the REST API.
set -eu
: "${TOKEN:?is not set. To make one: npm run --silent token -- --scope 'routes:read routes:write' --sub me}"

call() {
  path=$1
  shift
  curl --silent --show-error --fail-with-body "${HTTP:-http://127.0.0.1:8080}$path" \
    --header "Authorization: Bearer $TOKEN" "$@"
}

# A retry with the same Idempotency-Key returns the first route instead of creating a second one.
created=$(call /v1/routing --header "Idempotency-Key: curl-$$" --header 'Content-Type: application/json' \
  --data '{"method":"GET","path":"/users/:id","middleware":["authenticate"],"handler":"getUser"}') ||
  { echo "$created" >&2; exit 1; }
echo "$created"

id=$(echo "$created" | sed 's/.*"id":"\([^"]*\)".*/\1/')
call "/v1/routing/$id"
echo
