/**
 * The longest head of a request to either server, in bytes: gRPC's hard limit on metadata in other languages, and Node's
 * default for HTTP/1.1.
 */
export const HEAD_MAX_BYTES = 16_384;
