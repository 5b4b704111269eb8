import { BinaryReader, type BinaryWriter } from '@bufbuild/protobuf/wire';
import type { Metadata } from '@grpc/grpc-js';
import type { Caller } from '../auth/auth-result.js';
import { CallError } from './failures.js';

/** What a method needs from its caller: nothing, or a token with this scope. */
export type Access = 'public' | { readonly scope: string };

/** What a handler knows beside the request message. */
export interface HandlerContext {
  readonly metadata: Metadata;
  /** Who calls; absent where the method is public. */
  readonly caller: Caller | undefined;
}

/** A unary method as the pipeline runs it: bytes in, bytes out. */
export interface Method {
  /** `/package.Service/Method` */
  readonly path: string;
  /** Without it, every call is refused. */
  readonly access: Access | undefined;
  run(message: Uint8Array, context: HandlerContext): Promise<Uint8Array>;
}

/** A message type as ts-proto generates it. */
interface MessageType<T> {
  decode(input: BinaryReader): T;
  encode(message: T): BinaryWriter;
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
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- decode and encode make the type invariant
  readonly methods: Readonly<Record<string, MethodDefinition<any, any>>>;
}

/** What has to be said of each method of a service: who may call it, and what it does. */
export type ServiceImplementation<Service extends ServiceDefinition> = {
  readonly [Name in keyof Service['methods']]: Service['methods'][Name] extends MethodDefinition<
    infer Request,
    infer Response
  >
    ? {
        readonly access: Access;
        readonly handle: (request: Request, context: HandlerContext) => Promise<Response>;
      }
    : never;
};

/** The methods of a service, for the pipeline. */
export function implement<Service extends ServiceDefinition>(
  service: Service,
  implementation: ServiceImplementation<Service>,
): Method[] {
  return Object.entries(service.methods).map(([key, { name, requestType, responseType }]) => {
    const { access, handle } = implementation[key as keyof Service['methods']];
    return {
      path: `/${service.fullName}/${name}`,
      access,
      async run(message, context) {
        const response = await handle(decode(requestType, message), context);
        return responseType.encode(response).finish();
      },
    };
  });
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decode<T>(type: MessageType<T>, message: Uint8Array): T {
  try {
    return type.decode(new BinaryReader(message, (bytes) => UTF8.decode(bytes)));
  } catch (cause) {
    throw new CallError('REQUEST_MALFORMED', 'The request message can not be decoded.', { cause });
  }
}
