import type { IncomingMessage } from 'node:http';
import { type Page, pageReply, type ReadReply } from '@route-registry/transcoder/page';
import express from 'express';
import { HEALTH_PATH } from './healthz.js';

/** The response at the base path depends on what the client accepts. */
const BY_ACCEPT = { Vary: 'Accept' };

/**
 * The index at the base path: the paths of the named pages and of the health check,
 * `{"docs":"/docs","health":"/healthz"}`. A browser is redirected to the first named HTML page, if there is one.
 */
export function indexReply(basePath: string, pages: readonly Page[]): ReadReply {
  const named = pages.filter(({ name }) => name !== undefined);
  const places = [
    ...named.map(({ name, path }) => [name, basePath + path]),
    ['health', basePath + HEALTH_PATH],
  ];
  const index = pageReply({
    path: '',
    contentType: 'application/json',
    body: () => Buffer.from(JSON.stringify(Object.fromEntries(places))),
    headers: BY_ACCEPT,
  });
  const forPeople = named.find(({ contentType }) => contentType.startsWith('text/html'));
  if (forPeople === undefined) return index;
  // Relative, since a proxy may serve the base path under a prefix of its own.
  const last = basePath.slice(basePath.lastIndexOf('/') + 1);
  const place = (last + forPeople.path).replace(/^\//, '');
  const headers = { ...BY_ACCEPT, Location: place, 'Cache-Control': 'no-cache' };
  return (exchange) => (prefersHtml(exchange.request) ? { status: 302, headers } : index(exchange));
}

/** A client that accepts anything, as curl does, gets JSON. */
function prefersHtml(request: IncomingMessage): boolean {
  return express.request.accepts.call(request, 'json', 'html') === 'html';
}
