"""Serves greeter.v1.Greeter with grpcio: python.py HOST:PORT DESCRIPTOR_SET"""

import sys
from concurrent.futures import ThreadPoolExecutor

import grpc
from google.protobuf import descriptor_pb2, message_factory

address, path = sys.argv[1:]
with open(path, "rb") as file:
    messages = message_factory.GetMessages(descriptor_pb2.FileDescriptorSet.FromString(file.read()).file)
GreetRequest = messages["greeter.v1.GreetRequest"]
Greeting = messages["greeter.v1.Greeting"]
CODERS = {
    "request_deserializer": GreetRequest.FromString,
    "response_serializer": Greeting.SerializeToString,
}


def greet(request, context):
    if request.name == "nobody":
        context.abort(grpc.StatusCode.NOT_FOUND, "There is nobody.")
    return Greeting(text=f"Hello {request.name}")


def repeat(request, context):
    for _ in range(3):
        yield Greeting(text=f"Hello {request.name}")


server = grpc.server(ThreadPoolExecutor())
server.add_generic_rpc_handlers(
    [
        grpc.method_handlers_generic_handler(
            "greeter.v1.Greeter",
            {
                "Greet": grpc.unary_unary_rpc_method_handler(greet, **CODERS),
                "Repeat": grpc.unary_stream_rpc_method_handler(repeat, **CODERS),
            },
        )
    ]
)
server.add_insecure_port(address)
server.start()
server.wait_for_termination()
