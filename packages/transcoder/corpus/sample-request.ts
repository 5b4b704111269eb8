import { type DescField, ScalarType } from '@bufbuild/protobuf';
import type { Binding } from '../src/template/binding.js';
import { expandPathTemplate } from '../src/template/path-template.js';

/** A request for a binding: its variables have a value that their fields take, its body is an empty value. */
export function sampleRequest({
  verb,
  template,
  variables,
  body,
}: Binding): Record<'method' | 'path' | 'body', string> {
  const values = variables.map(({ field, start, end }) =>
    template.segments.slice(start, end).join('/').replaceAll(/\*+/g, sampleText(field)),
  );
  return {
    method: verb === '*' ? 'POST' : verb,
    path: expandPathTemplate(template, values),
    body: body === undefined ? '' : body === '*' || body.fieldKind !== 'list' ? '{}' : '[]',
  };
}

function sampleText({ scalar, enum: values }: DescField): string {
  if (values !== undefined) return values.values[0]?.name ?? '';
  return scalar === ScalarType.STRING ? 'sample' : scalar === ScalarType.BOOL ? 'true' : '1';
}
