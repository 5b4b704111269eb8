import type { DescField } from '@bufbuild/protobuf';
import type { ReflectMessage } from '@bufbuild/protobuf/reflect';
import type { FieldViolation } from '../failures/failure.js';
import { isObject, type SentJson } from '../fields/json-value.js';
import { fieldsByName } from '../fields/message-fields.js';
import { rivalDescription } from '../json/rivals.js';
import type { FieldTarget } from '../template/binding.js';
import { valueOfField } from './body-as-request.js';
import { pathOf } from './field-texts.js';

/**
 * The violation of a field of path or query that is in a oneof, or in a message that is in one, where the request has
 * another field of that oneof. Undefined if there is none, so that the field can be set.
 *
 * @param requestJson the JSON form of the request, as far as the body gives it.
 */
export function oneofViolation(
  request: ReflectMessage,
  { parents, field }: FieldTarget,
  requestJson: SentJson | undefined,
): FieldViolation | undefined {
  if (field.oneof === undefined && parents.every(({ oneof }) => oneof === undefined)) return undefined;

  const path = [...parents, field];
  let holder = request;
  let holderJson = requestJson;
  for (const [depth, step] of path.entries()) {
    const rival = rivalOf(step, holder, holderJson);
    if (rival !== undefined) {
      return { field: pathOf(path.slice(0, depth + 1)), description: rivalDescription(rival) };
    }
    const isLastStep = depth === parents.length;
    if (isLastStep) break;
    holder = holder.get(step) as ReflectMessage;
    holderJson = valueOfField(holderJson, step);
  }
  return undefined;
}

/**
 * The name of another field of the same oneof that the request has; undefined if there is none.
 *
 * @param holder the message with the oneof.
 * @param holderJson its JSON form, as far as the body gives it.
 */
function rivalOf(
  field: DescField,
  holder: ReflectMessage,
  holderJson: SentJson | undefined,
): string | undefined {
  if (field.oneof === undefined) return undefined;
  const isRival = (other: DescField | undefined): boolean => other?.oneof === field.oneof && other !== field;

  // The JSON is asked as well as the message, which lacks values that are wrong and, with the option `ignoreUnknown`,
  // unknown names of enum values.
  const fields = fieldsByName(field.parent);
  const members = isObject(holderJson) ? Object.entries(holderJson) : [];
  const [nameInBody] = members.find(([name, value]) => isRival(fields.get(name)) && value !== null) ?? [];

  const fieldInMessage = holder.oneofCase(field.oneof);
  return nameInBody ?? (isRival(fieldInMessage) ? fieldInMessage?.jsonName : undefined);
}
