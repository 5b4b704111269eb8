import { status } from '@grpc/grpc-js';
import type { Guard, UnaryReply, Upstream } from '@route-registry/transcoder';
import { AUTHORIZATION, GUARD_ONLY } from '../calls/call.js';

const OK: number = status.OK;
const ABORTED: number = status.ABORTED;
const NO_MESSAGE = new Uint8Array();
/** How long an admission is shared, in milliseconds. */
const ADMITTED_MS = 1_000;
/** The maximum number of cached admissions: with the largest tokens, 8 MiB. */
const ADMISSIONS = 1_000;

/** A guard-only call in progress. */
interface Question {
  /** In milliseconds since the epoch. */
  readonly deadline: number;
  readonly reply: Promise<UnaryReply>;
}

/**
 * Asks the guard of the gRPC server with a guard-only call, which runs no method. Over a channel, this costs nearly as
 * much as the call itself; in one process, a twentieth of a create. So requests with the same credential for the same
 * method share a guard-only call in progress, and its admission for a second. The guard checks the call itself again in
 * any case.
 *
 * @param admittedMs how long an admission is shared, in milliseconds; default: 1,000
 */
export function guardOf(upstream: Upstream, admittedMs = ADMITTED_MS): Guard {
  const underWay = new Map<string, Question>();
  const admissions = new Map<string, UnaryReply>();
  const share = (key: string, reply: UnaryReply): void => {
    if (reply.code !== OK || admissions.size >= ADMISSIONS) return;
    admissions.set(key, reply);
    setTimeout(() => admissions.delete(key), admittedMs).unref();
  };
  const ask = (call: Parameters<Guard>[0]): ReturnType<Guard> => {
    const reply = upstream.unary({
      ...call,
      message: NO_MESSAGE,
      metadata: new Map(call.metadata).set(GUARD_ONLY, '1'),
    });
    return reply instanceof Promise ? reply.then(verdictOf) : verdictOf(reply);
  };
  return (call) => {
    const { path, metadata, deadline } = call;
    const key = `${path} ${metadata.get(AUTHORIZATION) ?? ''}`;
    const admission = admissions.get(key);
    if (admission !== undefined) return admission;
    const earlier = underWay.get(key);
    if (earlier === undefined) {
      const answer = ask(call);
      if (!(answer instanceof Promise)) {
        share(key, answer);
        return answer;
      }
      const reply = answer.then((given) => {
        share(key, given);
        return given;
      });
      underWay.set(key, { deadline, reply });
      return reply.finally(() => underWay.delete(key));
    }
    // With its later deadline, the earlier call may reply too late for this one.
    if (earlier.deadline > deadline) return ask(call);
    return earlier.reply.then((reply) => (reply.code === OK ? reply : ask(call)));
  };
}

/** `OK` for a call that the guard admits: with `GUARD_PASSED` it ends `ABORTED`, as for no other reason. */
function verdictOf(reply: UnaryReply): UnaryReply {
  return reply.answered && reply.code === ABORTED ? { ...reply, code: OK } : reply;
}
