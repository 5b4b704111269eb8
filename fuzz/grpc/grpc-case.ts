import { status } from '@grpc/grpc-js';
import { escaped, type FuzzCase, type World } from '../world.js';
import { grpcFailure, grpcProblems, reasonOf } from './grpc-problems.js';
import type { GrpcAnswer, GrpcHeaders } from './grpc-sessions.js';

/** A call as it is sent. */
export interface GrpcCall {
  readonly path: string;
  readonly headers: GrpcHeaders;
  readonly body: Buffer;
  /** Whether the client says that its request is complete. */
  readonly ends: boolean;
}

export const CREATE = '/routing.v1.RouteService/CreateRoute';
export const GET = '/routing.v1.RouteService/GetRoute';

/** A case that makes one call. */
export function grpcCase(
  call: GrpcCall,
  world: World,
  further: (answer: GrpcAnswer) => Promise<string[]> = () => Promise.resolve([]),
): FuzzCase {
  const { path, headers, body, ends } = call;
  return {
    shown: () => `${path} ${JSON.stringify(headers)} ${escaped(body)}${ends ? '' : ' and no end'}`,
    async send() {
      const answer = await world.sessions.call(path, headers, body, ends);
      const problems = grpcProblems(answer, sentBy(call, world), world.ledger);
      return { answers: [labelOf(answer)], problems: [...problems, ...(await further(answer))] };
    },
  };
}

function sentBy({ path, headers }: GrpcCall, { token }: World) {
  return {
    path,
    hasToken: String(headers['authorization']).includes(token),
    hasTimeout: 'grpc-timeout' in headers,
    creates: path === CREATE,
  };
}

function labelOf(answer: GrpcAnswer): string {
  const { code, httpStatus, resetCode } = answer;
  if (code === undefined) return httpStatus === undefined ? `reset ${resetCode}` : `HTTP ${httpStatus}`;
  const reason = reasonOf(grpcFailure(answer));
  return `${status[code] ?? code}${reason === undefined ? '' : ` ${reason}`}`;
}
