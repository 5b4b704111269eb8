import { type DescField, type DescMessage, type DescMethod, ScalarType } from '@bufbuild/protobuf';
import { hasCustomJsonRepresentation } from '@bufbuild/protobuf/wkt';
import { allowedValue } from '../fields/allowed-value.js';
import { numberForms } from '../fields/text-form.js';
import { textValue } from '../fields/text-value.js';
import type { HttpRule } from '../gen/google/api/http_pb.js';
import { parsePathTemplate, type PathTemplate, type Variable } from './path-template.js';

/** A field of the request message or of messages in it. */
export interface FieldTarget {
  /** The message fields that lead to it, from the request message down. */
  readonly parents: readonly DescField[];
  readonly field: DescField;
}

/** A variable of a path template and the field that takes its value. */
export interface BoundVariable extends Variable, FieldTarget {}

/** The content of the HTTP body: nothing, the whole request message, or one field of it. */
export type BodyBinding = undefined | '*' | DescField;

/** One way to call a method over HTTP: a `google.api.HttpRule` checked against the contract. */
export interface Binding {
  readonly method: DescMethod;
  /** The path of the gRPC call: `/package.Service/Method`. */
  readonly callPath: string;
  /** The HTTP method, or `*` for any. */
  readonly verb: string;
  readonly template: PathTemplate;
  readonly variables: readonly BoundVariable[];
  readonly body: BodyBinding;
  /** The response field that becomes the response body; undefined for the whole message. */
  readonly responseBody: DescField | undefined;
  /** Whether the body of a request is bytes of any media type: a `google.api.HttpBody`. */
  readonly takesBytes: boolean;
  /** Whether the body of a success is. */
  readonly givesBytes: boolean;
}

/** Whether the request is a stream of messages, which is not supported. */
export function takesStream({ method: { methodKind } }: Binding): boolean {
  return methodKind === 'client_streaming' || methodKind === 'bidi_streaming';
}

/** Whether a body, a whole message or one field of it, is a `google.api.HttpBody`. */
function isHttpBody(message: DescMessage, field: DescField | undefined): boolean {
  const body = field === undefined ? message : field.fieldKind === 'message' ? field.message : undefined;
  return body?.typeName === 'google.api.HttpBody';
}

/** Called with a sentence that says why a binding cannot be served. It throws, or the binding is left out. */
export type OnUnserved = (sentence: string) => void;

/** @throws Error with the sentence */
export const refuse: OnUnserved = (sentence) => {
  throw new Error(sentence);
};

/**
 * The bindings of a method: its rule's own and the additional ones. Those of a stream of requests are returned, too: they
 * are not served, but their requests are answered with the reason.
 *
 * @param serverStreams whether the upstream serves server-streaming methods.
 * @param onUnserved called for each binding that does not fit the method's messages, can match no request, or needs
 *   something unsupported, with a sentence that names the method. Default: throws an Error with the sentence.
 */
export function bindingsOf(
  method: DescMethod,
  rule: HttpRule,
  onUnserved: OnUnserved = refuse,
  serverStreams = true,
): Binding[] {
  const sentence = (reason: string): string => `${method.parent.typeName}.${method.name}: ${reason}.`;
  const bindings: Binding[] = [];
  // A rule may have no binding of its own, only additional ones.
  const own = rule.pattern.case === undefined && rule.additionalBindings.length > 0 ? [] : [rule];
  for (const bindingRule of [...own, ...rule.additionalBindings]) {
    try {
      if (bindingRule !== rule && bindingRule.additionalBindings.length > 0)
        throw new Error('an additional binding has additional bindings of its own');
      const binding = bindingOf(method, bindingRule);
      refuseUnsupported(binding, serverStreams);
      bindings.push(binding);
    } catch (error) {
      onUnserved(sentence((error as Error).message));
    }
  }
  if (bindings.some(takesStream)) onUnserved(sentence('streams of requests are not supported'));
  return bindings;
}

/** @throws Error with the reason if a valid binding cannot be served */
function refuseUnsupported({ method, verb, template, body }: Binding, serverStreams: boolean): void {
  if (method.methodKind === 'server_streaming' && !serverStreams)
    throw new Error('the upstream serves no streams');
  if (body !== undefined && (verb === 'GET' || verb === 'HEAD')) throw new Error(`${verb} has a body`);
  if (template.segments.indexOf('**') !== template.segments.lastIndexOf('**'))
    throw new Error(`the path template "${template.source}" has "**" twice`);
}

