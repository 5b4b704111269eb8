import { CONNECTION_KEYS } from '../upstream.js';

// The keys of metadata that gRPC allows (PROTOCOL-HTTP2.md).
const KEY = /^[0-9a-z_.-]+$/;

/** The metadata that gRPC or the transcoder itself writes, or that concerns one connection. */
const RESERVED: ReadonlySet<string> = new Set([
  ...CONNECTION_KEYS,
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'host',
  'te',
  'trailer',
  'user-agent',
  'x-request-id',
]);

/** Why no header can become metadata with a key, as the end of a sentence; undefined if a header can. */
export function unfitKey(key: string): string | undefined {
  if (!KEY.test(key)) return 'which is not a key of gRPC';
  if (key.endsWith('-bin')) return 'which is bytes; only text can be forwarded';
  return RESERVED.has(key) || key.startsWith('grpc-') ? 'which gRPC or the transcoder writes' : undefined;
}
