import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { createDocuments } from '../../src/openapi/documents.js';
import type {
  Header,
  OpenApi,
  Operation,
  Reference,
  Response as Described,
} from '@route-registry/transcoder/openapi';
import type { HttpResponse } from '../../packages/transcoder/test/support/http-request.js';

/** The OpenAPI document of the service, with operations by path and method. */
interface ServiceDocument extends Omit<OpenApi, 'paths'> {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** The OpenAPI document that the service serves. */
export function openApi(basePath = ''): ServiceDocument {
  const page = createDocuments(basePath).find(({ path }) => path === '/openapi.json');
  return JSON.parse(Buffer.from(page?.body() ?? []).toString()) as ServiceDocument;
}

/** The headers of a documented response, with references resolved. */
export function headersOf({ components }: ServiceDocument, { headers }: Described): Record<string, Header> {
  const found = Object.entries(headers).map(([name, each]) => {
    if (!('$ref' in each)) return [name, each] as const;
    const header = components.headers[each.$ref.replace('#/components/headers/', '')];
    if (header === undefined) throw new Error(`There is no header ${each.$ref}.`);
    return [name, header] as const;
  });
  return Object.fromEntries(found);
}

/** The request of a checked response. */
interface SeenRequest {
  readonly method: string;
  /** The full URL, or the request target. */
  readonly url: string;
}

/** Headers of the connection and the content, which the document does not describe as headers. */
const OF_TRANSPORT = [
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'transfer-encoding',
];

/** A response with its complete body. */
interface SeenResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const checks = new Map<string, DocumentCheck>();

/**
 * Checks a response of the REST gateway against the OpenAPI document: the status, all headers, the body, and the reason
 * of a failure. The body of a `fetch` response can still be read afterwards.
 *
 * @param basePath the service's `BASE_PATH`; default: none
 * @throws Error with every mismatch
 */
export async function checkResponse(
  { method, url }: SeenRequest,
  response: Response | HttpResponse,
  basePath = '',
): Promise<void> {
  const check = checks.get(basePath) ?? new DocumentCheck(openApi(basePath), basePath);
  checks.set(basePath, check);
  const seen = await seenResponse(response);
  const path = url.replace(/^https?:\/\/[^/?#]*/, '').replace(/[?#].*$/s, '');
  const problems = check.problems(method, path, seen);
  if (problems.length > 0) {
    throw new Error([`${method} ${path} → ${seen.status} ${seen.text}`, ...problems].join('\n- '));
  }
}

async function seenResponse(response: Response | HttpResponse): Promise<SeenResponse> {
  const { status } = response;
  if (response instanceof Response) {
    return { status, headers: response.headers, text: await response.clone().text() };
  }
  const headers = Object.entries(response.headers).map(
    ([name, value]) => [name, String(value)] as [string, string],
  );
  return { status, headers: new Headers(headers), text: response.text };
}

/** A JSON Schema validator with the document as the schema `openapi`. */
export function validatorOf(document: object): Ajv2020 {
  const ajv = new Ajv2020({ allErrors: true, strict: true, strictTypes: false, discriminator: false });
  addFormats.default(ajv);
  ajv.addVocabulary(['discriminator', ...Object.keys(document)]);
  ajv.addSchema(document, 'openapi');
  return ajv;
}

/** The response for all failures that are not described one by one; the schema of its body has the reasons. */
const OTHERS: readonly string[] = ['components', 'responses', 'Error'];

/** Whether an operation that can have the status lists it. */
function mayNotBeMissing(status: number, responses: Operation['responses']): boolean {
  return (status < 400 || [401, 403, 404, 409, 412].includes(status)) && !(String(status) in responses);
}

class DocumentCheck {
  readonly #document: ServiceDocument;
  readonly #basePath: string;
  readonly #ajv: Ajv2020;

  constructor(document: ServiceDocument, basePath: string) {
    // Clients must tolerate unknown fields, but the tests must find undocumented ones.
    this.#document = closed(document) as ServiceDocument;
    this.#basePath = basePath;
    this.#ajv = validatorOf(this.#document);
  }

  problems(method: string, path: string, response: SeenResponse): string[] {
    const template = this.#templateOf(path);
    if (template === undefined) {
      return this.#differences(OTHERS, 404, method, response);
    }
    const operations = this.#document.paths[template] ?? {};
    const verbs = Object.keys(operations).map((verb) => verb.toUpperCase());
    const allowed = [...verbs, ...(verbs.includes('GET') ? ['HEAD'] : []), 'OPTIONS'];
    if (method === 'OPTIONS') return [...allowProblems(response, allowed), ...emptyProblems(response, 204)];
    if (!allowed.includes(method)) {
      const headers = new Headers(response.headers);
      // Of no operation, and so not described.
      headers.delete('allow');
      const rest = this.#differences(OTHERS, 405, method, { ...response, headers });
      return [...allowProblems(response, allowed), ...rest];
    }
    const verb = method === 'HEAD' ? 'get' : method.toLowerCase();
    const pointer = ['paths', template, verb, 'responses', String(response.status)];
    const responses = operations[verb]?.responses ?? {};
    const found = responses[String(response.status)] ?? responses['default'];
    if (found === undefined || mayNotBeMissing(response.status, responses))
      return ['The status is not documented.'];
    const target = isReference(found) ? found.$ref.slice(2).split('/') : pointer;
    if (target.join() === OTHERS.join()) return this.#differences(OTHERS, response.status, method, response);
    return this.#differences(target, response.status, method, response);
  }

  /** The path template in the document that matches a raw path. */
  #templateOf(path: string): string | undefined {
    if (!path.startsWith(`${this.#basePath}/`)) return undefined;
    const local = path.slice(this.#basePath.length);
    return Object.keys(this.#document.paths).find((template) =>
      new RegExp(`^${template.replace(/\{[^}]+\}/g, '[^/]+')}$`).test(local),
    );
  }

  #differences(pointer: readonly string[], status: number, method: string, response: SeenResponse): string[] {
    const described = at(this.#document, pointer) as Described;
    return [
      ...(response.status === status ? [] : [`The status must be ${status}.`]),
      ...this.#headerProblems(described, response.headers),
      ...(method === 'HEAD' ? emptyBodyProblems(response) : this.#bodyProblems(described, pointer, response)),
    ];
  }

  #headerProblems(described: Described, sent: Headers): string[] {
    const known = Object.entries(headersOf(this.#document, described));
    const names = known.map(([name]) => name.toLowerCase());
    const undocumented = [...sent.keys()].filter(
      (name) => !names.includes(name) && !OF_TRANSPORT.includes(name),
    );
    return [
      ...undocumented.map((name) => `The header ${name} is not documented.`),
      ...known.flatMap(([name, { required, schema }]) => {
        const value = sent.get(name);
        if (value === null) return required ? [`The header ${name} is missing.`] : [];
        const parsed = schema['type'] === 'integer' ? Number(value) : value;
        return problemsOf(this.#ajv.compile(schema), parsed, `The header ${name}`);
      }),
    ];
  }

  #bodyProblems(described: Described, pointer: readonly string[], response: SeenResponse): string[] {
    const { content } = described;
    if (content === undefined) return emptyBodyProblems(response);
    const type = response.headers.get('content-type') ?? '';
    const media = content[type];
    if (media === undefined) return [`The content type "${type}" is not documented.`];
    const body: unknown = JSON.parse(response.text);
    const reason = reasonOf(body);
    return [
      ...this.#schemaProblems([...pointer, 'content', type, 'schema'], body, 'The body'),
      ...(reason === undefined || pointer === OTHERS || described.description.includes(`\`${reason}\``)
        ? []
        : [`The reason ${reason} is not documented here.`]),
    ];
  }

  #schemaProblems(pointer: readonly string[], value: unknown, subject: string): string[] {
    const reference = `openapi#/${pointer.map(escaped).join('/')}`;
    return problemsOf(this.#ajv.getSchema(reference) as ValidateFunction, value, subject);
  }
}

function problemsOf(validate: ValidateFunction, value: unknown, subject: string): string[] {
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message = '', params }) =>
      `${subject}${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

function allowProblems({ headers }: SeenResponse, allowed: readonly string[]): string[] {
  const sent = (headers.get('allow') ?? '').split(', ').sort().join(', ');
  const expected = [...allowed].sort().join(', ');
  return sent === expected ? [] : [`Allow must list ${expected}.`];
}

function emptyProblems(response: SeenResponse, status: number): string[] {
  return [
    ...(response.status === status ? [] : [`The status must be ${status}.`]),
    ...emptyBodyProblems(response),
  ];
}

function emptyBodyProblems({ text }: SeenResponse): string[] {
  return text === '' ? [] : ['There must be no body.'];
}

function reasonOf(body: unknown): string | undefined {
  const { error } = body as { error?: { details?: readonly { reason?: string }[] } };
  return error?.details?.find(({ reason }) => reason !== undefined)?.reason;
}

function isReference(response: Described | Reference): response is Reference {
  return '$ref' in response;
}

function at(value: unknown, pointer: readonly string[]): unknown {
  return pointer.reduce((scope, key) => (scope as Record<string, unknown>)[key], value);
}

function escaped(key: string): string {
  return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'));
}

/** The same document, with object schemas that allow no additional properties. */
function closed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(closed);
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(Object.entries(value).map(([key, each]) => [key, closed(each)]));
  return copy['type'] === 'object' && 'properties' in copy ? { additionalProperties: false, ...copy } : copy;
}