function bindingOf(method: DescMethod, rule: HttpRule): Binding {
  const [verb, path] = patternOf(rule);
  const template = parsePathTemplate(path);
  const variables = template.variables.map((variable) => ({
    ...variable,
    ...variableTarget(method.input, variable.fieldPath),
  }));
  for (const { field, start, end } of variables) {
    requireFitPattern(field, template.segments.slice(start, end).join('/'));
  }
  const body =
    rule.body === '*' || rule.body === '' ? rule.body || undefined : topField(method.input, rule.body);
  const inBody = variables.find(({ field }) => field === body);
  if (inBody !== undefined) throw new Error(`the field "${rule.body}" is bound to both path and body`);
  if (body !== '*' && hasCustomJsonRepresentation(method.input)) {
    throw new Error(`${method.input.typeName} has a JSON form of its own, which only a whole body can carry`);
  }
  const responseBody = rule.responseBody === '' ? undefined : topField(method.output, rule.responseBody);
  refuseRivals(typeof body === 'object' ? [...variables, { parents: [], field: body }] : variables);
  return {
    method,
    callPath: `/${method.parent.typeName}/${method.name}`,
    verb,
    template,
    variables,
    body,
    responseBody,
    takesBytes: body !== undefined && isHttpBody(method.input, body === '*' ? undefined : body),
    givesBytes: isHttpBody(method.output, responseBody),
  };
}

// RFC 9110 token.
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

function patternOf({ pattern }: HttpRule): [verb: string, path: string] {
  if (pattern.case === undefined) throw new Error('the HTTP rule names no HTTP method');
  if (pattern.case !== 'custom') return [pattern.case.toUpperCase(), pattern.value];
  const { kind, path } = pattern.value;
  if (!TOKEN.test(kind)) throw new Error(`"${kind}" is not an HTTP method`);
  return [kind, path];
}

function topField(message: DescMessage, name: string): DescField {
  const field = message.fields.find((candidate) => candidate.name === name);
  if (hasCustomJsonRepresentation(message)) {
    throw new Error(`${message.typeName} has a JSON form of its own, without the field "${name}"`);
  }
  if (field === undefined) throw new Error(`${message.typeName} has no field "${name}"`);
  return field;
}

function variableTarget(message: DescMessage, path: readonly string[]): FieldTarget {
  const variable = `the path variable "${path.join('.')}"`;
  const parents: DescField[] = [];
  let container = message;
  for (const name of path.slice(0, -1)) {
    const parent = topField(container, name);
    if (parent.fieldKind !== 'message')
      throw new Error(`${variable} leads through a field that is not a message`);
    parents.push(parent);
    container = parent.message;
  }
  const [name = ''] = path.slice(-1);
  const field = topField(container, name);
  if (field.fieldKind === 'scalar' || field.fieldKind === 'enum') return { parents, field };
  throw new Error(`${variable} is ${field.fieldKind === 'message' ? 'a message' : 'a repeated field'}`);
}

/** Refuses a pattern that no value of a number, boolean or enum field can match; wildcards fit all fields. */
function requireFitPattern(field: DescField, pattern: string): void {
  const isText = field.scalar === ScalarType.STRING || field.scalar === ScalarType.BYTES;
  if (isText || pattern === '*' || pattern === '**') return;
  const number = field.scalar && numberForms.get(field.scalar);
  if ((number === undefined ? textValue(field, pattern) : number(pattern)) !== undefined) return;
  throw new Error(`the pattern "${pattern}" does not fit "${field.name}", which is ${allowedValue(field)}`);
}

/** Refuses two fields of the same oneof: a request that always sets both is never valid. */
function refuseRivals(targets: readonly FieldTarget[]): void {
  const members = new Map<string, DescField>();
  for (const { parents, field } of targets) {
    let place = '';
    for (const step of [...parents, field]) {
      if (step.oneof !== undefined) {
        const key = `${place}${step.oneof.name}`;
        const rival = members.get(key) ?? step;
        if (rival !== step) {
          throw new Error(
            `the fields "${rival.name}" and "${step.name}" belong to the same oneof, in which only one may be set`,
          );
        }
        members.set(key, step);
      }
      place += `${step.name}.`;
    }
  }
}
