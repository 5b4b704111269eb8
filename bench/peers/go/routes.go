package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/url"
	"strings"
	"sync"
	"time"

	pb "peer/routepb"

	"github.com/go-sql-driver/mysql"
	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// The size of Route Registry's own connection pool.
const connections = 10

type routes struct {
	pb.UnimplementedRouteServiceServer
	find, insert *sql.Stmt
	// The routes that have been read, by id; nil without -cache.
	cache *sync.Map
}

// openRoutes opens the database at a URL like mysql://user:password@host:port/name.
func openRoutes(location string, cached bool) (*routes, error) {
	at, err := url.Parse(location)
	if err != nil {
		return nil, err
	}
	config := mysql.NewConfig()
	config.Net, config.Addr, config.DBName = "tcp", at.Host, strings.TrimPrefix(at.Path, "/")
	config.User = at.User.Username()
	config.Passwd, _ = at.User.Password()
	db, err := sql.Open("mysql", config.FormatDSN())
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	find, err := db.Prepare("SELECT method, path, middleware, handler, created_at_ms FROM routes WHERE id = ?")
	if err != nil {
		return nil, err
	}
	insert, err := db.Prepare("INSERT INTO routes (id, method, path, middleware, handler, created_at_ms, caller) VALUES (?, ?, ?, ?, ?, ?, ?)")
	if err != nil {
		return nil, err
	}
	r := &routes{find: find, insert: insert}
	if cached {
		r.cache = new(sync.Map)
	}
	return r, nil
}

func (r *routes) GetRoute(ctx context.Context, request *pb.GetRouteRequest) (*pb.Route, error) {
	if r.cache == nil {
		return r.read(ctx, request.RouteId)
	}
	if route, ok := r.cache.Load(request.RouteId); ok {
		return route.(*pb.Route), nil
	}
	route, err := r.read(ctx, request.RouteId)
	if err == nil {
		r.cache.Store(request.RouteId, route)
	}
	return route, err
}

func (r *routes) read(ctx context.Context, routeID string) (*pb.Route, error) {
	id, err := uuid.Parse(routeID)
	if err != nil {
		return nil, status.Error(codes.NotFound, "no such route")
	}
	route := &pb.Route{Id: routeID}
	var middleware []byte
	var createdAtMs int64
	err = r.find.QueryRowContext(ctx, id[:]).
		Scan(&route.Method, &route.Path, &middleware, &route.Handler, &createdAtMs)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, status.Error(codes.NotFound, "no such route")
	}
	if err == nil {
		err = json.Unmarshal(middleware, &route.Middleware)
	}
	if err != nil {
		return nil, status.Error(codes.Internal, "internal error")
	}
	route.CreatedAt = timestamppb.New(time.UnixMilli(createdAtMs))
	return route, nil
}

func (r *routes) CreateRoute(ctx context.Context, request *pb.CreateRouteRequest) (*pb.Route, error) {
	given := request.GetRoute()
	if given.GetMethod() == "" || !strings.HasPrefix(given.GetPath(), "/") || given.GetHandler() == "" {
		return nil, status.Error(codes.InvalidArgument, "method, path and handler are required")
	}
	id, err := uuid.NewV7()
	if err != nil {
		return nil, status.Error(codes.Internal, "internal error")
	}
	now := time.Now().Truncate(time.Millisecond)
	// A nil slice would become null.
	middleware, err := json.Marshal(append([]string{}, given.Middleware...))
	if err == nil {
		_, err = r.insert.ExecContext(ctx, id[:], given.Method, given.Path, middleware, given.Handler,
			now.UnixMilli(), ctx.Value(callerKey{}))
	}
	if err != nil {
		return nil, status.Error(codes.Internal, "internal error")
	}
	return &pb.Route{
		Id: id.String(), Method: given.Method, Path: given.Path, Middleware: given.Middleware,
		Handler: given.Handler, CreatedAt: timestamppb.New(now),
	}, nil
}
