import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { createDocuments } from '../../src/openapi/document.js';
import type { Header, OpenApi, Operation, Response as Described } from '@route-registry/transcoder/openapi';

/** The OpenAPI document of the service, with operations by path and method. */
interface ServiceDocument extends Omit<OpenApi, 'paths'> {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

/** The OpenAPI document that the service serves. */
export function openApi(): ServiceDocument {
  const page = createDocuments().find(({ path }) => path === '/openapi.json');
  return JSON.parse(Buffer.from(page?.body() ?? []).toString()) as ServiceDocument;
}

/** The headers of a documented response, with references resolved. */
function headersOf({ headers }: Described): Record<string, Header> {
  const found = Object.entries(headers).map(([name, entry]) => {
    if (!('$ref' in entry)) return [name, entry] as const;
    const header = DOCUMENT.components.headers[entry.$ref.replace('#/components/headers/', '')];
    if (header === undefined) throw new Error(`There is no header ${entry.$ref}.`);
    return [name, header] as const;
  });
  return Object.fromEntries(found);
}

/** A JSON Schema validator with the document as the schema `openapi`. */
export function validatorOf(document: object): Ajv2020 {
  const ajv = new Ajv2020({ allErrors: true, strict: true, strictTypes: false, discriminator: false });
  addFormats.default(ajv);
  ajv.addVocabulary(['discriminator', ...Object.keys(document)]);
  ajv.addSchema(document, 'openapi');
  return ajv;
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
/** The response for all failures that are not described one by one; the schema of its body has the reasons. */
const OTHERS = 'components/responses/Error';

// Clients must tolerate unknown fields, but the tests must find undocumented ones.
const DOCUMENT = withClosedObjects(openApi()) as ServiceDocument;
const AJV = validatorOf(DOCUMENT);

/**
 * Checks the response of an operation against the OpenAPI document: the status, all headers, the body, and the reason of
 * a failure. The body can still be read afterwards.
 *
 * @throws Error with every mismatch
 */
export async function checkResponse(method: 'GET' | 'POST', response: Response): Promise<void> {
  const text = await response.clone().text();
  const path = new URL(response.url).pathname;
  const problems = problemsIn(method, path, response, text);
  if (problems.length > 0)
    throw new Error([`${method} ${path} → ${response.status} ${text}`, ...problems].join('\n- '));
}

function problemsIn(method: string, path: string, { status, headers }: Response, text: string): string[] {
  const template = Object.keys(DOCUMENT.paths).find((pattern) =>
    new RegExp(`^${pattern.replace(/\{[^}]+\}/g, '[^/]+')}$`).test(path),
  );
  const verb = method.toLowerCase();
  const responses = DOCUMENT.paths[template ?? '']?.[verb]?.responses ?? {};
  // Each operation that can have one of these lists it.
  const isListed = status < 400 || [401, 403, 404, 409, 412].includes(status) || String(status) in responses;
  const name = isListed ? String(status) : 'default';
  const found = responses[name];
  if (found === undefined) return ['The status is not documented.'];
  const own = ['paths', template, verb, 'responses', name];
  const pointer = '$ref' in found ? found.$ref.slice(2).split('/') : own.map(String);
  const described = pointer.reduce<unknown>(
    (scope, key) => (scope as Record<string, unknown>)[key],
    DOCUMENT,
  ) as Described;
  return [...headerProblems(described, headers), ...bodyProblems(described, pointer, headers, text)];
}

function headerProblems(described: Described, sent: Headers): string[] {
  const known = Object.entries(headersOf(described));
  const names = [...OF_TRANSPORT, ...known.map(([name]) => name.toLowerCase())];
  const undocumented = [...sent.keys()].filter((name) => !names.includes(name));
  return [
    ...undocumented.map((name) => `The header ${name} is not documented.`),
    ...known.flatMap(([name, { required, schema }]) => {
      const value = sent.get(name);
      if (value === null) return required ? [`The header ${name} is missing.`] : [];
      const parsed = schema['type'] === 'integer' ? Number(value) : value;
      return problemsOf(AJV.compile(schema), parsed, `The header ${name}`);
    }),
  ];
}

function bodyProblems(
  { content, description }: Described,
  pointer: readonly string[],
  headers: Headers,
  text: string,
): string[] {
  if (content === undefined) return text === '' ? [] : ['There must be no body.'];
  const type = headers.get('content-type') ?? '';
  if (content[type] === undefined) return [`The content type "${type}" is not documented.`];
  const body = JSON.parse(text) as { error?: { details?: readonly { reason?: string }[] } };
  const schema = [...pointer, 'content', type, 'schema'].map(pointerKey).join('/');
  const reason = body.error?.details?.find((detail) => detail.reason !== undefined)?.reason;
  const isNamed = pointer.join('/') === OTHERS || description.includes(`\`${reason ?? ''}\``);
  return [
    ...problemsOf(AJV.getSchema(`openapi#/${schema}`) as ValidateFunction, body, 'The body'),
    ...(reason === undefined || isNamed ? [] : [`The reason ${reason} is not documented here.`]),
  ];
}

function problemsOf(validate: ValidateFunction, value: unknown, subject: string): string[] {
  if (validate(value)) return [];
  return (validate.errors ?? []).map(
    ({ instancePath, message = '', params }) =>
      `${subject}${instancePath} ${message} ${JSON.stringify(params)}`,
  );
}

/** A key as a JSON Pointer in a URI has it (RFC 6901, section 6). */
function pointerKey(key: string): string {
  return encodeURIComponent(key.replaceAll('~', '~0').replaceAll('/', '~1'));
}

/** The same document, with object schemas that allow no additional properties. */
function withClosedObjects(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withClosedObjects);
  if (typeof value !== 'object' || value === null) return value;
  const copy = Object.fromEntries(
    Object.entries(value).map(([key, member]) => [key, withClosedObjects(member)]),
  );
  return copy['type'] === 'object' && 'properties' in copy ? { additionalProperties: false, ...copy } : copy;
}
