import { type sendUnaryData, Server, type ServerUnaryCall } from '@grpc/grpc-js';
import { Route } from '../../src/gen/routing/v1/route_service.js';
import { routeOf } from '../stored-routes.js';
import { announceGrpc } from './announce.js';
import { ECHO_METHOD } from './echo-method.js';

const route = Buffer.from(Route.encode(routeOf(0)).finish());

/** A grpc-js server that returns the bytes of each message, and the same route to each `GetRoute`, and does nothing else. */
const server = new Server({ 'grpc.enable_channelz': 0 });
server.addService(
  { echo: ECHO_METHOD, getRoute: { ...ECHO_METHOD, path: '/routing.v1.RouteService/GetRoute' } },
  {
    echo(call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) {
      answer(null, call.request);
    },
    getRoute(_call: ServerUnaryCall<Buffer, Buffer>, answer: sendUnaryData<Buffer>) {
      answer(null, route);
    },
  },
);
announceGrpc(server);
