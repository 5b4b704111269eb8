import { type handleUnaryCall, Server, status } from '@grpc/grpc-js';
import createKnex from 'knex';
import { parse, v7, validate } from 'uuid';
import {
  type Route,
  type RouteServiceServer,
  RouteServiceService,
} from '../../src/gen/routing/v1/route_service.js';
import { announceGrpc } from '../bare/announce.js';
import { type Caller, callerOf, may } from './caller.js';

/** The gRPC server as in a tutorial: a grpc-js handler for each method, and Knex with one query per call. */
const knex = createKnex({
  client: 'mysql2',
  connection: process.env['DATABASE_URL'] ?? '',
  pool: { min: 0, max: 10 },
});

/** The columns of a stored route that are read. */
interface Row {
  readonly method: string;
  readonly path: string;
  /** A JSON array. */
  readonly middleware: string;
  readonly handler: string;
  readonly created_at_ms: number;
}

/** A failure whose code and message are sent to the caller. */
class Refusal extends Error {
  constructor(
    readonly code: status,
    message: string,
  ) {
    super(message);
  }
}

/** The two methods of a tutorial, whatever else the contract has. */
const routes: Pick<RouteServiceServer, 'getRoute' | 'createRoute'> = {
  getRoute: method('routes:read', async ({ routeId }) => {
    const id = validate(routeId) ? Buffer.from(parse(routeId)) : null;
    const row = await knex('routes').where('id', id).first<Row | undefined>();
    if (row === undefined) throw new Refusal(status.NOT_FOUND, 'no such route');
    return {
      id: routeId,
      method: row.method,
      path: row.path,
      middleware: JSON.parse(row.middleware) as string[],
      handler: row.handler,
      createdAt: new Date(row.created_at_ms),
    };
  }),

  createRoute: method('routes:write', async ({ route }, caller) => {
    if (route === undefined || route.method === '' || !route.path.startsWith('/') || route.handler === '') {
      throw new Refusal(status.INVALID_ARGUMENT, 'method, path and handler are required');
    }
    const stored = { ...route, id: v7(), createdAt: new Date() };
    await knex('routes').insert({
      id: Buffer.from(parse(stored.id)),
      method: stored.method,
      path: stored.path,
      middleware: JSON.stringify(stored.middleware),
      handler: stored.handler,
      created_at_ms: stored.createdAt.getTime(),
      caller: caller.sub,
    });
    return stored;
  }),
};

function method<Request>(
  scope: string,
  answer: (request: Request, caller: Caller) => Promise<Route>,
): handleUnaryCall<Request, Route> {
  const answerAllowed = async (header: string | undefined, request: Request): Promise<Route> => {
    const caller = authenticate(header);
    if (!may(caller, scope)) throw new Refusal(status.PERMISSION_DENIED, `the scope ${scope} is required`);
    return answer(request, caller);
  };
  return ({ metadata, request }, done) => {
    answerAllowed(metadata.get('authorization')[0]?.toString(), request).then(
      (route) => {
        done(null, route);
      },
      (error: unknown) => {
        done(error instanceof Refusal ? error : { code: status.INTERNAL, message: 'internal error' });
      },
    );
  };
}

function authenticate(header: string | undefined): Caller {
  try {
    return callerOf(header);
  } catch {
    throw new Refusal(status.UNAUTHENTICATED, 'a valid bearer token is required');
  }
}

const server = new Server();
server.addService(RouteServiceService, routes);
announceGrpc(server);
