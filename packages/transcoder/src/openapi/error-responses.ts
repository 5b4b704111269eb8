import { STATUS_CODES } from 'node:http';
import type { JsonValue } from '@bufbuild/protobuf';
import { methodNotAllowed, pathUnknown } from '../failures/failure.js';
import type { FailureExample, FailureExamples } from './failure-examples.js';
import type { DescriptionOptions } from './description-options.js';
import type { Header, Headers, Response, Responses } from './open-api.js';
import { type DescribedHeaders, exactly, header } from './response-headers.js';

/** The reasons that say nothing about an operation. A status that has no other reason is described under `default`. */
const OF_TRANSPORT: ReadonlySet<string> = new Set([
  'REQUEST_TIMED_OUT',
  'TARGET_TOO_LONG',
  'HEADERS_TOO_LARGE',
  'CANCELLED',
  'TRANSFER_CODING_UNSUPPORTED',
]);

/** The phrase of 499, which is in no RFC, only in google/rpc/code.proto. */
const NON_STANDARD = 'Client Closed Request';

const TEXT = { type: 'string' };
const SECONDS = { type: 'integer', minimum: 0 };
const CHALLENGE = 'The kind of token that is required (RFC 6750).';
const PAUSE = 'The number of seconds to wait before a retry.';
const MEDIA_TYPE = 'The media type that is accepted.';
const CODING = 'The content coding that is accepted; sent when the content coding was refused.';
const ALLOW = { Allow: 'GET, HEAD, OPTIONS' };
/** The component of `default`. */
const OTHERS = 'ErrorOfTransport';
/** The same, if the failures of the server are unknown. */
const OTHERS_AND_UNKNOWN = 'ErrorOfService';

/** The headers of errors besides those of every response, from an example of their value. */
const known: Readonly<Record<string, (value: string) => Header>> = {
  'WWW-Authenticate': (value) => header(CHALLENGE, TEXT, value),
  Allow: (value) => header('The HTTP methods that the path supports.', TEXT, value),
  'Accept-Post': (value) => header(MEDIA_TYPE, exactly(value)),
  'Accept-Patch': (value) => header(MEDIA_TYPE, exactly(value)),
  'Accept-Encoding': (value) => header(CODING, exactly(value)),
  'Retry-After': (value) => header(PAUSE, SECONDS, Number(value)),
};

const ERROR = { $ref: '#/components/schemas/Error' };

/** Failures that share one response. */
interface Group {
  /** The name of the component. */
  readonly name: string;
  readonly status: number;
  readonly failures: readonly FailureExample[];
  /** Returns whether operations with the HTTP method have the response. Default: all have it. */
  readonly verbs?: (verb: string) => boolean;
}

/**
 * The error responses: one for each status, with all its reasons and an example of the first, and one for all statuses
 * that only the transport can cause.
 */
export class ErrorResponses {
  /** Whether the failures of the server are known. */
  readonly closed: boolean;
  /** All known reasons, sorted. */
  readonly reasons: readonly string[];
  readonly #headers: DescribedHeaders;
  readonly #groups: readonly Group[];
  readonly #ofTransport: readonly Group[];
  readonly #used = new Set<string>();

