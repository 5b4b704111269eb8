import { type Client, connectivityState, Metadata, type ServiceError, status } from '@grpc/grpc-js';
import type { CallLimits, Ending } from './call-limits.js';
import { type Cancellable, Resets } from './resets.js';
import { RouteClientError } from './route-client-error.js';

/** The most calls under way: most servers and proxies allow a connection 100 streams or more. */
const MAX_UNDER_WAY = 100;
/** The most calls that wait until others end. */
const MAX_WAITING = 5_000;
/** How long after its deadline a call may go on before it is cancelled, in milliseconds: servers end it themselves. */
const GRACE_MS = 1_000;

/** A request, encoded. */
export interface Request {
  /** `/package.Service/Method`. */
  readonly path: string;
  readonly message: Buffer;
  readonly metadata: Readonly<Record<string, string>>;
}

/** The reply of a server, or the error of grpc-js. */
export type Reply =
  { readonly message: Buffer; readonly trailers: Metadata } | { readonly error: ServiceError };

/**
 * A channel of grpc-js, with one connection to each address of its target. It keeps the trouble of one call from the
 * others: a server ends a connection on which too many streams are opened or reset at once. So calls beyond those
 * that servers allow wait here, and few are reset.
 */
export class Connection {
  readonly #channel: Client;
  readonly #resets = new Resets();
  /** What starts each waiting call. */
  readonly #waiting = new Set<() => void>();
  #underWay = 0;

  constructor(channel: Client) {
    this.#channel = channel;
  }

  /**
   * Sends a request as soon as there is room for it.
   *
   * @throws RouteClientError when the call ends before its reply, or too many others wait
   */
  async unary(request: Request, limits: CallLimits): Promise<Reply> {
    if (this.#underWay >= MAX_UNDER_WAY && this.#waiting.size >= MAX_WAITING) {
      const message = `${MAX_WAITING} calls wait in the client.`;
      throw new RouteClientError({ code: status.RESOURCE_EXHAUSTED, message, ...limits.ids });
    }
    return await limits.wait<Reply>((done) => {
      let stop: ((ending: Ending) => void) | undefined;
      const start = (): void => {
        limits.waitingFor = 'the reply';
        stop = this.#send(request, limits.deadline, done);
      };
      if (this.#underWay < MAX_UNDER_WAY) start();
      else {
        limits.waitingFor = `one of ${MAX_UNDER_WAY} calls under way to end`;
        this.#waiting.add(start);
      }
      return (ending) => {
        this.#waiting.delete(start);
        stop?.(ending);
      };
    });
  }

  /** Closes the channel. Calls under way finish. */
  close(): void {
    this.#channel.close();
  }

  /** @returns what ends the call: at its deadline, the server does it, and is reminded if it does not */
  #send(request: Request, deadline: number, done: (reply: Reply) => void): (ending: Ending) => void {
    this.#underWay += 1;
    let reminder: NodeJS.Timeout | undefined;
    let message: Buffer | undefined;
    let failure: ServiceError | null = null;
    const call = this.#channel.makeUnaryRequest(
      request.path,
      same,
      same,
      request.message,
      metadataOf(request, deadline),
      (error, value) => {
        failure = error;
        message = value;
      },
    );
    // The status comes after the message or the error, and carries the trailers.
    call.on('status', ({ metadata: trailers }) => {
      clearTimeout(reminder);
      this.#ended(call);
      done(message === undefined ? { error: failure as unknown as ServiceError } : { message, trailers });
    });
    return (ending) => {
      // What still waits for a connection must not be sent any more.
      if (ending === 'deadline' && this.#connected) {
        reminder = setTimeout(() => {
          this.#cancel(call);
        }, GRACE_MS).unref();
      } else this.#cancel(call);
    };
  }

  #cancel(call: Cancellable): void {
    // Without a connection, nothing is reset.
    if (this.#connected) this.#resets.cancel(call);
    else call.cancel();
  }

  get #connected(): boolean {
    return this.#channel.getChannel().getConnectivityState(false) === connectivityState.READY;
  }

  #ended(call: Cancellable): void {
    this.#resets.ended(call);
    this.#underWay -= 1;
    const [next] = this.#waiting;
    if (next === undefined) return;
    this.#waiting.delete(next);
    next();
  }
}

/**
 * The deadline goes to the server only: grpc-js would reset the stream when it passes.
 */
function metadataOf({ metadata: entries }: Request, deadline: number): Metadata {
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(entries)) metadata.set(key, value);
  metadata.set('grpc-timeout', timeoutUntil(deadline));
  return metadata;
}

/** The time until a deadline, as gRPC sends it: at most eight digits, which are enough for a day. */
function timeoutUntil(deadline: number): string {
  return `${Math.min(Math.max(1, deadline - Date.now()), 99_999_999)}m`;
}

function same(bytes: Buffer): Buffer {
  return bytes;
}
