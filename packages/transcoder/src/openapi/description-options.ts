import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import type { Code } from '../gen/google/rpc/code_pb.js';
import type { TranscoderOptions } from '../options.js';
import type { Upstream } from '../upstream.js';
import type { Info, Schema, SecurityRequirement, Server } from './open-api.js';

/** Facts about a field that its type in the contract does not express. */
export interface FieldFacts {
  /** Further keywords of its schema. */
  readonly bounds?: Schema;
  /** Further keywords of the schema of each item of a repeated field. */
  readonly itemBounds?: Schema;
  readonly example?: JsonValue;
  /**
   * Whether every response has it, though its type would allow its absence, for example since the server assigns it;
   * the answer to a dry run has not. Default: false.
   */
  readonly present?: boolean;
}

/** Facts about a header of requests. */
export interface HeaderFacts {
  readonly description?: string;
  /** Further keywords of its schema. */
  readonly bounds?: Schema;
  /** The proto name of the request field that it stands for: only methods with this field take the header. */
  readonly field?: string;
}

/** A failure of the server. */
export interface FailureFacts {
  /** Its gRPC code. */
  readonly code: Exclude<keyof typeof Code, 'OK'>;
  /** The message of the example. */
  readonly message: string;
  /** The metadata of its `google.rpc.ErrorInfo`. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Its further details in ProtoJSON, each with `@type`. */
  readonly details?: readonly JsonObject[];
  /** Whether any method may fail so; otherwise those whose comments name the reason in backquotes. Default: false. */
  readonly everywhere?: boolean;
}

/** How clients show who they are. */
export interface Security {
  /** The security schemes, by name. */
  readonly schemes: Readonly<Record<string, Schema>>;
  /** What every method requires, one of several. */
  readonly requirements: readonly SecurityRequirement[];
  /** What single methods require, by their full names: `library.v1.Library.GetShelf`. Default: the same. */
  readonly methods?: Readonly<Record<string, readonly SecurityRequirement[]>>;
}

/**
 * The options of a description: those that the transcoder is given, which decide what is described, and what the contract
 * does not say. All but the contract have defaults.
 */
export interface DescriptionOptions extends Omit<TranscoderOptions, 'upstream'> {
  /** So that the options of the transcoder can be given as they are: one without `serverStream` has no streams. */
  readonly upstream?: Upstream;
  /** Default: the domain as title, the last part of the proto package as version, and the comment above `package`. */
  readonly info?: Readonly<Partial<Info>>;
  /** Default: the base path. */
  readonly servers?: readonly Server[];
  /** Default: a bearer token that may be left out, where `authorization` is forwarded. */
  readonly security?: Security;
  /**
   * The comments of the contract by full proto name, as Markdown; `library.v1.Shelf.theme` for a field. Default: those in
   * the descriptor set, which `protoc` keeps with `--include_source_info`, and `buf build` always.
   */
  readonly comments?: Readonly<Record<string, string>>;
  /** Facts about fields, by full name of their message and their name in it. Default: none. */
  readonly facts?: Readonly<Record<string, Readonly<Record<string, FieldFacts>>>>;
  /** Facts about headers that are forwarded, and about `X-Request-Id`, by name. Default: none. */
  readonly headers?: Readonly<Record<string, HeaderFacts>>;
  /**
   * All failures of the server, by their reason, with an example each. Default: unknown, so that clients may meet any
   * reason and any status.
   */
  readonly failures?: Readonly<Record<string, FailureFacts>>;
}
