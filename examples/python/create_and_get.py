"""Creates a route over gRPC and reads it back, without generated code: it reads the contract from a descriptor set.

usage: python3 create_and_get.py [route-registry.binpb]

TOKEN is a bearer token; GRPC is the host:port of the gRPC server, by default 127.0.0.1:50051.
"""

import json
import os
import sys
import uuid

try:
    import grpc
    from google.protobuf import descriptor_pb2, descriptor_pool, json_format, message_factory
except ImportError as missing:
    sys.exit(f"{missing}: install grpcio and protobuf, as examples/README.md says.")

CONTRACT = os.path.join(os.path.dirname(__file__), "../../proto/route-registry.binpb")

# Retries calls that fail because the service is unavailable or overloaded. The service sends the delay.
SERVICE_CONFIG = {
    "methodConfig": [
        {
            "name": [{"service": "routing.v1.RouteService"}],
            "retryPolicy": {
                "maxAttempts": 4,
                "initialBackoff": "0.1s",
                "maxBackoff": "1s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE", "RESOURCE_EXHAUSTED"],
            },
        }
    ]
}


def messages_in(path):
    """Returns a function that maps the full name of a message to its class."""
    with open(path, "rb") as file:
        descriptor_set = descriptor_pb2.FileDescriptorSet.FromString(file.read())
    pool = descriptor_pool.DescriptorPool()
    for each in descriptor_set.file:
        pool.Add(each)
    # GetMessageClass since protobuf 4.22, GetPrototype before.
    class_of = getattr(message_factory, "GetMessageClass", None) or message_factory.MessageFactory(pool).GetPrototype
    return lambda name: class_of(pool.FindMessageTypeByName(name))


def main():
    token = os.environ.get("TOKEN")
    if not token:
        sys.exit('TOKEN is not set: export TOKEN=$(npm run --silent token -- --scope "routes:read routes:write" --sub me)')
    contract = sys.argv[1] if len(sys.argv) > 1 else CONTRACT
    if not os.path.isfile(contract):
        sys.exit(f"There is no descriptor set {contract}: name the contract's, proto/route-registry.binpb.")
    message = messages_in(contract)
    create_request, get_request, route = (
        message(f"routing.v1.{name}") for name in ("CreateRouteRequest", "GetRouteRequest", "Route")
    )
    metadata = [("authorization", "Bearer " + token)]
    options = [("grpc.service_config", json.dumps(SERVICE_CONFIG))]
    # No TLS, for a service on this machine. For any other, use grpc.secure_channel to protect the token.
    with grpc.insecure_channel(os.environ.get("GRPC", "127.0.0.1:50051"), options) as channel:

        def call(method, request):
            stub = channel.unary_unary(
                f"/routing.v1.RouteService/{method}",
                request_serializer=lambda value: value.SerializeToString(),
                response_deserializer=route.FromString,
            )
            return stub(request, timeout=5, metadata=metadata)

        # The request id makes a retry safe: a repeated create returns the first route.
        request = create_request(request_id=str(uuid.uuid4()))
        request.route.method = "GET"
        request.route.path = "/users/:id"
        request.route.middleware.append("authenticate")
        request.route.handler = "getUser"
        created = call("CreateRoute", request)
        print(json_format.MessageToJson(created, indent=None))
        got = call("GetRoute", get_request(route_id=created.id))
        print(json_format.MessageToJson(got, indent=None))


if __name__ == "__main__":
    try:
        main()
    except grpc.RpcError as error:
        sys.exit(f"{error.code().name}: {error.details()}")
