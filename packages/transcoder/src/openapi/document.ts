import type { ForwardedHeaders } from '../metadata/forwarded-headers.js';
import { checkedOptions, type Defined, LIST, OBJECT } from '../option-kinds.js';
import { optionsInForce } from '../options.js';
import type { Binding } from '../template/binding.js';
import { successRules } from '../template/success-rules.js';
import { type Contract, readContract } from '../template/contract.js';
import { ContractComments } from './contract-comments.js';
import { contractFacts } from './contract-facts.js';
import type { DescriptionOptions, Security } from './description-options.js';
import { ErrorResponses } from './error-responses.js';
import { ERROR_SCHEMAS, errorSchemas } from './error-schemas.js';
import { MessageSchemas, type SchemaParts } from './message-schemas.js';
import { Names } from './names.js';
import type { Info, OpenApi } from './open-api.js';
import { Operations } from './operations.js';
import { Parameters } from './parameters.js';
import { Paths } from './paths.js';
import { RequestHeaders } from './request-headers.js';
import { DescribedHeaders } from './response-headers.js';
import { sourceComments } from './source-comments.js';

const DESCRIPTION_KINDS = {
  info: OBJECT,
  servers: LIST,
  security: OBJECT,
  comments: OBJECT,
  facts: OBJECT,
  headers: OBJECT,
  failures: OBJECT,
};

/** The most bindings that are described: documents with more are too large for the tools that read them. */
const MAX_BINDINGS = 10_000;

/**
 * Returns an OpenAPI 3.1 document for what a transcoder with the same options serves. It is built from the same table
 * of bindings, the comments of the contract, and the given facts. Of more than 10,000 bindings, it has the first 10,000,
 * and its description says so.
 *
 * @throws Error with a one-sentence message, as `createTranscoder` does, or if there are facts about a message or field
 *   that the contract does not have.
 */
export function describe(options: DescriptionOptions): OpenApi {
  const { info, servers, security, comments, facts, headers, failures, ...transcoding } = options;
  const descriptionOptions = { info, servers, security, comments, facts, headers, failures };
  checkedOptions(descriptionOptions, DESCRIPTION_KINDS);
  const inForce = optionsInForce(transcoding);
  const { forwardedHeaders, json, standardMethods } = inForce;
  const serverStreams = options.upstream === undefined || options.upstream.serverStream !== undefined;
  const contract = readContract(inForce.descriptorSet, { ...inForce, serverStreams });
  const { registry, bindings, domain } = contract;
  const parts: SchemaParts = {
    comments: new ContractComments(comments ?? sourceComments(inForce.descriptorSet), json.protoNames),
    facts: contractFacts(registry, facts),
    json,
    home: homeOf(contract),
    names: new Names(ERROR_SCHEMAS),
  };
  const schemas = new MessageSchemas(parts);
  const requestHeaders = new RequestHeaders(
    forwardedHeaders,
    options.requestIdOf !== undefined,
    headers ?? {},
  );
  const responseHeaders = new DescribedHeaders(
    inForce.responseHeaders,
    requestHeaders.requestId,
    headers ?? {},
  );
  const errors = new ErrorResponses(failures, responseHeaders);
  const { schemes, requirements, methods } = security ?? defaultSecurity(forwardedHeaders);
  const operations = new Operations({
    comments: parts.comments,
    schemas,
    parameters: new Parameters(parts, schemas),
    requestHeaders,
    responseHeaders,
    errors,
    security: methods ?? {},
    lenient: inForce.lenient,
    events: inForce.events,
  });
  const paths = new Paths(
    operations,
    bindings.slice(0, MAX_BINDINGS),
    standardMethods ? successRules(bindings) : new Map(),
  );
  return {
    openapi: '3.1.1',
    info: infoOf(parts, contract, info, [...policyOf(inForce), ...cutOf(bindings)]),
    // Beside the document, which a proxy may serve under a prefix of its own.
    servers: servers ?? [{ url: '.' }],
    security: requirements,
    tags: paths.tags(parts.comments),
    paths: paths.items(),
    components: {
      schemas: {
        ...schemas.components,
        ...errorSchemas({ domain, reasons: errors.reasons, closed: failures !== undefined }),
      },
      parameters: requestHeaders.components,
      headers: responseHeaders.components,
      responses: errors.components(),
      securitySchemes: schemes,
    },
  };
}

/** The proto package that the document is about: that with the name of the domain or, if none has it, the first binding's. */
function homeOf({ bindings, domain }: Contract): string {
  const packages = bindings.map(({ method }) => method.parent.file.proto.package);
  return packages.includes(domain) ? domain : String(packages[0]);
}

function infoOf(
  { comments, home }: SchemaParts,
  { bindings, domain }: Contract,
  overrides: DescriptionOptions['info'],
  manners: readonly string[],
): Info {
  const version = home.slice(home.lastIndexOf('.') + 1);
  const services = new Set(bindings.map(({ method }) => method.parent));
  const own = [...services].filter(({ file }) => file.proto.package === home);
  const info = { title: domain, version, description: comments.ofPackage(home, own), ...overrides };
  const texts = [info.description, ...manners].filter((text) => text !== '');
  // Readers of OpenAPI expect a text, and many contracts have none.
  return {
    ...info,
    description: texts.length === 0 ? `The methods of ${home} over HTTP.` : texts.join('\n\n'),
  };
}

/** A sentence for each kind of names that OpenAPI has no place for: those with a prefix, and those that are ignored. */
function policyOf({
  forwardedHeaders,
  responseHeaders,
  ignoredParameters,
}: Required<
  Defined<Pick<DescriptionOptions, 'forwardedHeaders' | 'responseHeaders' | 'ignoredParameters'>>
>): string[] {
  const passed = quotedList([...forwardedHeaders.keys()].filter((name) => name.endsWith('*')));
  const sent = quotedList([...responseHeaders].flatMap(([key, name]) => (key.endsWith('*') ? [name] : [])));
  const ignored = quotedList([...ignoredParameters]);
  return [
    ...(passed === '' ? [] : [`The headers ${passed} of a request are passed on to the service.`]),
    ...(sent === '' ? [] : [`The headers ${sent} of a response come from the service.`]),
    ...(ignored === ''
      ? []
      : [`The query parameters ${ignored} are ignored where a method has no such field.`]),
  ];
}

/** A sentence about the bindings that are not described; none if all are. */
function cutOf({ length }: readonly Binding[]): string[] {
  if (length <= MAX_BINDINGS) return [];
  const [most, all] = [MAX_BINDINGS, length].map((number) => number.toLocaleString('en'));
  return [`This document has the first ${most} of ${all} bindings; the others are served, too.`];
}

/** The names in code quotes: `a`, `b-*`. */
function quotedList(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}

/** An optional bearer token if `authorization` is forwarded, otherwise none. */
function defaultSecurity(forwarded: ForwardedHeaders): Security {
  if (!forwarded.has('authorization')) return { schemes: {}, requirements: [] };
  return { schemes: { bearer: { type: 'http', scheme: 'bearer' } }, requirements: [{ bearer: [] }, {}] };
}
