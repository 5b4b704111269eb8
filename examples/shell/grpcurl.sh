#!/bin/sh
# Creates a route over gRPC and reads it back, with the contract from server reflection. If reflection is off, add:
# -protoset proto/route-registry.binpb. TOKEN: a bearer token; GRPC: host:port of the gRPC server.
set -eu
: "${TOKEN:?is not set. To make one: npm run --silent token -- --scope 'routes:read routes:write' --sub me}"

call() {
  grpcurl -plaintext -H "Authorization: Bearer $TOKEN" -d "$2" "${GRPC:-127.0.0.1:50051}" "routing.v1.RouteService/$1"
}

created=$(call CreateRoute "{\"requestId\":\"grpcurl-$$\",\"route\":
  {\"method\":\"GET\",\"path\":\"/users/:id\",\"middleware\":[\"authenticate\"],\"handler\":\"getUser\"}}")
echo "$created"

id=$(echo "$created" | sed -n 's/.*"id": *"\([^"]*\)".*/\1/p')
call GetRoute "{\"routeId\":\"$id\"}"
