import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire';
import { CallError } from './failures.js';
import type { Access, HandlerContext, Method } from './method.js';
import { rememberAnswers } from './remember-answers.js';

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

/** What has to be said of each method of a service: who may call it, and what it does. */
export type ServiceImplementation<Service extends ServiceDefinition> = {
  readonly [Name in keyof Service['methods']]: Service['methods'][Name] extends MethodDefinition<
    infer Request,
    infer Response
  >
    ? MethodImplementation<Request, Response>
    : never;
};

/** What has to be said of one method. */
export interface MethodImplementation<Request, Response> {
  readonly access: Access;
  readonly handle: (request: Request, context: HandlerContext) => Promise<Response>;
  /** Its answers never change: the latest ones are kept in this many bytes. Default: 0. */
  readonly rememberedBytes?: number;
}

/** The methods of a service, for the pipeline. */
export function implement<Service extends ServiceDefinition>(
  service: Service,
  implementation: ServiceImplementation<Service>,
): Method[] {
  return Object.entries(service.methods).map(([key, { name, requestType, responseType }]) => {
    const { access, handle, rememberedBytes = 0 } = implementation[key as keyof Service['methods']];
    const method: Method = {
      path: `/${service.fullName}/${name}`,
      access,
      async run(message, context) {
        const response = await handle(decode(requestType, message), context);
        return encode(responseType, response);
      },
    };
    return rememberedBytes === 0 ? method : rememberAnswers(method, rememberedBytes);
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

/** Writes the answers of all methods: to make the buffer of a new writer costs more than to fill it. */
let writer = new BinaryWriter();

function encode<T>(type: MessageType<T>, message: T): Uint8Array {
  try {
    return type.encode(message, writer).finish();
  } catch (error) {
    // What it has of this message must not get into the next one.
    writer = new BinaryWriter();
    throw error;
  }
}
