import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { buffer } from 'node:stream/consumers';

/** How often the files are read again, in milliseconds. */
const INTERVAL_MS = 10_000;
/** The largest file that is read, in bytes. */
const FILE_MAX_BYTES = 1_048_576;
/** Does not wait for the writer of a pipe, which is refused once it is open. */
const TO_READ = constants.O_RDONLY | constants.O_NONBLOCK;

interface FollowedFilesOptions<Value> {
  /** The paths of regular files of at most 1 MiB each, or of links to them. */
  readonly files: readonly string[];
  /**
   * Creates the value from the files' contents, in the order of `files`.
   *
   * @throws Error with a sentence without secrets, if the contents cannot be used
   */
  readonly read: (contents: readonly Buffer[]) => Value;
  /** Called once for each new problem with the files or their contents. The previous value stays in use. */
  readonly onProblem: (error: Error) => void;
  /** How often all files are read again, in milliseconds; default: 10,000. */
  readonly intervalMs?: number | undefined;
}

/**
 * A value read from several files, such as a certificate and its key, and renewed when they change. The files are
 * polled: Kubernetes replaces links in their paths, which watchers do not report.
 */
export class FollowedFiles<Value> {
  readonly #options: FollowedFilesOptions<Value>;
  readonly #timer: NodeJS.Timeout;
  readonly #listeners: ((value: Value) => void)[] = [];
  #contents: readonly Buffer[];
  #value: Value;
  #problem = '';
  #reading = false;
  #closed = false;

  private constructor(options: FollowedFilesOptions<Value>, contents: readonly Buffer[]) {
    this.#options = options;
    this.#contents = contents;
    this.#value = options.read(contents);
    this.#timer = setInterval(() => void this.#readAgain(), options.intervalMs ?? INTERVAL_MS);
    this.#timer.unref();
  }

  /** @throws Error when a file cannot be read, or the contents cannot be used */
  static async open<Value>(options: FollowedFilesOptions<Value>): Promise<FollowedFiles<Value>> {
    return new FollowedFiles(options, await readAll(options.files));
  }

  /** The latest value read from the files. */
  get value(): Value {
    return this.#value;
  }

  /** Calls the listener with each new value. */
  onChange(listener: (value: Value) => void): void {
    this.#listeners.push(listener);
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
  }

  async #readAgain(): Promise<void> {
    // On a file system that hangs, reads must not pile up.
    if (this.#reading) return;
    this.#reading = true;
    try {
      const contents = await readAll(this.#options.files);
      if (!this.#closed) this.#take(contents);
      this.#problem = '';
    } catch (error) {
      this.#report(error instanceof Error ? error : new Error(String(error)));
    } finally {
      this.#reading = false;
    }
  }

  #take(contents: readonly Buffer[]): void {
    if (contents.every((content, i) => this.#contents[i]?.equals(content))) return;
    this.#value = this.#options.read(contents);
    this.#contents = contents;
    for (const listener of this.#listeners) listener(this.#value);
  }

  #report(error: Error): void {
    if (this.#closed || error.message === this.#problem) return;
    this.#problem = error.message;
    this.#options.onProblem(error);
  }
}

function readAll(paths: readonly string[]): Promise<Buffer[]> {
  return Promise.all(paths.map(readBounded));
}

async function readBounded(path: string): Promise<Buffer> {
  const file = await open(path, TO_READ);
  try {
    if (!(await file.stat()).isFile()) throw new Error(`${path} is not a regular file.`);
    // Reads up to one byte over the limit, since the file may grow, and some file systems report no size.
    const content = await buffer(file.createReadStream({ end: FILE_MAX_BYTES, autoClose: false }));
    if (content.length <= FILE_MAX_BYTES) return content;
    throw new Error(`The file ${path} is larger than ${FILE_MAX_BYTES} bytes.`);
  } finally {
    await file.close();
  }
}
