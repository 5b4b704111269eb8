import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import type { Client, ClientDuplexStream } from '@grpc/grpc-js';
import {
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from '../gen/grpc/reflection/v1/reflection_pb.js';

/** The published versions of the protocol, which differ only in their package. */
export const VERSIONS = ['v1', 'v1alpha'] as const;

/** What a server is asked. */
export type Question = ServerReflectionRequest['messageRequest'];
/** What it answers: also that it does not have what it was asked for. */
type Answer = ServerReflectionResponse['messageResponse'];

/** A call of `ServerReflectionInfo`: questions, each with its answer. */
export class ReflectionStream {
  readonly #call: ClientDuplexStream<ServerReflectionRequest, ServerReflectionResponse>;
  readonly #answers: AsyncIterator<ServerReflectionResponse, undefined>;

  /** @param deadline of the whole call, in milliseconds since the epoch. */
  constructor(client: Client, version: (typeof VERSIONS)[number], deadline: number) {
    this.#call = client.makeBidiStreamRequest(
      `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
      (request: ServerReflectionRequest) => Buffer.from(toBinary(ServerReflectionRequestSchema, request)),
      (bytes) => fromBinary(ServerReflectionResponseSchema, bytes),
      { deadline },
    );
    // A failure is that of the next answer.
    this.#call.on('error', () => undefined);
    this.#answers = this.#call[Symbol.asyncIterator]() as AsyncIterator<ServerReflectionResponse, undefined>;
  }

  /** Asks, and returns the answer. Rejects with the `ServiceError` of the call, or if it ends without one. */
  async ask(question: Question): Promise<Answer> {
    this.#call.write(create(ServerReflectionRequestSchema, { messageRequest: question }));
    const { value } = await this.#answers.next();
    if (value === undefined) throw new Error('The server ends the call without an answer.');
    return value.messageResponse;
  }

  close(): void {
    this.#call.cancel();
  }
}
