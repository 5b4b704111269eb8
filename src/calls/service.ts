import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { LRUCache } from 'lru-cache';
import { Failure } from '../registry/failure.js';
import type { Access, CallReason, HandlerContext, Method } from './call.js';

/** A message type as ts-proto generates it. */
interface MessageType<T> {
  decode(input: BinaryReader): T;
  encode(message: T, writer: BinaryWriter): BinaryWriter;
}

/** One method of a service definition as ts-proto generates it. */
interface MethodDefinition<Request, Response> {
  readonly name: string;
  readonly requestType: MessageType<Request>;
  readonly responseType: MessageType<Response>;
}

/** A service definition as ts-proto generates it. */
interface ServiceDefinition {
  readonly fullName: string;
  readonly methods: Readonly<Record<string, MethodDefinition<unknown, unknown>>>;
}

/** The implementation of each method of a service: who may call it, and what it does. */
type ServiceImplementation<Service extends ServiceDefinition> = {
  readonly [Name in keyof Service['methods']]: Service['methods'][Name] extends MethodDefinition<
    infer Request,
    infer Response
  >
    ? MethodImplementation<Request, Response>
    : never;
};

/** The implementation of one method. */
interface MethodImplementation<Request, Response> {
  readonly access: Access;
  readonly handle: (request: Request, context: HandlerContext) => Promise<Response>;
  /** How to cache responses that stay valid forever. Default: no cache. */
  readonly caching?: Caching<Request>;
}

/** Failures are not cached: a missing resource may exist later. */
interface Caching<Request> {
  /** For this method alone. */
  readonly cache: MessageCache;
  /** Everything in a request that the response depends on, and nothing else. */
  readonly keyOf: (request: Request) => string;
}

/** The methods of a service, for the pipeline. */
export function implement<Service extends ServiceDefinition>(
  service: Service,
  implementation: ServiceImplementation<Service>,
): Method[] {
  return Object.entries(service.methods).map(([key, { name, requestType, responseType }]) => {
    const { access, handle, caching } = implementation[key as keyof Service['methods']];
    const method: Method = {
      path: `/${service.fullName}/${name}`,
      access,
      decode: (message) => decode(requestType, message),
      handle: async (request, context) => encode(responseType, await handle(request, context)),
    };
    return caching === undefined ? method : withCache(method, caching);
  });
}

function withCache(method: Method, { cache, keyOf }: Caching<unknown>): Method {
  return {
    ...method,
    cached: (request) => cache.get(keyOf(request)),
    handle: async (request, context) => {
      const response = await method.handle(request, context);
      cache.set(keyOf(request), response);
      return response;
    },
  };
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode<T>(type: MessageType<T>, message: Uint8Array): T {
  try {
    return type.decode(new BinaryReader(message, (bytes) => UTF8.decode(bytes)));
  } catch (cause) {
    throw new Failure<CallReason>('REQUEST_MALFORMED', 'The request message cannot be decoded.', { cause });
  }
}

/** Shared by all methods: allocating a new writer's buffer costs more than filling it. */
let writer = new BinaryWriter();

function encode<T>(type: MessageType<T>, message: T): Uint8Array {
  try {
    return type.encode(message, writer).finish();
  } catch (error) {
    // No part of this message may leak into the next one.
    writer = new BinaryWriter();
    throw error;
  }
}

/** The overhead of an entry beyond its key and response, in bytes: V8's objects and the cache's bookkeeping. */
const ENTRY_BYTES = 300;

/**
 * A cache of encoded responses, limited by their size. They are stored as strings with one character per byte: separate
 * byte arrays would take several times as much memory.
 */
export class MessageCache {
  readonly #messages: LRUCache<string, string>;
  #hits = 0;
  #misses = 0;

  /** @param maxBytes the limit on keys, responses and the overhead of entries; with 0, nothing is cached */
  constructor(maxBytes: number) {
    this.#messages = new LRUCache({
      maxSize: Math.max(1, maxBytes),
      sizeCalculation: (message, key) => key.length + message.length + ENTRY_BYTES,
    });
  }

  /** A copy of the response cached under the key. */
  get(key: string): Uint8Array | undefined {
    const message = this.#messages.get(key);
    if (message === undefined) {
      this.#misses++;
      return undefined;
    }
    this.#hits++;
    return Buffer.from(message, 'latin1');
  }

  /** Caches the response under the key unless it exceeds the limit alone; evicts the least recently used entries. */
  set(key: string, { buffer, byteOffset, length }: Uint8Array): void {
    this.#messages.set(key, Buffer.from(buffer, byteOffset, length).toString('latin1'));
  }

  /** The look-ups so far, and the current number of entries and their size in bytes. */
  get figures(): {
    readonly hits: number;
    readonly misses: number;
    readonly entries: number;
    readonly bytes: number;
  } {
    return {
      hits: this.#hits,
      misses: this.#misses,
      entries: this.#messages.size,
      bytes: this.#messages.calculatedSize,
    };
  }
}
