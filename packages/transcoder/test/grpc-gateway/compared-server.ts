import { setTimeout } from 'node:timers/promises';
import { create, createFileRegistry, fromBinary, fromJson, toBinary, toJson } from '@bufbuild/protobuf';
import type { DescMessage, JsonObject } from '@bufbuild/protobuf';
import { anyPack, EmptySchema, FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { Code } from '../../src/gen/google/rpc/code_pb.js';
import { ErrorInfoSchema } from '../../src/gen/google/rpc/error_details_pb.js';
import { StatusSchema } from '../../src/gen/google/rpc/status_pb.js';
import type { UnaryCall, UnaryReply, Upstream } from '../../src/upstream.js';
import { comparedDescriptorSet } from '../support/library-contract.js';

const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, comparedDescriptorSet));

/** A message of the contract by its simple name. */
export function typeOf(name: string): DescMessage {
  const found = registry.getMessage(`compared.v1.${name}`);
  if (found === undefined) throw new Error(`The contract has no message ${name}.`);
  return found;
}

/** A server in this process that does what the one of recorder/main.go does, which recorded the answers of grpc-gateway. */
export class ComparedServer implements Upstream {
  /** The call that was received last. */
  last: UnaryCall | undefined;

  unary(call: UnaryCall): UnaryReply | Promise<UnaryReply> {
    this.last = call;
    const [, , method = ''] = call.path.split('/');
    return methods[method]?.(call) ?? ok(call.message);
  }
}

const OK: number = Code.OK;

/** The methods that do not return the request. */
const methods: Readonly<Record<string, (call: UnaryCall) => UnaryReply | Promise<UnaryReply>>> = {
  CreateBook: (call) => {
    const { book = { title: 'none' } } = read('CreateBookRequest', call) as { book?: JsonObject };
    return written('Book', book);
  },
  Fail: (call) => {
    const { code = 0, text = '', described } = read('FailRequest', call) as unknown as FailRequest;
    if (code === OK) return ok(toBinary(EmptySchema, create(EmptySchema)));

    const details = described === true ? [anyPack(ErrorInfoSchema, create(ErrorInfoSchema, TOLD))] : [];
    const status = toBinary(StatusSchema, create(StatusSchema, { code, message: text, details }));
    const trailers = { get: (key: string) => (described === true && key.endsWith('-bin') ? [status] : []) };
    return { code, details: text, answered: true, trailers };
  },
  Wait: async (call) => {
    const { millis = 0 } = read('WaitRequest', call) as { millis?: number };
    const leftMs = call.deadline - Date.now();
    await setTimeout(Math.min(millis, leftMs));
    if (millis < leftMs) return ok(toBinary(EmptySchema, create(EmptySchema)));
    return { code: Code.DEADLINE_EXCEEDED, details: 'context deadline exceeded', answered: true };
  },
  Describe: ({ metadata }) => {
    const known = ['authorization', 'traceparent', 'x-tenant'];
    return written('Description', {
      values: Object.fromEntries([...metadata].filter(([key]) => known.includes(key))),
    });
  },
};

interface FailRequest {
  readonly code?: number;
  readonly text?: string;
  /** Whether the failure has details. */
  readonly described?: boolean;
}

/** The details of a failure that is described. */
const TOLD = { reason: 'TOLD', domain: 'compared.v1' };

/** The request of a call, in ProtoJSON. */
function read(type: string, { message }: UnaryCall): JsonObject {
  const schema = typeOf(type);
  return toJson(schema, fromBinary(schema, message)) as JsonObject;
}

/** A reply with a message that is given in ProtoJSON. */
function written(type: string, json: JsonObject): UnaryReply {
  const schema = typeOf(type);
  return ok(toBinary(schema, fromJson(schema, json, { registry })));
}

function ok(message: Uint8Array): UnaryReply {
  return { code: Code.OK, details: '', answered: true, message };
}
