import type { DescField, DescMethod } from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence as Presence, hasCustomJsonRepresentation } from '@bufbuild/protobuf/wkt';
import type { Binding } from '../template/binding.js';
import type { SuccessRule } from '../template/success-rules.js';
import type { ContractComments } from './contract-comments.js';
import type { Security } from './description-options.js';
import type { DescribedPath } from './described-paths.js';
import type { ErrorResponses } from './error-responses.js';
import { isRequired, type MessageSchemas } from './message-schemas.js';
import type { Content, Operation, Response, Responses, Schema } from './open-api.js';
import type { Parameters } from './parameters.js';
import { takenPaths } from './query-fields.js';
import type { RequestHeaders } from './request-headers.js';
import type { DescribedHeaders } from './response-headers.js';
import { descriptionKeyword, nullable } from './schema-rules.js';

/** The parts that descriptions of operations are built from. */
interface OperationParts {
  readonly comments: ContractComments;
  readonly schemas: MessageSchemas;
  readonly parameters: Parameters;
  readonly requestHeaders: RequestHeaders;
  readonly responseHeaders: DescribedHeaders;
  readonly errors: ErrorResponses;
  /** The security requirements of single methods, by full name. */
  readonly security: NonNullable<Security['methods']>;
  /** Whether streams are written as grpc-gateway writes them. */
  readonly lenient: boolean;
}

/** A binding for one HTTP method. */
interface DescribedBinding {
  readonly binding: Binding;
  /** The HTTP method of the binding, or one of those that its `*` stands for. */
  readonly verb: string;
  /** Undefined for a plain 200. */
  readonly rule: Partial<SuccessRule> | undefined;
  readonly path: DescribedPath;
  readonly operationId: string;
  readonly tag: string;
}

const STREAM =
  'A message on each line, or as the data of each event; the stream ends with a line or an event `failure` if it fails, otherwise with an event `end`.';

/** A body of any media type. */
const BYTES: Content = { '*/*': { schema: { type: 'string', format: 'binary' } } };

/** The rule of a plain 200. */
const BARE: Partial<SuccessRule> = {};

/** Describes the operations of bindings. */
export class Operations {
  readonly #parts: OperationParts;

  constructor(parts: OperationParts) {
    this.#parts = parts;
  }

  of({ binding, verb, rule = BARE, path, operationId, tag }: DescribedBinding): Operation {
    const { comments, parameters, requestHeaders, errors, security } = this.#parts;
    const { method } = binding;
    const summary = comments.summary(method);
    const required = security[`${method.parent.typeName}.${method.name}`];
    const query = parameters.inQuery(binding);
    const texts = [comments.description(method), query.note].filter((text) => text !== '');
    const body = this.#requestBody(binding, verb);
    const implied = [
      ...(rule.creates === true || rule.caching !== undefined ? ['PRECONDITION_FAILED'] : []),
      ...('requestBody' in body ? ['REQUEST_TOO_LARGE', 'CONTENT_TYPE_UNSUPPORTED'] : []),
    ];
    return {
      operationId,
      tags: [tag],
      summary: summary === '' ? wordsOf(method) : summary,
      ...descriptionKeyword(texts.join('\n\n')),
      ...(method.deprecated || method.parent.deprecated ? { deprecated: true } : {}),
      ...(required === undefined ? {} : { security: required }),
      parameters: [
        ...parameters.inPath(path),
        ...query.parameters,
        ...requestHeaders.of(method, rule, parameters),
      ],
      ...body,
      responses: {
        ...this.#successes(binding, rule),
        ...errors.of(verb, new Set([...comments.reasons(method), ...implied])),
      },
    };
  }

