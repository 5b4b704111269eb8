/** The routes of the shop, and what their handler names stand for. */
import type { RouteDefinition } from '@route-registry/client';

export type Parameters = Readonly<Record<string, unknown>>;
export type Handler = (parameters: Parameters) => unknown;

const COLLECTIONS = [
  ...[
    'addresses',
    'brands',
    'campaigns',
    'carts',
    'categories',
    'coupons',
    'customers',
    'invoices',
    'orders',
  ],
  ...['parcels', 'payments', 'prices', 'products', 'refunds', 'returns', 'reviews', 'suppliers', 'taxes'],
  ...['vouchers', 'wishlists'],
];

/** A hundred routes, written so that Express and Fastify mount them alike. */
export const ROUTES: readonly RouteDefinition[] = COLLECTIONS.flatMap((name) => [
  { method: 'GET', path: `/${name}`, handler: `${name}.list` },
  { method: 'POST', path: `/${name}`, middleware: ['authenticate'], handler: `${name}.create` },
  { method: 'GET', path: `/${name}/:id`, handler: `${name}.get` },
  { method: 'PUT', path: `/${name}/:id`, middleware: ['authenticate'], handler: `${name}.replace` },
  { method: 'DELETE', path: `/${name}/:id`, middleware: ['authenticate'], handler: `${name}.remove` },
]);

/** The handlers by name. These only say what they were called with. */
export const HANDLERS: Readonly<Record<string, Handler>> = Object.fromEntries(
  ROUTES.map(({ handler }) => [handler, (parameters) => ({ handler, ...parameters })]),
);

/** @throws Error when there is no such name, so that a server does not start without something that a route needs */
export function entryNamed<Value>(table: Readonly<Record<string, Value>>, name: string): Value {
  const value = table[name];
  if (value === undefined) throw new Error(`A route needs ${name}, which this program does not have.`);
  return value;
}
