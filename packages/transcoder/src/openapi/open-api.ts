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
  readonly deprecated?: true;
  readonly description?: string;
  readonly schema: Schema;
  /** Whether a path parameter takes several segments: the slashes between them are sent as they are. */
  readonly 'x-multi-segment'?: true;
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
export type Headers = Readonly<Record<string, Header | Reference>>;

/** The bodies of a request or a response, by media type. */
export type Content = Readonly<
  Record<
    string,
    { readonly schema: Schema; readonly examples?: Readonly<Record<string, { readonly value: JsonValue }>> }
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

/** Schemes that a request must satisfy together, each with its scopes. */
export type SecurityRequirement = Readonly<Record<string, readonly string[]>>;

/** The operation of one HTTP method on one path. */
export interface Operation {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly summary: string;
  readonly description?: string;
  readonly deprecated?: true;
  /** Default: that of the document. */
  readonly security?: readonly SecurityRequirement[];
  readonly parameters: readonly (Parameter | Reference)[];
  readonly requestBody?: {
    readonly required: boolean;
    readonly description?: string;
    readonly content: Content;
  };
  readonly responses: Responses;
}

/** The operations of a path, by HTTP method in lower case. */
export type PathItem = Readonly<Partial<Record<Verb, Operation>>>;

/** The HTTP methods of OpenAPI 3.1. */
export const VERBS = ['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'] as const;
export type Verb = (typeof VERBS)[number];

/**
 * The title, version and description of the API. Other fields of OpenAPI's Info Object, such as `license`, are kept.
 */
export interface Info {
  readonly title: string;
  readonly version: string;
  readonly description: string;
  readonly [field: string]: JsonValue;
}

/** A base URL of the described paths. */
export interface Server {
  readonly url: string;
  readonly description?: string;
}

/** A group of operations. */
export interface Tag {
  readonly name: string;
  readonly description: string;
}

/** An OpenAPI 3.1 document. */
export interface OpenApi {
  readonly openapi: '3.1.1';
  readonly info: Info;
  readonly servers: readonly Server[];
  readonly security: readonly SecurityRequirement[];
  readonly tags: readonly Tag[];
  readonly paths: Readonly<Record<string, PathItem>>;
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>;
    readonly parameters: Readonly<Record<string, Parameter>>;
    readonly headers: Readonly<Record<string, Header>>;
    readonly responses: Readonly<Record<string, Response>>;
    readonly securitySchemes: Readonly<Record<string, Schema>>;
  };
}
