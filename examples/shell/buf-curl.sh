#!/bin/sh
# Creates a route over gRPC and reads it back, with the contract from server reflection.
# TOKEN: a bearer token; GRPC: host:port of the gRPC server.
set -eu
: "${TOKEN:?is not set. To make one: npm run --silent token -- --scope 'routes:read routes:write' --sub me}"
service=http://${GRPC:-127.0.0.1:50051}/routing.v1.RouteService

call() {
  npx buf curl --protocol grpc --http2-prior-knowledge --header "Authorization: Bearer $TOKEN" --data "$2" "$service/$1"
}

created=$(call CreateRoute "{\"requestId\":\"buf-curl-$$\",\"route\":
  {\"method\":\"GET\",\"path\":\"/users/:id\",\"middleware\":[\"authenticate\"],\"handler\":\"getUser\"}}")
echo "$created"

id=$(echo "$created" | sed -n 's/.*"id": *"\([^"]*\)".*/\1/p')
call GetRoute "{\"routeId\":\"$id\"}"
