import type { JsonValue } from '@bufbuild/protobuf';

/** A JSON Schema of the dialect that OpenAPI 3.1 uses (2020-12). */
export type Schema = Readonly<Record<string, JsonValue>>;

/** A pointer to a component of the document. */
export interface Reference {
  readonly $ref: string;
}

/** A parameter of an operation. */
export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required?: true;
  readonly description: string;
  readonly schema: Schema;
}

/** A header of a response. */
export interface Header {
  readonly description: string;
  /** Whether every response that lists the header has it. */
  readonly required: boolean;
  readonly schema: Schema;
  readonly example?: JsonValue;
}

/** The headers of a response, by name. */
export type Headers = Readonly<Record<string, Header>>;

/** The bodies of a request or a response, by media type. */
export type Content = Readonly<
  Record<
    string,
    { readonly schema: Schema; readonly examples: Readonly<Record<string, { readonly value: JsonValue }>> }
  >
>;

/** A response with all its headers. Without `content` it has no body. */
export interface Response {
  readonly description: string;
  readonly headers: Headers;
  readonly content?: Content;
}

/** The responses of an operation, by HTTP status. */
export type Responses = Readonly<Record<string, Response | Reference>>;

/** The operation of one HTTP method on one path. */
export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description: string;
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly (Parameter | Reference)[];
  readonly requestBody?: { readonly required: true; readonly description: string; readonly content: Content };
  readonly responses: Responses;
}

/** The part of an OpenAPI 3.1 document that this service needs. */
export interface OpenApi {
  readonly openapi: '3.1.1';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string; readonly description: string }[];
  readonly security: Operation['security'];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  /** The operations of each path, by HTTP method in lower case. */
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly responses: Readonly<Record<string, Response>>;
    readonly securitySchemes: Readonly<Record<string, Readonly<Record<string, string>>>>;
  };
}
