import { type Server, type ServerDuplexStream, status } from '@grpc/grpc-js';
import type { Logger } from 'pino';
import {
  type Call as CallMessage,
  type OpenTunnelRequest,
  type OpenTunnelResponse,
  type Reply as ReplyMessage,
  TunnelServiceService,
} from '../gen/tunnel/v1/tunnel_service.js';
import { EndOfTurn } from '../runtime/end-of-turn.js';
import { batches } from '../tunnel/batches.js';
import { toHeaders, toMetadata } from '../tunnel/headers.js';
import { MOST_AT_A_TIME, MOST_UNDER_WAY } from '../tunnel/limits.js';
import type { Cancellation, Reply } from './call.js';
import { failureReply } from './failure-reply.js';
import { CallError, deadlineExceeded, toFailure } from './failures.js';
import type { Pipeline } from './pipeline.js';
import { requestIdOf } from './request-id.js';

type Stream = ServerDuplexStream<OpenTunnelRequest, OpenTunnelResponse>;

const NO_BYTES = Buffer.alloc(0);
const PATH = TunnelServiceService.openTunnel.path;

/** What the server's ends of tunnels stand on. */
export interface TunnelOptions {
  /** Answers the calls. */
  readonly pipeline: Pipeline;
  /** How long a client may leave replies untaken, in milliseconds. */
  readonly deadlineMs: number;
  readonly logger: Logger;
}

/** The tunnels that clients have opened (`tunnel.v1.TunnelService`): their calls go the way of every call. */
export class Tunnels {
  readonly #options: TunnelOptions;
  readonly #open = new Set<Tunnel>();

  constructor(options: TunnelOptions) {
    this.#options = options;
  }

  /** Lets clients of the server open tunnels. */
  addTo(server: Server): void {
    server.addService(TunnelServiceService, {
      openTunnel: (stream: Stream) => {
        this.#add(stream);
      },
    });
  }

  /** Asks every client to end its tunnel when its calls are answered. */
  drain(): void {
    for (const tunnel of this.#open) tunnel.drain();
  }

  #add(stream: Stream): void {
    const tunnel = new Tunnel(stream, this.#options);
    this.#open.add(tunnel);
    // grpc-js says so at the end of every call, whoever ended it.
    stream.on('cancelled', () => {
      this.#open.delete(tunnel);
      tunnel.cancel();
    });
  }
}

const replying = new EndOfTurn<Tunnel>((tunnel) => {
  tunnel.send();
});

/** The server's end of a tunnel. */
class Tunnel {
  readonly #stream: Stream;
  readonly #options: TunnelOptions;
  /** The calls that wait for something, by their ids. */
  readonly #underWay = new Map<number, TunnelCall>();
  #replies: ReplyMessage[] = [];
  #state: 'open' | 'ending' | 'ended' = 'open';
  /** Runs while there are more replies than the client takes. */
  #untaken: NodeJS.Timeout | undefined;

  constructor(stream: Stream, options: TunnelOptions) {
    this.#stream = stream;
    this.#options = options;
    stream.on('data', (request: OpenTunnelRequest) => {
      this.#receive(request);
    });
    stream.on('drain', () => {
      clearTimeout(this.#untaken);
      this.#untaken = undefined;
      stream.resume();
    });
    stream.on('end', () => {
      if (this.#state === 'open') this.#state = 'ending';
      this.#endWhenIdle();
    });
    this.#write([]);
  }

  drain(): void {
    if (this.#state === 'open') this.#stream.write({ replies: [], draining: true });
  }

  /** The client has gone, and all its callers with it. */
  cancel(): void {
    this.#state = 'ended';
    clearTimeout(this.#untaken);
    for (const call of this.#underWay.values()) call.cancel();
  }

  /** Sends the replies of this turn of the event loop. */
  send(): void {
    const replies = this.#replies;
    this.#replies = [];
    if (this.#state === 'ended') return;
    for (const batch of batches(replies)) this.#write(batch);
    this.#endWhenIdle();
  }

  #write(replies: ReplyMessage[]): void {
    if (this.#stream.write({ replies, draining: false })) return;
    // Who does not take replies is not asked for further calls. What came before that lies in memory.
    this.#stream.pause();
    this.#untaken ??= setTimeout(() => {
      this.#fail(deadlineExceeded());
    }, this.#options.deadlineMs);
  }

  #receive({ calls, cancelledCallIds }: OpenTunnelRequest): void {
    if (this.#state === 'ended') return;
    try {
      if (calls.length > MOST_AT_A_TIME) throw new Error(`${calls.length} calls came at a time.`);
      for (const call of calls) this.#run(call);
    } catch (cause) {
      this.#fail(new CallError('REQUEST_MALFORMED', 'A call in the tunnel can not be read.', { cause }));
    }
    for (const id of cancelledCallIds) this.#underWay.get(id)?.cancel();
  }

  /** @throws Error when the call can not be read */
  #run({ id, path, message, metadata: headers, timeoutMs }: CallMessage): void {
    if (id >= MOST_UNDER_WAY || this.#underWay.has(id)) throw new Error(`A call has the id ${id}.`);
    const metadata = toMetadata(headers);
    const deadline = timeoutMs === 0 ? Infinity : Date.now() + timeoutMs;
    const call = new TunnelCall();
    const reply = this.#options.pipeline({ path, message, metadata, deadline, cancellation: call });
    if (!(reply instanceof Promise)) {
      this.#reply(id, reply);
      return;
    }
    this.#underWay.set(id, call);
    void reply.then((later) => {
      this.#underWay.delete(id);
      this.#reply(id, later);
    });
  }

  #reply(callId: number, { code, details, message = NO_BYTES, trailers }: Reply): void {
    const bytes = Buffer.from(message.buffer, message.byteOffset, message.length);
    this.#replies.push({ callId, code, details, message: bytes, trailers: toHeaders(trailers) });
    if (this.#replies.length === 1) replying.add(this);
  }

  /** The client does not keep to the contract: nothing more that it says is believed. */
  #fail(error: CallError): void {
    this.cancel();
    const requestId = requestIdOf(this.#stream.metadata);
    const failure = toFailure(error);
    const { code, details, trailers } = failureReply(failure, requestId);
    this.#options.logger.info(
      { requestId, method: PATH, code: status[code], reason: failure.reason, err: failure.cause },
      'tunnel ended',
    );
    // grpc-js ends the stream with it.
    this.#stream.emit('error', { code, details, metadata: trailers });
    // Lets go of what was not read yet.
    this.#stream.resume();
  }

  #endWhenIdle(): void {
    if (this.#state === 'ending' && this.#underWay.size === 0 && this.#replies.length === 0)
      this.#stream.end();
  }
}

/** Tells a call in a tunnel that its caller has gone. */
class TunnelCall implements Cancellation {
  cancelled = false;
  #tell: (() => void) | undefined;

  onCancelled(listener: () => void): void {
    this.#tell = listener;
  }

  cancel(): void {
    this.cancelled = true;
    this.#tell?.();
  }
}
