import { Metadata } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import {
  GetRouteRequest,
  Route,
  type Route as RouteMessage,
  RouteServiceDefinition,
} from '../../src/gen/routing/v1/route_service.js';
import { implement } from '../../src/grpc/implement-service.js';

const ROUTES: Readonly<Record<string, RouteMessage>> = {
  long: route({ id: 'long', path: `/${'a'.repeat(2_000)}`, createdAt: new Date(1_700_000_000_123) }),
  short: route({ id: 'short', path: '/' }),
  timeless: route({ middleware: ['half-written'], createdAt: new Date(Number.NaN) }),
};

function route(given: Partial<RouteMessage>): RouteMessage {
  return { id: '', method: 'GET', path: '', middleware: [], handler: 'h', createdAt: undefined, ...given };
}

/** The answer, decoded, to who asks for one of `ROUTES`. */
async function answerFor(id: string): Promise<RouteMessage> {
  const answer = await getRoute?.run(GetRouteRequest.encode({ routeId: id }).finish(), {
    metadata: new Metadata(),
    caller: undefined,
  });
  return Route.decode(answer ?? new Uint8Array());
}

const getRoute = implement(RouteServiceDefinition, {
  createRoute: { access: 'public', handle: () => Promise.resolve(route({})) },
  getRoute: { access: 'public', handle: ({ routeId }) => Promise.resolve(ROUTES[routeId] ?? route({})) },
}).find(({ path }) => path === '/routing.v1.RouteService/GetRoute');

describe('the answers of a service', () => {
  it('are each their own, whatever was written before', async () => {
    const answers = await Promise.all(['long', 'short', 'long'].map(answerFor));
    expect(answers).toEqual([ROUTES['long'], ROUTES['short'], ROUTES['long']]);
  });

  it('have nothing of one that could not be written', async () => {
    await expect(answerFor('timeless')).rejects.toThrow(RangeError);
    await expect(answerFor('short')).resolves.toEqual(ROUTES['short']);
  });
});
