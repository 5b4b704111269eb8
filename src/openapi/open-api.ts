import type { JsonValue } from '@bufbuild/protobuf';

/** A JSON Schema of the dialect that OpenAPI 3.1 uses (2020-12). */
export type Schema = Readonly<Record<string, JsonValue>>;

/** A pointer to a component of the document. */
export interface Reference {
  readonly $ref: string;
}

/** An example value. */
export interface Example {
  readonly value: JsonValue;
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
  readonly examples: Readonly<Record<string, Example>>;
}

/** The content of a body. */
export interface MediaType {
  readonly schema: Schema;
  readonly examples: Readonly<Record<string, Example>>;
}

/** The bodies of a request or a response, by media type. */
export type Content = Readonly<Record<string, MediaType>>;

/** A response with all its headers. Without `content` it has no body. */
export interface Response {
  readonly description: string;
  readonly headers: Readonly<Record<string, Header>>;
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
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters: readonly (Parameter | Reference)[];
  readonly requestBody?: { readonly required: true; readonly description: string; readonly content: Content };
  readonly responses: Responses;
}

/** The operations of each path, by HTTP method in lower case. */
export type Paths = Readonly<Record<string, Readonly<Record<string, Operation>>>>;

/** The part of an OpenAPI 3.1 document that this service needs. */
export interface OpenApi {
  readonly openapi: '3.1.1';
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string; readonly description: string }[];
  readonly security: readonly Readonly<Record<string, readonly string[]>>[];
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Paths;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly responses: Readonly<Record<string, Response>>;
    readonly securitySchemes: Readonly<Record<string, Readonly<Record<string, string>>>>;
  };
}
