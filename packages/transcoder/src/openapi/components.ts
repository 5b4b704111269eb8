import type { DescEnum, DescMessage } from '@bufbuild/protobuf';
import type { Names } from './names.js';
import type { Schema } from './open-api.js';

/** What stands before and after the name of a type in the name of its schema. */
export interface Affixes {
  readonly prefix: string;
  readonly suffix: string;
}

/** How deep schemas are nested while they are built; a chain of messages may be longer than the call stack. */
const MAX_DEPTH = 100;

/** The schemas of messages and enums that a document refers to. */
export class Components {
  /** The schemas by name. */
  readonly schemas: Record<string, Schema> = {};
  readonly #names: Names;
  readonly #home: string;
  /** The references to schemas, by affixes and type. */
  readonly #references = new Map<string, Schema>();
  /** Adds the schemas that are nested too deeply to be built yet. */
  readonly #deeper: (() => void)[] = [];
  #depth = 0;

  /**
   * @param names those of all schemas.
   * @param home the proto package that is left out of the names of its types' schemas.
   */
  constructor(names: Names, home: string) {
    this.#names = names;
    this.#home = home;
  }

  /** A reference to the schema of a type. @param makeSchema called the first time that the schema is referred to */
  referenceTo(type: DescMessage | DescEnum, affixes: Affixes, makeSchema: () => Schema): Schema {
    const { prefix, suffix } = affixes;
    const { typeName } = type;
    const key = [prefix, typeName, suffix].join(' ');
    const known = this.#references.get(key);
    if (known !== undefined) return known;

    // The schema has the short name of its type or, if another type has that already, the full one.
    const inHome = typeName.startsWith(`${this.#home}.`);
    const shortName = inHome ? typeName.slice(this.#home.length + 1) : typeName;
    const name = this.#names.of(key, prefix + shortName + suffix, prefix + typeName + suffix);
    const reference = { $ref: `#/components/schemas/${name}` };
    this.#references.set(key, reference);

    // Reserves the place in the order, since the schema may add others, and may refer to itself.
    this.schemas[name] = reference;
    this.#build(() => {
      this.schemas[name] = makeSchema();
    });
    return reference;
  }

  /** Calls `build`, which may lead to further calls: now or, if it is nested too deeply, at the end of the outermost call. */
  #build(build: () => void): void {
    if (this.#depth === MAX_DEPTH) {
      this.#deeper.push(build);
      return;
    }

    const isOutermost = this.#depth === 0;
    this.#depth += 1;
    build();
    if (isOutermost) {
      for (let next = this.#deeper.pop(); next !== undefined; next = this.#deeper.pop()) next();
    }
    this.#depth -= 1;
  }
}
