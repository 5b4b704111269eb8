import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { Failure } from '../registry/failure.js';
import type { Access, CallReason, HandlerContext, Method } from './call.js';
import type { MessageCache } from './message-cache.js';

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

/** The full names of the services that the methods belong to, each name once. */
export function serviceNamesOf(methods: readonly Method[]): string[] {
  const names = methods.map(({ path }) => path.split('/')[1] ?? '');
  return [...new Set(names)];
}

function withCache(method: Method, { cache, keyOf }: Caching<unknown>): Method {
  return {
    ...method,
    cachedResponse: (request) => cache.get(keyOf(request)),
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

/** Shared by all methods, as `finish` empties it: allocating a new writer's buffer costs more than filling it. */
let writer = new BinaryWriter();

function encode<T>(type: MessageType<T>, message: T): Uint8Array {
  try {
    return type.encode(message, writer).finish();
  } catch (error) {
    // No part of this message may leak into the next message.
    writer = new BinaryWriter();
    throw error;
  }
}
