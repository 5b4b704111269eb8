import { readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';

/** How often the files are read again, in milliseconds. */
const INTERVAL_MS = 10_000;
/** The largest file that is read, in bytes. */
const FILE_MAX_BYTES = 1_048_576;

/** How to follow files. */
export interface FollowedFilesOptions<Value> {
  /** The paths of regular files of at most a MiB each, or links to them. */
  readonly files: readonly string[];
  /**
   * Makes the value of the files' contents, in the order of `files`.
   *
   * @throws Error with a sentence without secrets, where they are not whole
   */
  readonly read: (contents: readonly Buffer[]) => Value;
  /** Is told each new value, but not the first. */
  readonly onChange?: (value: Value) => void;
  /** Is told once of each content that cannot be used. The value before it stays. */
  readonly onProblem: (error: Error) => void;
  /** How often the files are read again, in milliseconds. Default: 10,000. */
  readonly intervalMs?: number | undefined;
}

/**
 * The value that files hold together, such as a certificate and its key, renewed when they change. They are read again
 * and again: Kubernetes swaps links in their path, which watchers do not report.
 */
export class FollowedFiles<Value> {
  readonly #options: FollowedFilesOptions<Value>;
  readonly #timer: NodeJS.Timeout;
  #contents: readonly Buffer[];
  #value: Value;
  #problem = '';
  #reading = false;
  #closed = false;

  /** @throws Error when a file cannot be read, or the contents cannot be used */
  constructor(options: FollowedFilesOptions<Value>) {
    this.#options = options;
    this.#contents = options.files.map((file) => readFileSync(file));
    this.#value = options.read(this.#contents);
    this.#timer = setInterval(() => void this.#readAgain(), options.intervalMs ?? INTERVAL_MS);
    this.#timer.unref();
  }

  /** The latest value that the files held. */
  get value(): Value {
    return this.#value;
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#timer);
  }

  async #readAgain(): Promise<void> {
    // A file system that hangs gets no second read beside the first.
    if (this.#reading) return;
    this.#reading = true;
    try {
      const contents = await Promise.all(this.#options.files.map(readBounded));
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
    this.#options.onChange?.(this.#value);
  }

  #report(error: Error): void {
    if (this.#closed || error.message === this.#problem) return;
    this.#problem = error.message;
    this.#options.onProblem(error);
  }
}

async function readBounded(path: string): Promise<Buffer> {
  const file = await open(path);
  try {
    const { size } = await file.stat();
    if (size > FILE_MAX_BYTES) throw new Error(`The file ${path} is larger than ${FILE_MAX_BYTES} bytes.`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}
