import { status } from '@grpc/grpc-js';
import type { Guard, UnaryReply, Upstream } from '@route-registry/transcoder';
import { AUTHORIZATION, AUTH_ONLY } from '../calls/call.js';

const OK: number = status.OK;
const ABORTED: number = status.ABORTED;
const NO_MESSAGE = new Uint8Array();
/** How long an admission is shared, in milliseconds. */
const ADMITTED_MS = 1_000;
/** The maximum number of cached admissions: with the largest tokens, 8 MiB. */
const ADMISSIONS = 1_000;

/**
 * Asks the guard of the gRPC server with an auth-only call, which runs no method. Over a channel, this costs nearly as
 * much as the call itself; in one process, a twentieth of a create. So requests with the same credential for the same
 * method share an admission for a second. The guard checks the call itself again in any case.
 *
 * @param admittedMs how long an admission is shared, in milliseconds; default: 1,000
 */
export function guardOf(upstream: Upstream, admittedMs = ADMITTED_MS): Guard {
  const admissions = new Map<string, UnaryReply>();
  return (call) => {
    const { path, metadata } = call;
    const key = `${path} ${metadata.get(AUTHORIZATION) ?? ''}`;
    const admission = admissions.get(key);
    if (admission !== undefined) return admission;

    const judge = (reply: UnaryReply): UnaryReply => {
      const verdict = verdictOf(reply);
      if (verdict.code === OK && admissions.size < ADMISSIONS) {
        admissions.set(key, verdict);
        setTimeout(() => admissions.delete(key), admittedMs).unref();
      }
      return verdict;
    };

    const question = { ...call, message: NO_MESSAGE, metadata: new Map(metadata).set(AUTH_ONLY, '1') };
    const reply = upstream.unary(question);
    return reply instanceof Promise ? reply.then(judge) : judge(reply);
  };
}

/** `OK` for a call that the guard admits: with `GUARD_PASSED` it ends `ABORTED`, as for no other reason. */
function verdictOf(reply: UnaryReply): UnaryReply {
  return reply.answered && reply.code === ABORTED ? { ...reply, code: OK } : reply;
}
