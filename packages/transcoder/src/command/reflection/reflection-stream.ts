import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { type Client, type ClientDuplexStream, Metadata } from '@grpc/grpc-js';
import {
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
  type ServerReflectionResponse,
  ServerReflectionResponseSchema,
} from '../../gen/grpc/reflection/v1/reflection_pb.js';
import type { CallMetadata } from '../../upstream.js';

/** The published versions of the protocol, which differ only in their package. */
export const VERSIONS = ['v1', 'v1alpha'] as const;

/** A reflection request. */
export type Question = ServerReflectionRequest['messageRequest'];
/** The response to a reflection request, which may be an error, such as for an unknown symbol. */
type Answer = ServerReflectionResponse['messageResponse'];

/** A call of `ServerReflectionInfo`, in which each request gets one response. */
export class ReflectionStream {
  readonly #call: ClientDuplexStream<ServerReflectionRequest, ServerReflectionResponse>;
  readonly #answers: AsyncIterator<ServerReflectionResponse, undefined>;
  /** The headers of the response; undefined if there are none. */
  headers: Metadata | undefined;

  /**
   * @param deadline of the whole call, in milliseconds since the epoch.
   * @param metadata of the call. Default: none.
   */
  constructor(
    client: Client,
    version: (typeof VERSIONS)[number],
    deadline: number,
    metadata: CallMetadata = new Map(),
  ) {
    const sent = new Metadata();
    for (const [key, value] of metadata) sent.set(key, value);
    this.#call = client.makeBidiStreamRequest(
      `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
      (request: ServerReflectionRequest) => Buffer.from(toBinary(ServerReflectionRequestSchema, request)),
      (bytes) => fromBinary(ServerReflectionResponseSchema, bytes),
      sent,
      { deadline },
    );
    this.#call.on('metadata', (headers) => {
      this.headers = headers;
    });
    // The next read rejects with the error, so the event needs no other listener.
    this.#call.on('error', () => undefined);
    this.#answers = this.#call[Symbol.asyncIterator]() as AsyncIterator<ServerReflectionResponse, undefined>;
  }

  /**
   * Sends a request and returns its response. Rejects with the `ServiceError` of the call, or with an Error if the call
   * ends without a response.
   */
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
