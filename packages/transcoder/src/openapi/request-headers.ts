import type { DescMessage, DescMethod } from '@bufbuild/protobuf';
import type { ForwardedHeaders } from '../metadata/forwarded-headers.js';
import type { SuccessRule } from '../template/success-rules.js';
import type { HeaderFacts } from './description-options.js';
import { factsOf, type NamedFacts } from './header-facts.js';
import type { Parameter, Reference, Schema } from './open-api.js';
import type { Parameters } from './parameters.js';
import { descriptionKeyword } from './schema-rules.js';

const TEXT = { type: 'string' };

/** The headers that the transcoder itself reads or that have a standard meaning, as parameters, by lower-case name. */
const STANDARD: Readonly<Record<string, Omit<Parameter, 'in'>>> = {
  'x-request-id': {
    name: 'X-Request-Id',
    description: 'The id of the call in the log, in errors and in the response. Default: a new id.',
    schema: TEXT,
  },
  'request-timeout': {
    name: 'Request-Timeout',
    description:
      "The longest time that the client waits, in seconds; a decimal. Default and maximum: the service's own limit.",
    schema: { type: 'string', pattern: '^[0-9]{1,9}(\\.[0-9]{1,9})?$', examples: ['2.5'] },
  },
  traceparent: {
    name: 'traceparent',
    description: 'The position of the call in a trace (W3C Trace Context); passed on.',
    schema: { type: 'string', examples: ['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'] },
  },
  tracestate: {
    name: 'tracestate',
    description: 'Vendor-specific trace data that accompanies `traceparent` (W3C Trace Context); passed on.',
    schema: TEXT,
  },
  'if-match': {
    name: 'If-Match',
    description: 'Entity tags that the caller expects; where none of them is current, the answer is 412.',
    schema: TEXT,
  },
  'if-none-match': {
    name: 'If-None-Match',
    description:
      'Entity tags that the client has; if one of them is current, the answer is 304 without a body.',
    schema: TEXT,
  },
};

/** The lower-case names of the headers that a client may send for a response that can be cached. */
const CONDITIONS = ['if-match', 'if-none-match'];

/** A header that stands for a request field. */
interface HeaderOfField {
  /** The proto name of the field. */
  readonly field: string;
  readonly header: Parameter;
  /** What the facts about the header add to the schema of the field. */
  readonly bounds: Schema | undefined;
}

/** The headers of requests, as parameters. */
export class RequestHeaders {
  /** The parameters that operations refer to, by name. */
  readonly components: Record<string, Parameter> = {};
  /** The schema of `X-Request-Id` in requests and responses. */
  readonly requestId: Schema;
  /** The headers that every method takes. */
  readonly #common: Parameter[] = [];
  readonly #ofFields: HeaderOfField[] = [];

  /**
   * @param forwarded the headers that become metadata.
   * @param takesRequestIds whether a client may choose the id of its request with `X-Request-Id`.
   * @param factsByName further facts about headers.
   */
  constructor(
    forwarded: ForwardedHeaders,
    takesRequestIds: boolean,
    factsByName: Readonly<Record<string, HeaderFacts>>,
  ) {
    this.requestId = parameterOf('x-request-id', factsOf(factsByName, 'x-request-id')).schema;
    // OpenAPI describes credentials as security schemes, and has no place for prefixes.
    const passed = [...forwarded.keys()].filter((key) => key !== 'authorization' && !key.endsWith('*'));
    const own = takesRequestIds ? ['x-request-id', 'request-timeout'] : ['request-timeout'];
    for (const key of new Set([...own, ...passed])) {
      const facts = factsOf(factsByName, key);
      const { field, bounds } = facts;
      const header = parameterOf(key, facts);
      if (field === undefined) this.#common.push(header);
      else this.#ofFields.push({ field, header, bounds });
    }
    // The document has these even if it has no operation.
    for (const header of this.#common) this.#addAndRefer(header);
  }

  /** The header parameters of a method: those that stand for its fields, the conditions of a cache, and the common ones. */
  of(
    { input }: DescMethod,
    { caching }: Partial<SuccessRule>,
    parameters: Parameters,
  ): (Parameter | Reference)[] {
    const ofFields = this.#parametersOfFields(input, parameters);

    // A condition may be forwarded, too, and is then among the others.
    const others = new Set([...ofFields, ...this.#common].map(({ name }) => name.toLowerCase()));
    const conditions = CONDITIONS.filter((key) => caching !== undefined && !others.has(key));
    const shared = [...conditions.map((key) => parameterOf(key)), ...this.#common];
    return [...ofFields, ...shared.map((header) => this.#addAndRefer(header))];
  }

  /** The headers that stand for fields of a message. @param parameters makes the parameters of its fields */
  #parametersOfFields(message: DescMessage, parameters: Parameters): Parameter[] {
    return this.#ofFields.flatMap(({ field: name, header, bounds }) => {
      const field = message.fields.find((messageField) => messageField.name === name);
      if (field === undefined) return [];

      const parameter = parameters.of(header.name, 'header', field);
      const description = header.description ?? `The same as \`${name}\`, as a header.`;
      const schema = { ...parameter.schema, ...bounds };
      return [{ ...parameter, ...descriptionKeyword(description), schema }];
    });
  }

  /** Adds a parameter to the components. @returns a reference to it */
  #addAndRefer(parameter: Parameter): Reference {
    this.components[parameter.name] = parameter;
    return { $ref: `#/components/parameters/${parameter.name}` };
  }
}

/** A header as a parameter, with what the facts say in place of the usual. @param key its lower-case name */
function parameterOf(key: string, facts: NamedFacts = {}): Parameter {
  const usual: Omit<Parameter, 'in'> = STANDARD[key] ?? { name: key, schema: TEXT };
  const { name = usual.name, description = usual.description ?? '', bounds } = facts;
  return { name, in: 'header', ...descriptionKeyword(description), schema: { ...usual.schema, ...bounds } };
}
