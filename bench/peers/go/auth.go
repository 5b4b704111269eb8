package main

import (
	"context"
	"os"
	"slices"
	"strings"

	pb "peer/routepb"

	"github.com/golang-jwt/jwt/v5"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// The scope that each method requires.
var scopes = map[string]string{
	pb.RouteService_CreateRoute_FullMethodName: "routes:write",
	pb.RouteService_GetRoute_FullMethodName:    "routes:read",
}

var secret = []byte(os.Getenv("JWT_SECRET"))

var parser = jwt.NewParser(
	jwt.WithValidMethods([]string{"HS256"}),
	jwt.WithIssuer(os.Getenv("JWT_ISSUER")),
	jwt.WithAudience(os.Getenv("JWT_AUDIENCE")),
	jwt.WithExpirationRequired(),
)

type claims struct {
	jwt.RegisteredClaims
	Scope string `json:"scope"`
}

type callerKey struct{}

// authenticate rejects calls without a valid token, and passes the caller to the handler.
func authenticate(ctx context.Context, request any, info *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	var token string
	if values := metadata.ValueFromIncomingContext(ctx, "authorization"); len(values) > 0 {
		token = strings.TrimPrefix(values[0], "Bearer ")
	}
	var caller claims
	key := func(*jwt.Token) (any, error) { return secret, nil }
	if _, err := parser.ParseWithClaims(token, &caller, key); err != nil {
		return nil, status.Error(codes.Unauthenticated, "a valid bearer token is required")
	}
	if scope := scopes[info.FullMethod]; !slices.Contains(strings.Fields(caller.Scope), scope) {
		return nil, status.Errorf(codes.PermissionDenied, "the scope %s is required", scope)
	}
	return handler(context.WithValue(ctx, callerKey{}, caller.Subject), request)
}
