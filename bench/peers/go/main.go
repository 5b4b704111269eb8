// Command peer is RouteService as you might write it in Go: grpc-go over MySQL, with grpc-gateway in front of it.
//
// It verifies the same tokens and stores the same routes as Route Registry, with one query per call; -cache keeps every
// route in memory once it has been read. Like the other peers, it listens on free ports, prints their addresses, and
// exits when its stdin closes.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	pb "peer/routepb"

	"github.com/grpc-ecosystem/grpc-gateway/v2/runtime"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

func main() {
	cached := flag.Bool("cache", false, "keep every route in memory once it has been read")
	flag.Parse()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()

	routes, err := openRoutes(os.Getenv("DATABASE_URL"), *cached)
	check(err)
	server := grpc.NewServer(grpc.UnaryInterceptor(authenticate))
	pb.RegisterRouteServiceServer(server, routes)
	grpcListener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	go func() { check(server.Serve(grpcListener)) }()

	gateway := runtime.NewServeMux()
	options := []grpc.DialOption{grpc.WithTransportCredentials(insecure.NewCredentials())}
	grpcAddress := grpcListener.Addr().String()
	check(pb.RegisterRouteServiceHandlerFromEndpoint(context.Background(), gateway, grpcAddress, options))
	httpListener, err := net.Listen("tcp", "127.0.0.1:0")
	check(err)
	check(json.NewEncoder(os.Stdout).Encode(map[string]string{
		"msg": "listening", "grpc": grpcAddress, "http": "http://" + httpListener.Addr().String(),
	}))
	check(http.Serve(httpListener, gateway))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
