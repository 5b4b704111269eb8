import { isDeepStrictEqual } from 'node:util';
import { credentials, Metadata, status } from '@grpc/grpc-js';
import { RouteServiceClient } from '../src/gen/routing/v1/route_service.js';
import { create, get, metadataOf, tokenFor } from '../test/support/service.js';
import { draftOf, idOf, routeOf } from './stored-routes.js';
import type { Target } from './testbed.js';

/** The number of the route that the checks create: above those of stored routes, below those of the load generator. */
const NEW = 1e12;

/**
 * Checks that a server returns a stored route, creates a route and returns it, and rejects callers without a token.
 *
 * @throws Error when it does not
 */
export async function checkAnswers(name: string, target: Target | undefined): Promise<void> {
  if (target === undefined) return;
  const answers = [
    ...(target.grpc === undefined ? [] : [await overGrpc(target.grpc)]),
    ...(target.http === undefined ? [] : [await overHttp(`http://${target.http}/v1/routing`)]),
  ];
  for (const { stored, created, refused } of answers) {
    const { id, createdAtMs, ...definition } = created;
    const same = isDeepStrictEqual(stored, plain(routeOf(0))) && isDeepStrictEqual(definition, draftOf(NEW));
    if (!same || id === undefined || Number.isNaN(createdAtMs) || !refused) {
      throw new Error(
        `${name} does not respond as expected: ${JSON.stringify({ stored, created, refused })}`,
      );
    }
  }
}

interface Answers {
  readonly stored: Plain;
  /** The created route, as read back. */
  readonly created: Plain;
  readonly refused: boolean;
}

/** The fields of a route, with the time of its creation in milliseconds. */
type Plain = Readonly<Record<string, unknown>>;

function plain(route: object | undefined): Plain {
  const { createdAt, ...rest } = (route ?? {}) as Record<string, unknown>;
  return { ...rest, createdAtMs: new Date(createdAt as Date | string).getTime() };
}

async function overGrpc(address: string): Promise<Answers> {
  const client = new RouteServiceClient(address, credentials.createInsecure());
  const metadata = metadataOf(tokenFor());
  const route = { id: '', ...draftOf(NEW), createdAt: undefined };
  const created = await create(client, { route, requestId: '', validateOnly: false }, metadata);
  const read = await get(client, created.route?.id ?? '', metadata);
  const stored = await get(client, idOf(0), metadata);
  const { error } = await get(client, idOf(0), new Metadata());
  client.close();
  return {
    stored: plain(stored.route),
    created: plain(read.route),
    refused: error?.code === status.UNAUTHENTICATED,
  };
}

async function overHttp(collection: string): Promise<Answers> {
  const headers = { authorization: `Bearer ${tokenFor()}`, 'content-type': 'application/json' };
  const read = async (url: string): Promise<object> => {
    const response = await fetch(url, { headers });
    return (await response.json()) as object;
  };
  const response = await fetch(collection, { method: 'POST', headers, body: JSON.stringify(draftOf(NEW)) });
  const created = (await response.json()) as { id?: string };
  const refusal = await fetch(`${collection}/${idOf(0)}`);
  return {
    stored: plain(await read(`${collection}/${idOf(0)}`)),
    created: plain(await read(`${collection}/${created.id ?? ''}`)),
    refused: refusal.status === 401,
  };
}
