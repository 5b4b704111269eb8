import { type Binding, refuse, type OnUnserved } from './binding.js';
import { comparable, type Segment } from './path-template.js';

/** The binding for an HTTP method and a path. */
export interface FoundBinding {
  readonly outcome: 'found';
  readonly binding: Binding;
  /** The segments of the path, as sent, without the custom verb. */
  readonly segments: readonly string[];
}

/** The result of a look-up for an HTTP method and a path. */
export type Lookup =
  | FoundBinding
  | {
      readonly outcome: 'wrong verb';
      /** The HTTP methods that the path supports. */
      readonly allowed: readonly string[];
      /** The first binding that matches the path. */
      readonly binding: Binding;
    }
  | { readonly outcome: 'unknown path' };

/** The bindings whose templates end at one place of a tree, by HTTP method. */
type Leaf = Map<string, Binding>;

/** A place in a tree: all templates that begin with the same segments, by what follows these. */
class Branch {
  /** What follows a literal segment. */
  readonly literals = new Map<string, Branch>();
  /** What follows `*`. */
  oneSegment: Branch | undefined;
  /** Templates that end here. */
  readonly end: Leaf = new Map();
  /** Templates that end with `**`. */
  readonly rest: Leaf = new Map();
  /** What follows `**` in other templates, the longest first. */
  readonly suffixes: Suffix[] = [];
}

/** All templates with the same number of segments behind the same `**`. */
interface Suffix {
  /** The number of segments behind `**`. */
  readonly length: number;
  readonly root: Branch;
}

/**
 * All bindings of a contract, as trees of path segments, one tree for each custom verb.
 *
 * Paths match literally: case-sensitive except for the digits of escapes, without decoding, and without empty segments.
 * If several templates match, a literal takes precedence over `*` and `*` over `**`, from left to right, and a custom
 * verb takes precedence over the same text as part of a segment. A colon at the end does not begin a custom verb: it is
 * part of its segment. Of templates that go on behind the same `**`, the longest takes precedence.
 */
export class BindingTable {
  readonly #roots = new Map<string, Branch>();

  /** The bindings in the table, in the given order. */
  readonly bindings: readonly Binding[];

