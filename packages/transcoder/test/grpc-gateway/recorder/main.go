// Records how grpc-gateway responds to requests, in front of a gRPC server whose methods mostly return the request.
//
// Reads rows from standard input, each a JSON object in one line, and sends their requests unchanged. Writes the same
// rows with the status and the content of the response, and the call that the server received.
package main

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/emptypb"

	pb "peer/comparedpb"
)

type server struct {
	pb.UnimplementedComparedServer
}

func (server) Echo(_ context.Context, request *pb.Everything) (*pb.Everything, error) {
	return request, nil
}

func (server) CreateBook(_ context.Context, request *pb.CreateBookRequest) (*pb.Book, error) {
	if request.GetBook() == nil {
		return &pb.Book{Title: "none"}, nil
	}
	return request.GetBook(), nil
}

func (server) UpdateBook(_ context.Context, request *pb.UpdateBookRequest) (*pb.UpdateBookRequest, error) {
	return request, nil
}

func (server) Fail(_ context.Context, request *pb.FailRequest) (*emptypb.Empty, error) {
	failure := status.New(codes.Code(request.GetCode()), request.GetText())
	if request.GetDescribed() {
		described, err := failure.WithDetails(&errdetails.ErrorInfo{Reason: "TOLD", Domain: "compared.v1"})
		if err != nil {
			return nil, err
		}
		failure = described
	}
	return &emptypb.Empty{}, failure.Err()
}

func (server) Wait(ctx context.Context, request *pb.WaitRequest) (*emptypb.Empty, error) {
	select {
	case <-time.After(time.Duration(request.GetMillis()) * time.Millisecond):
		return &emptypb.Empty{}, nil
	case <-ctx.Done():
		return nil, status.FromContextError(ctx.Err()).Err()
	}
}

func (server) Describe(ctx context.Context, _ *emptypb.Empty) (*pb.Description, error) {
	values := map[string]string{}
	md, _ := metadata.FromIncomingContext(ctx)
	for _, key := range []string{"authorization", "traceparent", "x-tenant"} {
		for _, value := range md.Get(key) {
			values[key] += value
		}
	}
	return &pb.Description{Values: values}, nil
}

// received is the call that the server received last.
type received struct {
	Method  string `json:"method"`
	Message string `json:"message"`
}

type row struct {
	Topic   string    `json:"topic"`
	Strict  string    `json:"strict,omitempty"`
	Lenient string    `json:"lenient,omitempty"`
	Request string    `json:"request"`
	Status  int       `json:"status"`
	Body    any       `json:"body,omitempty"`
	Called  *received `json:"called,omitempty"`
}

// trimmed removes the members of JSON objects that are null or a field's default.
func trimmed(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, member := range value {
			member = trimmed(member)
			if member == nil || reflect.ValueOf(member).IsZero() || isEmpty(member) {
				delete(value, name)
			} else {
				value[name] = member
			}
		}
	case []any:
		for index, item := range value {
			value[index] = trimmed(item)
		}
	}
	return value
}

func isEmpty(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return len(value) == 0
	case []any:
		return len(value) == 0
	}
	return value == "0" || value == "GENRE_UNSPECIFIED"
}

func main() {
	var last *received
	record := func(ctx context.Context, request any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
		message, err := proto.MarshalOptions{Deterministic: true}.Marshal(request.(proto.Message))
		if err != nil {
			return nil, err
		}
		last = &received{info.FullMethod, base64.StdEncoding.EncodeToString(message)}
		return next(ctx, request)
	}
	grpcServer := grpc.NewServer(grpc.UnaryInterceptor(record))
	pb.RegisterComparedServer(grpcServer, server{})
	grpcListener := listen()
	go func() { log.Fatal(grpcServer.Serve(grpcListener)) }()

	mux := runtime.NewServeMux()
	dial := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	target := grpcListener.Addr().String()
	if err := pb.RegisterComparedHandlerFromEndpoint(context.Background(), mux, target, dial); err != nil {
		log.Fatal(err)
	}
	httpListener := listen()
	go func() { log.Fatal(http.Serve(httpListener, mux)) }()

	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	output := json.NewEncoder(os.Stdout)
	output.SetEscapeHTML(false)
	for lines.Scan() {
		var each row
		if err := json.Unmarshal(lines.Bytes(), &each); err != nil {
			log.Fatal(err)
		}
		last = nil
		each.Status, each.Body = exchange(httpListener.Addr().String(), each.Request)
		each.Called = last
		if err := output.Encode(each); err != nil {
			log.Fatal(err)
		}
	}
}

func listen() net.Listener {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	return listener
}

// exchange sends a request. It returns the status and the content of the response, trimmed if it is JSON.
func exchange(address string, request string) (int, any) {
	connection, err := net.Dial("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	defer connection.Close()
	if _, err := io.WriteString(connection, request); err != nil {
		log.Fatal(err)
	}
	sent, _ := http.ReadRequest(bufio.NewReader(strings.NewReader(request)))
	response, err := http.ReadResponse(bufio.NewReader(connection), sent)
	if err != nil {
		log.Fatal(err, request)
	}
	content, err := io.ReadAll(response.Body)
	if err != nil {
		log.Fatal(err)
	}
	var value any
	if json.Unmarshal(content, &value) != nil {
		return response.StatusCode, string(content)
	}
	return response.StatusCode, trimmed(value)
}
