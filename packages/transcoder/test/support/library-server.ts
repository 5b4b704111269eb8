import {
  create,
  fromBinary,
  fromJson,
  toBinary,
  toJson,
  type JsonObject,
  type JsonValue,
} from '@bufbuild/protobuf';
import { anyPack, AnySchema, EmptySchema, StructSchema, type Any } from '@bufbuild/protobuf/wkt';
import { Metadata } from '@grpc/grpc-js';
import { Code } from '../../src/gen/google/rpc/code_pb.js';
import { RetryInfoSchema } from '../../src/gen/google/rpc/error_details_pb.js';
import type {
  CallMetadata,
  Guard,
  ReplyMetadata,
  UnaryCall,
  UnaryReply,
  Upstream,
} from '../../src/upstream.js';
import type { GrpcReply } from './grpc-server.js';
import { messageType, registry, typeOf } from './library-contract.js';

/** Credentials that may call every method. */
export const MEMBER = 'Bearer member';
/** Credentials that may not create anything. */
export const VISITOR = 'Bearer visitor';

/** The creation time of every resource. */
export const CREATED_AT = '2026-01-02T03:04:05.000Z';

/** A server for library.v1: a guard that requires a token, and stateless methods. */
export class LibraryServer implements Upstream {
  async unary(call: UnaryCall): Promise<UnaryReply> {
    const refusal = refusalOf(call);
    if (refusal !== undefined) return refusal;
    const method = methods[call.path];
    return method === undefined
      ? failed(Code.UNIMPLEMENTED, 'No such method.', 'METHOD_UNKNOWN')
      : method(call);
  }

  /** Checks only whether the caller may make the call. */
  readonly guard: Guard = (call) => refusalOf(call) ?? ok(new Uint8Array());
}

/** Ends at the deadline or when the client disconnects. */
function hang({ deadline, cancellation }: UnaryCall): Promise<UnaryReply> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      resolve(failed(Code.DEADLINE_EXCEEDED, 'The deadline passed.', 'DEADLINE_EXCEEDED'));
    }, deadline - Date.now());
    cancellation.onCancelled(() => {
      clearTimeout(timer);
      resolve(failed(Code.CANCELLED, 'The caller cancelled the call.', 'CANCELLED'));
    });
  });
}

/** The library for a grpc-js server: its failures have no details. */
export function libraryOverGrpc(initialMetadata?: Metadata): (call: UnaryCall) => Promise<GrpcReply> {
  const server = new LibraryServer();
  return async (call) => ({ ...(await server.unary(call)), initialMetadata, trailers: new Metadata() });
}

type Method = (call: UnaryCall) => UnaryReply | Promise<UnaryReply>;

const methods: Readonly<Record<string, Method>> = {
  '/library.v1.Library/CreateShelf': answering(
    ['CreateShelfRequest', 'Shelf'],
    ({ shelf, validateOnly }: { shelf: JsonObject; validateOnly: boolean }) => ({
      ...shelf,
      ...(validateOnly ? {} : { id: 'poems & prose', createdAt: CREATED_AT }),
    }),
  ),
  '/library.v1.Library/GetShelf': answering(
    ['GetShelfRequest', 'Shelf'],
    ({ shelfId }: { shelfId: string }) => ({
      id: shelfId,
      theme: 'all',
      createdAt: CREATED_AT,
    }),
  ),
  '/library.v1.Library/CreateBook': answering(
    ['CreateBookRequest', 'Book'],
    ({ parent, book, bookId }: { parent: string; book: JsonObject; bookId: string }) => ({
      ...book,
      name: bookId && `${parent}/books/${bookId}`,
    }),
  ),
  '/library.v1.Library/GetBook': answering(['GetBookRequest', 'Book'], ({ name }: { name: string }) => ({
    name,
  })),
  '/library.v1.Library/UpdateBook': answering(
    ['UpdateBookRequest', 'Book'],
    ({ book, updateMask }: { book: JsonObject; updateMask?: string }) => ({
      ...book,
      authors: updateMask === undefined ? [] : [{ name: updateMask }],
    }),
  ),
  '/library.v1.Library/DeleteBook': () => ok(toBinary(EmptySchema, create(EmptySchema))),
  '/library.v1.Library/ArchiveBook': answering(
    ['ArchiveBookRequest', 'Book'],
    ({ name, reason }: { name: string; reason: string }) => ({ name, title: reason }),
  ),
  '/library.v1.Library/CreateReview': answering(
    ['CreateReviewRequest', 'Review'],
    ({ review }: { review: JsonObject }) => review,
  ),
  '/library.v1.Library/CreateLoan': answering(
    ['CreateLoanRequest', 'Loan'],
    ({ loan }: { loan: JsonObject }) => loan,
  ),
  '/library.v1.Probe/Echo': ({ message }) => ok(message),
  '/library.v1.Probe/EchoTime': ({ message }) => ok(message),
  '/library.v1.Probe/Fail': ({ message }) => fail(read('FailRequest', message) as unknown as FailRequest),
  '/library.v1.Probe/Metadata': ({ metadata }) =>
    ok(toBinary(StructSchema, fromJson(StructSchema, metadataJson(metadata)))),
  '/library.v1.Probe/Hang': hang,
  '/library.v1.Probe/Garble': ({ message }) => {
    const { message: text } = read('GarbleRequest', message) as { message: string };
    return ok(Buffer.from(text, 'base64'));
  },
};

