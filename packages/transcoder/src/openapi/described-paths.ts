import type { Binding, BoundVariable } from '../template/binding.js';
import { spans } from '../template/path-template.js';
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

/** The name of the parameter for each wildcard, by its place among the segments. */
type ParameterNames = ReadonlyMap<number, string>;

/**
 * The OpenAPI paths of path templates. An OpenAPI parameter is a single segment, so a variable of several segments
 * becomes several parameters. Paths that differ only in the names of their parameters are the same path in OpenAPI, so
 * they share the names of the first.
 */
export class DescribedPaths {
  /** The names of the parameters by their places, for each path without names: `/v1/shelves/{}`. */
  readonly #names = new Map<string, ParameterNames>();

  of(binding: Binding): DescribedPath {
    const { segments, customVerb } = binding.template;
    const names = this.#namesOf(binding);
    const named = segments.map((segment, place) => {
      const name = names.get(place);
      return name === undefined ? segment : `{${name}}`;
    });
    return {
      path: pathOf(named, customVerb),
      wildcards: [...names].map(([place, name]) => wildcardAt(place, name, named, binding)),
    };
  }

  #namesOf(binding: Binding): ParameterNames {
    const { segments, customVerb } = binding.template;
    const withoutNames = segments.map((segment) => (isWildcard(segment) ? '{}' : segment));
    const key = pathOf(withoutNames, customVerb);
    const names = this.#names.get(key) ?? parameterNames(binding);
    this.#names.set(key, names);
    return names;
  }
}

/** Names parameters after their variables; the second with the same name gets `_2`. */
function parameterNames(binding: Binding): ParameterNames {
  const { segments } = binding.template;
  const names = new Names();
  const places = [...segments.keys()].filter((place) => isWildcard(segments[place]));
  return new Map(
    places.map((place) => {
      const fieldName = variableAt(place, binding)?.fieldPath.join('_');
      return [place, names.of(place, fieldName ?? 'segment')] as const;
    }),
  );
}

/** @param named all segments, with the names of the parameters */
function wildcardAt(place: number, name: string, named: readonly string[], binding: Binding): Wildcard {
  const { segments } = binding.template;
  const variable = variableAt(place, binding);
  const isOfVariable = (other: number): boolean => variable !== undefined && spans(variable, other, segments);
  const places = [...segments.keys()].filter(isOfVariable);
  const before = places.filter((other) => other < place).map((other) => `${named[other]}/`);
  const after = places.filter((other) => other > place).map((other) => `/${named[other]}`);
  const rest = segments[place] === '**';
  return { name, variable, before: before.join(''), after: after.join(''), rest };
}

function variableAt(place: number, { template, variables }: Binding): BoundVariable | undefined {
  return variables.find((variable) => spans(variable, place, template.segments));
}

function isWildcard(segment: string | undefined): boolean {
  return segment === '*' || segment === '**';
}

function pathOf(segments: readonly string[], customVerb: string): string {
  return `/${segments.join('/')}${customVerb && `:${customVerb}`}`;
}
