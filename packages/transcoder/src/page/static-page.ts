import type { IncomingMessage } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { entityTag, isCurrent } from '../http/reply.js';
import type { Exchange } from '../http/exchange.js';
import type { HttpReply } from '../http-reply.js';
import { lazily } from './lazily.js';

/** A static document that is served beside the paths of a contract. */
export interface Page {
  /**
   * The path under the base path, such as `/openapi.json`: segments of unreserved characters, or empty for the base path
   * itself, if there is one.
   */
  readonly path: string;
  /** The name of the page where pages are listed. Default: the page is part of another page, and not listed. */
  readonly name?: string;
  readonly contentType: string;
  /** Called once, at the first request for the page. */
  readonly body: () => Uint8Array;
  /** Whether clients that accept gzip get the page so; it is compressed once, at the first such request. Default: false. */
  readonly compressed?: boolean;
  /** Further headers, such as a content security policy. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A function that returns the response to GET and HEAD for a resource outside the contract. */
export type ReadReply = (exchange: Exchange) => HttpReply | Promise<HttpReply>;

const compress = promisify(gzip);

/** Returns the function that serves a page, with 304 for a client whose copy is current. */
export function pageReply({ contentType, body, compressed = false, headers }: Page): ReadReply {
  const pageHeaders = compressed ? { ...headers, Vary: 'Accept-Encoding' } : headers;
  const gzipHeaders = { ...pageHeaders, 'Content-Encoding': 'gzip' };
  const plainPage = lazily(() => representation(body(), contentType, pageHeaders));
  const gzipPage = lazily(async () =>
    representation(await compress(plainPage().body), contentType, gzipHeaders),
  );
  return ({ request }) =>
    compressed && acceptsGzip(request)
      ? gzipPage().then((page) => conditional(page, request))
      : conditional(plainPage(), request);
}

/** A form of a page, plain or compressed, with its own entity tag. */
function representation(body: Uint8Array, contentType: string, headers: Page['headers']) {
  const tag = entityTag(body);
  const allHeaders = { ...headers, ETag: tag, 'Cache-Control': 'no-cache' };
  return { status: 200, headers: allHeaders, contentType, body, tag };
}

/** The response for a representation, without content if the client has it already. */
function conditional(page: ReturnType<typeof representation>, { headers }: IncomingMessage): HttpReply {
  return isCurrent(headers, page.tag) ? { status: 304, headers: page.headers } : page;
}

/** Whether `Accept-Encoding` names gzip, or anything, with a weight that is not zero (RFC 9110 12.5.3). */
function acceptsGzip({ headers }: IncomingMessage): boolean {
  const codings = (headers['accept-encoding'] ?? '').toLowerCase().split(',');
  const weights = new Map(
    codings.map((entry) => {
      const [coding = '', ...parameters] = entry.split(';').map((part) => part.trim());
      return [coding, parameters.find((part) => part.startsWith('q='))?.slice(2) ?? '1'] as const;
    }),
  );
  return Number(weights.get('gzip') ?? weights.get('*') ?? 0) > 0;
}
