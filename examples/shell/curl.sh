#!/bin/sh
# Creates a route over REST and reads it back. TOKEN: a bearer token; HTTP: the base of the REST paths.
set -eu
base=${HTTP:-http://127.0.0.1:8080}

# With the same Idempotency-Key, a repeat returns the first route and creates no second one.
created=$(curl --silent --show-error --fail-with-body --retry 3 "$base/v1/routing" \
  --header "Authorization: Bearer $TOKEN" \
  --header 'Content-Type: application/json' \
  --header "Idempotency-Key: curl-$$" \
  --data '{"method":"GET","path":"/users/:id","middleware":["authenticate"],"handler":"getUser"}')
echo "$created"

id=$(echo "$created" | sed 's/.*"id":"\([^"]*\)".*/\1/')
curl --silent --show-error --fail-with-body --retry 3 "$base/v1/routing/$id" --header "Authorization: Bearer $TOKEN"
echo
