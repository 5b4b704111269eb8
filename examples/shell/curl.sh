#!/bin/sh
# Creates a route over REST and reads it back. TOKEN: a bearer token; HTTP: the base of the REST paths.
set -eu
: "${TOKEN:?is not set. To make one: npm run --silent token -- --scope 'routes:read routes:write' --sub me}"

call() {
  path=$1
  shift
  curl --silent --show-error --fail-with-body "${HTTP:-http://127.0.0.1:8080}$path" \
    --header "Authorization: Bearer $TOKEN" "$@"
}

# With the same Idempotency-Key, a repeat returns the first route and creates no second one.
created=$(call /v1/routing --header "Idempotency-Key: curl-$$" --header 'Content-Type: application/json' \
  --data '{"method":"GET","path":"/users/:id","middleware":["authenticate"],"handler":"getUser"}') ||
  { echo "$created" >&2; exit 1; }
echo "$created"

id=$(echo "$created" | sed 's/.*"id":"\([^"]*\)".*/\1/')
call "/v1/routing/$id"
echo
