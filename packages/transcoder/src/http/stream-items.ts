import { isUint8Array } from 'node:util/types';
import { type HttpFailure, internal } from '../failures/failure.js';
import type { ReplyStream, UnaryReply } from '../upstream.js';
import type { OpenStream } from './open-streams.js';
import type { StreamFormat } from './stream-formats.js';

/**
 * What comes next in a stream: the content for a message; the outcome of the gRPC call; or why the transcoder has aborted
 * the stream, or cannot go on with it.
 */
export type StreamItem = Uint8Array | UnaryReply | HttpFailure;

const ignore = (): void => undefined;

/**
 * The items of a stream, for which the response waits one after the other.
 *
 * At most one item is requested from the upstream at a time. A wait can be ended before the item has come; the next wait is
 * then for the same item. When the stream is aborted or the response has closed, the wait ends, too.
 */
export class StreamItems {
  readonly #replyStream: ReplyStream;
  readonly #openStream: OpenStream;
  readonly #format: StreamFormat;
  /** Whether an item was requested and has not been returned yet. */
  #isRequested = false;
  /** The item that has come and has not been returned yet. */
  #item: StreamItem | undefined;
  /** Ends the latest wait; does nothing if that has ended. */
  #endLatestWait = ignore;

  constructor(replyStream: ReplyStream, openStream: OpenStream, format: StreamFormat) {
    this.#replyStream = replyStream;
    this.#openStream = openStream;
    this.#format = format;
    openStream.onAbortedOrClosed(this.endWait);
  }

  /** Ends the wait that is under way, if there is one. */
  readonly endWait = (): void => {
    this.#endLatestWait();
  };

  /** The function that ends the wait that is under way, but no later one. */
  get endOfThisWait(): () => void {
    return this.#endLatestWait;
  }

  /** Waits for the next item. @returns the failure if the stream was aborted; undefined if the wait was ended early */
  async next(): Promise<StreamItem | undefined> {
    if (!this.#isRequested) void this.#requestItem();
    // `Promise.race` with the item would need memory for each wait until the item comes.
    if (this.#openStream.abortFailure === undefined && this.#item === undefined) {
      await new Promise<void>((resolve) => {
        this.#endLatestWait = resolve;
      });
    }
    return this.#openStream.abortFailure ?? this.#takeItem();
  }

  /** The item that has come, so that the next one may be requested; undefined if none has. */
  #takeItem(): StreamItem | undefined {
    const item = this.#item;
    if (item !== undefined) this.#isRequested = false;
    this.#item = undefined;
    return item;
  }

  /** Requests an item, and keeps it for `next` when it has come. Never rejects. */
  async #requestItem(): Promise<void> {
    this.#isRequested = true;
    try {
      const item = await this.#replyStream.next();
      if (isUint8Array(item)) this.#item = this.#format.message(item);
      else if (isOutcome(item)) this.#item = item;
      else throw new TypeError('The stream returned neither a message nor an outcome.');
    } catch (error) {
      this.#item = internal(error);
    }
    this.#endLatestWait();
  }
}

/** Whether an item is the outcome of the call, which ends the stream. */
export function isOutcome(item: StreamItem | undefined): item is UnaryReply {
  return typeof item === 'object' && 'answered' in item;
}
