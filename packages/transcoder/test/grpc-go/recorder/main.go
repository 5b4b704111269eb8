// Records how grpc-go's reflection describes a server with two of grpc-go's own examples, its health service and a
// contract with HTTP rules.
//
// Writes a JSON object in one line for each request: the version of the protocol, the request and the response, both
// serialized and in base64.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log"
	"net"
	"os"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	echopb "google.golang.org/grpc/examples/features/proto/echo"
	greeterpb "google.golang.org/grpc/examples/helloworld/helloworld"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/reflection"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/proto"

	pb "peer/comparedpb"
)

type (
	compared struct{ pb.UnimplementedComparedServer }
	echo     struct{ echopb.UnimplementedEchoServer }
	greeter  struct{ greeterpb.UnimplementedGreeterServer }
)

type answer struct {
	Version  string `json:"version"`
	Request  string `json:"request"`
	Response string `json:"response"`
}

func main() {
	server := grpc.NewServer()
	pb.RegisterComparedServer(server, compared{})
	echopb.RegisterEchoServer(server, echo{})
	greeterpb.RegisterGreeterServer(server, greeter{})
	healthpb.RegisterHealthServer(server, health.NewServer())
	reflection.Register(server)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	go func() { log.Fatal(server.Serve(listener)) }()

	transport := grpc.WithTransportCredentials(insecure.NewCredentials())
	connection, err := grpc.NewClient(listener.Addr().String(), transport)
	if err != nil {
		log.Fatal(err)
	}
	for _, version := range []string{"v1", "v1alpha"} {
		record(connection, version)
	}
}

// record requests the list of services, the file of each service, an imported file, and a symbol and a file that do not
// exist.
func record(connection *grpc.ClientConn, version string) {
	description := &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}
	method := "/grpc.reflection." + version + ".ServerReflection/ServerReflectionInfo"
	stream, err := connection.NewStream(context.Background(), description, method)
	if err != nil {
		log.Fatal(err)
	}
	output := json.NewEncoder(os.Stdout)
	ask := func(request *reflectionpb.ServerReflectionRequest) *reflectionpb.ServerReflectionResponse {
		// Both protocol versions have the same messages.
		if err := stream.SendMsg(request); err != nil {
			log.Fatal(err)
		}
		response := &reflectionpb.ServerReflectionResponse{}
		if err := stream.RecvMsg(response); err != nil {
			log.Fatal(err)
		}
		if err := output.Encode(answer{version, encoded(request), encoded(response)}); err != nil {
			log.Fatal(err)
		}
		return response
	}
	services := ask(&reflectionpb.ServerReflectionRequest{
		MessageRequest: &reflectionpb.ServerReflectionRequest_ListServices{ListServices: "*"},
	}).GetListServicesResponse().GetService()
	symbols := []string{"no.Service"}
	for _, service := range services {
		symbols = append(symbols, service.GetName())
	}
	for _, symbol := range symbols {
		ask(&reflectionpb.ServerReflectionRequest{
			MessageRequest: &reflectionpb.ServerReflectionRequest_FileContainingSymbol{FileContainingSymbol: symbol},
		})
	}
	for _, file := range []string{"no.proto", "google/api/annotations.proto"} {
		ask(&reflectionpb.ServerReflectionRequest{
			MessageRequest: &reflectionpb.ServerReflectionRequest_FileByFilename{FileByFilename: file},
		})
	}
}

func encoded(message proto.Message) string {
	bytes, err := proto.MarshalOptions{Deterministic: true}.Marshal(message)
	if err != nil {
		log.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(bytes)
}
