import type { IncomingMessage } from 'node:http';
import {
  entityTag,
  type Exchange,
  type HttpReply,
  isCurrent,
  methodNotAllowed,
} from '@route-registry/transcoder';
import express from 'express';
import { HEALTH_PATH } from './healthz.js';

/** The index at the base path depends on what the client accepts. */
const BY_ACCEPT = { Vary: 'Accept' };

interface Document {
  readonly contentType: string;
  readonly body: Uint8Array;
  /** Further headers, such as a content security policy. */
  readonly headers: Readonly<Record<string, string>>;
}

/** A fixed document that the gateway serves beside the paths of the contract. */
export interface Page extends Document {
  /** Its path, under the base path: `/openapi.json`. Segments of unreserved characters. */
  readonly path: string;
  /** Its name in the index at `GET /`. Default: not listed. */
  readonly name?: string;
}

/** Answers GET for one of the gateway's own resources. */
export type ReadReply = (exchange: Exchange) => HttpReply | Promise<HttpReply>;

/** The answer to GET for a page: the page, or 304 for a client that already has it. */
export function pageReply({ contentType, body, headers }: Document): ReadReply {
  const tag = entityTag(body);
  const unchanged = { ...headers, ETag: tag, 'Cache-Control': 'no-cache' };
  return ({ request }) =>
    isCurrent(request.headers, tag)
      ? { status: 304, headers: unchanged }
      : { status: 200, headers: unchanged, contentType, body };
}

/**
 * The index at the base path: the paths of the named pages and of the health, `{"docs":"/docs","health":"/healthz"}`. A
 * browser is led to the first named page that is HTML, if there is one.
 */
export function indexReply(basePath: string, pages: readonly Page[]): ReadReply {
  const named = pages.filter(({ name }) => name !== undefined);
  const places = [
    ...named.map(({ name, path }) => [name, basePath + path]),
    ['health', basePath + HEALTH_PATH],
  ];
  const index = pageReply({
    contentType: 'application/json',
    body: Buffer.from(JSON.stringify(Object.fromEntries(places))),
    headers: BY_ACCEPT,
  });
  const forPeople = named.find(({ contentType }) => contentType.startsWith('text/html'));
  if (forPeople === undefined) return index;
  const headers = { ...BY_ACCEPT, Location: basePath + forPeople.path, 'Cache-Control': 'no-cache' };
  return (exchange) => (prefersHtml(exchange.request) ? { status: 302, headers } : index(exchange));
}

/** A client that accepts anything, as curl does, gets JSON. */
function prefersHtml(request: IncomingMessage): boolean {
  return express.request.accepts.call(request, 'json', 'html') === 'html';
}

const ALLOW = { Allow: 'GET, HEAD, OPTIONS' };

/**
 * Answers a request for a read-only resource.
 *
 * @throws Failure `METHOD_NOT_ALLOWED`
 */
export function readOnly(exchange: Exchange, read: ReadReply): HttpReply | Promise<HttpReply> {
  const { verb } = exchange;
  if (verb === 'OPTIONS') return { status: 204, headers: ALLOW };
  if (verb === 'GET' || verb === 'HEAD') return read(exchange);
  throw methodNotAllowed(ALLOW);
}
