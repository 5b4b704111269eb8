import { Metadata } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import {
  GetRouteRequest,
  Route,
  type Route as RouteMessage,
  RouteServiceDefinition,
} from '../../src/gen/routing/v1/route_service.js';
import type { HandlerContext } from '../../src/calls/call.js';
import { MessageCache } from '../../src/calls/message-cache.js';
import { implement } from '../../src/calls/service.js';

/** The service with one method, whatever others it has. */
const SERVICE = {
  ...RouteServiceDefinition,
  methods: { getRoute: RouteServiceDefinition.methods.getRoute },
};

const ROUTES: Readonly<Record<string, RouteMessage>> = {
  long: route({ id: 'long', path: `/${'a'.repeat(2_000)}`, createdAt: new Date(1_700_000_000_123) }),
  short: route({ id: 'short', path: '/' }),
  '\ufefflong': route({ id: 'long, after a byte order mark' }),
  timeless: route({ middleware: ['half-written'], createdAt: new Date(Number.NaN) }),
};

function route(fields: Partial<RouteMessage>): RouteMessage {
  return { id: '', method: 'GET', path: '', middleware: [], handler: 'h', createdAt: undefined, ...fields };
}

/** The context of a call without a caller. */
const CONTEXT: HandlerContext = {
  metadata: new Metadata(),
  caller: undefined,
  trailers: new Metadata(),
  signal: { aborted: false },
};

/** The decoded response to a request for one of `ROUTES`. */
async function answerFor(id: string): Promise<RouteMessage> {
  const request = getRoute?.decode(GetRouteRequest.encode({ routeId: id }).finish());
  const answer = await getRoute?.handle(request, CONTEXT);
  return Route.decode(answer ?? new Uint8Array());
}

const [getRoute] = implement(SERVICE, {
  getRoute: { access: 'public', handle: ({ routeId }) => Promise.resolve(ROUTES[routeId] ?? route({})) },
});

describe('the requests of a service', () => {
  it('keep a byte order mark at the beginning of a string', async () => {
    await expect(answerFor('\ufefflong')).resolves.toEqual(ROUTES['\ufefflong']);
  });
});

describe('the responses of a service', () => {
  it('are independent of earlier ones', async () => {
    const answers = await Promise.all(['long', 'short', 'long'].map(answerFor));
    expect(answers).toEqual([ROUTES['long'], ROUTES['short'], ROUTES['long']]);
  });

  it('contain nothing of an earlier one that could not be encoded', async () => {
    await expect(answerFor('timeless')).rejects.toThrow(RangeError);
    await expect(answerFor('short')).resolves.toEqual(ROUTES['short']);
  });
});

/** A GetRoute that caches its responses and records the ids it ran for. */
function cachingMethod(maxBytes: number) {
  const ran: string[] = [];
  const [method] = implement(SERVICE, {
    getRoute: {
      access: 'public',
      handle: ({ routeId }) => {
        ran.push(routeId);
        if (routeId === 'none') return Promise.reject(new Error('not there'));
        return Promise.resolve(route({ id: routeId }));
      },
      caching: { cache: new MessageCache(maxBytes), keyOf: ({ routeId }) => routeId },
    },
  });
  const run = (message: Uint8Array) => {
    const request = method?.decode(message);
    return method?.cachedResponse?.(request) ?? method?.handle(request, CONTEXT) ?? new Uint8Array();
  };
  return {
    ran,
    run,
    get: async (id: string) => Route.decode(await run(GetRouteRequest.encode({ routeId: id }).finish())).id,
  };
}

describe('a method that caches its responses', () => {
  it('runs once for equal requests, and answers the repeats synchronously', async () => {
    const { ran, run, get } = cachingMethod(10_000);
    await expect(get('a')).resolves.toBe('a');
    expect(run(GetRouteRequest.encode({ routeId: 'a' }).finish())).toBeInstanceOf(Uint8Array);
    await expect(get('b')).resolves.toBe('b');
    await expect(get('a')).resolves.toBe('a');
    expect(ran).toEqual(['a', 'b']);
  });

  it('does not run again for requests padded with unknown fields', async () => {
    const { ran, run, get } = cachingMethod(10_000);
    await get('a');
    const request = GetRouteRequest.encode({ routeId: 'a' }).finish();
    // Field 15, a varint.
    for (let i = 0; i < 100; i++) await run(Buffer.concat([request, Buffer.from([0x78, i])]));
    expect(ran).toEqual(['a']);
  });

  it('runs again after a failure', async () => {
    const { ran, get } = cachingMethod(10_000);
    await expect(get('none')).rejects.toThrow('not there');
    await expect(get('none')).rejects.toThrow('not there');
    expect(ran).toHaveLength(2);
  });

  it('runs each time if the cache has no bytes', async () => {
    const { ran, get } = cachingMethod(0);
    await get('a');
    await get('a');
    expect(ran).toEqual(['a', 'a']);
  });
});
