import type { Connection } from './connection.js';
import { StreamShare } from './stream-share.js';

/** The limits of all connections may add up to this many times `mostStreamsOfAll`, since few are busy at once. */
const OVERBOOKING_FACTOR = 3;

export interface StreamLimitsOptions {
  /** The most streams that a client may have open on one connection. */
  readonly maxStreams: number;
  /** The streams that all busy connections share, so that calls wait at their clients rather than here. */
  readonly mostStreamsOfBusy: number;
  /** The most streams that may be open at once on all connections together; further ones are refused. */
  readonly mostStreamsOfAll: number;
}

/** The connections as an update finds them. All others are idle. */
interface ConnectionsByLoad {
  readonly busy: ReadonlySet<Connection>;
  readonly quiet: ReadonlySet<Connection>;
  /** How many calls of the quiet connections are at work. */
  readonly quietCallsAtWork: number;
}

/**
 * Announces to each client how many streams it may have open on its connection (SETTINGS_MAX_CONCURRENT_STREAMS; RFC 9113,
 * section 6.5.2). The limit depends on the load of its connection:
 *
 * - Busy: more than a few unary calls (`FEW_CALLS` in `connection.ts`), or as many as the limit, are at work at once, or
 *   were a moment ago. A call is at work unless it waits for its client.
 * - Quiet: some unary call has been at work since the last update, but the connection is not busy. So is a connection to
 *   which no update has announced a limit yet.
 * - Idle: no unary call has been at work since the last update. Such a connection keeps its limit, unless that has become
 *   too large.
 */
export class StreamLimits {
  readonly #open: ReadonlySet<Connection>;
  readonly #maxStreams: number;
  readonly #share: StreamShare;
  /**
   * The connections that the next update samples. One with no call at work since the last update leaves the set, and comes
   * back with its next call. Until then it counts as idle, even if a call that waited for its client goes on.
   */
  readonly #withCalls = new Set<Connection>();
  /** Connections that have the limit that they began with, since no update has announced another to them. */
  readonly #arrived = new Set<Connection>();
  /** How many connections were busy at the last update. */
  #busyCount = 0;

  /** @param open all open connections, at any time */
  constructor(open: ReadonlySet<Connection>, options: StreamLimitsOptions) {
    this.#open = open;
    this.#maxStreams = options.maxStreams;
    this.#share = new StreamShare(options.maxStreams, {
      busy: options.mostStreamsOfBusy,
      open: OVERBOOKING_FACTOR * options.mostStreamsOfAll,
    });
  }

  /** Adds a new connection. @returns the limit that it begins with */
  add(connection: Connection): number {
    this.#arrived.add(connection);
    // Counted as busy: many connections that arrive at once may all become busy before the next update.
    return this.#share.forNew(this.#busyCount + this.#arrived.size, this.#open.size);
  }

  /** Must be called when a unary call begins on a connection. */
  noteCall(connection: Connection): void {
    this.#withCalls.add(connection);
  }

  remove(connection: Connection): void {
    this.#withCalls.delete(connection);
    this.#arrived.delete(connection);
  }

  /** Announces to all clients the limits that follow from the load since the last update. Must be called regularly. */
  update(now: number): void {
    const { busy, quiet, quietCallsAtWork } = this.#byLoad(now);
    this.#busyCount = busy.size;
    const limitOfBusy = this.#share.forBusy(busy.size, quietCallsAtWork);
    const limitOfOthers = this.#share.forNotBusy(this.#open.size);

    for (const connection of busy) this.#announce(connection, limitOfBusy);
    for (const connection of quiet) this.#announce(connection, Math.min(limitOfBusy, limitOfOthers));
    this.#lowerAllBut(busy, limitOfOthers);
  }

  /** Lowers to `most` all limits above it but those of busy connections. Quiet ones have been told theirs already. */
  #lowerAllBut(busy: ReadonlySet<Connection>, most: number): void {
    // No connection was ever announced more than `maxStreams`, so none can be above this limit.
    if (most >= this.#maxStreams) return;
    for (const connection of this.#open)
      if (!busy.has(connection)) connection.lowerMaxConcurrentStreams(most);
  }

  /** Samples the calls of each connection, and tells the busy connections from the quiet ones. */
  #byLoad(now: number): ConnectionsByLoad {
    const busy = new Set<Connection>();
    const quiet = new Set<Connection>();
    let quietCallsAtWork = 0;
    for (const connection of this.#withCalls) {
      const calls = connection.sampleCalls(now);
      const isIdle = calls === undefined;
      if (isIdle) this.#withCalls.delete(connection);
      else if (calls.busy) busy.add(connection);
      else {
        quiet.add(connection);
        quietCallsAtWork += calls.atWork;
      }
    }

    // A new connection may be busy already.
    for (const connection of this.#arrived) if (!busy.has(connection)) quiet.add(connection);
    return { busy, quiet, quietCallsAtWork };
  }

  #announce(connection: Connection, limit: number): void {
    // The client cannot be told while it has yet to acknowledge the last limit; the next update tries again.
    const isTold = connection.setMaxConcurrentStreams(limit);
    if (isTold) this.#arrived.delete(connection);
  }
}
