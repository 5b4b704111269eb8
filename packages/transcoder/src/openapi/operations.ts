import type { DescField, DescMessage, DescMethod } from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence as Presence, hasCustomJsonRepresentation } from '@bufbuild/protobuf/wkt';
import type { StreamEvents } from '../http/stream-formats.js';
import type { Binding } from '../template/binding.js';
import type { SuccessRule } from '../template/success-rules.js';
import type { ContractComments } from './contract-comments.js';
import type { Security } from './description-options.js';
import type { DescribedPath } from './described-paths.js';
import type { ErrorResponses } from './error-responses.js';
import { isRequired, type MessageSchemas } from './message-schemas.js';
import type { Content, Headers, Operation, Response, Responses, Schema } from './open-api.js';
import type { Parameters } from './parameters.js';
import type { RequestHeaders } from './request-headers.js';
import type { DescribedHeaders } from './response-headers.js';
import { descriptionKeyword, nullable } from './schema-rules.js';
import { takenPaths } from './taken-paths.js';

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
  readonly events: StreamEvents;
}

/** A binding for one HTTP method. */
interface DescribedBinding {
  readonly binding: Binding;
  /** The HTTP method of the binding, or one of those that its `*` stands for. */
  readonly verb: string;
  /** How successes differ from 200 that must not be stored; undefined if they do not. */
  readonly rule: Partial<SuccessRule> | undefined;
  readonly path: DescribedPath;
  readonly operationId: string;
  readonly tag: string;
}

/** A body of any media type. */
const BYTES: Content = { '*/*': { schema: { type: 'string', format: 'binary' } } };

/** Describes the operations of bindings. */
export class Operations {
  readonly #parts: OperationParts;

  constructor(parts: OperationParts) {
    this.#parts = parts;
  }

  of({ binding, verb, rule = {}, path, operationId, tag }: DescribedBinding): Operation {
    const { comments, parameters, requestHeaders, errors, security } = this.#parts;
    const { method } = binding;
    const summary = comments.summary(method);
    const isDeprecated = method.deprecated || method.parent.deprecated;
    const deprecatedKeyword: Pick<Operation, 'deprecated'> = isDeprecated ? { deprecated: true } : {};
    const ownSecurity = security[`${method.parent.typeName}.${method.name}`];
    const securityKeyword = ownSecurity === undefined ? {} : { security: ownSecurity };
    const query = parameters.inQuery(binding);
    const texts = [comments.description(method), query.note].filter((text) => text !== '');
    const body = this.#requestBody(binding, verb);
    const reasons = new Set([...comments.reasons(method), ...impliedReasons(rule, 'requestBody' in body)]);

    return {
      operationId,
      tags: [tag],
      summary: summary === '' ? wordsOf(method) : summary,
      ...descriptionKeyword(texts.join('\n\n')),
      ...deprecatedKeyword,
      ...securityKeyword,
      parameters: [
        ...parameters.inPath(path),
        ...query.parameters,
        ...requestHeaders.of(method, rule, parameters),
      ],
      ...body,
      responses: {
        ...this.#successes(binding, rule),
        ...errors.of(verb, reasons),
      },
    };
  }

  /** The keyword for the body of a request; none if it has no body. */
  #requestBody(binding: Binding, verb: string): Pick<Operation, 'requestBody'> {
    const { method, body, takesBytes } = binding;
    const { comments, schemas } = this.#parts;
    const bodyType = body === '*' ? method.input : body;
    // A binding for any HTTP method includes GET and HEAD, which have no body in OpenAPI.
    if (bodyType === undefined || verb === 'GET' || verb === 'HEAD') return {};
    if (takesBytes) return { requestBody: { required: false, content: BYTES } };

