import fc, { type Arbitrary } from 'fast-check';
import { type Field, firstBlock } from '../../bench/load/hpack.js';
import { framed } from '../../test/support/http2-call.js';
import {
  DATA,
  END_HEADERS,
  END_STREAM,
  type Frame,
  grpcHead,
  HEADER_TABLE_SIZE,
  HEADERS,
  INITIAL_WINDOW_SIZE,
  SETTINGS,
  settings,
} from '../../test/support/http2-frames.js';
import { CREATE } from '../grpc/grpc-case.js';
import { createMessage, getMessage } from '../grpc/wire-messages.js';
import { FORBIDDEN } from '../ledger.js';
import { validDraft } from '../values/callers.js';
import { percent } from '../values/draws.js';
import type { World } from '../world.js';

/** A complete call. */
export interface Call {
  /** Whether it may create a route. */
  readonly creates: boolean;
  readonly headers: Frame;
  readonly data: Frame;
}

/** The calls of a connection. */
interface CallsOptions {
  readonly paths: readonly string[];
  /** The percentage of calls with a valid token. */
  readonly good: number;
  /** The minimum and the maximum number of calls. */
  readonly count: readonly [min: number, max: number];
  /** The stream of the first call; default: 1. */
  readonly first?: number;
}

/** The first SETTINGS frame. Without a dynamic table, each header block of the service can be decoded by itself. */
export function opening(windowBytes = 65_535): Frame {
  const payload = settings({ [HEADER_TABLE_SIZE]: 0, [INITIAL_WINDOW_SIZE]: windowBytes });
  return { type: SETTINGS, flags: 0, stream: 0, payload };
}

/** The header block of a call (RFC 7541). */
export function headerBlock(path: string, good: boolean, world: World): Buffer {
  const authorization: Field[] = good ? [['authorization', `Bearer ${world.token}`]] : [];
  return firstBlock([...grpcHead(path, world.grpc), ...authorization]);
}

/** Complete calls on one connection, each on the next stream. */
export function callsOf({ paths, good, count, first = 1 }: CallsOptions, world: World): Arbitrary<Call[]> {
  const call = fc.record({
    path: fc.constantFrom(...paths),
    isGood: percent(good),
    draft: validDraft,
    id: fc.constantFrom(...world.routes.map((route) => route.id)),
  });
  const [minLength, maxLength] = count;
  return fc.array(call, { minLength, maxLength, size: 'max' }).map((calls) =>
    calls.map(({ path, isGood, draft, id }, i) => {
      const stream = first + 2 * i;
      const route = isGood ? draft : { ...draft, handler: FORBIDDEN };
      const message = path === CREATE ? createMessage(route) : getMessage(id);
      return {
        creates: isGood && path === CREATE,
        headers: { type: HEADERS, flags: END_HEADERS, stream, payload: headerBlock(path, isGood, world) },
        data: { type: DATA, flags: END_STREAM, stream, payload: framed(message) },
      };
    }),
  );
}
