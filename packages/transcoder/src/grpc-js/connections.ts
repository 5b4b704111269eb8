import { type ChannelCredentials, type ChannelOptions, Client, connectivityState } from '@grpc/grpc-js';
import type { ReplyStream, UnaryCall, UnaryReply } from '../upstream.js';
import type { CallCounts } from './call-counts.js';
import { type CallHost, MessageStream, request } from './calls.js';
import { type Cancellable, Resets } from './resets.js';

/** The most calls in progress on one channel: most servers and proxies allow 100 or more streams. */
const CALLS_EACH = 64;
/** How long a channel besides the first stays connected without calls, in milliseconds. */
const IDLE_MS = 60_000;

/** Figures of all channels of an upstream. */
interface CallFigures {
  /** The calls that ran to their end although their client had left. */
  leftRunning: number;
  readonly underWay: CallCounts;
}

/**
 * The channels made with the same credentials. A call goes to the first channel that has room, and another is opened
 * when none has: calls that wait in the server then never keep others from being sent.
 */
export class Connections {
  readonly #open: (extra: ChannelOptions) => Channel;
  readonly #all: Channel[];

  constructor(
    target: string,
    credentials: ChannelCredentials,
    options: ChannelOptions,
    figures: CallFigures,
  ) {
    this.#open = (extra) =>
      // Channels with the same options would otherwise share their connections.
      new Channel(
        new Client(target, credentials, { ...options, ...extra, 'grpc.use_local_subchannel_pool': 1 }),
        figures,
      );
    this.#all = [this.#open({})];
  }

  /** A channel that has room for one more call. */
  withRoom(): Channel {
    const found = this.#all.find(({ calls }) => calls < CALLS_EACH);
    if (found !== undefined) return found;
    const opened = this.#open({ 'grpc.client_idle_timeout_ms': IDLE_MS });
    this.#all.push(opened);
    return opened;
  }

  /** Closes each channel after its last call, so that calls waiting for a connection also complete. */
  retire(): void {
    for (const channel of this.#all) channel.retire();
  }

  close(): void {
    for (const channel of this.#all) channel.close();
  }
}

/** A channel of grpc-js: one connection to each address of the target. */
class Channel implements CallHost {
  readonly client: Client;
  readonly #figures: CallFigures;
  readonly #resets = new Resets();
  /** The calls in progress. */
  calls = 0;
  #retired = false;

  constructor(client: Client, figures: CallFigures) {
    this.client = client;
    this.#figures = figures;
  }

  get connected(): boolean {
    return this.client.getChannel().getConnectivityState(false) === connectivityState.READY;
  }

  unary(call: UnaryCall): Promise<UnaryReply> {
    this.#begin(call);
    return request(this, call);
  }

  serverStream(call: UnaryCall): ReplyStream {
    this.#begin(call);
    return new MessageStream(this, call);
  }

  drop(made: Cancellable): void {
    // Without a connection, nothing is reset.
    if (this.connected) this.#resets.cancel(made);
    else made.cancel();
  }

  onEnd(made: Cancellable, call: UnaryCall, clientHasLeft: boolean): void {
    if (this.#resets.forget(made) && clientHasLeft) this.#figures.leftRunning += 1;
    this.#figures.underWay.add(call, -1);
    this.calls -= 1;
    this.#closeIfDone();
  }

  #begin(call: UnaryCall): void {
    this.#figures.underWay.add(call, 1);
    this.calls += 1;
  }

  retire(): void {
    this.#retired = true;
    this.#closeIfDone();
  }

  close(): void {
    this.client.close();
  }

  #closeIfDone(): void {
    if (this.#retired && this.calls === 0) this.close();
  }
}
