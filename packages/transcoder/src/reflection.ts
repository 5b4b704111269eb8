import { setTimeout as pause } from 'node:timers/promises';
import {
  type ChannelCredentials,
  type ChannelOptions,
  Client,
  connectivityState,
  status,
} from '@grpc/grpc-js';
import { CHANNEL_DEFAULTS } from './grpc-js/channel-defaults.js';
import { MAX_SET_BYTES } from './reflection/reflected-files.js';
import { ReflectionError } from './reflection/reflection-error.js';
import { type ReflectedContract, takeContract } from './reflection/take-contract.js';

export { ReflectionError } from './reflection/reflection-error.js';
export type { ReflectedContract } from './reflection/take-contract.js';

/** How a server is asked. */
export interface ReflectionOptions {
  /** Of the channel: `credentials.createInsecure()`, or `credentials.createSsl()` with the certificates. */
  readonly credentials: ChannelCredentials;
  /** The longest that it may take, in milliseconds. Default: 10,000. */
  readonly deadlineMs?: number;
  /** Options of grpc-js, each in the place of the default of the same name. */
  readonly channelOptions?: ChannelOptions;
}

/** What `followContract` tells. */
export interface ContractListener {
  /**
   * The server has described itself, also after each loss of the connection. `changed` says whether otherwise than
   * before; it is true the first time. What it throws is a failure.
   */
  contract(contract: ReflectedContract, changed: boolean): void;
  /** The server cannot be reached, as `reason` says in a sentence. It is tried again each second. */
  waiting(reason: string): void;
  /** A later contract could not be taken. The server is asked again after it has gone and come back. */
  failed(error: Error): void;
}

const DEADLINE_MS = 10_000;
const RETRY_MS = 1_000;

/**
 * Takes the contract of a gRPC server by server reflection
 * (https://github.com/grpc/grpc/blob/master/doc/server-reflection.md): `grpc.reflection.v1`, or `v1alpha` where the
 * server lacks that. It has at most 64 MiB.
 *
 * @param target a target of grpc-js, as for `grpcUpstream`.
 * @throws ReflectionError (rejects) with one sentence, if the server cannot be reached, has no reflection, or describes
 *   nothing that holds together.
 */
export async function reflect(
  target: string,
  { deadlineMs = DEADLINE_MS, ...options }: ReflectionOptions,
): Promise<ReflectedContract> {
  const client = open(target, options);
  try {
    return await takeContract(client, target, deadlineMs);
  } finally {
    client.close();
  }
}

/**
 * Takes the contract as `reflect` does, and again whenever the connection was lost and is there again, as after a restart.
 * A server that cannot be reached is waited for.
 *
 * @param signal ends it. Default: it goes on for ever.
 * @throws Error (rejects), if the first contract could not be taken from a server that answers: a `ReflectionError`, or what
 *   `contract` has thrown.
 */
export async function followContract(
  target: string,
  {
    deadlineMs = DEADLINE_MS,
    signal = new AbortController().signal,
    ...options
  }: ReflectionOptions & { readonly signal?: AbortSignal },
  listener: ContractListener,
): Promise<void> {
  const client = open(target, options);
  let taken: ReflectedContract | undefined;
  const close = (): void => {
    client.close();
  };
  const ended = (): boolean => signal.aborted;
  signal.addEventListener('abort', close);
  try {
    while (!ended()) {
      try {
        const contract = await takeContract(client, target, deadlineMs);
        listener.contract(contract, taken === undefined || !areEqual(taken, contract));
        taken = contract;
        await disconnected(client);
      } catch (error) {
        if (ended()) return;
        const away = error instanceof ReflectionError && error.code === status.UNAVAILABLE;
        if (away) listener.waiting(error.message);
        else if (taken === undefined) throw error;
        else listener.failed(error as Error);
        await Promise.all([pause(RETRY_MS), away ? undefined : disconnected(client)]);
      }
    }
  } finally {
    signal.removeEventListener('abort', close);
    close();
  }
}

function open(target: string, { credentials, channelOptions }: ReflectionOptions): Client {
  return new Client(target, credentials, {
    ...CHANNEL_DEFAULTS,
    'grpc.max_receive_message_length': MAX_SET_BYTES,
    ...channelOptions,
  });
}

function areEqual(one: ReflectedContract, other: ReflectedContract): boolean {
  return (
    Buffer.compare(one.descriptorSet, other.descriptorSet) === 0 &&
    one.services.join() === other.services.join()
  );
}

/** Waits until there is no connection; at once if there is none. */
function disconnected(client: Client): Promise<void> {
  const channel = client.getChannel();
  const { READY } = connectivityState;
  return new Promise((resolve) => {
    if (channel.getConnectivityState(false) !== READY) resolve();
    else
      channel.watchConnectivityState(READY, Infinity, () => {
        resolve();
      });
  });
}
