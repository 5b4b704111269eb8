import type { DescField } from '@bufbuild/protobuf';
import { MethodOptions_IdempotencyLevel } from '@bufbuild/protobuf/wkt';
import { FieldBehavior } from '../gen/google/api/field_behavior_pb.js';
import type { Binding } from './binding.js';
import { hasBehavior } from './contract-options.js';
import type { PathTemplate } from './path-template.js';

/** The parts of a successful response other than its body, as the contract and the AIPs define them. */
export interface SuccessRule {
  /** Whether the method creates a resource (AIP-133), so that a success is 201. */
  readonly creates: boolean;
  /** The request field for a dry run (AIP-163), whose success is 200. */
  readonly validateOnly: DescField | undefined;
  /** The location of a created resource; undefined if the contract does not define it. */
  readonly location: ResourcePath | undefined;
  /** How a client may cache the response; undefined if it must not (`no-store`). */
  readonly caching: 'revalidate' | 'immutable' | undefined;
}

/** The path of a resource, built from fields of the resource itself. */
export interface ResourcePath {
  readonly template: PathTemplate;
  /** The field for each variable of the template. */
  readonly fields: readonly DescField[];
}

/**
 * The rule for each binding.
 *
 * - A unary method `Create<Resource>` with POST that returns `<Resource>` creates a resource (AIP-133). Its location is
 *   the path of the first GET binding of the method `Get<Resource>` (AIP-131) of the same service whose variables can
 *   be filled from the resource: variable `x` from the field `x`, or `<resource>_id` from the field `id`.
 * - A response to GET of a unary method, other than `google.api.HttpBody`, may be cached forever if the method has no
 *   side effects and every field of its response is immutable (AIP-203); otherwise it may be cached and must be
 *   revalidated.
 */
export function successRules(bindings: readonly Binding[]): Map<Binding, SuccessRule> {
  const getters = bindings.filter(({ verb }) => verb === 'GET');
  return new Map(
    bindings.map((binding) => {
      const { method, verb } = binding;
      const unary = method.methodKind === 'unary';
      const creates =
        unary &&
        verb === 'POST' &&
        binding.responseBody === undefined &&
        method.name === `Create${method.output.name}`;
      return [
        binding,
        {
          creates,
          validateOnly: method.input.fields.find((field) => field.name === 'validate_only'),
          location: creates ? resourcePath(getters, binding) : undefined,
          caching:
            unary && verb === 'GET' && !binding.givesBytes
              ? isImmutable(binding)
                ? 'immutable'
                : 'revalidate'
              : undefined,
        },
      ];
    }),
  );
}

/** @param getters the bindings of GET. */
function resourcePath(getters: readonly Binding[], { method }: Binding): ResourcePath | undefined {
  const resource = method.output;
  const callPath = `/${method.parent.typeName}/Get${resource.name}`;
  for (const { method: getter, callPath: named, template } of getters) {
    if (named !== callPath || getter.output !== resource) continue;
    const fields = template.variables.map(({ fieldPath }) =>
      identifyingField(method.output.fields, fieldPath, resource.name),
    );
    const found = fields.filter((field) => field !== undefined);
    if (found.length === fields.length) return { template, fields: found };
  }
  return undefined;
}

function identifyingField(
  fields: readonly DescField[],
  path: readonly string[],
  resource: string,
): DescField | undefined {
  const name = path.join('.');
  const idName = `${resource.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toLowerCase()}_id`;
  return (
    fields.find((field) => field.fieldKind === 'scalar' && field.name === name) ??
    fields.find((field) => field.fieldKind === 'scalar' && field.name === 'id' && name === idName)
  );
}

function isImmutable({ method }: Binding): boolean {
  const { fields } = method.output;
  return (
    method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS &&
    fields.length > 0 &&
    fields.every((field) => hasBehavior(field, FieldBehavior.IMMUTABLE))
  );
}
