import { type RouteClient, RouteClientError } from '@route-registry/client';
import { vi } from 'vitest';

export const client = {
  createRoute: vi.fn<RouteClient['createRoute']>(),
  createRouteOnce: vi.fn<RouteClient['createRouteOnce']>(),
  checkRoute: vi.fn<RouteClient['checkRoute']>(),
  getRoute: vi.fn<RouteClient['getRoute']>(),
  close: vi.fn<RouteClient['close']>(),
};

client.getRoute.mockRejectedValue(
  new RouteClientError({ code: 'NOT_FOUND', message: 'No such route.', reason: 'ROUTE_NOT_FOUND' }),
);