/** A method that takes and returns JSON. */
function answering(
  [request, response]: [request: string, response: string],
  answer: (request: never) => JsonValue,
): Method {
  return ({ message }) => {
    const schema = messageType(response);
    return ok(toBinary(schema, fromJson(schema, answer(read(request, message) as never))));
  };
}

function read(type: string, message: Uint8Array): JsonValue {
  const schema = messageType(type);
  return toJson(schema, fromBinary(schema, message), { alwaysEmitImplicit: true, registry });
}

function metadataJson(metadata: CallMetadata): JsonObject {
  return Object.fromEntries(metadata);
}

function refusalOf({ path, metadata }: Pick<UnaryCall, 'path' | 'metadata'>): UnaryReply | undefined {
  const token = metadata.get('authorization');
  if (token === undefined) return failed(Code.UNAUTHENTICATED, 'A token is needed.', 'TOKEN_MISSING');
  if (token === MEMBER) return undefined;
  if (token !== VISITOR) return failed(Code.UNAUTHENTICATED, 'The token is wrong.', 'TOKEN_INVALID');
  if (!path.includes('/Create')) return undefined;
  const scope = { scope: 'books:write' };
  return failed(Code.PERMISSION_DENIED, 'The token does not allow it.', 'SCOPE_MISSING', scope);
}

/** What a failure that a request describes carries besides its code and message. */
export type FailureDetails =
  /** A google.rpc.Status with an ErrorInfo, which has the `reason`. */
  | ''
  /** A google.rpc.Status with a RetryInfo, whose delay is the `reason`. */
  | 'retry'
  /** A google.rpc.Status with a detail that has no type. */
  | 'untyped'
  /** Text in place of a google.rpc.Status. */
  | 'text'
  /** Bytes that are no google.rpc.Status. */
  | 'broken'
  /** No details. */
  | 'none'
  /** No details: it looks as if no server had sent the failure. */
  | 'unanswered';

interface FailRequest {
  readonly code: Code;
  readonly message: string;
  readonly reason: string;
  readonly scope: string;
  readonly details: FailureDetails;
}

const DETAILS = 'grpc-status-details-bin';

/** The failure that the request describes. */
function fail({ code, message, reason, scope, details }: FailRequest): UnaryReply {
  switch (details) {
    case 'unanswered':
      return { code, details: message, answered: false };
    case 'none':
      return { code, details: message, answered: true };
    case 'text':
      return { code, details: message, answered: true, trailers: trailersOf({ [DETAILS]: 'text' }) };
    case 'broken':
      return {
        code,
        details: message,
        answered: true,
        trailers: trailersOf({ [DETAILS]: new Uint8Array([0xff]) }),
      };
    case 'untyped':
      return described(code, message, create(AnySchema));
    case 'retry':
      return described(code, message, retryInfo(reason));
    case '':
      return failed(code, message, reason, scope === '' ? {} : { scope });
  }
}

/** @param delay in seconds: `1.5s`. */
function retryInfo(delay: string): Any {
  return anyPack(RetryInfoSchema, fromJson(RetryInfoSchema, { retryDelay: delay }));
}

function ok(message: Uint8Array): UnaryReply {
  return { code: Code.OK, details: '', answered: true, message };
}

function failed(code: Code, text: string, reason: string, metadata: Record<string, string> = {}): UnaryReply {
  const schema = typeOf('google.rpc.ErrorInfo');
  return described(code, text, anyPack(schema, fromJson(schema, { reason, domain: 'library.v1', metadata })));
}

function described(code: Code, message: string, detail: Any): UnaryReply {
  const schema = typeOf('google.rpc.Status');
  const bytes = toBinary(schema, create(schema, { code, message, details: [detail] }));
  return { code, details: message, answered: true, trailers: trailersOf({ [DETAILS]: bytes }) };
}

function trailersOf(entries: Readonly<Record<string, string | Uint8Array>>): ReplyMetadata {
  return {
    get: (key) => {
      const value = entries[key];
      return value === undefined ? [] : [value];
    },
  };
}
