import { Metadata } from '@grpc/grpc-js';
import type { Header } from '../gen/tunnel/v1/tunnel_service.js';

/** Metadata for its way through a tunnel. */
export function toHeaders(metadata: Metadata): Header[] {
  const headers: Header[] = [];
  for (const [name, values] of Object.entries(metadata.toHttp2Headers())) {
    if (Array.isArray(values)) for (const value of values) headers.push({ name, value });
    else headers.push({ name, value: String(values) });
  }
  return headers;
}

/** Metadata that came through a tunnel. @throws Error where a name or a value is none */
export function toMetadata(headers: readonly Header[]): Metadata {
  const metadata = new Metadata();
  for (const { name, value } of headers) {
    metadata.add(name, name.endsWith('-bin') ? Buffer.from(value, 'base64') : value);
  }
  return metadata;
}
