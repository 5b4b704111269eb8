import type { DescMethod } from '@bufbuild/protobuf';
import type { ForwardedHeaders } from '../metadata/forwarded-headers.js';
import type { SuccessRule } from '../template/success-rules.js';
import type { HeaderFacts } from './description-options.js';
import type { Parameter, Reference, Schema } from './open-api.js';
import type { Parameters } from './parameters.js';
import { descriptionKeyword } from './schema-rules.js';

const TEXT = { type: 'string' };

/** The headers that the transcoder itself reads or that have a standard meaning, as parameters, by lower-case name. */
const standard: Readonly<Record<string, Omit<Parameter, 'in'>>> = {
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

/** The facts about a header, if there are any. */
interface NamedFacts extends HeaderFacts {
  /** The header's name as the facts write it; undefined if there are none. */
  readonly name?: string;
}

/** The facts about a header; the case of its name does not matter. */
export function factsOf(headers: Readonly<Record<string, HeaderFacts>>, key: string): NamedFacts {
  const found = Object.entries(headers).find(([name]) => name.toLowerCase() === key.toLowerCase());
  if (found === undefined) return {};
  const [name, facts] = found;
  return { ...facts, name };
}

/** The headers of requests, as parameters. */
export class RequestHeaders {
  /** The parameters that operations refer to, by name. */
  readonly components: Record<string, Parameter> = {};
  /** The schema of `X-Request-Id` in requests and responses. */
  readonly requestId: Schema;
  /** The headers that every method takes. */
  readonly #common: Reference[] = [];
  /** The headers that stand for request fields, each with the proto name of its field. */
  readonly #ofFields: (readonly [field: string, header: Parameter])[] = [];

  /**
   * @param forwarded the headers that become metadata.
   * @param namesRequests whether a client may choose the id of its request with `X-Request-Id`.
   * @param facts further facts about headers, by name.
   */
  constructor(
    forwarded: ForwardedHeaders,
    namesRequests: boolean,
    facts: Readonly<Record<string, HeaderFacts>>,
  ) {
    this.requestId = parameterOf('x-request-id', facts).schema;
    // OpenAPI describes credentials as security schemes, and has no place for prefixes.
    const passed = [...forwarded.keys()].filter((key) => key !== 'authorization' && !key.endsWith('*'));
    const own = namesRequests ? ['x-request-id', 'request-timeout'] : ['request-timeout'];
    for (const key of [...own, ...passed]) {
      const header = parameterOf(key, facts);
      const { field } = factsOf(facts, key);
      if (field === undefined) this.#common.push(this.#reference(header));
      else this.#ofFields.push([field, header]);
    }
  }

  /** The header parameters of a method: those that stand for its fields, the conditions of a cache, and the common ones. */
  of(
    method: DescMethod,
    { caching }: Partial<SuccessRule>,
    parameters: Parameters,
  ): (Parameter | Reference)[] {
    const ofFields = this.#ofFields.flatMap(([name, header]) => {
      const field = method.input.fields.find((inputField) => inputField.name === name);
      if (field === undefined) return [];
      const parameter = parameters.of(header.name, 'header', field);
      const description = header.description ?? `The same as \`${field.name}\`, as a header.`;
      return [{ ...parameter, ...descriptionKeyword(description) }];
    });

    const conditions = caching === undefined ? [] : ['if-match', 'if-none-match'];
    const ofCaching = conditions.map((key) => this.#reference(parameterOf(key, {})));
    return [...ofFields, ...ofCaching, ...this.#common];
  }

  /** Adds a parameter to the components. @returns a reference to it */
  #reference(parameter: Parameter): Reference {
    this.components[parameter.name] = parameter;
    return { $ref: `#/components/parameters/${parameter.name}` };
  }
}

/** A header as a parameter, with what the facts say in place of the usual. @param key its lower-case name */
function parameterOf(key: string, facts: Readonly<Record<string, HeaderFacts>>): Parameter {
  const usual: Omit<Parameter, 'in'> = standard[key] ?? { name: key, schema: TEXT };
  const { name = usual.name, description = usual.description ?? '', bounds } = factsOf(facts, key);
  return { name, in: 'header', ...descriptionKeyword(description), schema: { ...usual.schema, ...bounds } };
}
