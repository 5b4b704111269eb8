import type { Binding, BoundVariable } from '../template/binding.js';
import type { PathTemplate } from '../template/path-template.js';
import { Names } from './names.js';

/** A wildcard of a template, which is a path parameter. */
export interface Wildcard {
  /** The name of its parameter. */
  readonly name: string;
  /** The variable that it belongs to; undefined for none. */
  readonly variable: BoundVariable | undefined;
  /** The text of the variable before it: `shelves/{shelf}/books/`. */
  readonly before: string;
  /** The text of the variable after it. */
  readonly after: string;
  /** Whether it stands for all remaining segments. */
  readonly rest: boolean;
}

/** The place of a binding in an OpenAPI document. */
export interface DescribedPath {
  /** The path with one parameter for each wildcard: `/v1/shelves/{shelf}/books/{book}`. */
  readonly path: string;
  readonly wildcards: readonly Wildcard[];
}

/**
 * The paths of templates. A parameter of OpenAPI is a single segment, so a variable of several is spelt out. Paths that
 * differ only in the names of parameters are one path, so the names that come first hold for all.
 */
export class DescribedPaths {
  /** The names of the parameters, by the path without them. */
  readonly #names = new Map<string, readonly string[]>();

  of({ template, variables }: Binding): DescribedPath {
    const { segments, customVerb } = template;
    const places = [...segments.keys()].filter((index) => isWildcard(segments[index]));
    const anonymous = segments.map((segment) => (isWildcard(segment) ? '{}' : segment));
    const key = `${anonymous.join('/')}:${customVerb}`;
    const names = this.#names.get(key) ?? parameterNames(template, places, variables);
    this.#names.set(key, names);
    const named = segments.map((segment, index) =>
      isWildcard(segment) ? `{${names[places.indexOf(index)]}}` : segment,
    );
    const wildcards = places.map((place, index): Wildcard => {
      const variable = variableAt(place, variables);
      const { start, end } = variable ?? { start: place, end: place + 1 };
      return {
        name: String(names[index]),
        variable,
        before: named
          .slice(start, place)
          .map((segment) => `${segment}/`)
          .join(''),
        after: named
          .slice(place + 1, end)
          .map((segment) => `/${segment}`)
          .join(''),
        rest: segments[place] === '**',
      };
    });
    return { path: `/${named.join('/')}${customVerb && `:${customVerb}`}`, wildcards };
  }
}

function isWildcard(segment: string | undefined): boolean {
  return segment === '*' || segment === '**';
}

function variableAt(place: number, variables: readonly BoundVariable[]): BoundVariable | undefined {
  return variables.find(({ start, end }) => start <= place && place < end);
}

/** The names of the parameters at the places: that of a variable which is nothing else, or one for what is there. */
function parameterNames(
  { segments }: PathTemplate,
  places: readonly number[],
  variables: readonly BoundVariable[],
): string[] {
  const names = new Names();
  return places.map((place) => {
    const variable = variableAt(place, variables);
    const field = variable?.fieldPath.join('_') ?? 'segment';
    const isWhole = variable?.start === place && segments.slice(place, variable.end).length === 1;
    const before = segments[place - 1] ?? '';
    const collection = /^[A-Za-z]\w*$/.test(before) ? singular(before) : field;
    return names.of(place, isWhole ? field : collection, field);
  });
}

/** One of what a collection has, as resource names are spelt: `shelves` are each a `shelf`. */
function singular(collection: string): string {
  return collection
    .replace(/(?<=[a-z]{2})ies$/, 'y')
    .replace(/(?<=l|ea)ves$/, 'f')
    .replace(/(?<=ss|sh|ch|x)es$/, '')
    .replace(/(?<=[^su])s$/, '');
}
