import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

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

  /** @throws Error when a file cannot be read, or the contents cannot be used */
  constructor(options: FollowedFilesOptions<Value>) {
    this.#options = options;
    this.#contents = options.files.map(readBounded);
    this.#value = options.read(this.#contents);
    this.#timer = setInterval(() => {
      this.#readAgain();
    }, options.intervalMs ?? INTERVAL_MS);
    this.#timer.unref();
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
    clearInterval(this.#timer);
  }

  #readAgain(): void {
    try {
      const contents = this.#options.files.map(readBounded);
      if (contents.some((content, i) => this.#contents[i]?.equals(content) !== true)) {
        this.#value = this.#options.read(contents);
        this.#contents = contents;
        for (const listener of this.#listeners) listener(this.#value);
      }
      this.#problem = '';
    } catch (error) {
      const { message } = error as Error;
      if (message !== this.#problem) this.#options.onProblem(error as Error);
      this.#problem = message;
    }
  }
}

function readBounded(path: string): Buffer {
  const file = openSync(path, TO_READ);
  try {
    const status = fstatSync(file);
    if (!status.isFile()) throw new Error(`${path} is not a regular file.`);
    // Some file systems report no size.
    const content = status.size > FILE_MAX_BYTES ? undefined : readFileSync(file);
    if (content !== undefined && content.length <= FILE_MAX_BYTES) return content;
    throw new Error(`The file ${path} is larger than ${FILE_MAX_BYTES} bytes.`);
  } finally {
    closeSync(file);
  }
}