  /**
   * @param onUnserved called for each binding that matches the same requests as an earlier binding, which is served, with
   *   a sentence that names both methods. Default: throws an Error with the sentence.
   */
  constructor(bindings: readonly Binding[], onUnserved: OnUnserved = refuse) {
    this.bindings = bindings.filter((binding) => this.#add(binding, onUnserved));
  }

  /** Finds the binding for an HTTP method and the raw path of a request. HEAD also finds the bindings of GET. */
  find(verb: string, path: string): Lookup {
    const others: Binding[] = [];
    for (const [customVerb, segments] of readings(path)) {
      const root = this.#roots.get(customVerb);
      if (root === undefined) continue;
      for (const leaf of matches(root, segments, 0)) {
        const binding = choose(leaf, verb);
        if (binding !== undefined) return { outcome: 'found', binding, segments };
        others.push(...leaf.values());
      }
    }

    const [binding] = others;
    if (binding === undefined) return { outcome: 'unknown path' };
    const allowed = withImpliedVerbs(others.map((other) => other.verb));
    return { outcome: 'wrong verb', allowed, binding };
  }

  /** All HTTP methods that any path supports. */
  verbs(): string[] {
    return withImpliedVerbs(this.bindings.map(({ verb }) => verb));
  }

  /** @returns whether the binding was added. */
  #add(binding: Binding, onUnserved: OnUnserved): boolean {
    const { segments, customVerb, source } = binding.template;
    const [leaf, broader] = leavesOf(ensure(this.#roots, customVerb), segments);
    const other = leaf.get(binding.verb) ?? broader?.get(binding.verb);
    if (other !== undefined) {
      const [name, first] = [binding, other].map(({ method }) => `${method.parent.typeName}.${method.name}`);
      onUnserved(`${name}: ${binding.verb} ${source} is bound to ${first}, which comes first.`);
      return false;
    }
    leaf.set(binding.verb, binding);
    return true;
  }
}

function ensure(branches: Map<string, Branch>, key: string): Branch {
  const known = branches.get(key);
  if (known !== undefined) return known;
  const branch = new Branch();
  branches.set(key, branch);
  return branch;
}

/**
 * The leaf of a template, created if necessary, and that of a broader template, if there can be one: `**` and any number of
 * `*` behind it matches the same paths as `**` alone, except the shortest.
 */
function leavesOf(root: Branch, segments: readonly Segment[]): [own: Leaf, broader?: Leaf] {
  const rest = segments.indexOf('**');
  if (rest < 0) return [descend(root, segments).end];
  const branch = descend(root, segments.slice(0, rest));
  const behind = segments.slice(rest + 1);
  if (behind.length === 0) return [branch.rest];
  const { end } = descend(suffixOf(branch, behind.length), behind);
  return behind.every((segment) => segment === '*') ? [end, branch.rest] : [end];
}

/** The place behind some segments, created if necessary. */
function descend(root: Branch, segments: readonly Segment[]): Branch {
  return segments.reduce(
    (branch, segment) =>
      segment === '*' ? (branch.oneSegment ??= new Branch()) : ensure(branch.literals, segment),
    root,
  );
}

/** The place behind `**` for templates with some number of further segments, created if necessary. */
function suffixOf({ suffixes }: Branch, length: number): Branch {
  const known = suffixes.find((candidate) => candidate.length === length);
  if (known !== undefined) return known.root;
  const suffix = { length, root: new Branch() };
  suffixes.push(suffix);
  suffixes.sort((first, second) => second.length - first.length);
  return suffix.root;
}

/** The two ways to read a path: with its last colon as the start of a custom verb, and without. */
function readings(path: string): [customVerb: string, segments: string[]][] {
  if (!path.startsWith('/')) return [];
  const colon = path.lastIndexOf(':');
  const whole: [string, string[]] = ['', segmentsOf(path)];
  if (colon < path.lastIndexOf('/') || colon === path.length - 1) return [whole];
  return [[comparable(path.slice(colon + 1)), segmentsOf(path.slice(0, colon))], whole];
}

/** The segments of a path; `/` has none. */
function segmentsOf(path: string): string[] {
  return path === '/' ? [] : path.split('/').slice(1);
}

/** The leaves that match the segments from the given index on, the most specific first. */
function matches(branch: Branch, segments: readonly string[], index: number): Leaf[] {
  const segment = segments[index];
  if (segment === '') return [];
  const literal = segment === undefined ? undefined : branch.literals.get(comparable(segment));
  const leaves = literal === undefined ? [] : matches(literal, segments, index + 1);
  if (segment === undefined) leaves.push(branch.end);
  else if (branch.oneSegment !== undefined) leaves.push(...matches(branch.oneSegment, segments, index + 1));

  const { rest, suffixes } = branch;
  const goesOn = rest.size > 0 || suffixes.length > 0;
  if (!goesOn || segments.includes('', index)) return leaves;
  const left = segments.length - index;
  for (const { length, root } of suffixes)
    if (length <= left) leaves.push(...matches(root, segments, segments.length - length));
  leaves.push(rest);
  return leaves;
}

/** The binding of a leaf for an HTTP method: its own, for HEAD that of GET, or that of any method, which is not for OPTIONS. */
function choose(leaf: Leaf, verb: string): Binding | undefined {
  if (verb === 'OPTIONS') return leaf.get(verb);
  return leaf.get(verb) ?? (verb === 'HEAD' ? leaf.get('GET') : undefined) ?? leaf.get('*');
}

/** GET implies HEAD, and every path supports OPTIONS (RFC 9110 9.3.2 and 9.3.7). */
function withImpliedVerbs(verbs: readonly string[]): string[] {
  return [...new Set([...verbs.flatMap(withHead), 'OPTIONS'])];
}

function withHead(verb: string): readonly string[] {
  if (verb === '*') return ANY_VERB;
  return verb === 'GET' ? ['GET', 'HEAD'] : [verb];
}

/** The HTTP methods that `*` stands for. */
export const ANY_VERB = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
