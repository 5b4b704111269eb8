/** The maximum number of types: a server may pass on what its clients made up. */
const MAX_TYPES = 100;
/** The longest name, in characters. */
const MAX_LENGTH = 255;

const NAME = /^[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z_][A-Za-z0-9_]*)*$/;

/** The types that nothing in a contract names, but a `google.protobuf.Any` or the details of an error. */
export class WantedTypes {
  /** Their full names. */
  readonly names = new Set<string>();
  #wake = (): void => undefined;

  /** @param typeUrl the full name, after a prefix that ends in a slash or none. What is no name is ignored. */
  readonly add = (typeUrl: string): void => {
    const name = typeUrl.slice(typeUrl.lastIndexOf('/') + 1);
    if (name.length > MAX_LENGTH || !NAME.test(name) || this.names.size === MAX_TYPES) return;
    this.names.add(name);
    this.#wake();
  };

  /** Resolves once there are more than the given number. */
  async more(than: number): Promise<void> {
    while (this.names.size <= than) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }
}