  /** @param given the failures of the server; undefined if they are unknown */
  constructor(examples: FailureExamples, given: DescriptionOptions['failures'], headers: DescribedHeaders) {
    this.closed = given !== undefined;
    this.#headers = headers;
    const ofServer = Object.entries(given ?? {}).map(([reason, facts]) => examples.ofServer(reason, facts));
    const groups = groupsOf([...ofServer, ...examples.own()]);
    this.#ofTransport = groups.filter(isOfTransport);
    this.#groups = [
      ...groups.filter((group) => !isOfTransport(group)),
      {
        name: 'Error415',
        status: 415,
        failures: examples.unsupported('POST'),
        verbs: (verb) => verb !== 'PATCH',
      },
      {
        name: 'Error415Patch',
        status: 415,
        failures: examples.unsupported('PATCH'),
        verbs: (verb) => verb === 'PATCH',
      },
      { name: 'PathUnknown', status: 404, failures: [examples.of(pathUnknown())], verbs: () => false },
      {
        name: 'MethodNotAllowed',
        status: 405,
        failures: [examples.of(methodNotAllowed(ALLOW))],
        verbs: () => false,
      },
    ];
    this.reasons = [...new Set([...this.#groups, ...this.#ofTransport].flatMap(reasonsOf))].sort();
  }

  /**
   * References to the error responses of an operation, by status: those of all operations, and those with one of the
   * reasons.
   *
   * @param reasons the reasons that the comment of the method names or its rule implies
   */
  of(verb: string, reasons: ReadonlySet<string>): Responses {
    const met = this.#groups.filter(
      ({ failures, verbs = () => true }) =>
        verbs(verb) && failures.some(({ reason, everywhere }) => everywhere || reasons.has(reason)),
    );
    const named = met.map(({ name, status }) => [String(status), name] as const);
    const all = [...named, ['default', this.#others] as const];
    for (const [, name] of all) this.#used.add(name);
    return Object.fromEntries(
      all.map(([status, name]) => [status, { $ref: `#/components/responses/${name}` }]),
    );
  }

  /** The responses that operations refer to, and those for unknown paths and unsupported HTTP methods. */
  components(): Record<string, Response> {
    const shown = this.#groups.filter(({ name }) => this.#used.has(name) || !name.startsWith('Error'));
    return Object.fromEntries([
      ...shown.map((group) => [group.name, this.#response(group)] as const),
      [this.#others, this.#responseOfOthers()] as const,
    ]);
  }

  get #others(): string {
    return this.closed ? OTHERS : OTHERS_AND_UNKNOWN;
  }

  #response({ status, failures }: Group): Response {
    const reasons = [...new Set(failures.map(({ reason }) => `\`${reason}\``))].join(', ');
    const others = this.closed ? '' : ', or a reason of the service';
    return {
      description: `${STATUS_CODES[status] ?? NON_STANDARD}: ${reasons}${others}.`,
      headers: { ...this.#headers.of(undefined), ...headersOf(failures) },
      content: { 'application/json': { schema: ERROR, examples: exampleOf(failures) } },
    };
  }

  /** The response for all failures of the transport, and for those of the server that are unknown. */
  #responseOfOthers(): Response {
    const transport = this.#ofTransport.flatMap((group) =>
      reasonsOf(group).map((reason) => `${group.status} \`${reason}\``),
    );
    const unknown = {
      'WWW-Authenticate': { ...header(CHALLENGE, TEXT), required: false },
      'Retry-After': { ...header(PAUSE, SECONDS), required: false },
    };
    return {
      description: `${this.closed ? 'The' : 'Any other failure of the service, or the'} request did not pass the transport: ${transport.join(', ')}.`,
      headers: { ...this.#headers.of(undefined), ...(this.closed ? {} : unknown) },
      content: { 'application/json': { schema: ERROR } },
    };
  }
}

function reasonsOf({ failures }: Group): string[] {
  return failures.map(({ reason }) => reason);
}

function isOfTransport(group: Group): boolean {
  return reasonsOf(group).every((reason) => OF_TRANSPORT.has(reason));
}

/** One group for each status. */
function groupsOf(failures: readonly FailureExample[]): Group[] {
  const statuses = [...new Set(failures.map(({ reply }) => reply.status))].sort((one, other) => one - other);
  return statuses.map((status) => {
    const all = failures.filter(({ reply }) => reply.status === status);
    const first = new Map(all.toReversed().map((failure) => [failure.reason, failure]));
    // The first failure of each reason, in the original order.
    return {
      name: `Error${status}`,
      status,
      failures: all.filter((each) => first.get(each.reason) === each),
    };
  });
}

/** The error of the first failure, by its reason. */
function exampleOf(failures: readonly FailureExample[]) {
  return Object.fromEntries(
    failures.slice(0, 1).map(({ reason, reply }) => [reason, { value: JSON.parse(reply.body) as JsonValue }]),
  );
}

/** The headers that at least one of the failures has; required if all have them. */
function headersOf(failures: readonly FailureExample[]): Headers {
  const sent = failures.flatMap(({ reply }) => Object.entries(reply.headers));
  const names = [...new Set(sent.map(([name]) => name))];
  return Object.fromEntries(
    Object.entries(known)
      .filter(([name]) => names.includes(name))
      .map(([name, describe]) => {
        const values = sent.filter(([each]) => each === name).map(([, value]) => value);
        return [name, { ...describe(String(values[0])), required: values.length === failures.length }];
      }),
  );
}
