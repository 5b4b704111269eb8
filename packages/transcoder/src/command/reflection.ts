import { setTimeout as pause } from 'node:timers/promises';
import {
  type ChannelCredentials,
  type ChannelOptions,
  Client,
  connectivityState,
  status,
} from '@grpc/grpc-js';
import { CHANNEL_DEFAULTS } from '../grpc-js/channel-defaults.js';
import {
  checkedOptions,
  objectWith,
  type Kind,
  MAP,
  MILLISECONDS,
  OBJECT,
  TEXT,
  TEXTS,
} from '../option-kinds.js';
import { MAX_SET_BYTES } from './reflection/reflected-files.js';
import { ReflectionError } from './reflection/reflection-error.js';
import { type ReflectedContract, takeContract } from './reflection/take-contract.js';
import { WantedTypes } from './reflection/wanted-types.js';

export { ReflectionError } from './reflection/reflection-error.js';
export type { ReflectedContract } from './reflection/take-contract.js';

/** Options of `reflect` and `followContract`. */
export interface ReflectionOptions {
  /**
   * The credentials of the channel: `credentials.createInsecure()`, or `credentials.createSsl()` with the certificates.
   * For TLS to an IP address, use `tlsOptions` of `@route-registry/transcoder/grpc-js`.
   */
  readonly credentials: ChannelCredentials;
  /** The time limit for reading a contract and fitting its files together, in milliseconds. Default: 10,000. */
  readonly deadlineMs?: number | undefined;
  /** The metadata of each call, such as `authorization`, by lower-case key. Default: none. */
  readonly metadata?: ReadonlyMap<string, string> | undefined;
  /** Channel options of grpc-js. Each overrides the default of the same name. */
  readonly channelOptions?: ChannelOptions | undefined;
  /**
   * The full names of further types to take, such as those in a `google.protobuf.Any`, which no method names. Those that
   * the server lacks are left out. Default: none.
   */
  readonly types?: Iterable<string> | undefined;
}

/** The callbacks of `followContract`. */
export interface ContractListener {
  /**
   * Called with the contract, at first and after each reconnection. `changed` tells whether it differs from the
   * previous contract, and is true the first time. If this throws an error, `failed` is called with it; the first time,
   * `followContract` rejects with it.
   *
   * @param want asks for a type that the contract lacks, by the type URL of a `google.protobuf.Any`. If the server has
   *   it, `contract` is called again after a second, with a contract that has the type, too. At most 100 types are asked
   *   for.
   */
  contract(contract: ReflectedContract, changed: boolean, want: (typeUrl: string) => void): void;
  /**
   * Called when the server cannot be reached, with the reason in one sentence. The next attempt follows after a second.
   */
  waiting(reason: string): void;
  /**
   * Called when a later contract could not be read. It is read again once the connection has been lost and restored.
   */
  failed(error: Error): void;
}

const KINDS = {
  credentials: OBJECT,
  deadlineMs: MILLISECONDS,
  metadata: MAP,
  channelOptions: OBJECT,
  types: TEXTS,
  signal: objectWith('addEventListener'),
} satisfies Record<keyof ReflectionOptions | 'signal', Kind>;

/** @throws Error with a one-sentence message if an option is unknown, missing or of another kind */
function reflectionOptions<Options extends ReflectionOptions>(target: string, options: Options): Options {
  checkedOptions({ target }, { target: TEXT }, ['target']);
  return checkedOptions(options, KINDS, ['credentials']);
}

const DEADLINE_MS = 10_000;
const RETRY_MS = 1_000;

/**
 * Reads the contract of a gRPC server by server reflection
 * (https://github.com/grpc/grpc/blob/master/doc/server-reflection.md): `grpc.reflection.v1`, or `v1alpha` if the server
 * does not support that. The contract may have at most 64 MiB.
 *
 * @param target a target of grpc-js, as for `grpcUpstream`.
 * @throws ReflectionError (rejects) with a one-sentence message if the server cannot be reached or does not support
 *   reflection, or if its contract has no services, is inconsistent or is too large; an Error if an option is unknown,
 *   missing or of another kind.
 */
export async function reflect(target: string, options: ReflectionOptions): Promise<ReflectedContract> {
  const { deadlineMs = DEADLINE_MS, metadata, types = [], ...channel } = reflectionOptions(target, options);
  const client = open(target, channel);
  try {
    return await takeContract(client, target, { timeLimitMs: deadlineMs, metadata, types });
  } finally {
    client.close();
  }
}

/**
 * Reads the contract as `reflect` does, and again after each reconnection, such as after a restart of the server. Waits
 * for a server that cannot be reached.
 *
 * @param signal stops it, and resolves the promise. Default: it never stops.
 * @throws Error (rejects) if the first contract could not be read from a server that can be reached: a
 *   `ReflectionError`, or the error that `contract` threw.
 */
export async function followContract(
  target: string,
  options: ReflectionOptions & { readonly signal?: AbortSignal },
  listener: ContractListener,
): Promise<void> {
  const {
    deadlineMs = DEADLINE_MS,
    metadata,
    types = [],
    signal = new AbortController().signal,
    ...channel
  } = reflectionOptions(target, options);
  checkedOptions({ listener }, { listener: objectWith('contract', 'waiting', 'failed') }, ['listener']);
  const client = open(target, channel);
  const wanted = new WantedTypes();
  const named = [...types];
  let taken: ReflectedContract | undefined;
  /** Whether the contract is only read again for further types. */
  let further = false;
  const close = (): void => {
    client.close();
  };
  const isStopped = (): boolean => signal.aborted;
  signal.addEventListener('abort', close);
  try {
    while (!isStopped()) {
      try {
        const { size } = wanted.names;
        const asked = [...named, ...wanted.names];
        const contract = await takeContract(client, target, {
          timeLimitMs: deadlineMs,
          metadata,
          types: asked,
        });
        const changed = taken === undefined || !areEqual(taken, contract);
        if (changed || !further) listener.contract(contract, changed, wanted.add);
        taken = contract;
        const more = wanted.more(size).then(() => pause(RETRY_MS, true));
        further = await Promise.race([whenDisconnected(client), more]);
      } catch (error) {
        further = false;
        if (isStopped()) return;
        const away = error instanceof ReflectionError && error.code === status.UNAVAILABLE;
        if (away) listener.waiting(error.message);
        else if (taken === undefined) throw error;
        else listener.failed(error as Error);
        await Promise.all([pause(RETRY_MS), away ? undefined : whenDisconnected(client)]);
      }
    }
  } finally {
    signal.removeEventListener('abort', close);
    close();
  }
}

function open(
  target: string,
  { credentials, channelOptions }: Pick<ReflectionOptions, 'credentials' | 'channelOptions'>,
): Client {
  return new Client(target, credentials, {
    ...CHANNEL_DEFAULTS,
    'grpc.max_receive_message_length': MAX_SET_BYTES,
    ...channelOptions,
  });
}

function areEqual(contract: ReflectedContract, other: ReflectedContract): boolean {
  return (
    Buffer.compare(contract.descriptorSet, other.descriptorSet) === 0 &&
    contract.services.join() === other.services.join()
  );
}

/** Resolves with false once the channel has no connection. */
function whenDisconnected(client: Client): Promise<false> {
  const channel = client.getChannel();
  const { READY } = connectivityState;
  return new Promise((resolve) => {
    if (channel.getConnectivityState(false) !== READY) resolve(false);
    else
      channel.watchConnectivityState(READY, Infinity, () => {
        resolve(false);
      });
  });
}
