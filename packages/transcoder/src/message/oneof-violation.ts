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
 * The violation of a field of path or query that cannot be set, since the request already has another field of the same oneof:
 * of the field's own, or of that of a message that leads to it. Undefined if the field can be set.
 *
 * @param requestJson the JSON form of the request, as far as the body gives it.
 */
export function oneofViolation(
  request: ReflectMessage,
  { parents, field }: FieldTarget,
  requestJson: SentJson | undefined,
): FieldViolation | undefined {
  if (field.oneof === undefined && parents.every(({ oneof }) => oneof === undefined)) return undefined;

  let holder = request;
  let holderJson = requestJson;
  for (const [index, parent] of parents.entries()) {
    const rival = rivalOf(parent, holder, holderJson);
    if (rival !== undefined) return violationOf(parents.slice(0, index + 1), rival);
    holder = holder.get(parent) as ReflectMessage;
    holderJson = valueOfField(holderJson, parent);
  }

  const rival = rivalOf(field, holder, holderJson);
  return rival === undefined ? undefined : violationOf([...parents, field], rival);
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

function violationOf(path: readonly DescField[], rival: string): FieldViolation {
  return { field: pathOf(path), description: rivalDescription(rival) };
}
