import type { IncomingHttpHeaders } from 'node:http';
import { create, type DescMessage, fromJson, type Message, toBinary } from '@bufbuild/protobuf';
import { reflect } from '@bufbuild/protobuf/reflect';
import {
  type Binding,
  type Contract,
  JsonOutput,
  type HttpReply,
  SuccessReplies,
  type SuccessRule,
} from '@route-registry/transcoder/description';
import type { Form, MessageSchemas } from './message-schemas.js';
import type { Response, Schema } from './open-api.js';
import { responseOf } from './responses.js';

const ANY_TAG = { 'if-none-match': '*' };

/** Describes successes by running the gateway's own code on examples. */
export class SuccessResponses {
  readonly #rules: ReadonlyMap<Binding, SuccessRule>;
  readonly #replies: SuccessReplies;
  readonly #schemas: MessageSchemas;

  constructor({ registry }: Contract, rules: ReadonlyMap<Binding, SuccessRule>, schemas: MessageSchemas) {
    this.#rules = rules;
    this.#replies = new SuccessReplies(rules, new JsonOutput(registry, true), '');
    this.#schemas = schemas;
  }

  /** The responses of a binding's successes, by HTTP status. */
  of(binding: Binding): Map<number, Response> {
    const { method, responseBody } = binding;
    const { input, output } = method;
    const rule = this.#rules.get(binding);
    const responses = new Map<number, Response>();
    const add = (description: string, reply: HttpReply, schema?: Schema): void => {
      responses.set(reply.status, responseOf(description, [{ name: output.name, reply }], schema));
    };
    const reply = this.#reply(binding, create(input), 'returned');
    if (rule?.creates === true && rule.validateOnly !== undefined) {
      const request = create(input);
      reflect(input, request).set(rule.validateOnly, true);
      // One schema for both, so that generated clients have one type for the result of a create.
      const schema = this.#schemas.message(output, 'created');
      const dryRun = this.#reply(binding, request, 'sent');
      add('A dry run: the request is valid, and nothing was stored.', dryRun, schema);
      add('Created.', reply, { ...schema, required: this.#schemas.assigned(output) });
    } else {
      const schema =
        responseBody === undefined
          ? this.#schemas.message(output, 'returned')
          : this.#schemas.field(responseBody, 'returned');
      add(reply.status === 201 ? 'Created.' : 'Success.', reply, schema);
    }
    if (rule?.caching !== undefined) {
      add(
        'The copy that the client has is current.',
        this.#reply(binding, create(input), 'returned', ANY_TAG),
      );
    }
    return responses;
  }

  #reply(binding: Binding, request: Message, form: Form, headers: IncomingHttpHeaders = {}): HttpReply {
    const { output } = binding.method;
    return this.#replies.reply(binding, request, this.#exampleBytes(output, form), headers);
  }

  #exampleBytes(message: DescMessage, form: Form): Uint8Array {
    return toBinary(message, fromJson(message, this.#schemas.example(message, form)));
  }
}
