import type { JsonValue } from '@bufbuild/protobuf';
import type { Code } from '../gen/google/rpc/code_pb.js';
import type { TranscoderOptions } from '../options.js';
import type { Upstream } from '../upstream.js';
import type { Info, Schema, SecurityRequirement, Server } from './open-api.js';

/** Facts about a field that its type in the contract does not express. */
export interface FieldFacts {
  /** Further keywords of its schema. */
  readonly bounds?: Schema | undefined;
  /** Further keywords of the schema of each item of a repeated field. */
  readonly itemBounds?: Schema | undefined;
  readonly example?: JsonValue | undefined;
  /**
   * Whether every response has the field although its type allows its absence, for example because the server assigns
   * it. Responses to dry runs are an exception. Default: false.
   */
  readonly present?: boolean | undefined;
}

/** Facts about a header. */
export interface HeaderFacts {
  readonly description?: string | undefined;
  /** Further keywords of its schema. */
  readonly bounds?: Schema | undefined;
  /**
   * The proto name of the request field that a request header stands for, or on which a response header depends. Only
   * methods with this field take the request header, and only their successes have the response header.
   */
  readonly field?: string | undefined;
}

/** A failure that the server may return. */
export interface FailureFacts {
  /** The gRPC code. */
  readonly code: Exclude<keyof typeof Code, 'OK'>;
  /**
   * Whether every method may return the failure. If false, only methods whose comments name its reason in backquotes
   * do. Default: false.
   */
  readonly everywhere?: boolean | undefined;
}

/** How clients authenticate. */
export interface Security {
  /** The Security Scheme Objects of OpenAPI, by name. */
  readonly schemes: Readonly<Record<string, Schema>>;
  /** The requirements of every method, of which a request must satisfy one. */
  readonly requirements: readonly SecurityRequirement[];
  /** The requirements of single methods, by full name: `library.v1.Library.GetShelf`. Default: `requirements`. */
  readonly methods?: Readonly<Record<string, readonly SecurityRequirement[]>> | undefined;
}

/**
 * Options of `describe`: those of the transcoder, which determine what is served, and facts that the contract does not
 * express. All but `descriptorSet` have defaults.
 */
export interface DescriptionOptions extends Omit<TranscoderOptions, 'upstream'> {
  /**
   * Accepted so that the options of the transcoder can be passed unchanged. For an upstream without `serverStream`, no
   * streams are described. Default: streams are described.
   */
  readonly upstream?: Upstream | undefined;
  /**
   * Default: the domain as the title, the last part of the proto package as the version, and the comment above
   * `package` as the description.
   */
  readonly info?: Readonly<Partial<Info>> | undefined;
  /** Default: one server, where the document is (RFC 3986: `.`), which is to be served as `/openapi.json` under the base path. */
  readonly servers?: readonly Server[] | undefined;
  /** Default: an optional bearer token if `authorization` is forwarded, otherwise none. */
  readonly security?: Security | undefined;
  /**
   * The comments of the contract in Markdown, by full proto name: `library.v1.Shelf.theme` for a field. Default: the
   * comments in the descriptor set, which `buf build` always includes, and `protoc` with `--include_source_info`.
   */
  readonly comments?: Readonly<Record<string, string>> | undefined;
  /** Facts about fields, by the full name of the message and the name of the field. Default: none. */
  readonly facts?: Readonly<Record<string, Readonly<Record<string, FieldFacts>>>> | undefined;
  /** Facts about `X-Request-Id`, forwarded headers and `responseHeaders`, by name. Default: none. */
  readonly headers?: Readonly<Record<string, HeaderFacts>> | undefined;
  /**
   * All failures that the server may return, by reason. Default: unknown, so that the document allows any reason and
   * status.
   */
  readonly failures?: Readonly<Record<string, FailureFacts>> | undefined;
}
