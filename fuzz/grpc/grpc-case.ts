import { status } from '@grpc/grpc-js';
import { escaped, type FuzzCase, type World } from '../world.js';
import { grpcFailure, grpcProblems, reasonOf } from './grpc-problems.js';
import type { GrpcAnswer, GrpcCall } from './grpc-sessions.js';

export const CREATE = '/routing.v1.RouteService/CreateRoute';
export const GET = '/routing.v1.RouteService/GetRoute';

/** A case that makes one call. */
export function grpcCase(call: GrpcCall, world: World): FuzzCase {
  const { path, headers, body, ends } = call;
  return {
    shown: () => `${path} ${JSON.stringify(headers)} ${escaped(body)}${ends ? '' : ' and no end'}`,
    async send(signal) {
      const answer = await world.sessions.call(call, signal);
      const problems = grpcProblems(answer, sentBy(call, world), world.ledger);
      return { answers: [labelOf(answer)], problems };
    },
  };
}

function sentBy({ path, headers, ends }: GrpcCall, { token }: World) {
  return {
    path,
    hasToken: String(headers['authorization']).includes(token),
    mayBeLate: 'grpc-timeout' in headers || !ends,
    creates: path === CREATE,
  };
}

function labelOf(answer: GrpcAnswer): string {
  const { code, httpStatus, resetCode } = answer;
  if (code === undefined) return httpStatus === undefined ? `reset ${resetCode}` : `HTTP ${httpStatus}`;
  const reason = reasonOf(grpcFailure(answer));
  return `${status[code] ?? code}${reason === undefined ? '' : ` ${reason}`}`;
}
