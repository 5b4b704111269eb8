import { type ClientDuplexStream, status } from '@grpc/grpc-js';
import type {
  Call,
  OpenTunnelRequest,
  OpenTunnelResponse,
  Reply,
  TunnelServiceClient,
} from '../gen/tunnel/v1/tunnel_service.js';
import { EndOfTurn } from '../runtime/end-of-turn.js';
import { batches } from '../tunnel/batches.js';
import { toHeaders, toMetadata } from '../tunnel/headers.js';
import { MOST_BYTES_AT_A_TIME, MOST_UNDER_WAY } from '../tunnel/limits.js';
import { failedReply, okReply } from './unary-reply.js';
import type { UnaryCall, UnaryReply } from './upstream.js';

/** What no timeout exceeds, in milliseconds: Node's timers know no longer one. */
const LONGEST_MS = 2 ** 31 - 1;

const sending = new EndOfTurn<Tunnel>((tunnel) => {
  tunnel.send();
});

/** The client's end of a tunnel (`tunnel.v1.TunnelService`): calls of the same moment share a message. */
export class Tunnel {
  readonly #stream: ClientDuplexStream<OpenTunnelRequest, OpenTunnelResponse>;
  #state: 'opening' | 'open' | 'draining' | 'ended' = 'opening';
  /** By their ids, which are used anew as soon as the server has replied. */
  readonly #underWay: (TunnelCall | undefined)[] = [];
  readonly #freeIds: number[] = [];
  #calls: Call[] = [];
  readonly #cancelledCallIds = new Set<number>();

  /** @param onRefused called when the tunnel ends before it took a call. */
  constructor(client: TunnelServiceClient, onRefused: () => void) {
    this.#stream = client.openTunnel();
    this.#stream.on('data', (response: OpenTunnelResponse) => {
      this.#receive(response);
    });
    // The status says it, too.
    this.#stream.on('error', ignore);
    this.#stream.on('status', ({ code, details }) => {
      if (this.#state === 'opening') onRefused();
      this.#end();
      const lost = failedReply(status.UNAVAILABLE, `The tunnel ended: ${status[code]}: ${details}`);
      for (const call of this.#underWay) call?.end(lost);
    });
  }

  /** Whether another one is needed. */
  get isOver(): boolean {
    return this.#state === 'draining' || this.#state === 'ended';
  }

  /** Whether it can carry the call, now. */
  takes({ message }: UnaryCall): boolean {
    return (
      this.#state === 'open' &&
      message.length <= MOST_BYTES_AT_A_TIME &&
      (this.#freeIds.length > 0 || this.#underWay.length < MOST_UNDER_WAY)
    );
  }

  /** Makes a call that it takes. */
  carry(call: UnaryCall): Promise<UnaryReply> {
    const { path, message, metadata, deadline, cancellation } = call;
    const id = this.#freeIds.pop() ?? this.#underWay.length;
    const timeoutMs = Math.min(Math.max(Math.ceil(deadline - Date.now()), 1), LONGEST_MS);
    const bytes = Buffer.from(message.buffer, message.byteOffset, message.length);
    this.#calls.push({ id, path, message: bytes, metadata: toHeaders(metadata), timeoutMs });
    this.#sendLater();
    return new Promise((resolve) => {
      this.#underWay[id] = new TunnelCall(resolve, timeoutMs, cancellation, () => {
        this.#cancelledCallIds.add(id);
        this.#sendLater();
      });
    });
  }

  /** Ends the tunnel as soon as all its calls have replies. It takes no more. */
  close(): void {
    if (this.#state === 'opening') this.#stream.cancel();
    else if (this.#state === 'open') this.#state = 'draining';
    this.#endWhenIdle();
  }

  /** Sends what has come up in this turn of the event loop. */
  send(): void {
    const calls = this.#calls;
    const cancelledCallIds = [...this.#cancelledCallIds];
    this.#calls = [];
    this.#cancelledCallIds.clear();
    for (const batch of batches(calls)) this.#stream.write({ calls: batch, cancelledCallIds: [] });
    if (cancelledCallIds.length > 0) this.#stream.write({ calls: [], cancelledCallIds });
  }

  #sendLater(): void {
    if (this.#calls.length + this.#cancelledCallIds.size === 1) sending.add(this);
  }

  #receive({ replies, draining }: OpenTunnelResponse): void {
    if (this.#state === 'opening') this.#state = 'open';
    for (const reply of replies) this.#answer(reply);
    if (draining) this.close();
    else this.#endWhenIdle();
  }

  #answer(reply: Reply): void {
    const { callId } = reply;
    const call = this.#underWay[callId];
    if (call === undefined) return;
    this.#underWay[callId] = undefined;
    this.#freeIds.push(callId);
    // The next call with this id is not to be cancelled in place of this one.
    this.#cancelledCallIds.delete(callId);
    call.end(unaryReply(reply));
  }

  #endWhenIdle(): void {
    if (this.#state !== 'draining' || this.#freeIds.length < this.#underWay.length) return;
    this.#end();
    this.#stream.end();
  }

  #end(): void {
    this.#state = 'ended';
    this.#calls = [];
    this.#cancelledCallIds.clear();
  }
}

const OK: number = status.OK;

function unaryReply({ code, details, message, trailers }: Reply): UnaryReply {
  try {
    const metadata = toMetadata(trailers);
    return code === OK ? okReply(message, metadata) : failedReply(code, details, metadata);
  } catch (error) {
    return failedReply(status.INTERNAL, String(error));
  }
}

/** A call within a tunnel. It ends once, whoever ends it. */
class TunnelCall {
  #resolve: ((reply: UnaryReply) => void) | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #tellServer: () => void;

  constructor(
    resolve: (reply: UnaryReply) => void,
    timeoutMs: number,
    cancellation: UnaryCall['cancellation'],
    tellServer: () => void,
  ) {
    this.#resolve = resolve;
    this.#tellServer = tellServer;
    this.#timer = setTimeout(expire, timeoutMs, this);
    cancellation.onCancelled(() => {
      this.abandon(status.CANCELLED, 'The caller cancelled the call.');
    });
  }

  end(reply: UnaryReply): void {
    clearTimeout(this.#timer);
    this.#resolve?.(reply);
    this.#resolve = undefined;
  }

  /** Ends the call before the server does, and tells the server. */
  abandon(code: status, details: string): void {
    if (this.#resolve === undefined) return;
    this.end(failedReply(code, details));
    this.#tellServer();
  }
}

function expire(call: TunnelCall): void {
  call.abandon(status.DEADLINE_EXCEEDED, 'The deadline passed.');
}

function ignore(): void {
  return undefined;
}