  #requestBody(binding: Binding, verb: string): Pick<Operation, 'requestBody'> {
    const { method, body } = binding;
    const { comments, schemas } = this.#parts;
    const sent = body === '*' ? method.input : body;
    if (binding.takesBytes) return { requestBody: { required: false, content: BYTES } };
    // A binding for any HTTP method includes GET and HEAD, which have no body in OpenAPI.
    if (sent === undefined || verb === 'GET' || verb === 'HEAD') return {};
    const elsewhere = takenPaths(binding)
      .filter(([first]) => body === '*' || first === sent.name)
      .map((path) => (body === '*' ? path : path.slice(1)));
    const moved = new Set(elsewhere.map((path) => path.join('.')));
    const mayBeEmpty =
      sent.kind === 'message' &&
      !hasCustomJsonRepresentation(sent) &&
      !sent.fields.some((field) => isRequired(field) && !moved.has(field.name));
    const content = schemas.body(sent, 'sent', schemas.bodyWithout(sent, elsewhere));
    return { requestBody: { required: !mayBeEmpty, ...descriptionKeyword(comments.text(sent)), content } };
  }

  /** The responses to successful calls, by the same rule that the transcoder follows. */
  #successes(binding: Binding, rule: Partial<SuccessRule>): Responses {
    const { method, responseBody } = binding;
    const { responseHeaders: all, schemas } = this.#parts;
    const headers = { ...all.ofFields(method), ...all.of(rule.caching) };
    if (binding.givesBytes) {
      const unary = method.methodKind === 'unary';
      const others = unary ? headers : { ...all.ofFields(method), ...all.ofStream() };
      return { 200: { description: 'Success.', headers: { ...others, ...all.ofBytes() }, content: BYTES } };
    }
    if (rule.creates === true) return this.#creates(method, rule);
    const content =
      responseBody === undefined
        ? schemas.body(method.output, 'returned')
        : schemas.body(responseBody, 'returned', fieldSchema(schemas, responseBody));
    if (method.methodKind !== 'unary') return { 200: this.#stream(method, content) };
    const current = { description: 'The copy that the client has is current.', headers };
    return {
      200: { description: 'Success.', headers, content },
      ...(rule.caching === undefined ? {} : { 304: current }),
    };
  }

  /** @param content the content for one message. */
  #stream(method: DescMethod, content: Content): Response {
    const { lenient, responseHeaders } = this.#parts;
    const formats = Object.values(content).flatMap(({ schema }): [string, { schema: Schema }][] => [
      lenient
        ? ['application/json', { schema: { type: 'object', properties: { result: schema } } }]
        : ['application/x-ndjson', { schema }],
      ['text/event-stream', { schema }],
    ]);
    return {
      description: STREAM,
      headers: { ...responseHeaders.ofFields(method), ...responseHeaders.ofStream() },
      content: Object.fromEntries(formats),
    };
  }

  #creates(method: DescMethod, { validateOnly, location }: Partial<SuccessRule>): Responses {
    const { responseHeaders: all, schemas } = this.#parts;
    const { output } = method;
    const headers = { ...all.ofFields(method), ...all.of(undefined) };
    // One schema for both, so that generated clients have one type for the result of a create.
    const schema = schemas.message(output, validateOnly === undefined ? 'returned' : 'created');
    const present = validateOnly === undefined ? [] : schemas.alwaysPresent(output);
    const required = present.map((field) => schemas.nameOf(field));
    const dryRun: Response = {
      description: 'A dry run: the request is valid, and nothing was stored.',
      headers,
      content: schemas.body(output, 'sent', schema),
    };
    return {
      ...(validateOnly === undefined ? {} : { 200: dryRun }),
      201: {
        description: 'Created.',
        headers: { ...headers, ...(location && all.location()) },
        content: schemas.body(output, 'returned', required.length === 0 ? schema : { ...schema, required }),
      },
    };
  }
}

/** The schema of a field alone, which is null if the field is not set. */
function fieldSchema(schemas: MessageSchemas, field: DescField): Schema {
  const schema = schemas.field(field, 'returned');
  return field.presence === Presence.EXPLICIT ? nullable(schema) : schema;
}

/** The name of a method as a sentence: `GetShelf` becomes `Get shelf`. */
function wordsOf({ name }: DescMethod): string {
  const words = name.split(/(?<=[a-z0-9])(?=[A-Z])/);
  return words.map((word, index) => (index === 0 ? word : word.toLowerCase())).join(' ');
}
