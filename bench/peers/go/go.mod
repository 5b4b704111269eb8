module peer

go 1.24.0

require (
	github.com/go-sql-driver/mysql v1.10.1
	github.com/golang-jwt/jwt/v5 v5.3.1
	github.com/google/uuid v1.6.0
	github.com/grpc-ecosystem/grpc-gateway/v2 v2.30.0
	google.golang.org/grpc v1.81.1
	google.golang.org/protobuf v1.36.10
)
