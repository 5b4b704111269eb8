import type { Binding, BoundVariable } from '../template/binding.js';
import { type PathTemplate, spans } from '../template/path-template.js';
import { Names } from './names.js';

/** A wildcard of a path template, which becomes a path parameter. */
export interface Wildcard {
  /** The name of the parameter. */
  readonly name: string;
  /** The variable that the wildcard belongs to; undefined for none. */
  readonly variable: BoundVariable | undefined;
  /** The text of the variable before the wildcard: `shelves/{name}/books/`. */
  readonly before: string;
  /** The text of the variable after the wildcard. */
  readonly after: string;
  /** Whether the wildcard stands for any number of segments (`**`). */
  readonly rest: boolean;
}

/** The place of a binding in an OpenAPI document. */
export interface DescribedPath {
  /** The path with one parameter for each wildcard: `/v1/shelves/{name}/books/{name_2}`. */
  readonly path: string;
  readonly wildcards: readonly Wildcard[];
}

/**
 * The OpenAPI paths of path templates. An OpenAPI parameter is a single segment, so a variable of several segments
 * becomes several parameters. Paths that differ only in the names of their parameters are the same path in OpenAPI, so
 * they share the names of the first.
 */
export class DescribedPaths {
  /** The names of the parameters, by the path without names. */
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
      const variable = variableAt(place, segments, variables);
      const isPart = (index: number): boolean => variable !== undefined && spans(variable, index, segments);
      return {
        name: String(names[index]),
        variable,
        before: named
          .filter((_, at) => at < place && isPart(at))
          .map((segment) => `${segment}/`)
          .join(''),
        after: named
          .filter((_, at) => at > place && isPart(at))
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

function variableAt(
  place: number,
  segments: PathTemplate['segments'],
  variables: readonly BoundVariable[],
): BoundVariable | undefined {
  return variables.find((variable) => spans(variable, place, segments));
}

/** The names of the parameters at the given places: those of their variables, with a number from the second on. */
function parameterNames(
  { segments }: PathTemplate,
  places: readonly number[],
  variables: readonly BoundVariable[],
): string[] {
  const names = new Names();
  return places.map((place) => {
    const variable = variableAt(place, segments, variables);
    return names.of(place, variable?.fieldPath.join('_') ?? 'segment');
  });
}