    const elsewhere = pathsOutsideBody(binding, bodyType);
    const requestBody = {
      required: !mayBeEmpty(bodyType, elsewhere),
      ...descriptionKeyword(comments.text(bodyType)),
      content: schemas.requestBody(bodyType, elsewhere),
    };
    return { requestBody };
  }

  /** The responses to successful calls, by the same rule that the transcoder follows. */
  #successes(binding: Binding, rule: Partial<SuccessRule>): Responses {
    const { method, responseBody } = binding;
    const { responseHeaders, schemas } = this.#parts;
    const isUnary = method.methodKind === 'unary';
    const ownHeaders = isUnary ? responseHeaders.forCaching(rule.caching) : responseHeaders.forStream();
    const fieldHeaders = responseHeaders.forRequestFields(method);
    const headers = { ...fieldHeaders, ...ownHeaders };

    if (binding.givesBytes) {
      const bytesHeaders = { ...headers, ...responseHeaders.forBytes() };
      return { 200: { description: 'Success.', headers: bytesHeaders, content: BYTES } };
    }
    if (rule.creates === true) return this.#createResponses(method, rule, fieldHeaders);

    const schema =
      responseBody === undefined
        ? schemas.message(method.output, 'returned')
        : fieldSchema(schemas, responseBody);
    if (!isUnary) return { 200: this.#streamResponse(headers, schema) };

    const content = schemas.body(responseBody ?? method.output, 'returned', schema);
    const success = { description: 'Success.', headers, content };
    if (rule.caching === undefined) return { 200: success };
    return { 200: success, 304: { description: 'The copy that the client has is current.', headers } };
  }

  /** @param schema of a message of the stream. */
  #streamResponse(headers: Headers, schema: Schema): Response {
    const { lenient, events } = this.#parts;
    const lines: Content = lenient
      ? { 'application/json': { schema: { type: 'object', properties: { result: schema } } } }
      : { 'application/x-ndjson': { schema } };
    return {
      description: streamDescription(events),
      headers,
      content: { ...lines, 'text/event-stream': { schema } },
    };
  }

  /**
   * The responses of a method that creates a resource: 201, and 200 to a dry run.
   *
   * @param fieldHeaders the headers that stand for request fields.
   */
  #createResponses(
    { output }: DescMethod,
    { validateOnly, location }: Partial<SuccessRule>,
    fieldHeaders: Headers,
  ): Responses {
    const { responseHeaders, schemas } = this.#parts;
    const headers = { ...fieldHeaders, ...responseHeaders.uncached() };
    const hasDryRun = validateOnly !== undefined;

    // 200 and 201 share a schema, so that generated clients have one type for the result of a create. It requires only what
    // a dry run has, too; 201 adds, beside the reference to it, what is always present in a created resource.
    const schema = schemas.message(output, hasDryRun ? 'created' : 'returned');
    const alwaysPresent = hasDryRun ? schemas.alwaysPresent(output) : [];
    const required = alwaysPresent.map((field) => schemas.nameOf(field));
    const createdSchema = required.length === 0 ? schema : { ...schema, required };

    const created: Response = {
      description: 'Created.',
      headers: { ...headers, ...(location && responseHeaders.forCreation()) },
      content: schemas.body(output, 'returned', createdSchema),
    };
    if (!hasDryRun) return { 201: created };

    const dryRun: Response = {
      description: 'A dry run: the request is valid, and nothing was stored.',
      headers,
      // As in a request, the example lacks the fields that the service assigns.
      content: schemas.body(output, 'sent', schema),
    };
    return { 200: dryRun, 201: created };
  }
}

/** The reasons of errors that follow from the rule of a method, and from its body. */
function impliedReasons({ creates, caching }: Partial<SuccessRule>, hasBody: boolean): string[] {
  const reasons: string[] = [];
  const takesPreconditions = creates === true || caching !== undefined;
  if (takesPreconditions) reasons.push('PRECONDITION_FAILED');
  if (hasBody) reasons.push('REQUEST_TOO_LARGE', 'CONTENT_TYPE_UNSUPPORTED');
  return reasons;
}

/**
 * The paths of the fields that are not in the body, since the request has them elsewhere or not at all; from the body on.
 *
 * @param bodyType the whole request message, or one field of it.
 */
function pathsOutsideBody(binding: Binding, bodyType: DescMessage | DescField): string[][] {
  const taken = takenPaths(binding);
  if (binding.body === '*') return taken;
  return taken.filter(([first]) => first === bodyType.name).map((path) => path.slice(1));
}

/**
 * Whether a request may have no body. Only a required field of the body itself prevents that, not one of a message in it.
 *
 * @param elsewhere the paths of the fields that are not in the body.
 */
function mayBeEmpty(bodyType: DescMessage | DescField, elsewhere: readonly string[][]): boolean {
  if (bodyType.kind === 'field' || hasCustomJsonRepresentation(bodyType)) return false;
  const fieldsElsewhere = new Set(elsewhere.map((path) => path.join('.')));
  return !bodyType.fields.some((field) => isRequired(field) && !fieldsElsewhere.has(field.name));
}

/** How a stream is read, and what its end is: as the formats of streams write it. */
function streamDescription(events: StreamEvents): string {
  const failure = events === 'named' ? 'failure' : 'error';
  const text = `A message on each line, or as the data of each event. A stream that fails ends with the line \`{"error":…}\`, or with an event \`${failure}\` that has this as its data.`;
  return events === 'named' ? `${text} Any other stream of events ends with an event \`end\`.` : text;
}

/** The schema of a field alone, which is null if the field is not set. */
function fieldSchema(schemas: MessageSchemas, field: DescField): Schema {
  const schema = schemas.field(field, 'returned');
  return field.presence === Presence.EXPLICIT ? nullable(schema) : schema;
}

/** The name of a method in words, like the sentence that a comment begins with: `GetShelf` becomes `Get shelf`. */
function wordsOf({ name }: DescMethod): string {
  const words = name.split(/(?<=[a-z0-9])(?=[A-Z])/);
  return words.map((word, index) => (index === 0 ? word : word.toLowerCase())).join(' ');
}
